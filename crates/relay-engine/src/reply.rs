//! What the brain says: texts to connections, refusals, and goodbyes.
//! Spec: W2.9 "Relay to client", W5.3

use std::sync::Arc;

use messaging_core::code::Failure;
use messaging_core::ids::{Hash, MachineId, Req};
use messaging_store::Effects;
use messaging_wire::{CloseCode, text};

use crate::engine::RelayEngine;
use crate::events::Event;
use crate::halt::Refusal;
use crate::input::{ConnId, Out};
use crate::metrics;
use crate::staged::Staged;
use crate::store::Party;

impl RelayEngine {
    /// Queues a text for a connection.
    pub(crate) fn send(
        &mut self,
        conn: ConnId,
        t: &'static str,
        text: impl Into<Arc<str>>,
        out: &mut Effects<Out>,
    ) {
        let text = text.into();
        if !self.conns.queue(conn, text.len()) {
            return;
        }
        if self.staging {
            self.staged.push(Staged::Sent { conn, bytes: text.len() });
        }
        metrics::count(&mut self.metrics.frames_out, t);
        out.push(Out::Send { conn, text });
    }

    /// Answers a frame that is not carried out.
    pub(crate) fn refuse(
        &mut self,
        conn: ConnId,
        id: Option<&Req>,
        refusal: Refusal,
        out: &mut Effects<Out>,
    ) {
        let Refusal { failure: Failure { code, at }, retry_after_ms } = refusal;
        match id {
            Some(id) => {
                metrics::count(&mut self.metrics.nacks, code);
                self.send(conn, "nack", text::nack(id.as_str(), code, at, retry_after_ms), out);
            }
            None => self.send(conn, "error", text::error(code, at, retry_after_ms), out),
        }
    }

    /// Says why, and closes.
    pub(crate) fn close_with(
        &mut self,
        conn: ConnId,
        failure: Failure,
        code: CloseCode,
        out: &mut Effects<Out>,
    ) {
        self.refuse(conn, None, failure.into(), out);
        self.close(conn, code, out);
    }

    /// Tells a connection to go.
    pub(crate) fn close(&mut self, conn: ConnId, code: CloseCode, out: &mut Effects<Out>) {
        if !self.conns.is_open(conn) {
            return;
        }
        out.push(Out::Close { conn, code });
        out.push(Out::Log(Event::ConnClosed { code }));
        self.dirty.remove(&conn);
        let party = self.conns.leave(conn);
        self.went_offline(party, out);
    }

    /// Forgets a connection.
    pub(crate) fn gone(&mut self, conn: ConnId, out: &mut Effects<Out>) {
        self.dirty.remove(&conn);
        let party = self.conns.forget(conn);
        self.went_offline(party, out);
    }

    fn went_offline(&mut self, party: Option<Party>, out: &mut Effects<Out>) {
        if let Some(party) = party
            && !self.stopping
        {
            self.tell_peers(&party, false, out);
        }
    }

    /// Tells the other members of a realm that a machine came or went.
    pub(crate) fn tell_peers(&mut self, party: &Party, online: bool, out: &mut Effects<Out>) {
        let frame: Arc<str> = text::peer(&party.machine, online).into();
        self.tell_realm(&party.realm, Some(&party.machine), "peer", &frame, out);
    }

    /// Sends one text to every online member of a realm but one.
    pub(crate) fn tell_realm(
        &mut self,
        realm: &Hash,
        except: Option<&MachineId>,
        t: &'static str,
        frame: &Arc<str>,
        out: &mut Effects<Out>,
    ) {
        let others: Vec<ConnId> = self
            .conns
            .of_realm(realm)
            .filter(|(machine, _)| Some(machine) != except)
            .map(|(_, conn)| conn)
            .collect();
        for conn in others {
            self.send(conn, t, Arc::clone(frame), out);
        }
    }
}

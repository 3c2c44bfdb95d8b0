//! Connections until they are links: the challenge, what may be said before `hello`, and `hello` itself.
//! Spec: §7 "Connecting", "Pre-auth frames"; W4.24 `hello`, W5.3

use std::net::IpAddr;

use messaging_core::code::{Code, Failure};
use messaging_core::ids::Nonce32;
use messaging_core::limits::CLOCK_SKEW_MS;
use messaging_core::realm::{Anchor, RealmView as _};
use messaging_core::roster::RosterHead;
use messaging_core::time::{Mono, Now};
use messaging_store::{Effects, Turn};
use messaging_wire::{CloseCode, Hello, text};

use crate::conns::State;
use crate::deliver::Deliveries;
use crate::engine::RelayEngine;
use crate::events::Event;
use crate::halt::{Halt, refuse};
use crate::input::{ConnId, Out};
use crate::metrics;
use crate::prepare::Kind;
use crate::store::{Party, presence};

impl RelayEngine {
    /// Challenges a new connection.
    pub(crate) fn opened(
        &mut self,
        conn: ConnId,
        address: IpAddr,
        nonce: Nonce32,
        now: Now,
        out: &mut Effects<Out>,
    ) {
        let until = now.mono.plus(self.config.limits.hello_timeout_ms);
        self.conns.open(conn, nonce, address, until);
        let challenge = text::challenge(&self.config.relay, &nonce);
        self.send(conn, "challenge", challenge, out);
    }

    /// Takes a frame of a connection that has not said a valid `hello` yet.
    pub(crate) fn greet(
        &mut self,
        turn: &mut Turn<'_>,
        conn: ConnId,
        kind: Kind,
        out: &mut Effects<Out>,
    ) -> Result<(), Halt> {
        let most = self.config.limits.pre_auth_frames;
        let Some(State::Greeting { frames, until }) =
            self.conns.get_mut(conn).map(|conn| &mut conn.state)
        else {
            return Ok(());
        };
        *frames = frames.saturating_add(1);
        let (frames, until) = (*frames, *until);
        if frames > most {
            let failure = Failure::new(Code::RateLimited, "frames before hello");
            self.close_with(conn, failure, CloseCode::Protocol, out);
            return Ok(());
        }
        match kind {
            Kind::NoFrame => {
                self.close_with(conn, Failure::invalid("frame"), CloseCode::Protocol, out);
                Ok(())
            }
            Kind::Hello { hello, signed } => {
                match self.hello(turn, conn, &hello, signed, until, out) {
                    Err(Halt::Refused(refusal)) => {
                        self.turn_away(conn, refusal.failure, out);
                        Ok(())
                    }
                    done => done,
                }
            }
            Kind::Misshapen("hello") => {
                self.turn_away(conn, Failure::invalid("hello"), out);
                Ok(())
            }
            Kind::Join(join) => self.join(turn, conn, &join, out),
            Kind::Append { req, entry } => self.append_pre_auth(turn, conn, &req, &*entry?),
            Kind::Ping(id) => {
                self.send(conn, "pong", text::pong(id.as_deref()), out);
                Ok(())
            }
            Kind::Misshapen(t @ ("join" | "roster.append" | "ping")) => {
                refuse(Code::InvalidRequest, t)
            }
            Kind::Sync { .. }
            | Kind::Send(_)
            | Kind::Presence(_)
            | Kind::RecvAck(_)
            | Kind::Misshapen(_) => refuse(Code::Forbidden, "before hello"),
            Kind::Unknown => Ok(()),
        }
    }

    /// Closes the connections that did not say a valid `hello` in time.
    pub(crate) fn close_late(&mut self, now: Now, out: &mut Effects<Out>) {
        for conn in self.conns.late(now.mono) {
            self.turn_away(conn, Failure::new(Code::Expired, "hello"), out);
        }
    }

    /// Refuses a `hello`. A full relay is to be tried again; anything else is not.
    fn turn_away(&mut self, conn: ConnId, failure: Failure, out: &mut Effects<Out>) {
        let full = failure.code == Code::RateLimited;
        if full {
            self.metrics.refused_full += 1;
        }
        metrics::count(&mut self.metrics.auth_failures, failure.code);
        out.push(Out::Log(Event::AuthRefused { code: failure.code }));
        let code = if full { CloseCode::Full } else { CloseCode::AuthFailed };
        self.close_with(conn, failure, code, out);
    }

    /// Judges a `hello`, in the order of W4.24, and links the machine.
    fn hello(
        &mut self,
        turn: &mut Turn<'_>,
        conn: ConnId,
        hello: &Hello,
        signed: bool,
        until: Mono,
        out: &mut Effects<Out>,
    ) -> Result<(), Halt> {
        let Hello { team: realm, machine, ts, .. } = *hello;
        let now = turn.now;
        if now.mono >= until || ts.distance(now.wall) > CLOCK_SKEW_MS {
            return refuse(Code::Expired, "ts");
        }
        if !signed {
            return refuse(Code::BadSignature, "sig");
        }
        let party = Party { realm, machine };
        let rows = &turn.tx;
        let Some(view) = self.realms.view(rows, &realm)? else {
            return refuse(Code::NotMember, "team");
        };
        if view.device(&machine).is_none() {
            return refuse(Code::NotMember, "machine");
        }
        let anchor = view.anchor();
        let others = presence::machines(rows, &realm, now.wall)?;
        let others =
            others.into_iter().filter(|other| *other != machine && view.device(other).is_some());
        let others = others.collect();
        drop(view);
        // A newer connection takes the place of an older one, so it is let in at the cap.
        let replaces = self.conns.online(&party).is_some();
        if !replaces && self.conns.linked() >= self.config.limits.connections {
            return refuse(Code::RateLimited, "connections");
        }
        let mut deliveries = Deliveries::default();
        for sender in self.quotas.senders(rows, &party)? {
            deliveries.expect(sender);
        }
        if let Some(older) = self.conns.admit(conn, party, deliveries) {
            self.close(older, CloseCode::Replaced, out);
        }
        if let Some(link) = self.conns.link_mut(conn) {
            link.presences = others;
        }
        out.push(Out::Admitted { conn });
        out.push(Out::Log(Event::ConnAuth));
        self.welcome(conn, &party, anchor, out);
        if !replaces {
            self.tell_peers(&party, true, out);
        }
        self.dirty.insert(conn);
        Ok(())
    }

    fn welcome(&mut self, conn: ConnId, party: &Party, anchor: Anchor, out: &mut Effects<Out>) {
        // A directory's `welcome` carries its tree head instead.
        let Anchor::Roster { seq, hash } = anchor else { return };
        let online: Vec<_> = self
            .conns
            .of_realm(&party.realm)
            .map(|(machine, _)| machine)
            .filter(|machine| *machine != party.machine)
            .collect();
        let welcome = text::welcome(&RosterHead { seq, hash }, &online);
        self.send(conn, "welcome", welcome, out);
    }
}

//! `recv.ack`: a delivery is stored or dropped by its recipient, and leaves the queue.
//! Spec: §7 "recv.ack", W5.4, W5.5

use messaging_core::limits::RECV_ACK_FREE_BYTES;
use messaging_core::time::Now;
use messaging_store::Turn;
use messaging_wire::RecvAck;

use super::schedule::Named;
use crate::engine::RelayEngine;
use crate::halt::{Halt, Refusal};
use crate::input::ConnId;
use crate::staged::Staged;
use crate::store::{Party, queue};

impl RelayEngine {
    /// Deletes what is acknowledged. An unknown id is ignored.
    pub(crate) fn recv_ack(
        &mut self,
        turn: &mut Turn<'_>,
        conn: ConnId,
        party: &Party,
        bytes: usize,
        ack: &RecvAck,
    ) -> Result<(), Halt> {
        self.charge_ack(conn, party, bytes, turn.now)?;
        let Some(link) = self.conns.link(conn) else { return Ok(()) };
        let named = link.deliveries.named(&ack.id, ack.from.as_ref());
        let place = match (named, &ack.from) {
            (Named::One(pos), _) => link.deliveries.flight(pos),
            // Not in flight here, but perhaps it was on an earlier link.
            (Named::None, Some(sender)) => queue::find(&turn.tx, party, sender, &ack.id)?,
            (Named::None, None) | (Named::Several, _) => None,
        };
        if let Named::One(pos) = named {
            // Its row may be gone, but the delivery is over all the same.
            self.staged.push(Staged::Ended { conn, pos });
        }
        if let Some(place) = place
            && queue::delete(&mut turn.tx, place.pos)?
        {
            self.leave(*party, &place);
        }
        Ok(())
    }

    /// Each delivery pays for one small ack; any other is charged like a frame.
    fn charge_ack(
        &mut self,
        conn: ConnId,
        party: &Party,
        bytes: usize,
        now: Now,
    ) -> Result<(), Refusal> {
        let paid = bytes <= RECV_ACK_FREE_BYTES
            && self.conns.link_mut(conn).is_some_and(|link| link.deliveries.pay());
        if paid {
            self.staged.push(Staged::Paid { conn });
            return Ok(());
        }
        self.charge(party, bytes, now)
    }
}

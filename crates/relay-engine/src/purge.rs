//! The purge: what has expired leaves the store, a bounded piece at a time.
//! Spec: §7 "Queue size and fairness", "Dedupe"; W5.4, W5.7

use messaging_core::time::Now;
use messaging_store::{StoreError, Turn};

use crate::engine::RelayEngine;
use crate::staged::{Purged, Staged};
use crate::store::queue::Place;
use crate::store::{Party, presence, queue, seen};

/// How often it runs, ms. Nothing expired is ever delivered or counted against a cap, so this is housekeeping.
pub(crate) const PERIOD_MS: u64 = 60_000;
/// Rows of a table in one turn: a few ms.
const PIECE: usize = 1_000;

impl RelayEngine {
    /// Deletes a piece of what has expired.
    pub(crate) fn purge(&mut self, turn: &mut Turn<'_>) -> Result<(), StoreError> {
        let now = turn.now.wall;
        let rows = queue::expired(&turn.tx, now, PIECE)?;
        for (recipient, place) in &rows {
            if queue::delete(&mut turn.tx, place.pos)? {
                self.leave(*recipient, place);
            }
        }
        let ids = seen::expired(&turn.tx, now, PIECE)?;
        for (sender, id) in &ids {
            if seen::delete(&mut turn.tx, sender, id)? {
                self.quotas.unremember(sender);
                self.staged.push(Staged::Forgotten { sender: *sender, id: *id });
            }
        }
        let any = presence::any_expired(&turn.tx, now)?;
        let presences = if any { presence::purge(&mut turn.tx, now)? } else { 0 };
        self.staged.push(Staged::Purged(Purged {
            queue: rows.len() as u64,
            seen: ids.len() as u64,
            presence: presences as u64,
            again: rows.len() == PIECE || ids.len() == PIECE,
        }));
        Ok(())
    }

    /// Deletes what has expired of one recipient: it is not to stand in the way of an envelope that is still good.
    pub(crate) fn make_room(
        &mut self,
        turn: &mut Turn<'_>,
        recipient: &Party,
    ) -> Result<(), StoreError> {
        for place in queue::expired_of(&turn.tx, recipient, turn.now.wall)? {
            if queue::delete(&mut turn.tx, place.pos)? {
                self.leave(*recipient, &place);
            }
        }
        // Counted anew, with the time of the next expiry.
        self.quotas.forget_inbox(recipient);
        Ok(())
    }

    /// Counts an envelope that was deleted.
    pub(crate) fn leave(&mut self, recipient: Party, place: &Place) {
        self.quotas.take(&recipient, &place.sender, place.bytes);
        self.staged.push(Staged::Left { recipient, place: *place });
    }

    /// A purge was committed.
    pub(crate) fn purged(&mut self, purged: &Purged, now: Now) {
        self.metrics.purged("queue", purged.queue);
        self.metrics.purged("seen", purged.seen);
        self.metrics.purged("presence", purged.presence);
        self.purge_at = if purged.again { now.mono } else { now.mono.plus(PERIOD_MS) };
        self.dirty.extend(self.conns.expire(now.wall));
        self.budgets.sweep(now.mono);
        self.quotas.sweep();
    }
}

//! The end of a batch: staged changes are applied or taken back, and what the time asks for is done.
//! Spec: §7 "Group commit", "Store failures"; W5.4

use messaging_core::time::{Ms, Now};
use messaging_store::{Effects, Outcome, Settled, StoreError, View};

use crate::engine::RelayEngine;
use crate::events::{Event, Place};
use crate::input::Out;
use crate::staged::Staged;
use crate::store::{queue, seen};

impl RelayEngine {
    /// Applies what was committed, or takes back what was not; then looks at the clock, the links and the sockets.
    pub(crate) fn settle_batch(&mut self, settled: &mut Settled<'_>, out: &mut Effects<Out>) {
        let now = settled.now;
        let staged = std::mem::take(&mut self.staged);
        match settled.outcome {
            Outcome::Committed(_) => {
                for change in staged {
                    self.apply(change, now, out);
                }
            }
            Outcome::Failed(_) => {
                for change in staged.iter().rev() {
                    self.undo(change);
                }
                // A commit that reports failure may have been applied: the rows say what is so.
                if staged
                    .iter()
                    .try_for_each(|change| self.reconcile(&settled.rows, change))
                    .is_err()
                {
                    self.quotas.doubt();
                }
            }
        }
        self.settle_health(settled, out);
        self.close_late(now, out);
        self.pump_all(now, settled.rows, out);
        self.drop_slow(out);
    }

    /// Takes back what an undone input changed in memory.
    pub(crate) fn undo(&mut self, change: &Staged) {
        match change {
            Staged::Queued { recipient, row, .. } => {
                self.quotas.take(recipient, &row.sender, row.bytes);
            }
            Staged::Left { recipient, place } => {
                // When it expires is not known any more: asked again when it matters.
                self.quotas.add(recipient, &place.sender, place.bytes, Ms(0));
            }
            Staged::Remembered { sender, .. } => self.quotas.unremember(sender),
            Staged::Forgotten { sender, .. } => self.quotas.remember(sender),
            Staged::Paid { conn } => {
                if let Some(link) = self.conns.link_mut(*conn) {
                    link.deliveries.unpay();
                }
            }
            Staged::Sent { conn, bytes } => {
                self.conns.drained(*conn, *bytes);
            }
            Staged::Chain { team } => self.realms.forget(team),
            Staged::Ended { .. }
            | Staged::Presence { .. }
            | Staged::Appended(_)
            | Staged::Emptied { .. }
            | Staged::Purged(_) => {}
        }
    }

    /// Takes in a change that was undone, where the rows hold it all the same.
    fn reconcile(&mut self, rows: &View<'_>, change: &Staged) -> Result<(), StoreError> {
        match change {
            Staged::Queued { recipient, row, .. } => {
                if queue::holds(rows, row.pos, &row.id)? {
                    self.quotas.add(recipient, &row.sender, row.bytes, row.exp);
                    if let Some(conn) = self.conns.online(recipient)
                        && let Some(link) = self.conns.link_mut(conn)
                    {
                        link.deliveries.expect_after(row.sender, row.pos.saturating_sub(1));
                        self.dirty.insert(conn);
                    }
                }
            }
            Staged::Left { recipient, place } => {
                if !queue::exists(rows, place.pos)? {
                    self.quotas.take(recipient, &place.sender, place.bytes);
                }
            }
            Staged::Remembered { sender, id } => {
                if seen::get(rows, sender, id)?.is_some() {
                    self.quotas.remember(sender);
                }
            }
            Staged::Forgotten { sender, id } => {
                if seen::get(rows, sender, id)?.is_none() {
                    self.quotas.unremember(sender);
                }
            }
            Staged::Emptied { party, .. } => {
                self.quotas.forget_realm(&party.realm);
                self.quotas.doubt();
            }
            // Its chain is read again; what else it would have told is not told.
            Staged::Chain { .. }
            | Staged::Appended(_)
            | Staged::Ended { .. }
            | Staged::Paid { .. }
            | Staged::Sent { .. }
            | Staged::Presence { .. }
            | Staged::Purged(_) => {}
        }
        Ok(())
    }

    /// Makes a committed change visible.
    fn apply(&mut self, change: Staged, now: Now, out: &mut Effects<Out>) {
        match change {
            Staged::Queued { recipient, row, deliver, .. } => {
                let pace = self.pace();
                let Some(conn) = self.conns.online(&recipient) else { return };
                let full = self.conns.buffered_on(conn) >= self.high_water();
                let Some(link) = self.conns.link_mut(conn) else { return };
                let waits = link.paused || full || !link.presences.is_empty();
                if link.deliveries.offer(row.sender, row.pos, pace, waits) {
                    link.deliveries.sent(row, pace, now.mono);
                    self.send(conn, "deliver", deliver, out);
                }
                self.dirty.insert(conn);
            }
            Staged::Ended { conn, pos } => {
                if let Some(link) = self.conns.link_mut(conn) {
                    link.deliveries.ended(pos);
                    self.dirty.insert(conn);
                }
            }
            Staged::Presence { party, deliver } => {
                self.tell_realm(&party.realm, Some(&party.machine), "deliver", &deliver, out);
            }
            Staged::Emptied { party, rows, bytes } => self.emptied(&party, rows, bytes),
            Staged::Appended(appended) => self.appended(*appended, out),
            Staged::Purged(purged) => self.purged(&purged, now),
            Staged::Left { .. }
            | Staged::Remembered { .. }
            | Staged::Forgotten { .. }
            | Staged::Paid { .. }
            | Staged::Sent { .. }
            | Staged::Chain { .. } => {}
        }
    }

    /// Whether writes work, and what `/readyz` is to be told.
    fn settle_health(&mut self, settled: &mut Settled<'_>, out: &mut Effects<Out>) {
        let now = settled.now.mono;
        let changed = match settled.outcome {
            Outcome::Committed(commit) => {
                self.metrics.committed(&commit);
                commit.changed > 0
            }
            Outcome::Failed(error) => {
                self.failed(error);
                false
            }
        };
        let event = self.health.settle(changed, now, settled.rng);
        if event == Some(Event::StoreRecovered) {
            self.purge_at = now;
        }
        if changed && let Err(error) = self.quotas.recount(&settled.rows) {
            out.push(Out::Log(Event::Internal { place: Place::Frame, error }));
        }
        out.extend(event.map(Out::Log));
        let unready = self.unready();
        if unready != self.unready {
            self.unready.clone_from(&unready);
            out.push(Out::Ready(unready));
        }
    }

    pub(crate) fn failed(&mut self, error: StoreError) {
        self.metrics.store_errors += 1;
        self.health.failed(error);
    }
}

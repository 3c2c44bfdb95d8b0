//! The delivery scheduler of one link: what goes out next, what is unacknowledged, what is sent again and when.
//! Spec: §7 "Delivery", W5.5
//!
//! Pure: it is told of committed rows, acks and the time, and answers with places in the queue. For each sender it keeps a
//! *lane*: first deliveries go out in queue order, at most a window of them unacknowledged. Lanes do not wait for each
//! other.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use messaging_core::ids::{MachineId, Ulid};
use messaging_core::time::{Mono, Ms, Now};

use crate::store::queue::{Place, Pos};

/// How a link is paced.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    pub(crate) window: usize,
    pub(crate) redeliver_min_ms: u64,
    pub(crate) redeliver_max_ms: u64,
}

/// The deliveries of one link.
#[derive(Debug, Default)]
pub(crate) struct Deliveries {
    lanes: BTreeMap<MachineId, Lane>,
    flights: BTreeMap<Pos, Flight>,
    /// Ids are unique per sender only, so one may stand here more than once.
    by_id: BTreeSet<(Ulid, Pos)>,
    due: BTreeSet<(Mono, Pos)>,
    /// Lanes with room and perhaps rows to read, in turn.
    ready: VecDeque<MachineId>,
    /// First deliveries that have not paid for an ack yet.
    unpaid: u64,
}

/// The deliveries of one sender.
#[derive(Debug, Default)]
struct Lane {
    /// Everything up to here has been sent once.
    sent: Pos,
    in_flight: usize,
    /// Rows after `sent` may wait in the queue.
    more: bool,
    /// It stands in `ready`.
    ready: bool,
}

/// A delivery that was sent and not acknowledged.
#[derive(Debug)]
struct Flight {
    sender: MachineId,
    id: Ulid,
    exp: Ms,
    bytes: u64,
    /// Until it is sent again after the next time, ms.
    wait_ms: u64,
    due: Mono,
}

/// A row that is sent for the first time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct First {
    pub(crate) pos: Pos,
    pub(crate) sender: MachineId,
    pub(crate) id: Ulid,
    pub(crate) exp: Ms,
    pub(crate) bytes: u64,
}

/// What an ack names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Named {
    /// This delivery.
    One(Pos),
    /// None that is in flight on this link.
    None,
    /// Several of different senders.
    Several,
}

impl Deliveries {
    /// Rows of `sender` may wait in the queue: a link starts from the oldest.
    pub(crate) fn expect(&mut self, sender: MachineId) {
        self.lanes.entry(sender).or_default().more = true;
        self.make_ready(sender);
    }

    /// A row of `sender` may stand after `after`: its commit failed, and may have been applied all the same.
    pub(crate) fn expect_after(&mut self, sender: MachineId, after: Pos) {
        let new = || Lane { sent: after, ..Lane::default() };
        self.lanes.entry(sender).or_insert_with(new).more = true;
        self.make_ready(sender);
    }

    /// A row was committed. `true`: send it now. `false`: its turn comes.
    pub(crate) fn offer(&mut self, sender: MachineId, pos: Pos, pace: Pace, paused: bool) -> bool {
        let lane = self
            .lanes
            .entry(sender)
            .or_insert_with(|| Lane { sent: pos.saturating_sub(1), ..Lane::default() });
        if !lane.more && !paused && lane.in_flight < pace.window {
            return true;
        }
        lane.more = true;
        self.make_ready(sender);
        false
    }

    /// The next lane to read: its sender, the place after which to read, and how many rows fit.
    pub(crate) fn next_lane(&mut self, pace: Pace) -> Option<(MachineId, Pos, usize)> {
        while let Some(sender) = self.ready.front().copied() {
            match self.lanes.get(&sender) {
                Some(lane) if lane.more && lane.in_flight < pace.window => {
                    return Some((sender, lane.sent, pace.window - lane.in_flight));
                }
                _ => self.unready(&sender),
            }
        }
        None
    }

    /// A lane was read. It has no more rows, or goes on after the other lanes.
    pub(crate) fn lane_read(&mut self, sender: &MachineId, exhausted: bool) {
        self.unready(sender);
        if let Some(lane) = self.lanes.get_mut(sender) {
            lane.more = !exhausted;
            self.make_ready(*sender);
            self.forget_idle(sender);
        }
    }

    /// A row is sent for the first time.
    pub(crate) fn sent(&mut self, row: First, pace: Pace, now: Mono) {
        let lane = self.lanes.entry(row.sender).or_default();
        lane.sent = row.pos;
        lane.in_flight += 1;
        let due = now.plus(pace.redeliver_min_ms);
        let flight = Flight {
            sender: row.sender,
            id: row.id,
            exp: row.exp,
            bytes: row.bytes,
            wait_ms: pace.redeliver_min_ms.saturating_mul(2).min(pace.redeliver_max_ms),
            due,
        };
        self.flights.insert(row.pos, flight);
        self.by_id.insert((row.id, row.pos));
        self.due.insert((due, row.pos));
        self.unpaid += 1;
    }

    /// A row is passed over: its time has passed.
    pub(crate) fn skipped(&mut self, sender: &MachineId, pos: Pos) {
        if let Some(lane) = self.lanes.get_mut(sender) {
            lane.sent = pos;
        }
    }

    /// Which delivery an ack means.
    pub(crate) fn named(&self, id: &Ulid, from: Option<&MachineId>) -> Named {
        let of = |pos: &Pos| self.flights.get(pos).map(|flight| &flight.sender);
        let mut found = self
            .by_id
            .range((*id, Pos::MIN)..=(*id, Pos::MAX))
            .map(|(_, pos)| *pos)
            .filter(|pos| from.is_none() || of(pos) == from);
        match (found.next(), found.next()) {
            (None, _) => Named::None,
            (Some(pos), None) => Named::One(pos),
            (Some(_), Some(_)) => Named::Several,
        }
    }

    /// A delivery's sender and size.
    pub(crate) fn flight(&self, pos: Pos) -> Option<Place> {
        self.flights.get(&pos).map(|flight| Place {
            pos,
            sender: flight.sender,
            bytes: flight.bytes,
        })
    }

    /// A delivery ended: acknowledged, expired or deleted. Its lane has room for one more.
    pub(crate) fn ended(&mut self, pos: Pos) {
        let Some(flight) = self.flights.remove(&pos) else { return };
        self.by_id.remove(&(flight.id, pos));
        self.due.remove(&(flight.due, pos));
        if let Some(lane) = self.lanes.get_mut(&flight.sender) {
            lane.in_flight = lane.in_flight.saturating_sub(1);
            self.make_ready(flight.sender);
            self.forget_idle(&flight.sender);
        }
    }

    /// Whatever came from `sender` is gone from the queue.
    pub(crate) fn forget_sender(&mut self, sender: &MachineId) {
        let theirs: Vec<Pos> = self
            .flights
            .iter()
            .filter(|(_, flight)| flight.sender == *sender)
            .map(|(pos, _)| *pos)
            .collect();
        for pos in theirs {
            self.ended(pos);
        }
        self.lanes.remove(sender);
        self.ready.retain(|ready| ready != sender);
    }

    /// Deliveries whose time has passed end here: their rows are deleted. `true` when there were any.
    pub(crate) fn expire(&mut self, now: Ms) -> bool {
        let over: Vec<Pos> = self
            .flights
            .iter()
            .filter(|(_, flight)| flight.exp <= now)
            .map(|(pos, _)| *pos)
            .collect();
        for pos in &over {
            self.ended(*pos);
        }
        !over.is_empty()
    }

    /// The next delivery that is to be sent again now.
    pub(crate) fn next_due(&mut self, now: Now) -> Option<Pos> {
        loop {
            let (due, pos) = *self.due.first()?;
            if due > now.mono {
                return None;
            }
            match self.flights.get(&pos) {
                Some(flight) if flight.exp > now.wall => return Some(pos),
                _ => self.ended(pos),
            }
        }
    }

    /// A delivery was sent again.
    pub(crate) fn sent_again(&mut self, pos: Pos, pace: Pace, now: Mono) {
        let Some(flight) = self.flights.get_mut(&pos) else { return };
        self.due.remove(&(flight.due, pos));
        flight.due = now.plus(flight.wait_ms);
        flight.wait_ms = flight.wait_ms.saturating_mul(2).min(pace.redeliver_max_ms);
        self.due.insert((flight.due, pos));
    }

    /// When the next delivery is to be sent again.
    pub(crate) fn deadline(&self) -> Option<Mono> {
        self.due.first().map(|(due, _)| *due)
    }

    /// Takes the payment for one free ack, if a delivery has made it.
    pub(crate) fn pay(&mut self) -> bool {
        let paid = self.unpaid > 0;
        self.unpaid = self.unpaid.saturating_sub(1);
        paid
    }

    /// Gives a payment back: the ack did not count.
    pub(crate) fn unpay(&mut self) {
        self.unpaid += 1;
    }

    #[cfg(test)]
    pub(crate) fn in_flight(&self, sender: &MachineId) -> usize {
        self.flights.values().filter(|flight| flight.sender == *sender).count()
    }

    /// Puts a lane that may have rows in turn. Whether it has room is asked when its turn comes.
    fn make_ready(&mut self, sender: MachineId) {
        if let Some(lane) = self.lanes.get_mut(&sender)
            && lane.more
            && !lane.ready
        {
            lane.ready = true;
            self.ready.push_back(sender);
        }
    }

    fn unready(&mut self, sender: &MachineId) {
        if let Some(at) = self.ready.iter().position(|ready| ready == sender) {
            self.ready.remove(at);
        }
        if let Some(lane) = self.lanes.get_mut(sender) {
            lane.ready = false;
        }
    }

    /// A lane with nothing in flight and nothing to read says no more than its absence: the next row offered is the next
    /// one to send.
    fn forget_idle(&mut self, sender: &MachineId) {
        if self.lanes.get(sender).is_some_and(|lane| lane.in_flight == 0 && !lane.more) {
            self.lanes.remove(sender);
        }
    }
}

#[cfg(test)]
#[path = "schedule_tests.rs"]
mod tests;

//! The pump: fills a link's socket as far as its windows and its buffer allow.
//! Spec: §7 "Delivery", W5.5, W5.9

use std::ops::ControlFlow;
use std::sync::Arc;

use messaging_core::time::Now;
use messaging_store::{Effects, StoreError, View};
use messaging_wire::text;

use super::schedule::{First, Pace};
use crate::conns::Link;
use crate::engine::RelayEngine;
use crate::events::{Event, Place};
use crate::input::{ConnId, Out};
use crate::store::{Party, presence, queue};

/// A socket with this much waiting is given nothing more, and again at a quarter of it.
const HIGH_WATER: usize = 4 * 1_048_576;
/// The same while the sockets together hold half of what they may: many links with a backlog must not be dropped for what
/// the pump itself put there.
const HIGH_WATER_WHEN_TIGHT: usize = 65_536;
/// After a failed read, ms.
const RETRY_MS: u64 = 1_000;

impl RelayEngine {
    /// How deliveries are paced.
    pub(crate) fn pace(&self) -> Pace {
        let limits = &self.config.limits;
        Pace {
            window: limits.delivery_window,
            redeliver_min_ms: limits.redeliver_min_ms,
            redeliver_max_ms: limits.redeliver_max_ms,
        }
    }

    /// Pumps every link that has something to send.
    pub(crate) fn pump_all(&mut self, now: Now, rows: View<'_>, out: &mut Effects<Out>) {
        for conn in self.conns.redelivering(now.mono) {
            self.dirty.insert(conn);
        }
        for conn in std::mem::take(&mut self.dirty) {
            if let Err(error) = self.pump(conn, now, rows, out) {
                self.metrics.internal(Place::Delivery);
                out.push(Out::Log(Event::Internal { place: Place::Delivery, error }));
                self.dirty.insert(conn);
                self.pump_again = Some(now.mono.plus(RETRY_MS));
            }
            self.conns.schedule(conn);
        }
        if self.dirty.is_empty() {
            self.pump_again = None;
        }
    }

    /// A link with room on its socket goes on.
    pub(crate) fn drained(&mut self, conn: ConnId, bytes: usize) {
        let waiting = self.conns.drained(conn, bytes);
        let low = self.high_water() / 4;
        if let Some(link) = self.conns.link_mut(conn)
            && link.paused
            && waiting <= low
        {
            link.paused = false;
            self.dirty.insert(conn);
        }
    }

    fn pump(
        &mut self,
        conn: ConnId,
        now: Now,
        rows: View<'_>,
        out: &mut Effects<Out>,
    ) -> Result<(), StoreError> {
        let pace = self.pace();
        loop {
            let room = self.high_water().saturating_sub(self.conns.buffered_on(conn));
            let Some(link) = self.conns.link_mut(conn) else { return Ok(()) };
            if link.paused {
                return Ok(());
            }
            if room == 0 {
                link.paused = true;
                return Ok(());
            }
            let mut load = Load { room, frames: Vec::new() };
            let more = step(link, pace, now, rows, &mut load);
            for frame in load.frames {
                self.send(conn, "deliver", frame, out);
            }
            if !more? {
                return Ok(());
            }
        }
    }

    /// With this much waiting, a socket is given nothing more.
    pub(crate) fn high_water(&self) -> usize {
        if self.conns.buffered() >= self.config.limits.buffered_bytes / 2 {
            HIGH_WATER_WHEN_TIGHT
        } else {
            HIGH_WATER
        }
    }
}

/// Frames for one socket, until it is full.
struct Load {
    room: usize,
    frames: Vec<Arc<str>>,
}

impl Load {
    fn put(&mut self, env: &str) {
        let frame: Arc<str> = text::deliver(env).into();
        self.room = self.room.saturating_sub(frame.len());
        self.frames.push(frame);
    }

    fn is_full(&self) -> bool {
        self.room == 0
    }
}

/// Loads the next thing that a link has to send; `false` when there is nothing.
///
/// First the presences that it has yet to be told, then what is to be sent again, then one lane.
fn step(
    link: &mut Link,
    pace: Pace,
    now: Now,
    rows: View<'_>,
    load: &mut Load,
) -> Result<bool, StoreError> {
    if let Some(machine) = link.presences.front().copied() {
        let party = Party { realm: link.party.realm, machine };
        presence::text(&rows, &party, now.wall, |env| load.put(env))?;
        link.presences.pop_front();
        return Ok(true);
    }
    if let Some(pos) = link.deliveries.next_due(now) {
        if queue::text(&rows, pos, |env| load.put(env))? {
            link.deliveries.sent_again(pos, pace, now.mono);
        } else {
            link.deliveries.ended(pos);
        }
        return Ok(true);
    }
    let Some((sender, after, most)) = link.deliveries.next_lane(pace) else { return Ok(false) };
    let mut read = 0;
    let (party, deliveries) = (link.party, &mut link.deliveries);
    queue::after(&rows, &party, &sender, after, most, |row| {
        read += 1;
        if row.exp <= now.wall {
            deliveries.skipped(&sender, row.pos);
        } else {
            load.put(row.env);
            let bytes = row.env.len() as u64;
            let first = First { pos: row.pos, sender, id: row.id, exp: row.exp, bytes };
            deliveries.sent(first, pace, now.mono);
        }
        if load.is_full() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    deliveries.lane_read(&sender, read < most && !load.is_full());
    Ok(true)
}

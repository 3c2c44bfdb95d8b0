//! Budgets: frames and bytes of a machine, presence, teams founded from an address.
//! Spec: §7 "Rate limits", W5.6
//!
//! They live in memory, across connections, and are forgotten when they are full again.

use std::collections::BTreeMap;
use std::net::IpAddr;

use messaging_core::bucket::TokenBucket;
use messaging_core::code::{Code, Failure};
use messaging_core::limits::{PRESENCE_BURST, PRESENCE_INTERVAL_MS};
use messaging_core::time::{Mono, Now};

use crate::config::RelayLimits;
use crate::engine::RelayEngine;
use crate::halt::Refusal;
use crate::store::Party;

/// Every budget that is not full.
#[derive(Debug, Default)]
pub(crate) struct Budgets {
    machines: BTreeMap<Party, Machine>,
    founders: BTreeMap<IpAddr, TokenBucket>,
}

#[derive(Debug)]
struct Machine {
    frames: TokenBucket,
    bytes: TokenBucket,
    presence: TokenBucket,
}

impl Budgets {
    /// Takes one frame of `bytes` from a machine's budgets, or says how long until it fits, ms.
    fn frame(
        &mut self,
        party: &Party,
        bytes: usize,
        limits: &RelayLimits,
        now: Mono,
    ) -> Result<(), u64> {
        let machine = self.machine(party, limits, now);
        let bytes = bytes as u64;
        let wait = machine.frames.wait_for(1, now).max(machine.bytes.wait_for(bytes, now));
        if wait > 0 {
            return Err(wait);
        }
        // Both have room: a frame that is refused is charged to neither.
        machine.frames.take(1, now).and_then(|()| machine.bytes.take(bytes, now))
    }

    /// Takes one presence from a machine's budget.
    fn presence(&mut self, party: &Party, limits: &RelayLimits, now: Mono) -> Result<(), u64> {
        self.machine(party, limits, now).presence.take(1, now)
    }

    /// Takes one team from an address's budget.
    pub(crate) fn founding(
        &mut self,
        address: IpAddr,
        limits: &RelayLimits,
        now: Mono,
    ) -> Result<(), Failure> {
        self.founders
            .entry(address)
            .or_insert_with(|| TokenBucket::new(limits.team_creates_per_hour, HOUR_MS, now))
            .take(1, now)
            .map_err(|_| Failure::new(Code::RateLimited, "teams of this address"))
    }

    /// Forgets every budget that is full again.
    pub(crate) fn sweep(&mut self, now: Mono) {
        self.machines.retain(|_, machine| {
            !(machine.frames.is_full(now)
                && machine.bytes.is_full(now)
                && machine.presence.is_full(now))
        });
        self.founders.retain(|_, bucket| !bucket.is_full(now));
    }

    #[cfg(test)]
    pub(crate) fn held(&self) -> usize {
        self.machines.len() + self.founders.len()
    }

    fn machine(&mut self, party: &Party, limits: &RelayLimits, now: Mono) -> &mut Machine {
        self.machines.entry(*party).or_insert_with(|| Machine {
            frames: TokenBucket::new(limits.frames_per_minute, MINUTE_MS, now),
            bytes: TokenBucket::new(limits.bytes_per_minute, MINUTE_MS, now),
            presence: TokenBucket::new(PRESENCE_BURST, PRESENCE_BURST * PRESENCE_INTERVAL_MS, now),
        })
    }
}

impl RelayEngine {
    /// Charges one frame to its machine.
    pub(crate) fn charge(&mut self, party: &Party, bytes: usize, now: Now) -> Result<(), Refusal> {
        let charged = self.budgets.frame(party, bytes, &self.config.limits, now.mono);
        charged.map_err(|wait| {
            self.metrics.rate_limited += 1;
            Refusal::after(wait, "frames of this machine")
        })
    }

    /// Charges one presence to its machine.
    pub(crate) fn charge_presence(&mut self, party: &Party, now: Now) -> Result<(), Refusal> {
        let charged = self.budgets.presence(party, &self.config.limits, now.mono);
        charged.map_err(|wait| Refusal::after(wait, "presence of this machine"))
    }
}

const MINUTE_MS: u64 = 60_000;
const HOUR_MS: u64 = 3_600_000;

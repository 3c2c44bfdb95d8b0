//! What one machine may send here in a minute, counted before anything is opened.
//! Spec: §8.3 "Rate limit", D3.9
//!
//! In memory only: a restart starts them full.

use std::collections::BTreeMap;

use messaging_core::bucket::TokenBucket;
use messaging_core::envelope::{Envelope, SealedType};
use messaging_core::ids::MachineId;
use messaging_core::limits::INBOUND_PER_MACHINE_PER_MINUTE;
use messaging_core::time::Mono;

/// The budgets, each a sender machine's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Budget {
    /// Mail and tasks for agents, cancels, and types that are not known here.
    Mail,
    /// Everything that a person gets: lines, channels, cards, syncs.
    Chat,
    /// Receipts and task updates, which answer this machine's own traffic.
    Answers,
    /// Presence.
    Presence,
    /// `rate_limited` answers to mail that can never be taken.
    MailRefusals,
    /// `rate_limited` answers to chat that can never be taken.
    ChatRefusals,
}

impl Budget {
    /// What an envelope counts against; only its header is read.
    pub(crate) fn of(envelope: &Envelope) -> Self {
        let Some(sealed) = envelope.sealed() else { return Self::Presence };
        match sealed.kind {
            SealedType::Message if sealed.to.agent.is_none() => Self::Chat,
            SealedType::Message | SealedType::TaskCancel => Self::Mail,
            SealedType::Receipt | SealedType::TaskStatus | SealedType::TaskArtifact => {
                Self::Answers
            }
        }
    }

    /// The budget of the answers that say that an envelope of this budget cannot be taken.
    pub(crate) fn refusals(self) -> Option<Self> {
        match self {
            Self::Mail => Some(Self::MailRefusals),
            Self::Chat => Some(Self::ChatRefusals),
            Self::Answers | Self::Presence | Self::MailRefusals | Self::ChatRefusals => None,
        }
    }

    const fn per_minute(self) -> u64 {
        match self {
            Self::Mail | Self::Chat => INBOUND_PER_MACHINE_PER_MINUTE,
            Self::Answers | Self::Presence | Self::ChatRefusals => {
                4 * INBOUND_PER_MACHINE_PER_MINUTE
            }
            Self::MailRefusals => 1,
        }
    }
}

/// The budgets that were touched lately.
#[derive(Debug, Default)]
pub(crate) struct Budgets {
    buckets: BTreeMap<(MachineId, Budget), TokenBucket>,
}

impl Budgets {
    /// Counts one envelope. Errors: how long until there is room, ms.
    pub(crate) fn take(
        &mut self,
        machine: MachineId,
        budget: Budget,
        now: Mono,
    ) -> Result<(), u64> {
        let fresh = || TokenBucket::new(budget.per_minute(), MINUTE_MS, now);
        self.buckets.entry((machine, budget)).or_insert_with(fresh).take(1, now)
    }

    /// How long until one envelope may come, ms; 0 when it may come now.
    pub(crate) fn wait(&self, machine: MachineId, budget: Budget, now: Mono) -> u64 {
        self.buckets.get(&(machine, budget)).map_or(0, |bucket| bucket.wait_for(1, now))
    }

    /// Forgets what is full again.
    pub(crate) fn forget_full(&mut self, now: Mono) {
        self.buckets.retain(|_, bucket| !bucket.is_full(now));
    }
}

const MINUTE_MS: u64 = 60_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(byte: u8) -> MachineId {
        MachineId::from_bytes(&[byte; 32])
    }

    #[test]
    fn each_machine_and_each_budget_counts_for_itself() {
        let mut budgets = Budgets::default();
        let now = Mono(5);
        for _ in 0..60 {
            assert_eq!(budgets.take(machine(1), Budget::Mail, now), Ok(()));
        }
        assert!(budgets.take(machine(1), Budget::Mail, now).is_err());
        assert_eq!(budgets.take(machine(1), Budget::Chat, now), Ok(()));
        assert_eq!(budgets.take(machine(2), Budget::Mail, now), Ok(()));
        for _ in 0..240 {
            assert_eq!(budgets.take(machine(1), Budget::Answers, now), Ok(()));
            assert_eq!(budgets.take(machine(1), Budget::Presence, now), Ok(()));
        }
        assert!(budgets.take(machine(1), Budget::Answers, now).is_err());
        assert!(budgets.take(machine(1), Budget::Presence, now).is_err());
    }

    #[test]
    fn a_budget_refills_at_its_pace_and_is_then_forgotten() {
        let mut budgets = Budgets::default();
        for _ in 0..60 {
            budgets.take(machine(1), Budget::Mail, Mono(0)).unwrap();
        }
        assert_eq!(budgets.wait(machine(1), Budget::Mail, Mono(0)), 1_000);
        assert_eq!(budgets.take(machine(1), Budget::Mail, Mono(0)), Err(1_000));
        assert_eq!(budgets.take(machine(1), Budget::Mail, Mono(1_000)), Ok(()));
        assert!(budgets.take(machine(1), Budget::Mail, Mono(1_000)).is_err());
        budgets.forget_full(Mono(30_000));
        assert_eq!(budgets.buckets.len(), 1);
        budgets.forget_full(Mono(61_000));
        assert_eq!(budgets.buckets.len(), 0);
    }
}

//! The loop guard: how many messages one agent takes from another before somebody should look.
//! Spec: §8.3 "Loop guard", D3.9

use crate::code::{Code, Failure};
use crate::ids::{MachineId, SessionName};
use crate::limits::{LOOP_GUARD_MAX, LOOP_GUARD_WINDOW_MS};
use crate::time::Mono;
use crate::window::Windows;

/// Counts messages between two agents: 30 in ten minutes for each pair of sessions, 60 for all sessions of one machine
/// to one session, since a sender's session is a name that it claims.
///
/// Who counts is the caller's matter: `message` envelopes between two sessions of which neither is a `cli`; not lines,
/// and a held request only when it is released. It lives in memory; a restart starts it again. Its size is bounded: a
/// machine has at most 60 counted messages for each session here.
#[derive(Clone, Debug)]
pub struct LoopGuard {
    pairs: Windows<(MachineId, SessionName, SessionName)>,
    machines: Windows<(MachineId, SessionName)>,
}

impl LoopGuard {
    /// A guard that has counted nothing.
    #[must_use]
    pub fn new() -> Self {
        let most = usize::try_from(LOOP_GUARD_MAX).unwrap_or(usize::MAX);
        Self {
            pairs: Windows::new(most, LOOP_GUARD_WINDOW_MS),
            machines: Windows::new(most.saturating_mul(2), LOOP_GUARD_WINDOW_MS),
        }
    }

    /// Counts a message from session `sender` of machine `device` to the session `recipient` of this machine.
    ///
    /// Errors: `loop_guard` when either count is full; then neither counts it.
    pub fn count(
        &mut self,
        device: &MachineId,
        sender: &SessionName,
        recipient: &SessionName,
        now: Mono,
    ) -> Result<(), Failure> {
        let over = Failure::new(Code::LoopGuard, "to.agent");
        let pair = (*device, sender.clone(), recipient.clone());
        if self.pairs.wait(&pair, now) > 0 {
            return Err(over);
        }
        self.machines.take((*device, recipient.clone()), now).map_err(|_| over)?;
        self.pairs.take(pair, now).map_err(|_| over)
    }
}

impl Default for LoopGuard {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::format;
    use std::vec::Vec;

    fn name(text: &str) -> SessionName {
        SessionName::parse(text).unwrap()
    }

    fn machine(byte: u8) -> MachineId {
        MachineId::from_bytes(&[byte; 32])
    }

    #[test]
    fn thirty_of_a_pair_and_sixty_of_a_machine() {
        let mut guard = LoopGuard::new();
        let (device, here) = (machine(1), name("api"));
        let full = Err(Failure::new(Code::LoopGuard, "to.agent"));
        for _ in 0..30 {
            assert_eq!(guard.count(&device, &name("a"), &here, Mono(5)), Ok(()));
        }
        assert_eq!(guard.count(&device, &name("a"), &here, Mono(5)), full);
        // Another name on the same machine has the rest of the machine's sixty, alternating or not.
        for n in 0..30 {
            assert_eq!(guard.count(&device, &name(["b", "c"][n % 2]), &here, Mono(5)), Ok(()));
        }
        assert_eq!(guard.count(&device, &name("d"), &here, Mono(5)), full);
        // Other machines and other sessions here are not touched.
        assert_eq!(guard.count(&machine(2), &name("a"), &here, Mono(5)), Ok(()));
        assert_eq!(guard.count(&device, &name("a"), &name("other"), Mono(5)), Ok(()));
        // Refused messages were not counted: all is free again ten minutes after the last that was taken.
        let later = Mono(5 + LOOP_GUARD_WINDOW_MS);
        assert_eq!(guard.count(&device, &name("a"), &here, Mono(later.0 - 1)), full);
        assert_eq!(guard.count(&device, &name("a"), &here, later), Ok(()));
    }

    proptest! {
        #[test]
        fn whatever_names_a_machine_claims_it_stays_bounded(
            steps in prop::collection::vec((0..200_u32, 0..20_000_u64), 1..400),
        ) {
            let mut guard = LoopGuard::new();
            let (mut now, mut taken) = (Mono(0), Vec::new());
            for (claimed, step) in steps {
                now = now.plus(step);
                let sender = name(&format!("s{claimed}"));
                if guard.count(&machine(1), &sender, &name("api"), now).is_ok() {
                    taken.push(now);
                }
                let recent = taken.iter().filter(|at| now.since(**at) < LOOP_GUARD_WINDOW_MS);
                prop_assert!(recent.count() <= 60);
                prop_assert!(guard.pairs.keys() <= 120 && guard.machines.keys() == 1);
            }
        }
    }
}

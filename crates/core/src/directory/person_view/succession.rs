//! Two states of one person, verified at two tree heads: the later one has gone on from the earlier one.
//! Spec: §15.7 "checkPersonSuccession", W4.22

use super::{Evidence, PersonState, ViewFailure, inconsistent};

/// Holds a later state against an earlier one, by the sizes of their tree heads. An erased state is not compared.
///
/// Cost: linear in the shorter log. Errors: `directory_inconsistent`, with the evidence of a fork or a rollback.
pub fn check_succession(earlier: &PersonState, later: &PersonState) -> Result<(), ViewFailure> {
    let (PersonState::Live(earlier), PersonState::Live(later)) = (earlier, later) else {
        return Ok(());
    };
    for (held, served) in earlier.log.entries().iter().zip(later.log.entries()) {
        if held.entry.hash() != served.entry.hash() {
            return Err(ViewFailure::fork(&held.entry, &served.entry));
        }
    }
    if later.log.entries().len() < earlier.log.entries().len() {
        return Err(inconsistent("log").into());
    }
    for bound in later.log.current_devices() {
        let Some(held) = earlier.keys.get(&bound.device) else { continue };
        match later.keys.get(&bound.device) {
            Some(served) if served.seq > held.seq || served == held => {}
            Some(served) if served.seq == held.seq => {
                return Err(inconsistent("keys.seq").into());
            }
            served => {
                let evidence = Evidence::Rollback {
                    device: bound.device,
                    held: held.seq,
                    served: served.map(|served| served.seq),
                };
                return Err(ViewFailure::with(inconsistent("keys"), evidence));
            }
        }
    }
    Ok(())
}

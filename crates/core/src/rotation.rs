//! When an encryption key is replaced, and how long the replaced one still opens.
//! Spec: §4 "Encryption-key rotation", D3.22

use sha2::{Digest as _, Sha256};

use crate::ids::MachineId;
use crate::limits::{CLOCK_SKEW_MS, TTL_MS};
use crate::time::Ms;

/// How long a replaced key is kept: whatever was sealed before everybody saw the new one has expired by then.
pub const WINDOW_MS: u64 = TTL_MS + 2 * CLOCK_SKEW_MS;

/// When the key that was published at `published` is due, with a period of `days`.
///
/// Every machine adds a fixed part of six hours of its own, so that a team whose machines started together does not rotate
/// at one moment.
#[must_use]
pub fn due(machine: &MachineId, published: Ms, days: u16) -> Ms {
    published.plus(u64::from(days) * DAY_MS).plus(offset_ms(machine))
}

fn offset_ms(machine: &MachineId) -> u64 {
    let mut hash = Sha256::new();
    hash.update(b"rotate");
    hash.update(machine.to_bytes());
    let digest: [u8; 32] = hash.finalize().into();
    let [a, b, c, d, ..] = digest;
    u64::from(u32::from_be_bytes([a, b, c, d]) % OFFSETS_S) * 1_000
}

const DAY_MS: u64 = 86_400_000;
const OFFSETS_S: u32 = 21_600;

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn a_key_is_due_after_its_period_and_up_to_six_hours() {
        let due_of = |seed: u8| due(&MachineId::from_bytes(&[seed; 32]), Ms(1_000), 7).0 - 1_000;
        let offsets: Vec<u64> = (0..100).map(|seed| due_of(seed) - 7 * DAY_MS).collect();
        assert!(offsets.iter().all(|offset| *offset < 6 * 3_600_000 && offset % 1_000 == 0));
        let mut distinct = offsets.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert!(distinct.len() > 90, "machines differ");
        assert_eq!(due_of(3), due_of(3), "and each is true to itself");
    }

    #[test]
    fn the_window_is_the_life_of_an_envelope_and_both_clocks() {
        assert_eq!(WINDOW_MS, 7 * DAY_MS + 2 * 300_000);
    }
}

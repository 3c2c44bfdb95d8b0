//! Randomness, which callers lend.
//! Spec: §2 "ULID"

use crate::ids::Ulid;
use crate::time::Ms;

/// A source of random bytes. Shells lend the system's, tests a seeded one.
pub trait Random {
    /// Fills `bytes` with fresh random bytes.
    fn fill(&mut self, bytes: &mut [u8]);
}

impl<R: Random + ?Sized> Random for &mut R {
    fn fill(&mut self, bytes: &mut [u8]) {
        (**self).fill(bytes);
    }
}

/// `N` fresh random bytes.
pub fn bytes<const N: usize>(rng: &mut (impl Random + ?Sized)) -> [u8; N] {
    let mut out = [0; N];
    rng.fill(&mut out);
    out
}

/// A number below `bound`, 0 when `bound` is 0. The bias is below 2^-32 for bounds below 2^32.
pub fn below(rng: &mut (impl Random + ?Sized), bound: u64) -> u64 {
    u64::from_le_bytes(bytes(rng)).checked_rem(bound).unwrap_or(0)
}

/// A fresh id of time `at`. Two ids of one millisecond are in no particular order.
pub fn ulid(at: Ms, rng: &mut (impl Random + ?Sized)) -> Ulid {
    Ulid::from_parts(at, bytes(rng))
}

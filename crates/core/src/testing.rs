//! Fixed randomness for tests and simulations; never in a shipped program.

use sha2::{Digest as _, Sha256};

use crate::random::Random;

/// Random bytes that depend on the seed alone: SHA-256 in counter mode.
#[derive(Clone, Debug)]
pub struct SeededRandom {
    seed: u64,
    block: u64,
    buffer: [u8; 32],
    used: usize,
}

impl SeededRandom {
    /// A source whose bytes follow from `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { seed, block: 0, buffer: [0; 32], used: 32 }
    }

    /// An independent source, for a party of its own.
    #[must_use]
    pub fn fork(&mut self) -> Self {
        Self::new(u64::from_le_bytes(crate::random::bytes(self)))
    }
}

impl Random for SeededRandom {
    fn fill(&mut self, bytes: &mut [u8]) {
        for byte in bytes {
            if self.used >= self.buffer.len() {
                let mut hash = Sha256::new();
                hash.update(self.seed.to_le_bytes());
                hash.update(self.block.to_le_bytes());
                self.buffer = hash.finalize().into();
                self.block = self.block.wrapping_add(1);
                self.used = 0;
            }
            *byte = self.buffer.get(self.used).copied().unwrap_or(0);
            self.used = self.used.saturating_add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random;

    #[test]
    fn the_same_seed_gives_the_same_bytes() {
        let (mut a, mut b) = (SeededRandom::new(7), SeededRandom::new(7));
        assert_eq!(random::bytes::<100>(&mut a), random::bytes::<100>(&mut b));
        let mut c = SeededRandom::new(8);
        assert_ne!(random::bytes::<16>(&mut a), random::bytes::<16>(&mut c));
        assert_ne!(a.fork().fork().seed, a.fork().seed);
    }
}

//! Seeded choices: everything that a run leaves to chance follows from one number.

use messaging_core::random::Random;

/// A stream of choices that depends on its seed alone (SplitMix64).
///
/// Not the randomness of keys: engines are lent a stream of their own, so that one more choice of the scenario changes no
/// key of a run.
#[derive(Clone, Debug)]
pub struct Dice {
    state: u64,
}

impl Dice {
    /// The stream of `seed`.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// An independent stream for one purpose; the same seed and purpose give the same stream.
    #[must_use]
    pub fn stream(seed: u64, purpose: u64) -> Self {
        let mut mixed = Self::new(seed ^ purpose.wrapping_mul(0xD6E8_FEB8_6659_FD93));
        mixed.roll();
        Self::new(mixed.roll())
    }

    /// The next 64 bits.
    pub fn roll(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `bound`; 0 when `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.roll().checked_rem(bound).unwrap_or(0)
    }

    /// A number from `low` to `high`, both included.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low) + 1)
    }

    /// `true` in `percent` of a hundred cases.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// An index into a list of `len`, `None` when it is empty.
    pub fn index(&mut self, len: usize) -> Option<usize> {
        usize::try_from(self.below(u64::try_from(len).ok()?)).ok().filter(|index| *index < len)
    }

    /// One of `list`.
    pub fn pick<'a, T>(&mut self, list: &'a [T]) -> Option<&'a T> {
        self.index(list.len()).and_then(|index| list.get(index))
    }

    /// A delay of mostly about `usual`, now and then up to `most`: networks and disks have long tails.
    pub fn tail(&mut self, usual: u64, most: u64) -> u64 {
        if self.chance(90) { self.between(usual / 2, usual * 2) } else { self.between(usual, most) }
    }
}

impl Random for Dice {
    fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            let next = self.roll().to_le_bytes();
            chunk.copy_from_slice(next.get(..chunk.len()).unwrap_or(&next));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_a_run() {
        let draw = |mut dice: Dice| (0..50).map(|_| dice.between(3, 9)).collect::<Vec<_>>();
        assert_eq!(draw(Dice::new(1)), draw(Dice::new(1)));
        assert_ne!(draw(Dice::new(1)), draw(Dice::new(2)));
        assert_ne!(draw(Dice::stream(1, 1)), draw(Dice::stream(1, 2)));
        assert!(draw(Dice::new(5)).iter().all(|n| (3..=9).contains(n)));
    }

    #[test]
    fn nothing_can_be_picked_from_nothing() {
        let mut dice = Dice::new(0);
        assert_eq!(dice.pick::<u8>(&[]), None);
        assert_eq!(dice.below(0), 0);
        assert_eq!(dice.pick(&[7]), Some(&7));
    }
}

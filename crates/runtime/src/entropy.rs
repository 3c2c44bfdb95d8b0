//! The operating system's random bytes.

use messaging_core::random::Random;

use crate::fatal;

/// Random bytes from the operating system.
///
/// A system that has none to give cannot make keys or nonces: the process ends with status 70 rather than guess.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemRandom;

impl Random for SystemRandom {
    fn fill(&mut self, bytes: &mut [u8]) {
        if getrandom::fill(bytes).is_err() {
            fatal::end("process.fatal", "randomness", "getrandom", "system randomness");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use messaging_core::random::bytes;

    #[test]
    fn two_readings_differ() {
        assert_ne!(bytes::<32>(&mut SystemRandom), bytes::<32>(&mut SystemRandom));
    }
}

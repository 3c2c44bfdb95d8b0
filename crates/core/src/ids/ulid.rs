//! ULIDs: 48 bits of milliseconds and 80 random bits, in upper-case Crockford base32.
//! Spec: §2 "ULID", W0 `Ulid`

use core::fmt;

use super::text_id_traits;
use crate::code::Failure;
use crate::time::Ms;

const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const CHARS: usize = 26;

/// An id of 26 characters that sorts by its millisecond. It is neither secret nor unpredictable to a receiver.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ulid([u8; CHARS]);

impl Ulid {
    /// Reads the canonical text.
    ///
    /// Errors: `invalid_request` for another length, lower case, a letter outside the alphabet, or a first character
    /// above `7`.
    pub fn parse(text: &str) -> Result<Self, Failure> {
        let bytes: [u8; CHARS] =
            text.as_bytes().try_into().map_err(|_| Failure::invalid("ulid length"))?;
        let fits = bytes.iter().all(|b| ALPHABET.contains(b)) && bytes.first() <= Some(&b'7');
        if fits { Ok(Self(bytes)) } else { Err(Failure::invalid("ulid")) }
    }

    /// The id of a time and ten random bytes.
    ///
    /// Errors: `invalid_request` for a time that does not fit 48 bits (the year 10889).
    pub fn try_from_parts(at: Ms, random: [u8; 10]) -> Result<Self, Failure> {
        if at.0 >> 48 != 0 {
            return Err(Failure::invalid("ulid time"));
        }
        Ok(Self::from_parts(at, random))
    }

    /// The id of a time (its low 48 bits) and ten random bytes.
    #[must_use]
    pub fn from_parts(at: Ms, random: [u8; 10]) -> Self {
        let mut bits = u128::from(at.0 & 0xffff_ffff_ffff) << 80;
        for (index, byte) in random.iter().enumerate() {
            let shift = 72_usize.saturating_sub(index.saturating_mul(8));
            bits |= u128::from(*byte) << shift;
        }
        let mut text = [0; CHARS];
        for (index, slot) in text.iter_mut().rev().enumerate() {
            let digit = bits >> index.saturating_mul(5) & 31;
            *slot =
                usize::try_from(digit).ok().and_then(|d| ALPHABET.get(d)).copied().unwrap_or(b'0');
        }
        Self(text)
    }

    /// The time in it.
    #[must_use]
    pub fn time(&self) -> Ms {
        let mut ms: u64 = 0;
        for byte in self.0.iter().take(10) {
            let digit = ALPHABET.iter().position(|c| c == byte).unwrap_or(0);
            ms = ms << 5 | u64::try_from(digit).unwrap_or(0);
        }
        Ms(ms)
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        core::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl fmt::Debug for Ulid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

text_id_traits!(
    Ulid,
    schemars::json_schema!({ "type": "string", "pattern": "^[0-7][0-9A-HJKMNP-TV-Z]{25}$" })
);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_grammar_is_exact() {
        assert!(Ulid::parse("01ARZ3NDEKTSV4RRFFQ69G5FAV").is_ok());
        assert_eq!(
            Ulid::parse("01ARZ3NDEKTSV4RRFFQ69G5FAV").unwrap().time(),
            Ms(1_469_922_850_259)
        );
        for bad in [
            "01arz3ndektsv4rrffq69g5fav",
            "8ZZZZZZZZZZZZZZZZZZZZZZZZZ",
            "01ARZ3NDEKTSV4RRFFQ69G5FA",
            "01ARZ3NDEKTSV4RRFFQ69G5FAVV",
            "01ARZ3NDEKTSV4RRFFQ69G5FAI",
            "01ARZ3NDEKTSV4RRFFQ69G5FAé",
        ] {
            assert!(Ulid::parse(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn time_and_text_come_back(ms in 0u64..1 << 48, random: [u8; 10]) {
            let id = Ulid::from_parts(Ms(ms), random);
            prop_assert_eq!(id.time(), Ms(ms));
            prop_assert_eq!(Ulid::parse(id.as_str()), Ok(id));
        }

        #[test]
        fn ids_sort_by_millisecond(a in 0u64..1 << 48, b in 0u64..1 << 48, x: [u8; 10], y: [u8; 10]) {
            let (first, second) = (Ulid::from_parts(Ms(a), x), Ulid::from_parts(Ms(b), y));
            if a != b { prop_assert_eq!(a < b, first < second); }
        }
    }
}

//! Base64 as the protocol writes it: base64url without padding, and standard base64 for A2A `raw` parts.
//! Spec: §2, W0

use alloc::string::String;
use alloc::vec::Vec;

use data_encoding::{BASE64, BASE64URL_NOPAD};

use crate::code::Failure;

/// Bytes as base64url without padding.
#[must_use]
pub fn encode(bytes: &[u8]) -> String {
    BASE64URL_NOPAD.encode(bytes)
}

/// The bytes of a base64url text.
///
/// Errors: `invalid_request` for padding, whitespace, the other alphabet, or unused bits that are set.
pub fn decode(text: &str) -> Result<Vec<u8>, Failure> {
    BASE64URL_NOPAD.decode(text.as_bytes()).map_err(|_| Failure::invalid("base64url"))
}

/// The bytes of a base64url text that must hold exactly `N` of them.
///
/// Errors: as [`decode`], and `invalid_request` for another size.
pub fn decode_array<const N: usize>(text: &str) -> Result<[u8; N], Failure> {
    let mut out = [0; N];
    if BASE64URL_NOPAD.decode_len(text.len()) != Ok(N) {
        return Err(Failure::invalid("base64url size"));
    }
    BASE64URL_NOPAD
        .decode_mut(text.as_bytes(), &mut out)
        .map_err(|_| Failure::invalid("base64url"))?;
    Ok(out)
}

/// Whether a text is base64url as [`decode`] takes it, without decoding it.
#[must_use]
pub fn is_canonical(text: &str) -> bool {
    let tail = match (text.len() % 4, text.as_bytes().last()) {
        (0, _) => true,
        // The last character's unused bits are zero.
        (2, Some(last)) => b"AQgw".contains(last),
        (3, Some(last)) => b"AEIMQUYcgkosw048".contains(last),
        _ => false,
    };
    let digit = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-' || *byte == b'_';
    // Chunks are judged without a branch per byte: bodies are long.
    let all = |chunk: &[u8]| chunk.iter().fold(true, |good, byte| good & digit(byte));
    tail && text.as_bytes().chunks(64).all(all)
}

/// Bytes as standard base64 with padding, the form of an A2A `raw` part.
#[must_use]
pub fn encode_standard(bytes: &[u8]) -> String {
    BASE64.encode(bytes)
}

/// The bytes of a standard base64 text with padding.
///
/// Errors: `invalid_request` for the URL-safe alphabet, missing padding, whitespace, or unused bits that are set.
pub fn decode_standard(text: &str) -> Result<Vec<u8>, Failure> {
    BASE64.decode(text.as_bytes()).map_err(|_| Failure::invalid("base64"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn url_safe_form_is_strict() {
        assert_eq!(encode(&[0xfb, 0xff]), "-_8");
        assert_eq!(decode("-_8").unwrap(), [0xfb, 0xff]);
        for bad in ["-_8=", "+/8", "-_9", "-_8\n", " -_8", "A"] {
            assert!(decode(bad).is_err(), "{bad}");
        }
        assert!(decode_array::<2>("-_8").is_ok());
        assert!(decode_array::<3>("-_8").is_err());
    }

    #[test]
    fn the_form_is_told_without_decoding() {
        let alphabet = "AZaz09-_+/= gkQ";
        let mut texts = alloc::vec![String::new()];
        for _ in 0..4 {
            let longer = texts
                .iter()
                .flat_map(|text| alphabet.chars().map(move |c| alloc::format!("{text}{c}")));
            texts = longer.collect();
            for text in &texts {
                assert_eq!(is_canonical(text), decode(text).is_ok(), "{text}");
            }
        }
        let long = encode(&[0x5a; 1_000]);
        assert!(
            is_canonical(&long) && !is_canonical(&long.replacen('W', "+", 1)) && is_canonical("")
        );
        assert!(!is_canonical("é"));
    }

    #[test]
    fn standard_form_is_strict() {
        assert_eq!(decode_standard("+/8=").unwrap(), [0xfb, 0xff]);
        for bad in ["-_8=", "+/8", "+/9=", "+/8= "] {
            assert!(decode_standard(bad).is_err(), "{bad}");
        }
        assert_eq!(encode_standard(&[0xfb, 0xff]), "+/8=");
    }
}

//! Signing and verifying: every prefix, and every way in which a signature does not hold.

use messaging_core::code::Code::BadSignature;
use messaging_core::domain::Domain;
use messaging_core::ids::{MachineId, Sig};
use messaging_core::keys::SigningKey;
use serde_json::{Value, json};

use super::book::{Book, WriteError, Writing, made, text};

/// The order of the group of the base point, little-endian.
const GROUP_ORDER: [u8; 32] = [
    0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
];

pub(super) fn book() -> Result<Book, WriteError> {
    let mut book = Book::new(
        "Signatures over a prefix and a canonical text: made, verified, and refused (sections 2 \
         and 3).",
    );
    let key = SigningKey::from_seed(&[0x21; 32]);
    let other = SigningKey::from_seed(&[0x22; 32]);
    book.signing_key("signer", &key);
    book.signing_key("other", &other);
    signing(&mut book, &key)?;
    domains(&mut book, &key)?;
    tampering(&mut book, &key, &other)?;
    forgeries(&mut book, &key)?;
    Ok(book)
}

/// What the cases below sign.
fn value() -> Value {
    json!({"b": 1, "a": {"d": [true, null], "c": "x"}})
}

fn signing(book: &mut Book, key: &SigningKey) -> Writing {
    let seed = text(&*key.seed());
    for (name, value) in [
        ("an empty object", json!({})),
        ("members in any order", value()),
        ("text outside ASCII", json!({"text": "Gr\u{fc}\u{df}e \u{1f410} \u{2028}\u{7}\"\\/"})),
        ("numbers that are written shorter", json!({"n": [1e-7, 0.1, 120.0, -0.0]})),
        ("an array", json!([3, 2, 1])),
        ("a bare string", json!("x")),
        ("a member called sig", json!({"sig": "x", "a": 1})),
    ] {
        let prefix = Domain::Grant.prefix();
        let input = json!({"seed": seed, "prefix": prefix, "value": value});
        book.pins(format!("signing {name}"), "sign_value", input)?;
    }
    Ok(())
}

fn verify(key: &MachineId, prefix: &str, value: &Value, sig: &str) -> Value {
    json!({"key": key, "prefix": prefix, "value": value, "sig": sig})
}

fn domains(book: &mut Book, key: &SigningKey) -> Writing {
    for domain in Domain::ALL {
        let prefix = domain.prefix();
        let name = prefix.trim_end().trim_start_matches("messaging/1/");
        let sig = made(name, key.sign_value(*domain, &value()))?;
        let input = json!({"seed": text(&*key.seed()), "prefix": prefix, "value": value()});
        book.pins(format!("signed for {name}"), "sign_value", input)?;
        for other in Domain::ALL {
            let input = verify(key.machine(), other.prefix(), &value(), sig.as_str());
            if other == domain {
                book.pins(format!("{name} verifies"), "verify_value", input)?;
            } else {
                let other = other.prefix().trim_end().trim_start_matches("messaging/1/");
                let name = format!("{name} is not {other}");
                book.refuses(name, "verify_value", input, BadSignature)?;
            }
        }
    }
    Ok(())
}

fn tampering(book: &mut Book, key: &SigningKey, other: &SigningKey) -> Writing {
    let prefix = Domain::Roster.prefix();
    let sig = made("sig", key.sign_value(Domain::Roster, &value()))?;
    let refuse = |book: &mut Book, name: &str, input| {
        book.refuses(name, "verify_value", input, BadSignature)
    };
    refuse(book, "another key", verify(other.machine(), prefix, &value(), sig.as_str()))?;
    for (name, value) in [
        ("another number", json!({"b": 2, "a": {"d": [true, null], "c": "x"}})),
        ("a member more", json!({"b": 1, "a": {"d": [true, null], "c": "x"}, "z": null})),
        ("a member less", json!({"a": {"d": [true, null], "c": "x"}})),
        ("another order in an array", json!({"b": 1, "a": {"d": [null, true], "c": "x"}})),
        ("a number as text", json!({"b": "1", "a": {"d": [true, null], "c": "x"}})),
        ("a value that is not I-JSON", json!({"b": 9_007_199_254_740_992_u64})),
    ] {
        refuse(book, name, verify(key.machine(), prefix, &value, sig.as_str()))?;
    }
    for (name, prefix) in [
        ("a prefix without its line feed", "messaging/1/roster"),
        ("a prefix of another version", "messaging/2/roster\n"),
        ("a prefix nobody uses", "messaging/1/other\n"),
        ("no prefix", ""),
    ] {
        refuse(book, name, verify(key.machine(), prefix, &value(), sig.as_str()))?;
    }
    // Every bit counts: one in the first and one in the last byte of both halves.
    let bytes = sig.to_bytes();
    for (name, at, bit) in [
        ("R, first bit", 0, 0),
        ("R, last bit", 31, 7),
        ("S, first bit", 32, 0),
        ("S, last bit", 63, 7),
    ] {
        let flipped: Vec<u8> = bytes
            .iter()
            .enumerate()
            .map(|(index, byte)| if index == at { byte ^ (1 << bit) } else { *byte })
            .collect();
        let input = verify(key.machine(), prefix, &value(), &text(&flipped));
        refuse(book, &format!("flipped: {name}"), input)?;
    }
    for (name, sig) in [
        ("a signature of 63 bytes", text(bytes.split_last().map_or(&[], |(_, rest)| rest))),
        ("a signature of 65 bytes", text(&[&bytes[..], &[0]].concat())),
        ("no signature", String::new()),
        ("a padded signature", format!("{sig}==")),
        ("a signature of zeros", text(&[0; 64])),
        ("a signature with unused bits set", unused_bits(&sig)),
    ] {
        refuse(book, name, verify(key.machine(), prefix, &value(), &sig))?;
    }
    for (name, key) in [
        ("a key of 31 bytes", text(&[1; 31])),
        ("no key", String::new()),
        ("a padded key", format!("{}=", key.machine())),
    ] {
        let input = json!({"key": key, "prefix": prefix, "value": value(), "sig": sig});
        refuse(book, name, input)?;
    }
    Ok(())
}

/// The same 64 bytes in a text that is not canonical.
fn unused_bits(sig: &Sig) -> String {
    let mut text = sig.as_str().to_owned();
    let last = text.pop();
    text.push(match last {
        Some('A') => 'B',
        Some('Q') => 'R',
        Some('g') => 'h',
        _ => 'x',
    });
    text
}

/// Signatures that satisfy a weaker check. They were computed once, with big integers, from the
/// seed of `key` and the text that [`value`] gives under the roster's prefix.
fn forgeries(book: &mut Book, key: &SigningKey) -> Writing {
    let prefix = Domain::Roster.prefix();
    let sig = made("sig", key.sign_value(Domain::Roster, &value()))?;
    let refuse = |book: &mut Book, name: &str, key: &MachineId, sig: &str| {
        book.refuses(name, "verify_value", verify(key, prefix, &value(), sig), BadSignature)
    };
    let beyond = text(&plus_order(&sig.to_bytes()));
    refuse(book, "S past the order of the group", key.machine(), &beyond)?;
    refuse(
        book,
        "R is the identity, and S fits",
        key.machine(),
        "AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAADHqD-Owre78lHRUCiYHQcVKTEgiVVLnxKFCIomOpDDDA",
    )?;
    refuse(
        book,
        "R is of order 2, and S fits with the cofactor",
        key.machine(),
        "7P_______________________________________3_y6kQyf_EjEpVfwSxO26JqsMGB-k-ps8ZNQaCOpdHwCA",
    )?;
    refuse(
        book,
        "R plus a point of order 8, and S fits with the cofactor",
        key.machine(),
        "zbwWG-ZMQwL1ZEP_KczzaiB1vhofpn_xJrVjFfVoHDgXimr7TpzueRHKy3Zl_aQ5RiG6Nok7_3qEFdqrz-bHCQ",
    )?;
    let identity = made("key", MachineId::parse("AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"))?;
    refuse(
        book,
        "under the identity every text is signed",
        &identity,
        "709i-EeXM62HnPrO08ianDndT8eV7y76HD6v5NcpoIE5MAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    )?;
    // A key with a part of order 8 is usable; its signatures hold without the cofactor, or not.
    let mixed = made("key", MachineId::parse("t-HuaI6SKEV1AvYju8DO5qrwhKybGtc77NfI-2YtLNc"))?;
    book.pins("a key with a part of order 8 is usable", "usable_key", json!({"key": mixed}))?;
    book.pins(
        "under a key with a part of order 8, a signature that holds",
        "verify_value",
        verify(
            &mixed,
            prefix,
            &value(),
            "LxEyymGrON_wDy_qMijyTGxx1YCFuA5H4ZUVyyfo0EePcL7128ADf0VFk56e78AHGSMUYKWs7CIbqrbmHvqIAw",
        ),
    )?;
    refuse(
        book,
        "under a key with a part of order 8, one that holds with the cofactor",
        &mixed,
        "WGZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmagxTt9bEedNDreEGCf6O219Bfz7g-NLUKhYFJNorDhBw",
    )
}

/// The signature with the order of the group added to S: the same S to a lax reader.
fn plus_order(sig: &[u8; 64]) -> Vec<u8> {
    let (r, s) = sig.split_at(32);
    let mut out = r.to_vec();
    let mut carry = 0;
    for (a, b) in s.iter().zip(GROUP_ORDER) {
        let sum = u16::from(*a) + u16::from(b) + carry;
        let [low, high] = sum.to_le_bytes();
        out.push(low);
        carry = u16::from(high);
    }
    out
}

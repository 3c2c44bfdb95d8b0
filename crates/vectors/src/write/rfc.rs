//! The public examples of the standards that the protocol builds on.

use messaging_core::code::Code::InvalidRequest;
use messaging_core::ids::Hash;
use serde_json::{Value, json};
use sha2::Digest as _;

use super::book::{Book, WriteError, Writing, text};
use crate::args::hex_decode;

pub(super) fn book() -> Result<Book, WriteError> {
    let mut book = Book::new(
        "Examples that RFC 8032 (Ed25519), RFC 7748 (X25519), RFC 5869 (HKDF) and RFC 8785 (JCS) \
         print.",
    );
    ed25519(&mut book)?;
    x25519(&mut book)?;
    hkdf(&mut book)?;
    jcs(&mut book)?;
    Ok(book)
}

fn ed25519(book: &mut Book) -> Writing {
    for (name, seed, public, message, sig) in [
        (
            "TEST 1",
            "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
            "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
            "",
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e\
             39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
        ),
        (
            "TEST 2",
            "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
            "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
            "72",
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f\
             3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
        ),
        (
            "TEST 3",
            "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
            "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
            "af82",
            "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67\
             f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
        ),
        (
            "TEST SHA(abc)",
            "833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42",
            "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
            "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba\
             3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
            "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b58909351fc9ac90b3ecfdfb\
             c7c66431e0303dca179c138ac17ad9bef1177331a704",
        ),
    ] {
        let name = format!("RFC 8032 section 7.1 {name}");
        let input = json!({"seed": b64u(seed), "message": message});
        book.gives(
            &name,
            "ed25519_sign",
            input,
            json!({"public": b64u(public), "sig": b64u(sig)}),
        )?;
        let input = json!({"key": b64u(public), "message": message, "sig": b64u(sig)});
        book.gives(format!("{name}, verified"), "ed25519_verify", input, json!(true))?;
    }
    Ok(())
}

fn x25519(book: &mut Book) -> Writing {
    let alice = (
        "77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a",
        "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a",
    );
    let bob = (
        "5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb",
        "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f",
    );
    for (name, (private, public)) in [("Alice", alice), ("Bob", bob)] {
        let name = format!("RFC 7748 section 6.1 {name}'s key");
        let input = json!({"private": b64u(private)});
        book.gives(name, "encryption_key", input, json!({"public": b64u(public)}))?;
    }
    let shared = "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742";
    for (name, private, public, shared) in [
        ("6.1, Alice's side", alice.0, bob.1, shared),
        ("6.1, Bob's side", bob.0, alice.1, shared),
        (
            "5.2, first",
            "a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4",
            "e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c",
            "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552",
        ),
        (
            "5.2, second",
            "4b66e9d4d1b4673c5ad22691957d6af5c11b6421e0ea01d42ca4169e7918ba0d",
            "e5210f12786811d3f4b7959d0538ae2c31dbe7106fc03c3efc4cd549c715a493",
            "95cbde9476e8907d7aade45cb4b873f88b595a68799fa152e6f8f7647aac7957",
        ),
    ] {
        let name = format!("RFC 7748 section {name}");
        let input = json!({"private": b64u(private), "public": b64u(public)});
        book.gives(name, "key_exchange", input, json!({"shared": b64u(shared)}))?;
    }
    Ok(())
}

fn hkdf(book: &mut Book) -> Writing {
    let range =
        |from: u8, to: u8| (from..=to).map(|byte| format!("{byte:02x}")).collect::<String>();
    for (name, ikm, salt, info, okm) in [
        (
            "A.1",
            "0b".repeat(22),
            range(0x00, 0x0c),
            range(0xf0, 0xf9),
            "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865",
        ),
        (
            "A.2",
            range(0x00, 0x4f),
            range(0x60, 0xaf),
            range(0xb0, 0xff),
            "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c59045a99cac7827271cb\
             41c65e590e09da3275600c2f09b8367793a9aca3db71cc30c58179ec3e87c14c01d5c1f3434f1d87",
        ),
        (
            "A.3",
            "0b".repeat(22),
            String::new(),
            String::new(),
            "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8",
        ),
    ] {
        let name = format!("RFC 5869 appendix {name}");
        let input = json!({"ikm": ikm, "salt": salt, "info": info, "size": okm.len() / 2});
        book.gives(name, "hkdf_sha256", input, json!({"okm": okm}))?;
    }
    Ok(())
}

fn jcs(book: &mut Book) -> Writing {
    const KIND: &str = "canonicalize_text";
    let sample = |numbers: &str| {
        format!(
            "{{\"numbers\":[{numbers}],\"string\":\"\\u20ac$\\u000F\\u000aA'\\u0042\\u0022\\u005c\
             \\\\\\\"\\/\",\"literals\":[null,true,false]}}"
        )
    };
    let text = sample("333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001");
    let name = "RFC 8785 section 3.2.2: 1E30 is out of the protocol's range";
    book.refuses(name, KIND, json!({"text": text}), InvalidRequest)?;
    let text = sample("333333333.33333329, 4.50, 2e-3, 0.000000000000000000000000001");
    let canonical = "{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,4.5,0.002,1e-27],\
                     \"string\":\"\u{20ac}$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}";
    book.gives(
        "RFC 8785 section 3.2.2 without 1E30",
        KIND,
        json!({"text": text}),
        hashed(canonical),
    )?;
    let text = "{\"\\u20ac\":\"Euro Sign\",\"\\r\":\"Carriage Return\",\"\\ufb33\":\"Hebrew Letter \
                Dalet With Dagesh\",\"1\":\"One\",\"\\ud83d\\ude00\":\"Emoji: Grinning Face\",\
                \"\\u0080\":\"Control\",\"\\u00f6\":\"Latin Small Letter O With Diaeresis\"}";
    let canonical = "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u{80}\":\"Control\",\"\u{f6}\":\"Latin \
                     Small Letter O With Diaeresis\",\"\u{20ac}\":\"Euro Sign\",\"\u{1f600}\":\"Emoji: \
                     Grinning Face\",\"\u{fb33}\":\"Hebrew Letter Dalet With Dagesh\"}";
    book.gives("RFC 8785 section 3.2.3", KIND, json!({"text": text}), hashed(canonical))?;
    // Appendix B gives the bits of a double and its text; those past 2^53 are not the protocol's.
    for (bits, expected) in [
        (0x0000_0000_0000_0000, "0"),
        (0x8000_0000_0000_0000, "0"),
        (0x0000_0000_0000_0001, "5e-324"),
        (0x8000_0000_0000_0001, "-5e-324"),
        (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
        (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
        (0x41b3_de43_5555_5553, "333333333.3333332"),
        (0x41b3_de43_5555_5554, "333333333.33333325"),
        (0x41b3_de43_5555_5555, "333333333.3333333"),
        (0x41b3_de43_5555_5556, "333333333.3333334"),
        (0x41b3_de43_5555_5557, "333333333.33333343"),
        (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
        (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
    ] {
        let text = format!("{:e}", f64::from_bits(bits));
        let name = format!("RFC 8785 appendix B {bits:016x}");
        book.gives(name, KIND, json!({"text": text}), hashed(expected))?;
    }
    for bits in [
        0x7fef_ffff_ffff_ffff_u64,
        0xffef_ffff_ffff_ffff,
        0x4340_0000_0000_0000,
        0xc340_0000_0000_0000,
        0x4430_0000_0000_0000,
        0x44b5_2d02_c7e1_4af5,
        0x44b5_2d02_c7e1_4af6,
        0x44b5_2d02_c7e1_4af7,
        0x444b_1ae4_d6e2_ef4e,
        0x444b_1ae4_d6e2_ef4f,
        0x444b_1ae4_d6e2_ef50,
    ] {
        let text = format!("{:e}", f64::from_bits(bits));
        let name = format!("RFC 8785 appendix B {bits:016x} is out of range");
        book.refuses(name, KIND, json!({"text": text}), InvalidRequest)?;
    }
    Ok(())
}

fn hashed(canonical: &str) -> Value {
    let hash = Hash::from_bytes(&sha2::Sha256::digest(canonical.as_bytes()).into());
    json!({"canonical": canonical, "hash": hash})
}

/// Bytes that a standard prints in hexadecimal, in base64url.
fn b64u(hex: &str) -> String {
    text(&hex_decode(hex).unwrap_or_default())
}

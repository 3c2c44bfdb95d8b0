//! Usable keys, derivation, key exchange, and importing an identity.

use messaging_core::code::Code::InvalidRequest;
use messaging_core::keys::{EncSecret, Identity};
use serde_json::json;

use super::book::{Book, WriteError, Writing, text};

pub(super) fn book() -> Result<Book, WriteError> {
    let mut book = Book::new(
        "Keys: from seed to public key, which public keys are usable, key exchange, and \
         identities (section 3).",
    );
    let parties: Vec<Identity> =
        ["ada", "ben", "cyn"].into_iter().zip(1..).map(|(name, n)| book.party(name, n)).collect();
    derivation(&mut book, &parties)?;
    usable(&mut book)?;
    exchange(&mut book, &parties)?;
    import(&mut book, &parties)?;
    Ok(book)
}

fn derivation(book: &mut Book, parties: &[Identity]) -> Writing {
    for (number, party) in parties.iter().enumerate() {
        let (seed, private) = (text(&*party.signing.seed()), text(&*party.enc.to_bytes()));
        book.pins(format!("signing key {number}"), "signing_key", json!({"seed": seed}))?;
        book.pins(
            format!("signing key {number} is usable"),
            "usable_key",
            json!({"key": party.machine()}),
        )?;
        book.pins(
            format!("encryption key {number}"),
            "encryption_key",
            json!({"private": private}),
        )?;
    }
    for (name, seed, machine) in [
        ("01", [0x01; 32], "iojj3XQJ8ZX9UtstPLpdcspnCb8dlBIb83SIAbQPb1w"),
        ("02", [0x02; 32], "gTl3Dqh9F19Wo1Rmw0x-zMuNipG07jeiXfYPW4_Js5Q"),
        ("03", [0x03; 32], "7UkoxijRwsbq6QM4kFmVYSlZJzpcY_k2NsFGFKyHN9E"),
        ("04", [0x04; 32], "ypOsFwUYcHHWe4PH_w7-gQjo7EUwV113JoeTM9vavnw"),
    ] {
        let input = json!({"seed": text(&seed)});
        book.gives(format!("a seed of {name}"), "signing_key", input, json!({"public": machine}))?;
    }
    for (name, private, public) in [
        ("11", [0x11; 32], "e06Qm75__kTEZaIgA31gjuNYl9Me-XLwf3SJLLD3PxM"),
        ("12", [0x12; 32], "BSpQdzrI2Rdz8tyWYuEvDe_pFeQVuKHI4gpaPWqyuEM"),
        ("13", [0x13; 32], "GX_CxWfcA-4qrfDthmgdrCTap26DylVYdd075zduUwY"),
    ] {
        let input = json!({"private": text(&private)});
        let name = format!("a private key of {name}");
        book.gives(name, "encryption_key", input, json!({"public": public}))?;
    }
    Ok(())
}

fn usable(book: &mut Book) -> Writing {
    const KIND: &str = "usable_key";
    // The y of the points of small order, little-endian, smallest first.
    let small = [
        ("0", [0; 32]),
        ("1", with(0x00, 0x01, 0x00)),
        (
            "the first of order 8",
            [
                0x26, 0xe8, 0x95, 0x8f, 0xc2, 0xb2, 0x27, 0xb0, 0x45, 0xc3, 0xf4, 0x89, 0xf2, 0xef,
                0x98, 0xf0, 0xd5, 0xdf, 0xac, 0x05, 0xd3, 0xc6, 0x33, 0x39, 0xb1, 0x38, 0x02, 0x88,
                0x6d, 0x53, 0xfc, 0x05,
            ],
        ),
        (
            "the second of order 8",
            [
                0xc7, 0x17, 0x6a, 0x70, 0x3d, 0x4d, 0xd8, 0x4f, 0xba, 0x3c, 0x0b, 0x76, 0x0d, 0x10,
                0x67, 0x0f, 0x2a, 0x20, 0x53, 0xfa, 0x2c, 0x39, 0xcc, 0xc6, 0x4e, 0xc7, 0xfd, 0x77,
                0x92, 0xac, 0x03, 0x7a,
            ],
        ),
        ("p - 1", with(0xff, 0xec, 0x7f)),
    ];
    for (name, bytes) in small {
        for (sign, bytes) in [("", bytes), (", sign bit set", with_sign(bytes))] {
            let name = format!("small order, y = {name}{sign}");
            book.refuses(name, KIND, json!({"key": text(&bytes)}), InvalidRequest)?;
        }
    }
    // y = p to 2^255 - 1: each is another name for a y below 19.
    for above in 0..19_u8 {
        for (sign, top) in [("", 0x7f), (", sign bit set", 0xff)] {
            let bytes = with(0xff, 0xed + above, top);
            let name = format!("not canonical, y = p + {above}{sign}");
            book.refuses(name, KIND, json!({"key": text(&bytes)}), InvalidRequest)?;
        }
    }
    for y in [2, 7, 8, 11] {
        let bytes = with(0x00, y, 0x00);
        let name = format!("no point has y = {y}");
        book.refuses(name, KIND, json!({"key": text(&bytes)}), InvalidRequest)?;
    }
    for y in [3, 4, 5, 18] {
        for (sign, top) in [("", 0x00), (", sign bit set", 0x80)] {
            let bytes = with(0x00, y, top);
            let name = format!("a point has y = {y}{sign}");
            book.pins(name, KIND, json!({"key": text(&bytes)}))?;
        }
    }
    let mut base = [0x66; 32];
    base[0] = 0x58;
    book.pins("the base point", KIND, json!({"key": text(&base)}))?;
    book.pins("the base point, negated", KIND, json!({"key": text(&with_sign(base))}))?;
    for (name, key) in [
        ("31 bytes", text(&[3; 31])),
        ("33 bytes", text(&[3; 33])),
        ("no bytes", String::new()),
        ("a padded key", format!("{}=", text(&base))),
        ("a key in hexadecimal", "66".repeat(32)),
    ] {
        book.refuses(name, KIND, json!({"key": key}), InvalidRequest)?;
    }
    Ok(())
}

/// 32 bytes `fill`, the first one `low` and the last one `top`.
fn with(fill: u8, low: u8, top: u8) -> [u8; 32] {
    let mut bytes = [fill; 32];
    bytes[0] = low;
    bytes[31] = top;
    bytes
}

fn with_sign(mut bytes: [u8; 32]) -> [u8; 32] {
    bytes[31] |= 0x80;
    bytes
}

fn exchange(book: &mut Book, parties: &[Identity]) -> Writing {
    for (a, ours) in parties.iter().enumerate() {
        for (b, theirs) in parties.iter().enumerate() {
            let private = text(&*ours.enc.to_bytes());
            let input = json!({"private": private, "public": theirs.enc.public()});
            book.pins(format!("exchange of {a} with {b}"), "key_exchange", input)?;
        }
    }
    let private = text(&*EncSecret::from_bytes([0x11; 32]).to_bytes());
    for (name, public) in [("zero", [0; 32]), ("one", with(0, 1, 0)), ("p", with(0xff, 0xed, 0x7f))]
    {
        let input = json!({"private": private, "public": text(&public)});
        let name = format!("exchange with the low-order point {name}");
        book.refuses(name, "key_exchange", input, InvalidRequest)?;
    }
    Ok(())
}

fn import(book: &mut Book, parties: &[Identity]) -> Writing {
    const KIND: &str = "import_identity";
    let [ada, ben, ..] = parties else { return Ok(()) };
    let file = |machine: &Identity, enc: &Identity| {
        json!({
            "v": "messaging/1",
            "machine": machine.machine(),
            "enc": enc.enc.public(),
            "signingKey": text(&*ada.signing.seed()),
            "encKey": text(&*ada.enc.to_bytes()),
        })
    };
    book.gives(
        "an identity",
        KIND,
        json!({"identity": file(ada, ada)}),
        json!({"machine": ada.machine(), "enc": ada.enc.public()}),
    )?;
    for (name, file) in [
        ("an identity with another machine", file(ben, ada)),
        ("an identity with another enc", file(ada, ben)),
    ] {
        book.refuses(name, KIND, json!({"identity": file}), InvalidRequest)?;
    }
    for (name, member) in [("signing", "signingKey"), ("encryption", "encKey")] {
        let mut file = file(ada, ada);
        file[member] = json!(text(&[1; 31]));
        let name = format!("an identity with a {name} key of 31 bytes");
        book.refuses(name, KIND, json!({"identity": file}), InvalidRequest)?;
    }
    Ok(())
}

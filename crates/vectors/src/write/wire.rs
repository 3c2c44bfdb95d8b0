//! Wire JSON, base64url, ULIDs and addresses.

use messaging_core::code::Code::InvalidRequest;
use messaging_core::random;
use messaging_core::testing::SeededRandom;
use serde_json::json;

use super::book::{Book, WriteError, Writing, text};
use crate::args::hex_encode;

pub(super) fn book() -> Result<Book, WriteError> {
    let mut book = Book::new(
        "Texts that the strict JSON reader takes or refuses, and the forms of bytes, ids and \
         addresses (sections 2 and 3).",
    );
    json_texts(&mut book)?;
    json_bytes(&mut book)?;
    base64url(&mut book)?;
    ulids(&mut book)?;
    addresses(&mut book)?;
    Ok(book)
}

fn json_texts(book: &mut Book) -> Writing {
    const KIND: &str = "parse_wire_text";
    for (name, text) in [
        ("an object", "{\"t\":\"ping\",\"id\":\"1\"}"),
        ("white space of all four kinds", "\r\n\t [ 1 ,\t2 ]\r\n"),
        ("a string by itself", "\"a\\u00e9\\ud83d\\udc10\""),
        ("names of other case are other names", "{\"id\":1,\"ID\":2,\"Id\":3}"),
        ("one name in several objects", "{\"a\":{\"a\":{\"a\":[{\"a\":1},{\"a\":2}]}}}"),
        ("DEL in a string", "\"\u{7f}\""),
    ] {
        book.pins(name, KIND, json!({"text": text}))?;
    }
    for (name, text) in [
        ("nothing", ""),
        ("only white space", " \n\t\r "),
        ("a comma before the end of an array", "[1,]"),
        ("a comma before the end of an object", "{\"a\":1,}"),
        ("a comma at the start", "[,1]"),
        ("two commas", "[1,,2]"),
        ("no comma", "[1 2]"),
        ("no colon", "{\"a\" 1}"),
        ("an equals sign for the colon", "{\"a\"=1}"),
        ("no value", "{\"a\":}"),
        ("no name", "{:1}"),
        ("a name without quotes", "{a:1}"),
        ("a number for a name", "{1:1}"),
        ("single quotes", "{'a':1}"),
        ("a block comment", "[1/**/]"),
        ("a line comment", "[1] // one"),
        ("two texts", "{}{}"),
        ("a bracket too many", "[1]]"),
        ("a bracket too few", "[[1]"),
        ("a brace for a bracket", "[1}"),
        ("an open object", "{\"a\":1"),
        ("an open string", "[\"a]"),
        ("a quote that is escaped away", "\"a\\\""),
        ("NaN", "[NaN]"),
        ("Infinity", "[Infinity]"),
        ("minus Infinity", "[-Infinity]"),
        ("undefined", "{\"a\":undefined}"),
        ("True", "[True]"),
        ("nul", "[nul]"),
        ("nulls", "[nulls]"),
        ("a plus sign", "[+1]"),
        ("a leading zero", "[01]"),
        ("a leading zero behind a minus", "[-01]"),
        ("only a minus", "[-]"),
        ("a point at the end", "[1.]"),
        ("a point at the start", "[.1]"),
        ("an exponent without digits", "[1e]"),
        ("an exponent with only a sign", "[1e+]"),
        ("a hexadecimal number", "[0x1f]"),
        ("a number with separators", "[1_000]"),
        ("a tab in a string", "\"a\tb\""),
        ("a line feed in a string", "\"a\nb\""),
        ("NUL in a string", "\"a\0b\""),
        ("a letter that no escape has", "\"\\v\""),
        ("an escape of three digits", "\"\\u00e\""),
        ("an escape with a letter past F", "\"\\u00eg\""),
        ("an escape in capitals", "\"\\U000000e9\""),
        ("U+00A0 between tokens", "[1,\u{a0}2]"),
        ("U+2028 between tokens", "[1,\u{2028}2]"),
        ("a form feed between tokens", "[1,\u{c}2]"),
        ("a byte order mark", "\u{feff}{}"),
        ("a name twice", "{\"id\":1,\"id\":1}"),
        ("a name twice, once escaped", "{\"i\\u0064\":1,\"id\":1}"),
        ("a name twice, above the BMP", "{\"\u{1f410}\":1,\"\\ud83d\\udc10\":1}"),
        ("a name twice in an inner object", "{\"a\":{\"b\":1,\"b\":1}}"),
        ("the empty name twice", "{\"\":1,\"\":2}"),
        ("half a pair", "[\"\\ud83d\"]"),
        ("the second half alone", "[\"\\udc10\"]"),
        ("half a pair in a name", "{\"\\ud83d\":1}"),
        ("two first halves", "[\"\\ud83d\\ud83d\"]"),
        ("half a pair in a member that nobody reads", "{\"t\":\"ping\",\"x\":\"\\udc10\"}"),
    ] {
        book.refuses(name, KIND, json!({"text": text}), InvalidRequest)?;
    }
    for (depth, fits) in [(32, true), (33, false)] {
        let text = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let (name, input) = (format!("depth {depth}"), json!({"text": text}));
        if fits {
            book.pins(name, KIND, input)?;
        } else {
            book.refuses(name, KIND, input, InvalidRequest)?;
        }
    }
    let endless = json!({"text": "[".repeat(20_000)});
    book.refuses("20,000 levels that never end", KIND, endless, InvalidRequest)?;
    for (name, text, max, fits) in [
        ("as long as its channel allows", "{\"a\":1}", 7, true),
        ("one byte longer", "{\"a\":1}", 6, false),
        ("white space counts", "{\"a\":1} ", 7, false),
        ("a character of three bytes counts three", "\"\u{20ac}\"", 5, true),
        ("a character of three bytes, one short", "\"\u{20ac}\"", 4, false),
        ("nothing may be read", "1", 0, false),
    ] {
        let input = json!({"text": text, "maxBytes": max});
        if fits {
            book.pins(name, KIND, input)?;
        } else {
            book.refuses(name, KIND, input, InvalidRequest)?;
        }
    }
    Ok(())
}

/// Texts that no JSON string can hold.
fn json_bytes(book: &mut Book) -> Writing {
    let cases: [(&str, &[u8]); 8] = [
        ("a byte that UTF-8 never has", b"\"\xff\""),
        ("a continuation byte alone", b"\"\x80\""),
        ("a character that is cut off", b"\"\xe2\x82\""),
        ("a character in more bytes than it needs", b"\"\xc0\xaf\""),
        ("a surrogate in UTF-8", b"\"\xed\xa0\xbd\""),
        ("past the last code point", b"\"\xf4\x90\x80\x80\""),
        ("UTF-16", b"\xff\xfe{\0}\0"),
        ("a bad byte in a name", b"{\"\xc3\":1}"),
    ];
    for (name, bytes) in cases {
        let input = json!({"bytes": text(bytes)});
        book.refuses(name, "parse_wire_text", input, InvalidRequest)?;
    }
    Ok(())
}

fn base64url(book: &mut Book) -> Writing {
    let mut rng = SeededRandom::new(2);
    for size in [0, 1, 2, 3, 4, 16, 31, 32, 33, 64, 100] {
        let bytes: Vec<u8> = random::bytes::<100>(&mut rng).into_iter().take(size).collect();
        let (hex, text) = (hex_encode(&bytes), text(&bytes));
        book.gives(
            format!("{size} bytes to text"),
            "base64url_encode",
            json!({"hex": hex}),
            json!({"text": text}),
        )?;
        book.gives(
            format!("{size} bytes from text"),
            "base64url_decode",
            json!({"text": text, "size": size}),
            json!({"hex": hex}),
        )?;
    }
    for (name, text) in [
        ("padding", "_w=="),
        ("padding of three characters", "__8="),
        ("only padding", "="),
        ("a plus sign", "+w"),
        ("a slash", "/w"),
        ("one character", "A"),
        ("five characters", "AAAAA"),
        ("unused bits after one byte", "_x"),
        ("unused bits after two bytes", "__9"),
        ("white space in front", " _w"),
        ("a line feed behind", "_w\n"),
        ("white space within", "__ 8"),
        ("a letter outside ASCII", "_\u{e9}"),
        ("a full stop", "_."),
    ] {
        let name = format!("base64url with {name}");
        book.refuses(name, "base64url_decode", json!({"text": text}), InvalidRequest)?;
    }
    for (size, wanted) in [(31, 32), (33, 32), (0, 32), (32, 64)] {
        let text = text(&vec![7; size]);
        let name = format!("{size} bytes where {wanted} are due");
        let input = json!({"text": text, "size": wanted});
        book.refuses(name, "base64url_decode", input, InvalidRequest)?;
    }
    Ok(())
}

fn ulids(book: &mut Book) -> Writing {
    for (name, ms, random, expected) in [
        ("nothing but zeros", 0_u64, "00000000000000000000", "00000000000000000000000000"),
        ("the last one", (1 << 48) - 1, "ffffffffffffffffffff", "7ZZZZZZZZZZZZZZZZZZZZZZZZZ"),
        ("one millisecond", 1, "00000000000000000000", "00000000010000000000000000"),
        ("one random bit", 0, "00000000000000000001", "00000000000000000000000001"),
        ("the first random bit", 0, "80000000000000000000", "0000000000G000000000000000"),
    ] {
        let input = json!({"ms": ms, "random": random});
        book.gives(format!("a ULID of {name}"), "ulid_make", input, json!({"ulid": expected}))?;
    }
    let at = json!({"ms": 1_790_000_000_000_u64, "random": "0123456789abcdef0123"});
    book.pins("a ULID of a day in 2026", "ulid_make", at)?;
    let late = json!({"ms": 1_u64 << 48, "random": "00000000000000000000"});
    book.refuses("a ULID past 48 bits of time", "ulid_make", late, InvalidRequest)?;
    for (text, ms) in [
        ("00000000000000000000000000", 0_u64),
        ("7ZZZZZZZZZZZZZZZZZZZZZZZZZ", (1 << 48) - 1),
        ("01HF7YAT00ZZZZZZZZZZZZZZZZ", 1_700_000_000_000),
    ] {
        let name = format!("the time of {text}");
        book.gives(name, "ulid_time", json!({"ulid": text}), json!({"ms": ms}))?;
    }
    for (name, text) in [
        ("25 characters", "01HF7YAT00ZZZZZZZZZZZZZZZ"),
        ("27 characters", "01HF7YAT00ZZZZZZZZZZZZZZZZZ"),
        ("nothing", ""),
        ("small letters", "01hf7yat00zzzzzzzzzzzzzzzz"),
        ("the letter I", "01HF7YAT00IZZZZZZZZZZZZZZZ"),
        ("the letter L", "01HF7YAT00LZZZZZZZZZZZZZZZ"),
        ("the letter O", "01HF7YAT00OZZZZZZZZZZZZZZZ"),
        ("the letter U", "01HF7YAT00UZZZZZZZZZZZZZZZ"),
        ("a hyphen", "01HF7YAT00-ZZZZZZZZZZZZZZZ"),
        ("more than 128 bits", "81HF7YAT00ZZZZZZZZZZZZZZZZ"),
        ("a character of two bytes", "01HF7YAT00ZZZZZZZZZZZZZZ\u{c9}"),
    ] {
        let name = format!("a ULID of {name}");
        book.refuses(name, "ulid_time", json!({"ulid": text}), InvalidRequest)?;
    }
    Ok(())
}

fn addresses(book: &mut Book) -> Writing {
    const KIND: &str = "address_parse";
    let hosted = "p_elmokocvhtjapy3fc3soeimutu";
    let (person, session, label) = ("a".repeat(32), "b".repeat(64), "c".repeat(32));
    for (person, session, label) in [
        ("ada", "api", None),
        ("ada", "api", Some("desk")),
        (hosted, "api", Some("desk")),
        (hosted, "a", None),
        ("a-", "0.x_y-", Some("0-")),
        (&person, &session, Some(label.as_str())),
    ] {
        let (mut text, mut parts) =
            (format!("{person}/{session}"), json!({"person": person, "session": session}));
        if let Some(label) = label {
            text = format!("{text}@{label}");
            parts["label"] = json!(label);
        }
        book.gives(format!("the address {text}"), KIND, json!({"text": text}), parts)?;
    }
    for text in [
        "".to_owned(),
        "ada".to_owned(),
        "ada/".to_owned(),
        "/api".to_owned(),
        "ada/*".to_owned(),
        "*".to_owned(),
        "*/api".to_owned(),
        "repo:core".to_owned(),
        "me".to_owned(),
        "#ops".to_owned(),
        "ada/api@".to_owned(),
        "ada/api@desk@desk".to_owned(),
        "ada@desk/api".to_owned(),
        "ada/api/desk".to_owned(),
        "ada//api".to_owned(),
        "Ada/api".to_owned(),
        "ada/API".to_owned(),
        "ada/api@Desk".to_owned(),
        "0ada/api".to_owned(),
        "-ada/api".to_owned(),
        "a_da/api".to_owned(),
        "ada/_api".to_owned(),
        "ada/-api".to_owned(),
        "ada/api@_desk".to_owned(),
        "ada/api@de.sk".to_owned(),
        " ada/api".to_owned(),
        "ada/api ".to_owned(),
        "ada/api\n".to_owned(),
        "ad\u{e4}/api".to_owned(),
        "ada/\u{430}pi".to_owned(),
        "ada:api".to_owned(),
        format!("{person}a/api"),
        format!("ada/{session}b"),
        format!("ada/api@{label}c"),
        format!("{hosted}a/api"),
        "p_elmokocvhtjapy3fc3soeimut/api".to_owned(),
        "p_elmokocvhtjapy3fc3soeimut1/api".to_owned(),
        "P_elmokocvhtjapy3fc3soeimutu/api".to_owned(),
    ] {
        book.refuses(format!("no address: {text:?}"), KIND, json!({"text": text}), InvalidRequest)?;
    }
    Ok(())
}

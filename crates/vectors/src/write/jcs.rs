//! Canonical JSON: order, escapes, numbers, depth.

use messaging_core::code::Code::InvalidRequest;
use messaging_core::random::{self};
use messaging_core::testing::SeededRandom;
use serde_json::json;

use super::book::{Book, WriteError, Writing};

const KIND: &str = "canonicalize_text";

pub(super) fn book() -> Result<Book, WriteError> {
    let mut book = Book::new(
        "Canonical forms (RFC 8785) of JSON texts, under the I-JSON and depth rules of section 2.",
    );
    structure(&mut book)?;
    strings(&mut book)?;
    numbers(&mut book)?;
    depth(&mut book)?;
    Ok(book)
}

fn structure(book: &mut Book) -> Writing {
    for (name, text) in [
        ("an empty object", "{}"),
        ("an empty array", "[]"),
        ("a bare string", "\"\""),
        ("a bare number", "7"),
        ("a bare null", "null"),
        ("the literals", "[true,false,null]"),
        ("white space goes", " {\t\"b\" : [ 1 ,\r\n2 ] , \"a\" : { } }\n"),
        ("arrays keep their order", "[\"b\",\"a\",[2,1]]"),
        ("members sort, also within", "{\"b\":{\"d\":0,\"c\":0},\"a\":[{\"f\":0,\"e\":0}]}"),
        ("names sort as text, not as numbers", "{\"10\":0,\"9\":0,\"1\":0,\"\":0,\"-1\":0}"),
        ("capitals before small letters", "{\"a\":0,\"B\":0,\"_\":0,\"A\":0}"),
        ("a longer name after its start", "{\"ab\":0,\"a\":0,\"abc\":0}"),
        (
            "names sort by UTF-16 unit: U+1F410 before U+E000 and U+FF21",
            "{\"\u{ff21}\":0,\"\u{1f410}\":0,\"\u{e000}\":0,\"z\":0}",
        ),
        ("names that are one after normalization stay two", "{\"o\\u0308\":0,\"\u{f6}\":0}"),
        ("names that a prototype has", "{\"toString\":0,\"__proto__\":0,\"hasOwnProperty\":0}"),
    ] {
        book.pins(name, KIND, json!({"text": text}))?;
    }
    for (name, text) in [
        ("a name twice", "{\"x\":0,\"x\":0}"),
        ("a name twice, once escaped", "{\"x\":0,\"\\u0078\":0}"),
        ("a name twice, far within", "[{\"a\":{\"b\":1,\"c\":2,\"b\":3}}]"),
    ] {
        book.refuses(name, KIND, json!({"text": text}), InvalidRequest)?;
    }
    Ok(())
}

fn strings(book: &mut Book) -> Writing {
    let controls: String = (0..0x20).map(|unit| format!("\\u{unit:04X}")).collect();
    for (name, text) in [
        ("every control character, escaped in capitals", format!("\"{controls}\"")),
        ("quote, backslash and slash", "\"\\u0022\\u005c\\/\\u002F\"".to_owned()),
        ("DEL and the C1 controls stay raw", "\"\\u007f\\u0080\\u009F\"".to_owned()),
        ("line and paragraph separators stay raw", "\"\\u2028\\u2029\"".to_owned()),
        ("a pair of escapes becomes one character", "\"\\ud83d\\udC10 \\uFFFF\"".to_owned()),
        ("an escaped name", "{\"\\u0061\\n\":\"\\u0041\"}".to_owned()),
    ] {
        book.pins(name, KIND, json!({"text": text}))?;
    }
    for (name, text) in [
        ("half a pair, the first", "\"\\ud83d\""),
        ("half a pair, the second", "\"\\udc10\""),
        ("a pair the wrong way round", "\"\\udc10\\ud83d\""),
        ("half a pair before another escape", "\"\\ud83d\\n\""),
        ("half a pair in a name", "{\"\\ud83d\":0}"),
    ] {
        book.refuses(name, KIND, json!({"text": text}), InvalidRequest)?;
    }
    Ok(())
}

fn numbers(book: &mut Book) -> Writing {
    for (text, expected) in [
        ("0", "0"),
        ("-0", "0"),
        ("-0.0e9", "0"),
        ("1.0", "1"),
        ("-1.50", "-1.5"),
        ("12e1", "120"),
        ("120e-1", "12"),
        ("1E3", "1000"),
        ("0.00001", "0.00001"),
        ("0.0000012", "0.0000012"),
        ("0.00000012", "1.2e-7"),
        ("-0.0000001", "-1e-7"),
        ("0.1e-300", "1e-301"),
        ("2.5e-324", "5e-324"),
        ("2e-324", "0"),
        ("2.2250738585072014e-308", "2.2250738585072014e-308"),
        ("0.1", "0.1"),
        ("0.10000000000000001", "0.1"),
        ("0.3", "0.3"),
        ("0.30000000000000004", "0.30000000000000004"),
        ("2251799813685249.5", "2251799813685249.5"),
        ("4503599627370497.5", "4503599627370498"),
        ("9007199254740991", "9007199254740991"),
        ("-9007199254740991", "-9007199254740991"),
        ("9007199254740991.0", "9007199254740991"),
        ("90071992547409910e-1", "9007199254740991"),
    ] {
        let canonical = format!("[{expected}]");
        let value = made_hash(&canonical);
        book.gives(
            format!("the number {text}"),
            KIND,
            json!({"text": format!("[{text}]")}),
            json!({"canonical": canonical, "hash": value}),
        )?;
    }
    for text in [
        "9007199254740992",
        "-9007199254740992",
        "9007199254740993",
        "9007199254740991.5",
        "9.1e15",
        "1e21",
        "-1e100",
        "18446744073709551616",
        "1.7976931348623157e308",
        "1e309",
        "-1e309",
    ] {
        let name = format!("the number {text} is out of range");
        book.refuses(name, KIND, json!({"text": format!("{{\"n\":{text}}}")}), InvalidRequest)?;
    }
    // Doubles of every size, written with more digits than they need.
    let mut rng = SeededRandom::new(1);
    for part in 1..=8 {
        let mut texts = Vec::new();
        while texts.len() < 32 {
            let double = f64::from_bits(u64::from_le_bytes(random::bytes(&mut rng)));
            if double.abs() < 9e15 {
                texts.push(format!("{double:.25e}"));
            }
        }
        let text = format!("[{}]", texts.join(","));
        book.pins(format!("doubles, part {part}"), KIND, json!({"text": text}))?;
    }
    Ok(())
}

fn made_hash(canonical: &str) -> messaging_core::ids::Hash {
    use sha2::Digest as _;
    messaging_core::ids::Hash::from_bytes(&sha2::Sha256::digest(canonical.as_bytes()).into())
}

fn depth(book: &mut Book) -> Writing {
    let arrays =
        |depth: usize, inner: &str| format!("{}{inner}{}", "[".repeat(depth), "]".repeat(depth));
    let objects = |depth: usize| format!("{}0{}", "{\"k\":".repeat(depth), "}".repeat(depth));
    let mixed = |pairs: usize| {
        format!("{}{}", "[{\"k\":".repeat(pairs), "0".to_owned() + &"}]".repeat(pairs))
    };
    for (name, text) in [
        ("32 arrays", arrays(32, "")),
        ("32 arrays around a scalar", arrays(32, "\"x\"")),
        ("32 objects", objects(32)),
        ("16 objects in 16 arrays", mixed(16)),
        ("many side by side are not deep", format!("[{}0]", "[[[0]]],".repeat(40))),
    ] {
        book.pins(name, KIND, json!({"text": text}))?;
    }
    for (name, text) in [
        ("33 arrays", arrays(33, "")),
        ("33 objects", objects(33)),
        ("17 objects in 17 arrays", mixed(17)),
        ("33 arrays in the last member", format!("{{\"a\":0,\"b\":{}}}", arrays(32, ""))),
        ("2,000 arrays", arrays(2_000, "")),
    ] {
        book.refuses(name, KIND, json!({"text": text}), InvalidRequest)?;
    }
    Ok(())
}

//! What every implementation refuses: texts, envelopes and payloads, each with the code of the first check that fails.

mod open;
mod payload;
mod seal;
mod verify;

use messaging_core::code::Code::InvalidRequest;
use serde_json::json;

use super::book::{Book, WriteError, Writing};
use super::cast::Cast;

pub(super) fn book() -> Result<Book, WriteError> {
    let mut book = Book::new(
        "Texts, envelopes and payloads that must be refused, with the code of the first check \
         that fails (sections 2 and 5).",
    );
    let mut cast = Cast::new(&mut book)?;
    texts(&mut book)?;
    verify::write(&mut book, &mut cast)?;
    open::write(&mut book, &mut cast)?;
    payload::write(&mut book, &mut cast)?;
    seal::write(&mut book, &mut cast)?;
    Ok(book)
}

fn texts(book: &mut Book) -> Writing {
    for (name, text) in [
        ("a member twice", r#"{"t":"send","env":{"id":"a","id":"b"}}"#),
        ("a member twice, once escaped", r#"{"t":"send","\u0074":"ping"}"#),
        ("half a surrogate pair", r#"{"t":"\ud83d"}"#),
        ("the halves of a pair the wrong way round", r#"{"t":"\ude00\ud83d"}"#),
        ("a frame that ends early", r#"{"t":"send""#),
        ("two frames", r#"{"t":"ping"}{"t":"ping"}"#),
        ("a comma too many", r#"{"t":"ping",}"#),
        ("a comment", "{\"t\":\"ping\"}// x"),
        ("a bare word", "ping"),
        ("an integer past 2^53 - 1", r#"{"t":9007199254740992}"#),
        ("an infinite number", r#"{"t":1e400}"#),
    ] {
        book.refuses(
            format!("text: {name}"),
            "parse_wire_text",
            json!({"text": text}),
            InvalidRequest,
        )?;
    }
    let deep = format!("{}{}", "[".repeat(33), "]".repeat(33));
    book.refuses(
        "text: 33 arrays in one another",
        "parse_wire_text",
        json!({"text": deep}),
        InvalidRequest,
    )
}

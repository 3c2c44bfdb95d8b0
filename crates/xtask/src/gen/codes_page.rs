//! `docs/codes.md`: every error code, as `core::code` has it.

use super::Page;
use messaging_core::code::Code;
use std::fmt::Write as _;

const HEAD: &str = "\
<!-- Written by `cargo xtask gen` from `core/code`. -->

# Error codes

Everything that is refused is refused with one of these codes: on the wire, over the daemon's sockets, by the tools and on
the command line, where the code stands first. *Travels* says whether a code may stand in a `nack`, an `error` frame or a
receipt; the others are a daemon's or a client's own.

| Code | Travels | Meaning |
|---|---|---|
";

pub(super) fn page() -> Page {
    let mut text = HEAD.to_owned();
    for code in Code::ALL {
        let travels = if code.on_wire() { "yes" } else { "" };
        let _ = writeln!(text, "| `{code}` | {travels} | {} |", code.meaning());
    }
    Page { path: "docs/codes.md".to_owned(), text }
}

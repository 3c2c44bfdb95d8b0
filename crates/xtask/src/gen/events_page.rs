//! `docs/events.md`: every line that the daemon can write to its log, as `daemon-engine::events` has it.

use super::Page;
use messaging_daemon_engine::events::LogEvent;
use std::fmt::Write as _;

const HEAD: &str = "\
<!-- Written by `cargo xtask gen` from `daemon-engine/events`. -->

# The daemon's log

One JSON object a line: `ts` (milliseconds), `level`, `event`, and the event's fields. `error` is a defect or a state that
the daemon cannot leave by itself, `warn` something to look at. `log.level` of `config.json`, or `MESSAGING_LOG`, says what
is written. No line holds a body, a key, a ticket, a token or text that somebody else wrote.

| Event | Level |
|---|---|
";

pub(super) fn page() -> Page {
    let mut text = HEAD.to_owned();
    for (name, level) in LogEvent::TABLE {
        let _ = writeln!(text, "| `{name}` | {} |", level.as_str());
    }
    Page { path: "docs/events.md".to_owned(), text }
}

//! The honest end: a process that panicked logs where, never what, and exits with status 70.
//! Spec: §7 "Process", W5.1, D3.30
//!
//! A panic in a spawned task would otherwise leave the process running on state that nobody can vouch for. The panic's
//! message may quote peer data, so neither the log nor stderr gets it.

use std::io::Write as _;
use std::panic::Location;

use serde_json::Value;

use crate::clock;
use crate::log::{self, Level, Logger};

/// The exit status after an error that escaped every handler.
pub const EXIT: i32 = 70;

/// Makes every panic of the process log one `event` line (`relay.fatal`, `daemon.fatal`) and exit with [`EXIT`].
///
/// The line is `{ts, level, event, origin: "panic", error: "panic", at: "<file>:<line>"}`. It goes to the log, and to
/// stderr when the log is a file.
pub fn exit_on_panic(log: Logger, event: &'static str) {
    std::panic::set_hook(Box::new(move |info| {
        let at = info.location().map_or_else(|| "unknown".to_owned(), place);
        let fields = fields("panic", "panic", &at);
        if !log.write_without_waiting(Level::Error, event, &fields) || !log.is_stderr() {
            to_stderr(event, &fields);
        }
        std::process::exit(EXIT);
    }));
}

/// Writes one `event` line to stderr and exits with [`EXIT`].
pub fn end(event: &'static str, origin: &'static str, error: &'static str, at: &str) -> ! {
    to_stderr(event, &fields(origin, error, at));
    std::process::exit(EXIT)
}

fn fields(origin: &str, error: &str, at: &str) -> [(&'static str, Value); 3] {
    [("origin", origin.into()), ("error", error.into()), ("at", at.into())]
}

fn to_stderr(event: &'static str, fields: &[(&'static str, Value)]) {
    let line = log::line(clock::wall(), Level::Error, event, fields);
    // Nothing can be done about a closed stderr at this point.
    let _ = std::io::stderr().write_all(line.as_bytes());
}

/// A source location from the crate's own folder on, so that no folder of the machine that built it is named.
fn place(location: &Location<'_>) -> String {
    format!("{}:{}", below_package(location.file()), location.line())
}

fn below_package(file: &str) -> &str {
    let Some(src) = file.rfind("/src/") else {
        return file;
    };
    let package = file.get(..src).and_then(|before| before.rfind('/')).map_or(0, |slash| slash + 1);
    file.get(package..).unwrap_or(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_panic_in_a_thread_ends_the_process_and_its_message_stays_inside() {
        const CHILD: &str = "MESSAGING_RUNTIME_TEST_PANIC";
        if std::env::var_os(CHILD).is_some() {
            exit_on_panic(Logger::stderr(Level::Info), "test.fatal");
            let _ = std::thread::spawn(|| panic!("the peer said SECRET")).join();
            std::process::exit(0);
        }
        let name =
            "fatal::tests::a_panic_in_a_thread_ends_the_process_and_its_message_stays_inside";
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name, "--nocapture"])
            .env(CHILD, "1")
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(EXIT));
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(!stderr.contains("SECRET"), "{stderr}");
        let line: Value = serde_json::from_str(stderr.lines().last().unwrap()).unwrap();
        assert_eq!(line["event"], "test.fatal");
        assert_eq!(line["level"], "error");
        assert_eq!(line["origin"], "panic");
        assert!(line["at"].as_str().unwrap().contains("runtime/src/fatal.rs:"), "{line}");
    }

    #[test]
    fn a_location_names_the_package_and_nothing_above_it() {
        for (file, expected) in [
            ("relay/src/serve.rs", "relay/src/serve.rs"),
            (
                "/home/x/.cargo/registry/src/index-1/hyper-1.0.0/src/a/b.rs",
                "hyper-1.0.0/src/a/b.rs",
            ),
            ("main.rs", "main.rs"),
        ] {
            assert_eq!(below_package(file), expected);
        }
    }
}

//! One member floods another, and the recipient's daemon is asked meanwhile how it is.
//!
//! ```text
//! cargo run --release --bin flood -- [--messages N] [--store DIR]
//! ```
//!
//! The recipient and the daemon of the sender's machine are real processes. The flood comes past the sender's daemon,
//! straight to the relay and as fast as the relay takes it; the relay runs in this process, without the protocol's limit of
//! frames a minute, which would slow the flood down. What was taken, what still waits and what was refused is counted in the
//! end, and the sum has to be what was sent.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command that people read")]

#[path = "flood/run.rs"]
mod run;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use messaging_programs::Program;

const USAGE: &str = "usage: flood [--messages N] [--store DIR]";

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let name = arguments.first().and_then(|name| Path::new(name).file_name()).unwrap_or_default();
    if name.to_string_lossy().starts_with("messaging") {
        return messaging_programs::main(Program::CommandLine, arguments);
    }
    let mut messages = 10_000;
    let mut store = PathBuf::from("/tmp");
    let mut words = arguments.iter().skip(1);
    while let Some(word) = words.next() {
        let value = words.next();
        match (word.to_str(), value.and_then(|value| value.to_str())) {
            (Some("--messages"), Some(text)) => match text.parse() {
                Ok(number) => messages = number,
                Err(_) => return usage(),
            },
            (Some("--store"), Some(text)) => store = PathBuf::from(text),
            _ => return usage(),
        }
    }
    match run::run(messages, &store) {
        Ok(report) => {
            println!("{report}");
            if report.holds() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(problem) => {
            eprintln!("flood: {problem}");
            ExitCode::from(2)
        }
    }
}

fn usage() -> ExitCode {
    eprintln!("{USAGE}");
    ExitCode::from(2)
}

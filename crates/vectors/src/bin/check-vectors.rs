//! Runs every vector file of a folder: `check-vectors DIR [--allow-unknown]`.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use messaging_vectors::check::{self, UnknownKinds};

const USAGE: &str = "usage: check-vectors DIR [--allow-unknown]

Runs every *.json file of DIR and prints one line a file, then the cases that failed.
Exits with 0 when everything passed, 1 when a case failed or its kind is not known, 2 when
DIR could not be read.

  --allow-unknown  skip cases of kinds that are not known, and say how many
";

fn main() -> ExitCode {
    let mut folder = None;
    let mut unknown = UnknownKinds::Fail;
    for argument in std::env::args_os().skip(1) {
        match argument.to_str() {
            Some("--allow-unknown") => unknown = UnknownKinds::Skip,
            Some("-h" | "--help") => return say(&mut std::io::stdout(), USAGE, 0),
            Some(flag) if flag.starts_with('-') => return say(&mut std::io::stderr(), USAGE, 2),
            _ if folder.is_none() => folder = Some(PathBuf::from(argument)),
            _ => return say(&mut std::io::stderr(), USAGE, 2),
        }
    }
    let Some(folder) = folder else {
        return say(&mut std::io::stderr(), USAGE, 2);
    };
    match check::folder(&folder, unknown, &mut std::io::stdout().lock()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(fault) => say(&mut std::io::stderr(), &format!("check-vectors: {fault}\n"), 2),
    }
}

/// Writes `text`; a reader that went away changes nothing about the status.
fn say(to: &mut impl Write, text: &str, status: u8) -> ExitCode {
    match to.write_all(text.as_bytes()) {
        Ok(()) | Err(_) => ExitCode::from(status),
    }
}

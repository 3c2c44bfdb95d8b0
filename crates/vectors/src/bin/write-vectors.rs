//! Writes our own vectors: `write-vectors DIR`.

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use messaging_vectors::write;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(folder), None) = (arguments.next(), arguments.next()) else {
        return fail("usage: write-vectors DIR");
    };
    let files = match write::all() {
        Ok(files) => files,
        Err(fault) => return fail(&fault.to_string()),
    };
    for (name, text) in files {
        if let Err(fault) = std::fs::write(Path::new(&folder).join(name), text) {
            return fail(&format!("{name}: {fault}"));
        }
    }
    ExitCode::SUCCESS
}

fn fail(text: &str) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "write-vectors: {text}");
    ExitCode::from(2)
}

//! Generators and guards of this workspace: `cargo xtask arrows | tidy | gen [--check]`.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command that people and CI read")]

mod arrows;
mod r#gen;
mod tidy;
mod tree;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask <command>

  arrows         compare the crates' dependencies with crates/xtask/arrows.toml
  tidy           look for what the compiler does not: purpose lines, long files, banned names, sleeping tests
  gen            write every generated file anew
  gen --check    say which generated files are out of date
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["arrows"] => arrows::check(),
        ["tidy"] => tidy::check(),
        ["gen"] => r#gen::write(),
        ["gen", "--check"] => r#gen::check(),
        _ => {
            eprint!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(summary) => {
            println!("{}: {summary}", words.join(" "));
            ExitCode::SUCCESS
        }
        Err(faults) => {
            for fault in &faults {
                eprintln!("{fault}");
            }
            eprintln!("{}: {} to mend", words.join(" "), faults.len());
            ExitCode::FAILURE
        }
    }
}

/// What a command says: one line when all is well, else one line for each fault.
type Outcome = Result<String, Vec<String>>;

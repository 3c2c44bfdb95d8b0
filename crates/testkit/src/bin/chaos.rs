//! Kills real daemons and a real relay while they work, and says what did not hold.
//!
//! ```text
//! cargo run --release --bin chaos -- [--rounds N] [--seed N] [--program PATH] [--life all|ACT]
//! ```
//!
//! With `--life` one machine is killed in the middle of an act (rotation, claim, join, snapshot, sweep, upgrade), N times each.
//!
//! The programs are this very executable under other names, unless another one is named.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command that people and CI read")]

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use messaging_programs::Program;
use messaging_testkit::chaos::life::{self, Act};
use messaging_testkit::chaos::{self, Plan};

const USAGE: &str = "usage: chaos [--rounds N] [--seed N] [--program PATH] [--life all|ACT]";

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let name = arguments.first().and_then(|name| Path::new(name).file_name()).unwrap_or_default();
    if name.to_string_lossy().starts_with("messaging") {
        return messaging_programs::main(Program::CommandLine, arguments);
    }
    match rounds(&arguments) {
        Ok(code) => code,
        Err(problem) => {
            eprintln!("chaos: {problem}\n{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn rounds(arguments: &[OsString]) -> Result<ExitCode, chaos::Problem> {
    let folder = chaos::folder()?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
    let mut plan = Plan {
        executable: std::env::current_exe()?,
        folder: folder.path().to_owned(),
        rounds: 200,
        seed: now,
    };
    let mut acts: &[Act] = &[];
    let mut words = arguments.iter().skip(1);
    while let Some(word) = words.next() {
        let value = words.next().ok_or("a value is missing")?;
        let number = || value.to_str().ok_or("no number")?.parse().map_err(|_| "no number");
        match word.to_str() {
            Some("--rounds") => plan.rounds = u32::try_from(number()?)?,
            Some("--seed") => plan.seed = number()?,
            Some("--program") => plan.executable = std::path::absolute(PathBuf::from(value))?,
            Some("--life") if value == "all" => acts = &Act::ALL,
            Some("--life") => {
                let named = Act::ALL.iter().position(|act| value == act.name());
                let at = named.ok_or("an unknown act")?;
                acts = Act::ALL.get(at..=at).unwrap_or_default();
            }
            _ => return Err("an unknown word".into()),
        }
    }
    println!("seed {}", plan.seed);
    if !acts.is_empty() {
        let Plan { executable, folder, rounds, seed } = plan;
        let plan = life::Plan { executable, folder, rounds, seed };
        for act in acts {
            println!("{}", life::run(&plan, *act)?);
        }
        return Ok(ExitCode::SUCCESS);
    }
    let report = chaos::run(&plan, |line| println!("{line}"))?;
    for violation in &report.violations {
        println!("VIOLATION: {violation}");
    }
    println!("{report}");
    Ok(if report.violations.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

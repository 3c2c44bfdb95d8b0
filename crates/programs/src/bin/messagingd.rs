//! The program `messagingd`, and under another name any of the four.

use std::process::ExitCode;

use messaging_programs::{Program, main as run};

fn main() -> ExitCode {
    run(Program::Daemon, std::env::args_os())
}

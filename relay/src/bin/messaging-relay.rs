//! The program `messaging-relay`.

use std::process::ExitCode;

fn main() -> ExitCode {
    messaging_relay::main(std::env::args_os())
}

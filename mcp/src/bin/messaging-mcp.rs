//! The program `messaging-mcp`.

use std::process::ExitCode;

fn main() -> ExitCode {
    messaging_mcp::main(std::env::args_os())
}

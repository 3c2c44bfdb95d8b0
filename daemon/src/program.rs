//! `messagingd` as a program: arguments, signals, exit status.
//!
//! Spec: §8.1 "Process", §8.10, D3.2, D3.32

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use messaging_daemon_engine::LAYOUT;
use messaging_ipc::hello::release;
use messaging_runtime::log::{Level, Logger};
use messaging_runtime::stop::StopSignal;
use messaging_runtime::{fatal, files};

use crate::args::Args;
use crate::daemon::{Daemon, Options};
use crate::environment::Environment;
use crate::exit::{StartError, status};
use crate::os;
use crate::repair;

/// Runs `messagingd` with a command line whose first word is the program's name.
#[must_use]
pub fn run_as_program(words: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args = match Args::read(words) {
        Ok(args) => args,
        Err(error) => {
            // Help and usage errors know which stream they belong to.
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { status::USAGE } else { status::DONE });
        }
    };
    if args.version {
        let text = version(args.json);
        return match writeln!(std::io::stdout(), "{text}") {
            Ok(()) => ExitCode::from(status::DONE),
            Err(_) => ExitCode::from(status::FATAL),
        };
    }
    os::hold_umask();
    fatal::exit_on_panic(Logger::stderr(Level::Error), FATAL_EVENT);
    let served = if args.repair { mend(&args) } else { start(&args) };
    match served {
        Ok(()) => ExitCode::from(status::DONE),
        Err(error) => {
            let text = format!("{error}\nNext: {}\n", error.remedy());
            // Without stderr the exit status still says what happened.
            let _ = std::io::stderr().write_all(text.as_bytes());
            ExitCode::from(error.exit_status())
        }
    }
}

/// The program's command line, for its manual page.
#[must_use]
pub fn command() -> clap::Command {
    <Args as clap::CommandFactory>::command()
}

fn mend(args: &Args) -> Result<(), StartError> {
    let told = repair::run(&args.home()?)?;
    writeln!(std::io::stdout(), "{told}")
        .map_err(|error| StartError::System { what: "standard output", error })
}

fn start(args: &Args) -> Result<(), StartError> {
    let options = Options {
        home: args.home()?,
        log_level: Args::log_level()?,
        environment: Environment::of_process(),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .enable_all()
        .build()
        .map_err(|error| StartError::System { what: "threads", error })?;
    let served = runtime.block_on(async {
        let mut stop =
            StopSignal::listen().map_err(|error| StartError::System { what: "signals", error })?;
        os::ignore_hangup().map_err(|error| StartError::System { what: "signals", error })?;
        files::survive_size_limit()
            .map_err(|error| StartError::System { what: "signals", error })?;
        let daemon = Daemon::start(&options)?;
        fatal::exit_on_panic(daemon.log().clone(), FATAL_EVENT);
        daemon
            .run(async move {
                stop.requested().await;
                tokio::spawn(async move {
                    stop.requested().await;
                    std::process::exit(i32::from(status::INTERRUPTED));
                });
            })
            .await;
        Ok(())
    });
    // Tasks that still wait for a silent peer end with the process.
    runtime.shutdown_background();
    served
}

/// What `--version` prints.
fn version(as_json: bool) -> String {
    if as_json {
        serde_json::json!({
            "version": release(), "storeSchema": LAYOUT.schema, "protocol": PROTOCOL,
        })
        .to_string()
    } else {
        format!("messagingd {} (store schema {}, protocol {PROTOCOL})", release(), LAYOUT.schema)
    }
}

const FATAL_EVENT: &str = "daemon.fatal";
const PROTOCOL: &str = "messaging/1";
/// Connection tasks do little: the work is on the owner's thread.
const WORKERS: usize = 2;

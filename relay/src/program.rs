//! The program `messaging-relay`: flags in, exit status out.
//! Spec: W5.1

use std::ffi::OsString;
use std::io::{IsTerminal as _, Write as _};
use std::path::Path;
use std::process::ExitCode;

use messaging_runtime::log::{Level, Logger};
use messaging_runtime::stop::StopSignal;
use messaging_runtime::{fatal, files};
use messaging_store::OpenError;

use crate::config::Config;
use crate::serve::Relay;
use crate::start::StartError;

/// Refused to start.
const REFUSED: u8 = 1;
/// An error that escaped.
const ESCAPED: u8 = 70;

/// Runs the relay until SIGTERM or SIGINT. `args` begins with the program's name.
///
/// Exit statuses: 0 a clean stop, 1 the start was refused, 2 bad flags, 70 an error that escaped.
#[must_use]
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let config = match Config::read(args) {
        Ok(config) => config,
        Err(error) => {
            // Help and version go to stdout, the rest to stderr.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let log = Logger::stderr(config.log_level);
    fatal::exit_on_panic(log.clone(), "relay.fatal");
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return refuse(&log, &config.db, StartError::Thread(error.kind())),
    };
    let status = runtime.block_on(run(config, log));
    // Connections that did not end in time are left behind.
    runtime.shutdown_background();
    status
}

async fn run(config: Config, log: Logger) -> ExitCode {
    let db = config.db.clone();
    let signals = files::survive_size_limit().and_then(|()| StopSignal::listen());
    let mut stop = match signals {
        Ok(stop) => stop,
        Err(error) => return refuse(&log, &db, StartError::Thread(error.kind())),
    };
    match Relay::start(config, log.clone()).await {
        Ok(relay) => match relay.serve(stop.requested()).await {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::from(ESCAPED),
        },
        Err(error) => refuse(&log, &db, error),
    }
}

/// Says why the relay does not start: to the log, and in words where a person reads.
fn refuse(log: &Logger, db: &Path, error: StartError) -> ExitCode {
    match error {
        StartError::Store(OpenError::Refused(refusal)) => {
            let db = db.display().to_string();
            let fields = [("db", db.into()), ("reason", refusal.name().into())];
            log.write(Level::Error, "relay.store_refused", &fields);
        }
        error => {
            let fields = [
                ("origin", "start".into()),
                ("error", error.name().into()),
                ("at", error.place().into()),
            ];
            log.write(Level::Error, "relay.fatal", &fields);
        }
    }
    let mut stderr = std::io::stderr();
    if stderr.is_terminal() {
        let _ = writeln!(stderr, "messaging-relay: {error}\nNext: {}", error.next());
    }
    ExitCode::from(REFUSED)
}

//! The command that a person named for a session: run without a shell, told what waits, ended when its time is over.
//!
//! Spec: §8.6; decision 0023

use std::path::Path;
use std::process::Stdio;

use messaging_core::ids::{SessionName, Ulid};
use messaging_daemon_engine::wake::{WakeCommand, WakeEnd};
use serde_json::json;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;
use tokio::time::timeout;

use super::{LIMIT, Places};
use crate::os;

/// Runs the command, with `{"session", "envelopeIds"}` as one line on its standard input. What it prints goes nowhere.
pub(super) async fn run(
    command: &WakeCommand,
    session: &SessionName,
    ids: &[Ulid],
    places: &Places,
) -> WakeEnd {
    let [program, arguments @ ..] = command.argv.as_slice() else { return WakeEnd::NotStarted };
    match os::is_safe_program(Path::new(program)) {
        Ok(true) => {}
        Ok(false) => return WakeEnd::UnsafeCommand,
        Err(_) => return WakeEnd::NotStarted,
    }
    let environment = &places.environment;
    let folder = match (&command.folder, &environment.user_home) {
        (Some(folder), _) => Path::new(folder),
        (None, Some(home)) => home,
        (None, None) => Path::new("/"),
    };
    let mut prepared = Command::new(program);
    prepared
        .args(arguments)
        .env_clear()
        .envs(environment.for_commands.iter().map(|(name, value)| (name, value)))
        .env("MESSAGING_HOME", &places.home)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    // With a group of its own, what it started ends with it when its time is over.
    os::lead_a_group(&mut prepared);
    let Ok(mut child) = prepared.spawn() else { return WakeEnd::NotStarted };
    let group = child.id();
    let ids: Vec<&str> = ids.iter().map(Ulid::as_str).collect();
    let told = format!("{}\n", json!({"session": session.as_str(), "envelopeIds": ids}));
    let input = child.stdin.take();
    let tell = async {
        if let Some(mut input) = input {
            // A command that reads nothing is told nothing.
            let _ = input.write_all(told.as_bytes()).await;
        }
    };
    let ended = timeout(LIMIT, async { tokio::join!(tell, child.wait()).1 }).await;
    match ended {
        Ok(Ok(status)) if status.success() => WakeEnd::Done,
        Ok(Ok(status)) if status.code() == Some(TRY_AGAIN) => WakeEnd::AgainLater,
        Ok(_) => WakeEnd::Failed,
        Err(_) => {
            if let Some(group) = group {
                os::end_group(group);
            }
            let _ = child.wait().await;
            WakeEnd::Killed
        }
    }
}

/// `EX_TEMPFAIL` of sysexits.h.
const TRY_AGAIN: i32 = 75;

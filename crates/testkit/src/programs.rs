//! The real programs as processes: started in a folder, asked over their sockets, killed without warning.
//!
//! [`Process`] is one of them, whatever it is; [`Relay`] and [`Daemon`] know when theirs is ready and start it again where
//! it was. [`OpenCode`] is a service that
//! the daemon calls. [`Ipc`] is a client of a daemon that blocks, for tests that read like a story. A process ends with its value.

mod daemon;
mod ipc;
mod opencode;
mod process;
mod relay;

pub use daemon::Daemon;
pub use ipc::{Ipc, Refused};
pub use opencode::{Answer, OpenCode, WakeCall};
pub use process::Process;
pub use relay::Relay;

use std::time::{Duration, Instant};

/// Why a run could not go on.
pub type Problem = Box<dyn std::error::Error + Send + Sync>;

/// Long enough for any machine; whatever needs it has failed.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// How often something is looked at that does not tell by itself.
const POLL: Duration = Duration::from_millis(5);

/// Looks until there is something to see.
///
/// Errors: `what` never came within `patience`; what the look itself meets.
pub fn until<T>(
    what: &str,
    patience: Duration,
    mut look: impl FnMut() -> Result<Option<T>, Problem>,
) -> Result<T, Problem> {
    let end = Instant::now() + patience;
    loop {
        if let Some(seen) = look()? {
            return Ok(seen);
        }
        if Instant::now() >= end {
            return Err(format!("{what}: not within {} s", patience.as_secs()).into());
        }
        std::thread::sleep(POLL);
    }
}

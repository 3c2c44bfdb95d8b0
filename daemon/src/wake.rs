//! Wakes clients that are away: one task for each attempt that the engine wishes for, ended within 10 s.
//!
//! Spec: §8.6, D3.26
//!
//! Whom to call, how often and how many at once is the engine's. Nothing of a call is logged but how it ended: no
//! address, no password, no folder, no session, no word of what answered.

mod command;
mod opencode;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use messaging_core::ids::Ulid;
use messaging_daemon_engine::In;
use messaging_daemon_engine::wake::{WakeHost, WakeId};
use tokio::runtime::Handle;

use crate::environment::Environment;
use crate::owner::Inbox;

/// Carries attempts out.
pub(crate) struct Waker {
    runtime: Handle,
    inbox: Inbox,
    places: Arc<Places>,
}

/// What attempts need of this machine.
struct Places {
    environment: Environment,
    /// The daemon's home, which a command is told.
    home: PathBuf,
}

impl Waker {
    pub(crate) fn new(
        runtime: Handle,
        inbox: Inbox,
        environment: Environment,
        home: PathBuf,
    ) -> Self {
        Self { runtime, inbox, places: Arc::new(Places { environment, home }) }
    }

    /// Begins an attempt; its end comes as [`In::Woken`].
    pub(crate) fn begin(&self, call: WakeId, host: WakeHost, ids: Vec<Ulid>) {
        let (inbox, places) = (self.inbox.clone(), Arc::clone(&self.places));
        self.runtime.spawn(async move {
            let end = match host {
                WakeHost::Opencode { pid, location, session_id } => {
                    let file = places.environment.registration.as_deref();
                    opencode::call(file, pid, &location, &session_id, &ids).await
                }
                WakeHost::Command { session, command } => {
                    command::run(&command, &session, &ids, &places).await
                }
            };
            // A daemon that is gone needs no word.
            let _ = inbox.put(In::Woken { call, end }).await;
        });
    }
}

/// The longest an attempt may take.
const LIMIT: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests;

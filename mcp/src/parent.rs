//! A server ends with the host that started it, however that ended.
//! Spec: D7.1 "End"
//!
//! Most hosts close standard input when they end, in whatever way. A host that was killed while another of its children
//! held a copy of the pipe does not: then the parent that this process had at its first message is gone.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// How often the parent is looked at.
const EVERY: Duration = Duration::from_millis(500);
/// How many looks a launcher that stands between the host and this process has to go away, when no message comes.
const LOOKS: u32 = 20;

/// The parent as it was at the first message: a launcher that was in between has gone by then.
#[derive(Clone, Debug, Default)]
pub(crate) struct Met(Arc<OnceLock<Option<i32>>>);

impl Met {
    /// A message came: whoever is the parent now is the host, unless one was met before.
    pub(crate) fn host(&self) {
        self.0.get_or_init(parent);
    }

    /// The host that a predecessor of this process met.
    pub(crate) fn known(host: Option<i32>) -> Self {
        let met = Self::default();
        if host.is_some() {
            met.0.get_or_init(|| host);
        }
        met
    }

    /// The host's process, once it was met.
    pub(crate) fn pid(&self) -> Option<i32> {
        self.0.get().copied().flatten()
    }

    /// Waits until the parent is another.
    pub(crate) async fn gone(&self) {
        let mut looks = 0_u32;
        loop {
            match self.0.get() {
                Some(met) if *met != parent() => return,
                None if looks >= LOOKS => self.host(),
                _ => {}
            }
            looks = looks.saturating_add(1);
            tokio::time::sleep(EVERY).await;
        }
    }
}

/// The process id of the parent; `None` when there is none in sight.
fn parent() -> Option<i32> {
    rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get())
}

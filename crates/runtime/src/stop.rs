//! The two signals that ask a server to stop.
//! Spec: W5.1

use std::io;

/// Hears SIGTERM and SIGINT from the moment it is made, so that none between start and wait is missed.
#[derive(Debug)]
pub struct StopSignal {
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
}

impl StopSignal {
    /// Starts to listen. Call it inside a tokio runtime.
    ///
    /// Errors: the handlers cannot be installed.
    pub fn listen() -> io::Result<Self> {
        #[cfg(unix)]
        {
            use tokio::signal::unix::{SignalKind, signal};
            Ok(Self {
                terminate: signal(SignalKind::terminate())?,
                interrupt: signal(SignalKind::interrupt())?,
            })
        }
        #[cfg(not(unix))]
        Ok(Self {})
    }

    /// Waits for the first of them.
    pub async fn requested(&mut self) {
        #[cfg(unix)]
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
        #[cfg(not(unix))]
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::process::Command;

    #[tokio::test]
    async fn a_signal_sent_before_the_wait_is_heard() {
        for name in ["TERM", "INT"] {
            let mut stop = StopSignal::listen().unwrap();
            let sent = Command::new("kill")
                .args(["-s", name, &std::process::id().to_string()])
                .status()
                .unwrap();
            assert!(sent.success());
            stop.requested().await;
        }
    }
}

//! How many files and sockets the process may hold open, and how large they may grow.
//! Spec: §7 "Limits" (raw sockets), "Store failures"

/// Asks the system for `wanted` open files, and says how many are allowed now.
///
/// The soft limit is raised as far as the hard one lets it and never lowered. Where the system has no such limit, or does not
/// tell, the answer is `wanted`.
#[must_use]
pub fn allow(wanted: u64) -> u64 {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let held = getrlimit(Resource::Nofile);
        let Some(current) = held.current else { return wanted };
        if current >= wanted {
            return current;
        }
        let raised = held.maximum.map_or(wanted, |most| wanted.min(most));
        let limit = Rlimit { current: Some(raised), maximum: held.maximum };
        match setrlimit(Resource::Nofile, limit) {
            Ok(()) => raised,
            Err(_) => current,
        }
    }
    #[cfg(not(unix))]
    wanted
}

/// Makes a write past the process's file size limit fail like one on a full disk, which a store survives. Without it, the
/// system ends the process there.
///
/// Call it inside a tokio runtime. Errors: the signal cannot be taken over.
pub fn survive_size_limit() -> std::io::Result<()> {
    #[cfg(unix)]
    {
        use rustix::process::Signal;
        use tokio::signal::unix::{SignalKind, signal};
        // That somebody listens is enough, and it stays so when the listener is dropped.
        signal(SignalKind::from_raw(Signal::XFSZ.as_raw())).map(drop)
    }
    #[cfg(not(unix))]
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_raised_and_never_lowered() {
        let now = allow(0);
        assert!(now > 0);
        assert!(allow(now + 1) >= now);
        assert!(allow(1) >= now);
    }
}

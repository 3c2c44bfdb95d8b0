//! How many files and sockets the process may hold open.
//! Spec: §7 "Limits" (raw sockets)

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

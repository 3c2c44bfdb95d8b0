//! A server that was started for a demonstration ends when the demonstration does, even one that was killed.
//! Spec: D6.7

/// The variable that names the process to follow.
const VARIABLE: &str = "MESSAGING_FOLLOW";

/// Asks the system to end this process when its parent goes, if the variable names the parent.
///
/// Only Linux and FreeBSD can do that; elsewhere the parent ends its children itself, unless it is killed.
pub(crate) fn parent_if_asked() {
    let Some(parent) = std::env::var(VARIABLE).ok().and_then(|text| text.parse::<i32>().ok())
    else {
        return;
    };
    follow(parent);
}

#[cfg(any(target_os = "linux", target_os = "freebsd"))]
fn follow(parent: i32) {
    use rustix::process::{Signal, getppid, set_parent_process_death_signal};
    // A system that cannot do it leaves the parent to end its children itself.
    let _ = set_parent_process_death_signal(Some(Signal::TERM));
    if getppid().is_none_or(|pid| pid.as_raw_nonzero().get() != parent) {
        // It went before we asked.
        std::process::exit(0);
    }
}

#[cfg(not(any(target_os = "linux", target_os = "freebsd")))]
fn follow(_parent: i32) {}

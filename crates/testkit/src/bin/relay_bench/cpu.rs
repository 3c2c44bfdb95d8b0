//! CPU time by thread, as the system tells it: zero where it does not.

use std::path::Path;
use std::time::Duration;

/// CPU that this thread has used.
pub(crate) fn of_this_thread() -> Duration {
    of(Path::new("/proc/thread-self"))
}

/// CPU that the threads of these names have used.
pub(crate) fn of_threads(names: &[&str]) -> Duration {
    let Ok(threads) = std::fs::read_dir("/proc/self/task") else { return Duration::ZERO };
    let named = |thread: &Path| {
        std::fs::read_to_string(thread.join("comm"))
            .is_ok_and(|name| names.contains(&name.trim_end()))
    };
    threads
        .flatten()
        .map(|thread| thread.path())
        .filter(|thread| named(thread))
        .map(|thread| of(&thread))
        .sum()
}

fn of(thread: &Path) -> Duration {
    let stat = std::fs::read_to_string(thread.join("schedstat")).unwrap_or_default();
    let nanos = stat.split(' ').next().and_then(|nanos| nanos.parse().ok());
    Duration::from_nanos(nanos.unwrap_or(0))
}

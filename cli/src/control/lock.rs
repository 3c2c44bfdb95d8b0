//! Which process the lock file names.
//! Spec: D3.1, D6.5

use std::path::Path;

use rustix::process::{Pid, test_kill_process};

/// The longest lock file that is read: a pid and a line feed.
const LOCK_BYTES: usize = 16;

/// The pid in `messagingd.lock`; `None` for a file that is missing or holds anything but one pid.
pub(crate) fn locked_pid(run: &Path) -> Option<u32> {
    pid(&std::fs::read(run.join("messagingd.lock")).ok()?)
}

/// A decimal pid with at most one line feed: no sign, no leading zero, no space, and a number that a process can have.
fn pid(text: &[u8]) -> Option<u32> {
    if text.len() > LOCK_BYTES {
        return None;
    }
    let text = std::str::from_utf8(text).ok()?;
    let digits = text.strip_suffix('\n').unwrap_or(text);
    if digits.starts_with('0') || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok().filter(|pid| i32::try_from(*pid).is_ok())
}

/// Whether a process of this pid runs. One that has ended and waits to be collected does not.
pub(super) fn is_alive(pid: u32) -> bool {
    match process(pid) {
        // A process of another user exists, though it may not be signalled.
        Some(found) => {
            !matches!(test_kill_process(found), Err(rustix::io::Errno::SRCH)) && !has_ended(pid)
        }
        None => false,
    }
}

/// Whether the system says that the process is only waiting to be collected. Unknown where there is no `/proc`.
fn has_ended(pid: u32) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    // The name stands in parentheses and may hold any character; the state follows the last one.
    stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with(['Z', 'X']))
}

/// The pid as a signal needs it: never 0 and never negative, which would mean whole groups.
pub(super) fn process(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_pid_is_one() {
        for (text, expected) in [
            ("1234\n", Some(1234)),
            ("1", Some(1)),
            ("2147483647\n", Some(2_147_483_647)),
            ("2147483648\n", None),
            ("99999999999999999999", None),
            ("0\n", None),
            ("007", None),
            ("-1\n", None),
            ("+5", None),
            ("12 \n", None),
            ("12\n\n", None),
            ("12\n13", None),
            ("abc", None),
            ("", None),
            ("\n", None),
        ] {
            assert_eq!(pid(text.as_bytes()), expected, "{text:?}");
        }
        assert_eq!(pid(&[b'1'; 4_096]), None);
        assert_eq!(pid(b"\xff"), None);
    }

    #[test]
    fn this_process_is_alive_and_no_process_is_none() {
        assert!(is_alive(std::process::id()));
        assert!(!is_alive(0));
        assert!(!is_alive(u32::MAX));
    }
}

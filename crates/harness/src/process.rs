//! Which processes this one descends from, as the system says it, and whether one of them is still the same.
//! Spec: §8.2 "Sessions"
//!
//! A process is its id and the moment it started: ids are used again. Where the system has no `/proc` there is no family in
//! sight, and whoever needs one does without.

use serde::{Deserialize, Serialize};

/// One process, however often its id was used before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Process {
    /// Its id.
    pub pid: u32,
    /// When it started, in ticks since the machine did.
    pub start: u64,
}

impl Process {
    /// Whether it is there still.
    #[must_use]
    pub fn lives(&self) -> bool {
        stat(&self.pid.to_string()).is_some_and(|found| found.process == *self && !found.is_zombie)
    }
}

/// A process and those it descends from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Family {
    /// The process itself.
    pub me: Process,
    /// Its parent, the parent's parent and so on, with the names of their programs.
    pub ancestors: Vec<(Process, String)>,
    /// Among which processes these ids mean anything: this start of this machine, this container.
    pub world: String,
}

/// Ancestors that are looked at.
const DEPTH: usize = 64;

impl Family {
    /// The family of this process; `None` where the system does not tell.
    #[must_use]
    pub fn mine() -> Option<Self> {
        let me = stat("self")?;
        let mut ancestors = Vec::new();
        let mut parent = me.parent;
        while parent > 1 && ancestors.len() < DEPTH {
            let Some(found) = stat(&parent.to_string()) else { break };
            ancestors.push((found.process, found.name));
            parent = found.parent;
        }
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        let container = std::fs::read_link("/proc/self/ns/pid").ok()?;
        let world = format!("{} {}", boot.trim(), container.display());
        Some(Self { me: me.process, ancestors, world })
    }

    /// The process that runs the agent: the nearest ancestor that is no shell and no launcher.
    #[must_use]
    pub fn host(&self) -> Option<Process> {
        let mut hosts = self.ancestors.iter().filter(|(_, name)| !is_between(name));
        hosts.next().map(|(process, _)| *process)
    }
}

/// Programs that only start others.
const BETWEEN: &[&str] = &[
    "ash", "bash", "busybox", "csh", "dash", "direnv", "env", "fish", "ionice", "ksh", "mksh",
    "nice", "nohup", "setsid", "sh", "stdbuf", "tcsh", "timeout", "zsh",
];

fn is_between(name: &str) -> bool {
    BETWEEN.contains(&name.trim_start_matches('-'))
}

struct Stat {
    process: Process,
    parent: u32,
    name: String,
    is_zombie: bool,
}

/// What `/proc/<who>/stat` says.
fn stat(who: &str) -> Option<Stat> {
    parse(&std::fs::read_to_string(format!("/proc/{who}/stat")).ok()?)
}

fn parse(text: &str) -> Option<Stat> {
    let (pid, rest) = text.split_once(" (")?;
    // A program's name may hold anything, parentheses too.
    let (name, rest) = rest.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    let is_zombie = matches!(fields.next()?, "Z" | "X" | "x");
    let parent = fields.next()?.parse().ok()?;
    // The 22nd field of the whole line; two of those after the name were taken.
    let start = fields.nth(17)?.parse().ok()?;
    let process = Process { pid: pid.parse().ok()?, start };
    Some(Stat { process, parent, name: name.to_owned(), is_zombie })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_whatever_the_program_is_called() {
        let line = "12 (a) b (c) S 7 12 12 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 9876 1 2 3";
        let read = parse(line).unwrap();
        assert_eq!(read.process, Process { pid: 12, start: 9_876 });
        assert_eq!((read.parent, read.name.as_str(), read.is_zombie), (7, "a) b (c", false));
        for bad in [
            "",
            "12",
            "12 (a) S",
            "12 (a) S 7 12",
            "x (a) S 7 12 12 0 -1 4 1 0 0 0 0 0 0 0 20 0 1 0 9876",
        ] {
            assert!(parse(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn shells_and_launchers_are_passed() {
        let ancestor = |pid, name: &str| (Process { pid, start: 1 }, name.to_owned());
        let family = |names: &[&str]| Family {
            me: Process { pid: 99, start: 1 },
            ancestors: names.iter().zip(10..).map(|(name, pid)| ancestor(pid, name)).collect(),
            world: String::new(),
        };
        let host = |names: &[&str]| family(names).host().map(|process| process.pid);
        assert_eq!(host(&["claude", "zsh"]), Some(10));
        assert_eq!(host(&["sh", "timeout", "-zsh", "codex", "bash"]), Some(13));
        assert_eq!(host(&["sh", "bash"]), None);
        assert_eq!(host(&[]), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_process_lives_and_one_that_had_its_id_does_not() {
        let family = Family::mine().unwrap();
        assert_eq!(family.me.pid, std::process::id());
        assert!(family.me.lives());
        assert!(!Process { start: family.me.start + 1, ..family.me }.lives());
        assert!(!family.ancestors.is_empty());
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        assert!(!Process { pid: child.id(), start: family.me.start }.lives());
    }
}

//! One session of one harness: its key, written down by the MCP server for the hooks beside it.
//! Spec: §8.2 "Sessions", §11 "MCP server", D3.17
//!
//! A seat belongs to a process that runs agents (the host) and is held by one MCP server that the host started. The server
//! alone writes it. A server that replaces itself finds its own seat; one that follows a server that is gone takes its seat
//! with its key; one that stands beside another has a seat of its own. See `docs/decisions/0027-a-seat-for-each-session.md`.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use messaging_client::Place;
use messaging_core::ids::{ClientKind, SessionName};
use messaging_core::random::{self, Random};
use messaging_core::{b64, jcs};
use messaging_ipc::scalars::SessionKey;
use messaging_ipc::shapes::SessionTier;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::folder;
use crate::process::{Family, Process};

/// Bytes of a session key.
const KEY_BYTES: usize = 32;
/// Seats of one host.
const SEATS: u32 = 32;
/// How often the folder's lock is tried for, and how long between.
const TRIES: u32 = 50;
const BETWEEN: Duration = Duration::from_millis(2);

/// What is written down of a session.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Record {
    /// The session's key.
    pub key: SessionKey,
    /// The server that holds the seat.
    pub server: Process,
    /// What the session registers as.
    pub agent: ClientKind,
    /// The name it asks for.
    pub name: SessionName,
    /// How it takes messages at the moment.
    pub tier: SessionTier,
    /// The file of its host's ticket.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ticket_file: Option<PathBuf>,
}

impl std::fmt::Debug for Record {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Record").field("server", &self.server).finish_non_exhaustive()
    }
}

/// A fresh session key.
pub fn fresh_key(rng: &mut impl Random) -> Option<SessionKey> {
    SessionKey::parse(&b64::encode(&random::bytes::<KEY_BYTES>(rng))).ok()
}

/// A seat that this process, a server, holds.
#[derive(Debug)]
pub struct Seat {
    path: PathBuf,
    record: Record,
}

impl Seat {
    /// Takes a seat for this process, or finds the one it has. `key` is the key of a new one; a seat that a server left
    /// has its key already.
    ///
    /// `None` when sessions cannot be written down here: the system does not tell who started whom, or no folder is private.
    #[must_use]
    pub fn take(place: &Place, wish: Wish) -> Option<Self> {
        Self::take_in(&folder::of(place)?, place, &Family::mine()?, wish)
    }

    fn take_in(folder: &Path, place: &Place, family: &Family, wish: Wish) -> Option<Self> {
        let host = family.host()?;
        if !folder::prepare(folder) {
            return None;
        }
        let _lock = lock(folder)?;
        let scope = scope(place, family)?;
        forget_the_dead(folder, &scope);
        for number in 1..=SEATS {
            let path = folder.join(format!("{scope}.{}.{}.{number}.seat", host.pid, host.start));
            let found = read(&path);
            if found.is_none() && std::fs::symlink_metadata(&path).is_ok() {
                // Whatever it is, it is not ours.
                continue;
            }
            let key = match &found {
                Some(record) if record.server == family.me => Some(record.key.clone()),
                Some(record) if record.server.lives() => continue,
                // Who wants to be somebody else is another session.
                Some(record) if record.agent == wish.agent && record.name == wish.name => {
                    Some(record.key.clone())
                }
                _ => None,
            };
            if found.as_ref().is_none_or(|record| record.server != family.me) {
                // What the hooks of another server showed was shown to another conversation.
                let _ = std::fs::remove_file(path.with_extension("shown"));
            }
            let Wish { key: fresh, agent, name, ticket_file } = wish;
            let record = Record {
                key: key.unwrap_or(fresh),
                server: family.me,
                agent,
                name,
                tier: SessionTier::Pull,
                ticket_file,
            };
            let seat = Self { path, record };
            return seat.write().then_some(seat);
        }
        None
    }

    /// The session's key.
    #[must_use]
    pub fn key(&self) -> &SessionKey {
        &self.record.key
    }

    /// Writes down how the session takes messages from now on.
    pub fn set_tier(&mut self, tier: SessionTier) {
        if self.record.tier != tier {
            self.record.tier = tier;
            // A hook that reads the old word registers it once, and the server's next call puts it right.
            let _ = self.write();
        }
    }

    fn write(&self) -> bool {
        let write = || {
            let folder = self.path.parent()?;
            // Temporary files are private from the start.
            let mut file = tempfile::NamedTempFile::new_in(folder).ok()?;
            file.write_all(&serde_json::to_vec(&self.record).ok()?).ok()?;
            file.persist(&self.path).ok()
        };
        write().is_some()
    }
}

/// What a server asks for.
#[derive(Clone)]
pub struct Wish {
    /// The key of a seat that nobody had before.
    pub key: SessionKey,
    /// What the session registers as.
    pub agent: ClientKind,
    /// The name it asks for.
    pub name: SessionName,
    /// The file of its host's ticket.
    pub ticket_file: Option<PathBuf>,
}

/// A seat as a hook finds it.
#[derive(Debug)]
pub struct Found {
    /// What its server wrote.
    pub record: Record,
    /// Where the hooks of this session keep what they showed.
    pub shown: PathBuf,
}

/// The seats of the host that started this process, those whose server lives.
#[must_use]
pub fn around(place: &Place) -> Vec<Found> {
    let found = || Some(around_in(&folder::of(place)?, place, &Family::mine()?));
    found().unwrap_or_default()
}

fn around_in(folder: &Path, place: &Place, family: &Family) -> Vec<Found> {
    let Some(scope) = scope(place, family).filter(|_| folder::is_usable(folder)) else {
        return Vec::new();
    };
    // Never further up: an agent may start another harness in its shell, and that one has its own session or none.
    let Some(host) = family.host() else { return Vec::new() };
    let names = names(folder, &scope).into_iter().filter(|(of, _)| *of == host);
    let mut seats: Vec<Found> = names
        .filter_map(|(_, name)| {
            let path = folder.join(name);
            let record = read(&path).filter(|record| record.server.lives())?;
            Some(Found { record, shown: path.with_extension("shown") })
        })
        .collect();
    seats.sort_by(|a, b| a.shown.cmp(&b.shown));
    seats
}

fn read(path: &Path) -> Option<Record> {
    serde_json::from_str(&folder::read(path)?).ok()
}

/// What names of seats begin with: they mean something to one daemon's clients on one start of one machine.
fn scope(place: &Place, family: &Family) -> Option<String> {
    let run = std::path::absolute(place.folder()).ok()?;
    let text = format!("{} {}", family.world, run.display());
    let hash = jcs::canonical(&Value::from(text)).ok()?.hash();
    hash.as_str().get(..16).map(ToOwned::to_owned)
}

/// The seats of a scope: whose, and the file.
fn names(folder: &Path, scope: &str) -> Vec<(Process, String)> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let read = |name: String| {
        let mut parts = name.strip_prefix(scope)?.strip_prefix('.')?.split('.');
        let host = Process { pid: parts.next()?.parse().ok()?, start: parts.next()?.parse().ok()? };
        let _number: u32 = parts.next()?.parse().ok()?;
        (parts.next() == Some("seat") && parts.next().is_none()).then_some((host, name))
    };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter_map(read).collect()
}

/// Removes what was written for hosts that are gone.
fn forget_the_dead(folder: &Path, scope: &str) {
    for (host, name) in names(folder, scope) {
        if !host.lives() {
            let path = folder.join(name);
            let _ = std::fs::remove_file(path.with_extension("shown"));
            let _ = std::fs::remove_file(path);
        }
    }
}

/// The lock under which seats are taken. It is held for a moment only.
fn lock(folder: &Path) -> Option<File> {
    let file = folder::open(&folder.join("lock"), true)?;
    for _ in 0..TRIES {
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
            return Some(file);
        }
        std::thread::sleep(BETWEEN);
    }
    None
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;
    use messaging_client::testing::private_home;
    use std::process::{Child, Command, Stdio};

    /// A process that lives until it is dropped.
    struct Living(Child);

    impl Living {
        fn new() -> Self {
            Self(Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap())
        }

        fn process(&self) -> Process {
            let path = format!("/proc/{}/stat", self.0.id());
            let text = std::fs::read_to_string(path).unwrap();
            let start = text.rsplit_once(')').unwrap().1.split_whitespace().nth(19).unwrap();
            Process { pid: self.0.id(), start: start.parse().unwrap() }
        }
    }

    impl Drop for Living {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    fn key(n: u8) -> SessionKey {
        SessionKey::parse(&b64::encode(&[n; KEY_BYTES])).unwrap()
    }

    fn wish(n: u8, name: &str) -> Wish {
        Wish {
            key: key(n),
            agent: ClientKind::parse("mcp").unwrap(),
            name: SessionName::parse(name).unwrap(),
            ticket_file: None,
        }
    }

    struct Scene {
        home: tempfile::TempDir,
        host: Living,
    }

    impl Scene {
        fn new() -> Self {
            Self { home: private_home(), host: Living::new() }
        }

        fn place(&self) -> Place {
            Place::home(self.home.path())
        }

        fn folder(&self) -> PathBuf {
            self.home.path().join("harness")
        }

        fn family(me: Process, host: Process) -> Family {
            let ancestors = vec![(me, "sh".to_owned()), (host, "claude".to_owned())];
            Family { me, ancestors, world: "w".into() }
        }

        fn take(&self, server: &Living, wish: Wish) -> Seat {
            let family = Self::family(server.process(), self.host.process());
            Seat::take_in(&self.folder(), &self.place(), &family, wish).unwrap()
        }

        fn seats(&self, host: &Living) -> Vec<Found> {
            let family = Self::family(host.process(), host.process());
            around_in(&self.folder(), &self.place(), &family)
        }
    }

    #[test]
    fn a_server_finds_its_own_seat_and_a_hook_of_its_host_finds_it_too() {
        let scene = Scene::new();
        let server = Living::new();
        assert!(scene.seats(&scene.host).is_empty());
        let mut seat = scene.take(&server, wish(1, "mcp"));
        assert_eq!(seat.key(), &key(1));
        // A server that replaced itself is the same process.
        assert_eq!(scene.take(&server, wish(2, "mcp")).key(), &key(1));
        seat.set_tier(SessionTier::Push);
        let found = scene.seats(&scene.host);
        assert_eq!(found.len(), 1);
        assert_eq!((&found[0].record.key, found[0].record.tier), (&key(1), SessionTier::Push));
        assert!(scene.seats(&Living::new()).is_empty(), "another host in the same folder");
    }

    #[test]
    fn a_server_beside_another_has_its_own_seat_and_one_that_follows_takes_the_left_one() {
        let scene = Scene::new();
        let (first, second) = (Living::new(), Living::new());
        assert_eq!(scene.take(&first, wish(1, "mcp")).key(), &key(1));
        assert_eq!(scene.take(&second, wish(2, "mcp")).key(), &key(2));
        assert_eq!(scene.seats(&scene.host).len(), 2);
        let shown = scene.seats(&scene.host)[0].shown.clone();
        std::fs::write(&shown, "{}").unwrap();
        drop(first);
        assert_eq!(scene.seats(&scene.host).len(), 1);
        let third = Living::new();
        assert_eq!(scene.take(&third, wish(3, "mcp")).key(), &key(1));
        assert!(!shown.exists(), "what was shown to another conversation is not taken over");
        drop(third);
        // Under another name it is another session.
        assert_eq!(scene.take(&Living::new(), wish(4, "other")).key(), &key(4));
    }

    #[test]
    fn the_seats_of_a_host_that_is_gone_are_removed() {
        let mut scene = Scene::new();
        let server = Living::new();
        scene.take(&server, wish(1, "mcp"));
        scene.host = Living::new();
        scene.take(&server, wish(2, "mcp"));
        let files = std::fs::read_dir(scene.folder()).unwrap();
        let seats = files.filter(|file| {
            file.as_ref().unwrap().path().extension().is_some_and(|end| end == "seat")
        });
        assert_eq!(seats.count(), 1);
    }

    #[test]
    fn a_file_that_is_not_ours_is_passed_and_seats_are_private() {
        use std::os::unix::fs::MetadataExt as _;
        let scene = Scene::new();
        let server = Living::new();
        scene.take(&server, wish(1, "mcp"));
        let path = scene.seats(&scene.host)[0].shown.with_extension("seat");
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        std::fs::write(&path, "not a record").unwrap();
        assert_eq!(scene.take(&server, wish(2, "mcp")).key(), &key(2));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "not a record");
    }

    #[test]
    fn debug_shows_no_key() {
        let scene = Scene::new();
        let seat = scene.take(&Living::new(), wish(1, "mcp"));
        assert!(!format!("{seat:?}").contains(seat.key().as_str()));
    }

    #[test]
    fn of_many_that_come_at_once_each_gets_a_seat() {
        let scene = Scene::new();
        let servers: Vec<Living> = (0..8).map(|_| Living::new()).collect();
        std::thread::scope(|scope| {
            for (server, n) in servers.iter().zip(1..) {
                let scene = &scene;
                scope.spawn(move || scene.take(server, wish(n, "mcp")));
            }
        });
        let mut keys: Vec<String> =
            scene.seats(&scene.host).iter().map(|seat| seat.record.key.as_str().into()).collect();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), 8);
    }
}

//! The house, the flood, and what is counted.

use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use futures_util::{SinkExt as _, StreamExt as _};
use messaging_core::json;
use messaging_core::roster::{Member, Roster};
use messaging_core::testing::SeededRandom;
use messaging_daemon_engine::identity::IdentityFile;
use messaging_relay::{Config, GenesisPolicy, Relay};
use messaging_runtime::log::{Level, Logger};
use messaging_store::Store;
use messaging_testkit::party::{Machine, Problem, login, mail};
use messaging_testkit::programs::{Daemon, Ipc, PATIENCE, until};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio_tungstenite::tungstenite::Message;

/// What a flood came to.
#[derive(Clone, Debug)]
pub(crate) struct Report {
    messages: usize,
    /// How long the relay took for them.
    flood: Duration,
    /// Answers of `daemon.health`, sorted, before the flood and while it lasted.
    quiet: Vec<Duration>,
    busy: Vec<Duration>,
    /// Memory of the recipient's daemon, KiB: before, and the most that was seen.
    memory: (u64, u64),
    /// Of the flood: in the inbox, still at the relay, refused by the relay.
    taken: usize,
    waiting: usize,
    refused: usize,
    /// Items that stand in another order than they were sent in.
    out_of_order: usize,
}

/// The bar for an answer of `daemon.health`.
const BAR: Duration = Duration::from_millis(50);
/// How long the daemon is watched when the relay has everything.
const AFTER: Duration = Duration::from_secs(20);

impl Report {
    /// Whether everything holds.
    pub(crate) fn holds(&self) -> bool {
        self.taken + self.waiting + self.refused == self.messages
            && self.out_of_order == 0
            && self.busy.last().is_some_and(|slowest| *slowest < BAR)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = |times: &[Duration]| {
            let at = |share: usize| {
                let place = (times.len() * share / 1_000).min(times.len().saturating_sub(1));
                times.get(place).copied().unwrap_or_default().as_secs_f64() * 1_000.0
            };
            format!(
                "p50 {:.2} ms, p99 {:.2} ms, p99.9 {:.2} ms, slowest {:.2} ms of {}",
                at(500),
                at(990),
                at(999),
                at(1_000),
                times.len()
            )
        };
        writeln!(f, "{} messages in {:.1} s", self.messages, self.flood.as_secs_f64())?;
        writeln!(f, "daemon.health before: {}", line(&self.quiet))?;
        writeln!(f, "daemon.health during: {}", line(&self.busy))?;
        writeln!(f, "memory: {} KiB before, {} KiB at most", self.memory.0, self.memory.1)?;
        write!(
            f,
            "in the inbox {}, at the relay {}, refused by the relay {}; lost {}; out of order {}",
            self.taken,
            self.waiting,
            self.refused,
            self.messages - (self.taken + self.waiting + self.refused).min(self.messages),
            self.out_of_order
        )
    }
}

/// Floods a daemon with `messages`, in a folder of `store`.
///
/// Errors: something could not be started, or the connection broke.
pub(crate) fn run(messages: usize, store: &Path) -> Result<Report, Problem> {
    let folder = tempfile::Builder::new().prefix("flood-").tempdir_in(store)?;
    let folder = folder.path();
    let executable = std::env::current_exe()?;
    let threads =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let mut config = Config::loopback(folder.join("relay.db"));
    config.genesis = GenesisPolicy::Any;
    config.limits.frames_per_minute = 1 << 40;
    config.limits.bytes_per_minute = 1 << 50;
    config.limits.queue_per_sender = 1 << 40;
    config.limits.queue_per_machine = 1 << 40;
    let served = threads.block_on(Relay::start(config, Logger::stderr(Level::Warn)))?;
    let url = format!("{}/v1/connect", served.relay_id());
    let (stop, stopped) = oneshot::channel::<()>();
    let relay = threads.spawn(served.serve(async move {
        let _ = stopped.await;
    }));

    let mut alice = Daemon::start(&executable, &folder.join("a"))?;
    let mut bob = Daemon::start(&executable, &folder.join("b"))?;
    let writer = member_of_both(&mut alice, &bob, &url)?;
    let roster = roster_of(alice.home())?;
    let recipient = member(&roster, "bob")?;
    // A terminal's mailbox: the loop guard is not what is measured.
    let mut reader = bob.ipc()?;
    let key = "k".repeat(22);
    ask(&mut reader, "session.register", &json!({"key": key, "agent": "cli", "name": "reader"}))?;

    let pid = bob.process()?.pid();
    let before = memory(pid)?;
    let quiet = watch(&bob, Duration::from_secs(3), &AtomicBool::new(false), pid)?.0;
    let going = AtomicBool::new(true);
    let (flood, refused, (busy, most)) = thread::scope(|scope| {
        let watcher = scope.spawn(|| watch(&bob, AFTER, &going, pid));
        let flooded = threads.block_on(flood(&url, &roster, &writer, &recipient, messages));
        going.store(false, Ordering::Relaxed);
        let watched = watcher.join().map_err(|_| "the watcher panicked")??;
        let (took, refused) = flooded?;
        Ok::<_, Problem>((took, refused, watched))
    })?;
    let (taken, out_of_order) = inbox(&mut reader, &key)?;
    bob.stop()?;
    let _ = stop.send(());
    threads.block_on(relay)??;
    Ok(Report {
        messages,
        flood,
        quiet,
        busy,
        memory: (before, most),
        taken,
        waiting: queued(&folder.join("relay.db"), &recipient)?,
        refused,
        out_of_order,
    })
}

/// Makes a team of the two machines, and takes the keys of the first, whose daemon ends.
fn member_of_both(alice: &mut Daemon, bob: &Daemon, url: &str) -> Result<Machine, Problem> {
    let create = json!({"relay": url, "team": "flood", "person": "alice", "label": "laptop"});
    ask(&mut alice.ipc()?, "team.create", &create)?;
    let invited = ask(&mut alice.ipc()?, "team.invite", &json!({"person": "bob"}))?;
    let join = json!({"ticket": invited["ticket"], "label": "desk"});
    ask(&mut bob.ipc()?, "team.join", &join)?;
    // Otherwise the first message waits for its person, and the others behind it: the inbox is what is measured.
    let open = json!({"subject": {"person": "alice"}, "ask": "open"});
    ask(&mut bob.ipc()?, "grant.set", &open)?;
    let mut ipc = alice.ipc()?;
    until("both members in the roster", PATIENCE, || {
        let team = ask(&mut ipc, "team.list", &json!({}))?;
        Ok((team["members"].as_array().map(Vec::len) == Some(2)).then_some(()))
    })?;
    alice.stop()?;
    let text = std::fs::read(alice.home().join("identity.json"))?;
    let keys = IdentityFile::read(&json::parse(&text, 1 << 20)?)?;
    let roster = roster_of(alice.home())?;
    Ok(Machine { identity: keys.identity, member: member(&roster, "alice")? })
}

fn member(roster: &Roster, person: &str) -> Result<Member, Problem> {
    let mut members = roster.members();
    let found = members.find(|member| member.person.as_str() == person).cloned();
    Ok(found.ok_or("a member is missing")?)
}

/// The roster as a home that no daemon has open holds it.
fn roster_of(home: &Path) -> Result<Roster, Problem> {
    let store = Store::open(&home.join("messaging.db"), &messaging_daemon_engine::LAYOUT, &[])?;
    let entries: Vec<String> =
        store.view().rows("SELECT entry FROM roster ORDER BY seq", (), |row| row.get(0))?;
    let entries: Vec<Value> =
        entries.iter().map(|text| serde_json::from_str(text)).collect::<Result<_, _>>()?;
    Ok(Roster::from_entries(&entries)?)
}

/// Sends everything as fast as the relay takes it. Gives how long that took, and how many it refused.
async fn flood(
    url: &str,
    roster: &Roster,
    writer: &Machine,
    recipient: &Member,
    messages: usize,
) -> Result<(Duration, usize), Problem> {
    let mut rng = SeededRandom::new(7);
    let mut frames = Vec::with_capacity(messages);
    for n in 0..messages {
        frames.push(mail(roster, writer, (recipient, "reader"), &format!("{n}"), &mut rng)?.1);
    }
    let team = *roster.team_id().ok_or("no team")?;
    let (mut write, mut read) = login(url, &team, writer).await?.split();
    let began = Instant::now();
    let send = async {
        for frame in frames {
            write.feed(Message::text(frame)).await?;
        }
        write.flush().await?;
        Ok::<_, Problem>(())
    };
    let hear = async {
        let (mut answered, mut refused) = (0, 0);
        while answered < messages {
            match read.next().await.ok_or("the relay hung up")?? {
                Message::Text(text) if text.starts_with(r#"{"t":"ack""#) => answered += 1,
                Message::Text(text) if text.starts_with(r#"{"t":"nack""#) => {
                    answered += 1;
                    refused += 1;
                }
                Message::Close(_) => return Err("the relay closed".into()),
                _ => {}
            }
        }
        Ok::<_, Problem>(refused)
    };
    let (sent, refused) = tokio::join!(send, hear);
    sent?;
    Ok((began.elapsed(), refused?))
}

/// Asks for the health of a daemon over and over, until `going` ends and `after` has passed. Gives the sorted times, and the
/// most memory that was seen.
fn watch(
    daemon: &Daemon,
    after: Duration,
    going: &AtomicBool,
    pid: u32,
) -> Result<(Vec<Duration>, u64), Problem> {
    let mut ipc = daemon.ipc()?;
    let (mut times, mut most, mut end) = (Vec::new(), 0, None);
    loop {
        let asked = Instant::now();
        ask(&mut ipc, "daemon.health", &json!({}))?;
        times.push(asked.elapsed());
        most = most.max(memory(pid)?);
        if end.is_none() && !going.load(Ordering::Relaxed) {
            end = Some(Instant::now() + after);
        }
        if end.is_some_and(|end| Instant::now() >= end) {
            times.sort_unstable();
            return Ok((times, most));
        }
        thread::sleep(Duration::from_millis(4));
    }
}

/// What of a process is in memory, KiB; zero where the system does not tell.
fn memory(pid: u32) -> Result<u64, Problem> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    Ok(line.and_then(|line| line.trim().strip_suffix(" kB")).map_or(Ok(0), str::parse)?)
}

/// How many items there are, and how many stand before one that was sent earlier.
fn inbox(ipc: &mut Ipc, key: &str) -> Result<(usize, usize), Problem> {
    let mut texts: Vec<usize> = Vec::new();
    let mut params = json!({"key": key, "limit": 200});
    loop {
        let page = ask(ipc, "inbox.list", &params)?;
        let items = page["items"].as_array().cloned().unwrap_or_default();
        for item in &items {
            texts.push(item["preview"].as_str().unwrap_or_default().parse()?);
        }
        let (Some(last), Some(true)) = (items.last(), page["more"].as_bool()) else { break };
        params["before"] = json!({"at": last["at"], "id": last["id"]});
    }
    // The newest comes first.
    let wrong = texts.windows(2).filter(|two| two.first() <= two.last()).count();
    Ok((texts.len(), wrong))
}

/// What a relay that has ended still holds for a machine.
fn queued(db: &Path, to: &Member) -> Result<usize, Problem> {
    let store = Store::open(db, &messaging_relay_engine::TEAM_RELAY, &[])?;
    let sql = format!("SELECT count(*) FROM queue WHERE recipient = '{}'", to.machine);
    let count: Option<i64> = store.view().row(&sql, (), |row| row.get(0))?;
    Ok(usize::try_from(count.unwrap_or_default())?)
}

fn ask(ipc: &mut Ipc, method: &str, params: &Value) -> Result<Value, Problem> {
    Ok(ipc.call(method, params)?.map_err(|refused| format!("{method}: {refused}"))?)
}

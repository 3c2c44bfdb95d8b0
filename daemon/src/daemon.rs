//! A daemon from its start to its stop, as a value: the program runs one, tests run many.
//!
//! Spec: §8.1, D3.2

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::thread::JoinHandle;
use std::time::Duration;

use messaging_core::code::Failure;
use messaging_daemon_engine::StartError as EngineError;
use messaging_daemon_engine::events::{Level, LogEvent};
use messaging_daemon_engine::{Boot, DaemonEngine, In, LAYOUT, Tier};
use messaging_ipc::hello::{Hello, release};
use messaging_runtime::clock::SystemClock;
use messaging_runtime::entropy::SystemRandom;
use messaging_runtime::log::Logger;
use messaging_store::{OpenError, Store};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use crate::environment::Environment;
use crate::exit::StartError;
use crate::home::Home;
use crate::ipc::{self, Door, Shared};
use crate::link::Ways;
use crate::lock::HomeLock;
use crate::owner::{Inbox, Owner};
use crate::snapshot::{self, Snapshots};
use crate::wake::Waker;
use crate::{awake, config, keys, link, log, os, repair};

/// What a start is told.
#[derive(Debug, Clone)]
pub struct Options {
    /// The home folder.
    pub home: PathBuf,
    /// Overrides the configured log level.
    pub log_level: Option<Level>,
    /// What the process's environment says.
    pub environment: Environment,
}

/// A daemon that owns its home and listens on its sockets.
pub struct Daemon {
    lock: HomeLock,
    log: Logger,
    owner: Owner,
    inbox: Inbox,
    doors: [Door; 2],
    link_commands: mpsc::UnboundedReceiver<link::LinkCommand>,
    ways: Ways,
    clock: SystemClock,
    stopping: watch::Receiver<bool>,
}

impl Daemon {
    /// Starts a daemon, in the order of D3.2: nothing is written to a home that is not ours, and
    /// nothing of a home that another daemon owns is even read. Must be called in a tokio runtime.
    ///
    /// Errors: the first step that failed; what was taken until then is given back.
    pub fn start(options: &Options) -> Result<Daemon, StartError> {
        let clock = SystemClock::start();
        let home = Home::open(&options.home)?;
        let lock = HomeLock::take(&home)?;
        if repair::is_half_done(&home) {
            return Err(StartError::HalfRepaired);
        }
        Store::check(&home.store(), &LAYOUT).map_err(store_error)?;
        let (config, unknown_keys) = config::load(&home)?;
        home.share_with(config.agent_group)?;
        let log = log::open(&home, options.log_level.unwrap_or(config.log_level))
            .map_err(|error| StartError::System { what: "logs/messagingd.log", error })?;
        if home.parent_writable() {
            log::write(&log, &LogEvent::HomeParentWritable {});
        }
        keys::clear_leftovers(&home)?;
        snapshot::clear_leftovers(&home)?;
        let identity = keys::load(&home)?;
        let pairing = keys::load_pairing(&home)?;
        let agent_group = config.agent_group;
        let boot = Boot {
            config,
            unknown_keys,
            identity,
            pairing,
            pid: os::process_id(),
            version: release(),
        };
        let store = Store::open(&home.store(), &LAYOUT, &[]).map_err(store_error)?;
        let (engine, first) =
            DaemonEngine::start(store, boot, clock.now(), SystemRandom).map_err(engine_error)?;
        let agent_mode = if agent_group.is_some() { GROUP_SOCKET } else { OWN_SOCKET };
        let doors = [
            bind(&home.agent_socket(), Tier::Agent, agent_mode, agent_group)?,
            bind(&home.admin_socket(), Tier::Admin, OWN_SOCKET, None)?,
        ];
        let (inbox, arrivals) = Inbox::new();
        let (link, link_commands) = mpsc::unbounded_channel();
        let (stop_seen, stopping) = watch::channel(false);
        let environment = options.environment.clone();
        let (proxies, trust) = (environment.proxies.clone(), environment.trust.clone());
        let ways = Ways { proxies, trust };
        let at = home.root().to_path_buf();
        let owner = Owner {
            waker: Waker::new(Handle::current(), inbox.clone(), environment, at),
            engine,
            first: Some(first),
            arrivals,
            link,
            stopping: stop_seen,
            snapshots: Snapshots::new(home.clone(), Handle::current(), inbox.downgrade()),
            clock,
            home,
            log: log.clone(),
            runtime: Handle::current(),
        };
        Ok(Daemon { lock, log, owner, inbox, doors, link_commands, ways, clock, stopping })
    }

    /// Where this daemon's log lines go.
    #[must_use]
    pub fn log(&self) -> &Logger {
        &self.log
    }

    /// Serves until `stop` resolves or a client asks for the stop, and gives the home back.
    ///
    /// At most [`STOP_GRACE`] passes between the request and the return: the store is whole after
    /// any crash, so a stop that hangs is not waited for.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let Daemon { lock, log, owner, inbox, doors, link_commands, ways, clock, mut stopping } =
            self;
        let shared = Shared {
            inbox: inbox.clone(),
            hello: Arc::from(Hello::new(os::process_id(), None).line()),
            ids: Arc::new(AtomicU64::new(1)),
            log,
            stopping: stopping.clone(),
        };
        let doors = doors.map(|door| tokio::spawn(door.serve(shared.clone())));
        let link = tokio::spawn(link::serve(link_commands, inbox.clone(), ways));
        let watch = tokio::spawn(awake::watch(clock, inbox.clone()));
        let (ended, mut engine_ended) = watch::channel(false);
        let thread = std::thread::Builder::new().name("owner".into()).spawn(move || {
            owner.run();
            ended.send_replace(true);
        });
        tokio::select! {
            () = stop => {
                // A full door must not keep the request out for longer than the stop may take.
                let _ = timeout(STOP_GRACE, inbox.put(In::Stop)).await;
            }
            () = raised(&mut stopping) => {}
        }
        let finished = timeout(STOP_GRACE, raised(&mut engine_ended)).await.is_ok();
        if finished {
            join(thread);
        }
        for door in doors {
            // They saw the stop too; what is left to do is to remove their sockets.
            let _ = timeout(DOOR_GRACE, door).await;
        }
        link.abort();
        watch.abort();
        if finished {
            lock.release();
        } else {
            // The store is still in its owner's hands: the home is free when the process is gone, and not before.
            std::mem::forget(lock);
        }
    }
}

/// Waits until a flag is raised, or can be raised no more.
pub(crate) async fn raised(flag: &mut watch::Receiver<bool>) {
    // The guard that this gives must not be held: it is a lock.
    let _ = flag.wait_for(|raised| *raised).await;
}

fn join(thread: std::io::Result<JoinHandle<()>>) {
    if let Ok(thread) = thread {
        // A panic there has already ended the process, or is the embedding test's to see.
        let _ = thread.join();
    }
}

fn bind(
    path: &std::path::Path,
    tier: Tier,
    mode: os::ModeBits,
    group: Option<u32>,
) -> Result<Door, StartError> {
    ipc::bind(path, tier, mode, group).map_err(|error| StartError::System { what: "run", error })
}

fn store_error(error: OpenError) -> StartError {
    match error {
        OpenError::Refused(refusal) => StartError::StoreRefused(refusal),
        OpenError::Failed(error) => StartError::Store(error),
    }
}

fn engine_error(error: EngineError) -> StartError {
    match error {
        EngineError::Store(error) => StartError::Store(error),
        EngineError::OtherMachine => {
            let words = "it holds the keys of another machine than the store's";
            StartError::Identity(Failure::invalid(words))
        }
    }
}

/// The longest a stop may take.
pub const STOP_GRACE: Duration = Duration::from_secs(10);
const DOOR_GRACE: Duration = Duration::from_secs(1);
const OWN_SOCKET: os::ModeBits = 0o600;
const GROUP_SOCKET: os::ModeBits = 0o660;

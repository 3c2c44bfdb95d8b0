//! The one thread that owns the state: it runs the brain over the store, turn by turn.
//! Spec: §7 "Group commit", W5.4
//!
//! It takes what is waiting in its inbox, commits once, and only then puts what was decided into the connections' mailboxes.
//! It never waits for a socket.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::RecvTimeoutError;

use messaging_core::time::Now;
use messaging_relay_engine::{
    self as engine, ConnId, Event, Field, In, Level as Loudness, Out, RelayEngine, TEAM_RELAY,
    Unready, first_records,
};
use messaging_runtime::clock::SystemClock;
use messaging_runtime::entropy::SystemRandom;
use messaging_runtime::log::{Level, Logger};
use messaging_store::{Loop, MAX_BATCH, Released, Store};
use messaging_wire::CloseCode;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use crate::config::{Config, RelayId};
use crate::health::Health;
use crate::inbox::{Inbox, Job, Jobs};
use crate::mailbox::{Mailbox, Verdict};
use crate::start::StartError;

/// Opens the store, loads the brain, and starts the owner's thread. What is returned first is the way in; the second is told
/// when the owner has ended.
///
/// Errors: the store is not ours to open, or does not read; no thread.
pub(crate) fn start(
    config: &Config,
    relay_id: &RelayId,
    health: &Arc<Health>,
    log: &Logger,
) -> Result<(Inbox, oneshot::Receiver<()>), StartError> {
    let store = Store::open(&config.db, &TEAM_RELAY, &first_records(relay_id.as_str()))
        .map_err(StartError::Store)?;
    let clock = SystemClock::start();
    let engine = engine::Config {
        relay: relay_id.as_str().to_owned(),
        genesis: config.genesis.clone(),
        limits: config.limits.clone(),
    };
    let engine = RelayEngine::load(engine, store.view(), clock.now()).map_err(StartError::Load)?;
    let (inbox, jobs) = Inbox::new();
    let owner = Owner {
        turns: Loop::new(store, engine, SystemRandom),
        jobs,
        clock,
        health: Arc::clone(health),
        log: log.clone(),
        links: HashMap::new(),
    };
    let (ended, when_ended) = oneshot::channel();
    let body = move || {
        owner.run();
        // Nobody may be left to hear it.
        let _ = ended.send(());
    };
    match std::thread::Builder::new().name("owner".to_owned()).spawn(body) {
        Ok(_) => Ok((inbox, when_ended)),
        Err(error) => Err(StartError::Thread(error.kind())),
    }
}

/// The owner of the relay's state.
struct Owner {
    turns: Loop<RelayEngine>,
    jobs: Jobs,
    clock: SystemClock,
    health: Arc<Health>,
    log: Logger,
    /// Every connection whose task has not ended.
    links: HashMap<ConnId, Link>,
}

struct Link {
    mailbox: Arc<Mailbox>,
    /// Whether something was put into it in this turn.
    touched: bool,
}

impl Owner {
    /// Runs until it is told to stop, or until nobody can tell it anything any more. The store is then closed, its log
    /// emptied into the file.
    fn run(mut self) {
        let mut inputs = Vec::with_capacity(MAX_BATCH);
        let mut rooms = Vec::with_capacity(MAX_BATCH);
        let mut stopping = false;
        while !stopping && let Some(first) = self.wait() {
            let now = self.clock.now();
            self.look(now, &mut inputs);
            let mut next = first;
            while let Some(job) = next {
                stopping = self.take(job, &mut inputs, &mut rooms);
                let full = stopping || inputs.len() >= MAX_BATCH;
                next = if full { None } else { self.jobs.waiting.try_recv().ok() };
            }
            let released = self.turns.turn(now, inputs.drain(..));
            rooms.clear();
            self.carry_out(released);
        }
        // Whoever came in behind the stop is told too.
        while let Ok(job) = self.jobs.waiting.try_recv() {
            if let Job::Open { mailbox, .. } = job {
                mailbox.decide(Verdict::Close(CloseCode::Stopping));
                mailbox.wake();
            }
        }
        self.health.set_store_closed();
        if let Err(error) = self.turns.into_store().checkpoint() {
            let fields = [("where", "probe".into()), ("error", error.name().into())];
            self.log.write(Level::Error, "relay.internal", &fields);
        }
    }

    /// The next job, `Some(None)` when the brain's deadline came first, `None` when there will be none.
    fn wait(&self) -> Option<Option<Job>> {
        match self.turns.deadline() {
            Some(deadline) => match self.jobs.waiting.recv_timeout(self.clock.until(deadline)) {
                Ok(job) => Some(Some(job)),
                Err(RecvTimeoutError::Timeout) => Some(None),
                Err(RecvTimeoutError::Disconnected) => None,
            },
            None => self.jobs.waiting.recv().ok().map(Some),
        }
    }

    /// What every turn begins with: the sockets' progress, and the tick when it is due.
    fn look(&self, now: Now, inputs: &mut Vec<In>) {
        for (conn, bytes) in self.jobs.progress.collect() {
            inputs.push(In::Drained { conn, bytes });
        }
        if self.turns.deadline().is_some_and(|deadline| deadline <= now.mono) {
            inputs.push(In::Tick);
        }
    }

    /// Turns a job into the brain's input; says whether it was the last one.
    fn take(
        &mut self,
        job: Job,
        inputs: &mut Vec<In>,
        rooms: &mut Vec<OwnedSemaphorePermit>,
    ) -> bool {
        match job {
            Job::Open { conn, address, nonce, mailbox } => {
                self.links.insert(conn, Link { mailbox, touched: false });
                inputs.push(In::Opened { conn, address, nonce });
            }
            Job::Frame { conn, bytes, frame, room } => {
                rooms.push(room);
                inputs.push(In::Frame { conn, bytes, frame });
            }
            Job::Closed { conn } => {
                self.links.remove(&conn);
                inputs.push(In::Closed { conn });
            }
            Job::Look => {}
            Job::Stop => {
                inputs.push(In::Stop);
                return true;
            }
        }
        false
    }

    /// Puts what is durable into the mailboxes, then wakes each connection once.
    fn carry_out(&mut self, released: Released<Out>) {
        let mut touched = Vec::new();
        for out in released {
            match out {
                Out::Send { conn, text } => {
                    if let Some(mailbox) = self.touch(conn, &mut touched) {
                        mailbox.put(text);
                    }
                }
                Out::Admitted { conn } => {
                    if let Some(mailbox) = self.touch(conn, &mut touched) {
                        mailbox.decide(Verdict::Welcome);
                    }
                }
                Out::Close { conn, code } => {
                    if let Some(mailbox) = self.touch(conn, &mut touched) {
                        mailbox.decide(Verdict::Close(code));
                    }
                }
                Out::Terminate { conn } => {
                    if let Some(mailbox) = self.touch(conn, &mut touched) {
                        mailbox.decide(Verdict::Terminate);
                    }
                }
                Out::Ready(why) => {
                    self.health.set_store_failing(why.contains(&Unready::StoreFailing));
                }
                Out::Log(event) => self.tell(&event),
            }
        }
        for conn in touched {
            if let Some(link) = self.links.get_mut(&conn) {
                link.touched = false;
                link.mailbox.wake();
            }
        }
    }

    fn touch(&mut self, conn: ConnId, touched: &mut Vec<ConnId>) -> Option<&Mailbox> {
        let link = self.links.get_mut(&conn)?;
        if !link.touched {
            link.touched = true;
            touched.push(conn);
        }
        Some(&link.mailbox)
    }

    fn tell(&self, event: &Event) {
        let level = match event.level() {
            Loudness::Error => Level::Error,
            Loudness::Warn => Level::Warn,
            Loudness::Info => Level::Info,
            Loudness::Debug => Level::Debug,
        };
        if self.log.wants(level) {
            let fields: Vec<_> = event
                .fields()
                .into_iter()
                .map(|(name, field)| match field {
                    Field::Word(word) => (name, word.into()),
                    Field::Number(n) => (name, n.into()),
                })
                .collect();
            self.log.write(level, event.name(), &fields);
        }
    }
}

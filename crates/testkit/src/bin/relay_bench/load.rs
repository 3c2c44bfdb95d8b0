//! The load: machines of one team that send as fast as their acks let them, and recipients that take at once.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::{FutureExt as _, SinkExt as _, StreamExt as _};
use messaging_core::ids::{MachineId, Ulid};
use messaging_core::testing::SeededRandom;
use messaging_relay::{Config, GenesisPolicy, Relay};
use messaging_runtime::log::{Level, Logger};
use messaging_wire::{RelayFrame, text};
use tokio::sync::{Barrier, oneshot};
use tokio_tungstenite::tungstenite::Message;

use messaging_testkit::party::{Machine, Problem, Socket, found, login, mail, next};

use crate::cpu;

/// How many machines send, and how many envelopes each has on the way at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) senders: usize,
    pub(crate) in_flight: usize,
}

/// What one run showed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Figures {
    pub(crate) messages: usize,
    /// Durable, acknowledged sends a second, from the first send to the last ack.
    pub(crate) sends_per_second: f64,
    /// The same until the last envelope was delivered and its own ack sent.
    pub(crate) taken_per_second: f64,
    pub ack_p50: Duration,
    pub ack_p99: Duration,
    /// CPU of the relay's own threads, seconds, until everything was taken.
    pub(crate) cpu_per_message: f64,
}

const BODY: usize = 1_024;
/// More recipients than this would measure the load's own task switches.
const RECIPIENTS: usize = 16;
/// The relay's threads, which the load's must not be named like.
const RELAY_THREADS: [&str; 2] = ["relay", "owner"];

/// Runs `messages` sends of a shape through a fresh relay whose store is in `folder`.
pub(crate) fn run(shape: Shape, messages: usize, folder: &Path) -> Result<Figures, String> {
    let folder = tempfile::tempdir_in(folder).map_err(|error| error.to_string())?;
    let relay = runtime(RELAY_THREADS[0])?;
    let load = runtime("load")?;
    let mut config = Config::loopback(folder.path().join("relay.db"));
    config.genesis = GenesisPolicy::Any;
    // The protocol's 600 frames a minute are a budget, not what is measured here.
    config.limits.frames_per_minute = 1 << 40;
    config.limits.bytes_per_minute = 1 << 50;
    config.limits.seen_per_sender = 1 << 40;
    let started = relay.block_on(Relay::start(config, Logger::stderr(Level::Warn)));
    let served = started.map_err(|error| error.to_string())?;
    let url = format!("{}/v1/connect", served.relay_id());
    let (stop, stopped) = oneshot::channel::<()>();
    let ended = relay.spawn(served.serve(async move {
        let _ = stopped.await;
    }));
    let figures = load.block_on(drive(shape, messages, url)).map_err(|error| error.to_string());
    let _ = stop.send(());
    relay.block_on(ended).map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
    figures
}

fn runtime(name: &str) -> Result<tokio::runtime::Runtime, String> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_name(name)
        .enable_all()
        .build()
        .map_err(|error| error.to_string())
}

async fn drive(shape: Shape, messages: usize, url: String) -> Result<Figures, Problem> {
    let mut rng = SeededRandom::new(1);
    let recipients = shape.senders.min(RECIPIENTS);
    let machines: Vec<Machine> = (0..shape.senders + recipients)
        .map(|n| Machine::new(n, &mut rng))
        .collect::<Result<_, _>>()?;
    let roster = found(&url, &machines).await?;
    let team = *roster.team_id().ok_or("no team")?;
    let (senders, takers) = machines.split_at(shape.senders);

    let text = "x".repeat(BODY);
    let each = messages / shape.senders;
    let messages = each * shape.senders;
    let mut tasks = Vec::new();
    // Everybody, and this function, starts and ends together.
    let barrier = Arc::new(Barrier::new(machines.len() + 1));
    for (n, machine) in senders.iter().enumerate() {
        let to = takers.get(n % recipients).ok_or("no recipient")?;
        let mail: VecDeque<String> = (0..each)
            .map(|_| Ok(mail(&roster, machine, (&to.member, "reader"), &text, &mut rng)?.1))
            .collect::<Result<_, Problem>>()?;
        let socket = login(&url, &team, machine).await?;
        tasks.push(tokio::spawn(send_all(socket, mail, shape.in_flight, Arc::clone(&barrier))));
    }
    for (n, machine) in takers.iter().enumerate() {
        let from = (0..shape.senders).filter(|sender| sender % recipients == n).count();
        let socket = login(&url, &team, machine).await?;
        tasks.push(tokio::spawn(take_all(socket, from * each, Arc::clone(&barrier))));
    }
    let cpu = cpu::of_threads(&RELAY_THREADS);
    barrier.wait().await;
    let start = Instant::now();
    let mut acks = Vec::with_capacity(messages);
    let (mut sent, mut taken) = (start, start);
    for (n, task) in tasks.into_iter().enumerate() {
        let Ended { at, times } = task.await??;
        if n < shape.senders {
            sent = sent.max(at)
        } else {
            taken = taken.max(at)
        }
        acks.extend(times);
    }
    let cpu = cpu::of_threads(&RELAY_THREADS).saturating_sub(cpu);
    acks.sort_unstable();
    let at = |share: usize| acks.get((acks.len() * share / 100).min(acks.len().saturating_sub(1)));
    let count = u32::try_from(messages)?;
    Ok(Figures {
        messages,
        sends_per_second: f64::from(count) / (sent - start).as_secs_f64(),
        taken_per_second: f64::from(count) / (taken - start).as_secs_f64(),
        ack_p50: at(50).copied().unwrap_or_default(),
        ack_p99: at(99).copied().unwrap_or_default(),
        cpu_per_message: cpu.as_secs_f64() / f64::from(count),
    })
}

/// When a task had done its part, and the times of its acks.
struct Ended {
    at: Instant,
    times: Vec<Duration>,
}

/// Sends everything, `in_flight` at a time.
async fn send_all(
    mut socket: Socket,
    mut mail: VecDeque<String>,
    in_flight: usize,
    barrier: Arc<Barrier>,
) -> Result<Ended, Problem> {
    barrier.wait().await;
    let mut times = Vec::with_capacity(mail.len());
    // Acks come in the order of the sends.
    let mut waiting = VecDeque::with_capacity(in_flight);
    loop {
        while waiting.len() < in_flight
            && let Some(frame) = mail.pop_front()
        {
            socket.feed(Message::text(frame)).await?;
            waiting.push_back(Instant::now());
        }
        socket.flush().await?;
        if waiting.is_empty() {
            return Ok(Ended { at: Instant::now(), times });
        }
        let mut frame = Some(socket.next().await);
        // Whatever else has come is taken before the next write.
        while let Some(message) = frame {
            match message.ok_or("the relay hung up")?? {
                Message::Text(text) if text.starts_with(r#"{"t":"ack""#) => {
                    let sent = waiting.pop_front().ok_or("an ack too many")?;
                    times.push(sent.elapsed());
                }
                Message::Text(text) if text.starts_with(r#"{"t":"peer""#) => {}
                Message::Ping(_) => {}
                other => {
                    return Err(format!(
                        "a send was answered with {} bytes of another kind",
                        other.len()
                    )
                    .into());
                }
            }
            frame = socket.next().now_or_never();
        }
    }
}

/// Takes `count` deliveries and acknowledges each.
async fn take_all(
    mut socket: Socket,
    count: usize,
    barrier: Arc<Barrier>,
) -> Result<Ended, Problem> {
    barrier.wait().await;
    let mut taken = 0;
    while taken < count {
        let mut frame = Some(socket.next().await);
        while let Some(message) = frame {
            match message.ok_or("the relay hung up")?? {
                Message::Text(text) if text.starts_with(r#"{"t":"deliver""#) => {
                    let (id, from) = named(&text).ok_or("a delivery without its ids")?;
                    socket.feed(Message::text(text::recv_ack(&id, Some(&from)))).await?;
                    taken += 1;
                }
                Message::Text(text) if text.starts_with(r#"{"t":"peer""#) => {}
                Message::Ping(_) => {}
                other => return Err(format!("{} bytes instead of a delivery", other.len()).into()),
            }
            frame = socket.next().now_or_never();
        }
        socket.flush().await?;
    }
    // A pong follows the commit of everything before it.
    socket.send(Message::text(r#"{"t":"ping"}"#)).await?;
    while !matches!(next(&mut socket).await?, RelayFrame::Pong(_)) {}
    Ok(Ended { at: Instant::now(), times: Vec::new() })
}

/// The ids of a delivery, found rather than parsed: the load must not measure itself. An envelope's text is canonical, so its
/// own `id` stands right behind its `from`, whose device comes before any other.
fn named(text: &str) -> Option<(Ulid, MachineId)> {
    let after = |key: &str, length: usize| {
        let start = text.find(key)? + key.len();
        text.get(start..start + length)
    };
    Some((
        Ulid::parse(after(r#""id":""#, 26)?).ok()?,
        MachineId::parse(after(r#""device":""#, 43)?).ok()?,
    ))
}

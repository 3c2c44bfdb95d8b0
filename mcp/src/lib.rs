//! `messaging-mcp`: the MCP server through which a coding agent writes and reads messages.
//!
//! Spec: §11 "MCP server", D7.1
//!
//! It speaks MCP on standard input and output and calls the daemon's agent socket; what the tools do stands in
//! `messaging-tools`. Nothing but MCP is ever written on standard output.
#![forbid(unsafe_code)]

mod args;
mod journal;
mod link;
mod parent;
mod pipes;
mod push;
mod replace;
mod server;
mod telling;

use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::{CommandFactory as _, Parser as _};
use messaging_core::{b64, random};
use messaging_harness::seat;
use messaging_ipc::event::Event;
use messaging_runtime::entropy::SystemRandom;
use messaging_runtime::fatal;
use messaging_runtime::log::{Level, Logger};
use messaging_runtime::stop::StopSignal;
use messaging_tools::{Options, Tools};
use rmcp::ServiceExt as _;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use args::{Args, Environment};
use link::{DaemonLink, Heard, Wish};
use parent::Met;
use pipes::{Paused, Pipes};
use replace::{Ask, Handover, Waiting};
use server::Server;

/// The command line was not understood (`EX_USAGE`).
const USAGE: u8 = 64;
/// The system gave no runtime to work with (`EX_OSERR`).
const SYSTEM: u8 = 71;
/// Things heard that may wait for the tools.
const HEARD: usize = 256;
/// How long the last answers may take to leave.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// How often, and how many times, a process that is to be replaced looks whether its calls are answered.
const LOOK: Duration = Duration::from_millis(5);
const SETTLING: u32 = 2_000;

/// Runs the program. `args` begins with its name.
///
/// Exit statuses: 0 after the end of input or a signal, and for `--help` and `--version`; 64 for options and variables
/// that cannot be; 70 after a panic.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args = match Args::try_parse_from(args) {
        Ok(args) => args,
        Err(error) => {
            let _ = error.print();
            return if error.use_stderr() { ExitCode::from(USAGE) } else { ExitCode::SUCCESS };
        }
    };
    let log = Logger::stderr(if args.verbose { Level::Info } else { Level::Warn });
    fatal::exit_on_panic(log.clone(), "mcp.fatal");
    let prepared = match Prepared::new(&args, &Environment::read(), log) {
        Ok(prepared) => prepared,
        Err(why) => return complain(USAGE, &format!("invalid_request: {why}")),
    };
    // One thread: the tools wait for the daemon, they do not compute.
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
        return complain(SYSTEM, "internal: the system gives no runtime");
    };
    runtime.block_on(prepared.serve());
    // A read of standard input may still be waiting, and nobody waits for it.
    runtime.shutdown_timeout(Duration::ZERO);
    ExitCode::SUCCESS
}

/// The program's command line, for its manual page.
pub fn command() -> clap::Command {
    Args::command()
}

fn complain(status: u8, what: &str) -> ExitCode {
    // A host that closed stderr still sees the status.
    let _ = writeln!(std::io::stderr(), "{what}\nNext: run messaging-mcp --help.");
    ExitCode::from(status)
}

/// Everything that is known before the first message.
struct Prepared {
    tools: Arc<Tools<DaemonLink, SystemRandom>>,
    server: Server,
    met: Met,
    heard: mpsc::Receiver<Heard>,
    asks: mpsc::Receiver<Ask>,
    instance: String,
    handover: Handover,
}

impl Prepared {
    fn new(args: &Args, environment: &Environment, log: Logger) -> Result<Self, &'static str> {
        let (told, heard) = mpsc::channel(HEARD);
        let (ask, asks) = mpsc::channel(HEARD);
        let handover = Handover::read().unwrap_or_default();
        let wish = Wish {
            name: args.name(environment)?,
            agent: args.agent.clone(),
            ticket_file: args.ticket_file(environment),
        };
        let fresh = handover.key.clone().or_else(|| seat::fresh_key(&mut SystemRandom));
        let fresh = fresh.ok_or("no session key could be made")?;
        let waiting = Waiting::new(ask);
        let link = DaemonLink::new(args.place(environment)?, wish, fresh, waiting, told, log);
        let random = || b64::encode(&random::bytes::<16>(&mut SystemRandom));
        let instance = handover.instance.clone().unwrap_or_else(random);
        let options = Options {
            channels: args.channels.clone(),
            persons: false,
            answer_bytes: args.max_answer_bytes,
            instance: instance.clone(),
        };
        let tools = Arc::new(Tools::new(link, SystemRandom, options));
        tools.recall(&handover.memory);
        let met = Met::known(handover.host);
        let server = Server::new(Arc::clone(&tools), &args.channels, met.clone(), args.push);
        Ok(Self { tools, server, met, heard, asks, instance, handover })
    }

    /// Serves until the host is gone or a signal comes.
    async fn serve(self) {
        let Self { tools, server, met, mut heard, asks, instance, handover } = self;
        let (to_push, pushed) = mpsc::channel(HEARD);
        let listening = Arc::clone(&tools);
        tokio::spawn(async move {
            while let Some(what) = heard.recv().await {
                match what {
                    Heard::Connected => listening.reconnected(),
                    Heard::Event(event) => {
                        listening.heard(&event);
                        if let Event::Inbox { item, .. } = *event
                            && item.wake
                        {
                            // One that finds no room is in the inbox.
                            let _ = to_push.try_send(item.id);
                        }
                    }
                }
            }
        });
        let (reader, whole) = pipes::input();
        let pipes = Pipes::new(handover.answered.clone());
        let (inside, running) = pipes.run(reader, pipes::output(), handover.said());
        let replacing = Replacing {
            asks,
            pipes: Arc::clone(&pipes),
            tools: Arc::clone(&tools),
            met: met.clone(),
            instance,
            whole,
        };
        tokio::spawn(replacing.run(running.listening));
        let telling = running.telling;
        let session = async move {
            // A host that goes away before its first message leaves nothing to do.
            let Ok(running) = server.serve(inside).await else { return };
            // Others see the session from now on; a daemon that is not there is asked again by the first call.
            let greeting = Arc::clone(&tools);
            tokio::spawn(async move { drop(greeting.link().greet().await) });
            if tools.link().pushes() {
                let peer = running.peer().clone();
                tokio::spawn(telling::tell(Arc::clone(&tools), pushed, peer));
            }
            let _ = running.waiting().await;
            // What was answered reaches a host that still reads.
            let _ = tokio::time::timeout(LAST_WORDS, telling).await;
        };
        let stopped = async {
            match StopSignal::listen() {
                Ok(mut stop) => stop.requested().await,
                // Without handlers the signals end the process by themselves.
                Err(_) => std::future::pending().await,
            }
        };
        tokio::select! {
            () = session => {}
            () = stopped => {}
            () = met.gone() => {}
        }
    }
}

/// What this process needs to become another.
struct Replacing {
    asks: mpsc::Receiver<Ask>,
    pipes: Arc<Pipes>,
    tools: Arc<Tools<DaemonLink, SystemRandom>>,
    met: Met,
    instance: String,
    /// Whether listening can be called off.
    whole: bool,
}

impl Replacing {
    /// Becomes the program that a call asks for. A call is told when that did not work.
    async fn run(mut self, mut listening: JoinHandle<Paused>) {
        while let Some((path, failed)) = self.asks.recv().await {
            if self.whole {
                self.pipes.pause();
                let Ok(paused) = listening.await else { return };
                if !paused.ended && self.is_settled().await {
                    let _turn = self.pipes.between_lines().await;
                    self.handover(&paused).exec(&path);
                }
                listening = self.pipes.listen(paused);
            }
            drop(failed);
        }
    }

    /// Waits until every request that does not wait for this is answered; false when one goes on and on.
    async fn is_settled(&self) -> bool {
        for _ in 0..SETTLING {
            if self.pipes.journal().open.len() <= self.tools.link().waiting().count() {
                return true;
            }
            tokio::time::sleep(LOOK).await;
        }
        false
    }

    fn handover(&self, paused: &Paused) -> Handover {
        let journal = self.pipes.journal();
        Handover {
            key: Some(self.tools.link().key()),
            instance: Some(self.instance.clone()),
            host: self.met.pid(),
            lines: journal.again(),
            answered: journal.opening_answered(),
            rest: b64::encode(&paused.rest),
            memory: self.tools.memory(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(args: &[&str]) -> String {
        let args = std::iter::once("messaging-mcp").chain(args.iter().copied());
        format!("{:?}", main(args.map(OsString::from)))
    }

    #[test]
    fn help_and_version_succeed_and_bad_options_do_not() {
        let code = |code| format!("{:?}", ExitCode::from(code));
        assert_eq!(status(&["--version"]), code(0));
        assert_eq!(status(&["--help"]), code(0));
        assert_eq!(status(&["--serve"]), code(64));
        assert_eq!(status(&["word"]), code(64));
        assert_eq!(status(&["--channel", "Not a channel"]), code(64));
    }
}

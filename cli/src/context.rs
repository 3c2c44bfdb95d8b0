//! What a command is lent: the settings, the terminal, the way to the daemon.
//! Spec: D6.1 "Socket", "Global flags"

use std::io::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use messaging_client::{Client, Events, Place, Socket};
use messaging_core::code::Code;
use messaging_ipc::call::Call;
use serde_json::Value;

use crate::args::Globals;
use crate::environment::Environment;
use crate::fault::Fault;
use crate::progress;
use crate::prompt;
use crate::remedy;
use crate::render;
use crate::screen::Screen;

/// How long a command waits for the daemon, unless told.
const TIMEOUT: Duration = Duration::from_secs(30);

/// How long a command that waits for the daemon waits between two looks.
pub(crate) const AGAIN: Duration = Duration::from_millis(250);

/// Everything that a command may look at.
#[derive(Clone, Debug)]
pub(crate) struct Context {
    /// The flags that every command takes.
    pub(crate) globals: Globals,
    /// The environment.
    pub(crate) environment: Environment,
    /// What stdout is.
    pub(crate) screen: Screen,
}

impl Context {
    /// The home folder, absolute: `--home`, else `MESSAGING_HOME`, else `~/.messaging`.
    pub(crate) fn home(&self) -> Result<PathBuf, Fault> {
        let named = self.globals.home.as_ref().or(self.environment.home.as_ref()).cloned();
        let own = || self.environment.user.as_ref().map(|user| user.join(".messaging"));
        let home = named.or_else(own).ok_or_else(|| {
            Fault::usage("there is no home folder", "name one with --home or MESSAGING_HOME.")
        })?;
        absolute(home)
    }

    /// Where the daemon's sockets are: `--run`, `--home`, `MESSAGING_RUN`, or `run/` of the home.
    pub(crate) fn place(&self) -> Result<Place, Fault> {
        let place = match (&self.globals.run, &self.globals.home, &self.environment.run) {
            (Some(run), _, _) | (None, None, Some(run)) => Place::run(&absolute(run.clone())?),
            _ => Place::home(&self.home()?),
        };
        Ok(place.trusting(self.daemon_uid()?))
    }

    fn daemon_uid(&self) -> Result<Option<u32>, Fault> {
        let Some(text) = &self.environment.daemon_uid else { return Ok(None) };
        let uid = text.to_str().and_then(|text| text.parse().ok());
        uid.map(Some).ok_or_else(|| {
            Fault::usage("MESSAGING_DAEMON_UID is not a user id", "set it to a number or unset it.")
        })
    }

    /// How long a call may take.
    pub(crate) fn timeout(&self) -> Duration {
        self.globals.timeout.map_or(TIMEOUT, Duration::from_secs)
    }

    /// Connects to this release's daemon.
    pub(crate) async fn connect(&self) -> Result<Link<'_>, Fault> {
        self.connect_for(Duration::ZERO).await
    }

    /// The same, for calls that the daemon answers after up to `patience`.
    pub(crate) async fn connect_for(&self, patience: Duration) -> Result<Link<'_>, Fault> {
        let place = self.place()?;
        let connecting = Client::connect(&place, Socket::Admin);
        let (client, events) = self.step("connecting to the daemon", connecting).await?;
        Ok(Link { context: self, client: client.with_timeout(self.timeout() + patience), events })
    }

    /// Waits for a daemon that went away, says so, and says when it is back.
    ///
    /// Errors: as [`connect`](Self::connect), but that there is no daemon.
    pub(crate) async fn connect_again(&self) -> Result<Link<'_>, Fault> {
        let mut said = false;
        loop {
            match self.connect().await {
                Err(fault) if fault.is_absence() => {}
                Ok(link) => {
                    if said {
                        self.note("The daemon is back.");
                    }
                    return Ok(link);
                }
                Err(fault) => return Err(fault),
            }
            if !said {
                said = true;
                self.note("The daemon went away; waiting for it.");
            }
            tokio::time::sleep(AGAIN).await;
        }
    }

    /// Waits for a step, and says so when it takes long.
    pub(crate) async fn step<T>(&self, name: &str, step: impl Future<Output = T>) -> T {
        use std::io::IsTerminal as _;
        let shown = !self.globals.quiet && !self.globals.json && std::io::stderr().is_terminal();
        progress::during(name, shown, step).await
    }

    /// Asks for a yes. Whoever cannot be asked must have said `--yes`.
    pub(crate) async fn confirm(&self, sentence: &str) -> Result<bool, Fault> {
        if self.globals.yes {
            Ok(true)
        } else if prompt::can_ask() {
            prompt::confirm(sentence).await
        } else {
            Err(Fault::usage(
                "this has to be confirmed, and there is nobody to ask; nothing was done",
                "run it again with --yes when you are sure.",
            ))
        }
    }

    /// Tells a person something beside the result.
    pub(crate) fn note(&self, text: &str) {
        if !self.globals.quiet && !self.globals.json {
            // A stderr that is gone is no reason to stop.
            let _ = writeln!(std::io::stderr(), "{text}");
        }
    }

    /// Prints one event of a stream: a JSON line, or text for a person.
    pub(crate) fn print_event(&self, json: &Value, text: &str) -> std::io::Result<()> {
        let mut stdout = std::io::stdout();
        if self.globals.json {
            writeln!(stdout, "{}", render::json(json, false))?;
        } else {
            stdout.write_all(text.as_bytes())?;
        }
        stdout.flush()
    }
}

fn absolute(path: PathBuf) -> Result<PathBuf, Fault> {
    std::path::absolute(path)
        .map_err(|_| Fault::usage("the path of the home is empty", "name another with --home."))
}

/// A connection to the daemon on which a command makes its calls.
#[derive(Debug)]
pub(crate) struct Link<'a> {
    context: &'a Context,
    client: Client,
    /// What the daemon tells.
    pub(crate) events: Events,
}

impl Link<'_> {
    /// Calls a method.
    pub(crate) async fn call<C: Call>(&self, params: &C::Params) -> Result<C::Result, Fault> {
        let called = self.timed(C::METHOD.name(), self.client.call::<C>(params)).await;
        called.map_err(|fault: Fault| match remedy::when_not_found(C::METHOD) {
            Some(remedy) if fault.code == Code::NotFound => fault.next(remedy),
            _ => fault,
        })
    }

    /// Calls a method by its name.
    pub(crate) async fn call_raw(
        &self,
        method: &str,
        params: Value,
        grant: Option<String>,
    ) -> Result<Value, Fault> {
        self.timed(method, self.client.call_raw(method, Some(params), grant)).await
    }

    async fn timed<T, E: Into<Fault>>(
        &self,
        method: &str,
        call: impl Future<Output = Result<T, E>>,
    ) -> Result<T, Fault> {
        let start = Instant::now();
        let result = self.context.step(method, call).await;
        if self.context.globals.verbose {
            let took = start.elapsed().as_millis();
            let _ = writeln!(std::io::stderr(), "{method} {took} ms");
        }
        result.map_err(Into::into)
    }
}

//! `messaging doctor`.
//! Spec: D6.6

mod files;
mod running;

use messaging_client::{ClientError, Socket, hello};
use messaging_ipc::hello::release;
use serde_json::{Value, json};

use super::status::Overview;
use crate::context::Context;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::pager;
use crate::render::Report;
use crate::screen::{Screen, Style};

/// Check this machine's setup, and say what to do about the first thing that is wrong
///
/// Nothing is changed. The status is 9 when something failed; warnings do not count.
///
/// Examples:
///   messaging doctor
///   messaging doctor --full
///   messaging doctor --json
///
/// See also: messaging status, messaging daemon logs, messaging config check
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Doctor {
    /// Say what to do about everything that is not in order
    #[arg(long)]
    full: bool,
}

/// How one thing is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Ok,
    Warn,
    Fail,
}

/// One thing that was looked at.
#[derive(Clone, Debug)]
struct Check {
    id: &'static str,
    state: State,
    /// The word for what was found.
    code: Option<&'static str>,
    message: String,
    next: Option<String>,
}

impl Check {
    fn ok(id: &'static str, message: impl Into<String>) -> Self {
        Self { id, state: State::Ok, code: None, message: message.into(), next: None }
    }

    fn warn(id: &'static str, message: impl Into<String>, next: impl Into<String>) -> Self {
        let next = Some(next.into());
        Self { id, state: State::Warn, code: None, message: message.into(), next }
    }

    fn fail(id: &'static str, message: impl Into<String>, next: impl Into<String>) -> Self {
        let next = Some(next.into());
        Self { id, state: State::Fail, code: None, message: message.into(), next }
    }

    /// The same, with the word for what was found; what is in order needs none.
    fn coded(self, code: &'static str) -> Self {
        let code = (self.state != State::Ok).then_some(code);
        Self { code, ..self }
    }

    fn json(&self) -> Value {
        let state = match self.state {
            State::Ok => "ok",
            State::Warn => "warn",
            State::Fail => "fail",
        };
        let mut found = json!({"id": self.id, "state": state, "message": self.message});
        for (name, value) in [("code", self.code), ("next", self.next.as_deref())] {
            if let (Some(value), Some(members)) = (value, found.as_object_mut()) {
                members.insert(name.to_owned(), value.into());
            }
        }
        found
    }

    fn line(&self, screen: &Screen) -> String {
        let word = match self.state {
            State::Ok => screen.paint(Style::Good, "ok  "),
            State::Warn => screen.paint(Style::Warn, "warn"),
            State::Fail => screen.paint(Style::Bad, "fail"),
        };
        let code = self.code.map(|code| format!("{code}: ")).unwrap_or_default();
        format!("{word}  {}: {code}{}\n", self.id, self.message)
    }
}

impl Doctor {
    pub(crate) async fn run(self, context: &Context) -> Result<Report, Fault> {
        let home = context.home()?;
        let place = context.place()?;
        let mut checks = vec![files::home(&home), files::folder("run", place.folder())];
        let greeting = hello(&place, Socket::Admin).await;
        checks.push(daemon(&greeting));
        checks.push(files::disk(&home));
        let pid = greeting.as_ref().ok().map(|hello| hello.pid);
        let hidden = greeting.as_ref().is_err_and(is_hidden);
        if !hidden {
            // Behind a wall nobody can tell whether the one that it names answers.
            checks.push(files::lock(place.folder(), pid));
        }
        if pid.is_some() {
            checks.extend(files::sockets(&place));
        }
        checks.push(files::config(&home));
        checks.push(files::keys(&home));
        let ours = greeting.is_ok_and(|hello| hello.admit().is_ok());
        if ours {
            let link = context.connect().await?;
            let overview = Overview::ask(&link, false).await?;
            checks.extend(running::all(&overview, &context.screen));
        } else {
            checks.push(files::store(&home, pid.is_some() || hidden));
        }
        checks.push(files::store_log(&home));
        checks.push(files::log(&home, context.screen.now));
        Ok(self.report(context, &checks))
    }

    fn report(&self, context: &Context, checks: &[Check]) -> Report {
        let failed = checks.iter().any(|check| check.state == State::Fail);
        let first = checks
            .iter()
            .find(|check| check.state == State::Fail)
            .or_else(|| checks.iter().find(|check| check.state == State::Warn));
        let mut text = String::new();
        for check in checks {
            text += &check.line(&context.screen);
            if let (true, Some(next)) = (self.full, &check.next) {
                text += &format!("      Next: {next}\n");
            }
        }
        if let (false, Some(next)) = (self.full, first.and_then(|check| check.next.as_ref())) {
            text += &format!("Next: {next}\n");
        }
        if self.full && !context.globals.json && pager::show(context, &text) {
            text.clear();
        }
        let checks: Vec<Value> = checks.iter().map(Check::json).collect();
        let report = Report::new(json!({"ok": !failed, "checks": checks}), text);
        Report { exit: if failed { Exit::Unwell } else { Exit::Done }, ..report }
    }
}

/// Whether a daemon may be there and only this program cannot open its socket.
fn is_hidden(error: &ClientError) -> bool {
    error.message().contains("a sandbox")
}

fn daemon(greeting: &Result<messaging_ipc::hello::Hello, ClientError>) -> Check {
    let id = "daemon";
    match greeting {
        Ok(hello) if hello.clone().admit().is_ok() => {
            Check::ok(id, format!("release {} answers, process {}", release(), hello.pid))
        }
        Ok(hello) => {
            let found = messaging_core::peer_text::one_line(&hello.version, 40);
            let message = format!("release {found} answers, and this is release {}", release());
            let code = messaging_core::code::Code::DaemonMismatch;
            Check::fail(id, message, crate::remedy::of(code)).coded(code.as_str())
        }
        Err(error) if is_hidden(error) => {
            let next = "run it outside the sandbox, or let the sandbox reach the sockets in run/; do not start a second daemon.";
            Check::fail(id, error.message(), next).coded("socket_unreachable")
        }
        Err(error) => Check::fail(id, error.message(), crate::remedy::of(error.code()))
            .coded(error.code().as_str()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_is_one_line() {
        let check = Check::warn("relay", "not reached", "wait.");
        assert_eq!(check.line(&Screen::pipe()), "warn  relay: not reached\n");
        let coded = check.clone().coded("clock_skew");
        assert_eq!(coded.line(&Screen::pipe()), "warn  relay: clock_skew: not reached\n");
        assert_eq!(coded.json()["code"], "clock_skew");
        assert_eq!(Check::ok("relay", "welcomed").coded("clock_skew").code, None);
        assert_eq!(
            check.json(),
            json!({"id": "relay", "state": "warn", "message": "not reached", "next": "wait."})
        );
    }
}

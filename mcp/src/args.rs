//! The command line and environment of `messaging-mcp`.
//! Spec: D7.1

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Parser;
use messaging_client::Place;
use messaging_core::ids::{ChannelName, ClientKind, SessionName};
use messaging_tools::{ANSWER_BYTES, LEAST_ANSWER_BYTES};

/// Tools with which a coding agent writes to other agents and reads what they write
///
/// A client starts this program and speaks MCP with it on standard input and output; logs go to standard error. It
/// registers one session with the daemon, connects again by itself, and never starts a daemon.
///
/// MESSAGING_HOME and MESSAGING_RUN name the daemon when the options do not, MESSAGING_DAEMON_UID a further user whose
/// daemon is trusted, MESSAGING_SESSION_NAME the session's name, MESSAGING_SESSION_TICKET the file of a host's ticket.
#[derive(Debug, Parser)]
#[command(name = "messaging-mcp", version, verbatim_doc_comment)]
pub(crate) struct Args {
    /// The home folder [default: ~/.messaging]
    #[arg(long, value_name = "DIR")]
    home: Option<PathBuf>,
    /// The folder of the daemon's sockets, when it is not in the home
    #[arg(long, value_name = "DIR")]
    run: Option<PathBuf>,
    /// The name to register under [default: mcp]
    #[arg(long, value_name = "SESSION", value_parser = name)]
    name: Option<SessionName>,
    /// The kind of agent that contacts see
    #[arg(long, value_name = "KIND", default_value = "mcp", value_parser = kind)]
    pub(crate) agent: ClientKind,
    /// A channel that the agent may use; may be given several times
    #[arg(long = "channel", value_name = "NAME", value_parser = channel)]
    pub(crate) channels: Vec<ChannelName>,
    /// Tell the host of new messages that ask for it, where it takes such a channel (Claude Code, when it was started with it)
    #[arg(long)]
    pub(crate) push: bool,
    /// The most bytes of text in one answer
    #[arg(long, value_name = "BYTES", default_value_t = ANSWER_BYTES, value_parser = answer_bytes)]
    pub(crate) max_answer_bytes: usize,
    /// The file of a host's session ticket, read again at each registration
    #[arg(long, value_name = "PATH")]
    ticket_file: Option<PathBuf>,
    /// Log the course of things too
    #[arg(long)]
    pub(crate) verbose: bool,
}

/// What the environment says; empty variables count as unset.
#[derive(Clone, Debug, Default)]
pub(crate) struct Environment {
    home: Option<OsString>,
    run: Option<OsString>,
    daemon_uid: Option<OsString>,
    name: Option<OsString>,
    ticket: Option<OsString>,
    user: Option<PathBuf>,
}

impl Environment {
    /// Reads the process's environment.
    pub(crate) fn read() -> Self {
        let variable = |name| std::env::var_os(name).filter(|value: &OsString| !value.is_empty());
        Self {
            home: variable("MESSAGING_HOME"),
            run: variable("MESSAGING_RUN"),
            daemon_uid: variable("MESSAGING_DAEMON_UID"),
            name: variable("MESSAGING_SESSION_NAME"),
            ticket: variable("MESSAGING_SESSION_TICKET"),
            user: std::env::home_dir().filter(|user| !user.as_os_str().is_empty()),
        }
    }
}

impl Args {
    /// Where the daemon's sockets are.
    ///
    /// Errors: what is wrong with the options or the environment.
    pub(crate) fn place(&self, environment: &Environment) -> Result<Place, &'static str> {
        let uid = match &environment.daemon_uid {
            None => None,
            Some(text) => Some(
                text.to_str()
                    .and_then(|text| text.parse().ok())
                    .ok_or("MESSAGING_DAEMON_UID is no user id")?,
            ),
        };
        let run = self.run.clone().or_else(|| environment.run.clone().map(PathBuf::from));
        let home = self.home.clone().or_else(|| environment.home.clone().map(PathBuf::from));
        // An option is nearer than a variable: --home wins over MESSAGING_RUN.
        let place = match (run, home) {
            (Some(run), _) if self.run.is_some() || self.home.is_none() => Place::run(&run),
            (_, Some(home)) => Place::home(&home),
            _ => {
                let user = environment.user.as_ref();
                Place::home(
                    &user
                        .ok_or("there is no home folder; name one with --home")?
                        .join(".messaging"),
                )
            }
        };
        Ok(place.trusting(uid))
    }

    /// The wanted name of the session.
    ///
    /// Errors: the variable holds no name.
    pub(crate) fn name(&self, environment: &Environment) -> Result<SessionName, &'static str> {
        if let Some(name) = &self.name {
            return Ok(name.clone());
        }
        let text = match &environment.name {
            Some(text) => text.to_str().unwrap_or_default(),
            None => "mcp",
        };
        SessionName::parse(text).map_err(|_| "MESSAGING_SESSION_NAME is no session name")
    }

    /// The file of the session's ticket.
    pub(crate) fn ticket_file(&self, environment: &Environment) -> Option<PathBuf> {
        self.ticket_file.clone().or_else(|| environment.ticket.clone().map(PathBuf::from))
    }
}

fn name(text: &str) -> Result<SessionName, &'static str> {
    SessionName::parse(text).map_err(|_| "not a session name: a-z, 0-9, '.', '_', '-'")
}

fn kind(text: &str) -> Result<ClientKind, &'static str> {
    match ClientKind::parse(text) {
        Ok(kind) if kind.as_str() != "cli" => Ok(kind),
        Ok(_) => Err("cli is the command line's own kind"),
        Err(_) => Err("not a kind of agent: a-z, 0-9, '.', '_', '-'"),
    }
}

fn channel(text: &str) -> Result<ChannelName, &'static str> {
    let text = text.strip_prefix('#').unwrap_or(text);
    ChannelName::parse(text).map_err(|_| "not a channel's name: a-z, 0-9, '-'")
}

fn answer_bytes(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(bytes) if (LEAST_ANSWER_BYTES..=1_048_576).contains(&bytes) => Ok(bytes),
        _ => Err(format!("a number from {LEAST_ANSWER_BYTES} to 1048576")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(words: &[&str]) -> Result<Args, clap::Error> {
        Args::try_parse_from(std::iter::once("messaging-mcp").chain(words.iter().copied()))
    }

    #[test]
    fn bad_values_are_refused() {
        for bad in [
            &["--channel", "Ops"][..],
            &["--agent", "cli"],
            &["--name", "a/b"],
            &["--max-answer-bytes", "10"],
            &["word"],
        ] {
            assert!(args(bad).is_err(), "{bad:?}");
        }
        let args = args(&["--channel", "#ops", "--channel", "dev"]).unwrap();
        let names: Vec<&str> = args.channels.iter().map(ChannelName::as_str).collect();
        assert_eq!(names, ["ops", "dev"]);
    }

    #[test]
    fn an_option_is_nearer_than_a_variable() {
        let environment = Environment {
            home: Some("/e/home".into()),
            run: Some("/e/run".into()),
            name: Some("helper".into()),
            ..Environment::default()
        };
        let folder =
            |words: &[&str]| args(words).unwrap().place(&environment).unwrap().folder().to_owned();
        assert_eq!(folder(&[]), PathBuf::from("/e/run"));
        assert_eq!(folder(&["--home", "/o"]), PathBuf::from("/o/run"));
        assert_eq!(folder(&["--home", "/o", "--run", "/r"]), PathBuf::from("/r"));
        let name = |words: &[&str]| args(words).unwrap().name(&environment).unwrap().to_string();
        assert_eq!(name(&[]), "helper");
        assert_eq!(name(&["--name", "mine"]), "mine");
        let bad = Environment { name: Some("a/b".into()), ..Environment::default() };
        assert!(args(&[]).unwrap().name(&bad).is_err());
        assert_eq!(args(&[]).unwrap().name(&Environment::default()).unwrap().as_str(), "mcp");
    }
}

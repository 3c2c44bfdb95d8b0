//! The command line and environment of `messagingd`.
//!
//! Spec: D3.32, §8.10

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Parser;
use messaging_daemon_engine::events::Level;

use crate::exit::StartError;

/// Runs the messaging daemon in the foreground.
///
/// MESSAGING_HOME names the home when --home does not; MESSAGING_LOG (error, warn, info or debug)
/// overrides log.level of config.json.
#[derive(Debug, Parser)]
#[command(name = "messagingd", disable_version_flag = true, disable_help_subcommand = true)]
pub(crate) struct Args {
    /// The home folder [default: ~/.messaging]
    #[arg(long, value_name = "DIR")]
    home: Option<PathBuf>,
    /// Print the version, the store's schema and the protocol
    #[arg(short = 'V', long)]
    pub(crate) version: bool,
    /// Mend a damaged store instead: save what can be read, keep the old file beside it, say what came of it as JSON
    #[arg(long, conflicts_with = "version")]
    pub(crate) repair: bool,
    /// With --version: print them as JSON
    #[arg(long, requires = "version")]
    pub(crate) json: bool,
}

impl Args {
    /// Reads a command line whose first word is the program's name.
    pub(crate) fn read(words: impl IntoIterator<Item = OsString>) -> Result<Args, clap::Error> {
        Args::try_parse_from(words)
    }

    /// The home: `--home`, else `MESSAGING_HOME`, else `~/.messaging`.
    pub(crate) fn home(&self) -> Result<PathBuf, StartError> {
        if let Some(home) = &self.home {
            return Ok(home.clone());
        }
        if let Some(home) = variable("MESSAGING_HOME") {
            return Ok(home.into());
        }
        std::env::home_dir()
            .filter(|user| !user.as_os_str().is_empty())
            .map(|user| user.join(".messaging"))
            .ok_or(StartError::NoHome)
    }

    /// The level that `MESSAGING_LOG` asks for.
    pub(crate) fn log_level() -> Result<Option<Level>, StartError> {
        let Some(word) = variable(LOG_VARIABLE) else { return Ok(None) };
        let level = word.to_str().and_then(Level::parse);
        level.map(Some).ok_or(StartError::BadVariable(LOG_VARIABLE))
    }
}

/// A variable that is set to something.
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

const LOG_VARIABLE: &str = "MESSAGING_LOG";

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Result<Args, clap::Error> {
        Args::read(std::iter::once("messagingd").chain(words.iter().copied()).map(OsString::from))
    }

    #[test]
    fn the_home_flag_wins() {
        assert_eq!(read(&["--home", "/x"]).unwrap().home().unwrap(), PathBuf::from("/x"));
    }

    #[test]
    fn flags_of_a_host_and_unknown_ones_are_usage_errors() {
        for words in [
            &["--deployment", "jelly"][..],
            &["--run", "/x"],
            &["--act-key", "k"],
            &["--label", "l"],
            &["--socket-group", "5"],
            &["--nonsense"],
            &["--json"],
            &["--home", ""],
            &["word"],
        ] {
            let error = read(words).unwrap_err();
            assert!(error.use_stderr(), "{words:?}");
        }
    }

    #[test]
    fn help_is_no_error() {
        assert!(!read(&["--help"]).unwrap_err().use_stderr());
    }
}

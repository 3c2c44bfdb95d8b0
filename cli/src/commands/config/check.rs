//! `messaging config check`.
//! Spec: D6.4, D3.31

use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::path::PathBuf;

use messaging_core::code::Code;
use messaging_core::json as wire;
use messaging_daemon_engine::config::{CONFIG_BYTES, Config};
use messaging_daemon_engine::events::LogSafe as _;
use serde_json::{Value, json};

use crate::context::Context;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::render::Report;

/// Check a file of settings without starting anything
///
/// A wrong value is named. Keys that no release knows are named too; the daemon ignores them.
///
/// Examples:
///   messaging config check
///   messaging config check draft.json
///
/// See also: messaging config path, messaging daemon restart
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Check {
    /// The file [default: config.json of the home]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
}

impl Check {
    pub(crate) fn run(self, context: &Context) -> Result<Report, Fault> {
        let named = self.file.is_some();
        let path = match self.file {
            Some(file) => file,
            None => context.home()?.join("config.json"),
        };
        match examine(&path) {
            Ok(Found::Nothing) if named => Err(Fault::new(Code::NotFound, "there is no such file")),
            Ok(Found::Nothing) => Ok(Report::new(
                json!({"ok": true, "unknown": []}),
                "ok: there is none, so every setting is its default\n",
            )),
            Ok(Found::Valid { unknown, .. }) => {
                let mut text = String::from("ok\n");
                for key in &unknown {
                    text +=
                        &format!("unknown key {}\n", messaging_core::peer_text::one_line(key, 100));
                }
                Ok(Report::new(json!({"ok": true, "unknown": unknown}), text))
            }
            Err(fault) => Err(Fault { exit: Exit::Failed, ..fault }),
        }
    }
}

/// What a file of settings is.
pub(in crate::commands) enum Found {
    /// There is none.
    Nothing,
    /// It is good, but for keys that nobody knows.
    Valid {
        /// Those keys.
        unknown: Vec<String>,
        /// Whether credentials in messages are refused.
        refuse_secrets: bool,
    },
}

/// Reads a file of settings as the daemon does at its start.
pub(in crate::commands) fn examine(path: &std::path::Path) -> Result<Found, Fault> {
    let next = "fix the key it names, then run `messaging config check`.";
    let unreadable = || Fault::new(Code::Forbidden, "the file of settings cannot be read");
    let mut text = Vec::new();
    match File::open(path) {
        Ok(file) => {
            let most = u64::try_from(CONFIG_BYTES).unwrap_or(u64::MAX).saturating_add(1);
            file.take(most).read_to_end(&mut text).map_err(|_| unreadable())?;
        }
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Found::Nothing),
        Err(_) => return Err(unreadable()),
    }
    let value = wire::parse(&text, CONFIG_BYTES).unwrap_or(Value::Null);
    if value.is_null() {
        return Err(
            Fault::new(Code::InvalidRequest, "the file is no JSON of at most 64 KiB").next(next)
        );
    }
    let (config, unknown) = Config::read(&value).map_err(|failure| {
        Fault::new(failure.code, format!("{} has a value that it cannot have", failure.at))
            .next(next)
    })?;
    Ok(Found::Valid {
        unknown: unknown
            .iter()
            .filter_map(|key| key.logged().as_str().map(str::to_owned))
            .collect(),
        refuse_secrets: config.refuse_secrets,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Result<Vec<String>, Fault> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.json");
        std::fs::write(&path, text).unwrap();
        match examine(&path)? {
            Found::Nothing => panic!("it is there"),
            Found::Valid { unknown, .. } => Ok(unknown),
        }
    }

    #[test]
    fn wrong_values_are_named_and_unknown_keys_listed() {
        assert!(check("{}").unwrap().is_empty());
        assert_eq!(check(r#"{"wake":{"bridge":false},"colour":1}"#).unwrap(), ["colour"]);
        for (text, word) in [
            (r#"{"wake":{"bridge":"no"}}"#, "wake.bridge"),
            (r#"{"log":{"level":"loud"}}"#, "log.level"),
            ("[]", "object"),
            ("{", "JSON"),
            (r#"{"a":1,"a":2}"#, "JSON"),
        ] {
            let fault = check(text).unwrap_err();
            assert!(fault.message.contains(word), "{text}: {}", fault.message);
        }
    }

    #[test]
    fn a_missing_file_is_all_defaults() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(examine(&folder.path().join("none")), Ok(Found::Nothing)));
    }
}

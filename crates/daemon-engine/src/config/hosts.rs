//! `wake.hosts`: the commands that a person named to wake clients.
//! Spec: §8.6, D3.31

use std::collections::BTreeMap;

use messaging_core::code::Failure;
use messaging_core::ids::SessionName;
use messaging_core::json;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::wake::WakeCommand;

/// The commands that wake clients, by session.
pub(super) fn read(
    hosts: Option<&Map<String, Value>>,
) -> Result<BTreeMap<SessionName, WakeCommand>, Failure> {
    let mut commands = BTreeMap::new();
    let Some(hosts) = hosts else { return Ok(commands) };
    if hosts.len() > HOSTS {
        return Err(Failure::invalid("wake.hosts: more than 64"));
    }
    for (name, host) in hosts {
        let name =
            SessionName::parse(name).map_err(|_| Failure::invalid("wake.hosts: a session name"))?;
        let raw: RawHost = json::decode(host)
            .map_err(|_| Failure::invalid("wake.hosts: kind, argv and folder only"))?;
        if raw.kind != "command" {
            return Err(Failure::invalid("wake.hosts: kind must be command"));
        }
        let fits = |text: &String| text.len() <= WORD_BYTES && !text.contains('\0');
        let absolute = |text: &String| std::path::Path::new(text).is_absolute();
        if !raw.argv.first().is_some_and(absolute)
            || raw.argv.len() > WORDS
            || !raw.argv.iter().all(fits)
        {
            let words = "wake.hosts: argv begins with an absolute path";
            return Err(Failure::invalid(words));
        }
        if raw.folder.as_ref().is_some_and(|folder| !absolute(folder) || !fits(folder)) {
            return Err(Failure::invalid("wake.hosts: folder must be an absolute path"));
        }
        commands.insert(name, WakeCommand { argv: raw.argv, folder: raw.folder });
    }
    Ok(commands)
}

/// A command that a person named. An unknown member is refused: a word that is silently left out would change what is run.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawHost {
    kind: String,
    argv: Vec<String>,
    folder: Option<String>,
}

/// Sessions that a command may be named for.
const HOSTS: usize = 64;
/// Words of one command.
const WORDS: usize = 64;
/// Bytes of one word.
const WORD_BYTES: usize = 4_096;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::config::Config;

    #[test]
    fn a_host_is_a_command_with_an_absolute_program() {
        let read = |host| Config::read(&json!({"wake": {"hosts": {"api": host}}}));
        let good = json!({"kind": "command", "argv": ["/bin/true"]});
        assert_eq!(read(good).unwrap().0.wake_commands.len(), 1);
        for bad in [
            json!({"argv": ["/bin/true"]}),
            json!({"kind": "opencode", "argv": ["/bin/true"]}),
            json!({"kind": "command"}),
            json!({"kind": "command", "argv": []}),
            json!({"kind": "command", "argv": "/bin/true"}),
            json!({"kind": "command", "argv": ["true"]}),
            json!({"kind": "command", "argv": ["./true"]}),
            json!({"kind": "command", "argv": ["/bin/true", 5]}),
            json!({"kind": "command", "argv": ["/bin/true", "a\u{0}b"]}),
            json!({"kind": "command", "argv": ["/bin/true"], "folder": "x"}),
            json!({"kind": "command", "argv": ["/bin/true"], "shell": true}),
            json!({"kind": "command", "argv": vec!["/bin/true"; 65]}),
            json!({"kind": "command", "argv": ["/bin/true", "x".repeat(4_097)]}),
        ] {
            let failure = read(bad.clone()).unwrap_err();
            assert!(failure.at.starts_with("wake.hosts"), "{bad} gives {}", failure.at);
        }
        for name in ["", "A", "a/b", ".x"] {
            let host = json!({"kind": "command", "argv": ["/bin/true"]});
            Config::read(&json!({"wake": {"hosts": {name: host}}})).unwrap_err();
        }
    }
}

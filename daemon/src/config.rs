//! `config.json` on disk: read strictly, written whole, keys of other releases kept.
//!
//! Spec: §8.5, D3.2 step 5, D3.31

use std::io;

use messaging_core::code::Failure;
use messaging_core::ids::{Label, PersonId, RelayUrl};
use messaging_core::json;
use messaging_daemon_engine::config::{CONFIG_BYTES, Config};
use messaging_daemon_engine::events::ConfigKey;
use serde_json::{Map, Value};

use crate::exit::{PrivacyRule, StartError};
use crate::home::Home;
use crate::os;

/// Reads the settings, or their defaults when there is no file, and names the unknown keys.
///
/// Errors: [`StartError::Config`], naming the key or the rule.
pub(crate) fn load(home: &Home) -> Result<(Config, Vec<ConfigKey>), StartError> {
    let members = read(home)?;
    Config::read(&Value::Object(members)).map_err(StartError::Config)
}

/// Writes the three values of a membership into the file as it stands now: what a person changed
/// in it since the start is kept.
///
/// Errors: the file is not wire JSON any more, or cannot be written. It is then unchanged.
pub(crate) fn save_membership(
    home: &Home,
    relay: &RelayUrl,
    person: &PersonId,
    label: &Label,
) -> Result<(), StartError> {
    let members = Config::with_membership(&read(home)?, relay, person, label);
    let mut text = serde_json::to_vec_pretty(&members).map_err(|_| system(io::ErrorKind::Other))?;
    text.push(b'\n');
    os::write_private(&home.config(), &text).map_err(|error| system(error.kind()))
}

fn read(home: &Home) -> Result<Map<String, Value>, StartError> {
    let bytes = match os::read_private(&home.config(), CONFIG_BYTES) {
        Ok(Some((bytes, _))) => bytes,
        Ok(None) => return Ok(Map::new()),
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
            return Err(StartError::NotPrivate {
                what: "config.json",
                rule: PrivacyRule::NotRegular,
            });
        }
        Err(error) => return Err(system(error.kind())),
    };
    match json::parse(&bytes, CONFIG_BYTES).map_err(StartError::Config)? {
        Value::Object(members) => Ok(members),
        _ => Err(StartError::Config(Failure::invalid("the file is not an object"))),
    }
}

fn system(kind: io::ErrorKind) -> StartError {
    StartError::System { what: "config.json", error: kind.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home() -> (tempfile::TempDir, Home) {
        let base = tempfile::tempdir().unwrap();
        let home = Home::open(&base.path().join("home")).unwrap();
        (base, home)
    }

    fn save(home: &Home) -> Result<(), StartError> {
        save_membership(
            home,
            &RelayUrl::parse("wss://relay.example/v1/connect").unwrap(),
            &PersonId::parse("alice").unwrap(),
            &Label::parse("laptop").unwrap(),
        )
    }

    #[test]
    fn no_file_is_the_defaults() {
        let (_base, home) = home();
        assert_eq!(load(&home).unwrap(), (Config::default(), vec![]));
    }

    #[test]
    fn a_membership_is_written_privately_and_reads_back() {
        let (_base, home) = home();
        std::fs::write(home.config(), br#"{"later": [1, 2], "wake": {"bridge": false}}"#).unwrap();
        save(&home).unwrap();
        assert_eq!(os::stat(&home.config()).unwrap().unwrap().mode, 0o600);
        let (config, unknown) = load(&home).unwrap();
        assert_eq!(config.person.unwrap().as_str(), "alice");
        assert!(!config.wake_bridge);
        assert_eq!(unknown.len(), 1);
        let text = std::fs::read_to_string(home.config()).unwrap();
        assert!(text.contains("\"later\"") && text.ends_with("}\n"));
    }

    #[test]
    fn a_file_that_is_not_wire_json_is_fatal_and_never_overwritten() {
        let cases: [&[u8]; 6] = [
            b"",
            b"{",
            b"[]",
            b"{\"log\":{},\"log\":{}}",
            b"\xef\xbb\xbf{}",
            b"{\"relay\":\"x\xff\"}",
        ];
        for text in cases {
            let (_base, home) = home();
            std::fs::write(home.config(), text).unwrap();
            assert_eq!(load(&home).unwrap_err().exit_status(), 78);
            save(&home).unwrap_err();
            assert_eq!(std::fs::read(home.config()).unwrap(), text);
        }
    }

    #[test]
    fn the_size_limit_is_exact() {
        let (_base, home) = home();
        for (extra, fits) in [(0, true), (1, false)] {
            let mut text = b"{}".to_vec();
            text.resize(CONFIG_BYTES + extra, b' ');
            std::fs::write(home.config(), &text).unwrap();
            assert_eq!(load(&home).is_ok(), fits);
        }
    }

    #[test]
    fn a_link_or_a_pipe_is_refused() {
        let (base, home) = home();
        std::os::unix::fs::symlink(base.path().join("elsewhere"), home.config()).unwrap();
        assert_eq!(load(&home).unwrap_err().exit_status(), 77);
    }
}

//! What the daemon takes from its environment, read once at the start.
//!
//! Spec: D3.32, §8.6

use std::ffi::OsString;
use std::path::PathBuf;

use crate::proxy::Proxies;
use crate::tls::Trust;

/// The variables that mean something to a daemon. Its default is an empty environment.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    /// Where an OpenCode service registers itself.
    pub(crate) registration: Option<PathBuf>,
    /// The user's home folder.
    pub(crate) user_home: Option<PathBuf>,
    /// What a command that wakes a client is given, and nothing else of the environment.
    pub(crate) for_commands: Vec<(OsString, OsString)>,
    /// Which proxies lead out.
    pub(crate) proxies: Proxies,
    /// By which certificates relays are known.
    pub(crate) trust: Trust,
}

impl Environment {
    /// The environment of this process.
    #[must_use]
    pub fn of_process() -> Self {
        let mut read = Self::read(|name| std::env::var_os(name));
        // The system's own word, where no variable says it.
        read.user_home = std::env::home_dir().filter(|home| home.is_absolute());
        read.registration = read.registration.or_else(|| below(read.user_home.as_ref()));
        read
    }

    /// An environment that `variable` gives; an empty value counts as none.
    #[must_use]
    pub fn read(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
        let absolute = |name: &str| variable(name).map(PathBuf::from).filter(|p| p.is_absolute());
        let user_home = absolute("HOME");
        let registration = match absolute("XDG_STATE_HOME") {
            Some(state) => Some(state.join(REGISTRATION)),
            None => below(user_home.as_ref()),
        };
        let mut for_commands: Vec<(OsString, OsString)> = FOR_COMMANDS
            .iter()
            .filter_map(|name| Some((OsString::from(name), variable(name)?)))
            .collect();
        if !for_commands.iter().any(|(name, _)| name == "PATH") {
            for_commands.push(("PATH".into(), USUAL_PATH.into()));
        }
        let text = |name: &str| variable(name).map(|value| value.to_string_lossy().into_owned());
        let named = |name: &str| variable(name).map(PathBuf::from);
        let trust = Trust::of(named("SSL_CERT_FILE"), named("SSL_CERT_DIR"));
        Self { registration, user_home, for_commands, proxies: Proxies::read(text), trust }
    }
}

fn below(home: Option<&PathBuf>) -> Option<PathBuf> {
    Some(home?.join(".local/state").join(REGISTRATION))
}

const REGISTRATION: &str = "opencode/service.json";
/// Enough to find programs, the user's files, their language and their session; no token that another program left.
const FOR_COMMANDS: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "TMPDIR",
    "XDG_RUNTIME_DIR",
    "DBUS_SESSION_BUS_ADDRESS",
];
const USUAL_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

#[cfg(test)]
mod tests {
    use super::*;

    fn read(set: &[(&str, &str)]) -> Environment {
        Environment::read(|name| {
            set.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into())
        })
    }

    #[test]
    fn the_registration_is_where_opencode_puts_it() {
        let place = |set| read(set).registration;
        assert_eq!(place(&[]), None);
        let below_home = Some(PathBuf::from("/h/.local/state/opencode/service.json"));
        assert_eq!(place(&[("HOME", "/h")]), below_home);
        assert_eq!(place(&[("HOME", "/h"), ("XDG_STATE_HOME", "")]), below_home);
        assert_eq!(place(&[("HOME", "/h"), ("XDG_STATE_HOME", "relative")]), below_home);
        let state = Some(PathBuf::from("/s/opencode/service.json"));
        assert_eq!(place(&[("HOME", "/h"), ("XDG_STATE_HOME", "/s")]), state);
    }

    #[test]
    fn a_command_is_given_little() {
        let given = read(&[("HOME", "/h"), ("API_TOKEN", "t"), ("HTTPS_PROXY", "http://u:p@x")]);
        let names: Vec<&OsString> = given.for_commands.iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["HOME", "PATH"]);
    }
}

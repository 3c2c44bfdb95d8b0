//! The environment variables that the command line reads, all of them, in one place.
//! Spec: D3.32, D6.1

use std::ffi::OsString;
use std::path::PathBuf;

/// What the environment says. Empty variables count as unset.
#[derive(Clone, Debug, Default)]
pub(crate) struct Environment {
    /// `MESSAGING_HOME`: the home.
    pub(crate) home: Option<PathBuf>,
    /// `MESSAGING_RUN`: the folder of the sockets, when the daemon runs with `--run`.
    pub(crate) run: Option<PathBuf>,
    /// `MESSAGING_DAEMON_UID`: a further user whose sockets are trusted.
    pub(crate) daemon_uid: Option<OsString>,
    /// `NO_COLOR`.
    pub(crate) no_color: bool,
    /// `CLICOLOR_FORCE` is `1`.
    pub(crate) force_color: bool,
    /// `TERM` is `dumb`.
    pub(crate) dumb: bool,
    /// `PAGER`.
    pub(crate) pager: Option<OsString>,
    /// The user's own folder.
    pub(crate) user: Option<PathBuf>,
    /// `XDG_CONFIG_HOME`: where harnesses keep their settings.
    pub(crate) config: Option<PathBuf>,
    /// `CLAUDE_CONFIG_DIR`: where Claude Code keeps them.
    pub(crate) claude: Option<PathBuf>,
    /// `CODEX_HOME`: where Codex keeps them.
    pub(crate) codex: Option<PathBuf>,
    /// `PATH`.
    pub(crate) path: Option<OsString>,
}

impl Environment {
    /// Reads the process's environment.
    pub(crate) fn read() -> Self {
        let variable = |name| std::env::var_os(name).filter(|value: &OsString| !value.is_empty());
        Self {
            home: variable("MESSAGING_HOME").map(PathBuf::from),
            run: variable("MESSAGING_RUN").map(PathBuf::from),
            daemon_uid: variable("MESSAGING_DAEMON_UID"),
            no_color: variable("NO_COLOR").is_some(),
            force_color: variable("CLICOLOR_FORCE").is_some_and(|value| value == "1"),
            dumb: variable("TERM").is_some_and(|value| value == "dumb"),
            pager: variable("PAGER"),
            user: std::env::home_dir().filter(|user| !user.as_os_str().is_empty()),
            config: variable("XDG_CONFIG_HOME").map(PathBuf::from).filter(|at| at.is_absolute()),
            claude: variable("CLAUDE_CONFIG_DIR").map(PathBuf::from),
            codex: variable("CODEX_HOME").map(PathBuf::from),
            path: variable("PATH"),
        }
    }
}

//! The service files: what they say, where they stand, and how their keeper is told.
//! Spec: §8.1 "Process"
//!
//! The templates are those of `deploy/`, so what an operator copies and what is installed are one text.

use std::path::{Path, PathBuf};

use crate::context::Context;
use crate::environment::Environment;
use crate::fault::Fault;

/// Who keeps a daemon running for its user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Keeper {
    /// A unit of the user's systemd
    Systemd,
    /// An agent of the user's launchd
    Launchd,
}

impl Keeper {
    /// This system's; none where this program knows none.
    pub(super) fn own() -> Option<Self> {
        if cfg!(target_os = "macos") {
            Some(Self::Launchd)
        } else if cfg!(target_os = "linux") {
            Some(Self::Systemd)
        } else {
            None
        }
    }

    /// The one that was named, else this system's.
    ///
    /// Errors: `invalid_request` where there is none.
    pub(super) fn of(named: Option<Self>) -> Result<Self, Fault> {
        named.or_else(Self::own).ok_or_else(|| {
            Fault::usage(
                "this system has no keeper of services that is known here",
                "run `messaging daemon start` at login.",
            )
        })
    }

    /// Where its file stands for this user.
    ///
    /// Errors: the user has no folder of their own.
    pub(super) fn file(self, environment: &Environment) -> Result<PathBuf, Fault> {
        let nowhere = || Fault::usage("this user has no home folder", "set HOME.");
        let user = environment.user.clone();
        Ok(match self {
            Self::Systemd => {
                let folder = match &environment.config {
                    Some(folder) => folder.clone(),
                    None => user.ok_or_else(nowhere)?.join(".config"),
                };
                folder.join("systemd/user/messagingd.service")
            }
            Self::Launchd => user
                .ok_or_else(nowhere)?
                .join("Library/LaunchAgents/org.messaging.messagingd.plist"),
        })
    }

    /// The file's text, for this program and the home.
    ///
    /// Errors: a path that such a file cannot hold.
    pub(super) fn text(self, context: &Context) -> Result<String, Fault> {
        let program = std::env::current_exe().map_err(|_| {
            Fault::local(
                "this program does not find itself",
                "write the file yourself; see deploy/.",
            )
        })?;
        self.filled(&program, &context.home()?)
    }

    fn filled(self, program: &Path, home: &Path) -> Result<String, Fault> {
        let (template, written): (_, fn(&str) -> String) = match self {
            Self::Systemd => (UNIT, in_a_unit),
            Self::Launchd => (PLIST, in_a_plist),
        };
        let word = |path: &Path| {
            let text = path.to_str().filter(|text| !text.chars().any(char::is_control));
            text.map(written).ok_or_else(|| {
                Fault::usage("the path holds what a service file cannot", "use a plainer path.")
            })
        };
        Ok(template.replace("@EXECUTABLE@", &word(program)?).replace("@HOME@", &word(home)?))
    }

    /// Whether a text was written by [`Keeper::text`], of whatever release.
    pub(super) fn wrote(text: &str) -> bool {
        text.lines().take(2).any(|line| line.contains("Written by `messaging daemon install`"))
    }

    /// How the file comes into force.
    pub(super) const fn begin(self) -> &'static str {
        match self {
            Self::Systemd => {
                "systemctl --user daemon-reload && systemctl --user enable --now messagingd"
            }
            Self::Launchd => {
                "launchctl bootstrap gui/$(id -u) ~/Library/LaunchAgents/org.messaging.messagingd.plist"
            }
        }
    }

    /// How the daemon ends once its file is gone.
    pub(super) const fn end(self) -> &'static str {
        match self {
            Self::Systemd => "systemctl --user stop messagingd; systemctl --user daemon-reload",
            Self::Launchd => "launchctl bootout gui/$(id -u)/org.messaging.messagingd",
        }
    }

    /// What becomes of the daemon when its user logs out.
    pub(super) const fn at_logout(self) -> &'static str {
        match self {
            Self::Systemd => {
                "It ends when you log out for the last time, unless you linger: loginctl enable-linger"
            }
            Self::Launchd => "It ends when you log out, and starts when you log in.",
        }
    }
}

/// A word of a command line in a unit: nothing in it is read as a specifier, a variable or a quote.
fn in_a_unit(text: &str) -> String {
    let mut word = String::from("\"");
    for letter in text.chars() {
        match letter {
            '%' => word.push_str("%%"),
            '$' => word.push_str("$$"),
            '"' | '\\' => word.extend(['\\', letter]),
            other => word.push(other),
        }
    }
    word.push('"');
    word
}

fn in_a_plist(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

const UNIT: &str = include_str!("../../../../deploy/messagingd.service");
const PLIST: &str = include_str!("../../../../deploy/org.messaging.messagingd.plist");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_path_says_more_than_itself() {
        let program = Path::new("/opt/my tools/50%/$HOME/\"m\"\\x");
        let home = Path::new("/home/a&b<c>");
        let unit = Keeper::Systemd.filled(program, home).unwrap();
        assert!(unit.contains(
            "\nExecStart=@\"/opt/my tools/50%%/$$HOME/\\\"m\\\"\\\\x\" messagingd --home \"/home/a&b<c>\"\n"
        ));
        let plist = Keeper::Launchd.filled(program, home).unwrap();
        assert!(plist.contains("<string>/home/a&amp;b&lt;c&gt;</string>"));
        for keeper in [Keeper::Systemd, Keeper::Launchd] {
            let text = keeper.filled(program, home).unwrap();
            assert!(Keeper::wrote(&text) && !text.contains("@HOME") && !text.contains("@EXEC"));
            keeper.filled(Path::new("/a\nExecStart=/evil"), home).unwrap_err();
        }
        assert!(!Keeper::wrote("[Unit]\nDescription=mine\n"));
    }
}

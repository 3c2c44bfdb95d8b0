//! The daemon's first line on every connection.
//! Spec: §8.2 "Hello", D1.2

use messaging_core::json;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The IPC protocol of this release.
pub const PROTOCOL: u64 = 1;

/// The release of this build, which a client and its daemon must share exactly.
///
/// A build with debug assertions may be told by `MESSAGING_TEST_RELEASE` to be another release, so that two can meet in a
/// test; one that ships cannot.
#[must_use]
pub fn release() -> &'static str {
    #[cfg(debug_assertions)]
    {
        static PRETENDED: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
        if let Some(release) = PRETENDED.get_or_init(|| std::env::var(RELEASE_VARIABLE).ok()) {
            return release;
        }
    }
    env!("CARGO_PKG_VERSION")
}

/// Where a test says which release to be.
#[cfg(debug_assertions)]
const RELEASE_VARIABLE: &str = "MESSAGING_TEST_RELEASE";

/// The longest hello line, bytes.
pub const HELLO_BYTES: usize = 4_096;

/// Who answers on the socket. Every release keeps this shape, so any client can name the daemon that it found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Hello {
    /// The program.
    pub daemon: Program,
    /// Its release.
    pub version: String,
    /// Its IPC protocol.
    pub protocol: u64,
    /// Its process.
    pub pid: u32,
    /// Set under a host that must grant human and admin calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deployment: Option<Deployment>,
}

/// The one program that says hello.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Program {
    /// The daemon.
    #[serde(rename = "messagingd")]
    Messagingd,
}

/// What runs the daemon, where it is not the person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Deployment {
    /// A Jelly host.
    Jelly,
}

/// Why a client does not talk to the daemon it found. Each is `daemon_mismatch`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mismatch {
    /// The first line is no hello.
    NotAHello,
    /// Another release, or another protocol.
    Release {
        /// The daemon's release, made safe to show.
        daemon: String,
    },
}

impl Hello {
    /// This release's hello.
    pub fn new(pid: u32, deployment: Option<Deployment>) -> Self {
        Self {
            daemon: Program::Messagingd,
            version: release().to_owned(),
            protocol: PROTOCOL,
            pid,
            deployment,
        }
    }

    /// The hello as its line, with the line feed.
    pub fn line(&self) -> Vec<u8> {
        crate::line::print(&json!({ "jsonrpc": "2.0", "method": "hello", "params": self }))
    }

    /// Reads the first line of a connection, of any release.
    ///
    /// Errors: [`Mismatch::NotAHello`].
    pub fn parse(line: &[u8]) -> Result<Self, Mismatch> {
        let read = || {
            let value = json::parse(line, HELLO_BYTES).ok()?;
            let is = |name, text| value.get(name).and_then(Value::as_str) == Some(text);
            if !is("jsonrpc", "2.0") || !is("method", "hello") || value.get("id").is_some() {
                return None;
            }
            json::decode(value.get("params")?).ok()
        };
        read().ok_or(Mismatch::NotAHello)
    }

    /// Whether this build may talk to the daemon.
    ///
    /// Errors: [`Mismatch::Release`], unless release and protocol are exactly this build's.
    pub fn admit(self) -> Result<Self, Mismatch> {
        if self.version == release() && self.protocol == PROTOCOL {
            Ok(self)
        } else {
            let daemon = messaging_core::peer_text::one_line(&self.version, 40);
            Err(Mismatch::Release { daemon })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hello_reads_back() {
        let hello = Hello::new(42, Some(Deployment::Jelly));
        let line = hello.line();
        assert_eq!(line.last(), Some(&b'\n'));
        assert_eq!(Hello::parse(&line).unwrap().admit(), Ok(hello));
    }

    #[test]
    fn later_members_are_ignored_and_other_lines_refused() {
        let line = br#"{"jsonrpc":"2.0","method":"hello","params":{"daemon":"messagingd","version":"9","protocol":1,"pid":1,"later":[]},"x":1}"#;
        let hello = Hello::parse(line).unwrap();
        assert_eq!(hello.admit(), Err(Mismatch::Release { daemon: "9".into() }));
        for bad in [
            &b""[..],
            b"{}",
            b"SSH-2.0-x",
            br#"{"jsonrpc":"2.0","method":"hello","params":{"daemon":"other","version":"1","protocol":1,"pid":1}}"#,
            br#"{"jsonrpc":"2.0","id":1,"method":"hello","params":{"daemon":"messagingd","version":"1","protocol":1,"pid":1}}"#,
            br#"{"jsonrpc":"2.0","method":"hi","params":{"daemon":"messagingd","version":"1","protocol":1,"pid":1}}"#,
        ] {
            assert_eq!(Hello::parse(bad), Err(Mismatch::NotAHello));
        }
        let long = Hello { version: "9".repeat(5_000), ..Hello::new(1, None) };
        assert_eq!(Hello::parse(&long.line()), Err(Mismatch::NotAHello));
    }

    #[test]
    fn another_protocol_is_a_mismatch() {
        let hello = Hello { protocol: 2, ..Hello::new(1, None) };
        assert!(matches!(hello.admit(), Err(Mismatch::Release { .. })));
    }
}

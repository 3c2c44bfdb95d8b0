//! What an OpenCode service wrote about itself, and the words of the call to it.
//! Spec: §8.6, D3.26

use messaging_core::b64;
use messaging_core::ids::Ulid;
use messaging_core::json;
use serde_json::{Value, json};

use super::WakeEnd;

/// The largest registration file, bytes.
pub const REGISTRATION_BYTES: usize = 4_096;

/// An OpenCode service: which process it is and where it listens on this machine. It prints nothing of itself: it may hold
/// a password.
pub struct Registration {
    pid: i64,
    host: &'static str,
    port: u16,
    password: Option<String>,
}

impl Registration {
    /// Reads a registration file.
    ///
    /// Errors: `Malformed` when it is not wire JSON of at most 4 KiB with an integer `pid`, a string `url` and, if at all, a
    /// string `password`; `NotLoopback` when `url` is not a bare `http` origin of this machine.
    pub fn read(bytes: &[u8]) -> Result<Self, WakeEnd> {
        let value = json::parse(bytes, REGISTRATION_BYTES).map_err(|_| WakeEnd::Malformed)?;
        let member = |name| value.get(name);
        let pid = member("pid").and_then(Value::as_i64).ok_or(WakeEnd::Malformed)?;
        let url = member("url").and_then(Value::as_str).ok_or(WakeEnd::Malformed)?;
        let password = match member("password") {
            None => None,
            Some(Value::String(password)) => Some(password.clone()),
            Some(_) => return Err(WakeEnd::Malformed),
        };
        let (host, port) = loopback_origin(url).ok_or(WakeEnd::NotLoopback)?;
        Ok(Self { pid, host, port, password })
    }

    /// Whether it is this process that wrote it. Whether the process is alive, the caller finds out.
    #[must_use]
    pub fn is_of(&self, pid: u32) -> bool {
        self.pid == i64::from(pid)
    }

    /// The host as it stands in the address: `127.0.0.1`, `[::1]` or `localhost`.
    #[must_use]
    pub fn host(&self) -> &'static str {
        self.host
    }

    /// The port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The `authorization` header; none without a password.
    #[must_use]
    pub fn authorization(&self) -> Option<String> {
        let password = self.password.as_ref()?;
        let pair = format!("opencode:{password}");
        Some(format!("Basic {}", b64::encode_standard(pair.as_bytes())))
    }
}

/// Host and port of a bare `http` origin on this machine: no user, no path, no query, nothing but the origin.
fn loopback_origin(url: &str) -> Option<(&'static str, u16)> {
    let rest = url.strip_prefix("http://")?;
    let (host, rest) = HOSTS.iter().find_map(|host| Some((*host, rest.strip_prefix(host)?)))?;
    let port = match rest.strip_prefix(':') {
        None if rest.is_empty() => 80,
        Some(digits) if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) => {
            digits.parse().ok().filter(|port| *port != 0)?
        }
        _ => return None,
    };
    Some((host, port))
}

const HOSTS: [&str; 3] = ["127.0.0.1", "[::1]", "localhost"];

/// The path and query of the call.
#[must_use]
pub fn wake_path(location: &str) -> String {
    let mut path = String::from("/api/rpc/messaging.opencode/wake?location[directory]=");
    for byte in location.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            path.push(char::from(byte));
        } else {
            path.push_str(&format!("%{byte:02X}"));
        }
    }
    path
}

/// The body of the call.
#[must_use]
pub fn wake_body(session_id: &str, ids: &[Ulid]) -> String {
    let ids: Vec<&str> = ids.iter().map(Ulid::as_str).collect();
    json!({"input": {"sessionID": session_id, "envelopeIds": ids}}).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(value: Value) -> Result<Registration, WakeEnd> {
        Registration::read(value.to_string().as_bytes())
    }

    #[test]
    fn a_registration_names_a_process_and_a_place_on_this_machine() {
        let read =
            read(json!({"pid": 7, "url": "http://127.0.0.1:4096", "password": "pw", "later": []}));
        let read = read.ok().unwrap();
        assert!(read.is_of(7) && !read.is_of(8));
        assert_eq!((read.host(), read.port()), ("127.0.0.1", 4096));
        // base64("opencode:pw")
        assert_eq!(read.authorization().as_deref(), Some("Basic b3BlbmNvZGU6cHc="));
        let bare = Registration::read(br#"{"pid":1,"url":"http://localhost"}"#).ok().unwrap();
        assert_eq!((bare.host(), bare.port(), bare.authorization()), ("localhost", 80, None));
    }

    #[test]
    fn what_is_not_a_bare_loopback_origin_is_refused() {
        for url in [
            "https://127.0.0.1:1",
            "http://127.0.0.2:1",
            "http://0.0.0.0:1",
            "http://192.0.2.1:1",
            "http://localhost.evil.example:1",
            "http://127.0.0.1.evil.example:1",
            "http://localhost@evil.example",
            "http://u:p@localhost:1",
            "http://localhost:1/",
            "http://localhost:1/x",
            "http://localhost:1?x",
            "http://localhost:1#x",
            "http://localhost:",
            "http://localhost:0",
            "http://localhost:65536",
            "http://localhost:+1",
            "http://[::2]:1",
            "http://[::ffff:127.0.0.1]:1",
            "HTTP://localhost:1",
            " http://localhost:1",
            "",
        ] {
            let end = read(json!({"pid": 1, "url": url})).err();
            assert_eq!(end, Some(WakeEnd::NotLoopback), "{url}");
        }
    }

    #[test]
    fn a_file_of_another_shape_is_refused() {
        for value in [
            json!([]),
            json!({"url": "http://localhost:1"}),
            json!({"pid": "1", "url": "http://localhost:1"}),
            json!({"pid": 1.5, "url": "http://localhost:1"}),
            json!({"pid": 1}),
            json!({"pid": 1, "url": ["http://localhost:1"]}),
            json!({"pid": 1, "url": "http://localhost:1", "password": 5}),
            json!({"pid": 1, "url": "http://localhost:1", "password": null}),
        ] {
            assert_eq!(read(value.clone()).err(), Some(WakeEnd::Malformed), "{value}");
        }
        let twice = br#"{"pid":1,"pid":2,"url":"http://localhost:1"}"#;
        assert_eq!(Registration::read(twice).err(), Some(WakeEnd::Malformed));
        let mut long = br#"{"pid":1,"url":"http://localhost:1"}"#.to_vec();
        long.resize(REGISTRATION_BYTES, b' ');
        assert!(Registration::read(&long).is_ok());
        long.push(b' ');
        assert_eq!(Registration::read(&long).err(), Some(WakeEnd::Malformed));
    }

    #[test]
    fn a_location_is_escaped_to_the_last_byte() {
        let path = wake_path("/home/x y/&?#%é");
        assert_eq!(
            path,
            "/api/rpc/messaging.opencode/wake?location[directory]=%2Fhome%2Fx%20y%2F%26%3F%23%25%C3%A9"
        );
    }

    #[test]
    fn the_body_names_the_session_and_the_items() {
        let id = Ulid::from_parts(messaging_core::time::Ms(1), [0; 10]);
        let body: Value = serde_json::from_str(&wake_body("s\"1", &[id])).unwrap();
        assert_eq!(body, json!({"input": {"sessionID": "s\"1", "envelopeIds": [id.as_str()]}}));
    }
}

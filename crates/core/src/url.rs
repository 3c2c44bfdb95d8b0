//! Relay addresses: which ones may be dialled, and the origin that names a relay.
//! Spec: §7 "TLS", "Relay id"; W0 "isAllowedRelayUrl"

use alloc::string::String;

use ::url::{Host, Origin, Url};

use crate::json::utf16_len;
use crate::limits::RELAY_URL_CHARS;

/// Whether a client may connect to this URL: `wss` to any host, or `ws` to this machine itself
/// (`localhost`, 127.0.0.0/8 or `[::1]`).
///
/// The text is read as a browser reads it (WHATWG), so `ws://127.1/` names loopback too.
#[must_use]
pub fn is_allowed_relay_url(text: &str) -> bool {
    Url::parse(text).is_ok_and(|url| may_dial(&url))
}

/// The origin of a URL as ASCII text: scheme, host, and the port unless it is the scheme's own.
///
/// This is the relay id of a challenge. `None` for a text that is no URL, and for a URL whose
/// scheme has no origin.
#[must_use]
pub fn origin(text: &str) -> Option<String> {
    match Url::parse(text).ok()?.origin() {
        origin @ Origin::Tuple(..) => Some(origin.ascii_serialization()),
        Origin::Opaque(_) => None,
    }
}

/// Whether the text may stand where a relay URL is kept or shared: one that may be dialled, of at
/// most 512 characters, without user, password or fragment.
#[must_use]
pub fn is_relay_url(text: &str) -> bool {
    utf16_len(text) <= RELAY_URL_CHARS
        && Url::parse(text).is_ok_and(|url| {
            may_dial(&url)
                && url.username().is_empty()
                && url.password().is_none()
                && url.fragment().is_none()
        })
}

fn may_dial(url: &Url) -> bool {
    match url.scheme() {
        "wss" => url.has_host(),
        "ws" => match url.host() {
            Some(Host::Domain(name)) => name == "localhost",
            Some(Host::Ipv4(address)) => address.is_loopback(),
            // Not an IPv4 address written as IPv6: `[::ffff:127.0.0.1]` is another host.
            Some(Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        },
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encrypted_urls_and_loopback_may_be_dialled() {
        for url in [
            "wss://relay.example/v1/connect",
            "wss://10.0.0.1:8443",
            "WSS://Relay.Example/",
            "ws://localhost:8080/v1/connect",
            "ws://LOCALHOST/",
            "ws://127.0.0.1/",
            "ws://127.255.255.254:1/",
            "ws://127.1/",
            "ws://[::1]:8080/",
        ] {
            assert!(is_allowed_relay_url(url), "{url}");
            assert!(is_relay_url(url), "{url}");
        }
    }

    #[test]
    fn nothing_else_may_be_dialled() {
        for url in [
            "",
            "relay.example",
            "wss://",
            "wss:",
            "http://localhost/",
            "https://relay.example/",
            "ws://relay.example/",
            "ws://10.0.0.1/",
            "ws://128.0.0.1/",
            "ws://0.0.0.0/",
            "ws://localhost./",
            "ws://localhost.example/",
            "ws://127.0.0.1.example/",
            "ws://[::2]/",
            "ws://[::ffff:127.0.0.1]/",
            "ws://user@relay.example/",
        ] {
            assert!(!is_allowed_relay_url(url), "{url}");
            assert!(!is_relay_url(url), "{url}");
        }
    }

    #[test]
    fn a_kept_url_has_no_user_no_fragment_and_512_characters_at_most() {
        for url in [
            "wss://u@relay.example/",
            "wss://u:p@relay.example/",
            "wss://:p@relay.example/",
            "wss://relay.example/#x",
        ] {
            assert!(is_allowed_relay_url(url) && !is_relay_url(url), "{url}");
        }
        let base = "wss://relay.example/";
        let long = |chars: usize| alloc::format!("{base}{}", "a".repeat(chars - base.len()));
        assert!(is_relay_url(&long(512)));
        assert!(!is_relay_url(&long(513)));
    }

    #[test]
    fn the_origin_has_no_path_and_no_default_port() {
        for (url, expected) in [
            ("wss://relay.example/v1/connect", "wss://relay.example"),
            ("wss://Relay.Example:443", "wss://relay.example"),
            ("wss://relay.example:80/", "wss://relay.example:80"),
            ("ws://localhost:80/v1/connect", "ws://localhost"),
            ("ws://127.1:8080/", "ws://127.0.0.1:8080"),
            ("ws://[0:0::1]:8080/x", "ws://[::1]:8080"),
            ("wss://bücher.example/", "wss://xn--bcher-kva.example"),
        ] {
            assert_eq!(origin(url).as_deref(), Some(expected), "{url}");
        }
        for url in ["", "relay.example", "data:text/plain,x", "mailto:a@b.example"] {
            assert_eq!(origin(url), None, "{url}");
        }
    }
}

//! Which way leads out: directly, or through the proxy that the environment names.
//!
//! Spec: §7 "TLS"; decision 0024
//!
//! `HTTPS_PROXY`, else `ALL_PROXY`, in upper or lower case; `NO_PROXY` lists what is reached directly. This machine itself
//! always is. A value that is not understood leads nowhere: going round a proxy that somebody named is not ours to decide.

mod tunnel;

use std::fmt;
use std::net::IpAddr;

use messaging_core::b64;
use messaging_daemon_engine::LinkFault;

pub(crate) use tunnel::through;

/// The proxies of an environment.
#[derive(Clone, Debug, Default)]
pub struct Proxies {
    out: Named,
    direct: Vec<Direct>,
}

/// What the environment says of a proxy.
#[derive(Clone, Debug, Default)]
enum Named {
    #[default]
    None,
    At(Proxy),
    /// Something that is no `http` proxy.
    Unknown,
}

/// An HTTP proxy. It prints its place only: it may hold a password.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Proxy {
    pub(crate) host: String,
    pub(crate) port: u16,
    /// The value of `proxy-authorization`.
    pub(crate) authorization: Option<String>,
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// What is reached without a proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Direct {
    Everything,
    /// A name, and every name below it.
    Name(String),
    Net {
        net: IpAddr,
        bits: u8,
    },
}

impl Proxies {
    /// The proxies that variables name.
    pub(crate) fn read(variable: impl Fn(&str) -> Option<String>) -> Self {
        let either =
            |upper: &str| variable(upper).or_else(|| variable(&upper.to_ascii_lowercase()));
        let out = match either("HTTPS_PROXY").or_else(|| either("ALL_PROXY")) {
            None => Named::None,
            Some(text) => proxy(text.trim()).map_or(Named::Unknown, Named::At),
        };
        let direct = either("NO_PROXY").unwrap_or_default();
        Self { out, direct: direct.split([',', ' ']).filter_map(Direct::read).collect() }
    }

    /// The proxy on the way to `host`, a name or an address without brackets; none when it is reached directly.
    ///
    /// Errors: a proxy is named that cannot be used.
    pub(crate) fn towards(&self, host: &str) -> Result<Option<&Proxy>, LinkFault> {
        let name = host.trim_end_matches('.').to_ascii_lowercase();
        let address: Option<IpAddr> = name.parse().ok();
        let own = name == "localhost" || address.is_some_and(|address| address.is_loopback());
        if own || self.direct.iter().any(|direct| direct.holds(&name, address)) {
            return Ok(None);
        }
        match &self.out {
            Named::None => Ok(None),
            Named::At(proxy) => Ok(Some(proxy)),
            Named::Unknown => Err(LinkFault::ProxyUnknown),
        }
    }
}

/// `http://[user[:password]@]host[:port][/]`, or the same without its scheme.
fn proxy(text: &str) -> Option<Proxy> {
    let rest = match text.split_once("://") {
        None => text,
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => rest,
        Some(_) => return None,
    };
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    let (user, place) = match rest.rsplit_once('@') {
        Some((user, place)) => (Some(user), place),
        None => (None, rest),
    };
    let (host, port) = match place.strip_prefix('[') {
        Some(rest) => {
            let (host, port) = rest.split_once(']')?;
            host.parse::<std::net::Ipv6Addr>().ok()?;
            (host, if port.is_empty() { None } else { Some(port.strip_prefix(':')?) })
        }
        None => match place.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (place, None),
        },
    };
    let port = match port {
        None => USUAL_PORT,
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            digits.parse().ok().filter(|port| *port != 0)?
        }
        Some(_) => return None,
    };
    let is_name =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b':');
    if host.is_empty() || !host.bytes().all(is_name) {
        return None;
    }
    let authorization = match user {
        None => None,
        Some(user) => {
            let (name, password) = user.split_once(':').unwrap_or((user, ""));
            let pair = [unescaped(name)?, b":".to_vec(), unescaped(password)?].concat();
            Some(format!("Basic {}", b64::encode_standard(&pair)))
        }
    };
    Some(Proxy { host: host.to_owned(), port, authorization })
}

/// Text whose `%XX` stand for bytes.
fn unescaped(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || rest.next().and_then(|digit| char::from(digit).to_digit(16));
        let value = digit()? * 16 + digit()?;
        bytes.push(u8::try_from(value).ok()?);
    }
    Some(bytes)
}

impl Direct {
    fn read(text: &str) -> Option<Self> {
        let text = text.trim().to_ascii_lowercase();
        if text == "*" {
            return Some(Self::Everything);
        }
        let bare = |text: &str| text.trim_matches(['[', ']']).parse::<IpAddr>().ok();
        if let Some(net) = bare(&text) {
            return Some(Self::Net { net, bits: if net.is_ipv4() { 32 } else { 128 } });
        }
        if let Some((net, bits)) = text.split_once('/') {
            let (net, bits) = (bare(net)?, bits.parse().ok()?);
            return (bits <= if net.is_ipv4() { 32 } else { 128 })
                .then_some(Self::Net { net, bits });
        }
        // A port narrows what goes round the proxy; the relay's own is all there is.
        let name = text.split(':').next().unwrap_or_default();
        let name = name.trim_start_matches("*.").trim_matches('.');
        (!name.is_empty()).then(|| Self::Name(name.to_owned()))
    }

    fn holds(&self, host: &str, address: Option<IpAddr>) -> bool {
        match self {
            Self::Everything => true,
            Self::Name(name) => host
                .strip_suffix(name.as_str())
                .is_some_and(|above| above.is_empty() || above.ends_with('.')),
            Self::Net { net, bits } => match (net, address) {
                (IpAddr::V4(net), Some(IpAddr::V4(address))) => {
                    same(u128::from(net.to_bits()), u128::from(address.to_bits()), 32, *bits)
                }
                (IpAddr::V6(net), Some(IpAddr::V6(address))) => {
                    same(net.to_bits(), address.to_bits(), 128, *bits)
                }
                _ => false,
            },
        }
    }
}

/// Whether two addresses of `width` bits begin with the same `bits`.
fn same(net: u128, address: u128, width: u8, bits: u8) -> bool {
    let rest = u32::from(width.saturating_sub(bits));
    (net ^ address).checked_shr(rest).unwrap_or(0) == 0
}

const USUAL_PORT: u16 = 80;

#[cfg(test)]
mod tests {
    use super::*;

    fn of(set: &[(&str, &str)]) -> Proxies {
        Proxies::read(|name| {
            set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    fn place(set: &[(&str, &str)], host: &str) -> String {
        match of(set).towards(host) {
            Ok(None) => "direct".to_owned(),
            Ok(Some(proxy)) => format!("{proxy:?}"),
            Err(fault) => fault.as_str().to_owned(),
        }
    }

    #[test]
    fn the_proxy_of_https_goes_before_the_one_of_all() {
        assert_eq!(place(&[], "relay.example"), "direct");
        let all = ("ALL_PROXY", "http://all:1");
        assert_eq!(place(&[all], "relay.example"), "all:1");
        assert_eq!(place(&[all, ("HTTPS_PROXY", "https-one:2")], "relay.example"), "https-one:2");
        assert_eq!(place(&[("https_proxy", "http://[::1]:3/")], "relay.example"), "::1:3");
        assert_eq!(place(&[("all_proxy", "http://plain")], "relay.example"), "plain:80");
        // Plain HTTP is never spoken to a relay elsewhere.
        assert_eq!(place(&[("HTTP_PROXY", "http://other:1")], "relay.example"), "direct");
    }

    #[test]
    fn this_machine_and_what_is_listed_are_reached_directly() {
        let through = |no: &str, host: &str| {
            place(&[("HTTPS_PROXY", "http://p:1"), ("NO_PROXY", no)], host) == "p:1"
        };
        for host in ["localhost", "127.0.0.1", "127.9.9.9", "::1", "LOCALHOST."] {
            assert!(!through("", host), "{host}");
        }
        for (no, host) in [
            ("*", "relay.example"),
            ("relay.example", "relay.example"),
            ("RELAY.example", "relay.EXAMPLE."),
            ("a, example ,b", "relay.example"),
            (".example", "relay.example"),
            ("*.example", "deep.relay.example"),
            ("relay.example:443", "relay.example"),
            ("192.0.2.7", "192.0.2.7"),
            ("192.0.2.0/24", "192.0.2.255"),
            ("0.0.0.0/0", "203.0.113.1"),
            ("2001:db8::/32", "2001:db8:1::1"),
            ("[2001:db8::1]", "2001:db8::1"),
        ] {
            assert!(!through(no, host), "{no} {host}");
        }
        for (no, host) in [
            ("", "relay.example"),
            ("lay.example", "relay.example"),
            ("relay.example", "example"),
            ("192.0.2.0/25", "192.0.2.255"),
            ("192.0.2.0/33", "192.0.2.0"),
            ("2001:db8::/32", "192.0.2.1"),
            ("192.0.2.0/24", "relay.example"),
            (",,", "relay.example"),
        ] {
            assert!(through(no, host), "{no} {host}");
        }
    }

    #[test]
    fn a_value_that_is_not_understood_leads_nowhere() {
        for bad in [
            "socks5://p:1",
            "https://p:1",
            "http://",
            "http://p:0",
            "http://p:x",
            "http://p:99999",
            "http://p q:1",
            "http://p/path",
            "http://[p]:1",
            "http://u%zz@p:1",
        ] {
            assert_eq!(
                place(&[("HTTPS_PROXY", bad)], "relay.example"),
                LinkFault::ProxyUnknown.as_str()
            );
        }
        assert_eq!(place(&[("HTTPS_PROXY", "socks5://p:1")], "localhost"), "direct");
    }

    #[test]
    fn a_password_goes_to_the_proxy_and_into_no_text() {
        let proxies = of(&[("HTTPS_PROXY", "http://us%40er:pass%2Fword@p:8080")]);
        let proxy = proxies.towards("relay.example").unwrap().unwrap();
        // base64("us@er:pass/word")
        assert_eq!(proxy.authorization.as_deref(), Some("Basic dXNAZXI6cGFzcy93b3Jk"));
        let shown = format!("{proxies:?}");
        assert!(
            shown.contains("p:8080") && !shown.contains("pass") && !shown.contains("dXN"),
            "{shown}"
        );
        let bare = of(&[("HTTPS_PROXY", "http://user@p")]);
        let bare = bare.towards("relay.example").unwrap().unwrap();
        assert_eq!(bare.authorization.as_deref(), Some("Basic dXNlcjo="));
    }
}

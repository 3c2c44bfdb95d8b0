//! Who is asking: the client's address behind trusted proxies.
//! Spec: §7 "Limits", W5.2 `--trusted-proxy`

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use hyper::HeaderMap;
use hyper::header::HeaderName;

/// The unit of per-address limits: an IPv4 address, or the /64 network of an IPv6 address, which one household can fill
/// with addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientAddress(IpAddr);

impl ClientAddress {
    /// The unit of an address. An IPv4 address written as IPv6 counts as IPv4.
    #[must_use]
    pub fn of(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V6(v6) => {
                let [a, b, c, d, ..] = v6.segments();
                IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
            }
            v4 => v4,
        })
    }

    /// The address that stands for the unit: an IPv4 address, or the first of the network.
    #[must_use]
    pub fn ip(self) -> IpAddr {
        self.0
    }

    /// The unit of the client behind a socket.
    ///
    /// A peer outside the trusted ranges is the client, whatever it claims. A trusted one is a proxy: the client is then the
    /// right-most entry of `X-Forwarded-For` outside the trusted ranges. An entry that is no address ends the search: the
    /// last hop that is known counts.
    #[must_use]
    pub fn behind(peer: IpAddr, headers: &HeaderMap, trusted: &[Network]) -> Self {
        let is_trusted = |address: IpAddr| trusted.iter().any(|network| network.contains(address));
        let mut hop = peer.to_canonical();
        let lines = headers.get_all(FORWARDED_FOR).iter().rev();
        let entries = lines.flat_map(|line| line.to_str().unwrap_or(UNREADABLE).rsplit(','));
        for entry in entries {
            if !is_trusted(hop) {
                break;
            }
            match parse_entry(entry.trim()) {
                Some(address) => hop = address,
                None => break,
            }
        }
        Self::of(hop)
    }
}

impl fmt::Display for ClientAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A range of addresses, written `10.0.0.0/8`, `fd00::/8` or as one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    base: IpAddr,
    bits: u8,
}

impl Network {
    /// Whether an address lies in the range. An IPv4 address written as IPv6 counts as IPv4.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.base, address.to_canonical()) {
            (IpAddr::V4(base), IpAddr::V4(address)) => {
                (base.to_bits() ^ address.to_bits()) & mask_v4(self.bits) == 0
            }
            (IpAddr::V6(base), IpAddr::V6(address)) => {
                (base.to_bits() ^ address.to_bits()) & mask_v6(self.bits) == 0
            }
            _ => false,
        }
    }
}

/// A text that is no network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotANetwork;

impl fmt::Display for NotANetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a range of addresses such as 10.0.0.0/8")
    }
}

impl std::error::Error for NotANetwork {}

impl FromStr for Network {
    type Err = NotANetwork;

    fn from_str(text: &str) -> Result<Self, NotANetwork> {
        let (base, bits) = match text.split_once('/') {
            Some((base, bits)) => (base, Some(bits)),
            None => (text, None),
        };
        let base: IpAddr = base.parse().map_err(|_| NotANetwork)?;
        let most = if base.is_ipv4() { 32 } else { 128 };
        let bits = match bits {
            Some(bits) => bits.parse().ok().filter(|bits| *bits <= most).ok_or(NotANetwork)?,
            None => most,
        };
        Ok(Self { base, bits })
    }
}

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// Stands for a header line that is not text: no address.
const UNREADABLE: &str = "?";

/// An address, with or without a port: `1.2.3.4`, `1.2.3.4:5`, `::1`, `[::1]`, `[::1]:5`.
fn parse_entry(entry: &str) -> Option<IpAddr> {
    if let Ok(address) = entry.parse::<IpAddr>() {
        return Some(address.to_canonical());
    }
    if let Some(bracketed) = entry.strip_prefix('[') {
        let (address, _) = bracketed.split_once(']')?;
        return address.parse::<Ipv6Addr>().ok().map(|v6| IpAddr::V6(v6).to_canonical());
    }
    let (address, _) = entry.split_once(':')?;
    address.parse::<Ipv4Addr>().ok().map(IpAddr::V4)
}

fn mask_v4(bits: u8) -> u32 {
    u32::MAX.checked_shl(32 - u32::from(bits.min(32))).unwrap_or(0)
}

fn mask_v6(bits: u8) -> u128 {
    u128::MAX.checked_shl(128 - u32::from(bits.min(128))).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn behind(peer: &str, lines: &[&str], trusted: &[&str]) -> String {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(FORWARDED_FOR, line.parse().unwrap());
        }
        let trusted: Vec<Network> = trusted.iter().map(|text| text.parse().unwrap()).collect();
        ClientAddress::behind(peer.parse().unwrap(), &headers, &trusted).to_string()
    }

    #[test]
    fn without_a_trusted_proxy_the_peer_is_the_client() {
        assert_eq!(behind("203.0.113.9", &["1.1.1.1"], &[]), "203.0.113.9");
        assert_eq!(behind("203.0.113.9", &["1.1.1.1"], &["10.0.0.0/8"]), "203.0.113.9");
        assert_eq!(behind("::ffff:203.0.113.9", &[], &[]), "203.0.113.9");
    }

    #[test]
    fn behind_one_the_right_most_untrusted_entry_is() {
        let trusted = ["10.0.0.0/8", "fd00::/8"];
        assert_eq!(behind("10.0.0.1", &["6.6.6.6, 1.1.1.1, 10.9.9.9"], &trusted), "1.1.1.1");
        assert_eq!(
            behind("10.0.0.1", &["6.6.6.6", "1.1.1.1"], &trusted),
            "1.1.1.1",
            "lines join in order"
        );
        assert_eq!(behind("fd00::5", &["1.1.1.1:4711"], &trusted), "1.1.1.1");
        assert_eq!(behind("10.0.0.1", &["[2001:db8:1:2:3::4]:80"], &trusted), "2001:db8:1:2::");
        assert_eq!(
            behind("10.0.0.1", &["10.1.1.1"], &trusted),
            "10.1.1.1",
            "none untrusted: the farthest"
        );
        assert_eq!(behind("10.0.0.1", &[], &trusted), "10.0.0.1");
    }

    #[test]
    fn what_cannot_be_read_is_not_believed() {
        let trusted = ["10.0.0.0/8"];
        assert_eq!(behind("10.0.0.1", &["1.1.1.1, unknown"], &trusted), "10.0.0.1");
        assert_eq!(behind("10.0.0.1", &["1.1.1.1, unknown, 10.2.2.2"], &trusted), "10.2.2.2");
        assert_eq!(behind("10.0.0.1", &[""], &trusted), "10.0.0.1");
        let mut headers = HeaderMap::new();
        headers.append(FORWARDED_FOR, hyper::header::HeaderValue::from_bytes(b"\xff").unwrap());
        let trusted = ["10.0.0.0/8".parse().unwrap()];
        assert_eq!(
            ClientAddress::behind("10.0.0.1".parse().unwrap(), &headers, &trusted).to_string(),
            "10.0.0.1"
        );
    }

    #[test]
    fn ipv6_counts_by_its_64_bit_network() {
        let unit = |text: &str| ClientAddress::of(text.parse().unwrap());
        assert_eq!(unit("2001:db8:1:2:aaaa::1"), unit("2001:db8:1:2:bbbb::2"));
        assert_ne!(unit("2001:db8:1:2::"), unit("2001:db8:1:3::"));
        assert_ne!(unit("192.0.2.1"), unit("192.0.2.2"));
    }

    #[test]
    fn networks_are_read_and_hold_what_they_should() {
        let holds = |network: &str, address: &str| {
            network.parse::<Network>().unwrap().contains(address.parse().unwrap())
        };
        assert!(holds("10.0.0.0/8", "10.255.0.1") && !holds("10.0.0.0/8", "11.0.0.1"));
        assert!(holds("10.1.2.3", "10.1.2.3") && !holds("10.1.2.3", "10.1.2.4"));
        assert!(holds("0.0.0.0/0", "203.0.113.9") && !holds("0.0.0.0/0", "2001:db8::1"));
        assert!(holds("fd00::/8", "fdff::1") && !holds("fd00::/8", "fe80::1"));
        assert!(holds("::/0", "2001:db8::1") && !holds("::/0", "10.0.0.1"));
        assert!(holds("10.0.0.0/8", "::ffff:10.0.0.1"));
        for text in [
            "",
            "10.0.0.0/33",
            "::/129",
            "10.0.0.0/-1",
            "10.0.0/8",
            "localhost",
            "10.0.0.0/",
            "1.2.3.4/8/8",
        ] {
            assert_eq!(text.parse::<Network>(), Err(NotANetwork), "{text}");
        }
    }
}

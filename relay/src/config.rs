//! What an operator can set: every flag, its environment twin, and what they mean together.
//! Spec: §7 "Limits", W5.2, R9
//!
//! A flag wins over its `MESSAGING_RELAY_*` twin. Repeatable ones take commas. Limits of the protocol that no operator should
//! touch are fields of [`Config`] without a flag, for tests and benches.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::Parser;
use messaging_core::ids::MachineId;
use messaging_core::{limits, url};
use messaging_relay_engine::{GenesisPolicy, RelayLimits};
use messaging_runtime::log::Level;

use crate::address::Network;

/// Everything that one relay process is told.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where it listens. Port 0 takes a free one.
    pub listen: Listen,
    /// The database file.
    pub db: PathBuf,
    /// The public origin; `None` is `ws://<listen>`, which only a loopback address may have.
    pub relay_id: Option<RelayId>,
    /// Who may found a team.
    pub genesis: GenesisPolicy,
    /// The proxies whose `X-Forwarded-For` is believed.
    pub trusted_proxies: Vec<Network>,
    /// Connections before `hello`, in total.
    pub preauth_connections: usize,
    /// Connections before `hello`, from one client address.
    pub preauth_per_address: usize,
    /// The other bounds on what the process holds. Those without a flag are the protocol's numbers.
    pub limits: RelayLimits,
    /// Events of this level and above are logged.
    pub log_level: Level,
    /// How long connections may be silent, slow or late. No flags: the protocol's numbers.
    pub timings: Timings,
}

/// The waits of the connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timings {
    /// A WebSocket ping goes out this often.
    pub ping: Duration,
    /// A connection is dead after this silence.
    pub silence: Duration,
    /// A request's head must be there within this time.
    pub request: Duration,
    /// A close must be through within this time.
    pub close: Duration,
}

impl Default for Timings {
    fn default() -> Self {
        Self {
            ping: Duration::from_millis(limits::KEEP_ALIVE_PING_MS),
            silence: Duration::from_millis(limits::KEEP_ALIVE_DEAD_MS),
            request: Duration::from_secs(10),
            close: Duration::from_secs(5),
        }
    }
}

/// An address to listen on: a name or an IP address, and a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listen {
    /// The host; an IPv6 address stands without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl Listen {
    /// Whether only this machine can connect.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        self.host == "localhost" || self.host.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
    }

    /// The address with another port.
    #[must_use]
    pub fn with_port(&self, port: u16) -> Self {
        Self { host: self.host.clone(), port }
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

impl FromStr for Listen {
    type Err = Wrong;

    fn from_str(text: &str) -> Result<Self, Wrong> {
        const RULE: Wrong = Wrong("give a host and a port, such as 127.0.0.1:8080 or [::1]:8080");
        let (host, port) = text.rsplit_once(':').ok_or(RULE)?;
        let port = port.parse().map_err(|_| RULE)?;
        let bracketed = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let host = bracketed.unwrap_or(host);
        if host.is_empty() || (host.contains(':') && bracketed.is_none()) {
            return Err(RULE);
        }
        Ok(Self { host: host.to_owned(), port })
    }
}

/// The relay's public origin, exactly as clients compute it from the URL they dial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelayId(String);

impl RelayId {
    /// The origin's text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The origin of a relay that only this machine can reach.
    ///
    /// Errors: the address is not loopback.
    pub fn of_loopback(listen: &Listen) -> Result<Self, Wrong> {
        const RULE: Wrong =
            Wrong("name the public origin with --relay-id, such as wss://relay.example");
        if !listen.is_loopback() {
            return Err(RULE);
        }
        url::origin(&format!("ws://{listen}")).map(Self).ok_or(RULE)
    }
}

impl FromStr for RelayId {
    type Err = Wrong;

    fn from_str(text: &str) -> Result<Self, Wrong> {
        // Clients compare it as text: an origin written otherwise would refuse every one of them.
        if url::origin(text).as_deref() == Some(text) && url::is_relay_url(text) {
            Ok(Self(text.to_owned()))
        } else {
            Err(Wrong(
                "give an origin without a path, such as wss://relay.example (ws:// only for this machine)",
            ))
        }
    }
}

/// A value that breaks a rule: the rule, never the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wrong(&'static str);

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Wrong {}

impl Config {
    /// Reads the command line, its program's name first, and the environment.
    ///
    /// Errors: the text to show and the status to end with, 2 for a bad flag, 0 for `--help` and `--version`.
    pub fn read(args: impl IntoIterator<Item = OsString>) -> Result<Self, clap::Error> {
        let flags = Flags::try_parse_from(args)?;
        Self::of(flags).map_err(|wrong| {
            clap::Error::raw(clap::error::ErrorKind::ValueValidation, format!("{wrong}\n"))
        })
    }

    /// What a relay of this machine alone is told when nothing is said: a free loopback port, and `db`.
    #[must_use]
    pub fn loopback(db: PathBuf) -> Self {
        Self {
            listen: Listen { host: "127.0.0.1".to_owned(), port: 0 },
            db,
            relay_id: None,
            genesis: nobody(),
            trusted_proxies: Vec::new(),
            preauth_connections: PREAUTH_CONNECTIONS,
            preauth_per_address: PREAUTH_PER_ADDRESS,
            limits: RelayLimits::default(),
            log_level: Level::Info,
            timings: Timings::default(),
        }
    }

    fn of(flags: Flags) -> Result<Self, Wrong> {
        if flags.relay_id.is_none() {
            RelayId::of_loopback(&flags.listen)?;
        }
        Ok(Self {
            listen: flags.listen,
            relay_id: flags.relay_id,
            genesis: founders(&flags.genesis_allow)?,
            trusted_proxies: flags.trusted_proxy,
            preauth_connections: flags.preauth_connections,
            preauth_per_address: flags.preauth_per_address,
            limits: RelayLimits {
                connections: flags.max_connections,
                buffered_bytes: flags.max_buffered_bytes,
                queue_rows: flags.queue_rows,
                queue_bytes: flags.queue_bytes,
                seen_total: flags.seen_rows,
                seen_per_sender: flags.seen_per_sender,
                max_teams: flags.max_teams,
                ..RelayLimits::default()
            },
            log_level: flags.log_level,
            ..Self::loopback(flags.db)
        })
    }
}

fn nobody() -> GenesisPolicy {
    GenesisPolicy::Machines(BTreeSet::new())
}

fn founders(words: &[String]) -> Result<GenesisPolicy, Wrong> {
    match words {
        [word] if word == "none" => Ok(nobody()),
        [word] if word == "any" => Ok(GenesisPolicy::Any),
        words => words
            .iter()
            .map(|word| MachineId::parse(word))
            .collect::<Result<_, _>>()
            .map(GenesisPolicy::Machines)
            .map_err(|_| Wrong("--genesis-allow takes machine ids, or `any` or `none` alone")),
    }
}

const PREAUTH_CONNECTIONS: usize = 1024;
const PREAUTH_PER_ADDRESS: usize = 128;

/// The relay of messaging/1: routes sealed envelopes between the machines of teams, and keeps them until they are taken.
///
/// TLS ends in front of it. Log lines go to stderr, one JSON object each.
#[derive(Debug, Parser)]
#[command(
    name = "messaging-relay",
    version = concat!(env!("CARGO_PKG_VERSION"), " (store schema 1, protocol messaging/1)"),
    after_help = "Each flag has a twin in the environment, MESSAGING_RELAY_<FLAG>; a flag wins. Repeatable flags take commas."
)]
struct Flags {
    /// The address to listen on
    #[arg(
        long,
        value_name = "HOST:PORT",
        env = "MESSAGING_RELAY_LISTEN",
        default_value = "127.0.0.1:8080"
    )]
    listen: Listen,

    /// The database file, made when it is missing
    #[arg(long, value_name = "PATH", env = "MESSAGING_RELAY_DB", default_value = "./relay.db")]
    db: PathBuf,

    /// The origin under which clients reach this relay; ws://<listen> on loopback
    #[arg(long, value_name = "ORIGIN", env = "MESSAGING_RELAY_RELAY_ID")]
    relay_id: Option<RelayId>,

    /// Who may found a team: machine ids, `any` or `none`; repeatable [default: none]
    #[arg(
        long,
        value_name = "MACHINE|any|none",
        env = "MESSAGING_RELAY_GENESIS_ALLOW",
        value_delimiter = ','
    )]
    genesis_allow: Vec<String>,

    /// A proxy whose X-Forwarded-For is believed; repeatable [default: none]
    #[arg(long, value_name = "CIDR", env = "MESSAGING_RELAY_TRUSTED_PROXY", value_delimiter = ',')]
    trusted_proxy: Vec<Network>,

    /// Authenticated connections in total
    #[arg(long, value_name = "N", env = "MESSAGING_RELAY_MAX_CONNECTIONS", default_value_t = RelayLimits::default().connections, value_parser = count)]
    max_connections: usize,

    /// Bytes buffered for sending, over all connections
    #[arg(long, value_name = "BYTES", env = "MESSAGING_RELAY_MAX_BUFFERED_BYTES", default_value_t = RelayLimits::default().buffered_bytes, value_parser = bytes)]
    max_buffered_bytes: usize,

    /// Connections that have not authenticated yet, in total
    #[arg(long, value_name = "N", env = "MESSAGING_RELAY_PREAUTH_CONNECTIONS", default_value_t = PREAUTH_CONNECTIONS, value_parser = count)]
    preauth_connections: usize,

    /// The same, from one client address (IPv6: one /64 network)
    #[arg(long, value_name = "N", env = "MESSAGING_RELAY_PREAUTH_PER_ADDRESS", default_value_t = PREAUTH_PER_ADDRESS, value_parser = count)]
    preauth_per_address: usize,

    /// Envelopes waiting, in total
    #[arg(long, value_name = "N", env = "MESSAGING_RELAY_QUEUE_ROWS", default_value_t = RelayLimits::default().queue_rows, value_parser = at_least_1())]
    queue_rows: u64,

    /// Bytes of waiting envelopes, in total
    #[arg(long, value_name = "BYTES", env = "MESSAGING_RELAY_QUEUE_BYTES", default_value_t = RelayLimits::default().queue_bytes, value_parser = at_least_1())]
    queue_bytes: u64,

    /// Ids remembered against resends, in total
    #[arg(long, value_name = "N", env = "MESSAGING_RELAY_SEEN_ROWS", default_value_t = RelayLimits::default().seen_total, value_parser = at_least_1())]
    seen_rows: u64,

    /// Ids remembered against resends, of one sender machine
    #[arg(long, value_name = "N", env = "MESSAGING_RELAY_SEEN_PER_SENDER", default_value_t = RelayLimits::default().seen_per_sender, value_parser = at_least_1())]
    seen_per_sender: u64,

    /// Teams kept, in total
    #[arg(long, value_name = "N", env = "MESSAGING_RELAY_MAX_TEAMS", default_value_t = RelayLimits::default().max_teams, value_parser = at_least_1())]
    max_teams: u64,

    /// The least important events that are logged: error, warn, info or debug
    #[arg(long, value_name = "LEVEL", env = "MESSAGING_RELAY_LOG_LEVEL", default_value = "info", value_parser = level)]
    log_level: Level,
}

fn at_least_1() -> clap::builder::RangedU64ValueParser {
    // The store counts in signed integers.
    clap::value_parser!(u64).range(1..=i64::MAX.unsigned_abs())
}

fn count(text: &str) -> Result<usize, Wrong> {
    match text.parse() {
        Ok(n @ 1..=MOST_CONNECTIONS) => Ok(n),
        _ => Err(Wrong("give a whole number from 1 to 1000000")),
    }
}

/// More than one process can hold.
const MOST_CONNECTIONS: usize = 1_000_000;

fn bytes(text: &str) -> Result<usize, Wrong> {
    match text.parse() {
        Ok(n @ 1..) => Ok(n),
        _ => Err(Wrong("give a whole number, at least 1")),
    }
}

fn level(text: &str) -> Result<Level, Wrong> {
    Level::parse(text).ok_or(Wrong("give one of error, warn, info, debug"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    fn read(args: &[&str]) -> Result<Config, clap::Error> {
        let args = std::iter::once("messaging-relay").chain(args.iter().copied());
        Config::read(args.map(OsString::from))
    }

    #[test]
    fn the_flags_are_well_formed_and_each_has_its_twin() {
        let command = Flags::command();
        command.clone().debug_assert();
        for flag in command
            .get_arguments()
            .filter(|flag| flag.get_id() != "help" && flag.get_id() != "version")
        {
            let expected = format!("MESSAGING_RELAY_{}", flag.get_id().as_str().to_uppercase());
            assert_eq!(flag.get_env().and_then(|env| env.to_str()), Some(expected.as_str()));
        }
    }

    #[test]
    fn the_defaults_are_the_tables() {
        let config = read(&[]).unwrap();
        assert_eq!(config.listen.to_string(), "127.0.0.1:8080");
        assert_eq!(config.db, PathBuf::from("./relay.db"));
        assert_eq!(config.relay_id, None);
        assert_eq!(config.genesis, nobody());
        assert!(config.trusted_proxies.is_empty());
        assert_eq!((config.preauth_connections, config.preauth_per_address), (1024, 128));
        assert_eq!(config.limits, RelayLimits::default());
        assert_eq!((config.limits.connections, config.limits.buffered_bytes), (8192, 268_435_456));
        assert_eq!(
            (config.limits.queue_rows, config.limits.queue_bytes),
            (1_000_000, 4_294_967_296)
        );
        assert_eq!((config.limits.seen_total, config.limits.seen_per_sender), (5_000_000, 200_000));
        assert_eq!((config.limits.max_teams, config.limits.frames_per_minute), (10_000, 600));
        assert_eq!(config.log_level, Level::Info);
    }

    #[test]
    fn a_public_relay_must_name_its_origin() {
        let error = read(&["--listen", "0.0.0.0:8080"]).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert!(error.to_string().contains("--relay-id"), "{error}");
        let config =
            read(&["--listen", "0.0.0.0:8080", "--relay-id", "wss://relay.example"]).unwrap();
        assert_eq!(config.relay_id.unwrap().as_str(), "wss://relay.example");
        for bad in [
            "wss://relay.example/",
            "wss://Relay.example",
            "wss://relay.example:443",
            "ws://relay.example",
            "https://relay.example",
            "relay.example",
        ] {
            assert_eq!(read(&["--relay-id", bad]).unwrap_err().exit_code(), 2, "{bad}");
        }
    }

    #[test]
    fn a_loopback_relay_is_named_by_where_it_listens() {
        let id = |listen: &str| {
            RelayId::of_loopback(&listen.parse().unwrap()).map(|id| id.as_str().to_owned())
        };
        assert_eq!(id("127.0.0.1:8080").as_deref(), Ok("ws://127.0.0.1:8080"));
        assert_eq!(id("localhost:80").as_deref(), Ok("ws://localhost"));
        assert_eq!(id("[::1]:9").as_deref(), Ok("ws://[::1]:9"));
        assert!(
            id("[::]:9").is_err() && id("192.0.2.1:9").is_err() && id("relay.example:9").is_err()
        );
    }

    #[test]
    fn listening_addresses_are_read() {
        for text in ["127.0.0.1:0", "[::1]:8080", "localhost:1", "0.0.0.0:65535"] {
            assert_eq!(text.parse::<Listen>().unwrap().to_string(), text);
        }
        for text in
            ["", "8080", ":8080", "127.0.0.1", "127.0.0.1:x", "127.0.0.1:65536", "::1:8080", "[]:1"]
        {
            assert!(text.parse::<Listen>().is_err(), "{text}");
        }
    }

    #[test]
    fn founders_are_machines_or_one_word() {
        let machine = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
        let one = GenesisPolicy::Machines(BTreeSet::from([MachineId::parse(machine).unwrap()]));
        let genesis = |args: &[&str]| read(args).map(|config| config.genesis);
        assert_eq!(genesis(&["--genesis-allow", "any"]).unwrap(), GenesisPolicy::Any);
        assert_eq!(genesis(&["--genesis-allow", "none"]).unwrap(), nobody());
        let twice = format!("{machine},{machine}");
        assert_eq!(genesis(&["--genesis-allow", &twice]).unwrap(), one);
        assert_eq!(
            genesis(&["--genesis-allow", machine, "--genesis-allow", machine]).unwrap(),
            one
        );
        for bad in ["", "anyone", "any,none"] {
            assert_eq!(genesis(&["--genesis-allow", bad]).unwrap_err().exit_code(), 2, "{bad}");
        }
        assert!(genesis(&["--genesis-allow", "any", "--genesis-allow", machine]).is_err());
    }

    #[test]
    fn bad_flags_end_with_2_and_help_with_0() {
        for args in [
            ["--max-connections", "0"],
            ["--max-connections", "-1"],
            ["--queue-rows", "1.5"],
            ["--log-level", "loud"],
            ["--trusted-proxy", "10.0.0.0/33"],
            ["--directory", "on"],
            ["--metrics", "127.0.0.1:9"],
            ["--listen", "nowhere"],
            ["--max-teams", "0"],
        ] {
            assert_eq!(read(&args).unwrap_err().exit_code(), 2, "{args:?}");
        }
        assert_eq!(read(&["--help"]).unwrap_err().exit_code(), 0);
        let version = read(&["--version"]).unwrap_err();
        assert_eq!(version.exit_code(), 0);
        let expected = concat!(
            "messaging-relay ",
            env!("CARGO_PKG_VERSION"),
            " (store schema 1, protocol messaging/1)\n"
        );
        assert_eq!(version.to_string(), expected);
    }
}

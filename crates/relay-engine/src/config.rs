//! What an operator decides for the relay's brain.
//! Spec: §7 "Limits", W5.2

use std::collections::BTreeSet;

use messaging_core::ids::MachineId;
use messaging_core::limits;

/// Everything the brain is told at start.
#[derive(Clone, Debug)]
pub struct Config {
    /// The relay's public origin, exactly as clients dial it: the `relay` of every challenge.
    pub relay: String,
    /// Who may found a team here.
    pub genesis: GenesisPolicy,
    /// The bounds on what one process holds.
    pub limits: RelayLimits,
}

impl Config {
    /// A relay that founds no team, with the default limits.
    #[must_use]
    pub fn new(relay: impl Into<String>) -> Self {
        Self {
            relay: relay.into(),
            genesis: GenesisPolicy::Machines(BTreeSet::new()),
            limits: RelayLimits::default(),
        }
    }
}

/// Who may found a team.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GenesisPolicy {
    /// Whoever asks.
    Any,
    /// These machines; with none of them, nobody.
    Machines(BTreeSet<MachineId>),
}

impl GenesisPolicy {
    /// Whether `machine` may found a team.
    #[must_use]
    pub fn allows(&self, machine: &MachineId) -> bool {
        match self {
            Self::Any => true,
            Self::Machines(machines) => machines.contains(machine),
        }
    }
}

/// The bounds on what one relay process holds. Every value is at least 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelayLimits {
    /// Authenticated connections.
    pub connections: usize,
    /// Bytes waiting to be sent, all sockets together.
    pub buffered_bytes: usize,
    /// Bytes waiting to be sent to one socket.
    pub socket_bytes: usize,
    /// Frames before `hello`, `hello` included.
    pub pre_auth_frames: u32,
    /// From connecting to a valid `hello`, ms.
    pub hello_timeout_ms: u64,
    /// Frames a minute of one machine.
    pub frames_per_minute: u64,
    /// Bytes a minute of one machine.
    pub bytes_per_minute: u64,
    /// Unexpired envelopes from one machine to another.
    pub queue_per_sender: u64,
    /// Envelopes for one machine.
    pub queue_per_machine: u64,
    /// Bytes of envelopes for one machine; one sender may fill a quarter.
    pub queue_bytes_per_machine: u64,
    /// Envelopes in the whole queue.
    pub queue_rows: u64,
    /// Bytes in the whole queue.
    pub queue_bytes: u64,
    /// Remembered envelope ids of one machine.
    pub seen_per_sender: u64,
    /// Remembered envelope ids.
    pub seen_total: u64,
    /// Unacknowledged deliveries from one sender on one link.
    pub delivery_window: usize,
    /// Until an unacknowledged delivery is sent again, ms; doubling.
    pub redeliver_min_ms: u64,
    /// The longest such wait, ms.
    pub redeliver_max_ms: u64,
    /// Teams stored.
    pub max_teams: u64,
    /// Teams founded an hour from one client address.
    pub team_creates_per_hour: u64,
}

impl Default for RelayLimits {
    fn default() -> Self {
        Self {
            connections: 8_192,
            buffered_bytes: 256 * MIB,
            socket_bytes: 16 * MIB,
            pre_auth_frames: limits::PRE_AUTH_FRAMES,
            hello_timeout_ms: limits::HELLO_TIMEOUT_MS,
            frames_per_minute: limits::RELAY_FRAMES_PER_MINUTE,
            bytes_per_minute: limits::RELAY_BYTES_PER_MINUTE,
            queue_per_sender: limits::QUEUE_PER_SENDER,
            queue_per_machine: limits::QUEUE_PER_MACHINE,
            queue_bytes_per_machine: limits::QUEUE_BYTES_PER_MACHINE,
            queue_rows: 1_000_000,
            queue_bytes: 4_294_967_296,
            seen_per_sender: limits::SEEN_PER_SENDER,
            seen_total: limits::SEEN_TOTAL,
            delivery_window: limits::DELIVERY_WINDOW,
            redeliver_min_ms: limits::REDELIVER_MIN_MS,
            redeliver_max_ms: limits::REDELIVER_MAX_MS,
            max_teams: 10_000,
            team_creates_per_hour: limits::GENESIS_PER_HOUR,
        }
    }
}

const MIB: usize = 1_048_576;

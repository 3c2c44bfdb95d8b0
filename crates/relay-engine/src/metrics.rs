//! What the relay's brain counts. Every label comes from a fixed vocabulary.
//! Spec: §7 "Metrics", W5.12

use std::collections::BTreeMap;

use messaging_core::code::Code;
use messaging_store::Commit;

use crate::events::{Place, Slow};

/// Counters since the start of the process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metrics {
    /// Frames by type; unknown types are `other`.
    pub frames_in: BTreeMap<&'static str, u64>,
    /// Frames by type.
    pub frames_out: BTreeMap<&'static str, u64>,
    /// Refusals with an id, by code.
    pub nacks: BTreeMap<Code, u64>,
    /// Refused `hello`s, by code.
    pub auth_failures: BTreeMap<Code, u64>,
    /// `hello`s refused because the relay was full.
    pub refused_full: u64,
    /// Frames over a machine's budget.
    pub rate_limited: u64,
    /// Sends refused for a full queue.
    pub queue_full: u64,
    /// Sends refused because too many ids are remembered.
    pub seen_full: u64,
    /// Rows deleted at expiry: `queue`, `seen`, `presence`.
    pub purged: BTreeMap<&'static str, u64>,
    /// Sockets dropped for falling behind.
    pub slow_terminations: BTreeMap<Slow, u64>,
    /// Commits by duration: counts of those at most [`COMMIT_BUCKETS_NS`] long, each bucket apart, the last one for longer ones.
    pub commit_buckets: [u64; COMMIT_BUCKETS_NS.len() + 1],
    /// Commits.
    pub commits: u64,
    /// Time in commits, ns.
    pub commit_nanos: u64,
    /// Writes committed.
    pub commit_writes: u64,
    /// Writes that failed with a store error.
    pub store_errors: u64,
    /// Failures that were caught, by place.
    pub internal_errors: BTreeMap<Place, u64>,
}

/// What stands now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gauges {
    /// Connections before `hello`.
    pub connections_preauth: u64,
    /// Links.
    pub connections_auth: u64,
    /// Rows of the queue, expired ones not purged yet included.
    pub queue_rows: u64,
    /// Their bytes.
    pub queue_bytes: u64,
    /// Remembered ids.
    pub seen_rows: u64,
    /// Bytes waiting to be sent, all sockets.
    pub buffered_bytes: u64,
    /// Whether writes fail.
    pub store_failing: bool,
}

/// The upper bounds of the buckets of `relay_commit_seconds`, ns.
pub const COMMIT_BUCKETS_NS: [u64; 12] = [
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    25_000_000,
    50_000_000,
    100_000_000,
    250_000_000,
    500_000_000,
    1_000_000_000,
    2_500_000_000,
    5_000_000_000,
];

impl Metrics {
    pub(crate) fn committed(&mut self, commit: &Commit) {
        if commit.writes == 0 {
            return;
        }
        let bucket = COMMIT_BUCKETS_NS.partition_point(|bound| *bound < commit.nanos);
        if let Some(count) = self.commit_buckets.get_mut(bucket) {
            *count += 1;
        }
        self.commits += 1;
        self.commit_nanos += commit.nanos;
        self.commit_writes += commit.writes;
    }

    pub(crate) fn internal(&mut self, place: Place) {
        *self.internal_errors.entry(place).or_default() += 1;
    }

    pub(crate) fn purged(&mut self, table: &'static str, rows: u64) {
        *self.purged.entry(table).or_default() += rows;
    }
}

/// Counts one more.
pub(crate) fn count<K: Ord>(counts: &mut BTreeMap<K, u64>, key: K) {
    *counts.entry(key).or_default() += 1;
}

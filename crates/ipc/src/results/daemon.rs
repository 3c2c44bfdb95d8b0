//! What `daemon.*` and `wake.*` return.
//! Spec: D1.7 rows 49, 52, 53

use messaging_core::time::Ms;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::scalars::True;

/// The daemon stops now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stopping {
    /// Always true.
    pub ok: True,
    /// The process that will be gone.
    pub pid: u32,
}

/// One file of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SnapshotFile {
    /// Its name in the folder.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// Its SHA-256, lower-case hex.
    pub sha256: String,
}

/// A snapshot that is held, or one that was let go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, rename_all_fields = "camelCase")]
pub enum Snapshotted {
    /// Held until it is let go.
    Held {
        /// The folder.
        folder: String,
        /// Its files.
        files: Vec<SnapshotFile>,
        /// The store's schema.
        store_schema: u64,
        /// The moment it shows.
        at: Ms,
        /// When the daemon lets it go by itself.
        until: Ms,
    },
    /// Let go.
    Released {
        /// False when none was held.
        released: bool,
    },
}

/// Whether the relay has the wake ticket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WakeState {
    /// It has.
    Armed,
    /// It gets it at the next welcome.
    Pending,
}

/// A wake ticket left at the relay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WakeArmed {
    /// Whether the relay has it.
    pub relay: WakeState,
    /// How many requests wait for an answer.
    pub awaiting: u64,
}

//! Every constant of the protocol, with its unit.
//! Spec: W1, D0
//!
//! An unmarked value is decided by this implementation's specification; a section number marks where the
//! prose fixes it.

/// Deepest nesting of a JSON value; the outermost container is 1. §2
pub const JSON_DEPTH: usize = 32;
/// Largest relay frame after `hello`, bytes.
pub const FRAME_BYTES: usize = 1_048_576;
/// Largest relay frame before `hello`, bytes. §7
pub const PRE_AUTH_FRAME_BYTES: usize = 32_768;
/// Largest frame from a relay to a client: one full page of entries.
pub const ROSTER_FRAME_BYTES: usize = 4_259_840;
/// Largest envelope less its body, bytes of JCS.
pub const HEADER_BYTES: usize = 4_096;
/// Largest payload before sealing, bytes of JCS.
pub const PLAINTEXT_BYTES: usize = 524_288;
/// Longest sealed body, base64url characters: `PLAINTEXT_BYTES` + tag.
pub const BODY_CHARS: usize = 699_072;
/// Largest presence payload, bytes of JCS. §6.5
pub const PRESENCE_BYTES: usize = 65_536;
/// Shortest time between two presences of a machine, ms. §6.5
pub const PRESENCE_INTERVAL_MS: u64 = 2_000;
/// Longest time between two presences while connected, ms. §6.5
pub const PRESENCE_HEARTBEAT_MS: u64 = 60_000;
/// Presences allowed at once.
pub const PRESENCE_BURST: u64 = 5;
/// Most sessions in one presence.
pub const PRESENCE_SESSIONS: usize = 256;
/// Longest `repo`, `branch`, `doing`, UTF-16 units.
pub const PRESENCE_TEXT: usize = 200;
/// Most features of a presence or session.
pub const FEATURES: usize = 16;
/// Longest feature name, UTF-16 units.
pub const FEATURE_CHARS: usize = 64;
/// Longest life of an envelope and of an invite, ms (7 days). §4
pub const TTL_MS: u64 = 604_800_000;
/// Clock difference that is tolerated, ms (5 minutes).
pub const CLOCK_SKEW_MS: u64 = 300_000;
/// Most entries in one page. §7
pub const ROSTER_PAGE_ENTRIES: usize = 256;
/// Largest entry, bytes of JCS. §7
pub const ROSTER_ENTRY_BYTES: usize = 16_384;
/// Most unexpired envelopes from one sender waiting for one recipient. §7
pub const QUEUE_PER_SENDER: u64 = 1_000;
/// Most unexpired envelopes waiting for one recipient. §7
pub const QUEUE_PER_MACHINE: u64 = 10_000;
/// Most bytes waiting for one recipient. §7
pub const QUEUE_BYTES_PER_MACHINE: u64 = 268_435_456;
/// Most unacked deliveries per link and sender. §7
pub const DELIVERY_WINDOW: usize = 64;
/// First redelivery after this long, ms. §7
pub const REDELIVER_MIN_MS: u64 = 10_000;
/// Longest wait between redeliveries, ms. §7
pub const REDELIVER_MAX_MS: u64 = 60_000;
/// Frames a machine may send a minute. §7
pub const RELAY_FRAMES_PER_MINUTE: u64 = 600;
/// Bytes a machine may send a minute. §7
pub const RELAY_BYTES_PER_MINUTE: u64 = 33_554_432;
/// Frames before `hello`, `hello` included. §7
pub const PRE_AUTH_FRAMES: u32 = 8;
/// From connect to a valid `hello`, ms. §7
pub const HELLO_TIMEOUT_MS: u64 = 10_000;
/// Largest `recv.ack` paid for by its delivery, bytes. §7
pub const RECV_ACK_FREE_BYTES: usize = 128;
/// Teams founded an hour per client address.
pub const GENESIS_PER_HOUR: u64 = 10;
/// Mail taken from one machine a minute. §8.3
pub const INBOUND_PER_MACHINE_PER_MINUTE: u64 = 60;
/// Messages between two agents within the guard's window.
pub const LOOP_GUARD_MAX: u32 = 30;
/// The guard's window, ms.
pub const LOOP_GUARD_WINDOW_MS: u64 = 600_000;
/// Follow-ups kept on a task record. §6.1
pub const TASK_FOLLOW_UPS: usize = 20;
/// An interrupted task ends after this long, ms. §6.3
pub const TASK_INPUT_TIMEOUT_MS: u64 = 86_400_000;
/// Most grants in a delegation chain. §6.7
pub const DELEGATION_DEPTH: usize = 4;
/// Largest delegation chain, bytes of JCS. §6.7
pub const DELEGATION_BYTES: usize = 8_192;
/// Most scope labels on a delegation grant.
pub const DELEGATION_SCOPES: usize = 8;
/// Longest chat line, UTF-16 units.
pub const CHAT_CHARS: usize = 8_000;
/// Most persons in a channel, creator included. §12
pub const CHANNEL_PERSONS: usize = 32;
/// Most channels that a machine holds. §6.8
pub const CHANNELS: usize = 200;
/// Longest message request, UTF-16 units. §5
pub const REQUEST_CHARS: usize = 500;
/// Persons asked a day. §15.10
pub const REQUESTS_PER_DAY: u64 = 20;
/// Agents' lines to one person an hour. §6.9
pub const A2H_PER_HOUR: u64 = 30;
/// Agents' lines to one person a day. §6.9
pub const A2H_PER_DAY: u64 = 100;
/// Largest consent grant, bytes of JCS.
pub const GRANT_BYTES: usize = 2_048;
/// Most consent grants held.
pub const GRANTS_PER_PERSON: usize = 2_000;
/// Most consent grants in one self sync. §5
pub const GRANTS_PER_SYNC: usize = 100;
/// Largest contact card, bytes of JCS.
pub const CARD_BYTES: usize = 2_048;
/// Longest trust, ms (90 days). §6.9
pub const TRUST_MAX_MS: u64 = 7_776_000_000;
/// Trust when none is named, ms (30 days). §6.9
pub const TRUST_DEFAULT_MS: u64 = 2_592_000_000;
/// Most held requests of one person.
pub const HELD_PER_SENDER: usize = 20;
/// Most held requests.
pub const HELD_TOTAL: usize = 200;
/// Most current devices of a hosted person. §15.5
pub const DEVICES_PER_PERSON: usize = 10;
/// Largest device log entry, bytes of JCS. §15.3
pub const LOG_ENTRY_BYTES: usize = 16_384;
/// Largest keys statement, bytes of JCS. §15.4
pub const KEYS_STATEMENT_BYTES: usize = 1_024;
/// Longest life of a binding token, s. §15.2
pub const JELLY_TOKEN_LIFE_S: u64 = 900;
/// A live token may be issued this far ahead, ms. §15.2
pub const JELLY_IAT_AHEAD_MS: u64 = 60_000;
/// Life of a link request, ms. §15.3
pub const LINK_TTL_MS: u64 = 600_000;
/// Most persons in one directory lookup. §7
pub const DIR_LOOKUP_PERSONS: usize = 64;
/// Most results of a directory search. §7
pub const DIR_SEARCH_RESULTS: usize = 25;
/// Most persons watched. §7
pub const WATCH_PERSONS: usize = 500;
/// Shortest time between epochs, ms. §15.10
pub const EPOCH_MIN_MS: u64 = 5_000;
/// Longest time between epochs, ms. §15.10
pub const EPOCH_HEARTBEAT_MS: u64 = 600_000;
/// Freshness asked before a first message, ms. §15.9
pub const DIR_FRESH_FIRST_MS: u64 = 600_000;
/// Freshness asked otherwise, ms. §15.9
pub const DIR_FRESH_MS: u64 = 86_400_000;
/// A device attests again after this long, ms. §15.9
pub const ATTEST_AFTER_MS: u64 = 2_592_000_000;
/// Self-monitoring period, ms. §15.9
pub const SELF_MONITOR_MS: u64 = 3_600_000;
/// Most parts of a message or artifact.
pub const PARTS_PER_MESSAGE: usize = 100;
/// Longest `messageId`, `contextId`, `artifactId`, UTF-16 units.
pub const A2A_ID_CHARS: usize = 128;
/// Largest message metadata at send, bytes of JCS. §8.2
pub const METADATA_BYTES: usize = 16_384;
/// Longest reason of a cancel, UTF-16 units.
pub const CANCEL_REASON_CHARS: usize = 2_000;
/// Longest ticket, card or link text, characters.
pub const TICKET_CHARS: usize = 4_096;
/// Longest message of a nack, UTF-16 units.
pub const NACK_MESSAGE_CHARS: usize = 200;
/// Longest relay URL, characters.
pub const RELAY_URL_CHARS: usize = 512;
/// First reconnect within this long, ms. §7
pub const BACKOFF_MIN_MS: u64 = 500;
/// Longest reconnect wait, ms.
pub const BACKOFF_MAX_MS: u64 = 30_000;
/// A relay pings this often, ms.
pub const KEEP_ALIVE_PING_MS: u64 = 30_000;
/// A link is dead after this silence, ms.
pub const KEEP_ALIVE_DEAD_MS: u64 = 90_000;
/// A replaced encryption key is kept this long, ms. §4
pub const KEY_RETENTION_MS: u64 = TTL_MS + 2 * CLOCK_SKEW_MS;
/// Most encryption keys kept beside the current one.
pub const RETAINED_KEYS: usize = 16;
/// Most dedupe rows of one sender at a relay. R9
pub const SEEN_PER_SENDER: u64 = 200_000;
/// Most dedupe rows at a relay. R9
pub const SEEN_TOTAL: u64 = 5_000_000;

/// A full envelope in its frame stays under the frame limit. Spec: W1.4
const _: () = assert!(BODY_CHARS + HEADER_BYTES + 256 < FRAME_BYTES);
const _: () = assert!(BODY_CHARS == (PLAINTEXT_BYTES + 16) * 4 / 3);
const _: () = assert!(ROSTER_FRAME_BYTES == ROSTER_PAGE_ENTRIES * ROSTER_ENTRY_BYTES + 65_536);
const _: () = assert!(ROSTER_ENTRY_BYTES + 1_024 < PRE_AUTH_FRAME_BYTES);

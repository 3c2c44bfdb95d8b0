//! Frames from a relay to a client.
//! Spec: W2.9 "Relay to client"

use messaging_core::bounded::Str;
use messaging_core::code::Code;
use messaging_core::ids::{MachineId, Nonce32, Req, Ulid};
use messaging_core::json::{Misshape, decode};
use messaging_core::limits::ROSTER_PAGE_ENTRIES;
use messaging_core::relay_auth::Challenge;
use messaging_core::roster::RosterHead;
use messaging_core::version::Version;
use serde::Deserialize;
use serde_json::Value;

use crate::frame::{FrameError, Named, misshape, only_true};
use crate::text;

/// A frame that a relay sends.
#[derive(Clone, Debug, PartialEq)]
pub enum RelayFrame {
    /// The first frame of every connection. A client refuses one whose `relay` is not, character for character, the origin it
    /// dialled.
    Challenge(Challenge),
    /// The `hello` was accepted.
    Welcome(Welcome),
    /// Entries of the chain: a page asked for, or one new entry.
    Roster(RosterPage),
    /// An appended entry was accepted.
    RosterOk(RosterOk),
    /// A `send` is stored: its stage is `relayed`.
    Ack(Ulid),
    /// A frame that had an id was refused.
    Nack(Nack),
    /// A frame without an id was refused, or the connection is about to be closed.
    Error(ErrorFrame),
    /// An envelope for this machine.
    Deliver(Deliver),
    /// Another member came or went.
    Peer(Peer),
    /// The answer to a `ping`, with its id.
    Pong(Option<Str<0, 64>>),
    /// A frame of a later release: ignored.
    Unknown,
}

/// The state of a team as its relay holds it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Welcome {
    /// The newest entry. The client brings its chain up to it before it judges deliveries.
    pub head: RosterHead,
    /// The other members that are connected.
    pub online: Vec<MachineId>,
}

/// Entries of the chain, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct RosterPage {
    /// The request that this answers; absent in a broadcast.
    pub req: Option<Req>,
    /// At most 256 entries, raw.
    pub entries: Vec<Value>,
    /// Whether there are more after these.
    pub more: bool,
}

/// The answer to an accepted entry.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct RosterOk {
    /// The request.
    pub req: Req,
    /// The head that the entry made.
    pub head: RosterHead,
}

/// A refusal of one frame.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Nack {
    /// The envelope's id, or the request's `req`.
    pub id: Req,
    /// Why.
    pub code: Code,
    /// The relay's words. They are another party's text: never logged.
    pub message: Option<Str<0, 200>>,
    /// When to ask again, ms, at least 1.
    #[serde(default, deserialize_with = "at_least_1")]
    pub retry_after_ms: Option<u64>,
}

/// A refusal that names no frame.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ErrorFrame {
    /// Why.
    pub code: Code,
    /// The relay's words. They are another party's text: never logged.
    pub message: Option<Str<0, 200>>,
    /// When to ask again, ms, at least 1.
    #[serde(default, deserialize_with = "at_least_1")]
    pub retry_after_ms: Option<u64>,
}

/// An envelope, unread: one of a later release is still acked.
#[derive(Clone, Debug, PartialEq)]
pub struct Deliver {
    /// The envelope, raw. It is an object.
    pub env: Value,
}

/// All that is read of an envelope before it is judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliverHead {
    /// The envelope's version.
    pub v: String,
    /// The envelope's id.
    pub id: Ulid,
    /// The envelope's type, known or not.
    pub kind: String,
    /// The sender's machine, for the `recv.ack`.
    pub from: Option<MachineId>,
}

/// A member that came or went.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Peer {
    /// The member's machine.
    pub machine: MachineId,
    /// Whether it is connected now.
    pub online: bool,
}

impl RelayFrame {
    /// The names of the frames that a relay may send, for counting.
    pub const NAMES: [&'static str; 10] = [
        "challenge",
        "welcome",
        "roster",
        "roster.ok",
        "ack",
        "nack",
        "error",
        "deliver",
        "peer",
        "pong",
    ];

    /// Reads one text of at most `max_bytes`.
    ///
    /// Errors: [`FrameError`]; a client ignores a frame with a wrong shape and drops a connection that sends no frames.
    pub fn parse(text: &[u8], max_bytes: usize) -> Result<Self, FrameError> {
        let mut frame = Named::read(text, max_bytes)?;
        match frame.t.as_str() {
            "challenge" => read("challenge", challenge(&frame)).map(Self::Challenge),
            "welcome" => read("welcome", frame.decode()).map(Self::Welcome),
            "roster" => read("roster", page(&mut frame)).map(Self::Roster),
            "roster.ok" => read("roster.ok", frame.decode()).map(Self::RosterOk),
            "ack" => read("ack", ack(&frame)).map(Self::Ack),
            "nack" => read("nack", frame.decode()).map(Self::Nack),
            "error" => read("error", frame.decode()).map(Self::Error),
            "deliver" => {
                read("deliver", frame.take_object("env")).map(|env| Self::Deliver(Deliver { env }))
            }
            "peer" => read("peer", frame.decode()).map(Self::Peer),
            "pong" => read("pong", pong(&frame)).map(Self::Pong),
            _ => Ok(Self::Unknown),
        }
    }

    /// The frame's name, `other` for an unknown one.
    #[must_use]
    pub fn t(&self) -> &'static str {
        match self {
            Self::Challenge(_) => "challenge",
            Self::Welcome(_) => "welcome",
            Self::Roster(_) => "roster",
            Self::RosterOk(_) => "roster.ok",
            Self::Ack(_) => "ack",
            Self::Nack(_) => "nack",
            Self::Error(_) => "error",
            Self::Deliver(_) => "deliver",
            Self::Peer(_) => "peer",
            Self::Pong(_) => "pong",
            Self::Unknown => "other",
        }
    }

    /// The frame as the text of one WebSocket message. An unknown frame is never sent: it prints as an empty object.
    #[must_use]
    pub fn print(&self) -> String {
        fn message(text: Option<&Str<0, 200>>) -> &str {
            text.map_or("", |text| text)
        }
        match self {
            Self::Challenge(Challenge { relay, nonce }) => text::challenge(relay, nonce),
            Self::Welcome(Welcome { head, online }) => text::welcome(head, online),
            Self::Roster(RosterPage { req, entries, more }) => {
                let texts: Vec<String> = entries.iter().map(messaging_core::json::print).collect();
                text::roster(req.as_ref(), texts.iter().map(String::as_str), *more)
            }
            Self::RosterOk(RosterOk { req, head }) => text::roster_ok(req, head),
            Self::Ack(id) => text::ack(id),
            Self::Nack(nack) => text::nack(
                nack.id.as_str(),
                nack.code,
                message(nack.message.as_ref()),
                nack.retry_after_ms,
            ),
            Self::Error(error) => {
                text::error(error.code, message(error.message.as_ref()), error.retry_after_ms)
            }
            Self::Deliver(Deliver { env }) => text::deliver(&messaging_core::json::print(env)),
            Self::Peer(Peer { machine, online }) => text::peer(machine, *online),
            Self::Pong(id) => text::pong(id.as_deref()),
            Self::Unknown => "{}".to_owned(),
        }
    }
}

impl Deliver {
    /// Reads the few members that every release's envelope has.
    ///
    /// Errors: a [`Misshape`] when `v`, `id` or `type` is missing or malformed: such an envelope cannot be acked.
    pub fn head(&self) -> Result<DeliverHead, Misshape> {
        #[derive(Deserialize)]
        struct Head {
            v: String,
            id: Ulid,
            #[serde(rename = "type")]
            kind: String,
        }
        let Head { v, id, kind } = decode(&self.env)?;
        let from = self.env.get("from").and_then(|from| from.get("device")).and_then(Value::as_str);
        Ok(DeliverHead { v, id, kind, from: from.and_then(|id| MachineId::parse(id).ok()) })
    }
}

fn read<T>(t: &'static str, result: Result<T, Misshape>) -> Result<T, FrameError> {
    result.map_err(|misshape| FrameError::Shape { t, id: None, misshape })
}

fn challenge(frame: &Named) -> Result<Challenge, Misshape> {
    #[derive(Deserialize)]
    struct Members {
        proto: Version,
        relay: String,
        nonce: Nonce32,
    }
    let Members { proto: Version, relay, nonce } = frame.decode()?;
    Ok(Challenge { relay, nonce })
}

fn page(frame: &mut Named) -> Result<RosterPage, Misshape> {
    #[derive(Deserialize)]
    struct Rest {
        req: Option<Req>,
        #[serde(default, deserialize_with = "only_true")]
        more: bool,
    }
    // The entries are moved, not copied: a page may hold 4 MiB.
    let entries = match frame.object.as_object_mut().and_then(|members| members.remove("entries")) {
        Some(Value::Array(entries))
            if entries.len() <= ROSTER_PAGE_ENTRIES && entries.iter().all(Value::is_object) =>
        {
            entries
        }
        _ => return Err(misshape("entries")),
    };
    let Rest { req, more } = frame.decode()?;
    Ok(RosterPage { req, entries, more })
}

fn ack(frame: &Named) -> Result<Ulid, Misshape> {
    #[derive(Deserialize)]
    enum Stage {
        #[serde(rename = "relayed")]
        Relayed,
    }
    #[derive(Deserialize)]
    struct Members {
        id: Ulid,
        stage: Stage,
    }
    let Members { id, stage: Stage::Relayed } = frame.decode()?;
    Ok(id)
}

fn pong(frame: &Named) -> Result<Option<Str<0, 64>>, Misshape> {
    #[derive(Deserialize)]
    struct Members {
        id: Option<Str<0, 64>>,
    }
    frame.decode::<Members>().map(|members| members.id)
}

fn at_least_1<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    match Option::<u64>::deserialize(deserializer)? {
        Some(0) => Err(serde::de::Error::custom("at least 1")),
        ms => Ok(ms),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use messaging_core::ids::Hash;
    use messaging_core::limits::ROSTER_FRAME_BYTES;
    use messaging_core::time::Ms;
    use proptest::prelude::*;
    use serde_json::json;

    const ID: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    const ULID: &str = "01ARZ3NDEKTSV4RRFFQ69G5FAV";

    fn parse(value: &Value) -> Result<RelayFrame, FrameError> {
        RelayFrame::parse(value.to_string().as_bytes(), ROSTER_FRAME_BYTES)
    }

    #[test]
    fn the_shapes_are_those_of_the_table() {
        let head = json!({"seq": 3, "hash": ID});
        for (value, t) in [
            (
                json!({"t": "challenge", "proto": "messaging/1", "relay": "wss://relay.example", "nonce": ID}),
                "challenge",
            ),
            (json!({"t": "welcome", "head": head, "online": []}), "welcome"),
            (json!({"t": "welcome", "head": head, "online": [ID, ID]}), "welcome"),
            (json!({"t": "roster", "entries": [{"op": "member.add"}]}), "roster"),
            (json!({"t": "roster", "req": "r", "entries": [], "more": true}), "roster"),
            (json!({"t": "roster.ok", "req": "r", "head": head}), "roster.ok"),
            (json!({"t": "ack", "id": ULID, "stage": "relayed"}), "ack"),
            (
                json!({"t": "nack", "id": ULID, "code": "rate_limited", "message": "queue \"full\"", "retryAfterMs": 1}),
                "nack",
            ),
            (json!({"t": "nack", "id": "req.1", "code": "forbidden"}), "nack"),
            (json!({"t": "error", "code": "expired", "message": "hello"}), "error"),
            (json!({"t": "deliver", "env": {"id": ULID, "later": [null]}}), "deliver"),
            (json!({"t": "peer", "machine": ID, "online": false}), "peer"),
            (json!({"t": "pong", "id": "x"}), "pong"),
            (json!({"t": "pong"}), "pong"),
            (json!({"t": "dir.sthIs"}), "other"),
        ] {
            let frame = parse(&value).unwrap();
            assert_eq!(frame.t(), t);
            if t != "other" {
                assert_eq!(
                    serde_json::from_str::<Value>(&frame.print()).unwrap(),
                    value,
                    "what was read is what is sent"
                );
            }
        }
    }

    #[test]
    fn other_shapes_are_refused() {
        let head = json!({"seq": 3, "hash": ID});
        for value in [
            json!({"t": "challenge", "proto": "messaging/2", "relay": "wss://relay.example", "nonce": ID}),
            json!({"t": "challenge", "proto": "messaging/1", "relay": "wss://relay.example", "nonce": "AAAA"}),
            json!({"t": "welcome", "head": head}),
            json!({"t": "welcome", "head": [3, ID], "online": []}),
            json!({"t": "roster", "entries": [1]}),
            json!({"t": "roster", "entries": vec![json!({}); 257]}),
            json!({"t": "roster", "entries": [], "more": false}),
            json!({"t": "roster", "entries": [], "req": null}),
            json!({"t": "ack", "id": ULID, "stage": "delivered"}),
            json!({"t": "ack", "id": ULID}),
            json!({"t": "nack", "id": ULID, "code": "Rate Limited"}),
            json!({"t": "nack", "id": ULID, "code": "internal", "retryAfterMs": 0}),
            json!({"t": "nack", "id": ULID, "code": "internal", "message": "x".repeat(201)}),
            json!({"t": "nack", "code": "internal"}),
            json!({"t": "deliver", "env": "x"}),
            json!({"t": "peer", "machine": ID}),
            json!({"t": "pong", "id": "x".repeat(65)}),
        ] {
            assert!(matches!(parse(&value), Err(FrameError::Shape { .. })), "{value}");
        }
        assert_eq!(parse(&json!([])), Err(FrameError::NoFrame));
    }

    #[test]
    fn a_code_of_a_later_release_reads_as_internal() {
        let frame = parse(&json!({"t": "nack", "id": ULID, "code": "too_shy"})).unwrap();
        assert!(matches!(frame, RelayFrame::Nack(Nack { code: Code::Internal, .. })));
    }

    #[test]
    fn a_delivery_is_read_loosely() {
        let head = |env: Value| match parse(&json!({"t": "deliver", "env": env})).unwrap() {
            RelayFrame::Deliver(deliver) => deliver.head(),
            other => panic!("{other:?}"),
        };
        let later = json!({"v": "messaging/9", "id": ULID, "type": "hologram", "from": {"device": ID}, "sig": 1});
        assert_eq!(
            head(later),
            Ok(DeliverHead {
                v: "messaging/9".into(),
                id: Ulid::parse(ULID).unwrap(),
                kind: "hologram".into(),
                from: Some(MachineId::parse(ID).unwrap()),
            })
        );
        assert_eq!(
            head(json!({"v": "x", "id": ULID, "type": "y", "from": "z"})).unwrap().from,
            None
        );
        assert_eq!(head(json!({"v": "x", "id": "1", "type": "y"})).unwrap_err().path, "id");
        assert_eq!(head(json!({"v": "x", "id": ULID})).unwrap_err().path, "type");
    }

    #[test]
    fn a_deliver_is_three_bytes_longer_than_its_send() {
        let env = r#"{"id":"x"}"#;
        assert_eq!(text::deliver(env).len(), text::send(env).len() + 3);
        assert_eq!(text::deliver(env), r#"{"t":"deliver","env":{"id":"x"}}"#);
    }

    fn frames() -> impl Strategy<Value = RelayFrame> {
        let machine = any::<[u8; 32]>().prop_map(|bytes| MachineId::from_bytes(&bytes));
        let id = (0u64..1 << 48, any::<[u8; 10]>())
            .prop_map(|(ms, random)| Ulid::from_parts(Ms(ms), random));
        let head = || {
            (0u64..1 << 53, any::<[u8; 32]>())
                .prop_map(|(seq, hash)| RosterHead { seq, hash: Hash::from_bytes(&hash) })
        };
        let req = || "[A-Za-z0-9._-]{1,64}".prop_map(|text| Req::parse(&text).unwrap());
        let code = || (0..Code::ALL.len()).prop_map(|n| Code::ALL[n]);
        let message = || {
            prop::option::of(".{1,100}").prop_map(|text| text.and_then(|text| Str::new(text).ok()))
        };
        let wait = || prop::option::of(1u64..1 << 53);
        let object = || {
            prop::collection::btree_map(".{0,8}", ".{0,20}", 0..5)
                .prop_map(|members| json!(members))
        };
        prop_oneof![
            (".{0,40}", any::<[u8; 32]>()).prop_map(|(relay, nonce)| RelayFrame::Challenge(
                Challenge { relay, nonce: Nonce32::from_bytes(&nonce) }
            )),
            (head(), prop::collection::vec(machine.clone(), 0..4))
                .prop_map(|(head, online)| RelayFrame::Welcome(Welcome { head, online })),
            (prop::option::of(req()), prop::collection::vec(object(), 0..4), any::<bool>())
                .prop_map(|(req, entries, more)| RelayFrame::Roster(RosterPage {
                    req,
                    entries,
                    more
                })),
            (req(), head()).prop_map(|(req, head)| RelayFrame::RosterOk(RosterOk { req, head })),
            id.prop_map(RelayFrame::Ack),
            (req(), code(), message(), wait()).prop_map(|(id, code, message, retry_after_ms)| {
                RelayFrame::Nack(Nack { id, code, message, retry_after_ms })
            }),
            (code(), message(), wait()).prop_map(|(code, message, retry_after_ms)| {
                RelayFrame::Error(ErrorFrame { code, message, retry_after_ms })
            }),
            object().prop_map(|env| RelayFrame::Deliver(Deliver { env })),
            (machine, any::<bool>())
                .prop_map(|(machine, online)| RelayFrame::Peer(Peer { machine, online })),
            prop::option::of(".{0,64}")
                .prop_map(|id| RelayFrame::Pong(id.and_then(|id| Str::new(id).ok()))),
        ]
    }

    proptest! {
        #[test]
        fn a_printed_frame_reads_back(frame in frames()) {
            prop_assert_eq!(RelayFrame::parse(frame.print().as_bytes(), ROSTER_FRAME_BYTES), Ok(frame));
        }

        #[test]
        fn no_text_is_too_strange_to_judge(text in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = RelayFrame::parse(&text, ROSTER_FRAME_BYTES);
        }
    }
}

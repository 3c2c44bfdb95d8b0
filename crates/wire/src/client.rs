//! Frames from a client to a relay.
//! Spec: W2.9 "Client to relay", W4.24

use messaging_core::bounded::Str;
use messaging_core::ids::{Hash, MachineId, Req, Sig, Ulid};
use messaging_core::json::Misshape;
use messaging_core::relay_auth::RosterHello;
use serde::Deserialize;
use serde_json::Value;

use crate::frame::{FrameError, Named, id_of, misshape};
use crate::text::{self, Frame};

/// A frame that a client sends.
#[derive(Clone, Debug, PartialEq)]
pub enum ClientFrame {
    /// Authenticates the connection. One with members of the hosted form too (`realm`, `person`, `device`) is malformed.
    Hello(RosterHello),
    /// Asks for a team's entries with the proof of an open invite.
    Join(Join),
    /// Hands in a signed entry.
    RosterAppend(RosterAppend),
    /// Asks for the entries after a seq.
    RosterSync(RosterSync),
    /// Hands in an envelope: an object, otherwise unread.
    Send(Value),
    /// Hands in a presence envelope: an object, otherwise unread.
    Presence(Value),
    /// Says that a delivery is stored or dropped.
    RecvAck(RecvAck),
    /// Asks for a `pong`.
    Ping(Ping),
    /// A frame of a later release: ignored, and charged.
    Unknown,
}

/// The request of a machine that holds an invite.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Join {
    /// Echoed by the reply.
    pub req: Req,
    /// The team.
    pub team: Hash,
    /// The invite.
    pub invite_id: Ulid,
    /// By the invite's key, over this connection's challenge.
    pub proof: Sig,
    /// The seq after which entries are wanted; absent for all.
    pub after: Option<u64>,
}

/// A signed entry for the chain.
#[derive(Clone, Debug, PartialEq)]
pub struct RosterAppend {
    /// Echoed by the reply.
    pub req: Req,
    /// The entry: an object, otherwise unread.
    pub entry: Value,
}

/// The request for a page of entries.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct RosterSync {
    /// Echoed by the reply.
    pub req: Req,
    /// The seq after which entries are wanted; absent for all.
    pub after: Option<u64>,
}

/// The end of a delivery.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct RecvAck {
    /// The envelope.
    pub id: Ulid,
    /// The machine that sent it; ids are unique per sender only. Clients of this stack always write it.
    pub from: Option<MachineId>,
}

/// A sign of life.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Ping {
    /// Echoed by the `pong`.
    pub id: Option<Str<0, 64>>,
}

impl ClientFrame {
    /// The names of the frames that a client may send, for counting.
    pub const NAMES: [&'static str; 8] =
        ["hello", "join", "roster.append", "roster.sync", "send", "presence", "recv.ack", "ping"];

    /// Reads one text of at most `max_bytes`.
    ///
    /// Errors: [`FrameError::NoFrame`] for a text that closes the connection, [`FrameError::Shape`] for a known frame that is
    /// answered with `invalid_request`.
    pub fn parse(text: &[u8], max_bytes: usize) -> Result<Self, FrameError> {
        let mut frame = Named::read(text, max_bytes)?;
        match frame.t.as_str() {
            "hello" => read("hello", None, hello(&frame)).map(Self::Hello),
            "join" => read("join", frame.req(), frame.decode()).map(Self::Join),
            "roster.append" => {
                read("roster.append", frame.req(), append(&mut frame)).map(Self::RosterAppend)
            }
            "roster.sync" => read("roster.sync", frame.req(), frame.decode()).map(Self::RosterSync),
            "send" => read("send", None, frame.take_object("env")).map(Self::Send),
            "presence" => read("presence", None, frame.take_object("env")).map(Self::Presence),
            "recv.ack" => read("recv.ack", None, frame.decode()).map(Self::RecvAck),
            "ping" => read("ping", None, frame.decode()).map(Self::Ping),
            _ => Ok(Self::Unknown),
        }
    }

    /// The frame's name, `other` for an unknown one.
    #[must_use]
    pub fn t(&self) -> &'static str {
        match self {
            Self::Hello(_) => "hello",
            Self::Join(_) => "join",
            Self::RosterAppend(_) => "roster.append",
            Self::RosterSync(_) => "roster.sync",
            Self::Send(_) => "send",
            Self::Presence(_) => "presence",
            Self::RecvAck(_) => "recv.ack",
            Self::Ping(_) => "ping",
            Self::Unknown => "other",
        }
    }

    /// The id that a `nack` of this frame carries; without one the refusal is an `error`.
    ///
    /// A `recv.ack` has none: its id is of another machine's envelope, and a nack would be taken for one of the client's own.
    #[must_use]
    pub fn nack_id(&self) -> Option<Req> {
        match self {
            Self::Join(join) => Some(join.req.clone()),
            Self::RosterAppend(append) => Some(append.req.clone()),
            Self::RosterSync(sync) => Some(sync.req.clone()),
            Self::Send(env) | Self::Presence(env) => {
                env.as_object().and_then(|members| id_of(members, "id"))
            }
            Self::Hello(_) | Self::RecvAck(_) | Self::Ping(_) | Self::Unknown => None,
        }
    }

    /// The frame as the text of one WebSocket message. An unknown frame is never sent: it prints as an empty object.
    #[must_use]
    pub fn print(&self) -> String {
        match self {
            Self::Hello(RosterHello { team, machine, ts, sig }) => Frame::new("hello")
                .id("team", team)
                .id("machine", machine)
                .int("ts", ts.0)
                .id("sig", sig)
                .end(),
            Self::Join(Join { req, team, invite_id, proof, after }) => {
                let frame = Frame::new("join")
                    .id("req", req)
                    .id("team", team)
                    .id("inviteId", invite_id)
                    .id("proof", proof);
                after_end(frame, *after)
            }
            Self::RosterAppend(RosterAppend { req, entry }) => {
                Frame::new("roster.append").id("req", req).value("entry", entry).end()
            }
            Self::RosterSync(RosterSync { req, after }) => {
                after_end(Frame::new("roster.sync").id("req", req), *after)
            }
            Self::Send(env) => Frame::new("send").value("env", env).end(),
            Self::Presence(env) => Frame::new("presence").value("env", env).end(),
            Self::RecvAck(RecvAck { id, from }) => text::recv_ack(id, from.as_ref()),
            Self::Ping(Ping { id: Some(id) }) => Frame::new("ping").text("id", id).end(),
            Self::Ping(Ping { id: None }) => Frame::new("ping").end(),
            Self::Unknown => "{}".to_owned(),
        }
    }
}

fn read<T>(t: &'static str, id: Option<Req>, result: Result<T, Misshape>) -> Result<T, FrameError> {
    result.map_err(|misshape| FrameError::Shape { t, id, misshape })
}

fn hello(frame: &Named) -> Result<RosterHello, Misshape> {
    match ["realm", "person", "device"].into_iter().find(|member| frame.has(member)) {
        Some(member) => Err(misshape(member)),
        None => frame.decode(),
    }
}

fn append(frame: &mut Named) -> Result<RosterAppend, Misshape> {
    #[derive(Deserialize)]
    struct Rest {
        req: Req,
    }
    let entry = frame.take_object("entry")?;
    let Rest { req } = frame.decode()?;
    Ok(RosterAppend { req, entry })
}

fn after_end(frame: Frame, after: Option<u64>) -> String {
    match after {
        Some(after) => frame.int("after", after).end(),
        None => frame.end(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use messaging_core::limits::FRAME_BYTES;
    use messaging_core::time::Ms;
    use proptest::prelude::*;
    use serde_json::json;

    fn parse(value: &Value) -> Result<ClientFrame, FrameError> {
        ClientFrame::parse(value.to_string().as_bytes(), FRAME_BYTES)
    }

    const TEAM: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    const ULID: &str = "01ARZ3NDEKTSV4RRFFQ69G5FAV";

    fn sig() -> String {
        "A".repeat(86)
    }

    #[test]
    fn the_shapes_are_those_of_the_table() {
        for (value, t) in [
            (json!({"t": "hello", "team": TEAM, "machine": TEAM, "ts": 1, "sig": sig()}), "hello"),
            (
                json!({"t": "join", "req": "a.1", "team": TEAM, "inviteId": ULID, "proof": sig(), "after": 0}),
                "join",
            ),
            (
                json!({"t": "roster.append", "req": "r", "entry": {"op": "genesis"}}),
                "roster.append",
            ),
            (json!({"t": "roster.sync", "req": "r"}), "roster.sync"),
            (json!({"t": "send", "env": {"id": ULID}}), "send"),
            (json!({"t": "presence", "env": {"id": ULID}}), "presence"),
            (json!({"t": "recv.ack", "id": ULID, "from": TEAM}), "recv.ack"),
            (json!({"t": "recv.ack", "id": ULID}), "recv.ack"),
            (json!({"t": "ping"}), "ping"),
            (json!({"t": "ping", "id": ""}), "ping"),
            (json!({"t": "dir.sth", "req": "r"}), "other"),
            (json!({"t": ""}), "other"),
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
    fn frames_are_open_and_whole_numbers_may_be_written_as_doubles() {
        let text = r#"{"t":"roster.sync","req":"r","after":1.0,"later":[{"x":null}]}"#;
        let frame = ClientFrame::parse(text.as_bytes(), FRAME_BYTES).unwrap();
        assert_eq!(
            frame,
            ClientFrame::RosterSync(RosterSync { req: Req::parse("r").unwrap(), after: Some(1) })
        );
    }

    #[test]
    fn what_is_not_a_named_object_is_no_frame() {
        for text in [
            "",
            "null",
            "1",
            "\"ping\"",
            "[]",
            "{}",
            r#"{"t":1}"#,
            r#"{"t":null}"#,
            r#"{"t":"ping","t":"ping"}"#,
            r#"{"t":"ping"}x"#,
            "{\"t\":\"p\\ud800\"}",
            r#"{"t":"ping","x":9007199254740992}"#,
        ] {
            assert_eq!(
                ClientFrame::parse(text.as_bytes(), FRAME_BYTES),
                Err(FrameError::NoFrame),
                "{text}"
            );
        }
        assert_eq!(ClientFrame::parse(b"\xff", FRAME_BYTES), Err(FrameError::NoFrame));
        let ping = br#"{"t":"ping"}"#;
        assert!(ClientFrame::parse(ping, ping.len()).is_ok());
        assert_eq!(ClientFrame::parse(ping, ping.len() - 1), Err(FrameError::NoFrame));
    }

    #[track_caller]
    fn misshapen(value: Value, expected_id: Option<&str>, expected_path: &str) {
        match parse(&value) {
            Err(FrameError::Shape { id, misshape, .. }) => {
                assert_eq!(id.as_ref().map(Req::as_str), expected_id, "{value}");
                assert_eq!(misshape.path, expected_path, "{value}");
            }
            other => panic!("{value}: {other:?}"),
        }
    }

    #[test]
    fn a_malformed_frame_names_the_member_and_keeps_its_id() {
        misshapen(
            json!({"t": "hello", "team": TEAM, "machine": TEAM, "ts": -1, "sig": sig()}),
            None,
            "ts",
        );
        misshapen(
            json!({"t": "join", "req": "a b", "team": TEAM, "inviteId": ULID, "proof": sig()}),
            None,
            "req",
        );
        misshapen(
            json!({"t": "join", "req": "a", "team": TEAM, "inviteId": ULID.to_lowercase(), "proof": sig()}),
            Some("a"),
            "inviteId",
        );
        misshapen(
            json!({"t": "join", "req": "a", "team": TEAM, "inviteId": ULID, "proof": sig(), "after": null}),
            Some("a"),
            "after",
        );
        misshapen(json!({"t": "roster.append", "req": "a", "entry": []}), Some("a"), "entry");
        misshapen(json!({"t": "roster.append", "entry": {}}), None, "req");
        misshapen(json!({"t": "roster.sync", "req": "a", "after": 1.5}), Some("a"), "after");
        misshapen(json!({"t": "send"}), None, "env");
        misshapen(json!({"t": "send", "env": "x"}), None, "env");
        misshapen(json!({"t": "presence", "env": null}), None, "env");
        misshapen(json!({"t": "recv.ack", "id": "x"}), None, "id");
        misshapen(json!({"t": "recv.ack", "id": ULID, "from": null}), None, "from");
        misshapen(json!({"t": "ping", "id": "x".repeat(65)}), None, "id");
    }

    #[test]
    fn a_hello_of_both_forms_is_malformed() {
        let roster = json!({"t": "hello", "team": TEAM, "machine": TEAM, "ts": 1, "sig": sig()});
        assert!(parse(&roster).is_ok());
        for member in ["realm", "person", "device"] {
            let mut both = roster.clone();
            both[member] = json!(TEAM);
            misshapen(both, None, member);
        }
        misshapen(
            json!({"t": "hello", "realm": TEAM, "person": "p_aaaaaaaaaaaaaaaaaaaaaaaaaa", "device": TEAM, "ts": 1, "sig": sig()}),
            None,
            "realm",
        );
    }

    #[test]
    fn a_refused_envelope_is_named_by_its_id_and_an_ack_never_is() {
        let id = |value| parse(&value).unwrap().nack_id().map(|id| id.to_string());
        assert_eq!(id(json!({"t": "send", "env": {"id": ULID}})).as_deref(), Some(ULID));
        assert_eq!(
            id(json!({"t": "send", "env": {"id": "not-a-ulid"}})).as_deref(),
            Some("not-a-ulid")
        );
        assert_eq!(id(json!({"t": "send", "env": {"id": "a b"}})), None);
        assert_eq!(id(json!({"t": "send", "env": {"id": 1}})), None);
        assert_eq!(id(json!({"t": "presence", "env": {}})), None);
        assert_eq!(id(json!({"t": "roster.sync", "req": "r"})).as_deref(), Some("r"));
        assert_eq!(id(json!({"t": "recv.ack", "id": ULID, "from": TEAM})), None);
    }

    #[test]
    fn a_compact_ack_has_103_bytes() {
        let ack =
            RecvAck { id: Ulid::parse(ULID).unwrap(), from: Some(MachineId::from_bytes(&[0; 32])) };
        assert_eq!(
            ClientFrame::RecvAck(ack.clone()).print(),
            format!(r#"{{"t":"recv.ack","id":"{ULID}","from":"{TEAM}"}}"#)
        );
        assert_eq!(ClientFrame::RecvAck(ack).print().len(), 103);
    }

    fn object() -> impl Strategy<Value = Value> {
        prop::collection::btree_map(
            ".{0,8}",
            prop_oneof![".{0,20}".prop_map(Value::from), (0u64..1 << 53).prop_map(Value::from)],
            0..5,
        )
        .prop_map(|members| json!(members))
    }

    fn frames() -> impl Strategy<Value = ClientFrame> {
        let bytes = any::<[u8; 32]>();
        let id = (0u64..1 << 48, any::<[u8; 10]>())
            .prop_map(|(ms, random)| Ulid::from_parts(Ms(ms), random));
        let req = || "[A-Za-z0-9._-]{1,64}".prop_map(|text| Req::parse(&text).unwrap());
        let after = || prop::option::of(0u64..1 << 53);
        let sig = || {
            (any::<[u8; 32]>(), any::<[u8; 32]>()).prop_map(|(a, b)| {
                let mut bytes = [0; 64];
                bytes[..32].copy_from_slice(&a);
                bytes[32..].copy_from_slice(&b);
                Sig::from_bytes(&bytes)
            })
        };
        prop_oneof![
            (bytes, any::<[u8; 32]>(), 0u64..1 << 53, sig()).prop_map(
                |(team, machine, ts, sig)| ClientFrame::Hello(RosterHello {
                    team: Hash::from_bytes(&team),
                    machine: MachineId::from_bytes(&machine),
                    ts: Ms(ts),
                    sig
                })
            ),
            (req(), bytes, id.clone(), sig(), after()).prop_map(
                |(req, team, invite_id, proof, after)| ClientFrame::Join(Join {
                    req,
                    team: Hash::from_bytes(&team),
                    invite_id,
                    proof,
                    after
                })
            ),
            (req(), object())
                .prop_map(|(req, entry)| ClientFrame::RosterAppend(RosterAppend { req, entry })),
            (req(), after())
                .prop_map(|(req, after)| ClientFrame::RosterSync(RosterSync { req, after })),
            object().prop_map(ClientFrame::Send),
            object().prop_map(ClientFrame::Presence),
            (id, prop::option::of(bytes)).prop_map(|(id, from)| ClientFrame::RecvAck(RecvAck {
                id,
                from: from.map(|bytes| MachineId::from_bytes(&bytes))
            })),
            prop::option::of(".{0,64}")
                .prop_map(|id| ClientFrame::Ping(Ping { id: id.and_then(|id| Str::new(id).ok()) })),
        ]
    }

    proptest! {
        #[test]
        fn a_printed_frame_reads_back(frame in frames()) {
            prop_assert_eq!(ClientFrame::parse(frame.print().as_bytes(), FRAME_BYTES), Ok(frame));
        }

        #[test]
        fn no_text_is_too_strange_to_judge(text in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = ClientFrame::parse(&text, FRAME_BYTES);
        }
    }
}

//! What a connection's own task does with a text before the brain sees it: parse, shape, canonical text, signature.
//! Spec: W4.1, W4.24
//!
//! It is pure and costs nearly all of a frame's CPU, so it runs on as many cores as there are connections. It judges
//! nothing: the verdict of a signature travels with the frame, and the brain gives it its place in the order of checks.

use std::sync::Arc;

use messaging_core::code::Failure;
use messaging_core::domain::Domain;
use messaging_core::envelope::{Checked, Content, End};
use messaging_core::ids::{Hash, MachineId, Nonce32, PersonId, Req, Ulid};
use messaging_core::jcs;
use messaging_core::keys::PublicKey;
use messaging_core::limits::FRAME_BYTES;
use messaging_core::presence::PresenceSeq;
use messaging_core::realm::Anchor;
use messaging_core::relay_auth::{self, Challenge, RosterHello};
use messaging_core::roster::Entry;
use messaging_core::time::Ms;
use messaging_wire::{ClientFrame, FrameError, Hello, Join, RecvAck, RosterAppend, text};
use serde_json::{Value, json};

/// A frame, ready for the brain. Its parts are private: only a [`Preparer`] makes one.
#[derive(Debug)]
pub struct Prepared {
    /// What a nack of it is called; none for a frame that is refused by an `error`.
    pub(crate) id: Option<Req>,
    pub(crate) kind: Kind,
}

#[derive(Debug)]
pub(crate) enum Kind {
    Hello {
        hello: Hello,
        signed: bool,
    },
    Join(Join),
    Append {
        req: Req,
        entry: Result<Box<Submitted>, Failure>,
    },
    Sync {
        req: Req,
        after: Option<u64>,
    },
    Send(Result<Box<Ready>, Failure>),
    Presence(Result<Box<Ready>, Failure>),
    RecvAck(RecvAck),
    Ping(Option<String>),
    /// A known frame of another shape.
    Misshapen(&'static str),
    /// A frame of a later release.
    Unknown,
    /// No frame at all.
    NoFrame,
}

/// An envelope of the right shape: what the brain judges of it, and its text. The parsed value stayed behind.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(crate) id: Ulid,
    pub(crate) realm: Hash,
    pub(crate) from: Side,
    /// None for presence.
    pub(crate) to: Option<Side>,
    pub(crate) ts: Ms,
    pub(crate) exp: Ms,
    pub(crate) anchor: Anchor,
    pub(crate) payload: Payload,
    /// Bytes of JCS without the body.
    pub(crate) header_bytes: usize,
    /// Characters of a sealed body, bytes of JCS of a presence.
    pub(crate) body_len: usize,
    /// SHA-256 of its canonical text.
    pub(crate) digest: [u8; 32],
    /// Whether its signature verifies under the machine that said `hello` here. Meaningless for another sender, which is
    /// refused before signatures are looked at.
    pub(crate) signed: bool,
    pub(crate) deliver: DeliverText,
}

/// What is in an envelope, as far as a relay sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Payload {
    /// Something sealed.
    Sealed,
    /// A presence of this number.
    Presence(PresenceSeq),
    /// Something that should be a presence.
    NoPresence,
}

/// One end of an envelope.
#[derive(Debug)]
pub(crate) struct Side {
    pub(crate) person: PersonId,
    pub(crate) device: MachineId,
}

impl Ready {
    fn of(checked: &Checked, signed: bool) -> Self {
        let envelope = checked.envelope();
        let side = |end: &End| Side { person: end.person.clone(), device: end.device };
        Self {
            id: envelope.id,
            realm: envelope.realm,
            from: side(&envelope.from),
            to: envelope.to().map(side),
            ts: envelope.ts,
            exp: envelope.exp,
            anchor: envelope.anchor,
            payload: match &envelope.content {
                Content::Presence(presence) => Payload::Presence(presence.seq),
                Content::Sealed(_) => Payload::Sealed,
            },
            // What the bound is on is the header and the signature, which has one size.
            header_bytes: checked.header_bytes().saturating_add(SIG_MEMBER_BYTES),
            body_len: checked.body_len(),
            digest: checked.text().digest(),
            signed,
            deliver: DeliverText::new(checked.text().as_str()),
        }
    }
}

/// An entry of the right shape and size. A value that is neither is not kept while its frame waits: parsed, it can be a
/// hundred times as large as its text.
#[derive(Debug)]
pub(crate) struct Submitted {
    pub(crate) raw: Value,
    pub(crate) entry: Entry,
}

impl Submitted {
    fn read(raw: Value) -> Result<Self, Failure> {
        let entry = Entry::read(&raw)?;
        Ok(Self { raw, entry })
    }
}

/// `"sig":"…"` and its comma.
const SIG_MEMBER_BYTES: usize = r#","sig":"""#.len() + 86;

/// A `deliver` frame, which holds the envelope's canonical text: written once, stored and sent from here.
#[derive(Clone, Debug)]
pub(crate) struct DeliverText {
    frame: Arc<str>,
    env: usize,
}

impl DeliverText {
    pub(crate) fn new(env: &str) -> Self {
        Self { frame: text::deliver(env).into(), env: env.len() }
    }

    pub(crate) fn frame(&self) -> Arc<str> {
        Arc::clone(&self.frame)
    }

    /// The envelope's canonical text.
    pub(crate) fn env(&self) -> &str {
        // The envelope is the frame's last member, before the closing brace.
        let end = self.frame.len().saturating_sub(1);
        self.frame.get(end.saturating_sub(self.env)..end).unwrap_or_default()
    }
}

impl Prepared {
    /// The frame's name, `other` for an unknown one and for what is no frame.
    #[must_use]
    pub fn t(&self) -> &'static str {
        match &self.kind {
            Kind::Hello { .. } => "hello",
            Kind::Join(_) => "join",
            Kind::Append { .. } => "roster.append",
            Kind::Sync { .. } => "roster.sync",
            Kind::Send(_) => "send",
            Kind::Presence(_) => "presence",
            Kind::RecvAck(_) => "recv.ack",
            Kind::Ping(_) => "ping",
            Kind::Misshapen(t) => t,
            Kind::Unknown | Kind::NoFrame => "other",
        }
    }

    /// What is said of a binary message: it is no frame.
    #[must_use]
    pub fn binary() -> Self {
        Self { id: None, kind: Kind::NoFrame }
    }
}

/// Prepares the frames of one connection, in order.
#[derive(Clone, Debug)]
pub struct Preparer {
    challenge: Challenge,
    /// The machine that signed a `hello` here, and its key, decoded once.
    key: Option<(MachineId, PublicKey)>,
}

impl Preparer {
    /// For a connection that was challenged with the relay's origin and this nonce.
    #[must_use]
    pub fn new(relay: impl Into<String>, nonce: Nonce32) -> Self {
        Self { challenge: Challenge { relay: relay.into(), nonce }, key: None }
    }

    /// Prepares one text message. Its size was bounded by the socket.
    ///
    /// Cost: linear, and one signature check for a `hello`, a `send` or a `presence`.
    #[must_use]
    pub fn prepare(&mut self, text: &[u8]) -> Prepared {
        let frame = match ClientFrame::parse(text, FRAME_BYTES) {
            Ok(frame) => frame,
            Err(FrameError::NoFrame) => return Prepared::binary(),
            Err(FrameError::Shape { t, id, .. }) => {
                return Prepared { id, kind: Kind::Misshapen(t) };
            }
        };
        let id = frame.nack_id();
        let kind = match frame {
            ClientFrame::Hello(hello) => {
                let signed = self.hello(&hello);
                Kind::Hello { hello, signed }
            }
            ClientFrame::Join(join) => Kind::Join(join),
            ClientFrame::RosterAppend(RosterAppend { req, entry }) => {
                Kind::Append { req, entry: Submitted::read(entry).map(Box::new) }
            }
            ClientFrame::RosterSync(sync) => Kind::Sync { req: sync.req, after: sync.after },
            ClientFrame::Send(env) => Kind::Send(self.envelope(env)),
            ClientFrame::Presence(env) => Kind::Presence(self.presence(env)),
            ClientFrame::RecvAck(ack) => Kind::RecvAck(ack),
            ClientFrame::Ping(ping) => Kind::Ping(ping.id.map(|id| id.as_str().to_owned())),
            ClientFrame::Unknown => Kind::Unknown,
        };
        Prepared { id, kind }
    }

    fn hello(&mut self, hello: &Hello) -> bool {
        let Hello { team, machine, ts, sig } = hello.clone();
        let hello = relay_auth::Hello::Roster(RosterHello { team, machine, ts, sig });
        let signed = hello.check_signature(&self.challenge).is_ok();
        // A later envelope of this connection names this machine or is refused. Should the brain refuse the `hello`, it
        // refuses whatever comes after it too.
        self.key = if signed { PublicKey::of(&machine).map(|key| (machine, key)) } else { None };
        signed
    }

    fn envelope(&self, env: Value) -> Result<Box<Ready>, Failure> {
        Checked::read(env).map(|checked| self.ready(&checked))
    }

    fn ready(&self, checked: &Checked) -> Box<Ready> {
        let signed = self.key_of(checked).is_some_and(|key| checked.signature_verdict(key));
        Box::new(Ready::of(checked, signed))
    }

    /// The payload of a presence has its place in the order of checks, behind the signature. What has none is judged by its
    /// header until then, with a payload that stands in for it.
    fn presence(&self, env: Value) -> Result<Box<Ready>, Failure> {
        let fault = match Checked::read(env.clone()) {
            Ok(checked) => return Ok(self.ready(&checked)),
            Err(fault) => fault,
        };
        let mut stand_in = env.clone();
        let Some(members) = stand_in.as_object_mut() else { return Err(fault) };
        let body = members.insert("body".to_owned(), empty_presence()).unwrap_or_default();
        let checked = Checked::read(stand_in)?;
        let signed =
            self.key_of(&checked).is_some_and(|key| key.verify_value(Domain::Envelope, &env));
        let ready = Ready::of(&checked, signed);
        let body_len = jcs::canonical(&body)?.len();
        Ok(Box::new(Ready { payload: Payload::NoPresence, body_len, ..ready }))
    }

    /// The key of this connection's machine, if it is the sender.
    fn key_of(&self, checked: &Checked) -> Option<&PublicKey> {
        let (machine, key) = self.key.as_ref()?;
        (checked.envelope().from.device == *machine).then_some(key)
    }
}

/// The smallest payload that is a presence.
fn empty_presence() -> Value {
    json!({"seq": 0, "label": "x", "sessions": [], "features": []})
}

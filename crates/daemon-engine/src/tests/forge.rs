//! Envelopes as a test likes them, signed or not.

use messaging_core::domain::Domain;
use messaging_core::envelope::{End, SealedType};
use messaging_core::ids::{MachineId, SessionName, Ulid};
use messaging_core::limits::TTL_MS;
use messaging_core::presence::PresencePayload;
use messaging_core::random;
use messaging_core::realm::Anchor;
use messaging_core::seal::testing::seal_bytes;
use messaging_core::seal::{PresenceRequest, SealRequest, presence, seal};
use messaging_core::testing::SeededRandom;
use messaging_wire::text;
use serde_json::{Value, json};

use super::bench::Bench;

/// What to put into an envelope.
pub(crate) struct Forged {
    pub(crate) kind: SealedType,
    pub(crate) from_agent: Option<&'static str>,
    pub(crate) to_agent: Option<&'static str>,
    pub(crate) reply_to: Option<Ulid>,
    pub(crate) payload: Value,
    /// How long before now it was sent, ms.
    pub(crate) age_ms: u64,
}

/// Mail between two agents.
pub(crate) fn mail(to: &'static str, text: &str) -> Forged {
    Forged {
        kind: SealedType::Message,
        from_agent: Some("api"),
        to_agent: Some(to),
        reply_to: None,
        payload: json!({"kind": "message", "message": message(text)}),
        age_ms: 0,
    }
}

/// Something from a person or a device to a person or a device.
pub(crate) fn personal(kind: SealedType, payload: Value) -> Forged {
    Forged { kind, from_agent: None, to_agent: None, reply_to: None, payload, age_ms: 0 }
}

pub(crate) fn message(text: &str) -> Value {
    json!({"messageId": "01HF7YAT00AAAAAAAAAAAAAAAA", "role": "ROLE_USER", "parts": [{"text": text}]})
}

/// A receipt about `id`.
pub(crate) fn receipt(id: &str, stage: &str) -> Forged {
    personal(SealedType::Receipt, json!({"ref": id, "stage": stage}))
}

impl Bench {
    /// Seals and signs an envelope from one member's machine to another's, with an id of its own.
    pub(crate) fn forge(&mut self, from: usize, to: usize, forged: Forged) -> Value {
        self.relay.forged += 1;
        let mut rng = SeededRandom::new(900 + self.relay.forged);
        let agent = |name: Option<&str>| name.map(|name| SessionName::parse(name).unwrap());
        let end = |at: usize, name| End {
            person: self.person(at),
            device: self.machine(at),
            agent: agent(name),
        };
        let (sender, recipient) = (end(from, forged.from_agent), end(to, forged.to_agent));
        let ts = self.now.wall.minus(forged.age_ms);
        let request = SealRequest {
            id: random::ulid(ts, &mut rng),
            kind: forged.kind,
            realm: *self.relay.roster.team_id().unwrap(),
            from: &sender,
            to: &recipient,
            ts,
            exp: ts.plus(TTL_MS),
            anchor: Anchor::from(self.relay.roster.head().unwrap()),
            reply_to: forged.reply_to,
            payload: &forged.payload,
            recipient: self.relay.roster.member(&self.machine(to)).unwrap().enc,
            identity: &self.daemons[from].keys.identity.signing,
        };
        seal(&request, random::bytes(&mut rng), random::bytes(&mut rng)).unwrap().envelope
    }

    /// Signs a presence as a member's machine.
    pub(crate) fn forge_presence(&mut self, from: usize, payload: &PresencePayload) -> Value {
        self.relay.forged += 1;
        let ts = self.now.wall;
        let sender = End { person: self.person(from), device: self.machine(from), agent: None };
        let request = PresenceRequest {
            id: random::ulid(ts, &mut SeededRandom::new(self.relay.forged)),
            realm: *self.relay.roster.team_id().unwrap(),
            from: &sender,
            ts,
            exp: ts.plus(TTL_MS),
            anchor: Anchor::from(self.relay.roster.head().unwrap()),
            payload,
        };
        presence(&request, &self.daemons[from].keys.identity.signing).unwrap().envelope
    }

    /// Signs a changed envelope again, as the member's machine.
    pub(crate) fn sign(&self, by: usize, mut env: Value) -> Value {
        env.as_object_mut().unwrap().remove("sig");
        let key = &self.daemons[by].keys.identity.signing;
        let sig = key.sign_value(Domain::Envelope, &env).unwrap();
        env["sig"] = json!(sig);
        env
    }

    /// Seals another payload under an envelope's header, unchecked, and signs it.
    pub(crate) fn reseal(&self, by: usize, to: usize, mut env: Value, payload: &Value) -> Value {
        let header = env.as_object_mut().unwrap();
        for member in ["body", "sig", "epk", "nonce"] {
            header.remove(member);
        }
        let recipient = self.daemons[to].keys.identity.enc.public();
        let signing = &self.daemons[by].keys.identity.signing;
        let text = payload.to_string().into_bytes();
        seal_bytes(header.clone(), text, recipient, signing, [5; 32], [6; 12]).unwrap().envelope
    }

    /// Delivers an envelope, as the relay would.
    pub(crate) fn deliver(&mut self, to: usize, env: &Value) {
        self.frame(to, &text::deliver(&env.to_string()));
    }

    /// Whether a daemon acknowledged an envelope.
    pub(crate) fn acked(&self, at: usize, env: &Value) -> bool {
        self.relay.acks_by(at).iter().any(|id| id == env["id"].as_str().unwrap())
    }

    /// What is sealed in an envelope for a member's machine.
    pub(crate) fn opened(&self, to: usize, env: &Value) -> Value {
        let checked = messaging_core::envelope::Checked::read(env.clone()).unwrap();
        let enc = [&self.daemons[to].keys.identity.enc];
        messaging_core::seal::testing::open_unverified(&checked, &enc).unwrap().raw
    }

    /// What a daemon sealed into an envelope, opened with its recipient's key.
    pub(crate) fn open(&self, env: &Value) -> Value {
        let to = super::relay::device(env, "to");
        let keys =
            self.daemons.iter().map(|daemon| &daemon.keys).find(|keys| *keys.machine() == to);
        let checked = messaging_core::envelope::Checked::read(env.clone()).unwrap();
        let enc = [&keys.unwrap().identity.enc];
        messaging_core::seal::testing::open_unverified(&checked, &enc).unwrap().raw
    }

    /// What a daemon answered to envelopes, opened: `(ref, stage, code)` of each receipt that it sent to `to`.
    pub(crate) fn receipts(&self, from: usize, to: usize) -> Vec<(String, String)> {
        let keys = &self.daemons[to].keys;
        let opened = |env: Value| {
            let checked = messaging_core::envelope::Checked::read(env).ok()?;
            let enc = [&keys.identity.enc];
            let opened = messaging_core::seal::testing::open_unverified(&checked, &enc).ok()?;
            let stage = opened.raw.get("stage")?.as_str()?.to_owned();
            let code = opened.raw.get("code").and_then(Value::as_str);
            let id = opened.raw.get("ref")?.as_str()?.to_owned();
            Some((id, code.map_or(stage.clone(), |code| format!("{stage} {code}"))))
        };
        let to: MachineId = self.machine(to);
        let sent = self.relay.sent_by(from).into_iter();
        sent.filter(|env| super::relay::device(env, "to") == to).filter_map(opened).collect()
    }

    /// The one answer to an envelope; none when there was none.
    pub(crate) fn answer_to(&self, from: usize, to: usize, env: &Value) -> Option<String> {
        let id = env["id"].as_str().unwrap();
        let mut answers: Vec<String> = self
            .receipts(from, to)
            .into_iter()
            .filter(|(about, _)| about == id)
            .map(|(_, stage)| stage)
            .collect();
        assert!(answers.len() < 2, "answered twice: {answers:?}");
        answers.pop()
    }

    /// Whether a daemon remembers an envelope as judged.
    pub(crate) fn is_seen(&self, at: usize, env: &Value) -> bool {
        let id = env["id"].as_str().unwrap();
        self.count(at, &format!("SELECT count(*) FROM seen WHERE id = '{id}'")) == 1
    }
}

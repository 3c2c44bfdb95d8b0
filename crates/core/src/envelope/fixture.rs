//! Two persons of one realm and the envelopes between them, for tests.

use alloc::vec::Vec;
use serde_json::{Value, json};

use super::{Checked, End, SealedType};
use crate::code::Failure;
use crate::ids::{EncKey, Hash, Label, MachineId, PersonId, SessionName, Ulid};
use crate::keys::Identity;
use crate::limits::TTL_MS;
use crate::presence::{Draft, PresencePayload, PresenceSeq};
use crate::realm::{Anchor, DeviceView, TableView};
use crate::seal::{PresenceRequest, SealRequest, SealedEnvelope, presence, seal};
use crate::time::Ms;

/// When the tests happen.
pub(crate) const NOW: Ms = Ms(1_700_000_004_000);

/// A person with a device.
pub(crate) struct Party {
    pub(crate) identity: Identity,
    pub(crate) end: End,
}

impl Party {
    pub(crate) fn new(person: &str, seed: u8) -> Self {
        let identity = Identity::from_secrets([seed; 32], [seed | 0x10; 32]);
        let end = End {
            person: PersonId::parse(person).unwrap(),
            device: *identity.machine(),
            agent: None,
        };
        Self { identity, end }
    }

    /// This end with a session.
    pub(crate) fn agent(&self, name: &str) -> End {
        End { agent: Some(SessionName::parse(name).unwrap()), ..self.end.clone() }
    }

    fn device(&self) -> (MachineId, DeviceView) {
        let view = DeviceView {
            person: self.end.person.clone(),
            label: Label::parse("desk").unwrap(),
            enc: Some(*self.identity.enc.public()),
            role: None,
        };
        (self.end.device, view)
    }
}

pub(crate) fn alice() -> Party {
    Party::new("alice", 1)
}

pub(crate) fn bob() -> Party {
    Party::new("bob", 2)
}

pub(crate) fn realm() -> Hash {
    Hash::parse("SeGw5ik9q0MAP2h015KS9Y0HgNDdu7_OGEPhRLiJU5g").unwrap()
}

pub(crate) fn anchor() -> Anchor {
    Anchor::Roster {
        seq: 2,
        hash: Hash::parse("Btqu00Tg0PxFHDaCCT_gOokIrwInWVjkhJYm9k62Zzk").unwrap(),
    }
}

/// A realm that knows these parties.
pub(crate) fn view(parties: &[&Party]) -> TableView {
    TableView::new(realm(), anchor(), parties.iter().map(|party| party.device()))
}

pub(crate) fn id(text: &str) -> Ulid {
    Ulid::parse(text).unwrap()
}

/// A direct line.
pub(crate) fn line(text: &str) -> Value {
    json!({
        "kind": "message",
        "message": {"messageId": "01HF7YAT00AAAAAAAAAAAAAAAA", "role": "ROLE_USER", "parts": [{"text": text}]}
    })
}

/// The request to seal `payload` from one end to another, valid from [`NOW`] for seven days.
pub(crate) fn request<'a>(
    from: &'a Party,
    from_end: &'a End,
    to: &'a End,
    recipient: EncKey,
    kind: SealedType,
    payload: &'a Value,
) -> SealRequest<'a> {
    SealRequest {
        id: id("01HF7YAT00BBBBBBBBBBBBBBBB"),
        kind,
        realm: realm(),
        from: from_end,
        to,
        ts: NOW,
        exp: NOW.plus(TTL_MS),
        anchor: anchor(),
        reply_to: None,
        payload,
        recipient,
        identity: &from.identity.signing,
    }
}

/// A direct line from bob to alice, sealed with the ephemeral key and the nonce of the atlas.
pub(crate) fn sealed_line(text: &str) -> SealedEnvelope {
    let (bob, alice, payload) = (bob(), alice(), line(text));
    let request = request(
        &bob,
        &bob.end,
        &alice.end,
        *alice.identity.enc.public(),
        SealedType::Message,
        &payload,
    );
    seal(&request, [0x13; 32], [9; 12]).unwrap()
}

/// Bob's presence.
pub(crate) fn presence_of(party: &Party) -> Result<SealedEnvelope, Failure> {
    let payload: PresencePayload = Draft {
        seq: PresenceSeq(1),
        label: Label::parse("desk").unwrap(),
        live: Vec::new(),
        kept: Vec::new(),
        features: crate::bounded::List::default(),
        away: false,
    }
    .fit();
    let request = PresenceRequest {
        id: id("01HF7YAT00CCCCCCCCCCCCCCCC"),
        realm: realm(),
        from: &party.end,
        ts: NOW,
        exp: NOW.plus(TTL_MS),
        anchor: anchor(),
        payload: &payload,
    };
    presence(&request, &party.identity.signing)
}

/// A change of an envelope, signed anew by `party` after it was made.
pub(crate) fn resigned(mut raw: Value, party: &Party, change: impl FnOnce(&mut Value)) -> Value {
    change(&mut raw);
    raw.as_object_mut().unwrap().remove("sig");
    let sig = party.identity.signing.sign_value(crate::domain::Domain::Envelope, &raw).unwrap();
    raw["sig"] = json!(sig);
    raw
}

pub(crate) fn checked(raw: Value) -> Checked {
    Checked::read(raw).unwrap()
}

//! The persons of the envelope files: a team and a directory realm that know the same devices.

use messaging_core::domain::Domain;
use messaging_core::ids::{Hash, MachineId, Ulid};
use messaging_core::jcs;
use messaging_core::keys::Identity;
use messaging_core::limits::TTL_MS;
use messaging_core::random;
use messaging_core::roster::{Member, Op, Role, Roster, sign_genesis};
use messaging_core::seal::testing::seal_bytes;
use messaging_core::testing::SeededRandom;
use messaging_core::time::Ms;
use serde_json::{Value, json};

use super::book::{Book, WriteError, made, text};
use crate::args::Args;
use crate::ops;

/// When everything in these files is sent and received.
pub(super) const NOW: Ms = Ms(1_790_000_600_000);

/// Ada and Ben, Ben's phone, Dan whom the team removed, and Eve whom nobody knows.
pub(super) struct Cast {
    pub(super) ada: Identity,
    pub(super) ben: Identity,
    pub(super) phone: Identity,
    pub(super) dan: Identity,
    pub(super) eve: Identity,
    /// The team's id.
    pub(super) realm: Hash,
    /// The head of its roster, as an anchor.
    pub(super) anchor: Value,
    /// An earlier head.
    pub(super) older: Value,
    /// The team as a view.
    pub(super) team: Value,
    /// The directory's id.
    pub(super) directory_realm: Hash,
    /// A tree head, as an anchor.
    pub(super) epoch: Value,
    /// The directory as a view.
    pub(super) directory: Value,
    rng: SeededRandom,
}

/// Hosted persons: Ada and Ben in the directory realm.
pub(super) const HOSTED_ADA: &str = "p_adaadaadaadaadaadaadaadaad";
pub(super) const HOSTED_BEN: &str = "p_benbenbenbenbenbenbenbenbe";

impl Cast {
    /// Founds the team; each file does so anew, from the same keys.
    pub(super) fn new(book: &mut Book) -> Result<Self, WriteError> {
        let (ada, ben) = (book.party("ada", 31), book.party("ben", 32));
        let (phone, dan) = (book.party("ben's phone", 33), book.party("dan", 34));
        let eve = book.party("eve", 35);
        let mut roster = Roster::new();
        let mut entries = Vec::new();
        let mut older = Value::Null;
        let founder = member(&ada, "ada", "laptop", Role::Admin)?;
        let name = made("name", "Envelopes".parse())?;
        let genesis = sign_genesis(&name, &founder, Ms(1_790_000_000_000), &ada.signing);
        let mut next = made("genesis", genesis)?;
        let ops = [
            Op::MemberAdd { member: member(&ben, "ben", "desk", Role::Member)? },
            Op::MemberAdd { member: member(&dan, "dan", "box", Role::Member)? },
            Op::MemberRemove { machine: *dan.machine() },
            Op::MemberAdd { member: member(&phone, "ben", "phone", Role::Member)? },
        ];
        for op in &ops {
            made("entry", roster.apply(&next, None))?;
            entries.push(next);
            if older.is_null() {
                older = anchor(&roster);
            }
            next = made("entry", roster.sign_next(op, Ms(1_790_000_060_000), &ada.signing))?;
        }
        made("entry", roster.apply(&next, None))?;
        entries.push(next);
        let team = book.share("team", json!({"kind": "roster", "entries": entries}));

        let directory_realm = Hash::from_bytes(&[0x44; 32]);
        let epoch = json!({"kind": "epoch", "size": 9, "root": Hash::from_bytes(&[0x45; 32])});
        let devices = json!([
            {"device": ada.machine(), "person": HOSTED_ADA, "label": "laptop"},
            {"device": ben.machine(), "person": HOSTED_BEN, "label": "desk"},
        ]);
        let view = json!({"kind": "directory", "realm": directory_realm, "devices": devices, "anchor": epoch});
        let directory = book.share("directory", view);
        Ok(Self {
            realm: *made("team", roster.team_id().ok_or("no team"))?,
            anchor: anchor(&roster),
            ada,
            ben,
            phone,
            dan,
            eve,
            older,
            team,
            directory_realm,
            epoch,
            directory,
            rng: SeededRandom::new(36),
        })
    }

    /// A fresh id.
    pub(super) fn id(&mut self) -> Ulid {
        random::ulid(NOW, &mut self.rng)
    }

    /// The header members that a sender chooses, from Ben to Ada unless changed.
    pub(super) fn fields(
        &mut self,
        kind: &str,
        from_agent: Option<&str>,
        to_agent: Option<&str>,
    ) -> Value {
        json!({
            "id": self.id(), "type": kind, "realm": self.realm,
            "from": end("ben", self.ben.machine(), from_agent), "to": end("ada", self.ada.machine(), to_agent),
            "ts": NOW, "exp": NOW.plus(TTL_MS), "anchor": self.anchor
        })
    }

    /// The arguments of a seal by Ben to the device of `recipient`.
    pub(super) fn seal_input(
        &mut self,
        fields: Value,
        payload: Value,
        recipient: &Identity,
    ) -> Value {
        json!({
            "seed": text(&*self.ben.signing.seed()), "fields": fields, "payload": payload,
            "recipientEnc": recipient.enc.public(), "ephemeral": text(&random::bytes::<32>(&mut self.rng)),
            "nonce": text(&random::bytes::<12>(&mut self.rng))
        })
    }

    /// The envelope of those arguments.
    pub(super) fn sealed(&self, input: &Value) -> Result<Value, WriteError> {
        let arguments = made("input", input.as_object().ok_or("no object"))?;
        let seal = made("kind", ops::lookup("envelope_seal").ok_or("no such kind"))?;
        let result =
            made("seal", seal(&Args::new(arguments)).map_err(|refusal| format!("{refusal:?}")))?;
        Ok(result["envelope"].clone())
    }

    /// Mail from Ben's agent to Ada's, sealed.
    pub(super) fn mail(&mut self) -> Result<Value, WriteError> {
        let fields = self.fields("message", Some("builder"), Some("reviewer"));
        let input = self.seal_input(fields, mail(json!([{"text": "hi"}])), &self.ada.clone());
        self.sealed(&input)
    }

    /// Ben's envelope with any header and any plaintext, unchecked. `fields` holds a class.
    pub(super) fn forged(
        &mut self,
        fields: Value,
        plaintext: Vec<u8>,
    ) -> Result<Value, WriteError> {
        let mut header = fields;
        header["v"] = json!("messaging/1");
        header["enc"] = json!("x25519-aes256gcm");
        let Value::Object(header) = header else { return made("header", Err("no object")) };
        let (ephemeral, nonce) = (random::bytes(&mut self.rng), random::bytes(&mut self.rng));
        let recipient = *self.ada.enc.public();
        let sealed = seal_bytes(header, plaintext, &recipient, &self.ben.signing, ephemeral, nonce);
        Ok(made("forged", sealed)?.envelope)
    }

    /// The arguments of a verification by Ada now.
    pub(super) fn verify_input(&self, envelope: &Value) -> Value {
        json!({"envelope": envelope, "view": self.team, "now": NOW, "self": self.ada.machine()})
    }

    /// The arguments of a receipt by Ada now.
    pub(super) fn receive_input(&self, envelope: &Value) -> Value {
        let mut input = self.verify_input(envelope);
        input["keys"] = json!([text(&*self.ada.enc.to_bytes())]);
        input
    }

    /// The arguments of opening by Ada.
    pub(super) fn open_input(&self, envelope: &Value) -> Value {
        json!({"envelope": envelope, "keys": [text(&*self.ada.enc.to_bytes())]})
    }

    /// Ben's presence.
    pub(super) fn presence(&mut self, body: Value) -> Result<Value, WriteError> {
        let mut fields = self.fields("presence", None, None);
        fields["v"] = json!("messaging/1");
        fields["to"] = json!({"team": true});
        fields["enc"] = json!("none");
        fields["body"] = body;
        signed(fields, &self.ben)
    }
}

/// `envelope` with a signature by `who`, whatever stood there.
pub(super) fn signed(mut envelope: Value, who: &Identity) -> Result<Value, WriteError> {
    let text = made("envelope", jcs::canonical_without(&envelope, "sig"))?;
    envelope["sig"] = json!(who.signing.sign(Domain::Envelope, &text));
    Ok(envelope)
}

/// One change of a value: a JSON pointer, and what to put there; none takes the member away.
pub(super) type Edit<'a> = (&'a str, Option<Value>);

/// `value` with these changes.
pub(super) fn edited(value: &Value, edits: &[Edit<'_>]) -> Result<Value, WriteError> {
    let mut value = value.clone();
    for (pointer, to) in edits {
        let (parent, name) = pointer.rsplit_once('/').unwrap_or(("", pointer));
        let parent = value.pointer_mut(parent).and_then(Value::as_object_mut);
        let parent = made(pointer, parent.ok_or("no such object"))?;
        match to {
            Some(to) => parent.insert(name.to_owned(), to.clone()),
            None => parent.remove(name),
        };
    }
    Ok(value)
}

/// One end of an envelope.
pub(super) fn end(person: &str, device: &MachineId, agent: Option<&str>) -> Value {
    let mut end = json!({"person": person, "device": device});
    if let Some(agent) = agent {
        end["agent"] = json!(agent);
    }
    end
}

/// The id of every message in these files.
pub(super) const MESSAGE: &str = "01KQ00000000000000000000M1";

/// A message of these parts.
pub(super) fn mail(parts: Value) -> Value {
    json!({"kind": "message", "message": {"messageId": MESSAGE, "role": "ROLE_USER", "parts": parts}})
}

/// A message of these parts with a `conv`.
pub(super) fn conv(parts: Value, conv: Value) -> Value {
    let mut payload = mail(parts);
    payload["conv"] = conv;
    payload
}

fn member(who: &Identity, person: &str, label: &str, role: Role) -> Result<Member, WriteError> {
    Ok(Member {
        machine: *who.machine(),
        enc: *who.enc.public(),
        person: made(person, person.parse())?,
        role,
        label: made(label, label.parse())?,
    })
}

fn anchor(roster: &Roster) -> Value {
    match roster.head() {
        Some(head) => json!({"kind": "roster", "seq": head.seq, "hash": head.hash}),
        None => Value::Null,
    }
}

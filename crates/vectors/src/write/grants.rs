//! Consent grants: signing, verifying, merging, signing anew, the policy they make and what it decides.

mod decide;
mod verify;

use messaging_core::domain::Domain;
use messaging_core::ids::{Hash, Ulid};
use messaging_core::jcs;
use messaging_core::keys::Identity;
use messaging_core::time::Ms;
use serde_json::{Value, json};

use super::book::{Book, WriteError, Writing, made, text};
use super::cast::{NOW, edited};

/// Ben's, whose phone is lost and whose desk is not; Ada and Dan are somebody else.
pub(super) struct Story {
    pub(super) desk: Identity,
    pub(super) phone: Identity,
    pub(super) ada: Identity,
    pub(super) realm: Hash,
    pub(super) id: Ulid,
    pub(super) channel: Ulid,
}

impl Story {
    pub(super) fn new(book: &mut Book) -> Self {
        Self {
            desk: book.party("ben's desk", 41),
            phone: book.party("ben's phone", 42),
            ada: book.party("ada", 43),
            realm: Hash::from_bytes(&[0x47; 32]),
            id: Ulid::from_parts(NOW, [7; 10]),
            channel: Ulid::from_parts(NOW, [8; 10]),
        }
    }

    /// What Ben says about a subject, with these levels, before it is signed.
    pub(super) fn fields(&self, by: &Identity, subject: &Value, levels: &Value) -> Value {
        let mut fields = json!({
            "v": "messaging/1", "realm": self.realm, "id": self.id, "person": "ben", "by": by.machine(),
            "ts": NOW, "subject": subject
        });
        for (name, level) in levels.as_object().into_iter().flatten() {
            fields[name] = level.clone();
        }
        fields
    }

    /// A grant of Ben's about Ada.
    pub(super) fn grant(&self, by: &Identity, levels: &Value) -> Result<Value, WriteError> {
        signed(self.fields(by, &json!({"person": "ada"}), levels), by, Domain::Grant)
    }

    /// A grant of Ben's about a channel.
    pub(super) fn of_channel(&self, levels: &Value) -> Result<Value, WriteError> {
        let subject = json!({"channel": self.channel});
        signed(self.fields(&self.desk, &subject, levels), &self.desk, Domain::Grant)
    }

    pub(super) fn verify_input(&self, grant: &Value) -> Value {
        json!({"grant": grant, "realm": self.realm, "person": "ben"})
    }
}

/// `value` with a signature by `who`, whatever stood there.
pub(super) fn signed(
    mut value: Value,
    who: &Identity,
    domain: Domain,
) -> Result<Value, WriteError> {
    let text = made("value", jcs::canonical_without(&value, "sig"))?;
    value["sig"] = json!(who.signing.sign(domain, &text));
    Ok(value)
}

pub(super) fn book() -> Result<Book, WriteError> {
    let mut book = Book::new(
        "Consent grants: signing, verifying, merging, signing anew, the policy they make and what \
         it decides (section 6.9).",
    );
    let story = Story::new(&mut book);
    verify::write(&mut book, &story)?;
    merging(&mut book, &story)?;
    resigning(&mut book, &story)?;
    decide::write(&mut book, &story)?;
    Ok(book)
}

/// Two or three copies for one subject, in both orders, and the one that counts.
fn merging(book: &mut Book, story: &Story) -> Writing {
    let (low, high) = if story.desk.machine() < story.phone.machine() {
        (&story.desk, &story.phone)
    } else {
        (&story.phone, &story.desk)
    };
    let blocked = json!({"chat": "blocked"});
    let at = |by: &Identity, edits: &[(&str, Option<Value>)]| {
        signed(edited(&story.grant(by, &blocked)?, edits)?, by, Domain::Grant)
    };
    let (small, large) = (at(low, &[])?, at(high, &[])?);
    let later = at(high, &[("/ts", Some(json!(NOW.plus(1))))])?;
    let larger_id = at(high, &[("/id", Some(json!("7ZZZZZZZZZZZZZZZZZZZZZZZZZ")))])?;
    let early_larger = at(
        low,
        &[("/ts", Some(json!(NOW.minus(1)))), ("/id", Some(json!("7ZZZZZZZZZZZZZZZZZZZZZZZZZ")))],
    )?;
    let open = story.grant(low, &json!({"chat": "open"}))?;
    let first = |a: &Value, b: &Value| {
        let sig = |value: &Value| value["sig"].as_str().unwrap_or_default().to_owned();
        if sig(a) < sig(b) { a.clone() } else { b.clone() }
    };
    let all = [low.machine(), high.machine()];
    for (name, wins, loses, current) in [
        ("a later time", &later, &small, vec![low.machine()]),
        ("an equal time and a larger id", &larger_id, &small, vec![low.machine()]),
        ("a later time before a larger id", &small, &early_larger, vec![]),
        ("a current signer before a smaller one", &large, &small, vec![high.machine()]),
        ("the smaller of two current signers", &small, &large, all.to_vec()),
        ("the smaller of two removed signers", &small, &large, vec![]),
        (
            "the smaller of two signatures",
            &first(&small, &open),
            if first(&small, &open) == small { &open } else { &small },
            all.to_vec(),
        ),
        ("the same copy twice", &small, &small, all.to_vec()),
    ] {
        for (order, copies) in [("", [wins, loses]), (", the other way round", [loses, wins])] {
            let input = json!({"copies": copies, "currentDevices": current});
            book.gives(format!("merging: {name}{order}"), "grant_merge", input, wins.clone())?;
        }
    }
    for (order, copies) in [
        ("", [&small, &later, &large]),
        (", turned", [&later, &large, &small]),
        (", turned again", [&large, &small, &later]),
    ] {
        let input = json!({"copies": copies, "currentDevices": all});
        book.gives(format!("merging: three copies{order}"), "grant_merge", input, later.clone())?;
    }
    Ok(())
}

/// The phone is lost: the desk signs anew what it said.
fn resigning(book: &mut Book, story: &Story) -> Writing {
    let when: Ms = NOW.plus(3_600_000);
    let until = json!(NOW.plus(7_200_000));
    let input = |grant: &Value, all: bool| {
        let mut input =
            json!({"grant": grant, "seed": text(&*story.desk.signing.seed()), "now": when});
        if all {
            input["all"] = json!(true);
        }
        input
    };
    for (name, said, kept) in [
        ("blocked", json!({"chat": "blocked"}), Some(json!({"chat": "blocked"}))),
        ("muted", json!({"chat": "muted"}), Some(json!({"chat": "muted"}))),
        (
            "no agents' lines",
            json!({"agentMail": "blocked"}),
            Some(json!({"agentMail": "blocked"})),
        ),
        ("no asks", json!({"ask": "no"}), Some(json!({"ask": "no"}))),
        (
            "open lines and no asks",
            json!({"chat": "open", "ask": "no"}),
            Some(json!({"ask": "no"})),
        ),
        (
            "blocked, with everything else open",
            json!({"chat": "blocked", "agentMail": "open", "ask": "open", "trustedUntil": until}),
            Some(json!({"chat": "blocked"})),
        ),
        ("asks on request", json!({"ask": "request"}), None),
        ("open lines", json!({"chat": "open"}), None),
        ("trust", json!({"ask": "open", "trustedUntil": until}), None),
        ("a clear", json!({}), None),
    ] {
        let grant = story.grant(&story.phone, &said)?;
        let expected = match kept {
            None => Value::Null,
            Some(kept) => {
                let mut fields = story.fields(&story.desk, &json!({"person": "ada"}), &kept);
                fields["resignedAt"] = json!(when);
                signed(fields, &story.desk, Domain::Grant)?
            }
        };
        book.gives(
            format!("signing anew: {name}"),
            "grant_resign",
            input(&grant, false),
            expected.clone(),
        )?;
        if !expected.is_null() {
            let input = story.verify_input(&expected);
            book.pins(format!("signing anew: {name}: it verifies"), "grant_verify", input)?;
        }
    }
    let full = json!({"chat": "open", "agentMail": "open", "ask": "open", "trustedUntil": until, "later": {"a": 1}});
    let grant = story.grant(&story.phone, &full)?;
    let mut fields = story.fields(&story.desk, &json!({"person": "ada"}), &full);
    fields["resignedAt"] = json!(when);
    let all = signed(fields, &story.desk, Domain::Grant)?;
    book.gives(
        "signing anew: a replaced device keeps everything",
        "grant_resign",
        input(&grant, true),
        all,
    )?;
    let later = story.grant(&story.phone, &json!({"ask": "no", "later": 1}))?;
    let expected = {
        let mut fields =
            story.fields(&story.desk, &json!({"person": "ada"}), &json!({"ask": "no"}));
        fields["resignedAt"] = json!(when);
        signed(fields, &story.desk, Domain::Grant)?
    };
    let name = "signing anew: a member of a later version goes";
    book.gives(name, "grant_resign", input(&later, false), expected)?;
    let again =
        story.grant(&story.phone, &json!({"chat": "blocked", "resignedAt": NOW.plus(1)}))?;
    book.pins("signing anew: what was signed anew", "grant_resign", input(&again, false))
}

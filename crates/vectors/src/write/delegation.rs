//! Delegation: grants made, chains that hold, and chains that are refused at each step of the order.

use messaging_core::code::Code::{Expired, Forbidden, InvalidRequest, NotMember, TooLarge};
use messaging_core::domain::Domain;
use messaging_core::ids::{Hash, Ulid};
use messaging_core::jcs;
use messaging_core::keys::Identity;
use messaging_core::limits::{CLOCK_SKEW_MS, DELEGATION_BYTES, TTL_MS};
use messaging_core::time::Ms;
use serde_json::{Value, json};

use super::book::{Book, WriteError, Writing, made, text};
use super::cast::{Cast, HOSTED_ADA, HOSTED_BEN, NOW, edited};
use crate::args::Args;
use crate::ops;

mod refused;

/// When a root of these files ends.
const END: Ms = NOW.plus(7_200_000);

pub(super) fn book() -> Result<Book, WriteError> {
    let mut book = Book::new(
        "Delegation: grants and their hashes, chains of one to four grants with what is kept of \
         them, and chains that are refused (section 6.7).",
    );
    let mut cast = Cast::new(&mut book)?;
    let story = Story::new(&mut cast)?;
    create(&mut book, &story)?;
    holds(&mut book, &story)?;
    directory(&mut book, &story)?;
    refused::write(&mut book, &story)?;
    Ok(book)
}

/// Who asks in turn: Ada's lead asks Ben's builder, that one the phone, the phone Ada's helper, and so on.
struct Story<'a> {
    cast: &'a Cast,
    sessions: [&'static str; 5],
    tasks: [Ulid; 4],
}

impl<'a> Story<'a> {
    fn new(cast: &'a mut Cast) -> Result<Self, WriteError> {
        let tasks = [cast.id(), cast.id(), cast.id(), cast.id()];
        let sessions = [
            "ada/lead@laptop",
            "ben/builder@desk",
            "ben/pocket@phone",
            "ada/helper@laptop",
            "ben/other@desk",
        ];
        Ok(Self { cast, sessions, tasks })
    }

    /// The machine of each session.
    fn signer(&self, hop: usize) -> &Identity {
        match hop {
            0 | 3 => &self.cast.ada,
            2 => &self.cast.phone,
            _ => &self.cast.ben,
        }
    }

    fn session(&self, index: usize) -> &'static str {
        self.sessions.get(index).copied().unwrap_or_default()
    }

    fn task(&self, hop: usize) -> Value {
        json!(self.tasks.get(hop))
    }

    /// What the sender of a hop chooses, with these members more or instead.
    fn fields(&self, hop: usize, more: &Value) -> Value {
        let mut fields = json!({
            "realm": self.cast.realm, "task": self.task(hop), "from": self.session(hop),
            "to": self.session(hop + 1), "by": self.signer(hop).machine(), "ts": NOW
        });
        if hop == 0 && more.get("exp").is_none() {
            fields["exp"] = json!(END);
        }
        for (name, member) in more.as_object().into_iter().flatten() {
            fields[name] = member.clone();
        }
        fields
    }

    fn create_input(&self, hop: usize, fields: &Value, parent: Option<&Value>) -> Value {
        let seed = text(&*self.signer(hop).signing.seed());
        let mut input = json!({"seed": seed, "now": NOW, "fields": fields});
        if let Some(parent) = parent {
            input["parent"] = parent.clone();
        }
        input
    }

    /// The grant of a hop under `parent`.
    fn grant(&self, hop: usize, more: &Value, parent: Option<&Value>) -> Result<Value, WriteError> {
        let input = self.create_input(hop, &self.fields(hop, more), parent);
        let arguments = made("input", input.as_object().ok_or("no object"))?;
        let create = made("kind", ops::lookup("delegation_create").ok_or("no such kind"))?;
        let result = create(&Args::new(arguments)).map_err(|refusal| format!("{refusal:?}"));
        Ok(made("grant", result)?["grant"].clone())
    }

    /// A chain whose hops add these members.
    fn chain(&self, hops: &[Value]) -> Result<Vec<Value>, WriteError> {
        let mut chain: Vec<Value> = Vec::new();
        for (hop, more) in hops.iter().enumerate() {
            chain.push(self.grant(hop, more, chain.last())?);
        }
        Ok(chain)
    }

    /// `grant` with members set or taken away, signed again by the machine of its hop.
    fn forged(
        &self,
        hop: usize,
        grant: &Value,
        edits: &[(&str, Option<Value>)],
    ) -> Result<Value, WriteError> {
        signed(edited(grant, edits)?, self.signer(hop))
    }

    /// The arguments of a verification for the hop on which such a chain arrives.
    fn verify_input(&self, chain: &Value, hop: usize) -> Value {
        json!({
            "chain": chain, "view": self.cast.team, "now": NOW,
            "hop": {"device": self.signer(hop).machine(), "from": self.session(hop),
                    "to": self.session(hop + 1), "task": self.task(hop)}
        })
    }
}

/// `grant` with a signature by `who`, whatever stood there.
fn signed(mut grant: Value, who: &Identity) -> Result<Value, WriteError> {
    let text = made("grant", jcs::canonical_without(&grant, "sig"))?;
    grant["sig"] = json!(who.signing.sign(Domain::Delegation, &text));
    Ok(grant)
}

fn create(book: &mut Book, story: &Story<'_>) -> Writing {
    let op = "delegation_create";
    let mut plain = story.fields(0, &json!({}));
    if let Some(fields) = plain.as_object_mut() {
        fields.remove("exp");
    }
    book.pins("making a root", op, story.create_input(0, &plain, None))?;
    for (name, more) in [
        ("that lives as long as may be", json!({"exp": NOW.plus(TTL_MS)})),
        ("for one hop", json!({"maxDepth": 1})),
        ("for one purpose", json!({"scope": ["review", "repo:team/site"]})),
        ("for no purpose", json!({"scope": []})),
        ("with a label twice", json!({"scope": ["review", "review"]})),
    ] {
        let input = story.create_input(0, &story.fields(0, &more), None);
        book.pins(format!("making a root {name}"), op, input)?;
    }
    for (name, more) in [
        ("for no hop", json!({"maxDepth": 0})),
        ("for five hops", json!({"maxDepth": 5})),
        ("with nine labels", json!({"scope": vec!["x"; 9]})),
        ("that ends before it starts", json!({"exp": NOW.minus(1)})),
        ("that lives too long", json!({"exp": NOW.plus(TTL_MS + 1)})),
        ("from a session on no machine", json!({"from": "ada/lead"})),
    ] {
        let input = story.create_input(0, &story.fields(0, &more), None);
        book.refuses(format!("making a root {name}"), op, input, InvalidRequest)?;
    }

    let root = json!({"maxDepth": 3, "scope": ["review", "test"]});
    let root = story.grant(0, &root, None)?;
    for (name, more) in [
        ("as it may", json!({})),
        ("for less", json!({"scope": ["test"]})),
        ("for nothing", json!({"scope": []})),
        ("for fewer hops", json!({"maxDepth": 2})),
        ("for a shorter time", json!({"exp": NOW.plus(60_000)})),
    ] {
        let input = story.create_input(1, &story.fields(1, &more), Some(&root));
        book.pins(format!("passing on {name}"), op, input)?;
    }
    for (name, more, code) in [
        ("for more", json!({"scope": ["review", "deploy"]}), Forbidden),
        ("for more hops", json!({"maxDepth": 4}), Forbidden),
        ("for a longer time", json!({"exp": END.plus(1)}), Forbidden),
        ("what another session was asked", json!({"from": story.session(4)}), InvalidRequest),
        ("into another realm", json!({"realm": Hash::from_bytes(&[9; 32])}), InvalidRequest),
    ] {
        let input = story.create_input(1, &story.fields(1, &more), Some(&root));
        book.refuses(format!("passing on {name}"), op, input, code)?;
    }
    let mut late = story.create_input(1, &story.fields(1, &json!({"ts": END})), Some(&root));
    late["now"] = json!(END);
    book.refuses("passing on what has ended", op, late, Expired)
}

/// Chains that verify, and what is kept of them.
fn holds(book: &mut Book, story: &Story<'_>) -> Writing {
    let op = "delegation_verify";
    let none = json!({});
    for hops in 1..=4 {
        let chain = json!(story.chain(&vec![none.clone(); hops])?);
        let kept = json!({
            "addresses": story.sessions.iter().take(hops + 1).collect::<Vec<_>>(),
            "depth": hops, "maxDepth": 4, "exp": END
        });
        book.gives(format!("grants: {hops}"), op, story.verify_input(&chain, hops - 1), kept)?;
    }
    for (name, hops) in [
        (
            "each hop narrower",
            vec![
                json!({"maxDepth": 4}),
                json!({"maxDepth": 3, "scope": ["review", "test"], "exp": END.minus(1)}),
                json!({"scope": ["test"], "exp": END.minus(2)}),
            ],
        ),
        ("as many grants as may be", vec![json!({"maxDepth": 2}), none.clone()]),
        (
            "a scope in another order",
            vec![json!({"scope": ["a", "b"]}), json!({"scope": ["b", "a", "b"]})],
        ),
        ("a scope of nothing", vec![json!({"scope": []}), none.clone()]),
        (
            "eight labels of the longest",
            vec![
                json!({"scope": (0..8).map(|n| format!("{n}{}", "x".repeat(63))).collect::<Vec<_>>()}),
            ],
        ),
    ] {
        let chain = json!(story.chain(&hops)?);
        book.pins(format!("narrowing: {name}"), op, story.verify_input(&chain, hops.len() - 1))?;
    }
    let root = story.grant(0, &none, None)?;
    for (name, edits) in [
        ("sent ahead by the skew", vec![("/ts", Some(json!(NOW.plus(CLOCK_SKEW_MS))))]),
        (
            "a life of seven days",
            vec![
                ("/ts", Some(json!(NOW.minus(1_000)))),
                ("/exp", Some(json!(NOW.minus(1_000).plus(TTL_MS)))),
            ],
        ),
        ("a time written as a double", vec![("/exp", Some(json!(1_790_000_700_000.0)))]),
        ("a member of a later version", vec![("/later", Some(json!({"a": [null, 0.5]})))]),
    ] {
        let chain = json!([story.forged(0, &root, &edits)?]);
        book.pins(format!("a root: {name}"), op, story.verify_input(&chain, 0))?;
    }
    let mut last = story.verify_input(&json!([root]), 0);
    last["now"] = json!(END.minus(1));
    book.pins("a root: its last millisecond", op, last)?;
    let later = story.forged(0, &root, &[("/later", Some(json!("kept")))])?;
    let next = story.grant(1, &none, Some(&later))?;
    let input = story.verify_input(&json!([later, next]), 1);
    book.pins("a hash covers members of a later version", op, input)?;
    let padded = story.forged(0, &root, &[("/later", Some(json!("")))])?;
    let room = DELEGATION_BYTES - made("size", jcs::canonical(&json!([padded])))?.len();
    for (name, length, code) in [("8 KiB", room, None), ("8 KiB and one", room + 1, Some(TooLarge))]
    {
        let pad = json!("x".repeat(length));
        let chain = json!([story.forged(0, &root, &[("/later", Some(pad))])?]);
        let input = story.verify_input(&chain, 0);
        match code {
            None => book.pins(format!("size: {name}"), op, input)?,
            Some(code) => book.refuses(format!("size: {name}"), op, input, code)?,
        }
    }
    Ok(())
}

/// The same rules where a directory says who is who.
fn directory(book: &mut Book, story: &Story<'_>) -> Writing {
    let (op, cast) = ("delegation_verify", story.cast);
    let (from, to) = (format!("{HOSTED_ADA}/lead@laptop"), format!("{HOSTED_BEN}/builder@desk"));
    let more = json!({"realm": cast.directory_realm, "from": from, "to": to});
    let root = story.grant(0, &more, None)?;
    let hop = json!({"device": cast.ada.machine(), "from": from, "to": to, "task": story.task(0)});
    let input = |chain: Value, hop: &Value| json!({"chain": chain, "view": cast.directory, "now": NOW, "hop": hop});
    book.pins("in a directory realm", op, input(json!([root]), &hop))?;
    // A stranger is `not_member` there too, unlike the sender of an envelope.
    let other = story.forged(0, &root, &[("/by", Some(json!(cast.phone.machine())))])?;
    let other = signed(other, &cast.phone)?;
    let name = "in a directory realm: a device that it does not list";
    book.refuses(name, op, input(json!([other]), &hop), NotMember)
}

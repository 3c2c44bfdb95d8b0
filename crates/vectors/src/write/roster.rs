//! The roster: a team's story, and everything that must not extend it.

mod authority;
mod connection;
mod invites;
mod place;
mod shape;
mod tickets;

use messaging_core::code::Code;
use messaging_core::domain::Domain;
use messaging_core::ids::{EncKey, MachineId, Secret32Text};
use messaging_core::keys::Identity;
use messaging_core::limits::TTL_MS;
use messaging_core::random;
use messaging_core::roster::{Member, Op, Role, Roster, sign_genesis};
use messaging_core::testing::SeededRandom;
use messaging_core::ticket::InviteTicket;
use messaging_core::time::Ms;
use messaging_core::version::Version;
use serde_json::{Value, json};

use super::book::{Book, WriteError, Writing, made};

/// When the team of this file was founded.
const START: Ms = Ms(1_790_000_000_000);

pub(super) fn book() -> Result<Book, WriteError> {
    let mut book = Book::new(
        "A team's roster: entries that apply and entries that do not, replay, forks, invites and \
         their proofs, tickets, and the proofs of a connection (sections 4 and 7).",
    );
    let mut story = Story::tell(&mut book)?;
    story.chain(&mut book)?;
    place::write(&mut book, &story)?;
    shape::write(&mut book, &story)?;
    authority::write(&mut book, &story)?;
    invites::write(&mut book, &mut story)?;
    tickets::write(&mut book, &story)?;
    connection::write(&mut book, &story)?;
    Ok(book)
}

/// A team that has seen every kind of entry.
///
/// Ada founds it and stays its admin; Ben joins by an invite and is rekeyed twice; Cyn is added
/// and becomes an admin; Dan is added and removed; a second invite is revoked. Eve is a stranger.
struct Story {
    ada: Identity,
    ben: Identity,
    cyn: Identity,
    dan: Identity,
    eve: Identity,
    roster: Roster,
    /// The references to the entries, in order.
    entries: Vec<Value>,
    /// The ticket that Ben used.
    ticket: InviteTicket,
    rng: SeededRandom,
}

impl Story {
    fn tell(book: &mut Book) -> Result<Self, WriteError> {
        let [ada, ben, cyn, dan, eve] =
            [("ada", 11), ("ben", 12), ("cyn", 13), ("dan", 14), ("eve", 15)]
                .map(|(name, number)| book.party(name, number));
        let founder = Member { role: Role::Admin, ..member(&ada, "ada", "laptop")? };
        let name = made("name", "The \u{c4}lchemists".parse())?;
        let genesis = made("genesis", sign_genesis(&name, &founder, START, &ada.signing))?;
        let founded = made("genesis", Roster::from_entries([&genesis]))?;
        let mut rng = SeededRandom::new(16);
        let mut story = Story {
            ada: ada.clone(),
            ben: ben.clone(),
            cyn: cyn.clone(),
            dan: dan.clone(),
            eve,
            roster: Roster::new(),
            entries: Vec::new(),
            ticket: ticket(&founded, "ben", Self::at(1), &mut rng)?,
            rng,
        };
        story.take(book, genesis)?;

        story.put(book, &ada, &create(&story.ticket))?;
        let label = made("label", "desk".parse())?;
        let redeem = story.ticket.redeem(&story.ticket.team, &ben, &label);
        story.put(book, &ben, &made("redeem", redeem)?)?;

        story.put(book, &ada, &add(&member(&cyn, "cyn", "mini")?))?;
        story.put(book, &ada, &add(&member(&dan, "dan", "box")?))?;
        story.put(book, &ada, &role(cyn.machine(), Role::Admin))?;
        story.put(book, &cyn, &remove(dan.machine()))?;
        story.put(book, &ben, &rekey(ben.machine(), 0x41))?;
        story.put(book, &ada, &rekey(ben.machine(), 0x42))?;

        let second = story.invite("dan")?;
        story.put(book, &ada, &create(&second))?;
        story.put(book, &cyn, &Op::InviteRevoke { invite_id: second.invite_id })?;
        Ok(story)
    }

    /// The time of the entry at this number.
    fn at(seq: usize) -> Ms {
        let minutes = u64::try_from(seq).unwrap_or(u64::MAX);
        START.plus(minutes.saturating_mul(60_000))
    }

    /// The time of the next entry.
    fn now(&self) -> Ms {
        Self::at(self.entries.len())
    }

    /// The next entry of the story, signed by `who`.
    fn next(&self, who: &Identity, op: &Op) -> Result<Value, WriteError> {
        made("entry", self.roster.sign_next(op, self.now(), &who.signing))
    }

    fn put(&mut self, book: &mut Book, who: &Identity, op: &Op) -> Writing {
        let entry = self.next(who, op)?;
        self.take(book, entry)
    }

    fn take(&mut self, book: &mut Book, entry: Value) -> Writing {
        made("entry", self.roster.apply(&entry, None))?;
        let name = format!("entry {}", self.entries.len());
        self.entries.push(book.share(name, entry));
        Ok(())
    }

    /// A ticket for an invite made now.
    fn invite(&mut self, person: &str) -> Result<InviteTicket, WriteError> {
        let now = self.now();
        ticket(&self.roster, person, now, &mut self.rng)
    }

    /// A ticket of a minute, with an id that the story never used.
    fn unused(&self) -> Result<InviteTicket, WriteError> {
        let invite_id = made("id", "01KZZZZZZZZZZZZZZZZZZZZZZZ".parse())?;
        let expires = self.now().plus(60_000);
        Ok(InviteTicket { invite_id, expires, ..self.ticket.clone() })
    }

    /// The arguments of an apply on the first `seq` entries.
    fn on(&self, seq: usize, entry: &Value) -> Value {
        let before: Vec<&Value> = self.entries.iter().take(seq).collect();
        json!({"entries": before, "entry": entry})
    }

    /// Each entry of the story applies to those before it, and all of them replay.
    fn chain(&self, book: &mut Book) -> Writing {
        for (seq, entry) in self.entries.iter().enumerate() {
            let kind = match self.roster.entries().get(seq) {
                Some(entry) => entry.op().name(),
                None => "?",
            };
            let name = format!("the story: {kind}, entry {seq}");
            book.pins(name, "roster_apply", self.on(seq, entry))?;
        }
        book.pins("the whole story", "roster_replay", json!({"entries": self.entries}))?;
        let mut fields = self.next(&self.ada, &rekey(self.ada.machine(), 0x43))?;
        drop_member(&mut fields, "sig");
        let input = json!({"seed": super::book::text(&*self.ada.signing.seed()), "fields": fields});
        book.pins("signing an entry", "roster_sign", input)
    }

    /// An entry that applies to the whole story.
    fn applies(&self, book: &mut Book, name: &str, who: &Identity, op: &Op) -> Writing {
        let entry = self.next(who, op)?;
        book.pins(name, "roster_apply", self.on(self.entries.len(), &entry))
    }

    /// An entry that does not.
    fn fails(&self, book: &mut Book, name: &str, who: &Identity, op: &Op, code: Code) -> Writing {
        let entry = self.next(who, op)?;
        self.fails_raw(book, name, &entry, code)
    }

    fn fails_raw(&self, book: &mut Book, name: &str, entry: &Value, code: Code) -> Writing {
        book.refuses(name, "roster_apply", self.on(self.entries.len(), entry), code)
    }
}

/// A ticket for an invite of seven days.
fn ticket(
    roster: &Roster,
    person: &str,
    now: Ms,
    rng: &mut SeededRandom,
) -> Result<InviteTicket, WriteError> {
    Ok(InviteTicket {
        v: Version,
        relay: made("relay", "wss://relay.example/v1/connect".parse())?,
        team: *made("team", roster.team_id().ok_or("no team"))?,
        invite_id: random::ulid(now, rng),
        secret: Secret32Text::from_bytes(&random::bytes(rng)),
        person: made("person", person.parse())?,
        expires: now.plus(TTL_MS),
        name: roster.name().cloned(),
    })
}

fn member(who: &Identity, person: &str, label: &str) -> Result<Member, WriteError> {
    Ok(Member {
        machine: *who.machine(),
        enc: *who.enc.public(),
        person: made("person", person.parse())?,
        role: Role::Member,
        label: made("label", label.parse())?,
    })
}

fn add(member: &Member) -> Op {
    Op::MemberAdd { member: member.clone() }
}

fn remove(machine: &MachineId) -> Op {
    Op::MemberRemove { machine: *machine }
}

fn role(machine: &MachineId, role: Role) -> Op {
    Op::MemberRole { machine: *machine, role }
}

fn rekey(machine: &MachineId, byte: u8) -> Op {
    Op::MemberRekey { machine: *machine, enc: EncKey::from_bytes(&[byte; 32]) }
}

fn create(ticket: &InviteTicket) -> Op {
    Op::InviteCreate {
        invite_id: ticket.invite_id,
        invite_pub: ticket.invite_pub(),
        person: ticket.person.clone(),
        expires: ticket.expires,
    }
}

fn drop_member(value: &mut Value, name: &str) {
    if let Some(members) = value.as_object_mut() {
        members.remove(name);
    }
}

/// The entry signed again by `who`, whatever it says now.
fn sign_again(mut entry: Value, who: &Identity) -> Result<Value, WriteError> {
    drop_member(&mut entry, "sig");
    let sig = made("entry", who.signing.sign_value(Domain::Roster, &entry))?;
    entry["sig"] = json!(sig);
    Ok(entry)
}

/// The entry with one member changed, signed again by `who`.
fn changed(
    entry: &Value,
    name: &str,
    value: impl Into<Value>,
    who: &Identity,
) -> Result<Value, WriteError> {
    let mut entry = entry.clone();
    entry[name] = value.into();
    sign_again(entry, who)
}

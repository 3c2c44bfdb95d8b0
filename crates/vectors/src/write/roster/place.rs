//! Place in the chain, time, signature, replay, forks and heads.

use messaging_core::code::Code::Forbidden;
use messaging_core::code::Code::{BadSignature, Expired, InvalidRequest, RosterConflict};
use messaging_core::domain::Domain;
use messaging_core::ids::{Hash, MachineId};
use messaging_core::limits::CLOCK_SKEW_MS;
use messaging_core::roster::sign_entry;
use serde_json::{Value, json};

use super::super::book::{Book, WriteError, Writing, made};
use super::{Story, changed, drop_member, rekey, sign_again};

pub(super) fn write(book: &mut Book, story: &Story) -> Writing {
    let entry = story.next(&story.ada, &rekey(story.ada.machine(), 0x51))?;
    place(book, story, &entry)?;
    time(book, story, &entry)?;
    signature(book, story, &entry)?;
    replay(book, story)?;
    forks(book, story, &entry)?;
    heads(book, story)
}

fn place(book: &mut Book, story: &Story, entry: &Value) -> Writing {
    let head = story.entries.len();
    let other = Hash::from_bytes(&[0x61; 32]);
    for (name, member, value, code) in [
        ("a number too high", "seq", json!(head + 1), RosterConflict),
        ("the head's own number", "seq", json!(head - 1), RosterConflict),
        ("another predecessor", "prev", json!(other), RosterConflict),
        ("another team", "team", json!(other), InvalidRequest),
    ] {
        let entry = changed(entry, member, value, &story.ada)?;
        story.fails_raw(book, &format!("place: {name}"), &entry, code)?;
    }
    let (Some(genesis), Some(last)) = (story.entries.first(), story.entries.last()) else {
        return Ok(());
    };
    story.fails_raw(book, "place: the head once more", last, RosterConflict)?;
    story.fails_raw(book, "place: the genesis once more", genesis, RosterConflict)?;
    book.refuses(
        "place: a later entry on no team",
        "roster_apply",
        json!({"entries": [], "entry": entry}),
        RosterConflict,
    )?;
    // The first failing check decides.
    let both = changed(entry, "seq", head + 9, &story.ada)?;
    let both = changed(&both, "team", json!(other), &story.ada)?;
    story.fails_raw(book, "order: place before team", &both, RosterConflict)?;
    let mut both = changed(entry, "team", json!(other), &story.ada)?;
    both["sig"] = entry["sig"].clone();
    story.fails_raw(book, "order: team before signature", &both, InvalidRequest)
}

fn time(book: &mut Book, story: &Story, entry: &Value) -> Writing {
    let previous = Story::at(story.entries.len() - 1);
    let dated = |ts: messaging_core::time::Ms| changed(entry, "ts", json!(ts), &story.ada);
    let on = |entry: &Value| story.on(story.entries.len(), entry);
    let edge = dated(previous.minus(CLOCK_SKEW_MS))?;
    book.pins("time: back by the skew", "roster_apply", on(&edge))?;
    let early = dated(previous.minus(CLOCK_SKEW_MS + 1))?;
    story.fails_raw(book, "time: back by more than the skew", &early, InvalidRequest)?;
    let ahead = dated(previous.plus(1 << 41))?;
    book.pins("time: years ahead, but not live", "roster_apply", on(&ahead))?;

    let now = story.now();
    let live = |now: messaging_core::time::Ms, skew: Option<u64>| {
        let mut input = on(entry);
        input["now"] = json!(now);
        if let Some(skew) = skew {
            input["skewMs"] = json!(skew);
        }
        input
    };
    let skew = CLOCK_SKEW_MS;
    for (name, at, within) in [
        ("late by the skew", now.plus(skew), None),
        ("ahead by the skew", now.minus(skew), None),
        ("late by twice the skew, as a broadcast", now.plus(2 * skew), Some(2 * skew)),
        ("on the millisecond", now, Some(0)),
    ] {
        book.pins(format!("live: {name}"), "roster_apply", live(at, within))?;
    }
    for (name, at, within) in [
        ("late by more than the skew", now.plus(skew + 1), None),
        ("ahead by more than the skew", now.minus(skew + 1), None),
        ("late by more than twice the skew", now.plus(2 * skew + 1), Some(2 * skew)),
        ("a millisecond off where none is allowed", now.plus(1), Some(0)),
    ] {
        book.refuses(format!("live: {name}"), "roster_apply", live(at, within), Expired)?;
    }
    for (name, now, skew) in [
        ("a clock with a fraction", json!(1.5), json!(0)),
        ("a clock before time", json!(-1), json!(0)),
        ("a skew with a fraction", json!(now), json!(0.5)),
        ("a skew below nothing", json!(now), json!(-1)),
    ] {
        let mut input = on(entry);
        input["now"] = now;
        input["skewMs"] = skew;
        book.refuses(format!("live: {name}"), "roster_apply", input, InvalidRequest)?;
    }
    let mut unsigned = live(now.plus(skew + 1), None);
    unsigned["entry"]["enc"] = json!(Hash::from_bytes(&[1; 32]));
    book.refuses("order: the clock before the signature", "roster_apply", unsigned, Expired)
}

fn signature(book: &mut Book, story: &Story, entry: &Value) -> Writing {
    let fails = |book: &mut Book, name: &str, entry: &Value| {
        story.fails_raw(book, &format!("signature: {name}"), entry, BadSignature)
    };
    let again = sign_again(entry.clone(), &story.ben)?;
    fails(book, "by another member", &again)?;
    let mut later = entry.clone();
    later["later"] = json!([1, {"x": null}]);
    fails(book, "a member of a later version, added afterwards", &later)?;
    let signed = sign_again(later, &story.ada)?;
    let on = story.on(story.entries.len(), &signed);
    book.pins("signature: a member of a later version, signed", "roster_apply", on)?;
    let mut less = signed.clone();
    drop_member(&mut less, "later");
    fails(book, "a member of a later version, taken out", &less)?;
    let mut other = entry.clone();
    other["enc"] = json!(story.eve.enc.public());
    fails(book, "a member changed", &other)?;
    let mut envelope = entry.clone();
    drop_member(&mut envelope, "sig");
    let sig = made("sig", story.ada.signing.sign_value(Domain::Envelope, &envelope))?;
    envelope["sig"] = json!(sig);
    fails(book, "for another purpose", &envelope)?;
    let weak = changed(entry, "by", json!(MachineId::from_bytes(&[0; 32])), &story.ada)?;
    fails(book, "by a key that is not usable", &weak)?;
    let stranger =
        sign_again(changed(entry, "by", json!(story.eve.machine()), &story.eve)?, &story.ada)?;
    fails(book, "a stranger's name under a member's signature", &stranger)
}

fn replay(book: &mut Book, story: &Story) -> Writing {
    let [first, second, third, rest @ ..] = &story.entries[..] else { return Ok(()) };
    let replay = |entries: &[&[&Value]]| json!({"entries": entries.concat()});
    let rest: Vec<&Value> = rest.iter().collect();
    for (name, input, code) in [
        ("no entry", replay(&[]), InvalidRequest),
        ("no genesis", replay(&[&[second, third], &rest]), InvalidRequest),
        ("a gap", replay(&[&[first, third], &rest]), RosterConflict),
        (
            "two entries in the wrong order",
            replay(&[&[first, third, second], &rest]),
            RosterConflict,
        ),
        ("an entry twice", replay(&[&[first, second, second], &rest]), RosterConflict),
        ("the genesis twice", replay(&[&[first, first, second], &rest]), RosterConflict),
    ] {
        book.refuses(format!("replay: {name}"), "roster_replay", input, code)?;
    }
    book.pins("replay: only the genesis", "roster_replay", replay(&[&[first]]))?;
    let mut forged = raw(story, 0)?;
    forged["name"] = json!("The Others");
    let broken = replay(&[&[&forged, second, third], &rest]);
    book.refuses("replay: a changed genesis", "roster_replay", broken, BadSignature)?;
    let other = sign_again(forged, &story.ada)?;
    let other = replay(&[&[&other, second, third], &rest]);
    book.refuses("replay: another genesis", "roster_replay", other, RosterConflict)
}

/// The exact value of an entry of the story.
fn raw(story: &Story, seq: usize) -> Result<Value, WriteError> {
    let text = story.roster.entries().get(seq).map_or("", |entry| entry.canonical().as_str());
    made("entry", serde_json::from_str(text))
}

fn forks(book: &mut Book, story: &Story, next: &Value) -> Writing {
    const KIND: &str = "roster_check_at";
    let check = |entry: &Value| json!({"entries": story.entries, "entry": entry});
    for (name, seq) in
        [("the genesis", 0), ("a held entry", 4), ("the head", story.entries.len() - 1)]
    {
        let entry = story.entries.get(seq).cloned().unwrap_or_default();
        book.pins(format!("check: {name}"), KIND, check(&entry))?;
    }
    book.pins("check: the next entry", KIND, check(next))?;
    // Another entry 3, signed when Ben was a member and Cyn was not.
    let (Some(team), Some(two)) = (story.roster.team_id(), story.roster.entries().get(2)) else {
        return Ok(());
    };
    let at = |who: &messaging_core::keys::Identity, op| {
        made("fork", sign_entry(team, &two.head(), &op, Story::at(3), &who.signing))
    };
    let fork = at(&story.ben, rekey(story.ben.machine(), 0x52))?;
    book.pins("check: another valid entry 3, a fork", KIND, check(&fork))?;
    for (name, entry, code) in [
        (
            "a number past the next",
            changed(next, "seq", story.entries.len() + 1, &story.ada)?,
            RosterConflict,
        ),
        (
            "an entry 3 with another predecessor",
            changed(&fork, "prev", json!(team), &story.ben)?,
            RosterConflict,
        ),
        (
            "an entry 3 by one who was no member yet",
            at(&story.cyn, rekey(story.cyn.machine(), 1))?,
            Forbidden,
        ),
        (
            "an entry 3 without its signature",
            changed(&fork, "by", json!(story.ada.machine()), &story.ben)?,
            BadSignature,
        ),
        (
            "another genesis",
            changed(&raw(story, 0)?, "name", json!("The Others"), &story.ada)?,
            RosterConflict,
        ),
        ("no entry at all", json!({}), InvalidRequest),
    ] {
        book.refuses(format!("check: {name}"), KIND, check(&entry), code)?;
    }
    Ok(())
}

fn heads(book: &mut Book, story: &Story) -> Writing {
    let relation = |seq: usize, hash: &Hash| json!({"entries": story.entries, "head": {"seq": seq, "hash": hash}});
    let other = Hash::from_bytes(&[0x62; 32]);
    let newest = story.entries.len() - 1;
    for seq in [0, 1, 5, newest] {
        let hash = story.roster.entries().get(seq).map_or(other, |entry| *entry.hash());
        let (ours, theirs) = (relation(seq, &hash), relation(seq, &other));
        book.gives(format!("head {seq}"), "head_relation", ours, json!("consistent"))?;
        let name = format!("another head {seq}");
        book.gives(name, "head_relation", theirs, json!("diverged"))?;
    }
    for seq in [newest + 1, newest + 1_000_000] {
        let name = format!("head {seq}, past the newest");
        book.gives(name, "head_relation", relation(seq, &other), json!("ahead"))?;
    }
    Ok(())
}

//! Invites: their life, their use, and the proof of holding the secret.

use messaging_core::code::Code::{Expired, Forbidden, InviteInvalid};
use messaging_core::domain::Domain;
use messaging_core::ids::{Hash, Sig};
use messaging_core::invite::{redeem_proof, redeem_text};
use messaging_core::keys::{Identity, SigningKey};
use messaging_core::limits::{CLOCK_SKEW_MS, TTL_MS};
use messaging_core::roster::{Member, Op, Role};
use messaging_core::ticket::InviteTicket;
use messaging_core::time::Ms;
use serde_json::{Value, json};

use super::super::book::{Book, WriteError, Writing, made, text};
use super::{Story, changed, create, member};

pub(super) fn write(book: &mut Book, story: &mut Story) -> Writing {
    life(book, story)?;
    // From here on an invite for Eve is open.
    let open = story.invite("eve")?;
    story.put(book, &story.ada.clone(), &create(&open))?;
    redeems(book, story, &open)?;
    proofs(book, story, &open)
}

fn life(book: &mut Book, story: &Story) -> Writing {
    let unused = story.unused()?;
    let lasting = |ms: i64| -> Result<Op, WriteError> {
        let expires = made("time", story.now().0.checked_add_signed(ms).ok_or("no such time"))?;
        Ok(create(&InviteTicket { expires: Ms(expires), ..unused.clone() }))
    };
    let week = i64::try_from(TTL_MS).unwrap_or(i64::MAX);
    for (name, ms) in [("a millisecond", 1), ("seven days", week)] {
        story.applies(book, &format!("invite: for {name}"), &story.ada, &lasting(ms)?)?;
    }
    for (name, ms) in
        [("seven days and a millisecond", week + 1), ("no time", 0), ("less than none", -1)]
    {
        story.fails(
            book,
            &format!("invite: for {name}"),
            &story.ada,
            &lasting(ms)?,
            InviteInvalid,
        )?;
    }
    let revoked = story.roster.entries().get(10).map(|entry| entry.op().clone());
    let Some(Op::InviteRevoke { invite_id: revoked }) = revoked else { return Ok(()) };
    for (name, id) in [("was redeemed", story.ticket.invite_id), ("was revoked", revoked)] {
        let op = create(&InviteTicket { invite_id: id, ..unused.clone() });
        story.fails(book, &format!("invite: an id that {name}"), &story.ada, &op, InviteInvalid)?;
        let op = Op::InviteRevoke { invite_id: id };
        let name = format!("invite: revoking one that {name}");
        story.fails(book, &name, &story.ada, &op, InviteInvalid)?;
    }
    let op = Op::InviteRevoke { invite_id: unused.invite_id };
    story.fails(book, "invite: revoking an unknown one", &story.ada, &op, InviteInvalid)
}

/// The redeem of `ticket` as `member`, with a proof over exactly that member.
fn redeem(ticket: &InviteTicket, member: Member) -> Result<Op, WriteError> {
    let secret = SigningKey::from_seed(&ticket.secret.to_bytes());
    let proof =
        made("proof", redeem_proof(&secret, &ticket.team, &ticket.invite_id, &json!(member)))?;
    Ok(Op::InviteRedeem { invite_id: ticket.invite_id, proof, member })
}

fn redeems(book: &mut Book, story: &Story, open: &InviteTicket) -> Writing {
    let Story { ada, ben, dan, eve, .. } = story;
    let good = redeem(open, member(eve, "eve", "pad")?)?;
    story.applies(book, "redeem: by the invited", eve, &good)?;
    for (name, who) in [("the admin", ada), ("another stranger", dan)] {
        story.fails(book, &format!("redeem: signed by {name}"), who, &good, Forbidden)?;
    }
    for (name, who, member, code) in [
        ("a current machine", ben, member(ben, "eve", "pad")?, Forbidden),
        ("a removed machine", dan, member(dan, "eve", "pad")?, Forbidden),
        ("another person", eve, member(eve, "zoe", "pad")?, InviteInvalid),
        ("another person whose label is taken", eve, member(eve, "ben", "desk")?, Forbidden),
        (
            "an admin",
            eve,
            Member { role: Role::Admin, ..member(eve, "eve", "pad")? },
            InviteInvalid,
        ),
    ] {
        story.fails(book, &format!("redeem: {name}"), who, &redeem(open, member)?, code)?;
    }
    for (name, ticket) in [
        (
            "an invite that was redeemed",
            InviteTicket { person: open.person.clone(), ..story.ticket.clone() },
        ),
        ("an unknown invite", InviteTicket { person: open.person.clone(), ..story.unused()? }),
    ] {
        let op = redeem(&ticket, member(eve, "eve", "pad")?)?;
        story.fails(book, &format!("redeem: {name}"), eve, &op, InviteInvalid)?;
    }
    let dated = |ts: Ms| changed(&story.next(eve, &good)?, "ts", json!(ts), eve);
    let last = dated(open.expires.minus(1))?;
    let on = |entry: &Value| story.on(story.entries.len(), entry);
    book.pins("redeem: in the last millisecond", "roster_apply", on(&last))?;
    let late = dated(open.expires)?;
    story.fails_raw(book, "redeem: when the invite has ended", &late, InviteInvalid)?;
    let mut backdated = on(&last);
    backdated["now"] = json!(open.expires.plus(CLOCK_SKEW_MS));
    book.refuses("redeem: backdated, live", "roster_apply", backdated, Expired)
}

fn proofs(book: &mut Book, story: &Story, open: &InviteTicket) -> Writing {
    let secret = SigningKey::from_seed(&open.secret.to_bytes());
    let mut whole = json!(member(&story.eve, "eve", "pad")?);
    whole["pronouns"] = json!("she");
    let input = json!({
        "seed": text(&*secret.seed()), "team": open.team, "inviteId": open.invite_id, "member": whole,
    });
    book.pins("proof: over a member with more to it", "redeem_proof", input)?;

    let entry = |proof: Sig, who: &Identity| {
        let op = Op::InviteRedeem {
            invite_id: open.invite_id,
            proof,
            member: member(&story.eve, "eve", "pad")?,
        };
        changed(&story.next(who, &op)?, "member", whole.clone(), who)
    };
    let proof = |secret: &SigningKey, team: &Hash, id, member: &Value| {
        made("proof", redeem_proof(secret, team, id, member))
    };
    let right = proof(&secret, &open.team, &open.invite_id, &whole)?;
    let on = story.on(story.entries.len(), &entry(right, &story.eve)?);
    book.pins("proof: it covers the member as it is", "roster_apply", on)?;

    let with = |name: &str, value: Value| {
        let mut member = whole.clone();
        member[name] = value;
        member
    };
    let text = made("proof", redeem_text(&open.team, &open.invite_id, &whole))?;
    let plain = json!(member(&story.eve, "eve", "pad")?);
    let other_team = Hash::from_bytes(&[0x64; 32]);
    let other_id = story.ticket.invite_id;
    let id = &open.invite_id;
    for (name, wrong) in [
        ("by another secret", proof(&story.eve.signing, &open.team, id, &whole)?),
        ("for another team", proof(&secret, &other_team, id, &whole)?),
        ("for another invite", proof(&secret, &open.team, &other_id, &whole)?),
        ("without the member's later part", proof(&secret, &open.team, id, &plain)?),
        ("for another label", proof(&secret, &open.team, id, &with("label", json!("pod")))?),
        ("for another machine", {
            proof(&secret, &open.team, id, &with("machine", json!(story.dan.machine())))?
        }),
        ("for another encryption key", {
            proof(&secret, &open.team, id, &with("enc", json!(story.dan.enc.public())))?
        }),
        ("of the other kind", secret.sign(Domain::InviteJoin, &text)),
    ] {
        let entry = entry(wrong, &story.eve)?;
        story.fails_raw(book, &format!("proof: {name}"), &entry, InviteInvalid)?;
    }
    Ok(())
}

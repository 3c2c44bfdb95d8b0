//! Who may do what to whom.

use messaging_core::code::Code::{BadSignature, Forbidden, InviteInvalid};
use messaging_core::roster::{Member, Op, Role, sign_genesis};
use serde_json::json;

use super::super::book::{Book, Writing, made};
use super::{START, Story, add, changed, create, member, rekey, remove, role};

pub(super) fn write(book: &mut Book, story: &Story) -> Writing {
    may(book, story)?;
    may_not(book, story)?;
    last_admin(book, story)?;
    founders(book, story)?;
    order(book, story)
}

fn may(book: &mut Book, story: &Story) -> Writing {
    let Story { ada, ben, cyn, eve, .. } = story;
    let eve_added = member(eve, "eve", "pad")?;
    for (name, who, op) in [
        ("an admin adds a member", ada, add(&eve_added)),
        ("an admin adds an admin", cyn, add(&Member { role: Role::Admin, ..eve_added.clone() })),
        ("another machine of a person, under another label", ada, add(&member(eve, "ben", "pad")?)),
        ("a removed machine's label is free", ada, add(&member(eve, "dan", "box")?)),
        ("another person, the same label", ada, add(&member(eve, "eve", "desk")?)),
        ("an admin removes a member", cyn, remove(ben.machine())),
        ("an admin removes an admin", cyn, remove(ada.machine())),
        ("an admin removes itself, not the last", ada, remove(ada.machine())),
        ("a member removes itself", ben, remove(ben.machine())),
        ("an admin makes an admin", ada, role(ben.machine(), Role::Admin)),
        ("an admin makes a member, not of the last", ada, role(cyn.machine(), Role::Member)),
        ("an admin steps down, not the last", ada, role(ada.machine(), Role::Member)),
        ("a role that is there already", ada, role(ben.machine(), Role::Member)),
        ("a machine rekeys itself", ben, rekey(ben.machine(), 0x71)),
        ("an admin rekeys a member", cyn, rekey(ben.machine(), 0x71)),
        ("an admin rekeys another admin", cyn, rekey(ada.machine(), 0x71)),
        (
            "a rekey to a key that others have",
            ben,
            Op::MemberRekey { machine: *ben.machine(), enc: *ada.enc.public() },
        ),
    ] {
        story.applies(book, &format!("may: {name}"), who, &op)?;
    }
    Ok(())
}

fn may_not(book: &mut Book, story: &Story) -> Writing {
    let Story { ada, ben, cyn, dan, eve, .. } = story;
    let added = add(&member(eve, "eve", "pad")?);
    let invite = create(&story.unused()?);
    for (who, name) in [(ben, "a member"), (dan, "a removed machine"), (eve, "a stranger")] {
        for (what, op) in [
            ("adds", added.clone()),
            ("removes another", remove(cyn.machine())),
            ("promotes itself", role(who.machine(), Role::Admin)),
            ("demotes another", role(cyn.machine(), Role::Member)),
            ("rekeys another", rekey(ada.machine(), 0x72)),
            ("invites", invite.clone()),
            ("revokes", Op::InviteRevoke { invite_id: story.ticket.invite_id }),
        ] {
            story.fails(book, &format!("may not: {name} {what}"), who, &op, Forbidden)?;
        }
    }
    for (name, who, op) in [
        ("a machine that is a member already", ada, add(&member(ben, "ben", "pad")?)),
        ("a removed machine again", ada, add(&member(dan, "dan", "box")?)),
        ("a removed machine under another name", ada, add(&member(dan, "ned", "new")?)),
        ("a label that is taken", ada, add(&member(eve, "ben", "desk")?)),
        ("the removal of a stranger", ada, remove(eve.machine())),
        ("the removal of a removed machine", ada, remove(dan.machine())),
        ("a removed machine removes itself", dan, remove(dan.machine())),
        ("a stranger removes itself", eve, remove(eve.machine())),
        ("a role for a stranger", ada, role(eve.machine(), Role::Member)),
        ("a role for a removed machine", ada, role(dan.machine(), Role::Admin)),
        ("a rekey of a stranger", ada, rekey(eve.machine(), 0x72)),
        ("a rekey of a removed machine", ada, rekey(dan.machine(), 0x72)),
        ("a removed machine rekeys itself", dan, rekey(dan.machine(), 0x72)),
        ("a stranger rekeys itself", eve, rekey(eve.machine(), 0x72)),
    ] {
        story.fails(book, &format!("may not: {name}"), who, &op, Forbidden)?;
    }
    Ok(())
}

/// On the first five entries of the story Ada is the only admin.
fn last_admin(book: &mut Book, story: &Story) -> Writing {
    let early = |op: &Op| {
        let (Some(team), Some(last)) = (story.roster.team_id(), story.roster.entries().get(4))
        else {
            return made("entry", Err("no story"));
        };
        let ts = Story::at(5);
        made(
            "entry",
            messaging_core::roster::sign_entry(team, &last.head(), op, ts, &story.ada.signing)
                .map_err(|failure| failure.at),
        )
    };
    for (name, op) in [
        ("removes itself", remove(story.ada.machine())),
        ("steps down", role(story.ada.machine(), Role::Member)),
    ] {
        let input = story.on(5, &early(&op)?);
        book.refuses(format!("the last admin {name}"), "roster_apply", input, Forbidden)?;
    }
    let same = story.on(5, &early(&role(story.ada.machine(), Role::Admin))?);
    book.pins("the last admin is made an admin", "roster_apply", same)
}

fn founders(book: &mut Book, story: &Story) -> Writing {
    let name = made("name", "The Others".parse())?;
    let plain = member(&story.ada, "ada", "laptop")?;
    let admin = Member { role: Role::Admin, ..plain.clone() };
    for (what, founder, who) in [
        ("signed by another machine", &admin, &story.ben),
        ("whose founder is no admin", &plain, &story.ada),
    ] {
        let entry = made("genesis", sign_genesis(&name, founder, START, &who.signing))?;
        let input = json!({"entries": [], "entry": entry});
        book.refuses(format!("genesis: {what}"), "roster_apply", input, Forbidden)?;
    }
    let entry = made("genesis", sign_genesis(&name, &admin, START, &story.ada.signing))?;
    let mut forged = entry.clone();
    forged["founder"]["label"] = json!("other");
    let input = json!({"entries": [], "entry": forged});
    book.refuses("genesis: changed after signing", "roster_apply", input, BadSignature)?;
    let input = json!({"entries": [], "entry": entry});
    book.pins("genesis: another team", "roster_apply", input)
}

fn order(book: &mut Book, story: &Story) -> Writing {
    let mut unsigned = story.next(&story.eve, &add(&member(&story.eve, "eve", "pad")?))?;
    unsigned["ts"] = json!(story.now().plus(1));
    story.fails_raw(book, "order: signature before authority", &unsigned, BadSignature)?;
    let used = create(&story.ticket);
    story.fails(book, "order: authority before the invite", &story.ben, &used, Forbidden)?;
    story.fails(book, "order: an admin with a used invite id", &story.ada, &used, InviteInvalid)?;
    let entry = story.next(&story.ada, &used)?;
    let entry = changed(&entry, "by", json!(story.eve.machine()), &story.eve)?;
    story.fails_raw(book, "order: a stranger with a used invite id", &entry, Forbidden)
}

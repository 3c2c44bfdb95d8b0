//! Shape, size, and the keys an entry may admit.

use messaging_core::code::Code::{InvalidRequest, TooLarge};
use messaging_core::ids::{Hash, MachineId};
use messaging_core::jcs;
use messaging_core::keys::Identity;
use messaging_core::limits::ROSTER_ENTRY_BYTES;
use serde_json::{Value, json};

use super::super::book::{Book, Writing, made};
use super::{Story, add, changed, create, drop_member, member, sign_again};

pub(super) fn write(book: &mut Book, story: &Story) -> Writing {
    let entry = story.next(&story.ada, &add(&member(&story.eve, "eve", "pad")?))?;
    members(book, story, &entry)?;
    values(book, story, &entry)?;
    genesis(book, story)?;
    keys(book, story)
}

fn members(book: &mut Book, story: &Story, entry: &Value) -> Writing {
    for name in ["v", "op", "seq", "prev", "team", "ts", "by", "sig", "member"] {
        let mut less = entry.clone();
        drop_member(&mut less, name);
        story.fails_raw(book, &format!("shape: no {name}"), &less, InvalidRequest)?;
    }
    for name in ["machine", "enc", "person", "role", "label"] {
        let mut less = entry.clone();
        drop_member(&mut less["member"], name);
        let less = sign_again(less, &story.ada)?;
        story.fails_raw(book, &format!("shape: no {name} of the member"), &less, InvalidRequest)?;
    }
    for (name, value) in
        [("an array", json!([entry])), ("a string", json!("member.add")), ("null", json!(null))]
    {
        story.fails_raw(book, &format!("shape: {name} for the entry"), &value, InvalidRequest)?;
    }
    Ok(())
}

fn values(book: &mut Book, story: &Story, entry: &Value) -> Writing {
    let mut deep = json!("x");
    for _ in 0..32 {
        deep = json!([deep]);
    }
    let ts = entry["ts"].as_u64().unwrap_or_default();
    for (name, value) in [
        ("v", json!("messaging/2")),
        ("v", json!(1)),
        ("op", json!("member.rename")),
        ("op", json!("genesis")),
        ("op", json!(null)),
        ("seq", json!("11")),
        ("seq", json!(-1)),
        ("seq", json!(0)),
        ("prev", json!(null)),
        ("prev", json!("")),
        ("team", json!(null)),
        ("ts", json!(-1)),
        ("ts", json!(0.5)),
        ("ts", json!(ts.to_string())),
        ("by", json!("ada")),
        ("by", json!(null)),
        ("member", json!([])),
        ("member", json!(null)),
    ] {
        let shown: String = value.to_string().chars().take(24).collect();
        let entry = changed(entry, name, value, &story.ada)?;
        story.fails_raw(book, &format!("shape: {name} is {shown}"), &entry, InvalidRequest)?;
    }
    // What is not I-JSON cannot be signed either; it fails before the signature is looked at.
    for (name, value) in [
        ("2^53", json!(9_007_199_254_740_992_u64)),
        ("a double past -2^53", json!([-9.1e15])),
        ("33 levels deep", deep),
    ] {
        let mut entry = entry.clone();
        entry["later"] = value;
        let name = format!("shape: a member of a later version is {name}");
        story.fails_raw(book, &name, &entry, InvalidRequest)?;
    }
    for (name, value) in [
        ("machine", json!("AAAA")),
        ("enc", json!("AAAA")),
        ("enc", json!(format!("{}=", story.eve.enc.public()))),
        ("person", json!("Eve")),
        ("person", json!("e_e")),
        ("person", json!("2eve")),
        ("person", json!("")),
        ("person", json!("e".repeat(33))),
        ("person", json!("p_elmokocvhtjapy3fc3soeimutu")),
        ("role", json!("owner")),
        ("role", json!("Member")),
        ("role", json!(null)),
        ("label", json!("")),
        ("label", json!("Pad")),
        ("label", json!("-pad")),
        ("label", json!("p.ad")),
        ("label", json!("p".repeat(33))),
    ] {
        let shown: String = value.to_string().chars().take(24).collect();
        let mut entry = entry.clone();
        entry["member"][name] = value;
        let entry = sign_again(entry, &story.ada)?;
        let name = format!("shape: {name} of the member is {shown}");
        story.fails_raw(book, &name, &entry, InvalidRequest)?;
    }
    let mut short = entry.clone();
    short["sig"] = json!(super::super::book::text(&[1; 63]));
    story.fails_raw(book, "shape: a signature of 63 bytes", &short, InvalidRequest)?;
    // The size counts the canonical form, signature included.
    let padded = |chars: usize| changed(entry, "pad", "x".repeat(chars), &story.ada);
    let room = ROSTER_ENTRY_BYTES - made("entry", jcs::canonical(&padded(0)?))?.len();
    let on = story.on(story.entries.len(), &padded(room)?);
    book.pins("size: exactly 16 KiB", "roster_apply", on)?;
    story.fails_raw(book, "size: one byte more", &padded(room + 1)?, TooLarge)?;
    let whole = changed(entry, "ts", json!(1_790_000_660_000.0), &story.ada)?;
    book.pins(
        "shape: a time written as a double",
        "roster_apply",
        story.on(story.entries.len(), &whole),
    )
}

fn genesis(book: &mut Book, story: &Story) -> Writing {
    let text = story.roster.entries().first().map_or("", |entry| entry.canonical().as_str());
    let genesis: Value = made("genesis", serde_json::from_str(text))?;
    let hash = json!(Hash::from_bytes(&[0x63; 32]));
    let fails = |book: &mut Book, name: &str, entry: Value| {
        let input = json!({"entries": [], "entry": entry});
        book.refuses(format!("genesis: {name}"), "roster_apply", input, InvalidRequest)
    };
    for (name, member, value) in [
        ("a number", "seq", json!(1)),
        ("a predecessor", "prev", hash.clone()),
        ("a team", "team", hash),
        ("no team, but written", "team", json!(null)),
        ("no name", "name", json!("")),
        ("a name of 65 units", "name", json!("\u{1f410}".repeat(32) + "x")),
        ("a name that is no text", "name", json!(7)),
    ] {
        fails(book, name, changed(&genesis, member, value, &story.ada)?)?;
    }
    for name in ["prev", "name", "founder"] {
        let mut less = genesis.clone();
        drop_member(&mut less, name);
        fails(book, &format!("{name} left out"), sign_again(less, &story.ada)?)?;
    }
    let long = changed(&genesis, "name", "\u{1f410}".repeat(32), &story.ada)?;
    let input = json!({"entries": [], "entry": long});
    book.pins("genesis: a name of 64 units", "roster_apply", input)
}

/// A founder, an added or joining machine and an invite need a usable key.
fn keys(book: &mut Book, story: &Story) -> Writing {
    let mut not_canonical = [0xff; 32];
    (not_canonical[0], not_canonical[31]) = (0xf1, 0x7f);
    let mut off_curve = [0; 32];
    off_curve[0] = 2;
    let text = story.roster.entries().first().map_or("", |entry| entry.canonical().as_str());
    let founding: Value = made("genesis", serde_json::from_str(text))?;
    let team = story.ticket.team;
    let label = made("label", "pad".parse())?;
    for (name, bytes) in [
        ("of small order", [0; 32]),
        ("not canonical", not_canonical),
        ("not on the curve", off_curve),
    ] {
        let key = MachineId::from_bytes(&bytes);
        let unusable = |entry: &Value, member: &str, who: &Identity| {
            let mut entry = entry.clone();
            entry[member]["machine"] = json!(key);
            sign_again(entry, who)
        };
        let added = story.next(&story.ada, &add(&member(&story.eve, "eve", "pad")?))?;
        let redeem = made("redeem", story.ticket.redeem(&team, &story.eve, &label))?;
        let joined = story.next(&story.eve, &redeem)?;
        let invite = story.next(&story.ada, &create(&story.unused()?))?;
        let invite = changed(&invite, "invitePub", json!(key), &story.ada)?;
        let founder = unusable(&founding, "founder", &story.ada)?;
        let founder = json!({"entries": [], "entry": founder});
        book.refuses(format!("key: a founder's, {name}"), "roster_apply", founder, InvalidRequest)?;
        for (what, entry) in [
            ("an added machine's", unusable(&added, "member", &story.ada)?),
            ("a joining machine's", unusable(&joined, "member", &story.eve)?),
            ("an invite's", invite.clone()),
        ] {
            story.fails_raw(book, &format!("key: {what}, {name}"), &entry, InvalidRequest)?;
        }
        let misplaced = changed(&invite, "seq", 99, &story.ada)?;
        let name = format!("order: a key that is {name} before the place");
        story.fails_raw(book, &name, &misplaced, InvalidRequest)?;
    }
    Ok(())
}

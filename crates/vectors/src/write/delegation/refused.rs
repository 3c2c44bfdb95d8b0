//! Chains that are refused: shape, then each step of the order at each grant, then the order itself.

use messaging_core::code::Code::{
    self, BadSignature, Expired, Forbidden, InvalidRequest, NotMember, TooLarge,
};
use messaging_core::domain::Domain;
use messaging_core::ids::Hash;
use messaging_core::jcs;
use messaging_core::limits::{CLOCK_SKEW_MS, DELEGATION_BYTES, TTL_MS};
use serde_json::{Value, json};

use super::super::book::{Book, Writing, made, text};
use super::super::cast::{NOW, edited};
use super::{END, Story, signed};

pub(super) fn write(book: &mut Book, story: &Story<'_>) -> Writing {
    shape(book, story)?;
    grants(book, story)?;
    places(book, story)?;
    whole(book, story)?;
    order(book, story)
}

/// A refusal of a chain that arrives on hop `hop`.
fn refuse(
    book: &mut Book,
    story: &Story<'_>,
    name: &str,
    chain: &Value,
    hop: usize,
    code: Code,
) -> Writing {
    book.refuses(name, "delegation_verify", story.verify_input(chain, hop), code)
}

fn shape(book: &mut Book, story: &Story<'_>) -> Writing {
    let none = json!({});
    let root = story.grant(0, &none, None)?;
    let mut five = story.chain(&vec![none; 4])?;
    five.extend(five.last().cloned());
    for (name, chain, hop) in [
        ("no grant", json!([]), 0),
        ("five grants", json!(five), 3),
        ("a grant alone, not in a list", root.clone(), 0),
        ("null", Value::Null, 0),
        ("a text in the list", json!(["x"]), 0),
        ("null in the list", json!([root, null]), 0),
        ("a list in the list", json!([[root]]), 0),
    ] {
        refuse(book, story, &format!("shape: {name}"), &chain, hop, InvalidRequest)?;
    }
    for name in ["realm", "task", "from", "to", "by", "ts", "exp", "maxDepth"] {
        let pointer = format!("/{name}");
        let chain = json!([story.forged(0, &root, &[(pointer.as_str(), None)])?]);
        refuse(book, story, &format!("shape: without {name}"), &chain, 0, InvalidRequest)?;
    }
    let chain = json!([edited(&root, &[("/sig", None)])?]);
    refuse(book, story, "shape: without sig", &chain, 0, InvalidRequest)?;
    for (name, pointer, member) in [
        ("a realm with padding", "/realm", json!(format!("{}=", story.cast.realm))),
        ("a task in lower case", "/task", json!("01kq00000000000000000000m1")),
        ("from a person", "/from", json!("ada")),
        ("from a session on no machine", "/from", json!("ada/lead")),
        ("to everybody", "/to", json!("ben/*@desk")),
        ("to a label in upper case", "/to", json!("ben/builder@Desk")),
        ("by a name", "/by", json!("ada")),
        ("a ts before 1970", "/ts", json!(-1)),
        ("an exp with a fraction", "/exp", json!(1.5)),
        ("an exp that is text", "/exp", json!("soon")),
        ("a depth of none", "/maxDepth", json!(0)),
        ("a depth of five", "/maxDepth", json!(5)),
        ("a depth that is text", "/maxDepth", json!("4")),
        ("a scope that is null", "/scope", Value::Null),
        ("a scope that is text", "/scope", json!("review")),
        ("a scope of nine labels", "/scope", json!(vec!["x"; 9])),
        ("a label of 65 characters", "/scope", json!(["x".repeat(65)])),
        ("an empty label", "/scope", json!([""])),
        ("a label with a space", "/scope", json!(["a b"])),
        ("a parent that is null", "/parent", Value::Null),
        ("a parent of 33 bytes", "/parent", json!(text(&[7; 33]))),
    ] {
        let chain = json!([story.forged(0, &root, &[(pointer, Some(member))])?]);
        refuse(book, story, &format!("shape: {name}"), &chain, 0, InvalidRequest)?;
    }
    for (name, member) in [
        ("an unknown integer past 2^53 - 1", json!(9_007_199_254_740_992_u64)),
        ("an unknown member nested too deep", (0..33).fold(json!(1), |inner, _| json!([inner]))),
    ] {
        let chain = json!([edited(&root, &[("/later", Some(member))])?]);
        refuse(book, story, &format!("shape: {name}"), &chain, 0, InvalidRequest)?;
    }
    Ok(())
}

/// Each grant for itself, as a root and as the second of two.
fn grants(book: &mut Book, story: &Story<'_>) -> Writing {
    let two = story.chain(&[json!({}), json!({})])?;
    let cast = story.cast;
    for (at, which) in ["root", "second"].into_iter().enumerate() {
        let Some(grant) = two.get(at) else { continue };
        let put = |grant: Value| -> Value {
            let grants = two.iter().enumerate();
            grants.map(|(n, held)| if n == at { grant.clone() } else { held.clone() }).collect()
        };
        for (name, edits, code) in [
            (
                "of another realm",
                vec![("/realm", json!(Hash::from_bytes(&[9; 32])))],
                InvalidRequest,
            ),
            ("at its end", vec![("/exp", json!(NOW))], Expired),
            (
                "that ends before it starts",
                vec![("/ts", json!(NOW.plus(2))), ("/exp", json!(NOW.plus(1)))],
                Expired,
            ),
            (
                "ahead by more than the skew",
                vec![("/ts", json!(NOW.plus(CLOCK_SKEW_MS + 1)))],
                Expired,
            ),
            ("that lives too long", vec![("/ts", json!(END.minus(TTL_MS + 1)))], Expired),
            ("from another person's session", vec![("/from", json!("dan/lead@laptop"))], NotMember),
            ("from another machine's session", vec![("/from", json!("ada/lead@desk"))], NotMember),
            ("by nobody", vec![("/by", json!(cast.eve.machine()))], NotMember),
            (
                "by a machine that was removed",
                vec![("/by", json!(cast.dan.machine())), ("/from", json!("dan/x@box"))],
                NotMember,
            ),
            (
                "by another member",
                vec![("/by", json!(if at == 0 { cast.ben.machine() } else { cast.ada.machine() }))],
                NotMember,
            ),
        ] {
            let edits: Vec<_> = edits.into_iter().map(|(name, to)| (name, Some(to))).collect();
            let chain = put(story.forged(at, grant, &edits)?);
            refuse(book, story, &format!("{which}: {name}"), &chain, 1, code)?;
        }
        let other = put(signed(grant.clone(), &cast.eve)?);
        refuse(book, story, &format!("{which}: signed by nobody"), &other, 1, BadSignature)?;
        for (name, member) in [
            ("task", story.task(3)),
            ("to", json!("ben/builder2@desk")),
            ("exp", json!(END.minus(1))),
            ("maxDepth", json!(3)),
            ("scope", json!([])),
            ("later", json!(1)),
        ] {
            let pointer = format!("/{name}");
            let chain = put(edited(grant, &[(pointer.as_str(), Some(member))])?);
            let name = format!("{which}: {name} set after it was signed");
            refuse(book, story, &name, &chain, 1, BadSignature)?;
        }
        let later = story.forged(at, grant, &[("/later", Some(json!(1)))])?;
        let chain = put(edited(&later, &[("/later", None)])?);
        let name = format!("{which}: an unknown member taken away");
        refuse(book, story, &name, &chain, 1, BadSignature)?;
        // The same key, the same text, another purpose.
        let text = made("text", jcs::canonical_without(grant, "sig"))?;
        let sig = story.signer(at).signing.sign(Domain::Grant, &text);
        let chain = put(edited(grant, &[("/sig", Some(json!(sig)))])?);
        refuse(book, story, &format!("{which}: signed as consent"), &chain, 1, BadSignature)?;
    }
    Ok(())
}

/// How a grant follows the one before.
fn places(book: &mut Book, story: &Story<'_>) -> Writing {
    let root = json!({"maxDepth": 3, "scope": ["review", "test"]});
    let hops = [root, json!({}), json!({})];
    let chain = story.chain(&hops)?;
    let (Some(root), Some(second), Some(third)) = (chain.first(), chain.get(1), chain.get(2))
    else {
        return Ok(());
    };
    let again = story.forged(0, root, &[("/later", Some(json!(1)))])?;
    let with_parent = story.forged(0, root, &[("/parent", second.get("parent").cloned())])?;
    for (name, chain, hop) in [
        ("a root with a parent", json!([with_parent]), 0),
        ("a second grant alone", json!([second]), 1),
        ("two grants in reverse", json!([second, root]), 0),
        ("one left out", json!([root, third]), 2),
        ("the root made anew", json!([again, second]), 1),
        ("the same root twice", json!([root, root]), 0),
    ] {
        refuse(book, story, &format!("place: {name}"), &chain, hop, InvalidRequest)?;
    }
    for (name, edit) in [
        ("no parent", ("/parent", None)),
        ("another parent", ("/parent", Some(json!(Hash::from_bytes(&[9; 32]))))),
        ("another session of the same machine", ("/from", Some(json!(story.session(4))))),
    ] {
        let chain = json!([root, story.forged(1, second, &[edit])?]);
        refuse(book, story, &format!("place: {name}"), &chain, 1, InvalidRequest)?;
    }
    for (name, edit) in [
        ("a label more", ("/scope", Some(json!(["review", "test", "deploy"])))),
        ("another label", ("/scope", Some(json!(["rev"])))),
        ("no bound on the scope", ("/scope", None)),
        ("a raised depth", ("/maxDepth", Some(json!(4)))),
        ("a later end", ("/exp", Some(json!(END.plus(1))))),
    ] {
        let chain = json!([root, story.forged(1, second, std::slice::from_ref(&edit))?]);
        refuse(book, story, &format!("wider: {name}"), &chain, 1, Forbidden)?;
        let chain = json!([root, second, story.forged(2, third, &[edit])?]);
        refuse(book, story, &format!("wider: {name}, at the third"), &chain, 2, Forbidden)?;
    }
    Ok(())
}

/// What only the whole chain shows.
fn whole(book: &mut Book, story: &Story<'_>) -> Writing {
    let none = json!({});
    for (name, hops, hop) in [
        ("a root for one hop", vec![json!({"maxDepth": 1}), none.clone()], 1),
        ("a second for one hop", vec![none.clone(), json!({"maxDepth": 1})], 1),
        ("a second for two", vec![none.clone(), json!({"maxDepth": 2}), none.clone()], 2),
        (
            "three, for four",
            vec![json!({"maxDepth": 3}), none.clone(), none.clone(), none.clone()],
            3,
        ),
    ] {
        let chain = json!(story.chain(&hops)?);
        refuse(book, story, &format!("depth: {name}"), &chain, hop, Forbidden)?;
    }
    let chain = story.chain(&vec![none.clone(); 3])?;
    for (name, hop, to) in [
        ("itself", 0, 0),
        ("the root's session", 1, 0),
        ("the session before", 2, 1),
        ("the root's session, from further on", 2, 0),
        ("itself, from further on", 2, 2),
    ] {
        let more = json!({"to": story.session(to)});
        let mut chain: Vec<Value> = chain.iter().take(hop).cloned().collect();
        chain.push(story.grant(hop, &more, chain.last())?);
        let mut input = story.verify_input(&json!(chain), hop);
        input["hop"]["to"] = json!(story.session(to));
        book.refuses(format!("cycle: to {name}"), "delegation_verify", input, Forbidden)?;
    }
    let chain = json!(chain);
    for (name, member, value) in [
        ("another machine sent it", "device", json!(story.cast.ada.machine())),
        ("another session sent it", "from", json!("ben/other@phone")),
        ("another session is asked", "to", json!("ada/lead2@laptop")),
        ("another task", "task", story.task(0)),
    ] {
        let mut input = story.verify_input(&chain, 2);
        input["hop"][member] = value;
        book.refuses(format!("hop: {name}"), "delegation_verify", input, Forbidden)?;
    }
    refuse(book, story, "hop: the one before", &chain, 1, Forbidden)?;
    let cut = json!(story.chain(&[none.clone(), none])?);
    refuse(book, story, "hop: the one after", &cut, 2, Forbidden)
}

/// Two faults: the first step that fails decides.
fn order(book: &mut Book, story: &Story<'_>) -> Writing {
    let two = story.chain(&[json!({}), json!({})])?;
    let (Some(root), Some(second)) = (two.first(), two.get(1)) else { return Ok(()) };
    let realm = ("/realm", Some(json!(Hash::from_bytes(&[9; 32]))));
    let ended = ("/exp", Some(json!(NOW)));
    let stranger = ("/from", Some(json!("dan/lead@laptop")));
    let parent = ("/parent", Some(json!(Hash::from_bytes(&[9; 32]))));
    let large = ("/later", Some(json!("x".repeat(DELEGATION_BYTES))));
    let no_task = ("/task", None);
    for (name, edits, code) in [
        ("shape before size", vec![no_task, large.clone()], InvalidRequest),
        ("size before realm", vec![large, realm.clone()], TooLarge),
        ("realm before time", vec![realm, ended.clone()], InvalidRequest),
        ("time before membership", vec![ended.clone(), stranger.clone()], Expired),
    ] {
        let chain = json!([story.forged(0, root, &edits)?]);
        refuse(book, story, &format!("order: {name}"), &chain, 0, code)?;
    }
    let unsigned = json!([edited(root, &[stranger])?]);
    refuse(book, story, "order: membership before signature", &unsigned, 0, NotMember)?;
    let unsigned = json!([edited(root, std::slice::from_ref(&parent))?]);
    refuse(book, story, "order: signature before place", &unsigned, 0, BadSignature)?;
    let wider = ("/exp", Some(json!(END.plus(1))));
    let chain = json!([root, story.forged(1, second, &[parent, wider])?]);
    refuse(book, story, "order: place before bounds", &chain, 1, InvalidRequest)?;
    let mut broken = story.forged(0, root, std::slice::from_ref(&ended))?;
    let chain = json!([broken, edited(second, &[("/later", Some(json!(1)))])?]);
    refuse(book, story, "order: the root before the second", &chain, 1, Expired)?;
    broken = edited(root, &[("/later", Some(json!(1)))])?;
    let chain = json!([broken, story.forged(1, second, &[ended])?]);
    refuse(book, story, "order: every step of the root first", &chain, 1, BadSignature)
}

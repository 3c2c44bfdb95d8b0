//! Tree heads, and the keys that sign them: three rotations in a chain.

use messaging_core::code::Code::{self, DirectoryInconsistent, InvalidRequest};
use messaging_core::directory::testing::Realm;
use messaging_core::directory::{KeyRotation, TreeHead};
use messaging_core::ids::Hash;
use messaging_core::keys::{Identity, SigningKey};
use serde_json::{Value, json};

use super::super::book::{Book, WriteError, Writing, made, text};

/// Twelve epochs of a directory whose key changed at 4, 5 and 9.
struct Story {
    realm: Realm,
    keys: [Identity; 4],
    rotations: Vec<KeyRotation>,
}

const FROM: [u64; 3] = [4, 5, 9];

impl Story {
    fn tell(book: &mut Book) -> Result<Self, WriteError> {
        let mut realm = Realm::new();
        for _ in 0..12 {
            realm.epoch();
        }
        let keys = [
            book.party("first key", 21),
            book.party("second key", 22),
            book.party("third key", 23),
            book.party("fourth key", 24),
        ];
        let mut rotations = Vec::new();
        for (pair, from) in keys.windows(2).zip(FROM) {
            if let [old, new] = pair {
                let made_of = KeyRotation::sign(&realm.id(), from, &old.signing, &new.signing);
                rotations.push(made("a rotation", made_of)?);
            }
        }
        Ok(Self { realm, keys, rotations })
    }

    fn head(&self, size: u64, key: &SigningKey) -> Result<TreeHead, WriteError> {
        let sth = self.realm.sth_at(size);
        made("a head", TreeHead::sign(&sth.realm, sth.size, &sth.root, sth.ts, key))
    }

    /// The head of a size, by the key of its time.
    fn good(&self, size: u64) -> Result<TreeHead, WriteError> {
        let changed = FROM.iter().filter(|from| **from <= size).count();
        let key = made("a key", self.keys.get(changed).ok_or("none"))?;
        self.head(size, &key.signing)
    }

    /// What a client that trusts the key of `held`, or the first one, is asked to adopt.
    fn ask(&self, held: Option<u64>, size: u64) -> Result<Value, WriteError> {
        let applied = FROM.iter().filter(|from| held.is_some_and(|held| **from <= held)).count();
        let known = FROM.iter().filter(|from| **from <= size).count();
        let trusted = made("a key", self.keys.get(applied).ok_or("none"))?;
        let rotations: Vec<&KeyRotation> = self.rotations.iter().take(known).collect();
        let mut ask = json!({"realm": self.realm.id(), "trustedKey": trusted.machine(),
            "sth": self.good(size)?, "rotations": rotations});
        if let Some(held) = held {
            ask["held"] = json!(self.good(held)?);
            ask["consistency"] = json!(self.realm.consistency_between(held, size));
        }
        Ok(ask)
    }
}

pub(super) fn write(book: &mut Book) -> Writing {
    let story = Story::tell(book)?;
    let adopt = "adopt_sth";
    for (held, size) in [
        (None, 1),
        (None, 3),
        (None, 4),
        (None, 12),
        (Some(1), 3),
        (Some(2), 7),
        (Some(3), 12),
        (Some(4), 5),
        (Some(4), 12),
        (Some(5), 6),
        (Some(8), 9),
        (Some(9), 12),
        (Some(12), 12),
    ] {
        let name = format!("adopt {size} after {held:?}");
        book.pins(name, adopt, story.ask(held, size)?)?;
    }
    let good = story.ask(Some(3), 12)?;
    let mut lies: Vec<(&str, Value, Code)> = Vec::new();
    let mut lie = |name, code, change: &dyn Fn(&mut Value)| {
        let mut ask = good.clone();
        change(&mut ask);
        lies.push((name, ask, code));
    };
    lie("without its rotations", DirectoryInconsistent, &|ask| ask["rotations"] = json!([]));
    lie("with the middle rotation left out", DirectoryInconsistent, &|ask| {
        if let Some(rotations) = ask["rotations"].as_array_mut() {
            rotations.remove(1);
        }
    });
    lie("with the rotations backwards", DirectoryInconsistent, &|ask| {
        if let Some(rotations) = ask["rotations"].as_array_mut() {
            rotations.reverse();
        }
    });
    lie("with a rotation twice", DirectoryInconsistent, &|ask| {
        let first = ask["rotations"][0].clone();
        if let Some(rotations) = ask["rotations"].as_array_mut() {
            rotations.insert(0, first);
        }
    });
    lie("with another size of a rotation", DirectoryInconsistent, &|ask| {
        ask["rotations"][1]["fromSize"] = json!(6);
    });
    lie("by a key of before", DirectoryInconsistent, &|ask| {
        ask["rotations"].as_array_mut().map(Vec::pop);
    });
    lie("of another realm", DirectoryInconsistent, &|ask| {
        ask["realm"] = json!(Hash::from_bytes(&[1; 32]));
    });
    lie("with a shorter proof", DirectoryInconsistent, &|ask| {
        ask["consistency"].as_array_mut().map(Vec::pop);
    });
    lie("without a proof", DirectoryInconsistent, &|ask| {
        ask.as_object_mut().map(|ask| ask.remove("consistency"));
    });
    lie("with another root", DirectoryInconsistent, &|ask| {
        ask["sth"]["root"] = json!(Hash::from_bytes(&[1; 32]));
    });
    lie("with a member more", InvalidRequest, &|ask| ask["sth"]["more"] = json!(1));
    lie("of no epoch", InvalidRequest, &|ask| ask["sth"]["size"] = json!(0));
    lie("with a null signature", InvalidRequest, &|ask| ask["sth"]["sig"] = json!(null));
    for (name, ask, code) in lies {
        book.refuses(format!("do not adopt a head {name}"), adopt, ask, code)?;
    }
    signed(book, &story)
}

fn signed(book: &mut Book, story: &Story) -> Writing {
    let Story { realm, keys: [first, ..], .. } = story;
    let sth = story.head(12, &first.signing)?;
    let seed = text(&*first.signing.seed());
    let input =
        json!({"seed": seed, "realm": sth.realm, "size": sth.size, "root": sth.root, "ts": sth.ts});
    book.gives("sign a head", "sth_sign", input, json!(sth))?;
    book.pins("a head verifies", "sth_verify", json!({"sth": sth, "key": first.machine()}))?;
    for index in [0, 5, 10, 11] {
        let proof = realm.proof(index);
        book.pins(
            format!("the leaf of epoch {index}"),
            "epoch_leaf_hash",
            json!({"leaf": proof.leaf}),
        )?;
        let claim = json!({"sth": sth, "proof": proof});
        book.pins(format!("epoch {index} of 12"), "epoch_proof_verify", claim.clone())?;
        for member in ["ts", "epoch"] {
            let mut lie = claim.clone();
            lie["proof"]["leaf"][member] = json!(99);
            let name = format!("epoch {index} of 12 with another {member}");
            book.refuses(name, "epoch_proof_verify", lie, DirectoryInconsistent)?;
        }
    }
    Ok(())
}

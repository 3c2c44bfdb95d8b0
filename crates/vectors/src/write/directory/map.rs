//! The map of persons.

use messaging_core::code::Code::{DirectoryInconsistent, InvalidRequest};
use messaging_core::directory::testing::person;
use messaging_core::ids::Hash;
use serde_json::{Map, Value, json};

use super::super::book::{Book, Writing, made};
use crate::args::Args;
use crate::ops;

/// A map of nine persons, two of them erased.
fn values() -> Map<String, Value> {
    (0_u8..9)
        .map(|number| {
            let keys: Vec<Hash> = (0..number).map(|key| Hash::from_bytes(&[key; 32])).collect();
            let log = json!({"seq": number, "hash": Hash::from_bytes(&[number; 32])});
            let value = match number % 4 {
                3 => json!("tombstone"),
                _ => json!({"log": log, "keys": keys}),
            };
            (person(&format!("p{number}")).as_str().to_owned(), value)
        })
        .collect()
}

fn run(op: &str, input: &Value) -> Result<Value, super::super::book::WriteError> {
    let run = ops::lookup(op).zip(input.as_object());
    made(op, run.map_or(Err("no kind"), |(op, input)| op(&Args::new(input)).map_err(|_| "refused")))
}

pub(super) fn write(book: &mut Book) -> Writing {
    for height in [0, 1, 8, 255, 256] {
        let name = format!("a subtree of height {height} without a leaf");
        book.pins(name, "empty_subtree", json!({"height": height}))?;
    }
    let values = values();
    let root = run("map_root", &json!({"values": values}))?;
    book.pins("the root of nobody", "map_root", json!({"values": {}}))?;
    book.gives("the root of nine", "map_root", json!({"values": values}), root.clone())?;
    let shared = book.share("nine persons", json!(values));
    let absent = person("nobody");
    let everybody = values.iter().map(|(person, value)| (person.as_str(), Some(value)));
    for (number, (person, value)) in everybody.chain([(absent.as_str(), None)]).enumerate() {
        let proof = run("map_prove", &json!({"values": values, "person": person}))?;
        let input = json!({"values": shared, "person": person});
        book.gives(format!("proof {number}"), "map_prove", input, proof.clone())?;
        let mut claim = json!({"root": root, "person": person, "proof": proof});
        if let Some(value) = value {
            claim["value"] = value.clone();
        }
        book.pins(format!("proof {number} verifies"), "map_verify", claim.clone())?;
        book.gives(
            format!("proof {number} leads to the root"),
            "map_root_from_proof",
            claim.clone(),
            root.clone(),
        )?;
        let mut lie = claim.clone();
        lie["value"] = match value {
            Some(Value::String(_)) => json!({"log": {"seq": 0, "hash": root}, "keys": []}),
            _ => json!("tombstone"),
        };
        book.refuses(
            format!("proof {number} of another value"),
            "map_verify",
            lie,
            DirectoryInconsistent,
        )?;
        if number == 0 {
            spoilt(book, &claim)?;
        }
    }
    Ok(())
}

/// Proofs that are none.
fn spoilt(book: &mut Book, claim: &Value) -> Writing {
    let bitmap = |byte: u8| json!(Hash::from_bytes(&[byte; 32]));
    for (name, member, value) in [
        ("no siblings", "siblings", json!([])),
        ("siblings that are no list", "siblings", json!({})),
        ("siblings null", "siblings", Value::Null),
        ("a bit for every height", "bitmap", bitmap(0xff)),
        ("a bit for no height", "bitmap", bitmap(0)),
        ("a member more", "more", json!(true)),
    ] {
        let mut bad = claim.clone();
        bad["proof"][member] = value;
        let said = format!("a proof with {name}");
        book.refuses(said.clone(), "map_root_from_proof", bad.clone(), InvalidRequest)?;
        book.refuses(format!("{said} verifies nothing"), "map_verify", bad, DirectoryInconsistent)?;
    }
    Ok(())
}

//! The epoch log as a Merkle tree: sizes that are no powers of two.

use messaging_core::code::Code::DirectoryInconsistent;
use messaging_core::directory::{MerkleLog, NodeHash, leaf_hash};
use messaging_core::ids::Hash;
use serde_json::{Value, json};

use super::super::book::{Book, Writing, made};
use crate::args::hex_encode;

const SIZES: [u64; 8] = [1, 2, 3, 5, 6, 7, 11, 13];

fn text(hashes: &[NodeHash]) -> Value {
    hashes.iter().map(|hash| json!(Hash::from_bytes(hash))).collect()
}

pub(super) fn write(book: &mut Book) -> Writing {
    let data: Vec<Vec<u8>> = (0_u8..13).map(|number| vec![number; usize::from(number)]).collect();
    let hashes: Vec<NodeHash> = data.iter().map(|data| leaf_hash(data)).collect();
    let log = MerkleLog::of(hashes.iter().copied());
    let root = |size: u64| {
        made("a root", log.root_at(size).ok_or("none")).map(|root| json!(Hash::from_bytes(&root)))
    };
    for size in SIZES {
        let leaves: Vec<String> =
            data.iter().zip(0..size).map(|(data, _)| hex_encode(data)).collect();
        let name = format!("a log of {size}");
        book.gives(name.clone(), "merkle_root", json!({"leaves": leaves}), root(size)?)?;
        for (index, leaf) in (0..size).zip(&hashes) {
            let path = made("a path", log.prove_inclusion(index, size).ok_or("none"))?;
            let mut claim = json!({"index": index, "size": size, "proof": text(&path),
                "leafHash": Hash::from_bytes(leaf), "root": root(size)?});
            book.pins(format!("{name}: leaf {index}"), "merkle_verify_inclusion", claim.clone())?;
            claim["index"] = json!((index + 1) % size.max(2));
            let lie = format!("{name}: leaf {index} in another place");
            book.refuses(lie, "merkle_verify_inclusion", claim, DirectoryInconsistent)?;
        }
        for first in 1..=size {
            let proof = made("a proof", log.prove_consistency(first, size).ok_or("none"))?;
            let mut claim = json!({"size1": first, "size2": size, "proof": text(&proof),
                "root1": root(first)?, "root2": root(size)?});
            let said = format!("{name} begins with {first}");
            book.pins(said.clone(), "merkle_verify_consistency", claim.clone())?;
            claim["root1"] = json!(Hash::from_bytes(&leaf_hash(b"another")));
            let lie = format!("{said}, but with another root");
            book.refuses(lie, "merkle_verify_consistency", claim, DirectoryInconsistent)?;
        }
    }
    Ok(())
}

//! The artifacts of a task, kept as the pieces they came in, so that a piece that comes late still finds its place.
//! Spec: §6.2, D3.15 "`append: true`"

use messaging_core::time::Ms;
use serde_json::Value;

use crate::store::tasks::Piece;

/// Puts a piece in its place, and drops what it or a later one replaces.
pub(super) fn put(pieces: &mut Vec<Piece>, piece: Piece) {
    let id = id(&piece.artifact).map(str::to_owned);
    let at = pieces.partition_point(|earlier| earlier.ts <= piece.ts);
    pieces.insert(at, piece);
    let is_same = |piece: &Piece| self::id(&piece.artifact) == id.as_deref();
    if let Some(start) = pieces.iter().rposition(|piece| is_same(piece) && !piece.append) {
        let mut at = 0;
        pieces.retain(|piece| {
            at += 1;
            at > start || !is_same(piece)
        });
    }
}

/// When a piece counts as sent that follows all others, whatever became of the clock.
pub(super) fn next(pieces: &[Piece], at: Ms) -> Ms {
    pieces.last().map_or(at, |last| at.max(last.ts.plus(1)))
}

/// The artifacts as their pieces make them, in the order in which they began.
pub(super) fn whole(pieces: &[Piece]) -> Vec<Value> {
    let mut artifacts: Vec<Value> = Vec::new();
    for piece in pieces {
        let known = artifacts.iter_mut().find(|known| id(known) == id(&piece.artifact));
        match known {
            Some(known) => extend(known, &piece.artifact),
            None => artifacts.push(piece.artifact.clone()),
        }
    }
    artifacts
}

/// How many artifacts the pieces make.
pub(super) fn count(pieces: &[Piece]) -> usize {
    let mut ids: Vec<Option<&str>> = pieces.iter().map(|piece| id(&piece.artifact)).collect();
    ids.sort_unstable();
    ids.dedup();
    ids.len()
}

/// What the pieces weigh, bytes of JSON.
pub(super) fn weight(pieces: &[Piece]) -> u64 {
    pieces.iter().map(|piece| super::length(&piece.artifact).saturating_add(PIECE_BYTES)).sum()
}

fn id(artifact: &Value) -> Option<&str> {
    artifact.get("artifactId").and_then(Value::as_str)
}

fn extend(artifact: &mut Value, more: &Value) {
    let more = more.get("parts").and_then(Value::as_array).cloned().unwrap_or_default();
    if let Some(parts) = artifact.get_mut("parts").and_then(Value::as_array_mut) {
        parts.extend(more);
    }
}

/// What a piece weighs beside its artifact.
const PIECE_BYTES: u64 = 64;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn piece(ts: u64, id: &str, text: &str, append: bool) -> Piece {
        let artifact = json!({"artifactId": id, "parts": [{"text": text}]});
        Piece { ts: Ms(ts), append, artifact }
    }

    fn texts(pieces: &[Piece]) -> Vec<String> {
        let text = |artifact: &Value| {
            let parts = artifact["parts"].as_array().unwrap().iter();
            let texts: Vec<&str> = parts.map(|part| part["text"].as_str().unwrap()).collect();
            format!("{}:{}", artifact["artifactId"].as_str().unwrap(), texts.join(""))
        };
        whole(pieces).iter().map(text).collect()
    }

    #[test]
    fn every_order_of_arrival_makes_the_same_artifacts() {
        let sent = [
            piece(1, "a", "old", false),
            piece(2, "a", "lost", true),
            piece(3, "b", "x", true),
            piece(4, "a", "1", false),
            piece(5, "a", "2", true),
            piece(6, "a", "3", true),
        ];
        let mut orders = vec![Vec::new()];
        for at in 0..sent.len() {
            let longer = |order: &Vec<usize>| {
                (0..=order.len())
                    .map(|place| {
                        let mut order = order.clone();
                        order.insert(place, at);
                        order
                    })
                    .collect::<Vec<_>>()
            };
            orders = orders.iter().flat_map(longer).collect();
        }
        assert_eq!(orders.len(), 720);
        for order in orders {
            let mut pieces = Vec::new();
            for at in &order {
                put(&mut pieces, sent[*at].clone());
            }
            assert_eq!(texts(&pieces), ["b:x", "a:123"], "{order:?}");
            assert_eq!((count(&pieces), pieces.len()), (2, 4));
        }
    }

    #[test]
    fn the_first_piece_says_what_an_artifact_is() {
        let mut first = piece(1, "a", "1", true);
        first.artifact["name"] = json!("first");
        let mut second = piece(2, "a", "2", true);
        second.artifact["name"] = json!("second");
        let mut pieces = Vec::new();
        put(&mut pieces, second);
        put(&mut pieces, first);
        assert_eq!(whole(&pieces)[0]["name"], "first");
        assert_eq!(texts(&pieces), ["a:12"]);
    }
}

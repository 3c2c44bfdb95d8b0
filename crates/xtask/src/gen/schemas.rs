//! `spec-vectors/schemas/`: a JSON Schema for each shape that travels, from the types themselves.

use super::Page;
use serde_json::Value;

/// One page for each shape of the wire, and one for each method and message of the daemon's sockets.
pub(super) fn pages() -> Vec<Page> {
    let wire = messaging_core::schema::schemas()
        .into_iter()
        .map(|(name, schema)| page(&format!("spec-vectors/schemas/wire/{name}.json"), &schema));
    let ipc = messaging_ipc::schema::documents()
        .into_iter()
        .map(|(name, schema)| page(&format!("spec-vectors/schemas/ipc/{name}.json"), &schema));
    wire.chain(ipc).collect()
}

fn page(path: &str, schema: &Value) -> Page {
    Page { path: path.to_owned(), text: format!("{schema:#}\n") }
}

//! The files of `spec-vectors/` are what the writer writes, and every case of theirs passes.

use std::path::Path;

use messaging_vectors::{check, write};

fn folder() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../spec-vectors"))
}

#[test]
fn writing_again_gives_the_same_bytes() {
    for (name, text) in write::all().unwrap() {
        let held = std::fs::read_to_string(folder().join(name)).unwrap_or_default();
        assert!(
            held == text,
            "{name} is not what is written: run `cargo run --bin write-vectors -- spec-vectors`"
        );
    }
}

#[test]
fn every_case_passes() {
    let mut report = Vec::new();
    let good = check::folder(folder(), check::UnknownKinds::Fail, &mut report).unwrap();
    assert!(good, "{}", String::from_utf8(report).unwrap());
}

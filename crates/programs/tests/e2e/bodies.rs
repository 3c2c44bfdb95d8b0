//! Bodies arrive byte for byte, whatever a shell, a terminal or a parser would make of them.
//! Spec: D6.4 `send`, `read`

use std::fs;

use messaging_core::b64;
use serde_json::Value;

use crate::harness::{House, Machine, wait};

/// Back-quotes, variables, quotes, CRLF, tabs, a right-to-left mark, an escape sequence, many planes, and 200 lines.
fn nasty() -> String {
    let line = "`rm -rf ~` $HOME ${HOME} $(id) 'single' \"double\" \\ \\n %s\t\u{200f}\u{1b}[31m ünï 語 🧵\r\n";
    let mut text: String = (1..=200).map(|n| format!("{n}: {line}")).collect();
    text.push_str("the last line has no end");
    text
}

/// What an argument cannot hold.
fn with_nul() -> String {
    let mut text = nasty();
    text.insert(10, '\0');
    text.insert_str(0, "\u{feff}\n\n  ");
    text.push_str("\n\n");
    text
}

/// Sends as the arguments say, and gives the parts that the other side has, with the folder they were saved in.
fn arrives(
    alice: &Machine,
    bob: &Machine,
    stdin: &[u8],
    rest: &[&str],
) -> (Vec<Value>, Vec<Vec<u8>>) {
    let args = [&["send", "bob/cli@desk", "--json"], rest].concat();
    let sent = alice.fed(stdin, &args);
    assert_eq!(sent.status, 0, "{sent:?}");
    let sent: Value = serde_json::from_str(&sent.stdout).unwrap();
    let id = sent["envelopeId"].as_str().unwrap();
    let raw = wait("the message", || {
        let ran = bob.run(&["read", id, "--peek", "--raw"]);
        (ran.status == 0).then_some(ran.stdout)
    });
    let message: Value = serde_json::from_str(&raw).unwrap();
    let folder = bob.home().join(format!("saved-{id}"));
    bob.ok(&["read", id, "--save", folder.to_str().unwrap()]);
    let mut files: Vec<_> =
        fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    let saved = files.iter().map(|file| fs::read(file).unwrap()).collect();
    (message["parts"].as_array().unwrap().clone(), saved)
}

#[test]
fn a_text_arrives_byte_for_byte_from_every_source() {
    let house = House::new();
    let (alice, bob) = house.two();
    bob.ok(&["inbox"]);
    let (plain, binary) = (nasty(), with_nul());
    let as_text = |parts: &[Value]| parts[0]["text"].as_str().unwrap().to_owned();

    let (parts, saved) = arrives(&alice, &bob, b"", &[&plain]);
    assert_eq!(as_text(&parts), plain);
    assert_eq!(saved, [plain.clone().into_bytes()]);
    for text in [&plain, &binary] {
        for dash in [&["-"][..], &[]] {
            let (parts, saved) = arrives(&alice, &bob, text.as_bytes(), dash);
            assert_eq!(as_text(&parts), *text);
            assert_eq!(saved, [text.clone().into_bytes()]);
        }
    }
    // An argument that looks like a flag is a text after `--`, and one with a dash is one anyway.
    assert_eq!(as_text(&arrives(&alice, &bob, b"", &["--", "--yes"]).0), "--yes");
    assert_eq!(as_text(&arrives(&alice, &bob, b"", &["-5 degrees"]).0), "-5 degrees");
}

#[test]
fn a_file_arrives_byte_for_byte_under_its_name() {
    let house = House::new();
    let (alice, bob) = house.two();
    bob.ok(&["inbox"]);
    let every_byte: Vec<u8> = (0..=255).cycle().take(70_000).collect();
    let path = |name: &str, bytes: &[u8]| {
        let path = house.path().join(name);
        fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (text, binary) = (path("a text.md", with_nul().as_bytes()), path("ünï.bin", &every_byte));
    let (parts, saved) = arrives(&alice, &bob, b"", &["see", "--file", &text, "--file", &binary]);
    assert_eq!(parts[0]["text"], "see");
    assert_eq!(parts[1]["filename"], "a text.md");
    assert_eq!(parts[2]["filename"], "ünï.bin");
    let raw = |part: &Value| b64::decode_standard(part["raw"].as_str().unwrap()).unwrap();
    assert_eq!(raw(&parts[1]), with_nul().as_bytes());
    assert_eq!(raw(&parts[2]), every_byte);
    // `a text.md`, `part-1.txt`, `ünï.bin`
    assert_eq!(saved, [with_nul().into_bytes(), b"see".to_vec(), every_byte]);
}

#[test]
fn what_is_no_text_is_refused_before_anything_is_sent() {
    let house = House::new();
    let (alice, bob) = house.two();
    let mut api = bob.agent("api");
    let refused = alice.fed(b"\xff\xfe", &["send", "bob/api@desk"]);
    assert_eq!(refused.failure(), crate::harness::failure(2, "invalid_request"));
    let absent = house.path().join("absent");
    let refused = alice.fails(&["send", "bob/api@desk", "x", "--file", absent.to_str().unwrap()]);
    assert_eq!(refused, crate::harness::failure(2, "invalid_request"));
    alice.ok(&["send", "bob/api@desk", "after"]);
    assert_eq!(api.holds(1), ["after"]);
}

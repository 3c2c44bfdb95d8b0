//! What nobody finds on a disk: bodies outside the inbox they are for, keys outside their file, tickets anywhere.
//! Spec: §12, D3.5 "No plaintext of sent mail is kept", D3.30

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::harness::{House, Machine, wait};

/// Every file below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match fs::symlink_metadata(&path).unwrap().file_type() {
            kind if kind.is_dir() => found.extend(files(&path)),
            kind if kind.is_file() => found.push(path),
            _ => {}
        }
    }
    found
}

/// The names of the files of a folder that hold a text.
pub(crate) fn holders(folder: &Path, text: &str) -> Vec<String> {
    let holds = |path: &PathBuf| {
        let bytes = fs::read(path).unwrap();
        bytes.windows(text.len()).any(|window| window == text.as_bytes())
    };
    let name = |path: PathBuf| path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
    let mut names: Vec<_> = files(folder).into_iter().filter(holds).map(name).collect();
    names.sort();
    names
}

/// A machine whose log tells everything that it ever tells, and that keeps no copy of what it sends.
fn talkative(house: &House, name: &str) -> Machine {
    let home = house.path().join(name);
    fs::create_dir(&home).unwrap();
    fs::write(
        home.join("config.json"),
        r#"{"log":{"level":"debug"},"retention":{"sentText":false}}"#,
    )
    .unwrap();
    Machine::at(&home)
}

#[test]
fn bodies_keys_and_tickets_stay_where_they_belong() {
    let mut house = House::with(&["--log-level", "debug"]);
    let (mut alice, mut bob) = (talkative(&house, "alice"), talkative(&house, "bob"));
    let url = house.relay.url();
    let create = ["team", "create", "--relay", &url, "--name", "garden", "--person", "alice"];
    alice.ok(&[&create[..], &["--label", "laptop"]].concat());
    let ticket = alice.ok(&["team", "invite", "bob"]).trim().to_owned();
    assert_eq!(bob.join(&ticket, "desk").status, 0);
    bob.welcome_all();
    bob.ok(&["inbox"]);

    let body = "the-body-that-only-bob-may-read";
    let sent = alice.json(&["send", "bob/cli@desk", body]);
    let id = sent["envelopeId"].as_str().unwrap();
    wait("the mail", || (bob.json(&["inbox"])["unread"] == 1).then_some(()));
    bob.ok(&["read", id]);
    wait("the receipt", || (alice.stages(id).last().unwrap() == "read").then_some(()));
    // Refusals are logged too, and hold no more.
    assert_ne!(alice.run(&["send", "nobody/api", body]).status, 0);
    assert_ne!(bob.join(&ticket, "desk").status, 0);
    let too_deep =
        json!([body]).to_string().replace('[', &"[".repeat(40)).replace(']', &"]".repeat(40));
    assert_ne!(alice.run(&["api", "msg.send", &format!("{{\"parts\":{too_deep}}}")]).status, 0);

    let identity = |machine: &Machine| -> Value {
        serde_json::from_slice(&fs::read(machine.home().join("identity.json")).unwrap()).unwrap()
    };
    let keys: Vec<(String, &str)> = [(&alice, "alice"), (&bob, "bob")]
        .into_iter()
        .flat_map(|(machine, name)| {
            let identity = identity(machine);
            ["signingKey", "encKey"].map(|key| (identity[key].as_str().unwrap().to_owned(), name))
        })
        .collect();
    let mailbox = fs::read_to_string(alice.home().join("cli/cli.key")).unwrap();
    alice.stop();
    bob.stop();
    let words = house.relay.process().unwrap().words().join("\n");
    house.relay.stop().unwrap();

    let holders = |text: &str| holders(house.path(), text);
    let in_the_inbox = |name: &String| name.starts_with("bob/messaging.db");
    let with_body = holders(body);
    assert!(!with_body.is_empty() && with_body.iter().all(in_the_inbox), "{with_body:?}");
    for (key, name) in &keys {
        assert_eq!(holders(key), [format!("{name}/identity.json")]);
    }
    assert_eq!(holders(mailbox.trim()), ["alice/cli/cli.key"]);
    let secret = ticket.split_once('.').unwrap().1;
    let opened: Value =
        serde_json::from_slice(&messaging_core::b64::decode(secret).unwrap()).unwrap();
    for text in [&ticket, opened["secret"].as_str().unwrap()] {
        assert_eq!(holders(text), Vec::<String>::new());
        assert!(!words.contains(text));
    }
    assert!(!words.contains(body));
    // There was something to find them in.
    assert!(words.contains("relay.listening"));
    let log = fs::read_to_string(alice.home().join("logs/messagingd.log")).unwrap();
    assert!(log.contains("relay.welcome") && log.lines().count() > 10, "{log}");
}

#[test]
fn a_senders_copy_is_in_its_own_store_and_goes_into_an_export_to_the_byte() {
    let house = House::new();
    let (alice, bob) = house.two();
    // From here on the mailbox is there.
    bob.json(&["inbox"]);
    let body = "a-body-that-alice-keeps <script>alert(1)</script>\u{1b}[2J";
    let sent = alice.json(&["send", "bob/cli@desk", body]);
    let id = sent["envelopeId"].as_str().unwrap();
    wait("the mail", || (bob.json(&["inbox"])["unread"] == 1).then_some(()));
    let stores = |text: &str| -> Vec<String> {
        let names = holders(house.path(), text);
        names.iter().map(|name| name.split("-wal").next().unwrap().to_owned()).collect()
    };
    let mut named = stores("a-body-that-alice-keeps");
    named.dedup();
    assert_eq!(named, ["alice-laptop/messaging.db", "bob-desk/messaging.db"]);

    let found = alice.json(&["mail", "search", "THAT-alice"]);
    assert_eq!(found["hits"][0]["id"], id);
    assert_eq!(alice.json(&["sent"])["items"][0]["id"], id);
    for format in ["jsonl", "mbox", "html"] {
        let folder = house.path().join(format!("out-{format}"));
        let to = folder.to_str().unwrap();
        let args = ["export", "--format", format, "--to", to, "--with", "bob"];
        let list = alice.json(&args);
        assert_eq!(list["messages"], 1);
        let manifest: Value =
            serde_json::from_slice(&fs::read(folder.join("manifest.json")).unwrap()).unwrap();
        assert_eq!(manifest["files"], list["files"]);
        for file in manifest["files"].as_array().unwrap() {
            let bytes = fs::read(folder.join(file["name"].as_str().unwrap())).unwrap();
            assert_eq!(file["bytes"], bytes.len());
            assert_eq!(file["sha256"].as_str().map(str::len), Some(64));
        }
        // Nothing is written over, and what is there stays.
        assert_eq!(alice.run(&args).status, 2);
        assert!(folder.join("manifest.json").exists());
    }
    let jsonl = fs::read_to_string(house.path().join("out-jsonl/messages.jsonl")).unwrap();
    let entry: Value = serde_json::from_str(jsonl.trim_end()).unwrap();
    assert_eq!(entry["message"]["parts"][0]["text"], body);
    let html = fs::read_to_string(house.path().join("out-html/index.html")).unwrap();
    assert!(!html.contains("<script>") && html.contains("&lt;script&gt;"));
    assert!(holders(&house.path().join("out-html"), body).is_empty());
}

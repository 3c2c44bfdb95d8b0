//! One under, at, and one over every limit of a message: what is over is refused before it is queued, what is not arrives,
//! and the link to the relay never notices.
//! Spec: W1, W2.2, D1.5 "A2A shapes", D3.5 step 8

use messaging_core::jcs;
use messaging_core::limits::{METADATA_BYTES, PLAINTEXT_BYTES};
use messaging_testkit::programs::Refused;
use serde_json::{Value, json};

use crate::harness::{Agent, House, Machine, failure, wait};

/// Something of each kind: one byte a unit; two and three bytes a unit; a pair of units; what JSON escapes.
const ALPHABETS: [&str; 5] = ["a", "é", "語", "🧵", "\"\u{1}\\\n"];

/// A text of exactly `units` UTF-16 units.
fn units(alphabet: &str, units: usize) -> String {
    let mut text = String::new();
    let mut left = units;
    for letter in alphabet.chars().cycle() {
        if letter.len_utf16() > left {
            break;
        }
        left -= letter.len_utf16();
        text.push(letter);
    }
    text.extend(std::iter::repeat_n('x', left));
    text
}

/// A text whose JSON has exactly `bytes` bytes between the quotes.
fn json_bytes(alphabet: &str, bytes: usize) -> String {
    let cost = |letter: char| jcs::canonical(&json!(letter)).unwrap().len() - 2;
    let costs: Vec<(char, usize)> = alphabet.chars().map(|letter| (letter, cost(letter))).collect();
    let (mut text, mut left) = (String::new(), bytes);
    for (letter, cost) in costs.iter().cycle() {
        if *cost > left {
            break;
        }
        left -= cost;
        text.push(*letter);
    }
    text.extend(std::iter::repeat_n('x', left));
    text
}

/// The writer, the reader, and the link between them as it was.
struct Pair {
    alice: Machine,
    writer: Agent,
    reader: Agent,
    link: Value,
    sent: usize,
    _bob: Machine,
    _house: House,
}

impl Pair {
    fn new() -> Self {
        let house = House::new();
        let (alice, bob) = house.two();
        let (writer, reader) = (alice.terminal("writer"), bob.terminal("reader"));
        let link = alice.call("daemon.status", json!({}))["relay"].clone();
        assert_eq!(link["state"], "connected");
        Self { alice, writer, reader, link, sent: 0, _bob: bob, _house: house }
    }

    fn send(&mut self, params: &Value) -> Result<Value, Refused> {
        let mut params = params.clone();
        params["to"] = json!("bob/reader@desk");
        self.writer.try_call("msg.send", params)
    }

    /// It is sent, and what arrives has the same parts.
    #[track_caller]
    fn arrives(&mut self, what: &str, params: &Value) {
        let sent = self.send(params).unwrap_or_else(|error| panic!("{what}: {error}"));
        self.sent += 1;
        let event = self.reader.event("inbox");
        let id = &event["item"]["id"];
        assert_eq!(sent["results"][0]["envelopeId"], *id, "{what}");
        let message = self.reader.call("inbox.get", json!({"id": id, "message": true}));
        for (name, value) in params.as_object().unwrap() {
            // Provenance is added to the metadata.
            let arrived = match (name.as_str(), &value["m"]) {
                ("metadata", Value::String(_)) => json!({"m": message["message"][name]["m"]}),
                ("idempotencyKey", _) => value.clone(),
                _ => message["message"][name].clone(),
            };
            assert!(arrived == *value, "{what}: {name} arrived as something else");
        }
    }

    /// It is refused, and nothing is stored or sent.
    #[track_caller]
    fn refused(&mut self, what: &str, params: &Value, code: &str) {
        let refused = self.send(params).err().unwrap_or_else(|| panic!("{what}: it was taken"));
        assert_eq!(refused.code, code, "{what}");
        let words: &[&str] = &["parts", "metadata", "messageId", "contextId", "extensions"];
        let more: &[&str] = &["referenceTaskIds", "idempotencyKey"];
        if code == "invalid_request" {
            let field = refused.field.unwrap_or_else(|| panic!("{what}: no field is named"));
            assert!(
                words.iter().chain(more).any(|word| field.starts_with(word)),
                "{what}: {field}"
            );
        }
    }

    /// The link is the one from before, it saw no error, and the next message goes through.
    #[track_caller]
    fn end_unharmed(mut self) {
        self.arrives("an ordinary message", &json!({"parts": [{"text": "after all that"}]}));
        assert_eq!(self.alice.call("daemon.status", json!({}))["relay"], self.link);
        assert_eq!(self.reader.texts().len(), self.sent);
        let mut ipc = self.alice.ipc();
        wait("an empty outbox", || {
            let health = ipc.call("daemon.health", &json!({})).unwrap().unwrap();
            (health["busy"] == false).then_some(())
        });
    }
}

#[test]
fn the_longest_text() {
    let mut pair = Pair::new();
    let frame = json!({"kind": "message", "wake": true, "message": {
        "contextId": "0".repeat(26), "messageId": "0".repeat(26), "role": "ROLE_USER",
        "parts": [{"text": ""}],
    }});
    let room = PLAINTEXT_BYTES - jcs::canonical(&frame).unwrap().len();
    for alphabet in ALPHABETS {
        let text = |bytes| json!({"parts": [{"text": json_bytes(alphabet, bytes)}]});
        for bytes in [room - 1, room] {
            pair.arrives(&format!("{bytes} bytes of {alphabet:?}"), &text(bytes));
        }
        for bytes in [room + 1, PLAINTEXT_BYTES, PLAINTEXT_BYTES + 1, 2 * PLAINTEXT_BYTES] {
            pair.refused(&format!("{bytes} bytes of {alphabet:?}"), &text(bytes), "too_large");
        }
    }
    pair.end_unharmed();
}

#[test]
fn the_longest_text_of_a_command() {
    let house = House::new();
    let (alice, bob) = house.two();
    let mut api = bob.agent("api");
    let too_large = failure(1, "too_large");
    for text in [
        "a".repeat(PLAINTEXT_BYTES),
        "🧵".repeat(PLAINTEXT_BYTES / 4),
        "\n".repeat(PLAINTEXT_BYTES - 1),
    ] {
        assert_eq!(alice.fed(text.as_bytes(), &["send", "bob/api@desk", "-"]).failure(), too_large);
    }
    let file = house.path().join("file");
    for (bytes, taken) in [(PLAINTEXT_BYTES + 1, false), (PLAINTEXT_BYTES, false), (390_000, true)]
    {
        std::fs::write(&file, vec![0; bytes]).unwrap();
        let ran = alice.run(&["send", "bob/api@desk", "--file", file.to_str().unwrap()]);
        if taken {
            assert_eq!(ran.status, 0, "{ran:?}");
        } else {
            assert_eq!(ran.failure(), too_large, "{bytes}");
        }
    }
    alice.ok(&["send", "bob/api@desk", "after"]);
    assert_eq!(api.holds(2), ["", "after"]);
}

#[test]
fn the_longest_names_of_parts() {
    let mut pair = Pair::new();
    for alphabet in ALPHABETS {
        // A file name has no control characters and no slashes; the other words have what they like.
        let name = alphabet.replace(['\u{1}', '\\', '\n'], "'");
        let part = |field: &str, length: usize| {
            let alphabet = if field == "filename" { &name } else { alphabet };
            let mut part = json!({"text": "x"});
            if field == "url" {
                part = json!({});
            }
            part[field] = json!(units(alphabet, length));
            json!({"parts": [part]})
        };
        for (field, most) in [("filename", 255), ("mediaType", 127), ("url", 2_048)] {
            let what = format!("{field} of {alphabet:?}");
            for length in [most - 1, most] {
                pair.arrives(&what, &part(field, length));
            }
            pair.refused(&what, &part(field, most + 1), "invalid_request");
            pair.refused(&what, &part(field, 0), "invalid_request");
        }
    }
    pair.end_unharmed();
}

#[test]
fn the_longest_members_of_a_message() {
    let mut pair = Pair::new();
    let with = |field: &str, value: Value| {
        let mut params = json!({"parts": [{"text": "x"}]});
        params[field] = value;
        params
    };
    for alphabet in ALPHABETS {
        for (field, most) in [("extensions", 256), ("referenceTaskIds", 128)] {
            let list = |length| with(field, json!([units(alphabet, length)]));
            let what = format!("{field} of {alphabet:?}");
            pair.arrives(&what, &list(most));
            pair.refused(&what, &list(most + 1), "invalid_request");
            pair.refused(&what, &list(0), "invalid_request");
        }
        let metadata = |bytes: usize| with("metadata", json!({"m": json_bytes(alphabet, bytes)}));
        let room = METADATA_BYTES - jcs::canonical(&json!({"m": ""})).unwrap().len();
        let what = format!("metadata of {alphabet:?}");
        for bytes in [room - 1, room] {
            pair.arrives(&what, &metadata(bytes));
        }
        pair.refused(&what, &metadata(room + 1), "invalid_request");
    }
    for (field, most) in [("messageId", 128), ("contextId", 128), ("idempotencyKey", 128)] {
        for length in [most - 1, most] {
            pair.arrives(field, &with(field, json!("~".repeat(length))));
        }
        for value in ["~".repeat(most + 1), String::new(), "é".into(), "a\nb".into()] {
            pair.refused(field, &with(field, json!(value)), "invalid_request");
        }
    }
    for (field, most) in [("extensions", 32), ("referenceTaskIds", 32)] {
        pair.arrives(field, &with(field, json!(vec!["e"; most])));
        pair.refused(field, &with(field, json!(vec!["e"; most + 1])), "invalid_request");
    }
    pair.end_unharmed();
}

#[test]
fn the_most_parts_and_the_deepest_data() {
    let mut pair = Pair::new();
    let parts = |count: usize| json!({"parts": vec![json!({"text": "p"}); count]});
    for count in [1, 99, 100] {
        pair.arrives(&format!("{count} parts"), &parts(count));
    }
    pair.refused("101 parts", &parts(101), "invalid_request");
    pair.refused("no parts", &parts(0), "invalid_request");

    // `data` stands at depth four of a payload, and of a request: payload, message, parts, part.
    let data = |depth: usize| {
        let value = (0..depth).fold(json!("bottom"), |inner, _| json!([inner]));
        json!({"parts": [{"data": value}]})
    };
    let mut most = 0;
    while pair.send(&data(most + 1)).is_ok() {
        most += 1;
        pair.sent += 1;
        pair.reader.event("inbox");
    }
    assert_eq!(most, 28);
    for depth in [most + 1, 31, 32, 33, 200] {
        let refused = pair.send(&data(depth)).unwrap_err();
        assert_eq!(refused.code, "invalid_request", "{depth}");
    }
    pair.end_unharmed();
}

#[test]
fn the_longest_names_of_a_team() {
    let house = House::new();
    let (person, label, agent) = ("p".repeat(32), "l".repeat(32), "s".repeat(64));
    let url = house.relay.url();
    let mut machines = Vec::new();
    for (n, alphabet) in ALPHABETS.iter().enumerate() {
        let machine = house.machine(&format!("m{n}"));
        let create = |name: &str, person: &str, label: &str| {
            let words = ["team", "create", "--relay", &url, "--name", name, "--person", person];
            machine.run(&[&words[..], &["--label", label]].concat())
        };
        let over = failure(2, "invalid_request");
        assert_eq!(create(&units(alphabet, 65), &person, &label).failure(), over);
        assert_eq!(create("", &person, &label).failure(), over);
        assert_eq!(create("t", &format!("{person}p"), &label).failure(), over);
        assert_eq!(create("t", &person, &format!("{label}l")).failure(), over);
        let created = create(&units(alphabet, 64), &person, &label);
        assert_eq!(created.status, 0, "{created:?}");
        assert_eq!(machine.json(&["team", "list"])["name"], units(alphabet, 64));
        machines.push(machine);
    }
    let founder = &machines[0];
    let guest = house.machine("guest");
    let ticket = founder.ok(&["team", "invite", &"q".repeat(32)]);
    assert_eq!(guest.join(&ticket, &label).status, 0);
    guest.welcome_all();
    let (mut writer, mut reader) = (founder.agent(&agent), guest.agent(&agent));
    let to = format!("{}/{agent}@{label}", "q".repeat(32));
    let id = writer.send(&to, "between long names");
    assert_eq!(reader.holds(1), ["between long names"]);
    writer.reaches(&id, "delivered");
    assert_eq!(
        founder.run(&["send", &format!("{to}x"), "x"]).failure(),
        failure(2, "invalid_request")
    );
}

#[test]
fn the_most_that_presence_can_tell() {
    let house = House::new();
    let bob_home = house.path().join("bob");
    std::fs::create_dir(&bob_home).unwrap();
    let config = json!({"presence": {"share": ["repo", "branch", "doing"]}}).to_string();
    std::fs::write(bob_home.join("config.json"), config).unwrap();
    let alice = house.founder("alice", "laptop");
    let bob = house.machine("bob");
    let ticket = alice.ok(&["team", "invite", "bob"]);
    assert_eq!(bob.join(&ticket, "desk").status, 0);

    let mut ipc = bob.ipc();
    let mut register = |n: usize, text: &str| {
        let name = format!("{n:0>64}");
        let key = format!("key-of-session-number-{n:0>4}");
        let params = json!({"key": key, "agent": "a".repeat(32), "name": name, "repo": text, "branch": text, "doing": text});
        ipc.call("session.register", &params).unwrap()
    };
    for n in 0..200 {
        let text = units(ALPHABETS[n % ALPHABETS.len()], 200);
        assert!(register(n, &text).is_ok(), "{n}");
    }
    assert_eq!(register(200, "x").unwrap_err().code, "rate_limited");
    let over = register(0, &units("é", 201)).unwrap_err();
    assert_eq!((over.code.as_str(), over.field.as_deref()), ("invalid_request", Some("branch")));

    // All of it is far above 64 KiB: the texts go first, and every session is still told.
    wait("every session", || {
        let found = alice.call("contacts.list", json!({}));
        let entries = found["entries"].as_array()?;
        let theirs = entries.iter().filter(|entry| entry["person"] == "bob");
        (theirs.count() == 200).then_some(())
    });
    let relay = &bob.call("daemon.status", json!({}))["relay"];
    assert_eq!((&relay["state"], &relay["lastError"]), (&json!("connected"), &Value::Null));
}

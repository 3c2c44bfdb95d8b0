//! Files are edited as a careful person would, and lose nothing.

use super::*;
use proptest::prelude::*;
use serde_json::json;

const AT: [&str; 2] = ["mcpServers", "messaging"];

fn server() -> Value {
    json!({"command": "messaging-mcp", "args": ["--name", "x"]})
}

#[track_caller]
fn there_and_back(before: &str, after: &str) {
    let set_once = set(before, &AT, &server()).unwrap();
    assert_eq!(set_once, after);
    assert_eq!(set(&set_once, &AT, &server()).unwrap(), set_once, "twice is once");
    assert_eq!(remove(&set_once, &AT).unwrap(), before);
}

#[test]
fn a_member_goes_where_a_person_would_write_it() {
    there_and_back(
        "{\n  \"mcpServers\": {\n    \"other\": {} // mine\n  },\n  \"z\": 1\n}\n",
        "{\n  \"mcpServers\": {\n    \"other\": {}, // mine\n    \"messaging\": {\n      \"args\": \
         [\"--name\", \"x\"],\n      \"command\": \"messaging-mcp\"\n    }\n  },\n  \"z\": 1\n}\n",
    );
    there_and_back(
        "{\r\n\t\"a\": 1,\r\n}",
        "{\r\n\t\"a\": 1,\r\n\t\"mcpServers\": {\r\n\t\t\"messaging\": {\r\n\t\t\t\"args\": \
         [\"--name\", \"x\"],\r\n\t\t\t\"command\": \"messaging-mcp\"\r\n\t\t}\r\n\t},\r\n}",
    );
    there_and_back(
        "{\"a\": [1]}",
        "{\"a\": [1], \"mcpServers\": {\"messaging\":{\"args\":[\"--name\",\"x\"],\"command\":\"messaging-mcp\"}}}",
    );
}

#[test]
fn an_empty_file_becomes_one() {
    let made = set("", &AT, &json!(1)).unwrap();
    assert_eq!(made, "{\n  \"mcpServers\": {\n    \"messaging\": 1\n  }\n}\n");
    let made = set("// mine", &AT, &json!(1)).unwrap();
    assert!(made.starts_with("// mine\n{\n"), "{made}");
    let made = set("{ // mine\n}", &AT, &json!(1)).unwrap();
    assert_eq!(made, "{ // mine\n  \"mcpServers\": {\n    \"messaging\": 1\n  }\n}");
}

#[test]
fn comments_outlive_what_stood_beside_them() {
    let text = "{\n  // one\n  \"a\": 1, // of a\n  // two\n  \"messaging\": 2 /* of it */ // more\n  // three\n}";
    let left = remove(text, &["messaging"]).unwrap();
    for comment in ["// one", "// of a", "// two", "/* of it */", "// more", "// three"] {
        assert!(left.contains(comment), "{left}");
    }
    assert_eq!(get(&left, &[]).unwrap().unwrap(), json!({"a": 1}));
    let left = remove("{\"messaging\": 1 // c\n, \"b\": 2}", &["messaging"]).unwrap();
    assert!(left.contains("// c\n"), "{left}");
}

#[test]
fn a_list_gains_and_loses_one_item() {
    let text = "{\"hooks\": {\"Stop\": [{\"x\": 1}]}}";
    let at = ["hooks", "Stop"];
    let more = push(text, &at, &json!({"y": 2})).unwrap();
    assert_eq!(more, "{\"hooks\": {\"Stop\": [{\"x\": 1}, {\"y\":2}]}}");
    assert_eq!(remove_item(&more, &at, 1).unwrap(), text);
    assert_eq!(remove_item(text, &at, 0).unwrap(), "{}");
    let made = push("{}", &at, &json!(1)).unwrap();
    assert_eq!(remove_item(&made, &at, 0).unwrap(), "{}");
    assert_eq!(push("{\"hooks\": 1}", &at, &json!(1)), Err(Refused::Kind("hooks.Stop".into())));
}

#[test]
fn what_is_no_json_or_in_the_way_is_refused() {
    assert_eq!(set("{\n  \"a\": 1,,\n}", &AT, &json!(1)), Err(Refused::Malformed(2, 10)));
    assert_eq!(set("[]", &AT, &json!(1)), Err(Refused::Kind(String::new())));
    assert_eq!(
        set("{\"mcpServers\": []}", &AT, &json!(1)),
        Err(Refused::Kind("mcpServers".into()))
    );
    let twice = "{\"mcpServers\": {}, \"mcpServers\": {}}";
    assert_eq!(set(twice, &AT, &json!(1)), Err(Refused::Twice("mcpServers".into())));
    assert_eq!(remove("{\"mcpServers\": {}}", &AT).unwrap(), "{\"mcpServers\": {}}");
}

/// White space and comments as people write them.
fn trivia() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => Just(String::new()),
        3 => Just(" ".to_owned()),
        3 => Just("\n  ".to_owned()),
        1 => Just("\r\n\t".to_owned()),
        1 => Just(" // a \"note\", {\n".to_owned()),
        1 => Just("/* , } */".to_owned()),
    ]
}

fn document() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("1".to_owned()),
        Just("-2.5e3".to_owned()),
        Just("null".to_owned()),
        Just("\"a, \\\" b // c\"".to_owned()),
        Just("{}".to_owned()),
        Just("[ ]".to_owned()),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let item = (trivia(), inner, trivia());
        let items = prop::collection::vec(item, 0..4);
        (any::<bool>(), items, trivia(), any::<bool>()).prop_map(
            |(object, items, end, trailing)| {
                let keys = ["a", "mcpServers", "messaging", "hooks"];
                let some = !items.is_empty();
                let items =
                    items.into_iter().zip(keys).map(|((before, value, after), key)| match object {
                        true => format!("{before}\"{key}\"{after}:{value}{after}"),
                        false => format!("{before}{value}{after}"),
                    });
                let mut inside = items.collect::<Vec<_>>().join(",");
                if some && trailing {
                    inside.push(',');
                }
                if object { format!("{{{inside}{end}}}") } else { format!("[{inside}{end}]") }
            },
        )
    })
}

/// Every comment of a text, and every character that is not white space or a comma, in order.
fn solid(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace() && *c != ',').collect()
}

proptest! {
    #[test]
    fn nothing_outside_of_the_edit_is_lost(top in document(), before in trivia(), after in trivia()) {
        let text = format!("{before}{top}{after}");
        let Some(value) = get(&text, &[]).unwrap() else { return Ok(()) };
        let Ok(made) = set(&text, &AT, &server()) else {
            // Only something of another kind can be in the way.
            let servers = value.get("mcpServers");
            prop_assert!(!value.is_object() || servers.is_some_and(|at| !at.is_object()));
            return Ok(());
        };
        // The value is what it was, and what was set.
        let mut wanted = value.clone();
        wanted["mcpServers"]["messaging"] = server();
        prop_assert_eq!(get(&made, &[]).unwrap().unwrap(), wanted);
        prop_assert_eq!(&set(&made, &AT, &server()).unwrap(), &made);
        if value.pointer("/mcpServers/messaging").is_none() {
            // What was there stands around what was added, byte for byte, but for one comma.
            let prefix = text.bytes().zip(made.bytes()).take_while(|(a, b)| a == b).count();
            let rest = &text.as_bytes()[prefix..];
            prop_assert!(
                is_subsequence(rest, &made.as_bytes()[prefix..])
                    || is_subsequence(solid(&text).as_bytes(), solid(&made).as_bytes())
            );
            let undone = remove(&made, &AT).unwrap();
            // Only what held nothing may have gone with it.
            let empty = value.get("mcpServers").is_some_and(|at| at == &json!({}));
            if !empty {
                prop_assert_eq!(get(&undone, &[]).unwrap().unwrap(), value);
                prop_assert_eq!(solid(&undone), solid(&text));
            }
        }
    }

    #[test]
    fn removing_keeps_every_comment_and_every_other_value(top in document()) {
        let Some(Value::Object(members)) = get(&top, &[]).unwrap() else { return Ok(()) };
        for key in members.keys() {
            let left = remove(&top, &[key.as_str()]).unwrap();
            let mut wanted = members.clone();
            wanted.remove(key);
            prop_assert_eq!(get(&left, &[]).unwrap().unwrap(), Value::Object(wanted));
            prop_assert!(is_subsequence(left.as_bytes(), top.as_bytes()));
        }
    }

    #[test]
    fn no_text_at_all_breaks_the_reader(text in "[\\[\\]{}\",:/*a1 \\\\\n]{0,40}") {
        let _ = set(&text, &AT, &json!(1));
        let _ = remove(&text, &AT);
        let _ = push(&text, &AT, &json!(1));
    }
}

fn is_subsequence(part: &[u8], whole: &[u8]) -> bool {
    let mut whole = whole.iter();
    part.iter().all(|b| whole.any(|w| w == b))
}

//! What is found, whatever it is written in, and that a query is never a command.
//! Spec: §8.2 `search`, D3.20

use serde_json::{Value, json};

use super::{ALICE, BOB, Bench, CAROL, CONN, arrives, bench, found, line, say};

fn find(bench: &mut Bench, query: &str) -> Vec<String> {
    let hits = bench.call(ALICE, CONN, "search", json!({"query": query, "limit": 100})).unwrap();
    let hits = hits["hits"].as_array().unwrap().iter();
    hits.map(|hit| hit["text"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn every_word_must_occur_somewhere_newest_first() {
    let mut bench = bench();
    found(&mut bench, ALICE, "ops", &["bob"]);
    arrives(&mut bench, BOB, ALICE, None, line(1, "the deployment failed"));
    arrives(&mut bench, CAROL, ALICE, None, line(2, "failed: redeployment of ops"));
    say(&mut bench, ALICE, "channel:ops", "deployment works").unwrap();
    assert_eq!(
        find(&mut bench, "deployment"),
        ["deployment works", "failed: redeployment of ops", "the deployment failed"]
    );
    assert_eq!(find(&mut bench, " FAILED  ployment\t").len(), 2);
    assert_eq!(
        find(&mut bench, "failed of"),
        ["failed: redeployment of ops"],
        "short words count too"
    );
    assert_eq!(find(&mut bench, "failed xy"), Vec::<String>::new());
    assert_eq!(find(&mut bench, "   "), Vec::<String>::new());
    let hits =
        bench.call(ALICE, CONN, "search", json!({"query": "deployment", "limit": 2})).unwrap();
    assert_eq!(
        (&hits["more"], &hits["hits"][0]["conversation"]),
        (&json!(true), &json!("channel:ops"))
    );
    let hits =
        bench.call(ALICE, CONN, "search", json!({"query": "deployment", "limit": 3})).unwrap();
    assert_eq!(hits["more"], false);
    for (room, count) in [("dm:bob", 1), ("dm:carol", 1), ("channel:ops", 1), ("dm:alice", 0)] {
        let params = json!({"query": "deployment", "conversation": room});
        let hits = bench.call(ALICE, CONN, "search", params).unwrap();
        assert_eq!(hits["hits"].as_array().unwrap().len(), count, "{room}");
    }
}

#[test]
fn whatever_a_line_is_written_in_is_found_by_a_piece_of_it() {
    let mut bench = bench();
    let lines = [
        ("state-of-the-art", "of-the"),
        ("she said \"no\"", "\"no\""),
        ("it's 100% done", "100%"),
        ("rocket 🚀👍🏽 launch", "🚀👍🏽"),
        ("会議は明日です", "明日"),
        ("会議は今日です", "会議は今"),
        ("שלום עולם", "עול"),
        ("مرحبا بالعالم", "بالعا"),
        ("Ｆｕｌｌｗｉｄｔｈ ﬁle", "fullwidth file"),
        ("ÄÖÜ straße", "äöü STRASSE".strip_suffix("SSE").unwrap_or("")),
        ("café", "cafe\u{301}"),
        ("ΟΔΟΣ", "οδος"),
        ("a\u{0}b null", "null"),
        ("under_score and %percent%", "_score %per"),
    ];
    for (n, (text, _)) in lines.iter().enumerate() {
        arrives(&mut bench, BOB, ALICE, None, line(n as u64, text));
        bench.advance(1_000);
    }
    for (text, query) in lines {
        assert_eq!(find(&mut bench, query), [text], "{query}");
    }
}

#[test]
fn a_query_is_never_a_command() {
    let mut bench = bench();
    arrives(&mut bench, BOB, ALICE, None, line(1, "alpha beta"));
    for query in [
        "alpha OR gamma",
        "alpha NOT beta",
        "NEAR(alpha beta)",
        "alp*",
        "fold:alpha",
        "\"alpha",
        "alpha\"",
        "-alpha",
        "^alpha",
        "(alpha",
        "alpha; DROP TABLE lines",
        "{fold}: alpha",
        "alpha AND",
        "'' OR 1=1 --",
        "\u{0}\u{0}\u{0}",
        "al_ha",
        "alph%",
    ] {
        assert_eq!(find(&mut bench, query), Vec::<String>::new(), "{query}");
    }
    assert_eq!(find(&mut bench, "alpha and"), Vec::<String>::new());
    assert_eq!(find(&mut bench, "alpha"), ["alpha beta"]);
}

#[test]
fn agents_search_the_persons_rooms_and_nobodys_mail() {
    let mut bench = bench();
    let api = bench.session(ALICE, "api", json!({}));
    bench.session(BOB, "web", json!({}));
    bench.advance(3_000);
    bench.send(&api, "bob/web@desk", "findme in mail");
    arrives(&mut bench, BOB, ALICE, None, line(1, "findme in a line"));
    let hits = bench.call(ALICE, api.conn, "search", json!({"query": "findme"})).unwrap();
    let texts: Vec<&Value> =
        hits["hits"].as_array().unwrap().iter().map(|hit| &hit["text"]).collect();
    assert_eq!(texts, ["findme in a line"]);
}

#[test]
fn a_large_room_is_searched_like_a_small_one() {
    let mut bench = bench();
    let store = bench.kill(ALICE);
    let store = super::super::bench::write(store, |tx| {
        for n in 0..5_100_u64 {
            super::filed(tx, 9_000 + n, &format!("line number {n}"))?;
        }
        Ok(())
    });
    bench.start(ALICE, store);
    bench.settle();
    bench.admin(ALICE);
    for room in [json!("dm:bob"), Value::Null] {
        let mut params = json!({"query": "number 17", "limit": 100});
        if !room.is_null() {
            params["conversation"] = room;
        }
        let hits = bench.call(ALICE, CONN, "search", params).unwrap();
        assert_eq!(hits["hits"].as_array().unwrap().len(), 100);
        assert_eq!(hits["hits"][0]["text"], "line number 5017");
    }
    assert_eq!(find(&mut bench, "5099"), ["line number 5099"]);
    // Terms of one and two characters, in the newest lines, far behind them, and at the end of a text.
    for (query, count, first) in [
        ("17", 100, "line number 5017"),
        ("r 7", 100, "line number 5097"),
        ("日", 0, ""),
        ("明日", 0, ""),
    ] {
        let found = find(&mut bench, query);
        assert_eq!(
            (found.len(), found.first().map_or("", String::as_str)),
            (count, first),
            "{query}"
        );
    }
    let store = bench.kill(ALICE);
    let store = super::super::bench::write(store, |tx| {
        for n in 0..3_000_u64 {
            let text = match n {
                0 => "会議は明日",
                1 => "q",
                2 => "xq",
                _ => "line",
            };
            super::filed(tx, 20_000 + n, text)?;
        }
        Ok(())
    });
    bench.start(ALICE, store);
    bench.settle();
    bench.admin(ALICE);
    assert_eq!(find(&mut bench, "明日"), ["会議は明日"]);
    assert_eq!(find(&mut bench, "日"), ["会議は明日"]);
    assert_eq!(find(&mut bench, "q"), ["xq", "q"]);
    assert_eq!(find(&mut bench, "xq"), ["xq"]);
    assert_eq!(find(&mut bench, "xz"), Vec::<String>::new());
}

#[test]
fn one_call_looks_at_so_much_and_says_that_there_is_more() {
    use crate::store::lines::{Looks, Terms, find};
    let store = messaging_store::Store::memory(&crate::store::LAYOUT, &[]).unwrap();
    let store = super::super::bench::write(store, |tx| {
        super::filed(tx, 0, "needle")?;
        for n in 1..1_000_u32 {
            // Either letter begins more trigrams than the index is asked for.
            let c = char::from_u32(0x4e00 + n).unwrap();
            super::filed(tx, u64::from(n), &format!("{}{c}{c} abc", ['x', 'y'][n as usize % 2]))?;
        }
        Ok(())
    });
    let bob = "dm:bob".parse().unwrap();
    let asked = |query: &str, room: bool, looks: Looks| {
        let terms = Terms::of(query).unwrap();
        let (found, more) = find(&store.view(), &terms, room.then_some(&bob), 5, looks).unwrap();
        (found.len(), more)
    };
    let lines = |lines| Looks { lines, bytes: usize::MAX };
    let bytes = |bytes| Looks { lines: u32::MAX, bytes };
    for room in [true, false] {
        for (query, few, all) in [
            ("x y", (0, true), (0, false)),
            ("abc q", (0, true), (0, false)),
            ("zz", (0, false), (0, false)),
            ("needle", (1, false), (1, false)),
            ("ne", (1, false), (1, false)),
            ("x", (5, false), (5, false)),
        ] {
            for looks in [lines(50), bytes(500)] {
                assert_eq!(asked(query, room, looks), few, "{query} {room} {looks:?}");
            }
            assert_eq!(asked(query, room, Looks::ONE_CALL), all, "{query} {room}");
        }
    }
}

#[test]
fn a_store_with_its_index_is_sound_as_it_stands() {
    use crate::store::LAYOUT;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("messaging.db");
    let store = messaging_store::Store::open(&path, &LAYOUT, &[]).unwrap();
    let bob = "dm:bob".parse().unwrap();
    drop(super::super::bench::write(store, move |tx| {
        super::filed(tx, 1, "some text")?;
        super::filed(tx, 2, "more text")?;
        crate::store::lines::forget_room(tx, &bob, 2)?;
        super::filed(tx, 3, "the last")
    }));
    assert!(messaging_store::Store::is_sound(&path, &LAYOUT).unwrap());
}

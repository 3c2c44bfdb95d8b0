//! The causal budget: agents that set each other off come to an end, and nobody else is refused.
//! Spec: §8.3 "Loop guard"

use serde_json::{Value, json};

use super::bench::{Bench, CONN, Session};

const THREE: [(&str, &str); 3] = [("alice", "laptop"), ("bob", "desk"), ("carol", "pc")];
const FOUR: [(&str, &str); 4] =
    [("alice", "laptop"), ("bob", "desk"), ("carol", "pc"), ("dan", "mini")];

/// What an agent says of the item that it answers.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Names {
    Nothing,
    TheItem,
    TheItemInAContextOfItsOwn,
    TheContextOnly,
}

const ALL: [Names; 4] =
    [Names::Nothing, Names::TheItem, Names::TheItemInAContextOfItsOwn, Names::TheContextOnly];

/// Daemons whose limit is `limit`, in a settled team.
fn bench(names: &[(&str, &str)], limit: u64) -> Bench {
    let mut bench = Bench::connected(names);
    for at in 0..names.len() {
        bench.configure(at, |config| config.causal_limit = Some(limit));
    }
    bench
}

fn send(bench: &mut Bench, from: &Session, to: &str, more: Value) -> Result<String, String> {
    let mut params = json!({"to": to, "parts": [{"text": "go on"}]});
    for (name, value) in more.as_object().unwrap() {
        params[name] = value.clone();
    }
    let sent = bench.ask(from, "msg.send", params)?;
    Ok(sent["results"][0]["envelopeId"].as_str().unwrap().to_owned())
}

/// The newest item that a session has not read; it reads all of them.
fn newest(bench: &mut Bench, session: &Session) -> Option<Value> {
    let page = bench.ask(session, "inbox.list", json!({"unreadOnly": true, "limit": 100})).unwrap();
    let items = page["items"].as_array().unwrap().clone();
    if !items.is_empty() {
        let ids: Vec<&Value> = items.iter().map(|item| &item["id"]).collect();
        bench.ask(session, "inbox.ack", json!({"ids": ids, "stage": "read"})).unwrap();
    }
    items.into_iter().next()
}

/// Lets agents answer, each to whom its route says, until none has anything to answer or may. Gives how many messages each
/// sent.
fn run(
    bench: &mut Bench,
    agents: &[Session],
    names: Names,
    route: &dyn Fn(usize, &Value) -> Vec<String>,
) -> Vec<u64> {
    let mut sent = vec![0; agents.len()];
    bench.advance(1_000);
    for round in 0..3_000_u32 {
        let mut moved = false;
        for (n, agent) in agents.iter().enumerate() {
            let Some(item) = newest(bench, agent) else { continue };
            for to in route(n, &item) {
                let context = format!("{:0>26}", 10_000 + round * 10 + u32::try_from(n).unwrap());
                let more = match names {
                    Names::Nothing => json!({}),
                    Names::TheItem => json!({"replyTo": item["id"]}),
                    Names::TheItemInAContextOfItsOwn => {
                        json!({"replyTo": item["id"], "contextId": context})
                    }
                    Names::TheContextOnly => json!({"contextId": item["contextId"]}),
                };
                match send(bench, agent, &to, more) {
                    Ok(_) => sent[n] += 1,
                    Err(code) => assert_eq!(code, "loop_guard"),
                }
                moved = true;
            }
        }
        if !moved {
            return sent;
        }
        // Slowly enough for the guard of pairs, which counts ten minutes.
        bench.advance(21_000);
    }
    panic!("they never came to an end: {sent:?}");
}

/// That no other guard ended it.
#[track_caller]
fn nothing_rejected(bench: &Bench) {
    for at in 0..bench.daemons.len() {
        let rejected = "SELECT count(*) FROM sent WHERE stage IN ('rejected', 'expired')";
        assert_eq!(bench.count(at, rejected), 0);
    }
}

#[test]
fn a_ring_of_three_comes_to_an_end_whatever_its_messages_name() {
    for names in ALL {
        let mut bench = bench(&THREE, 12);
        let ring: Vec<Session> = (0..3).map(|at| bench.session(at, "bot", json!({}))).collect();
        let next = ["bob/bot", "carol/bot", "alice/bot"];
        bench.advance(2_000);
        send(&mut bench, &ring[0], next[0], json!({})).unwrap();
        let sent = run(&mut bench, &ring, names, &|n, _| vec![next[n].to_owned()]);
        assert!(sent.iter().all(|count| *count <= 12), "{names:?}: {sent:?}");
        assert!(
            sent.iter().sum::<u64>() >= 30,
            "{names:?}: it was let go on for a while: {sent:?}"
        );
        nothing_rejected(&bench);
    }
}

#[test]
fn by_default_a_ring_ends_after_two_hundred_messages_of_a_machine() {
    let mut bench = Bench::connected(&THREE);
    let ring: Vec<Session> = (0..3).map(|at| bench.session(at, "bot", json!({}))).collect();
    let next = ["bob/bot", "carol/bot", "alice/bot"];
    bench.advance(2_000);
    send(&mut bench, &ring[0], next[0], json!({})).unwrap();
    let sent = run(&mut bench, &ring, Names::Nothing, &|n, _| vec![next[n].to_owned()]);
    assert_eq!(sent[0] + 1, 200);
    assert!(sent.iter().all(|count| (199..=200).contains(count)), "{sent:?}");
}

#[test]
fn a_ring_within_one_machine_has_one_budget() {
    for names in ALL {
        let mut bench = bench(&THREE[..1], 12);
        let ring: Vec<Session> =
            ["a", "b", "c"].iter().map(|name| bench.session(0, name, json!({}))).collect();
        let next = ["alice/b", "alice/c", "alice/a"];
        bench.advance(2_000);
        send(&mut bench, &ring[0], next[0], json!({})).unwrap();
        let sent = run(&mut bench, &ring, names, &|n, _| vec![next[n].to_owned()]);
        assert_eq!(sent.iter().sum::<u64>() + 1, 12, "{names:?}");
    }
}

#[test]
fn a_room_of_four_where_everybody_answers_everybody_comes_to_an_end() {
    for names in ALL {
        let mut bench = bench(&FOUR, 12);
        let room: Vec<Session> = (0..4).map(|at| bench.session(at, "bot", json!({}))).collect();
        let everyone = ["alice/bot", "bob/bot", "carol/bot", "dan/bot"];
        let others = |n: usize| -> Vec<String> {
            let others = everyone.iter().enumerate().filter(|(at, _)| *at != n);
            others.map(|(_, to)| (*to).to_owned()).collect()
        };
        bench.advance(2_000);
        for to in others(0) {
            send(&mut bench, &room[0], &to, json!({})).unwrap();
        }
        let sent = run(&mut bench, &room, names, &|n, _| others(n));
        // Its own doing, and as much again in answers to each of the others.
        assert!(sent.iter().all(|count| *count <= 4 * 12), "{names:?}: {sent:?}");
        nothing_rejected(&bench);
    }
}

#[test]
fn names_that_take_turns_do_not_help() {
    for names in ALL {
        let mut bench = bench(&THREE[..2], 12);
        let one = bench.session(0, "one", json!({}));
        let two = bench.session(0, "two", json!({}));
        let bot = bench.session(1, "bot", json!({}));
        bench.advance(2_000);
        send(&mut bench, &one, "bob/bot", json!({})).unwrap();
        bench.advance(1_000);
        let agents = [one, two, bot];
        let sent = run(&mut bench, &agents, names, &|n, item| {
            let other = if item["from"]["agent"] == "one" { "alice/two" } else { "alice/one" };
            vec![if n == 2 { other.to_owned() } else { "bob/bot".to_owned() }]
        });
        assert!(sent.iter().all(|count| *count <= 12), "{names:?}: {sent:?}");
        nothing_rejected(&bench);
    }
}

/// Two agents that answered each other until one was refused.
fn stuck(limit: u64) -> (Bench, Vec<Session>, String) {
    let mut bench = bench(&THREE[..2], limit);
    let pair = vec![bench.session(0, "api", json!({})), bench.session(1, "web", json!({}))];
    bench.advance(2_000);
    let root = send(&mut bench, &pair[0], "bob/web", json!({})).unwrap();
    bench.advance(1_000);
    let next = ["bob/web", "alice/api"];
    let sent = run(&mut bench, &pair, Names::TheItem, &|n, _| vec![next[n].to_owned()]);
    assert!(sent[0] + 1 == limit || sent[1] == limit, "{sent:?}");
    (bench, pair, root)
}

#[test]
fn the_refusal_names_the_root_and_no_text_and_stores_nothing() {
    let (mut bench, pair, root) = stuck(5);
    let before = bench.count(0, "SELECT count(*) FROM sent");
    // Whichever of the two was stopped first, one message more stops the other.
    let params = json!({"key": pair[0].key, "to": "bob/web", "parts": [{"text": "once more"}],
        "contextId": root_context(&bench)});
    let id = bench.begin(0, pair[0].conn, "msg.send", params);
    bench.settle();
    let error = bench.error(0, &id);
    assert_eq!(error["data"]["code"], "loop_guard");
    let words = error["message"].as_str().unwrap();
    assert!(
        words.contains(&root) && words.contains('5') && !words.contains("once more"),
        "{words}"
    );
    assert_eq!(bench.count(0, "SELECT count(*) FROM sent"), before);
    assert!(bench.daemons[0].log.iter().any(|event| event.name() == "loop.refused"));
}

/// The context in which the pair of [`stuck`] talks.
fn root_context(bench: &Bench) -> String {
    let running = bench.daemons[0].running.as_ref().unwrap();
    let sql = "SELECT context_id FROM sent ORDER BY ts LIMIT 1";
    running.view().row(sql, (), |row| row.get(0)).unwrap().unwrap()
}

#[test]
fn a_prompt_frees_the_session_that_it_is_for() {
    let (mut bench, pair, _) = stuck(5);
    let context = json!({"contextId": root_context(&bench)});
    assert_eq!(send(&mut bench, &pair[0], "bob/web", context.clone()).unwrap_err(), "loop_guard");
    bench.ask(&pair[0], "session.update", json!({"state": "busy"})).unwrap();
    for _ in 0..5 {
        send(&mut bench, &pair[0], "bob/web", context.clone()).unwrap();
    }
    assert_eq!(send(&mut bench, &pair[0], "bob/web", context).unwrap_err(), "loop_guard");
}

#[test]
fn a_persons_own_message_frees_the_agent_that_gets_it() {
    let (mut bench, pair, _) = stuck(5);
    let me = bench.session(0, "cli", json!({"agent": "cli"}));
    let context = json!({"contextId": root_context(&bench)});
    assert_eq!(send(&mut bench, &pair[0], "bob/web", context.clone()).unwrap_err(), "loop_guard");
    // What the person writes is never refused, and counts for nobody.
    for _ in 0..20 {
        send(&mut bench, &me, "bob/web", json!({})).unwrap();
        bench.advance(1_000);
    }
    assert_eq!(send(&mut bench, &pair[0], "bob/web", context.clone()).unwrap_err(), "loop_guard");
    send(&mut bench, &me, "alice/api", json!({})).unwrap();
    send(&mut bench, &pair[0], "bob/web", context.clone()).unwrap();
    // The other machine heard from a person too: its agent may answer.
    let item = newest(&mut bench, &pair[1]).unwrap();
    send(&mut bench, &pair[1], "alice/api", json!({"replyTo": item["id"]})).unwrap();
}

#[test]
fn a_line_to_oneself_frees_ones_agents_and_a_line_to_others_does_not() {
    let (mut bench, pair, _) = stuck(5);
    bench.admin(0);
    let context = json!({"contextId": root_context(&bench)});
    for (room, outcome) in [("dm:bob", Err("loop_guard".to_owned())), ("dm:alice", Ok(()))] {
        let line = json!({"conversation": room, "text": "go on"});
        bench.call(0, CONN, "person.send", line).unwrap();
        let sent = send(&mut bench, &pair[0], "bob/web", context.clone());
        assert_eq!(sent.map(drop), outcome, "{room}");
    }
}

#[test]
fn a_long_lived_pair_is_not_refused_as_long_as_prompts_come() {
    let mut bench = bench(&THREE[..2], 6);
    let pair = [bench.session(0, "api", json!({})), bench.session(1, "web", json!({}))];
    let mut last = json!({});
    for n in 0..60 {
        let at = n % 2;
        if n % 10 < 2 {
            bench.ask(&pair[at], "session.update", json!({"doing": format!("step {n}")})).unwrap();
        }
        let id = send(&mut bench, &pair[at], ["bob/web", "alice/api"][at], last).unwrap();
        bench.advance(60_000);
        newest(&mut bench, &pair[1 - at]).unwrap();
        last = json!({"replyTo": id});
    }
    nothing_rejected(&bench);
}

#[test]
fn an_agent_that_only_answers_whoever_asks_serves_any_number() {
    let mut bench = bench(&THREE[..2], 3);
    let server = bench.session(1, "bot", json!({}));
    for n in 0..12 {
        let client = bench.session(0, &format!("c{n}"), json!({}));
        send(&mut bench, &client, "bob/bot", json!({})).unwrap();
        bench.advance(60_000);
        let item = newest(&mut bench, &server).unwrap();
        let to = item["from"]["address"].as_str().unwrap().to_owned();
        send(&mut bench, &server, &to, json!({"replyTo": item["id"]})).unwrap();
    }
}

#[test]
fn a_restart_keeps_the_count_and_a_new_client_begins_anew() {
    let mut bench = bench(&THREE[..2], 4);
    let api = bench.session(0, "api", json!({}));
    bench.session(1, "web", json!({}));
    bench.advance(1_000);
    for _ in 0..3 {
        send(&mut bench, &api, "bob/web", json!({})).unwrap();
    }
    let store = bench.kill(0);
    bench.start(0, store);
    bench.advance(2_000);
    let api = bench.resume(&api);
    send(&mut bench, &api, "bob/web", json!({})).unwrap();
    assert_eq!(send(&mut bench, &api, "bob/web", json!({})).unwrap_err(), "loop_guard");
    bench.leave(&api);
    let next = bench.session(0, "api", json!({}));
    send(&mut bench, &next, "bob/web", json!({})).unwrap();
}

#[test]
fn reports_on_a_task_are_no_messages_and_its_further_messages_are() {
    let mut bench = bench(&THREE[..2], 4);
    let asks = bench.session(0, "api", json!({}));
    let works = bench.session(1, "web", json!({}));
    bench.advance(1_000);
    let request = json!({"to": "bob/web", "kind": "task", "parts": [{"text": "find it"}]});
    let sent = bench.ask(&asks, "msg.send", request).unwrap();
    let task = sent["results"][0]["taskId"].clone();
    bench.advance(1_000);
    bench
        .ask(&works, "task.update", json!({"taskId": task, "state": "TASK_STATE_WORKING"}))
        .unwrap();
    for n in 0..12 {
        let piece = json!({"artifactId": "log", "parts": [{"text": format!("{n}")}]});
        let update = json!({"taskId": task, "artifact": piece, "append": n > 0});
        bench.ask(&works, "task.update", update).unwrap();
        bench.advance(1_000);
    }
    send(&mut bench, &works, "alice/api", json!({})).unwrap();
    for _ in 0..3 {
        send(&mut bench, &asks, "bob/web", json!({"taskId": task})).unwrap();
    }
    let more = send(&mut bench, &asks, "bob/web", json!({"taskId": task}));
    assert_eq!(more.unwrap_err(), "loop_guard");
    bench.ask(&asks, "task.cancel", json!({"taskId": task})).unwrap();
}

#[test]
fn work_that_is_passed_on_goes_back_to_whoever_asked_first() {
    let mut bench = bench(&THREE, 4);
    let asks = bench.session(0, "api", json!({}));
    let works = bench.session(1, "web", json!({}));
    bench.session(2, "db", json!({}));
    bench.advance(1_000);
    let request = |to: &str| json!({"to": to, "kind": "task", "parts": [{"text": "find it"}]});
    let sent = bench.ask(&asks, "msg.send", request("bob/web")).unwrap();
    let (task, root) =
        (sent["results"][0]["taskId"].clone(), sent["results"][0]["envelopeId"].clone());
    bench.advance(1_000);
    for _ in 0..4 {
        let mut part = request("carol/db");
        part["onBehalfOf"] = json!({"taskId": task});
        bench.ask(&works, "msg.send", part).unwrap();
    }
    let mut part = request("carol/db");
    part["onBehalfOf"] = json!({"taskId": task});
    part["key"] = json!(works.key);
    let id = bench.begin(1, works.conn, "msg.send", part);
    bench.settle();
    let error = bench.error(1, &id);
    assert_eq!(error["data"]["code"], "loop_guard");
    assert!(error["message"].as_str().unwrap().contains(root.as_str().unwrap()));
    // Other work of the same agent is not touched.
    send(&mut bench, &works, "carol/db", json!({})).unwrap();
}

#[test]
fn no_limit_is_no_limit_and_what_is_old_is_forgotten() {
    let mut bench = bench(&THREE[..2], 2);
    bench.configure(0, |config| config.causal_limit = None);
    let api = bench.session(0, "api", json!({}));
    bench.session(1, "web", json!({}));
    bench.advance(1_000);
    for _ in 0..10 {
        send(&mut bench, &api, "bob/web", json!({})).unwrap();
    }
    assert_eq!(bench.count(0, "SELECT count(*) FROM ancestry WHERE counts"), 10);
    bench.skip(31 * 86_400_000);
    bench.advance(1_000);
    assert_eq!(bench.count(0, "SELECT count(*) FROM ancestry"), 0);
}

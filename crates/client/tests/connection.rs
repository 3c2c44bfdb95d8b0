//! Connecting, calling and listening, against a scripted daemon.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::time::Duration;

use messaging_client::testing::{FakeDaemon, Step, private_home};
use messaging_client::{Client, ClientError, Place, Socket};
use messaging_core::code::Code;
use messaging_ipc::call;
use messaging_ipc::error::Refusal;
use messaging_ipc::event::Event;
use messaging_ipc::hello::Hello;
use messaging_ipc::params::Nothing;
use serde_json::{Value, json};

fn place(daemon: &FakeDaemon) -> Place {
    Place::home(daemon.home())
}

async fn connect(daemon: &FakeDaemon) -> Result<Client, ClientError> {
    Client::connect(&place(daemon), Socket::Admin).await.map(|(client, _)| client)
}

fn event(seq: u64) -> Event {
    serde_json::from_value(json!({
        "type": "conv", "conversation": "dm:bob", "person": "bob", "seq": seq, "change": "line"
    }))
    .unwrap()
}

fn health() -> Value {
    json!({"state": "running", "relay": "offline", "directory": "ok", "alarm": null, "busy": false, "version": "0",
        "storeSchema": 1, "later": {"kept": "ignored"}})
}

#[tokio::test]
async fn a_call_is_typed_both_ways() {
    let daemon = FakeDaemon::start(|_, _| Step::Result(health()));
    let client = connect(&daemon).await.unwrap();
    let health = client.call::<call::DaemonHealth>(&Nothing {}).await.unwrap();
    assert_eq!(health.alarm.0, None);
    assert_eq!(daemon.seen(), [("daemon.health".to_owned(), json!({}))]);
}

#[tokio::test]
async fn a_refusal_keeps_its_code_and_data() {
    let daemon = FakeDaemon::start(|_, _| Step::Refuse(Refusal::rate_limited(4_000)));
    let client = connect(&daemon).await.unwrap();
    let error = client.call::<call::DaemonHealth>(&Nothing {}).await.unwrap_err();
    assert_eq!(error.to_string(), "rate_limited: too many; try again in 4 s");
}

#[tokio::test]
async fn calls_side_by_side_get_their_own_answers() {
    let daemon = FakeDaemon::start(|method, _| Step::Result(json!(method)));
    let client = connect(&daemon).await.unwrap();
    let calls = (0..50).map(|n| {
        let client = client.clone();
        tokio::spawn(async move {
            let name = format!("m{n}");
            assert_eq!(client.call_raw(&name, None, None).await, Ok(json!(name)));
        })
    });
    for call in calls.collect::<Vec<_>>() {
        call.await.unwrap();
    }
}

#[tokio::test]
async fn events_come_before_the_answer_that_follows_them() {
    let daemon =
        FakeDaemon::start(|_, _| Step::Events(vec![event(1), event(2)], json!({"ok": true})));
    let (client, mut events) = Client::connect(&place(&daemon), Socket::Admin).await.unwrap();
    client.call_raw("events.subscribe", None, None).await.unwrap();
    assert_eq!(events.next().await, Some(event(1)));
    assert_eq!(events.next().await, Some(event(2)));
    drop(client);
    assert_eq!(events.next().await, None);
}

#[tokio::test]
async fn events_that_nobody_reads_end_the_connection_rather_than_the_memory() {
    let many: Vec<Event> = (0..2_000).map(event).collect();
    let daemon = FakeDaemon::start(move |_, _| Step::Events(many.clone(), json!({})));
    let (client, _events) = Client::connect(&place(&daemon), Socket::Admin).await.unwrap();
    let error = client.call_raw("x", None, None).await.unwrap_err();
    assert_eq!(error.code(), Code::DaemonUnavailable);
    let error = client.call_raw("x", None, None).await.unwrap_err();
    assert_eq!(error.code(), Code::DaemonUnavailable);
}

#[tokio::test]
async fn another_release_is_a_mismatch_that_names_both() {
    let hello = Hello { version: "9.9.9".into(), ..Hello::new(1, None) };
    let daemon = FakeDaemon::greeting(hello.line(), |_, _| Step::Silence);
    let error = connect(&daemon).await.unwrap_err();
    assert_eq!(error.code(), Code::DaemonMismatch);
    assert!(
        error.message().contains("9.9.9") && error.message().contains(env!("CARGO_PKG_VERSION"))
    );
    let found = messaging_client::hello(&place(&daemon), Socket::Admin).await.unwrap();
    assert_eq!(found.version, "9.9.9");
    assert_eq!(daemon.seen(), []);
}

#[tokio::test]
async fn another_first_line_is_a_mismatch() {
    for greeting in [&b"220 mail ready\r\n"[..], b"{}\n", &[b'x'; 5_000]] {
        let daemon = FakeDaemon::greeting(greeting.to_vec(), |_, _| Step::Silence);
        assert_eq!(connect(&daemon).await.unwrap_err().code(), Code::DaemonMismatch);
    }
}

#[tokio::test]
async fn a_connection_closed_before_the_hello_is_no_daemon() {
    let home = private_home();
    let listener =
        std::os::unix::net::UnixListener::bind(home.path().join("run/admin.sock")).unwrap();
    let closing = std::thread::spawn(move || drop(listener.accept()));
    let error = Client::connect(&Place::home(home.path()), Socket::Admin).await.unwrap_err();
    closing.join().unwrap();
    assert_eq!(error.code(), Code::DaemonUnavailable);
    // The listener is gone now, and its file stays: a refused connection is no daemon either.
    let error = Client::connect(&Place::home(home.path()), Socket::Admin).await.unwrap_err();
    assert_eq!(error.code(), Code::DaemonUnavailable);
}

#[tokio::test(start_paused = true)]
async fn silence_is_waited_for_three_seconds_and_no_longer() {
    let daemon = FakeDaemon::greeting(Vec::new(), |_, _| Step::Silence);
    let start = tokio::time::Instant::now();
    assert_eq!(connect(&daemon).await.unwrap_err().code(), Code::DaemonMismatch);
    assert_eq!(start.elapsed(), Duration::from_secs(3));
}

#[tokio::test]
async fn a_call_that_is_not_answered_ends_at_its_own_time() {
    let daemon = FakeDaemon::start(|method, _| match method {
        "slow" => Step::Silence,
        _ => Step::Result(json!(1)),
    });
    let client = connect(&daemon).await.unwrap();
    let hasty = client.clone().with_timeout(Duration::from_millis(20));
    assert_eq!(
        hasty.call_raw("slow", None, None).await.unwrap_err().code(),
        Code::DaemonUnavailable
    );
    // Giving up on one call spoils no other.
    assert_eq!(client.call_raw("quick", None, None).await, Ok(json!(1)));
}

#[tokio::test]
async fn nonsense_ends_the_connection_and_every_call_on_it() {
    for step in [Step::Raw(b"nonsense\n".to_vec()), Step::HangUp] {
        let daemon = FakeDaemon::start(move |method, _| match method {
            "bad" => step.clone(),
            _ => Step::Silence,
        });
        let client = connect(&daemon).await.unwrap();
        let waiting = tokio::spawn({
            let client = client.clone();
            async move { client.call_raw("waits", None, None).await }
        });
        while daemon.seen().is_empty() {
            tokio::task::yield_now().await;
        }
        assert_eq!(
            client.call_raw("bad", None, None).await.unwrap_err().code(),
            Code::DaemonUnavailable
        );
        assert_eq!(waiting.await.unwrap().unwrap_err().code(), Code::DaemonUnavailable);
    }
}

#[tokio::test]
async fn a_request_longer_than_a_line_is_not_sent() {
    let daemon = FakeDaemon::start(|_, _| Step::Result(json!(1)));
    let client = connect(&daemon).await.unwrap();
    let long = json!({"text": "x".repeat(4_194_304)});
    assert_eq!(client.call_raw("m", Some(long), None).await.unwrap_err().code(), Code::TooLarge);
    assert_eq!(client.call_raw("m", None, None).await, Ok(json!(1)));
    assert_eq!(daemon.seen().len(), 1);
}

#[tokio::test]
async fn an_answer_of_another_shape_is_unreadable() {
    let daemon = FakeDaemon::start(|_, _| Step::Result(json!({"state": "happy"})));
    let client = connect(&daemon).await.unwrap();
    assert_eq!(client.call::<call::DaemonHealth>(&Nothing {}).await, Err(ClientError::Unreadable));
}

#[tokio::test]
async fn a_daemon_that_takes_nothing_more_ends_every_call_at_once() {
    use std::io::Write as _;
    let home = private_home();
    let listener =
        std::os::unix::net::UnixListener::bind(home.path().join("run/admin.sock")).unwrap();
    // It says hello, closes its ear and keeps its mouth open.
    let deaf = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.shutdown(std::net::Shutdown::Read).unwrap();
        stream.write_all(&Hello::new(1, None).line()).unwrap();
        stream
    });
    let client = Client::connect(&Place::home(home.path()), Socket::Admin).await.unwrap().0;
    let error = client.call_raw("daemon.health", None, None).await.unwrap_err();
    assert_eq!(error.to_string(), "daemon_unavailable: the daemon closed the connection");
    let again = client.call_raw("daemon.health", None, None).await.unwrap_err();
    assert_eq!(again, error);
    drop(deaf.join());
}

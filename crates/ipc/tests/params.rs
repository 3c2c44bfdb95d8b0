//! Strict parameters, for every method of the table.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use messaging_core::json::Misshape;
use messaging_ipc::call::{self, Call};
use messaging_ipc::methods::Method;
use messaging_ipc::{for_each_method, params};
use serde_json::{Value, json};

const ULID: &str = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
const MACHINE: &str = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";

fn read<C: Call>(params: &Value) -> Result<Value, Misshape> {
    params::decode::<C::Params>(Some(params)).map(|read| serde_json::to_value(read).unwrap())
}

fn decode(method: Method, params: &Value) -> Result<Value, Misshape> {
    macro_rules! pick {
        (($method:ident, $params:ident) $($variant:ident $name:literal [$($tier:ident),+] $class:ident $key:ident
            $scope:ident $realm:ident $caller:ident $p:ty => $r:ty, $module:ident :: $handler:ident, $spec:literal;)*) => {
            match $method { $(Method::$variant => read::<call::$variant>($params),)* }
        };
    }
    for_each_method!(pick, method, params)
}

/// A call of every method that uses every parameter it has.
fn example(method: Method) -> Value {
    use Method::*;
    let key = "k".repeat(22);
    match method {
        SessionRegister => {
            json!({"key": key, "agent": "opencode", "name": "api", "tier": "push", "state": "busy",
            "repo": "r", "branch": "b", "doing": "d", "features": ["tasks"], "ticket": "t",
            "host": {"kind": "opencode", "location": "/src", "sessionID": "s 1", "pid": 7}})
        }
        SessionUpdate => {
            json!({"key": key, "state": "idle", "tier": "pull", "repo": null, "branch": "b", "doing": null})
        }
        SessionUnregister | EventsSubscribe => json!({"key": key}),
        DeviceBind => json!({"token": "t", "label": "desk", "kind": "jelly-host"}),
        MsgSend => {
            json!({"key": key, "to": "bob/api@laptop", "kind": "task", "contextId": "c", "taskId": ULID,
            "messageId": "m", "replyTo": ULID, "metadata": {"a": 1}, "extensions": ["e"], "referenceTaskIds": ["r"],
            "parts": [{"text": "x"}, {"raw": "AA==", "filename": "f", "mediaType": "m", "metadata": {}}],
            "onBehalfOf": {"taskId": ULID, "scope": ["repo:x"], "maxDepth": 2}, "wake": false,
            "idempotencyKey": "i", "request": {"contact": "a@b"}})
        }
        InboxList => {
            json!({"key": key, "unreadOnly": true, "limit": 1, "before": {"at": 1, "id": ULID}})
        }
        SentList => {
            json!({"key": key, "unanswered": true, "limit": 1, "before": {"at": 1, "id": ULID}})
        }
        MailSearch => {
            json!({"query": "q", "with": "bob/api", "since": 1, "cursor": "c", "limit": 100})
        }
        MailExport => json!({"with": "bob", "since": 1, "cursor": "c", "limit": 200}),
        InboxGet => json!({"key": key, "id": ULID, "message": true}),
        InboxAck => json!({"key": key, "ids": [ULID], "stage": "handed_to_agent"}),
        ItemRead => json!({"key": key, "id": ULID}),
        ConvRead => {
            json!({"key": key, "conversation": "dm:bob", "thread": ULID, "before": 4, "limit": 100})
        }
        Search => json!({"query": "q", "conversation": "channel:ops", "limit": 100}),
        TaskGet => json!({"key": key, "taskId": ULID, "role": "executor"}),
        TaskList => {
            json!({"key": key, "role": "requester", "state": ["TASK_STATE_WORKING"], "contextId": "c",
            "peer": "bob/api@laptop", "updatedAfter": 5, "limit": 3, "cursor": "c"})
        }
        TaskUpdate => {
            json!({"key": key, "taskId": ULID, "state": "TASK_STATE_COMPLETED", "message": [{"text": "x"}],
            "append": true, "lastChunk": false, "metadata": {},
            "artifact": {"artifactId": "a", "name": "n", "description": "d", "parts": [{"data": null}], "metadata": {},
                "extensions": []}})
        }
        TaskCancel => json!({"key": key, "taskId": ULID, "reason": "r"}),
        ConvList => json!({"limit": 200}),
        ConvMarkRead => json!({"conversation": "dm:bob", "upTo": 0}),
        ConvSubscribe => json!({"since": 0}),
        PersonSend => {
            json!({"conversation": "dm:bob", "text": "x", "thread": ULID, "clientId": "c"})
        }
        PeopleSearch => json!({"query": "bo", "limit": 25}),
        PeopleGet | CardGet => json!({"person": "bob"}),
        GrantList => json!({"subject": {"channel": "ops"}}),
        GrantSet | GrantSetPreview => {
            json!({"subject": {"person": "bob"}, "chat": "muted", "agentMail": "blocked",
            "ask": "request", "trustedUntil": 9, "trust": true, "discoverable": false})
        }
        RequestAnswer | RequestAnswerPreview => {
            json!({"id": ULID, "answer": "always", "all": true})
        }
        ContactRequest | ContactRequestPreview => {
            json!({"email": "a@b", "text": "x", "suggestion": ULID})
        }
        AgentsRead => {
            json!({"agent": "api", "conversation": "agent:bob/api", "before": {"at": 1, "id": ULID}, "limit": 1})
        }
        NoticeSubscribe => json!({"after": "m_1", "lines": true}),
        NoticeList => json!({"lines": true, "limit": 500}),
        NoticeAck => json!({"ids": ["m_1"]}),
        DeviceApprovePreview | DeviceApprove => json!({"link": "l", "sas": "123456"}),
        DeviceRemovePreview | DeviceRemove => {
            json!({"device": MACHINE, "reason": "lost", "token": "t"})
        }
        IdentityReplacePreview | IdentityReplace => json!({"token": "t", "label": "desk"}),
        DirectoryErasePreview | DirectoryErase => json!({"token": "t"}),
        ChannelCreate | ChannelInvite | ChannelRemove => json!({"name": "ops", "persons": ["bob"]}),
        ChannelLeave => json!({"name": "ops"}),
        PersonAttached => json!({"attached": true}),
        DaemonSnapshot => json!({"done": true}),
        WakeArm => json!({"url": "https://x", "ticket": "t", "agents": ["api"]}),
        DeviceLink => json!({"label": "desk", "kind": "server"}),
        DeviceLogin => {
            json!({"label": "desk", "kind": "other", "remove": {"device": MACHINE, "reason": "lost"}})
        }
        DeviceLoginStatus | TeamClaim => json!({"waitMs": 120_000}),
        TeamCreate => {
            json!({"relay": "ws://127.0.0.1:1/v1/connect", "team": "T", "person": "ada", "label": "desk"})
        }
        TeamJoin => json!({"ticket": "t", "label": "desk"}),
        TeamPair => {
            json!({"relay": "wss://x/v1/connect", "team": MACHINE, "person": "ada", "label": "desk"})
        }
        TeamAdd => json!({"machine": MACHINE, "enc": MACHINE, "person": "ada", "label": "desk"}),
        TeamInvite => json!({"person": "bob", "ttlMs": 60_000}),
        TeamRevoke => json!({"inviteId": ULID}),
        TeamRole => json!({"machine": MACHINE, "role": "admin"}),
        TeamRemove | TeamRekey => json!({"machine": MACHINE}),
        DeviceStatus | ContactsList | DaemonStatus | DaemonHealth | RequestList | AgentsList
        | DaemonStop | DaemonWoke | WakeDisarm | DeviceList | DeviceLoginCancel
        | IdentityRotateEnc | TeamPrepare | TeamPairCancel | TeamList => {
            json!({})
        }
    }
}

/// Every object inside a value that the table closes, as paths of member names and indices.
fn closed_objects(value: &Value, at: String, out: &mut Vec<String>) {
    // A2A objects are open.
    let open =
        ["/metadata", "/parts/0", "/parts/1", "/message/0"].iter().any(|end| at.ends_with(end));
    if open {
        return;
    }
    match value {
        Value::Object(members) => {
            out.push(at.clone());
            members
                .iter()
                .for_each(|(name, member)| closed_objects(member, format!("{at}/{name}"), out));
        }
        Value::Array(items) => {
            items
                .iter()
                .enumerate()
                .for_each(|(i, item)| closed_objects(item, format!("{at}/{i}"), out));
        }
        _ => {}
    }
}

#[test]
fn every_example_reads_and_prints_as_it_was() {
    for method in Method::ALL {
        let params = example(*method);
        let read =
            decode(*method, &params).unwrap_or_else(|fault| panic!("{method}: {}", fault.path));
        assert_eq!(read, params, "{method}");
    }
}

#[test]
fn a_member_nobody_declared_is_refused_at_every_depth() {
    for method in Method::ALL {
        let params = example(*method);
        let mut places = Vec::new();
        closed_objects(&params, String::new(), &mut places);
        for place in places {
            let mut params = params.clone();
            params
                .pointer_mut(&place)
                .unwrap()
                .as_object_mut()
                .unwrap()
                .insert("sEcReT".into(), json!(1));
            let fault = decode(*method, &params)
                .expect_err(&format!("{method} took an unknown member at {place:?}"));
            assert!(
                !fault.path.contains("sEcReT"),
                "{method}: the path must not quote the request"
            );
        }
    }
}

#[test]
fn null_is_never_an_absent_member_except_where_it_clears() {
    for method in Method::ALL {
        let example = example(*method);
        for name in example.as_object().unwrap().keys() {
            let clears = *method == Method::SessionUpdate
                && ["repo", "branch", "doing"].contains(&name.as_str());
            let mut params = example.clone();
            params[name] = Value::Null;
            let read = decode(*method, &params);
            assert_eq!(read.is_ok(), clears, "{method}.{name}");
            if let Err(fault) = read {
                assert_eq!(&fault.path, name, "{method}");
            }
        }
    }
}

#[test]
fn params_are_an_object_or_absent() {
    for method in Method::ALL {
        for bad in [json!([]), json!(null), json!("x"), json!(1)] {
            assert!(decode(*method, &bad).is_err(), "{method}: {bad}");
        }
    }
    assert!(params::decode::<params::Nothing>(None).is_ok());
    assert_eq!(params::decode::<params::KeyOnly>(None).unwrap_err().path, "key");
}

#[test]
fn limits_hold_at_their_bounds() {
    let parts = |n: usize| json!({"key": "k".repeat(22), "to": "bob/api", "parts": vec![json!({"text": ""}); n]});
    let text = |n: usize| json!({"query": "x".repeat(n)});
    for (method, params, fits) in [
        (Method::MsgSend, parts(0), false),
        (Method::MsgSend, parts(1), true),
        (Method::MsgSend, parts(100), true),
        (Method::MsgSend, parts(101), false),
        (Method::Search, text(0), false),
        (Method::Search, text(1), true),
        (Method::Search, text(256), true),
        (Method::Search, text(257), false),
        (Method::Search, json!({"query": "😀".repeat(128)}), true),
        (Method::Search, json!({"query": "😀".repeat(129)}), false),
        (Method::TeamInvite, json!({"person": "bob", "ttlMs": 59_999}), false),
        (Method::TeamInvite, json!({"person": "bob", "ttlMs": 604_800_000}), true),
        (Method::TeamInvite, json!({"person": "bob", "ttlMs": 604_800_001}), false),
        (Method::TeamInvite, json!({"person": "bob", "ttlMs": 60_000.0}), true),
        (Method::TeamInvite, json!({"person": "bob", "ttlMs": 60_000.5}), false),
        (Method::TeamJoin, json!({"label": "a", "ticket": "x".repeat(4_096)}), true),
        (Method::TeamJoin, json!({"label": "a", "ticket": "x".repeat(4_097)}), false),
        (Method::NoticeAck, json!({"ids": vec!["x"; 501]}), false),
        (Method::PeopleSearch, json!({"query": "x".repeat(65)}), false),
        (Method::PeopleSearch, json!({"query": format!("{}@b", "x".repeat(65))}), true),
    ] {
        assert_eq!(decode(method, &params).is_ok(), fits, "{method}");
    }
}

#[test]
fn debug_of_parameters_shows_no_secret() {
    let shown = format!(
        "{:?} {:?} {:?}",
        params::decode::<params::team::Join>(Some(&json!({"ticket": "TICKET", "label": "a"}))),
        params::decode::<params::device::Bind>(Some(&json!({"token": "TOKEN"}))),
        params::decode::<params::KeyOnly>(Some(&json!({"key": "KEYKEYKEYKEYKEYKEYKEYKEY"}))),
    );
    for secret in ["TICKET", "TOKEN", "KEYKEY"] {
        assert!(!shown.contains(secret), "{shown}");
    }
}

//! What a sender's own core refuses to seal.

use messaging_core::code::Code::InvalidRequest;
use messaging_core::ids::EncKey;
use messaging_core::limits::TTL_MS;
use serde_json::json;

use super::super::book::{Book, Writing, text};
use super::super::cast::{Cast, Edit, NOW, conv, edited, end, mail};

pub(super) fn write(book: &mut Book, cast: &mut Cast) -> Writing {
    let ada = cast.ada.clone();
    let fields = cast.fields("message", Some("builder"), Some("reviewer"));
    let good = cast.seal_input(fields, mail(json!([{"text": "hi"}])), &ada);
    let own = Some(end("ben", cast.phone.machine(), None));
    let request = conv(json!([{"text": "May I?"}]), json!({"kind": "request"}));
    let deep = (0..31).fold(json!(1), |inner, _| json!([inner]));
    let rows: Vec<(&str, Vec<Edit<'_>>)> = vec![
        ("to no key", vec![("/recipientEnc", None)]),
        ("to a key of 0", vec![("/recipientEnc", Some(json!(EncKey::from_bytes(&[0; 32]))))]),
        ("to a key of 31 bytes", vec![("/recipientEnc", Some(json!(text(&[7; 31]))))]),
        ("as another machine", vec![("/seed", Some(json!(text(&*cast.ada.signing.seed()))))]),
        ("presence", vec![("/fields/type", Some(json!("presence")))]),
        ("a later type", vec![("/fields/type", Some(json!("reaction")))]),
        ("to the team", vec![("/fields/to", Some(json!({"team": true})))]),
        ("an id that is no ULID", vec![("/fields/id", Some(json!("x")))]),
        ("exp before ts", vec![("/fields/exp", Some(json!(NOW.minus(1))))]),
        ("a life over 7 days", vec![("/fields/exp", Some(json!(NOW.plus(TTL_MS + 1))))]),
        ("an anchor of a later kind", vec![("/fields/anchor/kind", Some(json!("chain")))]),
        ("mail from no agent", vec![("/fields/from/agent", None)]),
        (
            "a line with a messageId that is no ULID",
            vec![
                ("/fields/from/agent", None),
                ("/fields/to/agent", None),
                ("/payload/message/messageId", Some(json!("m1"))),
            ],
        ),
        ("mail with a conv", vec![("/payload", Some(request.clone()))]),
        (
            "a request to oneself",
            vec![
                ("/fields/from/agent", None),
                ("/fields/to", own),
                ("/payload", Some(request.clone())),
            ],
        ),
        (
            "a request with replyTo",
            vec![
                ("/fields/from/agent", None),
                ("/fields/to/agent", None),
                ("/fields/replyTo", Some(json!("01KQ00000000000000000000E1"))),
                ("/payload", Some(request)),
            ],
        ),
        (
            "a status without replyTo",
            vec![
                ("/fields/type", Some(json!("task.status"))),
                (
                    "/payload",
                    Some(json!({
                        "taskId": "01KQ00000000000000000000T1", "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}
                    })),
                ),
            ],
        ),
        ("a payload of another type", vec![("/fields/type", Some(json!("receipt")))]),
        ("a payload that is text", vec![("/payload", Some(json!("hi")))]),
        ("an integer past 2^53 - 1", vec![("/payload/later", Some(json!(u64::MAX)))]),
        ("33 levels", vec![("/payload/later", Some(json!([deep])))]),
    ];
    for (name, edits) in rows {
        let input = edited(&good, &edits)?;
        book.refuses(format!("seal: {name}"), "envelope_seal", input, InvalidRequest)?;
    }
    Ok(())
}

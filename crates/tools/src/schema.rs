//! What a host is told about each tool: its name, what it is for, and the schemas of what goes in and comes out.
//! Spec: D7.1 "Schemas", D7.3
//!
//! Schemas are JSON Schema 2020-12 without references and formats. They describe; the argument types check.

use serde_json::{Map, Value, json};

use crate::notes::UNTRUSTED_SENTENCE;

/// One tool.
#[derive(Clone, Copy, Debug)]
pub struct Tool {
    /// Its name.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    what: &'static str,
    /// Whether it only looks.
    pub read_only: bool,
    /// Whether it may undo something.
    pub destructive: bool,
    /// Whether calling it twice is as calling it once.
    pub idempotent: bool,
    input: fn() -> Value,
    output: fn() -> (Value, Value),
}

impl Tool {
    /// What it does, with the sentence about peers' words at its end.
    pub fn description(&self) -> String {
        format!("{} {UNTRUSTED_SENTENCE}", self.what)
    }

    /// The schema of its arguments.
    pub fn input_schema(&self) -> Value {
        (self.input)()
    }

    /// The schema of its result, in which an error fits too.
    pub fn output_schema(&self) -> Value {
        let (required, properties) = (self.output)();
        let mut properties = match properties {
            Value::Object(properties) => properties,
            _ => Map::new(),
        };
        properties.insert(
            "error".into(),
            json!({
                "type": "object",
                "properties": {
                    "code": { "type": "string" },
                    "message": { "type": "string" },
                    "remedy": { "type": "string" },
                },
                "required": ["code", "message", "remedy"],
            }),
        );
        properties.insert(
            "news".into(),
            json!({
                "type": "object",
                "properties": { "unread": { "type": "integer" }, "tasks": { "type": "integer" } },
            }),
        );
        json!({
            "type": "object",
            "properties": properties,
            "anyOf": [{ "required": required }, { "required": ["error"] }],
        })
    }
}

/// The eight tools, in the order in which they are listed. None grants, adds contacts or administers anything.
pub const TOOLS: [Tool; 8] = [
    Tool {
        name: "messaging_contacts",
        title: "Contacts",
        what: "Lists who you can write to: your person's other agents, teammates and their agents, and the channels \
            opened to you, with what each accepts and when they would see a message.",
        read_only: true,
        destructive: false,
        idempotent: true,
        input: contacts_in,
        output: contacts_out,
    },
    Tool {
        name: "messaging_send",
        title: "Send",
        what: "Sends mail to an agent, a task with ask, or a line to a channel. replyTo answers an item or follows up a \
            task that you asked for. wait stays until the answer comes, for 50 seconds at most.",
        read_only: false,
        destructive: false,
        idempotent: false,
        input: send_in,
        output: send_out,
    },
    Tool {
        name: "messaging_inbox",
        title: "Inbox",
        what: "Lists mail and tasks that wait for you, newest first, with previews.",
        read_only: false,
        destructive: false,
        idempotent: true,
        input: inbox_in,
        output: inbox_out,
    },
    Tool {
        name: "messaging_read",
        title: "Read",
        what: "Reads one item by its id (mail, a task, or the delivery of something you sent), or a page of a \
            conversation with an agent or in a channel. Long content goes on with the cursor it returns.",
        read_only: false,
        destructive: false,
        idempotent: true,
        input: read_in,
        output: read_out,
    },
    Tool {
        name: "messaging_search",
        title: "Search",
        what: "Finds lines in the channels opened to you. Agents' mail is not searched.",
        read_only: true,
        destructive: false,
        idempotent: true,
        input: search_in,
        output: search_out,
    },
    Tool {
        name: "messaging_tasks",
        title: "Tasks",
        what: "Lists tasks: mine are those you asked others for, asked are those others asked of you.",
        read_only: true,
        destructive: false,
        idempotent: true,
        input: tasks_in,
        output: tasks_out,
    },
    Tool {
        name: "messaging_task_update",
        title: "Update a task",
        what: "Reports on a task that was asked of you: a state, a text about it, an artifact.",
        read_only: false,
        destructive: false,
        idempotent: false,
        input: task_update_in,
        output: task_update_out,
    },
    Tool {
        name: "messaging_task_cancel",
        title: "Cancel a task",
        what: "Asks the executor of a task that you asked for to stop.",
        read_only: false,
        destructive: true,
        idempotent: true,
        input: task_cancel_in,
        output: task_cancel_out,
    },
];

fn object(properties: Value, required: &[&str]) -> Value {
    json!({
        "type": "object", "properties": properties, "required": required, "additionalProperties": false,
    })
}

fn text(least: u64, most: u64, what: &str) -> Value {
    json!({ "type": "string", "minLength": least, "maxLength": most, "description": what })
}

fn number(least: u64, most: u64, default: u64) -> Value {
    json!({ "type": "integer", "minimum": least, "maximum": most, "default": default })
}

fn yes_or_no(default: bool, what: &str) -> Value {
    json!({ "type": "boolean", "default": default, "description": what })
}

fn address(what: &str) -> Value {
    json!({
        "type": "string", "maxLength": 200,
        "description": format!("{what}: me, me/agent, person, person/agent, person/agent@label or #channel"),
    })
}

fn reference(what: &str) -> Value {
    json!({
        "type": "string", "pattern": "^(last|[0-9A-Za-z]{4,26})$",
        "description": format!("{what}: an id, the last four or more characters of one, or last for the newest item of the inbox"),
    })
}

fn cursor() -> Value {
    text(1, 512, "where the last page ended, as it said")
}

fn files() -> Value {
    json!({
        "type": "array", "maxItems": 8,
        "items": object(json!({
            "name": text(1, 255, "a plain file name"),
            "mediaType": text(1, 127, "its media type"),
            "content": { "type": "string", "description": "its content, never a path" },
            "encoding": { "type": "string", "enum": ["utf8", "base64"], "default": "utf8" },
        }), &["name", "content"]),
    })
}

fn contacts_in() -> Value {
    object(
        json!({
            "query": text(0, 128, "only addresses, names and doings that hold this"),
            "can": { "type": "string", "enum": ["ask"], "description": "only those that take tasks" },
            "limit": number(1, 200, 100),
            "cursor": cursor(),
        }),
        &[],
    )
}

fn contacts_out() -> (Value, Value) {
    (
        json!(["me", "persons", "channels", "more"]),
        json!({
            "me": { "type": "object" },
            "persons": { "type": "array", "items": { "type": "object", "required": ["person", "can", "agents"] } },
            "channels": { "type": "array", "items": { "type": "object" } },
            "more": { "type": "boolean" },
            "cursor": { "type": "string" },
        }),
    )
}

fn send_in() -> Value {
    object(
        json!({
            "to": address("whom to write to"),
            "text": text(1, 100_000, "what to say"),
            "ask": yes_or_no(false, "asks for a task, not a mere answer; agents only"),
            "replyTo": reference("what this answers"),
            "onBehalfOf": reference("with ask: the task asked of you that this is a part of"),
            "files": files(),
            "key": { "type": "string", "pattern": "^[ -~]{1,128}$", "description": "makes a repeated call send once" },
            "request": object(json!({ "contact": text(3, 254, "an email") }), &["contact"]),
            "wait": {
                "type": "integer", "minimum": 1, "maximum": 50,
                "description": "waits so many seconds for the answer; agents only",
            },
        }),
        &["to", "text"],
    )
}

fn send_out() -> (Value, Value) {
    let mut shown = strings(&[
        "to",
        "id",
        "stage",
        "note",
        "messageId",
        "contextId",
        "taskId",
        "code",
        "expect",
        "outcome",
        "state",
        "key",
    ]);
    shown["answer"] = json!({ "type": "object" });
    (json!(["to", "id", "stage", "note"]), shown)
}

fn inbox_in() -> Value {
    object(
        json!({
            "unread": yes_or_no(true, "only what was not read"),
            "limit": number(1, 50, 20),
            "from": address("only from this person or agent"),
            "cursor": cursor(),
        }),
        &[],
    )
}

fn inbox_out() -> (Value, Value) {
    (
        json!(["items", "unread", "more"]),
        json!({
            "items": { "type": "array", "items": { "type": "object", "required": ["id", "kind", "from", "preview"] } },
            "unread": { "type": "integer" },
            "more": { "type": "boolean" },
            "cursor": { "type": "string" },
        }),
    )
}

fn read_in() -> Value {
    object(
        json!({
            "id": reference("the item"),
            "with": address("the conversation, instead of an id"),
            "thread": { "type": "string", "description": "with a channel: the id of a line of the thread" },
            "before": text(1, 128, "with a conversation: the page before this place"),
            "after": text(1, 128, "with a conversation: the page after this place"),
            "limit": number(1, 100, 30),
            "part": number(0, 99, 0),
            "offset": number(0, 16_777_216, 0),
            "cursor": text(1, 128, "with an id: where the last call ended, as it said"),
        }),
        &[],
    )
}

fn read_out() -> (Value, Value) {
    let mut properties =
        strings(&["kind", "id", "conversation", "state", "title", "note", "stage", "cursor"]);
    if let Value::Object(properties) = &mut properties {
        for list in ["parts", "history", "artifacts", "lines", "entries"] {
            properties
                .insert(list.into(), json!({ "type": "array", "items": { "type": "object" } }));
        }
        properties.insert("truncated".into(), json!({ "type": "boolean" }));
        properties.insert("more".into(), json!({ "type": "boolean" }));
    }
    (json!(["kind"]), properties)
}

fn search_in() -> Value {
    object(
        json!({
            "query": text(1, 256, "words to find"),
            "with": address("only in this channel"),
            "limit": number(1, 50, 20),
        }),
        &["query"],
    )
}

fn search_out() -> (Value, Value) {
    (
        json!(["hits", "more"]),
        json!({
            "hits": { "type": "array", "items": { "type": "object", "required": ["conversation", "id", "text"] } },
            "more": { "type": "boolean" },
        }),
    )
}

const STATES: [&str; 8] = [
    "submitted",
    "working",
    "input_required",
    "auth_required",
    "completed",
    "failed",
    "canceled",
    "rejected",
];

fn tasks_in() -> Value {
    let states: Vec<&str> = STATES.into_iter().chain(["open", "done"]).collect();
    object(
        json!({
            "role": { "type": "string", "enum": ["mine", "asked"] },
            "state": { "type": "string", "enum": states },
            "with": address("only with this agent"),
            "limit": number(1, 100, 20),
            "cursor": cursor(),
        }),
        &[],
    )
}

fn tasks_out() -> (Value, Value) {
    (
        json!(["tasks", "total"]),
        json!({
            "tasks": { "type": "array", "items": { "type": "object", "required": ["taskId", "role", "state", "title"] } },
            "total": { "type": "integer" },
            "cursor": { "type": "string" },
        }),
    )
}

fn task_update_in() -> Value {
    let states: Vec<&str> = STATES.into_iter().filter(|state| *state != "submitted").collect();
    object(
        json!({
            "taskId": reference("the task"),
            "state": { "type": "string", "enum": states },
            "text": text(1, 100_000, "what to say about the state; needs state"),
            "artifact": object(json!({
                "id": { "type": "string", "pattern": "^[ -~]{1,128}$" },
                "name": text(0, 200, "its name"),
                "text": text(1, 100_000, "its text"),
                "files": files(),
            }), &[]),
            "append": yes_or_no(false, "adds to the artifact of that id"),
            "last": yes_or_no(false, "the artifact is whole now"),
        }),
        &["taskId"],
    )
}

fn task_update_out() -> (Value, Value) {
    (json!(["taskId", "state", "note"]), strings(&["taskId", "state", "note"]))
}

fn task_cancel_in() -> Value {
    object(
        json!({
            "taskId": reference("the task"),
            "reason": text(0, 1_000, "why"),
        }),
        &["taskId"],
    )
}

fn task_cancel_out() -> (Value, Value) {
    let mut properties = strings(&["taskId", "state", "note"]);
    if let Value::Object(properties) = &mut properties {
        properties.insert("sent".into(), json!({ "type": "boolean" }));
    }
    (json!(["taskId", "state", "sent", "note"]), properties)
}

fn strings(names: &[&str]) -> Value {
    names
        .iter()
        .map(|name| ((*name).to_owned(), json!({ "type": "string" })))
        .collect::<Map<_, _>>()
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_eight_tools_have_the_fixed_names_and_none_administers() {
        let names = TOOLS.map(|tool| tool.name);
        assert_eq!(
            names,
            [
                "messaging_contacts",
                "messaging_send",
                "messaging_inbox",
                "messaging_read",
                "messaging_search",
                "messaging_tasks",
                "messaging_task_update",
                "messaging_task_cancel"
            ]
        );
    }

    #[test]
    fn every_description_ends_with_the_untrusted_sentence() {
        assert!(TOOLS.iter().all(|tool| tool.description().ends_with(UNTRUSTED_SENTENCE)));
    }

    #[test]
    fn schemas_are_plain_inputs_closed_and_outputs_open_to_an_error() {
        for tool in TOOLS {
            let (input, output) = (tool.input_schema(), tool.output_schema());
            assert_eq!(input["additionalProperties"], false, "{}", tool.name);
            assert_eq!(output["anyOf"][1]["required"], json!(["error"]), "{}", tool.name);
            assert!(output.get("additionalProperties").is_none(), "{}", tool.name);
            for text in [input.to_string(), output.to_string()] {
                assert!(!text.contains("$ref") && !text.contains("\"format\""), "{}", tool.name);
            }
        }
    }
}

//! The second half of the story: what waits for Bob's word, a line from person to person, a task that is allowed.
//! Spec: D6.7

use messaging_core::ids::Ulid;
use messaging_core::task::TaskState;
use messaging_ipc::call;
use messaging_ipc::event::Event;
use messaging_ipc::params::consent::{Answer, AnswerRequest};
use messaging_ipc::params::conv::{PersonSend, Read};
use messaging_ipc::params::task::Update;
use messaging_ipc::params::{Nothing, msg};
use messaging_ipc::results::conv::ConvPage;
use messaging_ipc::scalars::{Conversation, List, Room, Str, Target};
use messaging_ipc::shapes::{A2aObject, HeldAsk, Part, RequestView, TaskOrMessage};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::story::{PATIENCE, POLL, Side, broken, late};
use super::teller::Teller;
use crate::fault::Fault;

/// What Bob writes to Alice, himself.
const LINE: &str = "Shipped. Your agent asks good questions.";
/// What Alice's agent asks for, and what Bob's finds.
const TASK: &str = "Find out why the nightly build was slow.";
const RESULT: &str = "The cache was cold: 14 minutes of 20.";

/// Waits for what waits for Bob, says what an answer would mean, and gives it.
pub(super) async fn allow(
    bob: &Side,
    teller: &mut Teller<'_>,
    answer: Answer,
) -> Result<String, Fault> {
    let held = waiting(bob).await?;
    teller.fact("waits", format!("{} from {} for {}", held.id, held.address, held.to));
    let params = AnswerRequest { id: held.id, answer, all: false };
    let preview = bob.call::<call::RequestAnswerPreview>(&params).await?;
    teller.fact("what it means", &preview.sentence);
    bob.call::<call::RequestAnswer>(&params).await?;
    let word = match answer {
        Answer::Always => "always",
        _ => "once",
    };
    teller.fact("Bob", format!("messaging request {word} {}", held.id));
    Ok(preview.sentence)
}

async fn waiting(bob: &Side) -> Result<HeldAsk, Fault> {
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        let waiting = bob.call::<call::RequestList>(&Nothing {}).await?.requests;
        let asks = waiting.into_iter().filter_map(|request| match request {
            RequestView::Message(held) | RequestView::Task(held) => Some(held),
            RequestView::Contact { .. } | RequestView::Suggestion { .. } => None,
        });
        if let Some(held) = asks.into_iter().next() {
            return Ok(held);
        }
        sleep(POLL).await;
    }
    Err(late("the request"))
}

/// Bob writes a line, which Alice can read.
pub(super) async fn line(
    alice: &Side,
    bob: &Side,
    teller: &mut Teller<'_>,
) -> Result<String, Fault> {
    teller.step("Bob writes to Alice, from person to person").await;
    let room = |person: &str| Room::parse(&format!("dm:{person}")).map_err(|_| broken("a room"));
    let send = PersonSend {
        conversation: room("alice")?,
        text: Str::new(LINE.to_owned())?,
        thread: None,
        client_id: None,
    };
    bob.call::<call::PersonSend>(&send).await?;
    let read = Read {
        key: None,
        conversation: Conversation::Room(room("bob")?),
        thread: None,
        before: None,
        after: None,
        limit: None,
    };
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        if let ConvPage::Lines { lines, .. } = alice.call::<call::ConvRead>(&read).await?
            && let Some(line) = lines.last()
        {
            let text = line.text.as_untrusted().to_owned();
            teller.fact("alice reads", format!("{}: {text}", line.person));
            return if text == LINE { Ok(text) } else { Err(broken("the line as it was written")) };
        }
        sleep(POLL).await;
    }
    Err(late("the line"))
}

/// Alice's agent asks for work; Bob allows it for good; his agent does it.
pub(super) async fn task(
    alice: &mut Side,
    bob: &mut Side,
    teller: &mut Teller<'_>,
) -> Result<Value, Fault> {
    teller.step("Alice's agent asks for work, and Bob lets her agents ask from now on").await;
    let target = Target::parse("bob/api").map_err(|_| broken("an address"))?;
    let parts = List::new(vec![Part::text(TASK)])?;
    let request = msg::Send {
        kind: Some(TaskOrMessage::Task),
        ..msg::Send::new(alice.key()?, target, parts)
    };
    let sent = alice.call::<call::MsgSend>(&request).await?;
    let id = sent.results.first().and_then(|sent| sent.task_id).ok_or_else(|| broken("a task"))?;
    teller.fact("task", format!("{id}: {TASK}"));
    let sentence = allow(bob, teller, Answer::Always).await?;
    bob.event("the task", |event| match event {
        Event::Inbox { item, .. } => item.task_id.filter(|task| *task == id),
        _ => None,
    })
    .await?;
    let done = Update {
        key: bob.key()?,
        task_id: id,
        state: Some(TaskState::Completed),
        message: Some(List::new(vec![Part::text(RESULT)])?),
        artifact: None,
        append: false,
        last_chunk: None,
        metadata: None,
    };
    bob.call::<call::TaskUpdate>(&done).await?;
    let said = completed(alice, id).await?;
    teller.fact("bob's agent", &said);
    if said != RESULT {
        return Err(broken("the result as it was written"));
    }
    Ok(json!({"id": id, "state": "completed", "result": said, "allowed": sentence}))
}

/// What the one who did the task said at its end.
async fn completed(alice: &mut Side, id: Ulid) -> Result<String, Fault> {
    alice
        .event("the result", |event| match event {
            Event::Task { task, .. } if task.id == id && task.status.state.is_terminal() => {
                Some(task.status.message.as_ref().map(A2aObject::text).unwrap_or_default())
            }
            _ => None,
        })
        .await
}

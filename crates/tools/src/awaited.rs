//! Waiting for the answer to something that was sent.
//! Spec: §11

use messaging_core::asked::{Outcome, Seen};
use messaging_core::code::Code;
use messaging_core::random::Random;
use messaging_core::stage::Stage;
use messaging_core::task::TaskState;
use messaging_ipc::call::{ContactsList, InboxList, ItemRead};
use messaging_ipc::params::Nothing;
use messaging_ipc::params::inbox::{ListItems, ReadItem};
use messaging_ipc::results::inbox::ItemRead as Item;
use messaging_ipc::scalars::{Count, Printable};
use messaging_ipc::shapes::{InboxItem, InboxStage, SendResult, TaskRole};
use serde_json::{Map, Value};

use crate::Tools;
use crate::arguments::state_word;
use crate::fault::ToolError;
use crate::link::{AgentLink, Session};
use crate::notes;
use crate::shown::put;

/// The longest time between two looks, ms: an event that came between a look and the wait is missed no longer.
const LOOK_MS: u64 = 2_000;
/// Items of the inbox among which the answer is looked for.
const ITEMS: u64 = 200;

/// How a question stands.
struct Look {
    stage: Stage,
    code: Option<Code>,
    state: Option<TaskState>,
    present: bool,
}

impl<L: AgentLink, R: Random + Send> Tools<L, R> {
    /// Waits until a question came to something, or until `until` on the link's clock, and adds to `shown` what it came
    /// to.
    pub(crate) async fn awaited(
        &self,
        session: &Session,
        sent: &SendResult,
        key: Option<Printable<1, 128>>,
        until: u64,
        mut shown: Map<String, Value>,
    ) -> Result<Value, ToolError> {
        let (look, outcome) = loop {
            let look = self.look(session, sent).await?;
            let seen = Seen { stage: look.stage, task: look.state, present: look.present };
            let outcome = Outcome::of(seen);
            let now = self.link().now();
            if outcome != Outcome::Pending || now >= until {
                break (look, outcome);
            }
            self.link().quiet(until.min(now.saturating_add(LOOK_MS))).await;
        };
        shown.insert("outcome".into(), outcome.as_str().into());
        shown.insert("stage".into(), look.stage.as_str().into());
        put(&mut shown, "code", look.code.map(Code::as_str));
        put(&mut shown, "state", look.state.map(state_word));
        let note = match outcome {
            Outcome::Reply => {
                if sent.task_id.is_none()
                    && let Some(answer) = self.answer(session, sent).await?
                {
                    shown.insert("answer".into(), Value::Object(self.item(session, &answer)));
                    if answer.stage == InboxStage::Delivered {
                        self.hand(session, vec![answer.id]).await?;
                    }
                }
                notes::ANSWERED.to_owned()
            }
            Outcome::Pending => {
                put(&mut shown, "key", key.as_ref().map(Printable::as_str));
                notes::UNANSWERED.to_owned()
            }
            Outcome::Ended if look.stage == Stage::Rejected => {
                notes::of_stage(look.stage, look.code)
            }
            Outcome::Ended if look.state.is_some_and(TaskState::is_terminal) => {
                notes::ANSWERED.to_owned()
            }
            Outcome::Ended => notes::GONE.to_owned(),
            Outcome::Held | Outcome::Expired => notes::of_stage(look.stage, look.code),
        };
        shown.insert("note".into(), note.into());
        Ok(Value::Object(shown))
    }

    async fn look(&self, session: &Session, sent: &SendResult) -> Result<Look, ToolError> {
        let params = ReadItem { key: session.key.clone(), id: sent.envelope_id };
        let (stage, code) = match self.ask::<ItemRead>(&params).await? {
            Item::Sent { stage, code, .. } => (stage, code),
            // An id of the session's own is never that of something it received.
            Item::Received { .. } => (sent.stage, sent.code),
        };
        let state = match &sent.task_id {
            Some(id) => self.task_of(session, id, TaskRole::Requester).await?,
            None => None,
        };
        let state = state.map(|task| task.status.state);
        let mut look = Look { stage, code, state, present: true };
        let seen = Seen { stage, task: state, present: true };
        if Outcome::of(seen) == Outcome::Pending {
            let listed = self.ask::<ContactsList>(&Nothing {}).await?;
            look.present = listed.entries.iter().any(|entry| entry.address.as_str() == sent.to);
        }
        Ok(look)
    }

    /// The item of the inbox that answers what was sent.
    async fn answer(
        &self,
        session: &Session,
        sent: &SendResult,
    ) -> Result<Option<InboxItem>, ToolError> {
        let params = ListItems {
            key: session.key.clone(),
            unread_only: false,
            limit: Count::clamped(ITEMS),
            before: None,
        };
        let page = self.ask::<InboxList>(&params).await?;
        Ok(page.items.into_iter().find(|item| item.reply_to == Some(sent.envelope_id)))
    }
}

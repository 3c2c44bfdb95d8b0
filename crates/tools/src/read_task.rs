//! `messaging_read` of a task: both sides' words, each with its author.
//! Spec: §11 "Authors", D7.3 "Author labels"

use messaging_core::ids::{SessionAddress, Ulid};
use messaging_core::peer_text::FenceKind;
use messaging_core::random::Random;
use messaging_core::stage::Stage;
use messaging_ipc::shapes::{A2aObject, PeerRef, TaskRecord, TaskRole, TaskStatus};
use serde_json::{Map, Value, json};

use crate::Tools;
use crate::arguments::state_word;
use crate::link::{AgentLink, Session};
use crate::notes;
use crate::parts::{Section, Spot};
use crate::room::{Room, head};
use crate::shown::{Author, consent_of, from_of, put};

/// The room of a status in a list, and in a task's own answer, where the rest of it follows.
pub(crate) const STATUS: usize = 1_200;

/// Who wrote what of a task, by this session's part in it and never by what the other side says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Authors {
    /// Of the title, the request and the follow-ups.
    pub(crate) request: Author,
    /// Of the status and the artifacts.
    pub(crate) report: Author,
}

impl Authors {
    pub(crate) const fn of(role: TaskRole) -> Self {
        match role {
            TaskRole::Requester => Self { request: Author::Ours, report: Author::Peer },
            TaskRole::Executor => Self { request: Author::Peer, report: Author::Ours },
        }
    }
}

/// The word for a session's part in a task.
pub(crate) const fn role_word(role: TaskRole) -> &'static str {
    match role {
        TaskRole::Requester => "mine",
        TaskRole::Executor => "asked",
    }
}

/// The last of a task's texts, and how many follow-ups nobody read.
fn unread(record: &TaskRecord) -> usize {
    let all = record.follow_ups.as_deref().unwrap_or_default();
    all.iter().filter(|one| !was_read(one.stage)).count()
}

const fn was_read(stage: Stage) -> bool {
    matches!(stage, Stage::Read | Stage::Replied)
}

impl<L: AgentLink, R: Random + Send> Tools<L, R> {
    /// The members that a task has in a list and in an answer of its own.
    #[allow(
        clippy::too_many_arguments,
        reason = "the two records have these in common and no type"
    )]
    pub(crate) fn task_head(
        &self,
        session: &Session,
        id: &Ulid,
        role: TaskRole,
        peer: &PeerRef,
        title: &str,
        status: &TaskStatus,
    ) -> Map<String, Value> {
        let authors = Authors::of(role);
        let from = from_of(peer);
        let mut shown = Map::new();
        shown.insert("taskId".into(), id.as_str().into());
        shown.insert("role".into(), role_word(role).into());
        shown.insert("with".into(), self.peer(peer));
        shown.insert("state".into(), state_word(status.state).into());
        shown.insert(
            "title".into(),
            self.text(title, authors.request, from, FenceKind::Task).into(),
        );
        shown.insert("titleAuthor".into(), authors.request.as_str().into());
        let text = status.message.as_ref().map(A2aObject::text).filter(|text| !text.is_empty());
        if let Some(text) = text {
            let (start, whole) = head(&text, STATUS);
            let start = self.text(start, authors.report, from, FenceKind::Status);
            shown.insert("status".into(), start.into());
            shown.insert("statusAuthor".into(), authors.report.as_str().into());
            if !whole {
                shown.insert("statusTruncated".into(), true.into());
            }
        }
        // A task that came in is a request like any other; one that went out runs there, not here.
        if role == TaskRole::Executor {
            shown.insert("consent".into(), consent_of(session, &peer.person, None));
        }
        shown
    }

    /// A task's answer, from a place in its texts on.
    pub(crate) fn task(&self, session: &Session, record: &TaskRecord, start: Spot) -> Value {
        self.looked_at(&record.id);
        let authors = Authors::of(record.role);
        let from = from_of(&record.peer).to_owned();
        let mut shown = self.task_head(
            session,
            &record.id,
            record.role,
            &record.peer,
            record.title.as_untrusted(),
            &record.status,
        );
        shown.insert("kind".into(), "task".into());
        let asker = match record.role {
            TaskRole::Requester => {
                let mut own = Map::new();
                put(&mut own, "address", session.address.as_ref().map(SessionAddress::as_str));
                Value::Object(own)
            }
            TaskRole::Executor => self.peer(&record.peer),
        };
        shown.insert("from".into(), asker);
        put(&mut shown, "chain", self.chain(record.chain.as_ref(), &from));
        put(&mut shown, "followUps", self.follow_ups(record, &from));
        let unread = unread(record);
        if record.status.state.is_terminal() && unread > 0 {
            shown.insert("note".into(), notes::unread_follow_ups(unread).into());
        }
        shown.insert("createdAt".into(), record.created_at.0.into());
        shown.insert("updatedAt".into(), record.updated_at.0.into());
        let mut room = Room::new(self.budget());
        room.take(&Value::Object(shown.clone()));

        let none = A2aObject::default();
        let status = record.status.message.as_ref().unwrap_or(&none);
        let mut sections = vec![Section {
            author: authors.report,
            from: &from,
            kind: FenceKind::Status,
            object: status,
            beside: Map::new(),
        }];
        for message in &record.history {
            let mut beside = Map::new();
            beside.insert("author".into(), authors.request.as_str().into());
            beside.insert("from".into(), "requester".into());
            let kind = FenceKind::Task;
            sections.push(Section {
                author: authors.request,
                from: &from,
                kind,
                object: message,
                beside,
            });
        }
        for artifact in &record.artifacts {
            let beside = self.artifact(artifact, authors.report, &from);
            let kind = FenceKind::Artifact;
            sections.push(Section {
                author: authors.report,
                from: &from,
                kind,
                object: artifact,
                beside,
            });
        }
        let beside: Vec<Map<String, Value>> =
            sections.iter().map(|section| section.beside.clone()).collect();
        let filled = self.fill(&sections, start, &mut room);
        let (mut history, mut artifacts) = (Vec::new(), Vec::new());
        for (number, parts) in filled.shown {
            if number == 0 {
                if shown.contains_key("statusTruncated") {
                    shown.insert("statusParts".into(), parts.into());
                }
                continue;
            }
            let mut members = beside.get(number).cloned().unwrap_or_default();
            members.insert("parts".into(), parts.into());
            let to = if number <= record.history.len() { &mut history } else { &mut artifacts };
            to.push(Value::Object(members));
        }
        shown.insert("history".into(), history.into());
        shown.insert("artifacts".into(), artifacts.into());
        if let Some(next) = filled.next {
            shown.insert("truncated".into(), true.into());
            shown.insert("cursor".into(), next.cursor().into());
        }
        Value::Object(shown)
    }

    fn artifact(&self, artifact: &A2aObject, author: Author, from: &str) -> Map<String, Value> {
        let member = |name| artifact.members().get(name).and_then(Value::as_str);
        let mut shown = Map::new();
        shown.insert("author".into(), author.as_str().into());
        let id = member("artifactId").unwrap_or_default();
        shown.insert("id".into(), self.a2a_id_text(id, from).into());
        for name in ["name", "description"] {
            let text = member(name).map(|text| {
                let (start, _) = head(text, 2_000);
                self.text(start, author, from, FenceKind::Name)
            });
            put(&mut shown, name, text);
        }
        shown
    }

    fn follow_ups(&self, record: &TaskRecord, from: &str) -> Option<Vec<Value>> {
        let all = record.follow_ups.as_ref()?;
        let shown = all.iter().map(|one| {
            json!({
                "id": one.envelope_id.as_str(),
                "messageId": self.a2a_id(&one.message_id, from),
                "at": one.at.0,
                "stage": one.stage,
                "unread": !was_read(one.stage),
            })
        });
        Some(shown.collect())
    }
}

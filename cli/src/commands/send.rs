//! `messaging send`.
//! Spec: D6.4, §8.2 "msg.send"

use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use clap_complete::ArgValueCompleter;
use messaging_core::code::Code;
use messaging_core::ids::{SessionName, Ulid};
use messaging_core::stage::{Stage, Track};
use messaging_ipc::call;
use messaging_ipc::event::Event;
use messaging_ipc::params::KeyOnly;
use messaging_ipc::params::conv::PersonSend;
use messaging_ipc::params::msg::{self, OnBehalfOf};
use messaging_ipc::scalars::{List, Printable, SessionKey, Str};
use messaging_ipc::shapes::{Expect, SendResult, TaskOrMessage};
use tokio::time::{Instant, timeout_at};

use crate::address::Recipient;
use crate::body;
use crate::complete;
use crate::context::{Context, Link};
use crate::exit::Exit;
use crate::fault::Fault;
use crate::mailbox::Mailbox;
use crate::remedy;
use crate::render::Report;

/// Send a message to an agent, a person or a channel
///
/// To an agent it goes from this terminal's mailbox, and answers come to `messaging inbox`. To a person or a
/// channel it is a line of your own. The text is sent as it is, byte for byte: from the argument, or from
/// standard input for `-` and when nothing else is given.
///
/// Examples:
///   messaging send bob/api "The build is green again."
///   git diff | messaging send bob/api@laptop -
///   messaging send bob/api "See the log." --file build.log --wait=read
///   messaging send me/api "Stop after this step."
///
/// See also: messaging inbox, messaging read, messaging task send, messaging contact list
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Send {
    #[command(flatten)]
    letter: Letter,
    /// Ask the agent to do it, as a task; to agents only
    #[arg(long)]
    task: bool,
    /// The task, executed by this mailbox, that the new one is part of
    #[arg(long, value_name = "TASK", requires = "task")]
    on_behalf: Option<Ulid>,
}

/// What is sent, and to whom.
#[derive(Debug, clap::Args)]
pub(in crate::commands) struct Letter {
    /// <person>/<agent>[@label], <person>, #<channel>, me or me/<agent>
    #[arg(value_name = "TO", add = ArgValueCompleter::new(complete::recipients))]
    to: String,
    /// The text; `-` reads standard input
    #[arg(value_name = "TEXT", allow_hyphen_values = true)]
    text: Option<String>,
    /// A file to send along, up to eight times; to agents only
    #[arg(short, long, value_name = "PATH")]
    file: Vec<PathBuf>,
    /// The message, or the line, that this answers
    #[arg(long, value_name = "ID")]
    reply: Option<Ulid>,
    /// The A2A context that this belongs to; to agents only
    #[arg(long, value_name = "ID")]
    context: Option<String>,
    /// Do not ask the other side's host to wake the agent
    #[arg(long)]
    no_wake: bool,
    /// A key of your own: sending again with it sends nothing twice
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// Wait until it is so far, 60 seconds unless --timeout says otherwise; to agents only
    #[arg(long, value_name = "STAGE", num_args = 0..=1, require_equals = true, default_missing_value = "delivered")]
    wait: Option<Wanted>,
    /// The mailbox to send from [default: cli]
    #[arg(long = "as", value_name = "NAME", add = ArgValueCompleter::new(complete::mailboxes))]
    mailbox: Option<SessionName>,
}

/// How far a send is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Wanted {
    /// It is on the recipient's machine.
    Delivered,
    /// The agent has read it.
    Read,
    /// The agent has answered.
    Replied,
}

const WAIT: Duration = Duration::from_secs(60);
const FILES: usize = 8;

/// What a letter to an agent asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::commands) enum Purpose {
    /// Nothing: it is mail.
    Mail,
    /// A task, perhaps as a part of another.
    Task {
        /// The other task.
        on_behalf: Option<Ulid>,
    },
}

impl Send {
    pub(crate) async fn run(self, context: &Context) -> Result<Report, Fault> {
        let Self { letter, task, on_behalf } = self;
        letter.send(context, if task { Purpose::Task { on_behalf } } else { Purpose::Mail }).await
    }
}

impl Letter {
    /// A line of the person's own, and nothing more.
    pub(in crate::commands) fn line_to(to: String, text: String) -> Self {
        Self {
            to,
            text: Some(text),
            file: Vec::new(),
            reply: None,
            context: None,
            no_wake: false,
            key: None,
            wait: None,
            mailbox: None,
        }
    }

    /// Sends the letter.
    pub(in crate::commands) async fn send(
        self,
        context: &Context,
        purpose: Purpose,
    ) -> Result<Report, Fault> {
        let to = Recipient::parse(&self.to)?;
        match purpose {
            _ if to.is_agent() => self.mail(context, to, purpose).await,
            Purpose::Mail => self.send_line(context, to).await,
            Purpose::Task { .. } => Err(Fault::usage(
                "a task is for an agent, and this is a person or a channel",
                "name an agent, as in bob/api.",
            )),
        }
    }

    async fn mail(
        self,
        context: &Context,
        to: Recipient,
        purpose: Purpose,
    ) -> Result<Report, Fault> {
        check_files(&self.file)?;
        let a2a_context =
            self.context.as_deref().map(|text| printable("--context", text)).transpose()?;
        let idempotency_key =
            self.key.as_deref().map(|text| printable("--key", text)).transpose()?;
        let parts = List::new(body::parts(context, self.text, &self.file).await?)?;
        let mut link = context.connect().await?;
        let to = to.resolve(&link).await?;
        let key = Mailbox::of(context, self.mailbox.as_ref())?.open(&link).await?;
        if self.wait.is_some() {
            // Before the send, so that no step of it can be missed.
            link.call::<call::EventsSubscribe>(&KeyOnly { key: key.clone() }).await?;
        }
        let (kind, on_behalf_of) = match purpose {
            Purpose::Mail => (None, None),
            Purpose::Task { on_behalf } => (
                Some(TaskOrMessage::Task),
                on_behalf.map(|task_id| OnBehalfOf { task_id, scope: None, max_depth: None }),
            ),
        };
        let send = msg::Send {
            kind,
            on_behalf_of,
            context_id: a2a_context,
            reply_to: self.reply,
            wake: self.no_wake.then_some(false),
            idempotency_key,
            ..msg::Send::new(key, to, parts)
        };
        let sent = link.call::<call::MsgSend>(&send).await?;
        let one =
            || Fault::new(Code::Internal, "the daemon did not say what became of the message");
        let mut result = sent.results.into_iter().next().ok_or_else(one)?;
        let mut exit = Exit::Done;
        if let Some(wanted) = self.wait {
            let until = Instant::now() + context.globals.timeout.map_or(WAIT, Duration::from_secs);
            let waiting = follow(&mut link, &send.key, &mut result, wanted, until);
            if !context.step("waiting for the recipient", waiting).await {
                exit = Exit::WaitEnded;
            }
        }
        Ok(report(&result, exit))
    }

    /// Sends it as a line to a person or a channel.
    pub(in crate::commands) async fn send_line(
        self,
        context: &Context,
        to: Recipient,
    ) -> Result<Report, Fault> {
        let agents_only = [
            (!self.file.is_empty(), "--file"),
            (self.context.is_some(), "--context"),
            (self.no_wake, "--no-wake"),
            (self.wait.is_some(), "--wait"),
            (self.mailbox.is_some(), "--as"),
        ];
        if let Some((_, option)) = agents_only.iter().find(|(given, _)| *given) {
            return Err(Fault::usage(
                format!("{option} is for agents, and this is a person or a channel"),
                "name an agent, as in bob/api, or leave the option out.",
            ));
        }
        let client_id = self.key.as_deref().map(|text| printable("--key", text)).transpose()?;
        let text = body::line(context, self.text).await?;
        let text = Str::new(text)
            .map_err(|_| Fault::usage("a line cannot be empty", "write something."))?;
        let link = context.connect().await?;
        let conversation = to.room(&link).await?;
        let line = PersonSend { conversation, text, thread: self.reply, client_id };
        let sent = link.call::<call::PersonSend>(&line).await?;
        Ok(Report::of(&sent, format!("sent to {}\n", self.to)))
    }
}

/// A message takes eight files.
pub(in crate::commands) fn check_files(files: &[PathBuf]) -> Result<(), Fault> {
    if files.len() <= FILES {
        return Ok(());
    }
    Err(Fault::usage("there are more than eight files", "send them in several messages."))
}

fn printable<const MIN: usize, const MAX: usize>(
    option: &str,
    text: &str,
) -> Result<Printable<MIN, MAX>, Fault> {
    Printable::parse(text).map_err(|_| {
        Fault::usage(
            format!("{option} has a value that it cannot have"),
            format!("use {MIN} to {MAX} printable ASCII characters."),
        )
    })
}

/// Follows a sent message until it is far enough; false when the time ends first. A refusal ends the wait too.
async fn follow(
    link: &mut Link<'_>,
    key: &SessionKey,
    result: &mut SendResult,
    wanted: Wanted,
    until: Instant,
) -> bool {
    let goal = match wanted {
        Wanted::Delivered => Stage::Delivered,
        Wanted::Read => Stage::Read,
        Wanted::Replied => Stage::Replied,
    };
    loop {
        if result.stage.is_final() || result.stage.rank(Track::Mail) >= goal.rank(Track::Mail) {
            return true;
        }
        match timeout_at(until, link.events.next()).await {
            Ok(Some(Event::Delivery { key: of, envelope_id, stage, code, .. }))
                if of == *key && envelope_id == result.envelope_id =>
            {
                result.stage = stage;
                result.code = code;
            }
            Ok(Some(_)) => {}
            Ok(None) | Err(_) => return false,
        }
    }
}

/// What became of a send.
pub(in crate::commands) fn report(result: &SendResult, exit: Exit) -> Report {
    let mut text = format!("{} {}", word(result.stage), result.to);
    if let Some(code) = result.code {
        text += &format!(": {code}");
    } else if let Some(expect) =
        result.expect.filter(|_| exit == Exit::Done && !past_hand_over(result.stage))
    {
        text += &format!(" ({})", hint(expect));
    }
    if let Some(task) = result.task_id {
        text += &format!("\ntask {task}");
    }
    let report = Report::of(result, text + "\n");
    match result.code {
        // The result stands on stdout; the step that follows from its code is for the person.
        Some(code) => {
            Report { exit: Exit::of(code), ..report }.noting(format!("Next: {}", remedy::of(code)))
        }
        None if result.stage == Stage::Expired => Report { exit: Exit::Failed, ..report },
        None => Report { exit, ..report },
    }
}

const fn past_hand_over(stage: Stage) -> bool {
    matches!(
        stage,
        Stage::HandedToAgent | Stage::Read | Stage::Replied | Stage::Expired | Stage::Rejected
    )
}

const fn word(stage: Stage) -> &'static str {
    match stage {
        Stage::Accepted => "accepted to",
        Stage::Relayed => "relayed to",
        Stage::Delivered => "delivered to",
        Stage::Held => "held for the person of",
        Stage::HandedToAgent => "handed to",
        Stage::Read => "read by",
        Stage::Replied => "answered by",
        Stage::Rejected => "rejected by",
        Stage::Expired => "expired on its way to",
    }
}

const fn hint(expect: Expect) -> &'static str {
    match expect {
        Expect::Offline => "its machine is offline; the relay keeps it",
        Expect::Kept => "will see it when the agent is started",
        Expect::Wake => "will be woken",
        Expect::OnRead => "will see it when it checks its inbox",
        Expect::NextTurn => "will see it at its next turn",
        Expect::NextPrompt => "will see it when next prompted",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use messaging_core::peer_text::PeerText;

    fn sent(stage: Stage, code: Option<Code>, expect: Option<Expect>) -> SendResult {
        let id = Ulid::parse("01ARZ3NDEKTSV4RRFFQ69G5FAV").unwrap();
        SendResult {
            to: "alice/api@laptop".into(),
            envelope_id: id,
            message_id: id.to_string(),
            context_id: PeerText::new(id.to_string()),
            task_id: None,
            stage,
            code,
            expect,
        }
    }

    #[test]
    fn a_send_says_when_it_will_be_seen() {
        let report = report(&sent(Stage::Accepted, None, Some(Expect::NextTurn)), Exit::Done);
        assert_eq!(report.text, "accepted to alice/api@laptop (will see it at its next turn)\n");
        assert_eq!(report.exit, Exit::Done);
    }

    #[test]
    fn a_task_is_told_by_its_id() {
        let mut task = sent(Stage::Accepted, None, None);
        task.task_id = Some(task.envelope_id);
        let report = report(&task, Exit::Done);
        assert_eq!(report.text, "accepted to alice/api@laptop\ntask 01ARZ3NDEKTSV4RRFFQ69G5FAV\n");
    }

    #[test]
    fn a_rejected_send_has_its_codes_status_and_remedy() {
        let report = report(&sent(Stage::Rejected, Some(Code::Refused), None), Exit::Done);
        assert_eq!(report.text, "rejected by alice/api@laptop: refused\n");
        assert_eq!(report.exit, Exit::Refused);
        assert_eq!(report.note.as_deref(), Some("Next: talk to the person another way."));
    }

    #[test]
    fn a_wait_that_ended_has_its_own_status() {
        let report = report(&sent(Stage::Delivered, None, None), Exit::WaitEnded);
        assert_eq!(report.exit, Exit::WaitEnded);
        assert_eq!(report.json["stage"], "delivered");
    }
}

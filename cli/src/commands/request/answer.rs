//! `messaging request once`, `always`, `accept`, `decline`, `block`.
//! Spec: D6.4, D1.8, §6.9

use clap_complete::ArgValueCompleter;
use messaging_core::code::Code;
use messaging_core::ids::Ulid;
use messaging_ipc::call;
use messaging_ipc::params::consent::{Answer, AnswerRequest};

use crate::complete;
use crate::context::Context;
use crate::fault::Fault;
use crate::render::Report;

/// What is answered.
#[derive(Debug, clap::Args)]
struct Which {
    /// The request
    #[arg(value_name = "ID", add = ArgValueCompleter::new(complete::requests))]
    id: Ulid,
    /// Everything of this kind from the same person
    #[arg(long)]
    all: bool,
}

/// Allow one message or task for an agent of yours
///
/// The agent gets it and is told to answer with care. The next one waits for you again.
///
/// Examples:
///   messaging request once 01JZ3V7H2Q4W8X9Y0Z1A2B3C4D
///   messaging request once 01JZ3V7H2Q4W8X9Y0Z1A2B3C4D --all --yes
///
/// See also: messaging request list, messaging request always, messaging request decline
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Once {
    #[command(flatten)]
    which: Which,
}

/// Allow it, and let this person and their agents ask your agents from now on
///
/// Examples:
///   messaging request always 01JZ3V7H2Q4W8X9Y0Z1A2B3C4D
///   messaging request always 01JZ3V7H2Q4W8X9Y0Z1A2B3C4D --yes
///
/// See also: messaging request once, messaging grant set, messaging grant trust
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Always {
    #[command(flatten)]
    which: Which,
}

/// Accept a message request: this person can write to you from now on
///
/// Examples:
///   messaging request accept 01JZ3V7H2Q4W8X9Y0Z1A2B3C4D
///   messaging request accept 01JZ3V7H2Q4W8X9Y0Z1A2B3C4D --yes
///
/// See also: messaging request list, messaging request decline, messaging chat
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Accept {
    #[command(flatten)]
    which: Which,
}

/// Decline it; whoever asked is told so
///
/// Examples:
///   messaging request decline 01JZ3V7H2Q4W8X9Y0Z1A2B3C4D
///   messaging request decline 01JZ3V7H2Q4W8X9Y0Z1A2B3C4D --all
///
/// See also: messaging request list, messaging request block
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Decline {
    #[command(flatten)]
    which: Which,
}

/// Decline it, and refuse everything that this person or their agents send from now on
///
/// Examples:
///   messaging request block 01JZ3V7H2Q4W8X9Y0Z1A2B3C4D
///   messaging request block 01JZ3V7H2Q4W8X9Y0Z1A2B3C4D --all
///
/// See also: messaging grant unblock, messaging request decline
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Block {
    #[command(flatten)]
    which: Which,
}

impl Once {
    pub(super) async fn run(self, context: &Context) -> Result<Report, Fault> {
        self.which.answer(context, Answer::Once, "allowed").await
    }
}

impl Always {
    pub(super) async fn run(self, context: &Context) -> Result<Report, Fault> {
        self.which.answer(context, Answer::Always, "allowed, now and from now on,").await
    }
}

impl Accept {
    pub(super) async fn run(self, context: &Context) -> Result<Report, Fault> {
        self.which.answer(context, Answer::Accept, "accepted").await
    }
}

impl Decline {
    pub(super) async fn run(self, context: &Context) -> Result<Report, Fault> {
        self.which.answer(context, Answer::Decline, "declined").await
    }
}

impl Block {
    pub(super) async fn run(self, context: &Context) -> Result<Report, Fault> {
        self.which.answer(context, Answer::Block, "blocked the sender and declined").await
    }
}

impl Which {
    /// Says what the answer means, asks, and answers.
    async fn answer(self, context: &Context, answer: Answer, done: &str) -> Result<Report, Fault> {
        let params = AnswerRequest { id: self.id, answer, all: self.all };
        let link = context.connect().await?;
        let preview = link.call::<call::RequestAnswerPreview>(&params).await;
        let preview = preview.map_err(|fault| match fault.code {
            Code::InvalidRequest => fault.next("see what it is with `messaging request show`."),
            _ => fault,
        })?;
        if !context.confirm(&preview.sentence).await? {
            return Ok(Report::declined());
        }
        let answered = link.call::<call::RequestAnswer>(&params).await?;
        let text = match answered.answered.len() {
            1 => format!("{done} 1 request\n"),
            count => format!("{done} {count} requests\n"),
        };
        Ok(Report::of(&answered, text))
    }
}

//! `messaging read`.
//! Spec: D6.4, §8.2 "item.read"

pub(in crate::commands) mod save;

use std::path::PathBuf;

use clap_complete::ArgValueCompleter;
use messaging_core::code::Code;
use messaging_core::ids::{SessionName, Ulid};
use messaging_ipc::call;
use messaging_ipc::params::inbox::{GetItem, ReadItem};
use messaging_ipc::params::task::Get as GetTask;
use messaging_ipc::results::inbox::ItemRead;
use messaging_ipc::shapes::{A2aObject, Content, InboxItem, StageAt};
use serde_json::{Map, Value};

use super::inbox::from;
use super::task;
use crate::complete;
use crate::context::Context;
use crate::fault::Fault;
use crate::mailbox::Mailbox;
use crate::render::{Facts, Report, behind, cut, json, line, stamp, when};
use crate::screen::Screen;

/// Read a message, or see how far one that you sent has come
///
/// Reading tells the sender so, once. --peek looks without telling. What the terminal could be steered by is
/// shown as [U+XXXX]; --raw and --save give every byte as it came.
///
/// Examples:
///   messaging read 01JZ3V7H2Q4W8X9Y0Z1A2B3C4D
///   messaging read 01JZ3V7H2Q4W8X9Y0Z1A2B3C4D --peek --raw
///   messaging read 01JZ3V7H2Q4W8X9Y0Z1A2B3C4D --save attachments
///
/// See also: messaging inbox, messaging send, messaging task show
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Read {
    /// The id that `messaging inbox` or `messaging send --json` shows, or a task's
    #[arg(value_name = "ID")]
    id: Ulid,
    /// Print the whole A2A message as JSON
    #[arg(long)]
    raw: bool,
    /// Do not mark it read
    #[arg(long)]
    peek: bool,
    /// Write its parts into this folder; nothing that is there is written over
    #[arg(long, value_name = "DIR")]
    save: Option<PathBuf>,
    /// The mailbox
    #[arg(long = "as", value_name = "NAME", default_value = "cli", add = ArgValueCompleter::new(complete::mailboxes))]
    mailbox: SessionName,
}

impl Read {
    pub(crate) async fn run(self, context: &Context) -> Result<Report, Fault> {
        let link = context.connect().await?;
        let key = Mailbox::of(context, Some(&self.mailbox))?.open(&link).await?;
        if self.peek || self.save.is_some() {
            // A message is marked read only after its parts are safe on disk.
            let get = GetItem { key: key.clone(), id: self.id, message: true };
            let entry = link.call::<call::InboxGet>(&get).await?;
            let message = entry.message.clone().unwrap_or_default();
            let saved =
                self.save.as_deref().map(|folder| save::save(folder, &message)).transpose()?;
            if self.peek {
                let report = Report::of(&entry, "");
                return Ok(self.show(context, report, &entry.item, &message, saved));
            }
            let read = link.call::<call::ItemRead>(&ReadItem { key, id: self.id }).await?;
            let report = Report::of(&read, "");
            return Ok(self.show(context, report, &entry.item, &message, saved));
        }
        let read =
            match link.call::<call::ItemRead>(&ReadItem { key: key.clone(), id: self.id }).await {
                // Perhaps it is the id of a task.
                Err(fault) if fault.code == Code::NotFound => {
                    let get = GetTask { key, task_id: self.id, role: None };
                    return match link.call::<call::TaskGet>(&get).await {
                        Ok(found) => Ok(task::show::report(&context.screen, &found)),
                        Err(_) => Err(fault),
                    };
                }
                read => read?,
            };
        let report = Report::of(&read, "");
        match &read {
            ItemRead::Received { item, message } => {
                Ok(self.show(context, report, item, message, None))
            }
            ItemRead::Sent { message: Some(message), .. } if self.raw => {
                let raw = message.clone().into_value();
                let text = json(&raw, context.screen.tty) + "\n";
                Ok(Report { json: raw, text, ..report })
            }
            ItemRead::Sent { .. } if self.raw => Err(Fault::new(
                Code::NotFound,
                "no copy of this sent message was kept, so there is no text of it",
            )),
            ItemRead::Sent { to, history, message, .. } => {
                let mut text = sent(context, to, history);
                if let Some(message) = message {
                    text += &body(&context.screen, message);
                }
                Ok(Report { text, ..report })
            }
        }
    }

    fn show(
        &self,
        context: &Context,
        report: Report,
        item: &InboxItem,
        message: &A2aObject,
        saved: Option<Vec<String>>,
    ) -> Report {
        if self.raw {
            let raw = message.clone().into_value();
            let text = json(&raw, context.screen.tty) + "\n";
            return Report { json: raw, text, ..report };
        }
        let mut text = headers(context, item).render(&context.screen);
        text += &body(&context.screen, message);
        for name in saved.iter().flatten() {
            text += &format!("saved {}\n", line(name));
        }
        Report { text, ..report }
    }
}

/// What a message says, below its headers.
fn body(screen: &Screen, message: &A2aObject) -> String {
    // Behind a margin, so that no text can look like what we say around it.
    let mut text =
        format!("\n{}\n", behind(screen.columns(), "  ", "  ", &message.text()).join("\n"));
    let others = attachments(screen, message);
    if !others.is_empty() {
        text += "\nAttachments\n";
        text += &others;
    }
    text
}

fn headers(context: &Context, item: &InboxItem) -> Facts {
    let mut facts = Facts::default();
    facts.add("From", from(&item.from)).add("To", &item.to);
    let at = stamp(item.sent_at);
    let sent = if context.screen.tty {
        format!("{} ({at})", when(&context.screen, item.sent_at))
    } else {
        at
    };
    facts.add("Sent", sent);
    facts.add("Id", item.id);
    facts.maybe("Task", item.task_id.as_ref());
    if let Some(chain) = &item.chain {
        task::show::chain(&mut facts, chain);
    }
    facts.maybe("Answers", item.reply_to.as_ref());
    facts
}

/// What is no text, a line each, by its place among the parts.
pub(in crate::commands) fn attachments(screen: &Screen, message: &A2aObject) -> String {
    let mut lines = String::new();
    for (at, (content, part)) in message.parts().enumerate() {
        let what = match content {
            Content::Text(_) => continue,
            Content::Raw(raw) => format!("{} bytes", raw.len() / 4 * 3 - padding(raw)),
            Content::Url(url) => url.to_owned(),
            Content::Data(_) => "JSON".to_owned(),
        };
        let row =
            format!("  {}  {what}{}{}", at + 1, word(part, "filename"), word(part, "mediaType"));
        let row = line(&row);
        lines += &if screen.tty { cut(&row, screen.width) } else { row };
        lines.push('\n');
    }
    lines
}

fn padding(base64: &str) -> usize {
    base64.bytes().rev().take_while(|byte| *byte == b'=').count().min(base64.len() / 4 * 3)
}

fn word(part: &Map<String, Value>, name: &str) -> String {
    part.get(name).and_then(Value::as_str).map(|text| format!("  {text}")).unwrap_or_default()
}

fn sent(context: &Context, to: &str, history: &[StageAt]) -> String {
    let mut facts = Facts::default();
    facts.add("To", to);
    for step in history {
        let code = step.code.map(|code| format!(", {code}")).unwrap_or_default();
        facts.add(stage_name(step), format!("{}{code}", when(&context.screen, step.at)));
    }
    facts.render(&context.screen)
}

const fn stage_name(step: &StageAt) -> &'static str {
    step.stage.as_str()
}

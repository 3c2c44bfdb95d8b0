//! `messaging export`.
//! Spec: D6.4

mod folder;
mod html;
mod jsonl;
mod manifest;
mod mbox;

use std::path::PathBuf;

use clap::ValueEnum;
use clap_complete::ArgValueCompleter;
use messaging_core::time::Ms;
use messaging_ipc::call;
use messaging_ipc::params::Nothing;
use messaging_ipc::params::archive::ExportMail;
use messaging_ipc::results::archive::{Held, HeldPage};
use messaging_ipc::scalars::{Count, Str};
use serde_json::json;

use crate::address::Recipient;
use crate::complete;
use crate::context::{Context, Link};
use crate::exit::Exit;
use crate::fault::Fault;
use crate::render::{Report, instant};

use folder::{File, Folder};
use manifest::Manifest;

/// Write everything that this machine holds of your correspondence into a folder
///
/// Your agents' mail, that which came and, unless `retention.sentText` is off, that which was sent, and the lines of
/// direct conversations and channels, oldest first. Reading it this way marks nothing as read and tells nobody. Beside
/// it stands manifest.json, with the size and SHA-256 of each file. Nothing that is there is written over, and a
/// failure leaves nothing behind.
///
/// Examples:
///   messaging export --format jsonl --to backup
///   messaging export --format html --to bob --with bob --since 7d
///   messaging export --format mbox --to mail --since 2026-01-01
///
/// See also: messaging mail search, messaging read --save
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Export {
    /// What to write
    #[arg(long, value_name = "FORMAT")]
    format: Format,
    /// The folder, which is made when it is missing
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
    /// Only with this person or this agent, or in this channel
    #[arg(long, value_name = "WHO", add = ArgValueCompleter::new(complete::recipients))]
    with: Option<String>,
    /// Only from then on: 7d, 12h, 30m, a date, or a time as 2026-01-31T12:00:00Z
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// messages.jsonl: one JSON object for each message, with every byte of it.
    Jsonl,
    /// messages.mbox: mail with its attachments, for a mail program.
    Mbox,
    /// index.html to look at, and messages.jsonl with every byte.
    Html,
}

impl Format {
    const fn word(self) -> &'static str {
        match self {
            Self::Jsonl => "jsonl",
            Self::Mbox => "mbox",
            Self::Html => "html",
        }
    }
}

/// The files of one format.
struct Sinks {
    jsonl: Option<File>,
    mbox: Option<(mbox::Writer, File)>,
    html: Option<File>,
}

impl Export {
    pub(crate) async fn run(self, context: &Context) -> Result<Report, Fault> {
        let since =
            self.since.as_deref().map(|text| instant(context.screen.now, text)).transpose()?;
        let with = self.with.as_deref().map(Recipient::parse).transpose()?;
        let link = context.connect().await?;
        let with = match with {
            Some(with) => Some(with.resolve(&link).await?),
            None => None,
        };
        let identity = link.call::<call::DaemonStatus>(&Nothing {}).await?.identity;
        let me = identity.map(|identity| format!("{}@{}", identity.person, identity.label));
        let mut folder = Folder::open(&self.to)?;
        let mut sinks = Sinks {
            jsonl: match self.format {
                Format::Jsonl | Format::Html => Some(folder.file("messages.jsonl")?),
                Format::Mbox => None,
            },
            mbox: match self.format {
                Format::Mbox => {
                    let me = me.clone().unwrap_or_default();
                    Some((mbox::Writer::new(me), folder.file("messages.mbox")?))
                }
                Format::Jsonl | Format::Html => None,
            },
            html: match self.format {
                Format::Html => Some(folder.file("index.html")?),
                Format::Jsonl | Format::Mbox => None,
            },
        };
        // Its name is taken from the start, so that nothing is found in the way at the end.
        let list = folder.file("manifest.json")?;
        let mut manifest = Manifest::new(self.format.word(), context.screen.now, me);
        manifest.with = with.as_ref().map(ToString::to_string);
        manifest.since = since;
        let ask = ExportMail { with, since, cursor: None, limit: Count::default() };
        context.step("reading the mail", copy(&link, ask, &mut sinks, &mut manifest)).await?;
        sinks.end(&mut manifest)?;
        manifest.write(list)?;
        folder.keep()?;
        let text = format!("{} messages\n", manifest.messages);
        let mut result = manifest.json();
        result["folder"] = json!(self.to.to_string_lossy());
        let report = Report::new(result, text);
        Ok(match manifest.without_text {
            0 => Report { exit: Exit::Done, ..report },
            some => report.noting(format!(
                "{some} were sent while no copies were kept: they are without their text."
            )),
        })
    }
}

async fn copy(
    link: &Link<'_>,
    mut ask: ExportMail,
    sinks: &mut Sinks,
    manifest: &mut Manifest,
) -> Result<(), Fault> {
    sinks.begin()?;
    loop {
        let HeldPage { entries, cursor } = link.call::<call::MailExport>(&ask).await?;
        for entry in &entries {
            manifest.count(entry);
            sinks.entry(entry)?;
        }
        match cursor {
            Some(cursor) => ask.cursor = Some(Str::new(cursor)?),
            None => return Ok(()),
        }
    }
}

impl Sinks {
    fn begin(&mut self) -> Result<(), Fault> {
        match &mut self.html {
            Some(file) => file.write(html::HEAD.as_bytes()),
            None => Ok(()),
        }
    }

    fn entry(&mut self, entry: &Held) -> Result<(), Fault> {
        if let Some(file) = &mut self.jsonl {
            file.write(jsonl::line(entry).as_bytes())?;
        }
        if let Some((writer, file)) = &mut self.mbox {
            file.write(writer.message(entry)?.as_bytes())?;
        }
        if let Some(file) = &mut self.html {
            file.write(html::entry(entry).as_bytes())?;
        }
        Ok(())
    }

    fn end(self, manifest: &mut Manifest) -> Result<(), Fault> {
        let Self { jsonl, mbox, html } = self;
        if let Some(mut file) = html {
            file.write(html::FOOT.as_bytes())?;
            manifest.files.push(file.end()?);
        }
        for file in [jsonl, mbox.map(|(_, file)| file)].into_iter().flatten() {
            manifest.files.push(file.end()?);
        }
        Ok(())
    }
}

/// When a message was, for every format.
fn at(entry: &Held) -> Ms {
    match entry {
        Held::Mail(mail) => mail.at,
        Held::Line(line) => line.at,
    }
}

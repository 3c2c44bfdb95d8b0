//! `messaging daemon install`.
//! Spec: §8.1 "Process"

use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::Path;

use messaging_core::code::Code;
use messaging_core::peer_text::terminal_safe;
use serde_json::json;

use super::service::Keeper;
use crate::context::Context;
use crate::fault::Fault;
use crate::render::Report;

/// Write the file by which this system keeps the daemon running
///
/// A unit of your systemd, or an agent of your launchd. Nothing is started: the command that does it is shown. A file that
/// somebody else wrote is left alone.
///
/// Examples:
///   messaging daemon install
///   messaging daemon install --print
///
/// See also: messaging daemon uninstall, messaging daemon start
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Install {
    /// Print the file instead of writing it
    #[arg(long)]
    print: bool,
    /// For whom the file is; this system's keeper when left out
    #[arg(long, value_enum, value_name = "KEEPER")]
    keeper: Option<Keeper>,
}

impl Install {
    pub(crate) fn run(self, context: &Context) -> Result<Report, Fault> {
        let keeper = Keeper::of(self.keeper)?;
        let text = keeper.text(context)?;
        let file = keeper.file(&context.environment)?;
        let shown = file.display().to_string();
        if self.print {
            return Ok(Report::new(json!({"file": shown, "text": text}), text));
        }
        let before = fs::read_to_string(&file);
        let written = match before {
            Ok(old) if old == text => false,
            Ok(old) if !Keeper::wrote(&old) => return Err(not_ours(&shown)),
            Ok(_) => true,
            Err(error) if error.kind() == ErrorKind::NotFound => true,
            Err(_) => return Err(not_ours(&shown)),
        };
        if written {
            replace(&file, &text).map_err(|_| {
                Fault::local(
                    "the service file could not be written",
                    "print it with --print, and put it in its place yourself.",
                )
            })?;
        }
        let word = if written { "written" } else { "there already" };
        let said = format!(
            "{}: {word}\nTo start it: {}\n{}\n",
            terminal_safe(&shown),
            keeper.begin(),
            keeper.at_logout()
        );
        let document = json!({"file": shown, "written": written, "start": keeper.begin()});
        Ok(Report::new(document, said))
    }
}

pub(super) fn not_ours(file: &str) -> Fault {
    let message = format!("{} was not written by this program", terminal_safe(file));
    Fault::new(Code::InvalidState, message).next("move the file away, or look after it yourself.")
}

/// In one step, so that nobody starts half a file.
fn replace(file: &Path, text: &str) -> std::io::Result<()> {
    let folder = file.parent().ok_or(ErrorKind::InvalidInput)?;
    fs::create_dir_all(folder)?;
    let mut staged = tempfile::NamedTempFile::new_in(folder)?;
    staged.write_all(text.as_bytes())?;
    staged.as_file().sync_all()?;
    staged.persist(file)?;
    Ok(())
}

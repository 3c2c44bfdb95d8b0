//! `messaging man`.
//! Spec: D6.1 "Man pages"

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Stdio};

use serde_json::json;

use crate::context::Context;
use crate::fault::Fault;
use crate::pager;
use crate::program::{self, Siblings};
use crate::reference;
use crate::render::Report;

/// Show a manual page, or write all of them into a folder
///
/// Examples:
///   messaging man
///   messaging man team invite
///   messaging man --dir /usr/local/share/man/man1
///
/// See also: messaging help, messaging completions
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Man {
    /// The command; all of `messaging` when left out
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,
    /// Write messaging.1, messaging-<command>.1 and the pages of the other programs into this folder
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    dir: Option<PathBuf>,
}

impl Man {
    pub(crate) fn run(self, context: &Context, siblings: &Siblings) -> Result<Report, Fault> {
        match &self.dir {
            Some(folder) => write_all(folder, siblings),
            None => self.show(context),
        }
    }

    fn show(&self, context: &Context) -> Result<Report, Fault> {
        let mut command = &program::command();
        for name in &self.command {
            command = command.find_subcommand(name).ok_or_else(|| {
                Fault::usage("there is no command of that name", "run `messaging help`.")
            })?;
        }
        let name = std::iter::once("messaging").chain(self.command.iter().map(String::as_str));
        let name = name.collect::<Vec<_>>().join("-");
        let page = reference::manual(&command.clone().display_name(name), "1");
        let page = String::from_utf8_lossy(&page).into_owned();
        if context.screen.tty && !context.globals.json && formatted(context, &page) {
            return Ok(Report::printed());
        }
        Ok(Report::new(json!({"page": page}), page))
    }
}

/// Shows a page through `man`, or as it is through the pager; false when neither is there.
fn formatted(context: &Context, page: &str) -> bool {
    let man = Process::new("man").args(["-l", "-"]).stdin(Stdio::piped()).spawn();
    let Ok(mut man) = man else { return pager::show(context, page) };
    if let Some(mut stdin) = man.stdin.take() {
        // A pager that is left early closes its end.
        let _ = stdin.write_all(page.as_bytes());
    }
    man.wait().is_ok_and(|status| status.success()) || pager::show(context, page)
}

fn write_all(folder: &Path, siblings: &Siblings) -> Result<Report, Fault> {
    let unwritable =
        |_| Fault::local("the folder cannot be written", "name a folder that is there and yours.");
    std::fs::create_dir_all(folder).map_err(unwritable)?;
    let mut pages = Vec::new();
    reference::each(&program::command(), &mut |name, command| {
        let name = name.replace(' ', "-");
        pages.push((
            format!("{name}.1"),
            reference::manual(&command.clone().display_name(name), "1"),
        ));
    });
    for (section, command) in &siblings.commands {
        pages.push((
            format!("{}.{section}", command.get_name()),
            reference::manual(command, section),
        ));
    }
    let mut names = Vec::new();
    for (name, page) in pages {
        std::fs::write(folder.join(&name), page).map_err(unwritable)?;
        names.push(name);
    }
    let text = format!("wrote {} pages\n", names.len());
    Ok(Report::new(json!({"pages": names}), text))
}

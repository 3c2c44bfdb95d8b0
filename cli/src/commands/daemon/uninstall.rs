//! `messaging daemon uninstall`.
//! Spec: §8.1 "Process"

use std::fs;
use std::io::ErrorKind;

use messaging_core::peer_text::terminal_safe;
use serde_json::json;

use super::install::not_ours;
use super::service::Keeper;
use crate::context::Context;
use crate::fault::Fault;
use crate::render::Report;

/// Remove the file that `messaging daemon install` wrote
///
/// Nothing is stopped: the command that does it is shown. The home and everything in it stay. A file that somebody else wrote
/// is left alone.
///
/// Examples:
///   messaging daemon uninstall
///   messaging daemon uninstall --print
///
/// See also: messaging daemon install, messaging daemon stop
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Uninstall {
    /// Print which file would go instead of removing it
    #[arg(long)]
    print: bool,
    /// For whom the file was; this system's keeper when left out
    #[arg(long, value_enum, value_name = "KEEPER")]
    keeper: Option<Keeper>,
}

impl Uninstall {
    pub(crate) fn run(self, context: &Context) -> Result<Report, Fault> {
        let keeper = Keeper::of(self.keeper)?;
        let file = keeper.file(&context.environment)?;
        let shown = file.display().to_string();
        let there = match fs::read_to_string(&file) {
            Ok(text) if Keeper::wrote(&text) => true,
            Err(error) if error.kind() == ErrorKind::NotFound => false,
            Ok(_) | Err(_) => return Err(not_ours(&shown)),
        };
        let place = terminal_safe(&shown);
        if self.print || !there {
            let said = if there { format!("{place}\n") } else { format!("{place}: not there\n") };
            return Ok(Report::new(json!({"file": shown, "removed": false, "there": there}), said));
        }
        let failed =
            |_| Fault::local("the service file could not be removed", "remove it yourself.");
        fs::remove_file(&file).map_err(failed)?;
        if keeper == Keeper::Systemd
            && let Some(folder) = file.parent()
        {
            // What enabling it left: a link to what is gone.
            let link = folder.join("default.target.wants/messagingd.service");
            if fs::symlink_metadata(&link).is_ok_and(|found| found.is_symlink()) {
                fs::remove_file(link).map_err(failed)?;
            }
        }
        let document = json!({"file": shown, "removed": true, "there": true, "stop": keeper.end()});
        Ok(Report::new(document, format!("{place}: removed\nTo stop it: {}\n", keeper.end())))
    }
}

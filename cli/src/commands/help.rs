//! `messaging help`.
//! Spec: D6.1 "Help"

use serde_json::json;

use crate::fault::Fault;
use crate::program;
use crate::render::Report;

/// Print the help of a command
///
/// Examples:
///   messaging help
///   messaging help team invite
///
/// See also: messaging man, messaging completions
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Help {
    /// The command; the list of all when left out
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,
}

impl Help {
    pub(crate) fn run(self) -> Result<Report, Fault> {
        let mut root = program::command();
        root.build();
        let mut command = &root;
        for name in &self.command {
            command = command.find_subcommand(name).ok_or_else(|| {
                Fault::usage("there is no command of that name", "run `messaging help`.")
            })?;
        }
        let text = command.clone().render_help().to_string();
        Ok(Report::new(json!({"help": text}), text))
    }
}

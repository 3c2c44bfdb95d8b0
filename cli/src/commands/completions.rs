//! `messaging completions`.
//! Spec: D6.1 "Completions"

use clap::ValueEnum;

use crate::complete;
use crate::fault::Fault;
use crate::render::Report;

/// Print a script that completes commands, flags, names and ids in a shell
///
/// Names and ids come from the daemon while it runs.
///
/// Examples:
///   messaging completions bash
///   messaging completions zsh
///
/// See also: messaging man
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
    Powershell,
    Elvish,
}

impl Completions {
    pub(crate) fn run(self) -> Result<Report, Fault> {
        let name = match self.shell {
            Shell::Bash => "bash",
            Shell::Zsh => "zsh",
            Shell::Fish => "fish",
            Shell::Powershell => "powershell",
            Shell::Elvish => "elvish",
        };
        let script = complete::script(name).and_then(|script| String::from_utf8(script).ok());
        let script = script.ok_or_else(|| {
            Fault::local(
                "there is no script for that shell",
                "use one of the shells that the help names.",
            )
        })?;
        Ok(Report::new(serde_json::json!({"shell": name, "script": script}), script))
    }
}

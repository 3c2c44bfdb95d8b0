//! `messaging setup`.
//! Spec: D6.4

use std::path::{Path, PathBuf};

use messaging_core::code::Code;
use messaging_core::ids::{ChannelName, SessionName};
use serde_json::{Value, json};

use crate::context::Context;
use crate::fault::Fault;
use crate::render::{self, Report};
use crate::setup::{Action, Harness, Places, Plan, Refused, Scope, Trouble, Want};

/// Give a coding harness the messaging tools, or take them away again
///
/// Adds the MCP server to the harness's own settings and, for Claude Code and Codex, the hooks that show new mail
/// between its tool calls. The changed lines are shown first. Every other byte of the files stays as it is, what they
/// were is kept in the folder `setup` of the home, and --remove gives it back.
///
/// Examples:
///   messaging setup claude-code
///   messaging setup codex --print
///   messaging setup vscode --project
///   messaging setup claude-code --remove
///
/// See also: messaging doctor, messaging agents
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Setup {
    /// The harness
    #[arg(value_name = "HARNESS")]
    harness: Harness,
    /// Only for a folder, the present one when none is named; its file can be shared with others
    #[arg(long, value_name = "DIR", num_args = 0..=1, require_equals = true, default_missing_value = ".")]
    project: Option<PathBuf>,
    /// Take out what was added
    #[arg(long)]
    remove: bool,
    /// Show what would change, and change nothing
    #[arg(long)]
    print: bool,
    /// Leave the hooks out
    #[arg(long, conflicts_with = "remove")]
    no_hooks: bool,
    /// The name under which others write to the agent [default: mcp]
    #[arg(long, value_name = "SESSION", conflicts_with = "remove")]
    name: Option<SessionName>,
    /// A channel that the agent may use; may be given several times
    #[arg(long = "channel", value_name = "NAME", conflicts_with = "remove")]
    channels: Vec<ChannelName>,
}

impl Setup {
    pub(crate) async fn run(self, context: &Context) -> Result<Report, Fault> {
        let scope =
            match &self.project {
                Some(folder) => Scope::Project(std::path::absolute(folder).map_err(|_| {
                    Fault::usage("the path of the project is empty", "name a folder.")
                })?),
                None => Scope::User,
            };
        let want = if self.remove { None } else { Some(self.want(context, &scope)?) };
        let home = context.home()?;
        let places = places(context)?;
        let plan = Plan::new(self.harness, &scope, &places, &home, want.as_ref()).map_err(fault)?;
        if plan.is_done() {
            let text = if self.remove { "nothing of ours is there" } else { "set up already" };
            return Ok(self.report(&plan, false, format!("{}: {text}\n", self.harness.title())));
        }
        let shown = shown(&plan);
        if self.print {
            return Ok(self.report(&plan, false, shown));
        }
        context.note(shown.trim_end());
        let title = self.harness.title();
        let sentence = match self.remove {
            false => {
                format!("The lines above are written, and {title} then has the messaging tools.")
            }
            true => {
                format!("The lines above are written, and {title} then has no messaging tools.")
            }
        };
        if !context.confirm(&sentence).await? {
            return Ok(Report::declined());
        }
        plan.apply().map_err(fault)?;
        let mut text = String::new();
        for change in plan.changes.iter().filter(|change| change.action() != Action::Nothing) {
            text += &format!("{} {}\n", word(change.action()), path_of(&change.path));
            if let Some(backup) = change.backup() {
                text += &format!("  it was: {}\n", path_of(&backup));
            }
        }
        let report = self.report(&plan, true, text);
        Ok(report.noting(match self.harness {
            Harness::Codex if plan.hooks_off => {
                "Its config.toml switches hooks off, and that was left so.\nNext: start Codex again.".to_owned()
            }
            Harness::Codex if !self.remove && !self.no_hooks => {
                "Next: start Codex again, and trust the hooks when it asks.".to_owned()
            }
            _ => format!("Next: start {title} again."),
        }))
    }

    fn want(&self, context: &Context, scope: &Scope) -> Result<Want, Fault> {
        let shared = matches!(scope, Scope::Project(_));
        let program = |name: &str| match shared {
            // A file that others share names no place of this machine.
            true => Ok(name.to_owned()),
            false => found(context, name),
        };
        let mut place: Vec<String> = Vec::new();
        let named = |flag: &Option<PathBuf>, variable: &Option<PathBuf>| {
            let variable = variable.clone().filter(|_| !shared);
            flag.clone().or(variable).and_then(|path| std::path::absolute(path).ok())
        };
        let home = named(&context.globals.home, &context.environment.home);
        let run = named(&context.globals.run, &context.environment.run);
        // As everywhere, an option is nearer than a variable.
        let (option, path) = match (home, run) {
            (Some(home), _) if context.globals.run.is_none() => ("--home", Some(home)),
            (_, Some(run)) => ("--run", Some(run)),
            (home, None) => ("--home", home),
        };
        if let Some(path) = path {
            let path = path.to_str().map(str::to_owned).ok_or_else(|| {
                Fault::usage("the path of the home is no text", "name another with --home.")
            })?;
            place = vec![option.to_owned(), path];
        }
        let mut server = vec![program("messaging-mcp")?];
        server.extend(place.iter().cloned());
        if let Some(name) = &self.name {
            server.extend(["--name".to_owned(), name.to_string()]);
        }
        for channel in &self.channels {
            server.extend(["--channel".to_owned(), channel.to_string()]);
        }
        // A build without the command has no hook to call.
        let answers = crate::program::command().find_subcommand("hook").is_some();
        let hook = match answers && self.harness.has_hooks() && !self.no_hooks {
            true => {
                let mut words = vec![quoted(&program("messaging")?)];
                words.extend(["hook".to_owned(), self.harness.word().to_owned()]);
                words.extend(place.iter().map(|word| quoted(word)));
                Some(words.join(" "))
            }
            false => None,
        };
        Ok(Want { server, hook })
    }

    fn report(&self, plan: &Plan, done: bool, text: String) -> Report {
        let changes: Vec<Value> = plan
            .changes
            .iter()
            .map(|change| {
                json!({
                    "path": change.path.to_string_lossy(), "change": word(change.action()), "diff": change.diff(),
                })
            })
            .collect();
        let json = json!({"harness": self.harness.word(), "done": done, "changes": changes});
        Report::new(json, text)
    }
}

fn places(context: &Context) -> Result<Places, Fault> {
    let environment = &context.environment;
    let user = environment
        .user
        .clone()
        .ok_or_else(|| Fault::usage("there is no folder of the user's", "set HOME."))?;
    Ok(Places {
        config: environment.config.clone().unwrap_or_else(|| user.join(".config")),
        claude: environment.claude.clone(),
        codex: environment.codex.clone(),
        mac: cfg!(target_os = "macos"),
        user,
    })
}

/// A program by its place: the first on PATH, because that name stays when a package is renewed, else beside this one.
fn found(context: &Context, name: &str) -> Result<String, Fault> {
    let path = context.environment.path.clone().unwrap_or_default();
    let own = std::env::current_exe().ok();
    let own = own.as_deref().and_then(Path::parent).map(Path::to_path_buf);
    let folders = std::env::split_paths(&path).filter(|folder| folder.is_absolute()).chain(own);
    let found = folders.map(|folder| folder.join(name)).find(|file| file.is_file());
    found.and_then(|file| file.to_str().map(str::to_owned)).ok_or_else(|| {
        Fault::new(Code::NotFound, format!("{name} is neither on PATH nor beside this program"))
            .next("install it, or put it on PATH.")
    })
}

/// A word as a shell reads it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@:,=".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

fn shown(plan: &Plan) -> String {
    let mut text = String::new();
    for change in plan.changes.iter().filter(|change| change.action() != Action::Nothing) {
        text += &format!("{} {}\n", word(change.action()), path_of(&change.path));
        for row in change.diff() {
            text += &format!("  {}\n", render::line(&row));
        }
    }
    text
}

const fn word(action: Action) -> &'static str {
    match action {
        Action::Nothing => "unchanged",
        Action::Create => "create",
        Action::Edit => "edit",
        Action::Delete => "delete",
    }
}

fn path_of(path: &Path) -> String {
    render::line(&path.to_string_lossy())
}

fn fault(trouble: Trouble) -> Fault {
    let (path, what, next) = match trouble {
        Trouble::File(path, problem) => {
            let (what, next) = crate::setup::words_of(problem);
            (path, what.to_owned(), next)
        }
        Trouble::Text(path, refused) => {
            let (what, next) = match refused {
                Refused::Malformed(line, column) => (
                    format!("cannot be read at line {line}, column {column}"),
                    "mend it, then run this again.",
                ),
                Refused::Kind(key) if key.is_empty() => {
                    ("holds no object".to_owned(), "mend it, then run this again.")
                }
                Refused::Kind(key) => {
                    (format!("has something unexpected at {key}"), "mend it, then run this again.")
                }
                Refused::Twice(key) => {
                    (format!("has {key} twice"), "remove one of the two, then run this again.")
                }
                Refused::Taken(key) => (
                    format!("has another program's server at {key}"),
                    "give that one another name, then run this again.",
                ),
                Refused::Unfaithful => (
                    "cannot be written back as it is".to_owned(),
                    "add the server by hand, as docs/agents.md shows.",
                ),
            };
            (path, what, next)
        }
    };
    Fault::new(Code::InvalidState, format!("{} {what}; nothing was changed", path_of(&path)))
        .next(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_quoted_for_a_shell_when_it_must_be() {
        assert_eq!(quoted("/usr/bin/messaging"), "/usr/bin/messaging");
        assert_eq!(quoted("/my tools/it's"), r"'/my tools/it'\''s'");
        assert_eq!(quoted(""), "''");
    }
}

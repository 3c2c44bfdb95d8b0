//! The harnesses: which of their files hold servers and hooks, and in which form.
//!
//! Spec: D6.4

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use serde_json::{Value, json};

use super::edit::{self, Refused};
use super::toml;

/// A coding harness that can be set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Harness {
    /// Claude Code.
    ClaudeCode,
    /// Codex CLI.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// OpenCode.
    Opencode,
    /// Cursor.
    Cursor,
    /// Visual Studio Code.
    Vscode,
    /// Zed.
    Zed,
}

/// Whose sessions are set up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// All of this user's.
    User,
    /// Those in a folder.
    Project(PathBuf),
}

/// Where a user's settings are.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    /// The user's own folder.
    pub(crate) user: PathBuf,
    /// `XDG_CONFIG_HOME`, or `~/.config`.
    pub(crate) config: PathBuf,
    /// `CLAUDE_CONFIG_DIR`, when it is set.
    pub(crate) claude: Option<PathBuf>,
    /// `CODEX_HOME`, when it is set.
    pub(crate) codex: Option<PathBuf>,
    /// Whether applications keep their settings where macOS wants them.
    pub(crate) mac: bool,
}

/// What is to be written.
#[derive(Clone, Debug)]
pub(crate) struct Want {
    /// The server's program and its arguments.
    pub(crate) server: Vec<String>,
    /// The command line of the hook; `None` for no hooks.
    pub(crate) hook: Option<String>,
}

/// One file of a harness, and what stands in it.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) path: PathBuf,
    pub(crate) form: Form,
}

/// What a file is to the harness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Servers by name under a key of a JSON file.
    Servers { under: &'static str, shape: Shape },
    /// Hooks by event under `hooks` of a JSON file.
    Hooks,
    /// Codex's own.
    Codex,
}

/// How a server is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// `command` and `args`.
    Plain,
    /// The same with `type: stdio`.
    Typed,
    /// One list, with `type: local` and `enabled`.
    Listed,
}

/// The server's name in every file.
const NAME: &str = "messaging";
/// The events whose hooks carry messages.
const EVENTS: [&str; 4] = ["SessionStart", "UserPromptSubmit", "PostToolUse", "Stop"];
/// How long a hook may take, in seconds. It takes milliseconds.
const PATIENCE: u32 = 5;

impl Harness {
    /// Its name for people.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::ClaudeCode => "Claude Code",
            Self::Codex => "Codex",
            Self::Gemini => "Gemini CLI",
            Self::Opencode => "OpenCode",
            Self::Cursor => "Cursor",
            Self::Vscode => "VS Code",
            Self::Zed => "Zed",
        }
    }

    /// Its name on the command line.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Opencode => "opencode",
            Self::Cursor => "cursor",
            Self::Vscode => "vscode",
            Self::Zed => "zed",
        }
    }

    /// Whether it calls hooks of ours.
    pub(crate) const fn has_hooks(self) -> bool {
        matches!(self, Self::ClaudeCode | Self::Codex)
    }

    /// The files that hold its servers and hooks.
    pub(crate) fn targets(self, places: &Places, scope: &Scope) -> Vec<Target> {
        let json =
            |path: PathBuf, under, shape| Target { path, form: Form::Servers { under, shape } };
        let hooks = |path: PathBuf| Target { path, form: Form::Hooks };
        let at = |user: PathBuf, project: &str| match scope {
            Scope::User => user,
            Scope::Project(folder) => folder.join(project),
        };
        let user = &places.user;
        match self {
            Self::ClaudeCode => {
                let (servers, settings) = match &places.claude {
                    Some(folder) => (folder.join(".claude.json"), folder.join("settings.json")),
                    None => (user.join(".claude.json"), user.join(".claude/settings.json")),
                };
                vec![
                    json(at(servers, ".mcp.json"), "mcpServers", Shape::Typed),
                    hooks(at(settings, ".claude/settings.json")),
                ]
            }
            Self::Codex => {
                let folder = places.codex.clone().unwrap_or_else(|| user.join(".codex"));
                let config = at(folder.join("config.toml"), ".codex/config.toml");
                vec![
                    Target { path: config, form: Form::Codex },
                    hooks(at(folder.join("hooks.json"), ".codex/hooks.json")),
                ]
            }
            Self::Gemini => {
                let settings = at(user.join(".gemini/settings.json"), ".gemini/settings.json");
                vec![json(settings, "mcpServers", Shape::Plain)]
            }
            Self::Opencode => {
                let folder = match scope {
                    Scope::User => places.config.join("opencode"),
                    Scope::Project(folder) => folder.clone(),
                };
                // It reads either; the one that is there is the person's.
                let commented = folder.join("opencode.jsonc");
                let plain = folder.join("opencode.json");
                let path = if commented.exists() && !plain.exists() { commented } else { plain };
                vec![json(path, "mcp", Shape::Listed)]
            }
            Self::Cursor => {
                let path = at(user.join(".cursor/mcp.json"), ".cursor/mcp.json");
                vec![json(path, "mcpServers", Shape::Plain)]
            }
            Self::Vscode => {
                let settings = match places.mac {
                    true => user.join("Library/Application Support"),
                    false => places.config.clone(),
                };
                let path = at(settings.join("Code/User/mcp.json"), ".vscode/mcp.json");
                vec![json(path, "servers", Shape::Typed)]
            }
            Self::Zed => {
                let path = at(places.config.join("zed/settings.json"), ".zed/settings.json");
                vec![json(path, "context_servers", Shape::Plain)]
            }
        }
    }
}

impl Form {
    /// The file with what is wanted in it.
    pub(crate) fn set(self, text: &str, harness: Harness, want: &Want) -> Result<String, Refused> {
        match self {
            Self::Servers { under, shape } => set_server(text, under, shape, &want.server),
            Self::Hooks => match &want.hook {
                Some(command) => set_hooks(text, harness, command),
                None => remove_hooks(text, harness, None),
            },
            Self::Codex => toml::set(text, &want.server, want.hook.is_some()),
        }
    }

    /// The file without anything of ours.
    pub(crate) fn remove(self, text: &str, harness: Harness) -> Result<String, Refused> {
        match self {
            Self::Servers { under, .. } => match edit::get(text, &[under, NAME])? {
                Some(there) if is_our_server(&there) => edit::remove(text, &[under, NAME]),
                _ => Ok(text.to_owned()),
            },
            Self::Hooks => remove_hooks(text, harness, None),
            Self::Codex => toml::remove(text),
        }
    }
}

/// Whether a program is one of this project's.
pub(crate) fn is_ours(command: &str) -> bool {
    let name = Path::new(command).file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.starts_with(NAME))
}

fn is_our_server(entry: &Value) -> bool {
    match entry.get("command") {
        Some(Value::String(command)) => is_ours(command),
        Some(Value::Array(words)) => words.first().and_then(Value::as_str).is_some_and(is_ours),
        _ => false,
    }
}

fn set_server(text: &str, under: &str, shape: Shape, server: &[String]) -> Result<String, Refused> {
    let (command, args) = match server.split_first() {
        Some((command, args)) => (command, args),
        None => return Ok(text.to_owned()),
    };
    let wanted = match shape {
        Shape::Plain => json!({"command": command, "args": args}),
        Shape::Typed => json!({"type": "stdio", "command": command, "args": args}),
        Shape::Listed => json!({"type": "local", "command": server, "enabled": true}),
    };
    let Some(there) = edit::get(text, &[under, NAME])? else {
        return edit::set(text, &[under, NAME], &wanted);
    };
    if !is_our_server(&there) {
        return Err(Refused::Taken(format!("{under}.{NAME}")));
    }
    // Whatever else a person wrote into the entry stays.
    let mut text = text.to_owned();
    for (key, value) in wanted.as_object().into_iter().flatten() {
        let switch = key == "enabled" && there.get(key).is_some();
        let none = key == "args" && args.is_empty() && there.get(key).is_none();
        if !switch && !none {
            text = edit::set(&text, &[under, NAME, key], value)?;
        }
    }
    Ok(text)
}

fn set_hooks(text: &str, harness: Harness, command: &str) -> Result<String, Refused> {
    let mut text = remove_hooks(text, harness, Some(command))?;
    for event in EVENTS {
        let at = ["hooks", event];
        let groups = edit::get(&text, &at)?;
        if !ours(groups.as_ref(), harness).any(|found| found.command == command) {
            let hook = json!({"type": "command", "command": command, "timeout": PATIENCE});
            text = edit::push(&text, &at, &json!({"hooks": [hook]}))?;
        }
    }
    Ok(text)
}

/// The file without our hooks, but for the first of each event that is `keep`.
fn remove_hooks(text: &str, harness: Harness, keep: Option<&str>) -> Result<String, Refused> {
    let mut text = text.to_owned();
    for event in EVENTS {
        let groups = edit::get(&text, &["hooks", event])?;
        let all: Vec<Found> = ours(groups.as_ref(), harness).collect();
        let kept = all.iter().position(|found| Some(found.command.as_str()) == keep);
        // From the end, so that the places of the others stay.
        for (at, found) in all.iter().enumerate().rev() {
            if Some(at) == kept {
                continue;
            }
            if found.alone {
                text = edit::remove_item(&text, &["hooks", event], found.group)?;
            } else {
                let group = found.group.to_string();
                text = edit::remove_item(&text, &["hooks", event, &group, "hooks"], found.hook)?;
            }
        }
    }
    Ok(text)
}

struct Found {
    group: usize,
    hook: usize,
    /// Whether its group holds nothing else.
    alone: bool,
    command: String,
}

/// Our hooks among those of an event.
fn ours(groups: Option<&Value>, harness: Harness) -> impl Iterator<Item = Found> + '_ {
    let groups = groups.and_then(Value::as_array).into_iter().flatten().enumerate();
    groups.flat_map(move |(group, entry)| {
        let hooks = entry.get("hooks").and_then(Value::as_array);
        let alone = hooks.is_some_and(|hooks| hooks.len() == 1);
        hooks.into_iter().flatten().enumerate().filter_map(move |(hook, entry)| {
            let command = entry.get("command")?.as_str()?;
            let mark = format!(" hook {}", harness.word());
            let program = command.split(&mark).next().filter(|start| *start != command)?;
            let name = program.trim_matches(['\'', '"']).rsplit('/').next()?;
            let ours = name.starts_with(NAME);
            ours.then(|| Found { group, hook, alone, command: command.to_owned() })
        })
    })
}

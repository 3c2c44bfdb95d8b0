//! What a harness tells a hook, and how a hook answers: one table for each harness.
//! Spec: §11 "Clients"
//!
//! The shapes are the harnesses' own and move. Whatever is not understood is no event, and then the hook says nothing.

use serde::Deserialize;
use serde_json::{Value, json};

/// A program that runs coding agents and calls hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Harness {
    /// Claude Code.
    ClaudeCode,
    /// Codex.
    Codex,
    /// Gemini CLI.
    Gemini,
}

impl Harness {
    /// Every harness that has hooks.
    pub const ALL: [Self; 3] = [Self::ClaudeCode, Self::Codex, Self::Gemini];

    /// Its name on a command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
        }
    }

    /// The harness of a name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|harness| harness.name() == name)
    }

    /// The events that a hook wants to be called at, in the harness's own words: a session begins, a prompt is sent, a tool
    /// was used, a turn ends.
    #[must_use]
    pub const fn events(self) -> [&'static str; 4] {
        match self {
            Self::ClaudeCode | Self::Codex => {
                ["SessionStart", "UserPromptSubmit", "PostToolUse", "Stop"]
            }
            Self::Gemini => ["SessionStart", "BeforeAgent", "AfterTool", "AfterAgent"],
        }
    }

    /// Text that the model reads beside what the event is about.
    #[must_use]
    pub fn context(self, event: &Event, text: &str) -> Value {
        json!({"hookSpecificOutput": {"hookEventName": event.name, "additionalContext": text}})
    }

    /// Lets the agent go on, with this text.
    #[must_use]
    pub fn hold(self, text: &str) -> Value {
        let decision = match self {
            Self::ClaudeCode | Self::Codex => "block",
            Self::Gemini => "deny",
        };
        json!({"decision": decision, "reason": text})
    }

    /// Reads what a harness writes to a hook; `None` for what is no event that a hook answers.
    #[must_use]
    pub fn read(self, input: &[u8]) -> Option<Event> {
        // It is the host's own JSON and not the wire's: its tools' results are as deep and as odd as they like.
        let raw: Raw = serde_json::from_slice(input).ok()?;
        let is_named = (1..=256).contains(&raw.session_id.len());
        if !is_named || raw.agent_id.is_some() {
            // A helper inside the agent is not who the mail is for.
            return None;
        }
        let at = self.events().iter().position(|event| *event == raw.hook_event_name)?;
        let moment = match at {
            0 => Moment::Start { afresh: raw.source.as_deref().is_none_or(|it| it == "startup") },
            1 => Moment::Prompt(raw.prompt.unwrap_or_default()),
            2 => Moment::Tool { ours: raw.tool_name.is_some_and(|name| is_ours(&name)) },
            _ => Moment::Stop { going_on: raw.stop_hook_active.unwrap_or(true) },
        };
        Some(Event { conversation: raw.session_id, name: self.events().get(at)?, moment })
    }
}

/// The members that are looked at. Everything else is skipped unread.
#[derive(Deserialize)]
struct Raw {
    session_id: String,
    hook_event_name: String,
    source: Option<String>,
    prompt: Option<String>,
    tool_name: Option<String>,
    stop_hook_active: Option<bool>,
    agent_id: Option<serde::de::IgnoredAny>,
}

/// One call of a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The harness's id of the conversation.
    pub conversation: String,
    /// The event, in the harness's words.
    pub name: &'static str,
    /// What it means.
    pub moment: Moment,
}

/// A moment of an agent's work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Moment {
    /// A conversation begins: afresh, or one that the same process goes on with in another way.
    Start {
        /// Whether nothing was before.
        afresh: bool,
    },
    /// A prompt was sent.
    Prompt(String),
    /// A tool was used.
    Tool {
        /// Whether it was one of ours, whose results say themselves what is new.
        ours: bool,
    },
    /// A turn ends.
    Stop {
        /// Whether the agent goes on already because a hook said so.
        going_on: bool,
    },
}

impl Moment {
    /// Whether a person sent the prompt. What a host puts into a conversation by itself comes as a tag: another agent's
    /// message, a helper's result. A person who begins with a tag is not seen as one, which costs nothing but that.
    #[must_use]
    pub fn is_persons(&self) -> bool {
        let Self::Prompt(text) = self else { return false };
        let mut letters = text.trim_start().chars();
        !(letters.next() == Some('<') && letters.next().is_some_and(|c| c.is_ascii_alphabetic()))
    }
}

/// Whether a tool of this name is one of the eight, under whatever prefix its server has.
fn is_ours(name: &str) -> bool {
    const TOOLS: &[&str] =
        &["contacts", "inbox", "read", "search", "send", "task_cancel", "task_update", "tasks"];
    name.rsplit_once("messaging_").is_some_and(|(_, tool)| TOOLS.contains(&tool))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fixture_is_read_as_it_is_meant() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
        let mut count = 0;
        for harness in Harness::ALL {
            for file in std::fs::read_dir(folder.join(harness.name())).unwrap() {
                let path = file.unwrap().path();
                let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
                let read = harness.read(&std::fs::read(&path).unwrap());
                let (event, variant) = name.split_once('-').unwrap_or((&name, ""));
                let moment = read.as_ref().map(|event| &event.moment);
                let fits = match (event, variant) {
                    ("start", "startup") => moment == Some(&Moment::Start { afresh: true }),
                    ("start", _) => moment == Some(&Moment::Start { afresh: false }),
                    ("prompt", "pushed") => moment.is_some_and(|it| !it.is_persons()),
                    ("prompt", _) => moment.is_some_and(Moment::is_persons),
                    ("tool", "ours") => moment == Some(&Moment::Tool { ours: true }),
                    ("tool", _) => moment == Some(&Moment::Tool { ours: false }),
                    ("stop", "again") => moment == Some(&Moment::Stop { going_on: true }),
                    ("stop", _) => moment == Some(&Moment::Stop { going_on: false }),
                    ("other", _) => moment.is_none(),
                    _ => false,
                };
                assert!(fits, "{}: {read:?}", path.display());
                count += 1;
            }
        }
        assert!(count >= 24, "{count}");
    }

    #[test]
    fn what_is_not_understood_is_no_event() {
        for bad in [
            "",
            "null",
            "[]",
            "7",
            "{",
            r#"{"session_id":1,"hook_event_name":"Stop"}"#,
            r#"{"session_id":"s"}"#,
            r#"{"hook_event_name":"Stop"}"#,
            r#"{"session_id":"s","hook_event_name":"Later"}"#,
            r#"{"session_id":"","hook_event_name":"Stop"}"#,
            r#"{"session_id":"s","hook_event_name":"UserPromptSubmit","prompt":{"text":"x"}}"#,
            r#"{"session_id":"s","hook_event_name":"PostToolUse","agent_id":"a1","tool_name":"Read"}"#,
        ] {
            for harness in Harness::ALL {
                assert_eq!(harness.read(bad.as_bytes()), None, "{bad}");
            }
        }
        let deep = format!(
            r#"{{"session_id":"s","hook_event_name":"PostToolUse","tool_response":{}{}}}"#,
            "[".repeat(5_000),
            "]".repeat(5_000)
        );
        // Too deep is not understood either, and nothing else happens.
        let _ = Harness::ClaudeCode.read(deep.as_bytes());
    }

    #[test]
    fn a_stop_that_does_not_say_whether_it_goes_on_is_never_held() {
        let input = br#"{"session_id":"s","hook_event_name":"Stop"}"#;
        let event = Harness::ClaudeCode.read(input).unwrap();
        assert_eq!(event.moment, Moment::Stop { going_on: true });
    }

    #[test]
    fn our_tools_are_known_under_any_prefix() {
        for name in ["mcp__messaging__messaging_inbox", "messaging_read", "mcp_x_messaging_tasks"] {
            assert!(is_ours(name), "{name}");
        }
        for name in ["Read", "mcp__messaging__other", "messaging_", "messaging_readme"] {
            assert!(!is_ours(name), "{name}");
        }
    }
}

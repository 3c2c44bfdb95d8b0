//! How the story is told: step by step to a person, or as one document at its end.
//! Spec: D6.7

use std::io::Write as _;
use std::time::Duration;

use messaging_core::peer_text::terminal_safe;

use crate::context::Context;
use crate::screen::Style;

/// Tells a person what happens; says nothing when one document is wanted.
pub(super) struct Teller<'a> {
    context: &'a Context,
    pause: Duration,
    step: u32,
}

impl<'a> Teller<'a> {
    pub(super) fn new(context: &'a Context, pause: Duration) -> Self {
        Self { context, pause, step: 0 }
    }

    /// Begins the next step.
    pub(super) async fn step(&mut self, title: &str) {
        if self.step > 0 {
            tokio::time::sleep(self.pause).await;
        }
        self.step += 1;
        let title = self.context.screen.paint(Style::Strong, title);
        self.say(&format!("\n{}. {title}\n", self.step));
    }

    /// One thing that can be seen now.
    pub(super) fn fact(&self, name: &str, value: impl std::fmt::Display) {
        let value = terminal_safe(&value.to_string());
        let name = self.context.screen.paint(Style::Dim, &format!("{name:<14}"));
        self.say(&format!("   {name}  {}\n", value.replace('\n', "\n                   ")));
    }

    fn say(&self, text: &str) {
        if !self.context.globals.json {
            let mut stdout = std::io::stdout();
            // Nobody listens any more: the story still ends well.
            let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
        }
    }
}

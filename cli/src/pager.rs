//! Long text through the person's pager.
//! Spec: D6.1 "Pager"

use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::context::Context;

/// Shows `text` through `$PAGER` on a terminal; false when there is none, and the text is still to be printed.
pub(crate) fn show(context: &Context, text: &str) -> bool {
    let Some(pager) = context.environment.pager.as_ref().filter(|_| context.screen.tty) else {
        return false;
    };
    // The variable holds a command line, as every program that reads it expects.
    let started = Command::new("/bin/sh").arg("-c").arg(pager).stdin(Stdio::piped()).spawn();
    let Ok(mut child) = started else { return false };
    if let Some(mut stdin) = child.stdin.take() {
        // A pager that is left early closes its end.
        let _ = stdin.write_all(text.as_bytes());
    }
    child.wait().is_ok()
}

//! `messaging config path`.
//! Spec: D6.4

use serde_json::json;

use crate::context::Context;
use crate::fault::Fault;
use crate::render::Report;

/// Print where the settings are
///
/// Examples:
///   messaging config path
///   messaging config path --home /srv/messaging
///
/// See also: messaging config check
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Path {}

impl Path {
    pub(crate) fn run(self, context: &Context) -> Result<Report, Fault> {
        let path = context.home()?.join("config.json").display().to_string();
        let text = messaging_core::peer_text::terminal_safe(&path) + "\n";
        Ok(Report::new(json!({"path": path}), text))
    }
}

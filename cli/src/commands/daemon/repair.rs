//! `messaging daemon repair`.
//! Spec: §8.8, D6.6; the repair is ours

use messaging_core::json;
use serde_json::Value;

use crate::context::Context;
use crate::control;
use crate::fault::Fault;
use crate::render::Report;

/// Mend a damaged store while the daemon is stopped
///
/// Everything that can be read goes into a new store. The old one is kept beside it, as messaging.db.damaged-<time>. A store
/// that is sound is left as it is.
///
/// Examples:
///   messaging daemon repair
///   messaging daemon repair --json
///
/// See also: messaging doctor, messaging snapshot
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Repair {}

/// The longest word of the daemon on what it did, bytes.
const WORD_BYTES: usize = 65_536;

impl Repair {
    pub(crate) async fn run(self, context: &Context) -> Result<Report, Fault> {
        let word = context.step("reading the store", control::repair(context)).await?;
        let told = json::parse(&word, WORD_BYTES)
            .map_err(|_| Fault::local("the repair said nothing", "run `messaging doctor`."))?;
        let text = told_text(&told);
        Ok(Report::new(told, text))
    }
}

fn told_text(told: &Value) -> String {
    if told["repaired"] != true {
        return "the store is sound; nothing was changed\n".to_owned();
    }
    let mut text = match told["rows"].as_u64() {
        Some(rows) => format!("{rows} rows saved"),
        None => "a repair that had not ended is ended".to_owned(),
    };
    let lost: Vec<&str> =
        told["lost"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if !lost.is_empty() {
        text += &format!("; some are lost of: {}", lost.join(", "));
    }
    if let Some(aside) = told["aside"].as_str() {
        text += &format!("\nthe old store is kept as {aside}");
    }
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn it_says_what_was_saved_what_was_lost_and_where_the_old_one_is() {
        assert_eq!(
            told_text(&json!({"repaired": false})),
            "the store is sound; nothing was changed\n"
        );
        let aside = "messaging.db.damaged-7";
        assert_eq!(
            told_text(
                &json!({"repaired": true, "rows": 5, "lost": ["inbox", "sent"], "aside": aside})
            ),
            "5 rows saved; some are lost of: inbox, sent\nthe old store is kept as messaging.db.damaged-7\n"
        );
        assert_eq!(
            told_text(&json!({"repaired": true, "aside": aside, "resumed": true})),
            "a repair that had not ended is ended\nthe old store is kept as messaging.db.damaged-7\n"
        );
    }
}

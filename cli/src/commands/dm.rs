//! `messaging dm`.
//! Spec: D6.4

use clap_complete::ArgValueCompleter;

use super::chat::View;
use super::send::Letter;
use crate::address::Recipient;
use crate::complete;
use crate::context::Context;
use crate::fault::Fault;
use crate::render::Report;

/// Write to a person, or read what you wrote to each other
///
/// With a text it is `messaging send`; without, `messaging chat`.
///
/// Examples:
///   messaging dm bob "Lunch?"
///   messaging dm bob --follow
///
/// See also: messaging chat, messaging send
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Dm {
    /// The person
    #[arg(value_name = "PERSON", add = ArgValueCompleter::new(complete::persons))]
    person: String,
    /// The text; `-` reads standard input
    #[arg(value_name = "TEXT", allow_hyphen_values = true, conflicts_with = "view")]
    text: Option<String>,
    #[command(flatten)]
    view: View,
}

impl Dm {
    pub(crate) async fn run(self, context: &Context) -> Result<Report, Fault> {
        let whom = Recipient::parse(&self.person)?;
        if !whom.is_person() {
            return Err(Fault::usage(
                "this is no person",
                "name a person, as in bob; `messaging send` takes agents and channels.",
            ));
        }
        match self.text {
            Some(text) => Letter::line_to(self.person, text).send_line(context, whom).await,
            None => self.view.show(context, whom).await,
        }
    }
}

//! `messaging contact card`.
//! Spec: D6.4, §6.9 "Cards"

use clap_complete::ArgValueCompleter;
use messaging_ipc::call;
use messaging_ipc::params::people::OnePerson;

use crate::address::Recipient;
use crate::complete;
use crate::context::Context;
use crate::fault::Fault;
use crate::render::Report;

/// Ask a person's machines anew what they take from you
///
/// At most once a day. The answer shows in `messaging contact list`.
///
/// Examples:
///   messaging contact card bob
///   messaging contact card bob --json
///
/// See also: messaging people show, messaging contact list
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Card {
    /// The person
    #[arg(value_name = "PERSON", add = ArgValueCompleter::new(complete::persons))]
    person: String,
}

impl Card {
    pub(super) async fn run(self, context: &Context) -> Result<Report, Fault> {
        let whom = Recipient::parse(&self.person)?;
        let link = context.connect().await?;
        let person = whom.person(&link).await?;
        let asked = link.call::<call::CardGet>(&OnePerson { person: person.clone() }).await?;
        let text = if asked.sent {
            format!("asked {person}\n")
        } else {
            format!("{person} was asked within the last day\n")
        };
        Ok(Report::of(&asked, text))
    }
}

//! `messaging contact request`.
//! Spec: D6.4, §6.9 "Message requests"

use clap_complete::ArgValueCompleter;
use messaging_core::code::Code;
use messaging_core::ids::Ulid;
use messaging_ipc::call;
use messaging_ipc::params::people::{ContactPreview, ContactRequest};
use messaging_ipc::scalars::{Email, Str};

use crate::address::room_name;
use crate::body;
use crate::complete;
use crate::context::Context;
use crate::fault::Fault;
use crate::render::Report;

/// Ask somebody outside your organisation to accept your lines
///
/// They are found by their exact email, if they allow that. Until they accept, they see this text and nothing else.
/// In a team everybody can write to everybody: then there is nothing to ask.
///
/// Examples:
///   messaging contact request carol@example.com "Bob said you know the parser."
///   messaging contact request carol@example.com - < letter.txt
///
/// See also: messaging request list, messaging people search
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Request {
    /// Their exact email
    #[arg(value_name = "EMAIL", value_parser = email)]
    email: Email,
    /// What you write; `-` reads standard input
    #[arg(value_name = "TEXT", allow_hyphen_values = true)]
    text: Option<String>,
    /// The suggestion of one of your agents that this settles
    #[arg(long, value_name = "ID", add = ArgValueCompleter::new(complete::requests))]
    suggestion: Option<Ulid>,
}

fn email(text: &str) -> Result<Email, &'static str> {
    Email::parse(text).map_err(|_| "no email")
}

impl Request {
    pub(super) async fn run(self, context: &Context) -> Result<Report, Fault> {
        let text = body::line(context, self.text).await?;
        let text = Str::new(text)
            .map_err(|_| Fault::usage("the text is empty or too long", "write a few sentences."))?;
        let link = context.connect().await?;
        let look = ContactPreview {
            email: self.email.clone(),
            text: Some(text.clone()),
            suggestion: self.suggestion,
        };
        let preview = link.call::<call::ContactRequestPreview>(&look).await;
        let preview = preview.map_err(|fault| match fault.code {
            Code::InvalidRequest => fault.next("write to them with `messaging dm <person>`."),
            _ => fault,
        })?;
        if !preview.found {
            return Err(Fault::new(
                Code::NotFound,
                "no Messaging user with that email accepts requests",
            ));
        }
        let sentence = format!(
            "Ask {} to accept your lines; they see your name and this text.",
            self.email.as_str()
        );
        if !context.confirm(&sentence).await? {
            return Ok(Report::declined());
        }
        let request = ContactRequest { email: self.email, text, suggestion: self.suggestion };
        let sent = link.call::<call::ContactRequest>(&request).await?;
        let text = format!("asked {}\n", room_name(&sent.conversation));
        Ok(Report::of(&sent, text))
    }
}

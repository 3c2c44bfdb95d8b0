//! `messaging people search`.
//! Spec: D6.4

use messaging_core::peer_text::PeerText;
use messaging_ipc::call;
use messaging_ipc::params::people::{PeopleQuery, Search as Params};
use messaging_ipc::scalars::{Count, Email, Str};
use messaging_ipc::shapes::{Person, Relation};

use crate::context::Context;
use crate::fault::Fault;
use crate::render::{Cell, Report, Table};

/// Find persons by the start of their name, or by a whole email
///
/// In a team the names are its members'.
///
/// Examples:
///   messaging people search bo
///   messaging people search bob@example.com --json
///
/// See also: messaging people show, messaging contact list
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Search {
    /// The start of a name, or an email
    #[arg(value_name = "QUERY", value_parser = query)]
    query: PeopleQuery,
    /// At most this many
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=25))]
    limit: u64,
}

fn query(text: &str) -> Result<PeopleQuery, &'static str> {
    if let Ok(email) = Email::parse(text) {
        return Ok(PeopleQuery::Email(email));
    }
    Str::new(text.to_owned()).map(PeopleQuery::Name).map_err(|_| "1 to 64 characters")
}

impl Search {
    pub(super) async fn run(self, context: &Context) -> Result<Report, Fault> {
        let link = context.connect().await?;
        let search = Params { query: self.query, limit: Count::clamped(self.limit) };
        let found = link.call::<call::PeopleSearch>(&search).await?;
        let mut table = Table::new(
            &["PERSON", "NAME", "EMAIL", "ORGANISATION", "RELATION", "ONLINE"],
            "Nobody of that name.",
        );
        for person in &found.persons {
            table.row(row(person));
        }
        let report = Report::of(&found, table.render(&context.screen));
        Ok(if found.more {
            report.noting("There are more: name more of the name.")
        } else {
            report
        })
    }
}

fn row(person: &Person) -> [Cell; 6] {
    let text = |text: &Option<PeerText>| text.as_ref().map_or_else(Cell::empty, Cell::peer);
    [
        Cell::id(&person.person),
        text(&person.name),
        text(&person.email),
        text(&person.org),
        Cell::new(relation(person.relation)),
        person.online.map_or_else(Cell::empty, |yes| Cell::new(if yes { "yes" } else { "no" })),
    ]
}

/// How a person stands to the reader.
pub(super) const fn relation(relation: Relation) -> &'static str {
    match relation {
        Relation::Own => "you",
        Relation::Org => "your organisation",
        Relation::Contact => "contact",
        Relation::Stranger => "stranger",
    }
}

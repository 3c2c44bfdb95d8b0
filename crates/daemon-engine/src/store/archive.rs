//! Everything of a person's correspondence that this machine holds, read over `inbox`, `sent` and `lines` in the order of time.
//! Spec: D3.29

use messaging_core::ids::{Label, PersonId, SessionName, Ulid};
use messaging_core::time::Ms;
use messaging_store::{StoreError, View, params};
use serde::{Deserialize, Serialize};

use super::columns::Columns;

/// Which table holds a message. The order decides between messages of one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Table {
    /// It arrived.
    #[serde(rename = "i")]
    Inbox,
    /// It was sent.
    #[serde(rename = "s")]
    Sent,
    /// It is a line of the transcript.
    #[serde(rename = "l")]
    Lines,
}

/// Where one message stands in the order of time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Place {
    /// When it arrived, was sent, or was filed.
    pub(crate) at: Ms,
    pub(crate) id: Ulid,
    pub(crate) table: Table,
}

/// What agents wrote to each other.
pub(crate) const MAIL: &[Table] = &[Table::Inbox, Table::Sent];
/// Everything.
pub(crate) const ALL: &[Table] = &[Table::Inbox, Table::Sent, Table::Lines];

/// Which messages are looked at.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Filter<'a> {
    pub(crate) since: Ms,
    /// The lines of this channel, and nothing else.
    pub(crate) channel: Option<Ulid>,
    pub(crate) person: Option<&'a PersonId>,
    pub(crate) agent: Option<&'a SessionName>,
    pub(crate) label: Option<&'a Label>,
}

/// The places of at most `limit` messages of these tables in one direction of time, from behind `from` on, where one is named.
pub(crate) fn places(
    view: &View<'_>,
    tables: &[Table],
    filter: &Filter<'_>,
    newest_first: bool,
    from: Option<&Place>,
    limit: usize,
) -> Result<Vec<Place>, StoreError> {
    let mut places = Vec::new();
    for table in tables {
        places.extend(of_table(view, *table, filter, newest_first, from, limit)?);
    }
    places.sort();
    if newest_first {
        places.reverse();
    }
    places.truncate(limit);
    Ok(places)
}

fn of_table(
    view: &View<'_>,
    table: Table,
    filter: &Filter<'_>,
    newest_first: bool,
    from: Option<&Place>,
    limit: usize,
) -> Result<Vec<Place>, StoreError> {
    let (name, at, person, agent, label, more) = match table {
        Table::Inbox => {
            ("inbox", "arrived_at", "from_person", "from_agent", "from_label", "?8 IS NULL")
        }
        Table::Sent => ("sent", "ts", "to_person", "to_agent", "to_label", SENT_BY_AGENTS),
        Table::Lines => ("lines", "filed_at", DM_PERSON, THEIR_AGENT, "label", OF_A_ROOM),
    };
    let (order, beyond) = if newest_first { ("DESC", "<") } else { ("ASC", ">") };
    // The message of the cursor itself may stand in another table, too.
    let same = from
        .is_some_and(|place| if newest_first { table < place.table } else { table > place.table });
    let beyond = if same { format!("{beyond}=") } else { beyond.to_owned() };
    let beyond = match from {
        Some(_) => format!("({at}, id) {beyond} (?5, ?6)"),
        None => "?5 IS NULL AND ?6 IS NULL".to_owned(),
    };
    view.rows(
        &format!(
            "SELECT {at}, id FROM {name} WHERE {at} >= ?1 AND {more} AND {beyond}
               AND (?2 IS NULL OR {person} = ?2) AND (?3 IS NULL OR {agent} = ?3) AND (?4 IS NULL OR {label} = ?4)
             ORDER BY {at} {order}, id {order} LIMIT ?7"
        ),
        params![
            filter.since.as_i64(),
            filter.person.map(PersonId::as_str),
            filter.agent.map(SessionName::as_str),
            filter.label.map(Label::as_str),
            from.map(|place| place.at.as_i64()),
            from.map(|place| place.id.as_str()),
            i64::try_from(limit).unwrap_or(i64::MAX),
            filter.channel.as_ref().map(Ulid::as_str)
        ],
        |row| {
            let mut c = Columns::of(row);
            Ok(Place { at: c.ms()?, id: c.value()?, table })
        },
    )
}

/// Updates of tasks are no messages, and lines stand in the transcript.
const SENT_BY_AGENTS: &str =
    "type = 'message' AND to_agent IS NOT NULL AND session_name IS NOT NULL AND ?8 IS NULL";
/// With whom a line was exchanged; in a channel with nobody alone.
const DM_PERSON: &str = "CASE room_kind WHEN 'dm' THEN room_id END";
/// The agent of theirs that wrote a line.
const THEIR_AGENT: &str = "CASE person WHEN room_id THEN agent END";
/// Lines of a channel that is not held any more are on their way out.
const OF_A_ROOM: &str = "CASE room_kind WHEN 'dm' THEN ?8 IS NULL
  ELSE (?8 IS NULL OR room_id = ?8) AND room_id IN (SELECT id FROM channels) END";

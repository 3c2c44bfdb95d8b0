//! `messaging notices ack`.
//! Spec: D6.4

use clap_complete::ArgValueCompleter;
use messaging_ipc::call;
use messaging_ipc::params::notice::{AckNotices, ListNotices};
use messaging_ipc::results::notice::NoticesAcked;
use messaging_ipc::scalars::{Count, List, Str};

use crate::complete;
use crate::context::{Context, Link};
use crate::fault::Fault;
use crate::render::Report;

/// Acknowledge notices, which are then no longer listed
///
/// A request is not answered by that: it goes on waiting.
///
/// Examples:
///   messaging notices ack m_01JZ3V7H2Q4W8X9Y0Z1A2B3C4D
///   messaging notices ack --all
///
/// See also: messaging notices list, messaging request list
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Ack {
    /// The notices
    #[arg(value_name = "ID", value_parser = id, required_unless_present = "all", conflicts_with = "all", add = ArgValueCompleter::new(complete::notices))]
    ids: Vec<Id>,
    /// All that are there now
    #[arg(long)]
    all: bool,
}

type Id = Str<0, 64>;

fn id(text: &str) -> Result<Id, &'static str> {
    Str::new(text.to_owned()).map_err(|_| "at most 64 characters")
}

/// How many notices one call lists or takes.
const AT_ONCE: usize = 500;

impl Ack {
    pub(super) async fn run(self, context: &Context) -> Result<Report, Fault> {
        let link = context.connect().await?;
        let mut acked = 0;
        if self.all {
            loop {
                let list = ListNotices { lines: false, limit: Count::clamped(u64::MAX) };
                let found = link.call::<call::NoticeList>(&list).await?.notices;
                let ids = found.iter().map(|notice| id(&notice.id)).collect::<Result<Vec<_>, _>>();
                let ids = ids.map_err(|_| {
                    Fault::local(
                        "the daemon names a notice that cannot be",
                        "run `messaging doctor`.",
                    )
                })?;
                let done = send(&link, &ids).await?;
                acked += done;
                if ids.len() < AT_ONCE || done == 0 {
                    break;
                }
            }
        } else {
            for ids in self.ids.chunks(AT_ONCE) {
                acked += send(&link, ids).await?;
            }
        }
        let text = match acked {
            1 => "acknowledged 1 notice\n".to_owned(),
            count => format!("acknowledged {count} notices\n"),
        };
        Ok(Report::of(&NoticesAcked { acked }, text))
    }
}

async fn send(link: &Link<'_>, ids: &[Id]) -> Result<u64, Fault> {
    if ids.is_empty() {
        return Ok(0);
    }
    let ack = AckNotices { ids: List::new(ids.to_vec())? };
    Ok(link.call::<call::NoticeAck>(&ack).await?.acked)
}

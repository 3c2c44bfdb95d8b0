//! Tells a host of new items: what waits still, fenced, in one notification.
//! Spec: §11 "Clients", "Model-visible text"

use std::collections::BTreeSet;
use std::sync::Arc;

use messaging_core::ids::Ulid;
use messaging_core::json;
use messaging_harness::note::{self, Budget};
use messaging_ipc::methods::Method;
use messaging_ipc::results::inbox::InboxPage;
use messaging_ipc::shapes::{InboxItem, InboxStage};
use messaging_runtime::entropy::SystemRandom;
use messaging_tools::Tools;
use messaging_tools::link::AgentLink as _;
use rmcp::model::{CustomNotification, ServerNotification};
use rmcp::service::{Peer, RoleServer};
use serde_json::{Value, json as object};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::link::DaemonLink;
use crate::push::{Gathering, METHOD};

/// Items of the inbox that are looked at.
const LOOK: u64 = 200;

/// Tells of items as they come, for as long as somebody says which.
pub(crate) async fn tell(
    tools: Arc<Tools<DaemonLink, SystemRandom>>,
    mut items: mpsc::Receiver<Ulid>,
    host: Peer<RoleServer>,
) {
    let mut gathering = Gathering::default();
    loop {
        let due = gathering.due();
        let wait = async {
            match due {
                Some(due) => tokio::time::sleep_until(due).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            item = items.recv() => match item {
                Some(item) => gathering.add(item, Instant::now()),
                None => return,
            },
            () = wait => {
                let Some(items) = gathering.take(Instant::now()) else { continue };
                let Some(content) = words(&tools, &items).await else { continue };
                if host.send_notification(notification(content)).await.is_err() {
                    return;
                }
                gathering.woke(Instant::now());
            }
        }
    }
}

/// What is said of those items that nobody saw yet, and how many they are.
async fn words(
    tools: &Tools<DaemonLink, SystemRandom>,
    items: &BTreeSet<Ulid>,
) -> Option<(String, usize)> {
    let session = tools.link().greet().await?;
    let list = object!({ "key": session.key, "unreadOnly": true, "limit": LOOK });
    let page = tools.link().call(Method::InboxList, list).await.ok()?;
    let page: InboxPage = json::decode(&page).ok()?;
    let waiting: Vec<&InboxItem> =
        page.items.iter().rev().filter(|item| item.stage == InboxStage::Delivered).collect();
    let waits = u64::try_from(waiting.len()).ok()?;
    let new: Vec<&InboxItem> =
        waiting.into_iter().filter(|item| items.contains(&item.id)).collect();
    let own = session.person();
    let note = note::write(&new, &[], waits, own.as_ref(), Budget::default(), &mut SystemRandom)?;
    Some((note.text, note.items.len()))
}

fn notification((content, count): (String, usize)) -> ServerNotification {
    let params: Value = object!({ "content": content, "meta": { "count": count.to_string() } });
    ServerNotification::CustomNotification(CustomNotification::new(METHOD, Some(params)))
}

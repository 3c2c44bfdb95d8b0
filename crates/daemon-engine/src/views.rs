//! Rows as clients see them.
//! Spec: D1.6

use messaging_core::ids::{Label, MachineId, PersonId, SessionAddress, SessionName};
use messaging_core::json::utf16_cut;
use messaging_core::peer_text::PeerText;
use messaging_core::stage::Stage;
use messaging_ipc::shapes::{
    ConsentClass, DelegationSummary, InboxItem, InboxStage, PeerRef, StageAt, TaskOrMessage,
};
use serde::Deserialize;
use serde_json::Value;

use crate::store::inbox::{InboxRow, ItemKind};
use crate::store::sent::SentRow;

/// The other end of a message: fully qualified, and without an address when the person wrote it.
pub(crate) fn peer(
    person: &PersonId,
    device: MachineId,
    label: &Label,
    agent: Option<&SessionName>,
) -> PeerRef {
    PeerRef {
        person: person.clone(),
        device,
        label: label.clone(),
        agent: agent.cloned(),
        address: agent.map(|agent| SessionAddress::new(person, agent, label)),
    }
}

/// Every step of a delivery.
pub(crate) fn history(row: &SentRow) -> Vec<StageAt> {
    let step = |step: &crate::store::sent::Step| StageAt {
        stage: step.stage,
        code: step.code,
        at: step.at,
    };
    row.history.iter().map(step).collect()
}

/// The texts of an A2A message, a line between two.
pub(crate) fn text(message: &Value) -> String {
    let parts =
        message.get("parts").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let texts: Vec<&str> =
        parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str)).collect();
    texts.join("\n")
}

/// The start of an A2A message's text. Spec: D1.6 `preview`
pub(crate) fn preview(message: &Value) -> String {
    utf16_cut(&text(message), PREVIEW_UNITS).to_owned()
}

/// An item of an inbox.
pub(crate) fn item(row: &InboxRow) -> InboxItem {
    InboxItem {
        id: row.id,
        from: peer(&row.from_person, row.from_device, &row.from_label, row.from_agent.as_ref()),
        to: row.session_name.clone(),
        kind: match row.kind {
            ItemKind::Message => TaskOrMessage::Message,
            ItemKind::Task => TaskOrMessage::Task,
        },
        message_id: PeerText::new(row.message_id.clone()),
        context_id: PeerText::new(row.context_id.clone()),
        task_id: row.task_id,
        reply_to: row.reply_to,
        preview: PeerText::new(row.preview.clone()),
        attachments: row.attachments,
        stage: match row.stage {
            Stage::HandedToAgent => InboxStage::HandedToAgent,
            Stage::Read => InboxStage::Read,
            _ => InboxStage::Delivered,
        },
        consent: match row.consent.as_deref() {
            Some("self") => Some(ConsentClass::Own),
            Some("guarded") => Some(ConsentClass::Guarded),
            Some("trusted") => Some(ConsentClass::Trusted),
            _ => None,
        },
        wake: row.wake,
        // A summary that a later release wrote differently is left out.
        chain: row.chain.as_ref().and_then(|chain| DelegationSummary::deserialize(chain).ok()),
        sent_at: row.ts,
        at: row.arrived_at,
        exp: row.exp,
    }
}

/// The length of a preview, UTF-16 units.
pub(crate) const PREVIEW_UNITS: usize = 280;

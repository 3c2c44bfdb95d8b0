//! Rows as clients see them.
//! Spec: D1.6

use messaging_core::ids::{Label, MachineId, PersonId, SessionAddress, SessionName};
use messaging_core::peer_text::PeerText;
use messaging_core::stage::Stage;
use messaging_ipc::shapes::{
    ConsentClass, DelegationSummary, InboxItem, InboxStage, PeerRef, TaskOrMessage,
};
use serde::Deserialize;

use crate::store::inbox::{InboxRow, ItemKind};

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

//! `contact.request*`: message requests are for persons of other organisations, and a team is one.
//! Spec: §6.9 "Message requests", D1.7 rows 33 and 34

use messaging_core::code::Code;
use messaging_ipc::params::people::{ContactPreview, ContactRequest};
use messaging_ipc::results::people::{ContactFound, ContactRequested};

use super::{Call, Handled};
use crate::engine::DaemonEngine;
use crate::work::{Halt, Work};

/// Refused in a team.
pub(super) fn request(
    _: &mut DaemonEngine,
    _: &mut Work<'_, '_>,
    _: &Call,
    _: ContactRequest,
) -> Handled<ContactRequested> {
    Err(one_org())
}

/// Refused in a team.
pub(super) fn request_preview(
    _: &mut DaemonEngine,
    _: &mut Work<'_, '_>,
    _: &Call,
    _: ContactPreview,
) -> Handled<ContactFound> {
    Err(one_org())
}

fn one_org() -> Halt {
    Halt::refused(Code::InvalidRequest, "everybody in a team may write to each other already")
}

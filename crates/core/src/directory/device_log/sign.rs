//! Writing entries: an act becomes the signed entry that extends a log.
//! Spec: §15.3, W3

use super::super::signed;
use super::entry::{Authority, LogEntry, LogHead, LogOp, LogSeq, Members, OpName, Prev};
use crate::code::Failure;
use crate::domain::Domain;
use crate::ids::{Hash, HostedPerson, MachineId, Sig};
use crate::keys::SigningKey;
use crate::time::Ms;
use crate::version::Version;

/// Signs the entry that does `op` to `device` after `head`; without one, the first entry of the person.
///
/// Nothing about authority is checked here: whoever appends the entry does. Errors: `too_large` over 16 KiB,
/// `invalid_request` for a time past 2^53 − 1.
pub fn sign_log_entry(
    realm: &Hash,
    person: &HostedPerson,
    head: Option<&LogHead>,
    act: (&LogOp, &MachineId, Authority),
    ts: Ms,
    key: &SigningKey,
) -> Result<LogEntry, Failure> {
    let (op, device, authority) = act;
    let (name, label, kind, reason) = match op {
        LogOp::Bind { label, kind } => (OpName::Bind, Some(label.clone()), Some(*kind), None),
        LogOp::Attest { label, kind } => (OpName::Attest, label.clone(), *kind, None),
        LogOp::Unbind { reason } => (OpName::Unbind, None, None, Some(*reason)),
    };
    let mut members = Members {
        v: Version,
        realm: *realm,
        person: person.clone(),
        seq: LogSeq(head.map_or(0, |head| head.seq.0.saturating_add(1))),
        prev: Prev(head.map(|head| head.hash)),
        ts,
        op: name,
        device: *device,
        label,
        kind,
        reason,
        authority,
        by: *key.machine(),
        sig: Sig::from_bytes(&[0; 64]),
    };
    members.sig = key.sign(Domain::DeviceLog, &signed::covered(&members)?);
    LogEntry::of(members)
}

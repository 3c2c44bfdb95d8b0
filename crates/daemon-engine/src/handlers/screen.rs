//! The scan of what a call is about to send: a credential in it is told by field and kind, and never by its value.
//! Spec: §8.7, D1.4 step 12, D3.25

use messaging_core::code::Failure;
use messaging_core::secrets::{Found, scan};
use messaging_ipc::error::Refusal;
use messaging_ipc::methods::Method;
use serde_json::Value;

use super::Call;
use crate::events::LogEvent;
use crate::work::{Step, Work};

/// The methods that send what their caller wrote.
const SENDING: [Method; 5] = [
    Method::MsgSend,
    Method::TaskUpdate,
    Method::TaskCancel,
    Method::PersonSend,
    Method::ContactRequest,
];

/// What a call's parameters hold that must not leave. The session key never does.
///
/// Errors: `invalid_request` for bytes that are none; the parameters' shape refuses them before.
pub(super) fn screen(method: Method, params: Option<&Value>) -> Result<Option<Found>, Failure> {
    match params {
        Some(params) if SENDING.contains(&method) => scan(params, &["key"]),
        _ => Ok(None),
    }
}

impl Call {
    /// Refuses a call that would send a credential. Its handler asks after the checks of who may do what, and before
    /// anything is looked up or stored for good.
    ///
    /// Errors: `secret_refused`.
    pub(super) fn refuse_secrets(&self, work: &mut Work<'_, '_>) -> Step<()> {
        let Some(found) = &self.credential else { return Ok(()) };
        let kind = found.kind.as_str();
        work.log(LogEvent::SecretRefused { method: self.reply.method, kind });
        Err(Refusal::secret(found.field.clone(), kind, found.to_string()).into())
    }
}

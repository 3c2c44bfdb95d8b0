//! What the tools need of the daemon: a registered session, and calls of the method table.
//! Spec: §11 "MCP server", D7.1 "Methods used"

use std::future::Future;

use messaging_core::code::Code;
use messaging_core::ids::{PersonId, SessionAddress, SessionName};
use messaging_ipc::methods::Method;
use messaging_ipc::scalars::SessionKey;
use serde_json::Value;

/// The session whose tools these are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Its key. Never shown.
    pub key: SessionKey,
    /// The name it was given.
    pub name: SessionName,
    /// Its full address; absent before the device is set up.
    pub address: Option<SessionAddress>,
}

impl Session {
    /// The session's own person; `None` before the device is set up.
    pub fn person(&self) -> Option<PersonId> {
        self.address.as_ref().and_then(|address| PersonId::parse(address.person()).ok())
    }
}

/// Why a call gave no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkError {
    /// The code of §13.
    pub code: Code,
    /// What happened, without the code and without any value.
    pub message: String,
    /// The parameter at fault, when the daemon named one.
    pub field: Option<String>,
}

/// The way to the daemon. It connects, registers and reconnects by itself; the tools only call.
pub trait AgentLink: Send + Sync {
    /// The registered session.
    ///
    /// Errors: `daemon_unavailable` and whatever registering is refused with.
    fn session(&self) -> impl Future<Output = Result<Session, LinkError>> + Send;

    /// Milliseconds of a clock that only goes forward.
    fn now(&self) -> u64;

    /// Waits until something of the session's comes in, or until `until` on that clock. It may end early.
    fn quiet(&self, until: u64) -> impl Future<Output = ()> + Send;

    /// Calls a method of the agent tier.
    ///
    /// Errors: the daemon's refusal, or why it could not be asked.
    fn call(
        &self,
        method: Method,
        params: Value,
    ) -> impl Future<Output = Result<Value, LinkError>> + Send;
}

//! Session tickets: the host names the agent's session, and for how long.
//! Spec: §8.11 "Session tickets", D5.7

use alloc::string::String;

use serde::{Deserialize, Serialize};

use super::{AUDIENCE, ActionKey, is_in_time};
use crate::code::{Code, Failure};
use crate::ids::SessionName;
use crate::json;
use crate::time::Ms;

/// Longest life of a ticket, s (7 days).
const TICKET_LIFE_S: u64 = 604_800;

/// A session that the host lets an agent register. It is not spent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SessionTicket {
    /// The host's agent: `agt_…`.
    pub agt: String,
    /// The session's name.
    pub name: SessionName,
    /// When the registration ends, Unix seconds.
    pub exp: u64,
}

#[derive(Deserialize)]
struct Claims {
    aud: String,
    agt: String,
    name: SessionName,
    iat: u64,
    exp: u64,
}

impl ActionKey {
    /// Verifies a ticket. A name that the caller asks for must be the ticket's.
    ///
    /// Cost: one signature check. Errors: `ticket_required` without one, `ticket_invalid` otherwise.
    pub fn verify_ticket(
        &self,
        ticket: Option<&str>,
        name: Option<&str>,
        now: Ms,
    ) -> Result<SessionTicket, Failure> {
        let ticket = ticket.ok_or(Failure::new(Code::TicketRequired, "ticket"))?;
        let invalid = |at| Failure::new(Code::TicketInvalid, at);
        let jws = self.open(ticket, "jelly-session+jwt").ok_or(invalid("ticket"))?;
        let claims: Claims = json::decode(&jws.claims).map_err(|_| invalid("ticket.claims"))?;
        if claims.aud != AUDIENCE {
            return Err(invalid("ticket.aud"));
        }
        if !is_agent(&claims.agt) {
            return Err(invalid("ticket.agt"));
        }
        if !is_in_time(claims.iat, claims.exp, TICKET_LIFE_S, now) {
            return Err(invalid("ticket.exp"));
        }
        if name.is_some_and(|name| name != claims.name.as_str()) {
            return Err(invalid("name"));
        }
        let Claims { agt, name, exp, .. } = claims;
        Ok(SessionTicket { agt, name, exp })
    }
}

/// `agt_` and 1 to 123 characters of an id.
fn is_agent(text: &str) -> bool {
    text.strip_prefix("agt_").is_some_and(|rest| {
        (1..=123).contains(&rest.len())
            && rest.bytes().all(|byte| {
                byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b':' | b'-')
            })
    })
}

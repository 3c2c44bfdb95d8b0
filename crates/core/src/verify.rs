//! The ordered verifier: whether an envelope is to be believed.
//! Spec: §5 "Receiver verification order" steps 1–6, §9 `verifyEnvelope`, W4.4
//!
//! | step | what                                        | refusal                           |
//! |------|---------------------------------------------|-----------------------------------|
//! | 1, 2 | size, JSON, shape ([`Checked::read`])       | `invalid_request`                 |
//! | 3    | the realm is the receiver's                 | `not_member`                      |
//! | 4    | the anchor is of the realm's kind           | `invalid_request`                 |
//! | 5    | the time window                             | `expired`                         |
//! | 6    | the sender is a current device of its person | `not_member` or `unknown_device` |
//! | 7    | the signature                               | `bad_signature`                   |
//! | 8    | this device is the addressee                | `invalid_request`                 |

use crate::code::{Code, Failure};
use crate::envelope::{Checked, Content, Envelope};
use crate::ids::{MachineId, PersonId};
use crate::limits::{CLOCK_SKEW_MS, PRESENCE_BYTES, TTL_MS};
use crate::presence::PresencePayload;
use crate::realm::{RealmKind, RealmView};
use crate::time::Ms;

/// An envelope that passed every step, against one view of the realm at one time. There is no other way to make one:
///
/// ```compile_fail
/// use messaging_core::{envelope::Checked, verify::Verified};
/// fn believe(checked: &Checked) -> Verified<'_> {
///     Verified { checked }
/// }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Verified<'a> {
    checked: &'a Checked,
}

/// The device that receives, and its person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SelfRef<'a> {
    /// This device.
    pub device: &'a MachineId,
    /// Its person.
    pub person: &'a PersonId,
}

/// Verifies an envelope; the first step that fails decides the code.
///
/// - `own` is the receiving device. A receiver gives it always; presence, which everyone receives, ignores it.
/// - `verdict` is that of [`Checked::signature_verdict`] under the key of `from.device`, when somebody worked it out
///   already; otherwise the signature is checked here.
///
/// A view that is behind the envelope's anchor catches up first; dedupe, rate and policy come after. Errors: as the
/// table above.
pub fn verify<'a>(
    checked: &'a Checked,
    view: &dyn RealmView,
    now: Ms,
    own: Option<SelfRef<'_>>,
    verdict: Option<bool>,
) -> Result<Verified<'a>, Failure> {
    let envelope = checked.envelope();
    if envelope.realm != *view.realm() {
        return Err(Failure::new(Code::NotMember, "realm"));
    }
    if envelope.anchor.kind() != view.kind() {
        return Err(Failure::invalid("anchor.kind"));
    }
    check_window(envelope.ts, envelope.exp, now)?;
    check_sender(envelope, view)?;
    let signed = verdict.unwrap_or_else(|| {
        view.public_key(&envelope.from.device).is_some_and(|key| checked.signature_verdict(&key))
    });
    if !signed {
        return Err(Failure::new(Code::BadSignature, "sig"));
    }
    check_addressee(envelope, own)?;
    Ok(Verified { checked })
}

/// The time window of envelopes and delegation grants: `ts ≤ exp`, `ts ≤ now + skew`, `exp > now`, `exp − ts ≤ 7 d`.
///
/// Errors: `expired`. Spec: §5 step 3
pub fn check_window(ts: Ms, exp: Ms, now: Ms) -> Result<(), Failure> {
    let fits = ts <= exp && ts <= now.plus(CLOCK_SKEW_MS) && exp > now && exp.since(ts) <= TTL_MS;
    if fits { Ok(()) } else { Err(Failure::new(Code::Expired, "exp")) }
}

fn check_sender(envelope: &Envelope, view: &dyn RealmView) -> Result<(), Failure> {
    let known = view.device(&envelope.from.device);
    if known.is_some_and(|device| device.person == envelope.from.person) {
        return Ok(());
    }
    let code = match view.kind() {
        RealmKind::Roster => Code::NotMember,
        RealmKind::Directory => Code::UnknownDevice,
    };
    Err(Failure::new(code, "from.device"))
}

fn check_addressee(envelope: &Envelope, own: Option<SelfRef<'_>>) -> Result<(), Failure> {
    match (&envelope.content, own) {
        (Content::Sealed(sealed), Some(own)) => {
            if sealed.to.device != *own.device {
                Err(Failure::invalid("to.device"))
            } else if sealed.to.person != *own.person {
                Err(Failure::invalid("to.person"))
            } else {
                Ok(())
            }
        }
        _ => Ok(()),
    }
}

impl<'a> Verified<'a> {
    /// The envelope.
    #[must_use]
    pub fn envelope(&self) -> &'a Envelope {
        self.checked.envelope()
    }

    /// The envelope with the exact value that arrived.
    #[must_use]
    pub fn checked(&self) -> &'a Checked {
        self.checked
    }

    /// What a presence says; `None` for a sealed envelope.
    ///
    /// Whether its label and number are the right ones is the receiver's matter. Errors: `too_large` over
    /// [`PRESENCE_BYTES`] of canonical text.
    pub fn presence(&self) -> Result<Option<&'a PresencePayload>, Failure> {
        match &self.checked.envelope().content {
            Content::Sealed(_) => Ok(None),
            Content::Presence(_) if self.checked.body_len() > PRESENCE_BYTES => {
                Err(Failure::new(Code::TooLarge, "body"))
            }
            Content::Presence(presence) => Ok(Some(presence)),
        }
    }
}

#[cfg(test)]
mod tests;

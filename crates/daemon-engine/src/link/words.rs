//! What is said about the relay: fixed words of our own, never text that came from it.
//! Spec: D3.30 "Every `reason`"

use messaging_core::code::Code;
use messaging_wire::CloseCode;

use crate::input::LinkFault;

/// What keeps a machine from its relay, where waiting alone mends nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The two clocks are too far apart, or a certificate is not valid at the time of this one.
    Clock,
    /// The proxy did not let the connection through.
    ProxyRefused,
    /// The proxy wants a user and a password, or others.
    ProxyPassword,
    /// The proxy is not there, or named in a way that is not understood.
    ProxyUnusable,
    /// The relay's certificate is by nobody whom this machine knows.
    CertificateUnknown,
    /// The relay's certificate is for another name, or none.
    CertificateWrong,
    /// The relay says that it is another one.
    OtherRelay,
}

/// The cause behind the words of `relay.lastError`; none when there is nothing to do but wait.
#[must_use]
pub fn cause_of(words: &str) -> Option<Cause> {
    use LinkFault as Fault;
    let of = |fault: Fault| fault.as_str() == words;
    if words == FAR_APART || of(Fault::NotAtThisTime) {
        Some(Cause::Clock)
    } else if of(Fault::ProxyRefused) {
        Some(Cause::ProxyRefused)
    } else if of(Fault::ProxyPassword) {
        Some(Cause::ProxyPassword)
    } else if of(Fault::ProxySilent) || of(Fault::ProxyUnknown) {
        Some(Cause::ProxyUnusable)
    } else if of(Fault::UnknownIssuer) || of(Fault::NoRoots) {
        Some(Cause::CertificateUnknown)
    } else if of(Fault::OtherName) || of(Fault::BadCertificate) {
        Some(Cause::CertificateWrong)
    } else if words == OTHER_ORIGIN {
        Some(Cause::OtherRelay)
    } else {
        None
    }
}

/// The relay did not take a hello of this time.
const FAR_APART: &str = "the relay's clock and this machine's are too far apart";
/// A relay that could pass a hello on.
pub(super) const OTHER_ORIGIN: &str = "the relay names another origin than its own";

/// Why a link ended.
pub(super) fn of_close(code: Option<CloseCode>, why: LinkFault) -> &'static str {
    match code {
        Some(CloseCode::AuthFailed) => "the relay refused this machine",
        Some(CloseCode::Removed) => "the relay says that this machine was removed",
        Some(CloseCode::Replaced) => "another process connected with this machine's identity",
        Some(CloseCode::Full) => "the relay is full",
        Some(CloseCode::TooLarge) => "the relay refused a frame as too large",
        Some(CloseCode::Protocol) => "the relay saw a protocol error",
        Some(CloseCode::Stopping) => "the relay stopped",
        None => why.as_str(),
    }
}

/// Why a hello was refused.
pub(super) fn of_hello(code: Code) -> &'static str {
    match code {
        Code::NotMember => "the relay does not count this machine as a member",
        Code::Expired => FAR_APART,
        Code::BadSignature => "the relay did not accept this machine's signature",
        Code::RateLimited => "the relay is full",
        _ => "the relay refused this machine",
    }
}

/// What an error after the welcome says.
pub(super) fn of_error(code: Code) -> &'static str {
    match code {
        Code::RateLimited => "the relay limits this machine's frames",
        Code::Internal => "the relay had an internal error",
        _ => "the relay refused a frame",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_that_waiting_does_not_mend_has_its_cause() {
        use LinkFault as Fault;
        for (fault, cause) in [
            (Fault::NotAtThisTime, Some(Cause::Clock)),
            (Fault::ProxyRefused, Some(Cause::ProxyRefused)),
            (Fault::ProxyPassword, Some(Cause::ProxyPassword)),
            (Fault::ProxySilent, Some(Cause::ProxyUnusable)),
            (Fault::ProxyUnknown, Some(Cause::ProxyUnusable)),
            (Fault::UnknownIssuer, Some(Cause::CertificateUnknown)),
            (Fault::NoRoots, Some(Cause::CertificateUnknown)),
            (Fault::OtherName, Some(Cause::CertificateWrong)),
            (Fault::BadCertificate, Some(Cause::CertificateWrong)),
            (Fault::Refused, None),
            (Fault::Silent, None),
            (Fault::Tls, None),
        ] {
            assert_eq!(cause_of(fault.as_str()), cause, "{fault:?}");
        }
        assert_eq!(cause_of(of_hello(Code::Expired)), Some(Cause::Clock));
        assert_eq!(cause_of(OTHER_ORIGIN), Some(Cause::OtherRelay));
        assert_eq!(cause_of("the proxy"), None);
    }
}

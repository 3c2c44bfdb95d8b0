//! What a refusal of the account service to mint a token means.
//! Spec: §15.2 "Minting refusals", W4.15

/// Why the account service minted no token, and so what there is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MintRefusal {
    /// It would not bind the key: a fault of this program, raised as an alarm and never retried.
    KeyRefused,
    /// The account service offers no such resource.
    NoSuchResource,
    /// Final.
    AccessDenied,
    /// The host is not enrolled.
    NotEnrolled,
    /// The ask was malformed.
    MalformedAsk,
    /// Held this long and then retried.
    Retry {
        /// The wait, ms.
        after_ms: u64,
    },
}

/// How long an unexplained refusal is held, ms.
const RETRY_MS: u64 = 30_000;

/// Reads a refusal: its `error`, and its `detail` if it has one.
#[must_use]
pub fn mint_refusal(error: &str, detail: Option<&str>) -> MintRefusal {
    match (error, detail) {
        ("invalid_target", Some("invalid_cnf_jwk")) => MintRefusal::KeyRefused,
        ("invalid_target", _) => MintRefusal::NoSuchResource,
        ("access_denied", _) => MintRefusal::AccessDenied,
        ("not_enrolled" | "invalid_client", _) => MintRefusal::NotEnrolled,
        ("invalid_request", _) => MintRefusal::MalformedAsk,
        _ => MintRefusal::Retry { after_ms: RETRY_MS },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_told_apart() {
        for (error, detail, expected) in [
            ("invalid_target", Some("invalid_cnf_jwk"), MintRefusal::KeyRefused),
            ("invalid_target", Some("other"), MintRefusal::NoSuchResource),
            ("invalid_target", None, MintRefusal::NoSuchResource),
            ("access_denied", None, MintRefusal::AccessDenied),
            ("not_enrolled", None, MintRefusal::NotEnrolled),
            ("invalid_client", None, MintRefusal::NotEnrolled),
            ("invalid_request", Some("invalid_cnf_jwk"), MintRefusal::MalformedAsk),
            ("temporarily_unavailable", None, MintRefusal::Retry { after_ms: 30_000 }),
            ("", None, MintRefusal::Retry { after_ms: 30_000 }),
        ] {
            assert_eq!(mint_refusal(error, detail), expected, "{error} {detail:?}");
        }
    }
}

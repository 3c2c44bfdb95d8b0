//! The id of a hosted person, derived from their account.
//! Spec: §15.1, W3 "PersonId"

use alloc::string::String;

use data_encoding::BASE32_NOPAD;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::code::Failure;
use crate::domain::Domain;
use crate::ids::{AccountId, HostedPerson};
use crate::jcs;

/// How many base32 characters of the hash an id keeps: 130 bits.
const ID_CHARS: usize = 26;

/// The person of an account: the issuer exactly as its tokens write it, and the account's id.
///
/// The id hides nothing: whoever reads the person's device log sees the account.
///
/// Errors: `invalid_request` for a `sub` that is no account id.
pub fn person_id(iss: &str, sub: &str) -> Result<HostedPerson, Failure> {
    of_account(iss, &AccountId::parse(sub)?)
}

/// As [`person_id`], for an account id that was read already.
pub(super) fn of_account(iss: &str, sub: &AccountId) -> Result<HostedPerson, Failure> {
    let account = jcs::canonical(&json!({"iss": iss, "sub": sub}))?;
    let mut hash = Sha256::new();
    hash.update(Domain::Person.prefix().as_bytes());
    hash.update(account.as_bytes());
    let mut text = String::from("p_");
    let name = BASE32_NOPAD.encode(&hash.finalize()).to_ascii_lowercase();
    text.push_str(name.get(..ID_CHARS).unwrap_or_default());
    HostedPerson::parse(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_follows_from_issuer_and_account() {
        let person = person_id("https://id.example", "acc_alice").unwrap();
        assert_eq!(person.as_str(), "p_elmokocvhtjapy3fc3soeimutu", "the atlas' check value");
        for (iss, sub) in [
            ("https://id.example/", "acc_alice"),
            ("HTTPS://id.example", "acc_alice"),
            ("https://id.example", "acc_Alice"),
        ] {
            assert_ne!(person_id(iss, sub).unwrap(), person, "{iss} {sub}");
        }
        for sub in ["alice", "acc_", "acc_a/b", "ACC_alice", "acc_alice\n"] {
            assert_eq!(person_id("https://id.example", sub), Err(Failure::invalid("AccountId")));
        }
    }
}

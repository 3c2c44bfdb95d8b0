//! How a hosted person is called and found: their handle, and the organisation of their address.
//! Spec: §15.8, W6.6, A7-3

use alloc::format;
use alloc::string::String;

use crate::ids::{Email, RosterPerson};

/// Longest handle, characters.
const HANDLE_CHARS: usize = 32;

/// The handle of a verified address: its local part in the grammar of a name.
///
/// Two persons may have the same one; it names nobody by itself.
#[must_use]
pub fn hosted_handle(email: &Email) -> RosterPerson {
    let local = email.as_str().split('@').next().unwrap_or_default();
    let mut name = String::new();
    for c in local.chars().map(|c| c.to_ascii_lowercase()) {
        if c.is_ascii_lowercase() || c.is_ascii_digit() {
            name.push(c);
        } else if !name.is_empty() && !name.ends_with('-') {
            name.push('-');
        }
    }
    let trimmed = name.trim_end_matches('-');
    let named = match trimmed.bytes().next() {
        None => String::from("u"),
        Some(first) if first.is_ascii_lowercase() => String::from(trimmed),
        Some(_) => format!("u-{trimmed}"),
    };
    let cut = named.get(..HANDLE_CHARS).unwrap_or(&named).trim_end_matches('-');
    // Only letters, digits and hyphens are left, a letter first.
    RosterPerson::parse(cut).unwrap_or_else(|_| RosterPerson::only_u())
}

/// The organisation of a verified address, when the realm names its domain: `domain:<d>`. Others are individuals.
///
/// A subdomain is another domain.
#[must_use]
pub fn email_org<'a>(
    email: &Email,
    org_domains: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    let domain = email.as_str().rsplit('@').next()?.to_ascii_lowercase();
    org_domains
        .into_iter()
        .any(|org| org.eq_ignore_ascii_case(&domain))
        .then(|| format!("domain:{domain}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn handle(email: &str) -> String {
        hosted_handle(&Email::parse(email).unwrap()).as_str().into()
    }

    #[test]
    fn handles_are_made_as_the_section_says() {
        for (email, expected) in [
            ("Joe.Broadhead@example.org", "joe-broadhead"),
            ("a..b__c@example.org", "a-b-c"),
            (".joe.@example.org", "joe"),
            ("42@example.org", "u-42"),
            ("jörg@example.org", "j-rg"),
            ("İ@example.org", "u"),
            ("+++@example.org", "u"),
            (&format!("{}@example.org", "9a".repeat(20)), &format!("u-{}", "9a".repeat(15))),
            (&format!("{}.b@example.org", "a".repeat(31)), &"a".repeat(31)),
        ] {
            assert_eq!(handle(email), expected, "{email}");
        }
    }

    #[test]
    fn an_org_is_a_named_domain_and_not_one_below_it() {
        let org =
            |email: &str| email_org(&Email::parse(email).unwrap(), ["Example.org", "corp.example"]);
        assert_eq!(org("joe@EXAMPLE.org").as_deref(), Some("domain:example.org"));
        assert_eq!(org("joe@sub.example.org"), None);
        assert_eq!(org("joe@notexample.org"), None);
    }

    proptest! {
        #[test]
        fn every_address_has_a_handle_in_the_grammar(local in "[^@\\s\\p{C}]{1,60}") {
            let made = handle(&format!("{local}@example.org"));
            prop_assert!(RosterPerson::parse(&made).is_ok());
            prop_assert!(!made.ends_with('-'));
        }
    }
}

//! Grants that were spent: each admits one call, or one connection.
//! Spec: §8.11, D5.5 step 7, D5.6

use alloc::collections::BTreeMap;
use alloc::string::String;

use super::{Grant, GrantScope};
use crate::code::{Code, Failure};
use crate::time::Ms;

/// Spent grants, by name, until they end. `C` names a connection.
///
/// A store keeps the names across restarts; the connections are of one run.
#[derive(Clone, Debug)]
pub struct GrantLedger<C> {
    spent: BTreeMap<String, Spent<C>>,
}

#[derive(Clone, Debug)]
struct Spent<C> {
    /// Kept until this second has passed.
    until: u64,
    /// The connection that may present it again.
    on: Option<C>,
}

impl<C> Default for GrantLedger<C> {
    fn default() -> Self {
        Self { spent: BTreeMap::new() }
    }
}

impl<C: PartialEq> GrantLedger<C> {
    /// What a store kept: the names of spent grants, and when they end, Unix seconds.
    pub fn of(spent: impl IntoIterator<Item = (String, u64)>) -> Self {
        let spent = spent.into_iter().map(|(jti, exp)| (jti, Spent { until: exp, on: None }));
        Self { spent: spent.collect() }
    }

    /// Spends a verified grant on a connection, before the call runs. Those that ended are forgotten.
    ///
    /// Errors: `grant_invalid` for one that was spent; a host-scope grant may come again on its own connection.
    pub fn spend(&mut self, grant: &Grant, on: C, now: Ms) -> Result<(), Failure> {
        let second = now.0 / 1_000;
        self.spent.retain(|_, spent| spent.until.saturating_add(super::SKEW_S) >= second);
        if let Some(spent) = self.spent.get(&grant.jti) {
            let again = grant.scope == GrantScope::Host && spent.on.as_ref() == Some(&on);
            return if again { Ok(()) } else { Err(Failure::new(Code::GrantInvalid, "grant.jti")) };
        }
        let on = (grant.scope == GrantScope::Host).then_some(on);
        self.spent.insert(grant.jti.clone(), Spent { until: grant.exp, on });
        Ok(())
    }
}

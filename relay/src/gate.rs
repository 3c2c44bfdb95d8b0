//! The gate before `hello`: how many connections may stand there, in total and from one address.
//! Spec: §7 "Limits" `preAuthConnections`, `preAuthPerAddress`

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::address::ClientAddress;

/// Counts the connections that have not said a valid `hello` yet. Clones count together.
#[derive(Clone, Debug)]
pub(crate) struct Gate {
    most: usize,
    most_per_address: usize,
    counts: Arc<Mutex<Counts>>,
}

#[derive(Debug, Default)]
struct Counts {
    total: usize,
    by_address: BTreeMap<ClientAddress, usize>,
}

/// A place at the gate, given back when dropped.
#[derive(Debug)]
pub(crate) struct Place {
    address: ClientAddress,
    counts: Arc<Mutex<Counts>>,
}

/// Which limit is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Full {
    /// The one over all addresses.
    Total,
    /// The one of this address.
    Address,
}

impl Full {
    /// The word that logs show.
    pub(crate) const fn scope(self) -> &'static str {
        match self {
            Self::Total => "total",
            Self::Address => "address",
        }
    }
}

impl Gate {
    pub(crate) fn new(most: usize, most_per_address: usize) -> Self {
        Self { most, most_per_address, counts: Arc::default() }
    }

    /// Takes a place, or says which limit is reached.
    pub(crate) fn enter(&self, address: ClientAddress) -> Result<Place, Full> {
        let mut counts = lock(&self.counts);
        if counts.total >= self.most {
            return Err(Full::Total);
        }
        let here = counts.by_address.get(&address).copied().unwrap_or(0);
        if here >= self.most_per_address {
            return Err(Full::Address);
        }
        counts.total += 1;
        counts.by_address.insert(address, here + 1);
        drop(counts);
        Ok(Place { address, counts: Arc::clone(&self.counts) })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut counts = lock(&self.counts);
        counts.total = counts.total.saturating_sub(1);
        match counts.by_address.get_mut(&self.address) {
            Some(here) if *here > 1 => *here -= 1,
            _ => {
                counts.by_address.remove(&self.address);
            }
        }
    }
}

/// The counts are whole numbers changed in one step: a panic elsewhere cannot leave them half changed.
fn lock(counts: &Mutex<Counts>) -> MutexGuard<'_, Counts> {
    counts.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(n: u8) -> ClientAddress {
        ClientAddress::of(std::net::IpAddr::from([192, 0, 2, n]))
    }

    #[test]
    fn both_limits_hold_and_places_come_back() {
        let gate = Gate::new(3, 2);
        let first = gate.enter(address(1)).unwrap();
        let second = gate.enter(address(1)).unwrap();
        assert_eq!(gate.enter(address(1)).unwrap_err(), Full::Address);
        let third = gate.enter(address(2)).unwrap();
        assert_eq!(gate.enter(address(3)).unwrap_err(), Full::Total);
        assert_eq!(gate.enter(address(1)).unwrap_err(), Full::Total, "the total is named first");
        drop(second);
        let again = gate.enter(address(1)).unwrap();
        drop((first, third, again));
        let counts = lock(&gate.counts);
        assert_eq!(counts.total, 0);
        assert!(counts.by_address.is_empty(), "an address that left is forgotten");
    }
}

//! How much waits in the queue and how much is remembered, and whether one more fits.
//! Spec: §7 "Queue size and fairness", W5.4, R9, R10
//!
//! A cache of counts over the rows: what is remembered is counted at the start, a recipient's queue when it is first met. It
//! counts the open batch in; what is undone is taken back.

use std::collections::BTreeMap;

use messaging_core::code::{Code, Failure};
use messaging_core::ids::{Hash, MachineId};
use messaging_core::time::Ms;
use messaging_store::{StoreError, View};

use crate::config::RelayLimits;
use crate::store::{Party, queue, seen};

/// The counts.
#[derive(Debug, Default)]
pub(crate) struct Quotas {
    inboxes: BTreeMap<Party, Inbox>,
    /// Senders of whom anything is remembered.
    seen: BTreeMap<Party, u64>,
    pub(crate) total: Held,
    pub(crate) seen_total: u64,
    /// A failed commit may have been applied: the totals are counted again once writes work.
    stale: bool,
}

/// What waits for one machine.
#[derive(Debug, Default)]
struct Inbox {
    total: Held,
    senders: BTreeMap<MachineId, Held>,
    /// No row expires before this.
    first_exp: Ms,
}

/// Rows and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) rows: u64,
    pub(crate) bytes: u64,
}

impl Held {
    fn add(&mut self, bytes: u64) {
        self.rows = self.rows.saturating_add(1);
        self.bytes = self.bytes.saturating_add(bytes);
    }

    fn take(&mut self, bytes: u64) {
        self.rows = self.rows.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(bytes);
    }
}

/// Why an envelope does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Full {
    /// The sender has enough waiting for this recipient.
    Sender,
    /// The recipient's queue.
    Recipient,
    /// The whole queue.
    Queue,
    /// Too many ids are remembered.
    Seen,
}

impl Full {
    pub(crate) fn failure(self) -> Failure {
        let at = match self {
            Self::Sender => "envelopes of this sender",
            Self::Recipient => "queue of this recipient",
            Self::Queue => "queue",
            Self::Seen => "remembered envelopes",
        };
        Failure::new(Code::RateLimited, at)
    }
}

impl Quotas {
    /// Counts the whole store.
    pub(crate) fn load(rows: &View<'_>) -> Result<Self, StoreError> {
        let mut quotas = Self::default();
        quotas.count(rows)?;
        Ok(quotas)
    }

    /// Whether an envelope of `bytes` fits into every bound.
    pub(crate) fn fits(
        &mut self,
        rows: &View<'_>,
        limits: &RelayLimits,
        sender: &Party,
        recipient: &Party,
        bytes: u64,
    ) -> Result<Result<(), Full>, StoreError> {
        let inbox = self.inbox(rows, recipient)?;
        let (theirs, held) = (inbox.senders.get(&sender.machine).copied(), inbox.total);
        let theirs = theirs.unwrap_or_default();
        let quarter = limits.queue_bytes_per_machine / 4;
        let fits = if theirs.rows >= limits.queue_per_sender
            || theirs.bytes.saturating_add(bytes) > quarter
        {
            Err(Full::Sender)
        } else if held.rows >= limits.queue_per_machine
            || held.bytes.saturating_add(bytes) > limits.queue_bytes_per_machine
        {
            Err(Full::Recipient)
        } else if self.total.rows >= limits.queue_rows
            || self.total.bytes.saturating_add(bytes) > limits.queue_bytes
        {
            Err(Full::Queue)
        } else if self.seen_total >= limits.seen_total
            || self.seen.get(sender).copied().unwrap_or(0) >= limits.seen_per_sender
        {
            Err(Full::Seen)
        } else {
            Ok(())
        };
        Ok(fits)
    }

    /// Whether some of what waits for `recipient` may have expired.
    pub(crate) fn may_have_expired(&self, recipient: &Party, now: Ms) -> bool {
        self.inboxes
            .get(recipient)
            .is_some_and(|inbox| inbox.total.rows > 0 && inbox.first_exp <= now)
    }

    /// The senders that have something waiting for `recipient`.
    pub(crate) fn senders(
        &mut self,
        rows: &View<'_>,
        recipient: &Party,
    ) -> Result<Vec<MachineId>, StoreError> {
        let inbox = self.inbox(rows, recipient)?;
        Ok(inbox.senders.keys().copied().collect())
    }

    /// An envelope joined the queue.
    pub(crate) fn add(&mut self, recipient: &Party, sender: &MachineId, bytes: u64, exp: Ms) {
        self.total.add(bytes);
        if let Some(inbox) = self.inboxes.get_mut(recipient) {
            inbox.total.add(bytes);
            inbox.senders.entry(*sender).or_default().add(bytes);
            inbox.first_exp = inbox.first_exp.min(exp);
        }
    }

    /// An envelope left the queue.
    pub(crate) fn take(&mut self, recipient: &Party, sender: &MachineId, bytes: u64) {
        self.total.take(bytes);
        if let Some(inbox) = self.inboxes.get_mut(recipient) {
            inbox.total.take(bytes);
            if let Some(held) = inbox.senders.get_mut(sender) {
                held.take(bytes);
                if held.rows == 0 {
                    inbox.senders.remove(sender);
                }
            }
        }
    }

    /// An id is remembered.
    pub(crate) fn remember(&mut self, sender: &Party) {
        self.seen_total = self.seen_total.saturating_add(1);
        let seen = self.seen.entry(*sender).or_default();
        *seen = seen.saturating_add(1);
    }

    /// An id is forgotten.
    pub(crate) fn unremember(&mut self, sender: &Party) {
        self.seen_total = self.seen_total.saturating_sub(1);
        if let Some(seen) = self.seen.get_mut(sender) {
            *seen = seen.saturating_sub(1);
            if *seen == 0 {
                self.seen.remove(sender);
            }
        }
    }

    /// Everything to and from a machine of `realm` left the queue: the realm's inboxes are counted again.
    pub(crate) fn empty(&mut self, realm: &Hash, rows: u64, bytes: u64) {
        self.total.rows = self.total.rows.saturating_sub(rows);
        self.total.bytes = self.total.bytes.saturating_sub(bytes);
        self.forget_realm(realm);
    }

    /// Counts the inboxes of a realm again.
    pub(crate) fn forget_realm(&mut self, realm: &Hash) {
        self.inboxes.retain(|party, _| party.realm != *realm);
    }

    /// Counts a recipient's rows again when it is next met.
    pub(crate) fn forget_inbox(&mut self, recipient: &Party) {
        self.inboxes.remove(recipient);
    }

    /// Forgets the empty inboxes: they are counted at no cost.
    pub(crate) fn sweep(&mut self) {
        self.inboxes.retain(|_, inbox| inbox.total.rows > 0);
    }

    #[cfg(test)]
    pub(crate) fn held(&self) -> usize {
        self.inboxes.len()
    }

    /// Nothing in memory is certain any more.
    pub(crate) fn doubt(&mut self) {
        self.stale = true;
    }

    /// Counts the totals again, if they are in doubt.
    pub(crate) fn recount(&mut self, rows: &View<'_>) -> Result<(), StoreError> {
        if self.stale { self.count(rows) } else { Ok(()) }
    }

    fn count(&mut self, rows: &View<'_>) -> Result<(), StoreError> {
        let (count, bytes) = queue::totals(rows)?;
        let seen: BTreeMap<Party, u64> = seen::by_sender(rows)?.into_iter().collect();
        self.total = Held { rows: count, bytes };
        self.seen_total = seen.values().sum();
        self.seen = seen;
        self.stale = false;
        Ok(())
    }

    fn inbox(&mut self, rows: &View<'_>, recipient: &Party) -> Result<&Inbox, StoreError> {
        if !self.inboxes.contains_key(recipient) {
            let mut inbox = Inbox { first_exp: Ms(u64::MAX), ..Inbox::default() };
            for theirs in queue::senders(rows, recipient)? {
                inbox.total.rows += theirs.rows;
                inbox.total.bytes += theirs.bytes;
                inbox.first_exp = inbox.first_exp.min(theirs.first_exp);
                inbox
                    .senders
                    .insert(theirs.sender, Held { rows: theirs.rows, bytes: theirs.bytes });
            }
            self.inboxes.insert(*recipient, inbox);
        }
        Ok(self.inboxes.entry(*recipient).or_default())
    }
}

//! A directory realm as a client has verified it: persons at tree heads that it adopted.
//! Spec: §5 "Realm and anchor", "The successor rule"; §15.9, W4.25 "View", "Anchor"

use alloc::collections::BTreeMap;

use super::{Anchor, DeviceView, RealmKind, RealmView, Relation};
use crate::directory::{BoundDevice, PersonState, TreeHead, VerifiedPerson};
use crate::ids::{Hash, HostedPerson, MachineId, PersonId};
use crate::keys::PublicKey;
use crate::roster::Role;

/// A key directory as a realm: the adopted tree head, the persons verified, and the anchors settled.
///
/// A person that was not verified has no devices here: whoever needs one fetches it first.
#[derive(Clone, Debug)]
pub struct DirectoryView {
    realm: Hash,
    head: (u64, Hash),
    persons: BTreeMap<HostedPerson, VerifiedPerson>,
    devices: BTreeMap<MachineId, Seat>,
    settled: BTreeMap<(u64, Hash), Relation>,
}

/// Whose device a key is, and the key, decoded once.
#[derive(Clone, Debug)]
struct Seat {
    person: HostedPerson,
    key: Option<PublicKey>,
}

impl DirectoryView {
    /// A realm at an adopted tree head, of which nobody is known.
    #[must_use]
    pub fn new(sth: &TreeHead) -> Self {
        Self {
            realm: sth.realm,
            head: (sth.size.get(), sth.root),
            persons: BTreeMap::new(),
            devices: BTreeMap::new(),
            settled: BTreeMap::new(),
        }
    }

    /// Goes on to a newer tree head that was adopted. What was settled against the older one stays so.
    pub fn adopt(&mut self, sth: &TreeHead) {
        self.head = (sth.size.get(), sth.root);
    }

    /// Takes in what was verified of a person, in place of what was held.
    pub fn hold(&mut self, person: &HostedPerson, state: PersonState) {
        self.devices.retain(|_, seat| seat.person != *person);
        let PersonState::Live(verified) = state else {
            self.persons.remove(person);
            return;
        };
        for bound in verified.log.devices() {
            let seat = Seat { person: person.clone(), key: PublicKey::of(&bound.device) };
            self.devices.insert(bound.device, seat);
        }
        self.persons.insert(person.clone(), *verified);
    }

    /// What is held of a person.
    #[must_use]
    pub fn person(&self, person: &HostedPerson) -> Option<&VerifiedPerson> {
        self.persons.get(person)
    }

    /// The persons held, in the order of their ids.
    pub fn persons(&self) -> impl ExactSizeIterator<Item = (&HostedPerson, &VerifiedPerson)> {
        self.persons.iter()
    }

    /// Remembers how an anchor below the adopted head stands to it, as a consistency proof showed. Each is settled once.
    pub fn settle(&mut self, size: u64, root: Hash, relation: Relation) {
        self.settled.insert((size, root), relation);
    }

    /// A current device with a keys statement: one without is none, as sender or as recipient.
    fn seated(&self, device: &MachineId) -> Option<(&Seat, &VerifiedPerson, &BoundDevice)> {
        let seat = self.devices.get(device)?;
        let person = self.persons.get(&seat.person)?;
        let bound = person.log.current(device)?;
        person.keys.contains_key(device).then_some((seat, person, bound))
    }
}

impl RealmView for DirectoryView {
    fn kind(&self) -> RealmKind {
        RealmKind::Directory
    }

    fn realm(&self) -> &Hash {
        &self.realm
    }

    fn device(&self, device: &MachineId) -> Option<DeviceView> {
        let (seat, person, bound) = self.seated(device)?;
        Some(DeviceView {
            person: PersonId::from(&seat.person),
            label: bound.label.clone(),
            enc: person.keys.get(device).map(|statement| statement.enc),
            role: Some(Role::Member),
        })
    }

    fn public_key(&self, device: &MachineId) -> Option<PublicKey> {
        self.seated(device).and_then(|(seat, ..)| seat.key)
    }

    fn anchor(&self) -> Anchor {
        let (size, root) = self.head;
        Anchor::Epoch { size, root }
    }

    fn relate(&self, anchor: &Anchor) -> Relation {
        let Anchor::Epoch { size, root } = *anchor else {
            return Relation::OtherKind;
        };
        let (ours, our_root) = self.head;
        if size > ours {
            Relation::Ahead
        } else if size == ours {
            if root == our_root {
                Relation::Consistent
            } else {
                Relation::Diverged { ours: our_root }
            }
        } else {
            self.settled.get(&(size, root)).copied().unwrap_or(Relation::Unsettled)
        }
    }

    fn successor(&self, device: &MachineId) -> Option<MachineId> {
        let seat = self.devices.get(device)?;
        let person = self.persons.get(&seat.person)?;
        person.log.successor(device).map(|bound| bound.device)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directory::testing::{Realm, device};

    #[test]
    fn a_device_is_current_when_its_log_and_a_statement_say_so() {
        let mut realm = Realm::new();
        realm.bind("alice", 1);
        realm.bind("alice", 2);
        realm.publish("alice", 1);
        let sth = realm.epoch();
        let mut view = DirectoryView::new(&sth);
        let alice = realm.person("alice");
        assert_eq!(view.device(&device(1)), None, "nobody is known yet");
        view.hold(&alice, realm.state("alice"));
        let seen = view.device(&device(1)).unwrap();
        assert_eq!((seen.person, seen.role), (PersonId::from(&alice), Some(Role::Member)));
        assert_eq!(seen.enc, Some(realm.state_of("alice").keys[&device(1)].enc));
        assert_eq!(view.public_key(&device(1)), PublicKey::of(&device(1)));
        assert_eq!(view.device(&device(2)), None, "it published no key");
        assert_eq!(view.public_key(&device(2)), None);

        realm.publish("alice", 2);
        realm.replace("alice", 1, 2);
        view.hold(&alice, realm.state("alice"));
        assert_eq!(view.device(&device(1)), None);
        assert_eq!(view.successor(&device(1)), Some(device(2)));
        assert_eq!(view.successor(&device(2)), None);

        view.hold(&alice, PersonState::Erased);
        assert_eq!(view.device(&device(2)), None);
        assert!(view.person(&alice).is_none());
    }

    #[test]
    fn anchors_below_the_head_are_settled_by_proofs_only() {
        let mut realm = Realm::new();
        let first = realm.epoch();
        let second = realm.epoch();
        let mut view = DirectoryView::new(&first);
        assert_eq!(view.relate(&second.anchor()), Relation::Ahead);
        view.adopt(&second);
        assert_eq!((view.kind(), view.anchor()), (RealmKind::Directory, second.anchor()));
        assert_eq!(view.relate(&second.anchor()), Relation::Consistent);
        assert_eq!(view.relate(&first.anchor()), Relation::Unsettled);
        view.settle(1, first.root, Relation::Consistent);
        assert_eq!(view.relate(&first.anchor()), Relation::Consistent);
        let other = Hash::from_bytes(&[1; 32]);
        let fork = Anchor::Epoch { size: 2, root: other };
        assert_eq!(view.relate(&fork), Relation::Diverged { ours: second.root });
        let roster = Anchor::Roster { seq: 1, hash: other };
        assert_eq!(view.relate(&roster), Relation::OtherKind);
    }
}

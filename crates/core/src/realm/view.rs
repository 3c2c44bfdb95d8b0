//! What a verifier asks of a realm, and two ways to answer: over a roster, and from a table.
//! Spec: §9 `RealmView`

use alloc::collections::BTreeMap;

use super::{Anchor, RealmKind, Relation};
use crate::ids::{EncKey, Hash, Label, MachineId, PersonId};
use crate::keys::PublicKey;
use crate::roster::{HeadRelation, Role, Roster, RosterHead};

/// A realm, as its owner has verified it so far.
///
/// It answers at once, from what is at hand: whoever needs more catches up first.
pub trait RealmView {
    /// The kind of realm.
    fn kind(&self) -> RealmKind;

    /// The realm's id.
    fn realm(&self) -> &Hash;

    /// A current device; `None` for one that never was, or is no longer.
    fn device(&self, device: &MachineId) -> Option<DeviceView>;

    /// A current device's key, decoded. `None` also when the key is not usable.
    fn public_key(&self, device: &MachineId) -> Option<PublicKey>;

    /// What an envelope built now says it has seen.
    fn anchor(&self) -> Anchor;

    /// How an anchor stands to this view.
    fn relate(&self, anchor: &Anchor) -> Relation;

    /// The current device that took a removed one's place, of the same person: what is due from or to the removed one
    /// is from or to it. A team's machines have none: a new machine is a new member.
    ///
    /// Spec: §5 "The successor rule"
    fn successor(&self, _device: &MachineId) -> Option<MachineId> {
        None
    }
}

/// A current device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceView {
    /// Whose device it is.
    pub person: PersonId,
    /// Its name among the person's devices.
    pub label: Label,
    /// The key to seal to, when it is known.
    pub enc: Option<EncKey>,
    /// What it may decide. Everybody in a directory realm is a member.
    pub role: Option<Role>,
}

/// A team as a realm.
#[derive(Clone, Copy, Debug)]
pub struct RosterView<'a> {
    roster: &'a Roster,
    team: Hash,
    head: RosterHead,
}

impl<'a> RosterView<'a> {
    /// The realm of this roster; `None` for a team that does not exist yet.
    #[must_use]
    pub fn new(roster: &'a Roster) -> Option<Self> {
        Some(Self { roster, team: *roster.team_id()?, head: roster.head()? })
    }
}

impl RealmView for RosterView<'_> {
    fn kind(&self) -> RealmKind {
        RealmKind::Roster
    }

    fn realm(&self) -> &Hash {
        &self.team
    }

    fn device(&self, device: &MachineId) -> Option<DeviceView> {
        let member = self.roster.member(device)?;
        Some(DeviceView {
            person: PersonId::from(&member.person),
            label: member.label.clone(),
            enc: Some(member.enc),
            role: Some(member.role),
        })
    }

    fn public_key(&self, device: &MachineId) -> Option<PublicKey> {
        self.roster.public_key(device).copied()
    }

    fn anchor(&self) -> Anchor {
        Anchor::from(self.head)
    }

    fn relate(&self, anchor: &Anchor) -> Relation {
        let Anchor::Roster { seq, hash } = *anchor else {
            return Relation::OtherKind;
        };
        match self.roster.relation(&RosterHead { seq, hash }) {
            HeadRelation::Ahead => Relation::Ahead,
            HeadRelation::Consistent => Relation::Consistent,
            HeadRelation::Diverged { ours } => Relation::Diverged { ours },
        }
    }
}

/// A realm given as a table of devices and one anchor.
///
/// It knows no history but that anchor, so a smaller one counts as consistent.
#[derive(Clone, Debug)]
pub struct TableView {
    realm: Hash,
    anchor: Anchor,
    devices: BTreeMap<MachineId, (DeviceView, Option<PublicKey>)>,
}

impl TableView {
    /// A realm with these devices. Its kind is that of its anchor.
    pub fn new(
        realm: Hash,
        anchor: Anchor,
        devices: impl IntoIterator<Item = (MachineId, DeviceView)>,
    ) -> Self {
        let devices = devices
            .into_iter()
            .map(|(device, view)| (device, (view, PublicKey::of(&device))))
            .collect();
        Self { realm, anchor, devices }
    }
}

impl RealmView for TableView {
    fn kind(&self) -> RealmKind {
        self.anchor.kind()
    }

    fn realm(&self) -> &Hash {
        &self.realm
    }

    fn device(&self, device: &MachineId) -> Option<DeviceView> {
        self.devices.get(device).map(|(view, _)| view.clone())
    }

    fn public_key(&self, device: &MachineId) -> Option<PublicKey> {
        self.devices.get(device).and_then(|(_, key)| *key)
    }

    fn anchor(&self) -> Anchor {
        self.anchor
    }

    fn relate(&self, anchor: &Anchor) -> Relation {
        let (ours, theirs) = match (self.anchor, *anchor) {
            (Anchor::Roster { seq, hash }, Anchor::Roster { seq: at, hash: theirs }) => {
                ((seq, hash), (at, theirs))
            }
            (Anchor::Epoch { size, root }, Anchor::Epoch { size: at, root: theirs }) => {
                ((size, root), (at, theirs))
            }
            _ => return Relation::OtherKind,
        };
        if theirs.0 > ours.0 {
            Relation::Ahead
        } else if theirs.0 == ours.0 && theirs.1 != ours.1 {
            Relation::Diverged { ours: ours.1 }
        } else {
            Relation::Consistent
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::SigningKey;
    use crate::roster::{Member, sign_genesis};
    use crate::time::Ms;

    fn device(person: &str) -> DeviceView {
        DeviceView {
            person: PersonId::parse(person).unwrap(),
            label: Label::parse("desk").unwrap(),
            enc: None,
            role: None,
        }
    }

    fn hash(byte: u8) -> Hash {
        Hash::from_bytes(&[byte; 32])
    }

    #[test]
    fn a_roster_is_a_realm() {
        let key = SigningKey::from_seed(&[1; 32]);
        let founder = Member {
            machine: *key.machine(),
            enc: EncKey::from_bytes(&[9; 32]),
            person: "alice".parse().unwrap(),
            role: Role::Admin,
            label: "laptop".parse().unwrap(),
        };
        let genesis = sign_genesis(&"demo".parse().unwrap(), &founder, Ms(1_000), &key).unwrap();
        let roster = Roster::from_entries([&genesis]).unwrap();
        assert!(RosterView::new(&Roster::new()).is_none());

        let view = RosterView::new(&roster).unwrap();
        let team = *roster.team_id().unwrap();
        assert_eq!(view.kind(), RealmKind::Roster);
        assert_eq!(*view.realm(), team);
        let seen = view.device(key.machine()).unwrap();
        assert_eq!(seen.person.as_str(), "alice");
        assert_eq!(seen.label, founder.label);
        assert_eq!((seen.enc, seen.role), (Some(founder.enc), Some(Role::Admin)));
        assert_eq!(view.public_key(key.machine()), PublicKey::of(key.machine()));
        let stranger = SigningKey::from_seed(&[2; 32]);
        assert_eq!(view.device(stranger.machine()), None);
        assert_eq!(view.public_key(stranger.machine()), None);

        assert_eq!(view.anchor(), Anchor::Roster { seq: 0, hash: team });
        for (anchor, expected) in [
            (view.anchor(), Relation::Consistent),
            (Anchor::Roster { seq: 1, hash: team }, Relation::Ahead),
            (Anchor::Roster { seq: 0, hash: hash(1) }, Relation::Diverged { ours: team }),
            (Anchor::Epoch { size: 1, root: team }, Relation::OtherKind),
        ] {
            assert_eq!(view.relate(&anchor), expected, "{anchor:?}");
        }
    }

    #[test]
    fn a_table_is_a_realm_of_its_anchors_kind() {
        let key = SigningKey::from_seed(&[1; 32]);
        let unusable = MachineId::from_bytes(&[0; 32]);
        let anchor = Anchor::Epoch { size: 5, root: hash(5) };
        let devices = [(*key.machine(), device("alice")), (unusable, device("bob"))];
        let view = TableView::new(hash(7), anchor, devices);
        assert_eq!(view.kind(), RealmKind::Directory);
        assert_eq!(view.device(key.machine()), Some(device("alice")));
        assert!(view.public_key(key.machine()).is_some());
        assert!(view.device(&unusable).is_some());
        assert_eq!(view.public_key(&unusable), None, "listed, but nothing verifies under it");
        for (anchor, expected) in [
            (anchor, Relation::Consistent),
            (Anchor::Epoch { size: 4, root: hash(4) }, Relation::Consistent),
            (Anchor::Epoch { size: 6, root: hash(5) }, Relation::Ahead),
            (Anchor::Epoch { size: 5, root: hash(6) }, Relation::Diverged { ours: hash(5) }),
            (Anchor::Roster { seq: 5, hash: hash(5) }, Relation::OtherKind),
        ] {
            assert_eq!(view.relate(&anchor), expected, "{anchor:?}");
        }
    }
}

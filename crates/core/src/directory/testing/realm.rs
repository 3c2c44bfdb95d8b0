//! A directory that keeps its word: persons, the map and the epoch log, with every key made from a number.
//! Spec: §15.10 "Epochs"

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use core::num::NonZeroU64;

use super::super::{
    Authority, CommittedPerson, DeviceKind, DirectoryRealm, EpochLeaf, EpochProof, EpochWitness,
    JellyKeyArchive, KeysSeq, LinkDraft, LogEntry, LogOp, LogRules, LogSeq, MapKey, MapLeaf,
    MapValue, MerkleLog, NodeHash, Path, PersonHead, PersonMap, PersonState, PersonView,
    StatementDraft, TreeHead, UnbindReason, VerifiedPerson, sign_log_entry, tombstone,
};
use super::issuer::{self, Issuer};
use crate::bounded::List;
use crate::ids::{EncKey, Hash, HostedPerson, Label, MachineId};
use crate::keys::SigningKey;
use crate::time::Ms;

/// When a realm's clock starts.
pub const START: Ms = Ms(1_700_000_000_000);

/// The number of the epoch key.
const EPOCH_KEY: u8 = 200;
/// How far an epoch moves the clock, ms.
const EPOCH_MS: u64 = 5_000;

/// The signing key of a number.
#[must_use]
pub fn key(number: u8) -> SigningKey {
    SigningKey::from_seed(&[number; 32])
}

/// The device of a number.
#[must_use]
pub fn device(number: u8) -> MachineId {
    *key(number).machine()
}

/// A directory. Accounts are named without their prefix.
#[derive(Clone, Debug)]
pub struct Realm {
    /// Its account service.
    pub issuer: Issuer,
    /// Its clock, which appends and epochs move on.
    pub clock: Ms,
    rules: DirectoryRealm,
    keys: JellyKeyArchive,
    epoch_keys: Vec<MachineId>,
    persons: BTreeMap<HostedPerson, Kept>,
    epochs: Vec<Epoch>,
    log: MerkleLog,
}

/// What it keeps of a person.
#[derive(Clone, Debug)]
struct Kept {
    state: VerifiedPerson,
    erased: bool,
    /// The epoch that first committed each entry, and what it committed.
    witnesses: Vec<(usize, MapValue)>,
}

#[derive(Clone, Debug)]
struct Epoch {
    leaf: EpochLeaf,
    map: PersonMap,
}

impl Default for Realm {
    fn default() -> Self {
        Self::new()
    }
}

impl Realm {
    /// A directory without an epoch.
    #[must_use]
    pub fn new() -> Self {
        let issuer = Issuer::new([70; 32], "k1");
        Self {
            keys: issuer.archive(),
            issuer,
            clock: START,
            rules: issuer::realm(Hash::from_bytes(&[9; 32])),
            epoch_keys: vec![device(EPOCH_KEY)],
            persons: BTreeMap::new(),
            epochs: Vec::new(),
            log: MerkleLog::new(),
        }
    }

    /// The realm's id.
    #[must_use]
    pub fn id(&self) -> Hash {
        self.rules.realm
    }

    /// The key that signs its tree heads.
    #[must_use]
    pub fn epoch_key(&self) -> MachineId {
        device(EPOCH_KEY)
    }

    /// What its logs are judged with.
    #[must_use]
    pub fn rules(&self) -> LogRules<'_> {
        LogRules { realm: &self.rules, keys: &self.keys, epoch_keys: &self.epoch_keys }
    }

    /// The person of an account.
    #[must_use]
    pub fn person(&self, account: &str) -> HostedPerson {
        issuer::person(account)
    }

    /// What it knows of an account now, committed or not.
    #[must_use]
    pub fn state_of(&self, account: &str) -> VerifiedPerson {
        let person = self.person(account);
        self.persons.get(&person).map_or_else(
            || VerifiedPerson::unknown(self.id(), person.clone()),
            |kept| kept.state.clone(),
        )
    }

    /// As [`state_of`](Self::state_of), as a client holds it.
    #[must_use]
    pub fn state(&self, account: &str) -> PersonState {
        match self.persons.get(&self.person(account)) {
            Some(kept) if kept.erased => PersonState::Erased,
            _ => PersonState::Live(Box::new(self.state_of(account))),
        }
    }

    /// The entry that does `op` after the account's head, signed at the clock.
    #[must_use]
    pub fn entry(
        &self,
        account: &str,
        op: &LogOp,
        about: u8,
        authority: Authority,
        by: u8,
    ) -> LogEntry {
        let head = self.state_of(account).log.head();
        let act = (op, &device(about), authority);
        let person = self.person(account);
        sign_log_entry(&self.id(), &person, head.as_ref(), act, self.clock, &key(by))
            .expect("an entry")
    }

    /// Appends an entry that must be good, and moves the clock on by a second.
    pub fn append(&mut self, account: &str, op: &LogOp, about: u8, authority: Authority, by: u8) {
        let entry = self.entry(account, op, about, authority, by);
        let mut state = self.state_of(account);
        let now = Some(self.clock);
        state.log.append_entry(entry, &self.rules(), now).expect("a good entry");
        let log = &state.log;
        state.keys.retain(|device, _| log.current(device).is_some());
        let person = self.person(account);
        match self.persons.get_mut(&person) {
            Some(kept) => kept.state = state,
            None => {
                let kept = Kept { state, erased: false, witnesses: vec![] };
                self.persons.insert(person, kept);
            }
        }
        self.clock = self.clock.plus(1_000);
    }

    /// A host's token of the account for a device.
    #[must_use]
    pub fn token(&self, account: &str, about: u8) -> Authority {
        Authority::Jelly { token: self.issuer.host_token(account, &device(about), self.clock) }
    }

    /// Binds a device by a token.
    pub fn bind(&mut self, account: &str, about: u8) {
        let token = self.token(account, about);
        self.append(account, &bind_op(), about, token, about);
    }

    /// Binds a device by a link that another approves.
    pub fn link(&mut self, account: &str, about: u8, approver: u8) {
        let LogOp::Bind { label, kind } = bind_op() else { return };
        let draft = LinkDraft {
            realm: self.id(),
            enc: EncKey::from_bytes(&[about; 32]),
            label: &label,
            kind,
            nonce: [about; 16],
            ts: self.clock,
        };
        let link = draft.sign(&key(about)).expect("a request");
        let authority = Authority::Device { approver: device(approver), link: Box::new(link) };
        self.append(account, &bind_op(), about, authority, approver);
    }

    /// Vouches for a device again.
    pub fn attest(&mut self, account: &str, about: u8) {
        let token = self.token(account, about);
        self.append(account, &LogOp::Attest { label: None, kind: None }, about, token, about);
    }

    /// Replaces a device by another one that is bound.
    pub fn replace(&mut self, account: &str, old: u8, by: u8) {
        let token = self.token(account, by);
        let op = LogOp::Unbind { reason: UnbindReason::Replaced };
        self.append(account, &op, old, token, by);
    }

    /// Publishes a device's next keys statement.
    pub fn publish(&mut self, account: &str, about: u8) {
        let person = self.person(account);
        let mut state = self.state_of(account);
        let seq = state.keys.get(&device(about)).map_or(1, |held| held.seq.0.saturating_add(1));
        let draft = StatementDraft {
            realm: self.id(),
            person: &person,
            enc: EncKey::from_bytes(&[u8::try_from(seq).unwrap_or(u8::MAX); 32]),
            seq: KeysSeq(seq),
            ts: self.clock,
        };
        let statement = draft.sign(&key(about)).expect("a statement");
        statement.verify(&state.log).expect("a statement of a current device");
        state.keys.insert(statement.device, statement);
        self.persons.get_mut(&person).expect("a bound person").state = state;
        self.clock = self.clock.plus(1_000);
    }

    /// Erases a person, from the next epoch on.
    pub fn erase(&mut self, account: &str) {
        let person = self.person(account);
        self.persons.get_mut(&person).expect("a bound person").erased = true;
    }

    /// Makes an epoch that commits everything so far.
    pub fn epoch(&mut self) -> TreeHead {
        self.clock = self.clock.plus(EPOCH_MS);
        let number = self.epochs.len();
        let before = self.epochs.last().map_or_else(PersonMap::new, |last| last.map.clone());
        let mut changes: Vec<(MapKey, NodeHash)> = Vec::new();
        for (person, kept) in &mut self.persons {
            let value = committed(&kept.state);
            for _ in kept.witnesses.len()..kept.state.log.entries().len() {
                kept.witnesses.push((number, value.clone()));
            }
            let digest = if kept.erased { tombstone() } else { value.digest().expect("a value") };
            changes.push((MapKey::of(person), digest));
        }
        let map = before.update(changes).map;
        let leaf = EpochLeaf {
            epoch: number as u64,
            ts: self.clock,
            map_root: map.root(),
            prev_map_root: before.root(),
        };
        self.log.push(leaf.hash().expect("a leaf"));
        self.epochs.push(Epoch { leaf, map });
        self.sth()
    }

    /// The latest tree head.
    #[must_use]
    pub fn sth(&self) -> TreeHead {
        self.sth_at(self.log.size())
    }

    /// The tree head of a size.
    #[must_use]
    pub fn sth_at(&self, size: u64) -> TreeHead {
        let root = self.log.root_at(size).expect("a size it had");
        let last = self.epochs.get(place(size.saturating_sub(1))).expect("an epoch");
        let size = NonZeroU64::new(size).expect("an epoch");
        TreeHead::sign(&self.id(), size, &Hash::from_bytes(&root), last.leaf.ts, &key(EPOCH_KEY))
            .expect("a head")
    }

    /// The proof of an epoch in the latest tree head.
    #[must_use]
    pub fn proof(&self, index: u64) -> EpochProof {
        let leaf = self.epochs.get(place(index)).expect("an epoch").leaf;
        let inclusion = self.log.prove_inclusion(index, self.log.size()).expect("a path");
        EpochProof { index, leaf, inclusion: path(&inclusion) }
    }

    /// The last leaf of the latest tree head.
    #[must_use]
    pub fn head(&self) -> EpochProof {
        self.proof(self.log.size().saturating_sub(1))
    }

    /// The proof that the log of an earlier size is a start of the latest one.
    #[must_use]
    pub fn consistency(&self, first: u64) -> Path {
        self.consistency_between(first, self.log.size())
    }

    /// The proof that the log of one size is a start of that of another.
    #[must_use]
    pub fn consistency_between(&self, first: u64, second: u64) -> Path {
        path(&self.log.prove_consistency(first, second).expect("a proof"))
    }

    /// The map at the latest epoch.
    #[must_use]
    pub fn map(&self) -> &PersonMap {
        &self.epochs.last().expect("an epoch").map
    }

    /// The view of a person at the latest tree head, after the entries that a client knows. Everything is committed.
    #[must_use]
    pub fn view(&self, account: &str, known: Option<LogSeq>) -> PersonView {
        let person = self.person(account);
        let key = MapKey::of(&person);
        let map_proof = self.map().prove(&key);
        let empty = PersonView {
            person,
            log: vec![],
            keys: vec![],
            map_proof,
            epochs: vec![],
            tombstone: false,
        };
        let Some(kept) = self.persons.get(&empty.person) else { return empty };
        if kept.erased {
            return PersonView { tombstone: true, ..empty };
        }
        let log = kept.state.log.entries_after(known);
        let epochs = log.iter().filter(|logged| logged.claims.is_some()).map(|logged| {
            let seq = logged.entry.seq();
            let (number, value) =
                kept.witnesses.get(place(seq.0)).expect("a committed entry").clone();
            let map_proof = self.epochs.get(number).expect("an epoch").map.prove(&key);
            EpochWitness { seq, epoch: self.proof(number as u64), value, map_proof }
        });
        PersonView {
            log: log.iter().map(|logged| logged.entry.clone()).collect(),
            keys: kept.state.keys.values().cloned().collect(),
            epochs: epochs.collect(),
            ..empty
        }
    }

    /// The head of a person at the latest tree head.
    #[must_use]
    pub fn person_head(&self, account: &str) -> PersonHead {
        let person = self.person(account);
        let map_proof = self.map().prove(&MapKey::of(&person));
        let committed = match self.persons.get(&person) {
            None => CommittedPerson::Absent {},
            Some(kept) if kept.erased => CommittedPerson::Erased { tombstone: true },
            Some(kept) => CommittedPerson::Live { value: committed(&kept.state) },
        };
        PersonHead { person, map_proof, committed }
    }
}

fn bind_op() -> LogOp {
    let label = Label::parse("desk").expect("a label");
    LogOp::Bind { label, kind: DeviceKind::Laptop }
}

fn committed(state: &VerifiedPerson) -> MapValue {
    let keys = state
        .log
        .current_devices()
        .into_iter()
        .filter_map(|bound| state.keys.get(&bound.device))
        .map(|statement| statement.hash().expect("a statement"))
        .collect();
    let value = MapValue::new(state.log.head().expect("an entry"), keys).expect("ten devices");
    debug_assert_eq!(MapLeaf::of(&value), state.committed());
    value
}

fn path(hashes: &[NodeHash]) -> Path {
    List::new(hashes.iter().map(Hash::from_bytes).collect()).expect("a path")
}

fn place(number: u64) -> usize {
    usize::try_from(number).expect("a small number")
}

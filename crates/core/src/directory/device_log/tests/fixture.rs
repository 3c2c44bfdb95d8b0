//! A person with devices, and an account service that signs whatever it is asked to.

use alloc::boxed::Box;
use alloc::string::String;

use crate::code::{Code, Failure};
use crate::directory::testing::{self, Issuer};
use crate::directory::{
    Authority, DeviceKind, DeviceLog, DirectoryRealm, JellyKeyArchive, LinkDraft, LinkRequest,
    LogEntry, LogOp, LogRules, UnbindReason, sign_log_entry,
};
use crate::ids::{EncKey, Hash, HostedPerson, Label, MachineId};
use crate::keys::SigningKey;
use crate::time::Ms;

pub(super) const START: Ms = Ms(1_700_000_000_000);

pub(super) struct Fixture {
    pub(super) issuer: Issuer,
    pub(super) realm: DirectoryRealm,
    keys: JellyKeyArchive,
    epoch_keys: [MachineId; 1],
    pub(super) person: HostedPerson,
    pub(super) log: DeviceLog,
    pub(super) clock: Ms,
}

pub(super) fn key(number: u8) -> SigningKey {
    SigningKey::from_seed(&[number; 32])
}

pub(super) fn id(number: u8) -> MachineId {
    *key(number).machine()
}

pub(super) fn label(text: &str) -> Label {
    Label::parse(text).unwrap()
}

pub(super) fn bind() -> LogOp {
    LogOp::Bind { label: label("desk"), kind: DeviceKind::Laptop }
}

pub(super) fn attest() -> LogOp {
    LogOp::Attest { label: None, kind: None }
}

pub(super) fn unbind(reason: UnbindReason) -> LogOp {
    LogOp::Unbind { reason }
}

impl Fixture {
    pub(super) fn new() -> Self {
        let issuer = Issuer::new([70; 32], "k1");
        let realm = testing::realm(Hash::from_bytes(&[9; 32]));
        let person = testing::person("alice");
        Self {
            keys: issuer.archive(),
            log: DeviceLog::new(realm.realm, person.clone()),
            issuer,
            realm,
            epoch_keys: [id(60)],
            person,
            clock: START,
        }
    }

    pub(super) fn rules(&self) -> LogRules<'_> {
        LogRules { realm: &self.realm, keys: &self.keys, epoch_keys: &self.epoch_keys }
    }

    pub(super) fn token(&self, device: u8) -> Authority {
        Authority::Jelly { token: self.issuer.host_token("alice", &id(device), self.clock) }
    }

    pub(super) fn sign_in(&self, device: u8, jti: &str) -> Authority {
        let token = self.issuer.sign_in_token("alice", &id(device), self.clock, jti);
        Authority::Jelly { token }
    }

    pub(super) fn link(&self, device: u8, ts: Ms) -> LinkRequest {
        LinkDraft {
            realm: self.realm.realm,
            enc: EncKey::from_bytes(&[3; 32]),
            label: &label("desk"),
            kind: DeviceKind::Laptop,
            nonce: [device; 16],
            ts,
        }
        .sign(&key(device))
        .unwrap()
    }

    pub(super) fn approval(&self, device: u8, approver: u8) -> Authority {
        Authority::Device { approver: id(approver), link: Box::new(self.link(device, self.clock)) }
    }

    /// An entry after the head, at the fixture's clock.
    pub(super) fn entry(&self, op: &LogOp, device: u8, authority: Authority, by: u8) -> LogEntry {
        let head = self.log.head();
        let act = (op, &id(device), authority);
        sign_log_entry(&self.realm.realm, &self.person, head.as_ref(), act, self.clock, &key(by))
            .unwrap()
    }

    pub(super) fn judge(
        &self,
        op: &LogOp,
        device: u8,
        authority: Authority,
        by: u8,
    ) -> Result<(), Failure> {
        let raw = self.entry(op, device, authority, by).to_value()?;
        self.log.check(&raw, &self.rules(), None)
    }

    /// Appends an entry that must be good, and moves the clock on by a second.
    pub(super) fn append(&mut self, op: &LogOp, device: u8, authority: Authority, by: u8) {
        let raw = self.entry(op, device, authority, by).to_value().unwrap();
        let mut log = self.log.clone();
        log.append(&raw, &self.rules(), Some(self.clock)).unwrap();
        self.log = log;
        self.clock = self.clock.plus(1_000);
    }

    pub(super) fn bound_by_token(mut self, device: u8) -> Self {
        let token = self.token(device);
        self.append(&bind(), device, token, device);
        self
    }

    pub(super) fn bound_by_link(mut self, device: u8, approver: u8) -> Self {
        let approval = self.approval(device, approver);
        self.append(&bind(), device, approval, approver);
        self
    }
}

#[track_caller]
pub(super) fn refused(result: Result<(), Failure>, at: &str) {
    let failure = result.unwrap_err();
    assert_eq!((failure.code, String::from(failure.at)), (Code::BindingInvalid, String::from(at)));
}

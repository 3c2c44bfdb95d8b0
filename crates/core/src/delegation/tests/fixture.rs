//! A realm of four machines, each with a session, and the chains between them.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use serde_json::{Value, json};

use crate::code::Failure;
use crate::delegation::{DelegationSummary, GrantRequest, Hop, extend_chain, verify_chain};
use crate::domain::Domain;
use crate::ids::{Hash, Label, PersonId, ScopeLabel, SessionAddress, Ulid};
use crate::jcs;
use crate::keys::SigningKey;
use crate::realm::{Anchor, DeviceView, TableView};
use crate::time::Ms;

pub(super) const NOW: Ms = Ms(1_700_000_000_000);
/// A root's end in these tests.
pub(super) const END: Ms = Ms(NOW.0 + 86_400_000);

/// The sessions in the order in which the chains go.
pub(super) const WHO: [&str; 6] = [
    "alice/lead@laptop",
    "bob/builder@desk",
    "carol/tester@mini",
    "dave/runner@box",
    "alice/helper@laptop",
    "bob/other@desk",
];

pub(super) fn who(index: usize) -> SessionAddress {
    SessionAddress::parse(WHO[index]).unwrap()
}

/// The key of the machine on which that session runs.
pub(super) fn key(index: usize) -> SigningKey {
    SigningKey::from_seed(&[u8::try_from(index % 4 + 1).unwrap(); 32])
}

pub(super) fn realm() -> Hash {
    Hash::from_bytes(&[0x42; 32])
}

pub(super) fn view() -> TableView {
    let devices = (0..4).map(|index| {
        let address = who(index);
        let person = PersonId::parse(address.person()).unwrap();
        let label = Label::parse(address.label()).unwrap();
        (*key(index).machine(), DeviceView { person, label, enc: None, role: None })
    });
    TableView::new(realm(), Anchor::Roster { seq: 3, hash: realm() }, devices)
}

pub(super) fn task(index: usize) -> Ulid {
    Ulid::parse(["01HF7YAT00AAAAAAAAAAAAAAA0", "01HF7YAT00AAAAAAAAAAAAAAA1"][index % 2]).unwrap()
}

pub(super) fn labels(names: &[&str]) -> Vec<ScopeLabel> {
    names.iter().map(|name| ScopeLabel::parse(name).unwrap()).collect()
}

/// What one hop asks for beside its ends.
#[derive(Clone, Debug, Default)]
pub(super) struct Bounds {
    pub(super) exp: Option<Ms>,
    pub(super) max_depth: Option<u8>,
    pub(super) scope: Option<Vec<ScopeLabel>>,
}

/// Passes `held` on from one session to another.
pub(super) fn pass(
    held: Option<&Value>,
    from: usize,
    to: usize,
    bounds: &Bounds,
) -> Result<Value, Failure> {
    let (from_address, to_address) = (who(from), who(to));
    let request = GrantRequest {
        realm: realm(),
        task: task(from),
        from: &from_address,
        to: &to_address,
        ts: NOW,
        exp: bounds.exp,
        max_depth: bounds.max_depth,
        scope: bounds.scope.clone(),
    };
    extend_chain(held, &request, &key(from), &view(), NOW).map(|(chain, _)| chain)
}

/// The chain along the first sessions of the list.
pub(super) fn chain(grants: usize) -> Value {
    let root = Bounds { exp: Some(END), ..Bounds::default() };
    let mut chain = pass(None, 0, 1, &root).unwrap();
    for from in 1..grants {
        chain = pass(Some(&chain), from, from + 1, &Bounds::default()).unwrap();
    }
    chain
}

/// Verifies as the machine that the last of `grants` grants asks.
pub(super) fn verify(chain: &Value, grants: usize) -> Result<DelegationSummary, Failure> {
    verify_hop(chain, grants - 1, grants)
}

/// Verifies as the machine of session `to`, asked by session `from`.
pub(super) fn verify_hop(
    chain: &Value,
    from: usize,
    to: usize,
) -> Result<DelegationSummary, Failure> {
    let (device, task) = (*key(from).machine(), task(from));
    let (from, to) = (who(from), who(to));
    verify_chain(chain, &view(), &Hop { device: &device, from: &from, to: &to, task: &task }, NOW)
}

/// `chain` with one member of one grant changed, and that grant signed again by its own signer.
pub(super) fn forged(chain: &Value, at: usize, name: &str, member: Option<Value>) -> Value {
    let mut chain = chain.clone();
    let grant = chain[at].as_object_mut().unwrap();
    match member {
        Some(member) => grant.insert(name.into(), member),
        None => grant.remove(name),
    };
    sign(&mut chain[at], &key(at));
    chain
}

pub(super) fn sign(grant: &mut Value, key: &SigningKey) {
    let text = jcs::canonical_without(grant, "sig").unwrap();
    grant["sig"] = json!(key.sign(Domain::Delegation, &text));
}

/// The members of a grant.
pub(super) fn members(grant: &Value) -> BTreeMap<&str, &Value> {
    grant.as_object().unwrap().iter().map(|(name, member)| (name.as_str(), member)).collect()
}

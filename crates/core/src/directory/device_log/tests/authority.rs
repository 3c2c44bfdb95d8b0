//! Who may bind, attest and unbind.

use alloc::boxed::Box;

use super::fixture::{Fixture, attest, bind, id, key, label, refused, unbind};
use crate::code::{Code, Failure};
use crate::directory::{
    Authority, DeviceKind, LogOp, UnbindReason, Vouch, sign_log_entry, testing,
};
use crate::limits::{CLOCK_SKEW_MS, DEVICES_PER_PERSON, LINK_TTL_MS};

#[test]
fn the_first_entry_is_a_bind_by_token() {
    let f = Fixture::new();
    refused(f.judge(&bind(), 1, f.approval(1, 2), 2), "seq");
    refused(f.judge(&bind(), 1, Authority::Itself, 1), "seq");
    refused(f.judge(&attest(), 1, f.token(1), 1), "device");
    assert_eq!(f.judge(&bind(), 1, f.token(1), 1), Ok(()));
}

#[test]
fn a_token_binds_the_device_that_signs_and_no_other() {
    let f = Fixture::new().bound_by_token(1);
    assert_eq!(f.judge(&bind(), 2, f.token(2), 2), Ok(()));
    refused(f.judge(&bind(), 2, f.token(2), 1), "by");
    refused(f.judge(&bind(), 2, f.token(1), 2), "token.cnf");
    let other = Authority::Jelly { token: f.issuer.host_token("bob", &id(2), f.clock) };
    refused(f.judge(&bind(), 2, other, 2), "authority.token.sub");
    refused(f.judge(&bind(), 2, Authority::Service, 60), "authority");
    refused(f.judge(&bind(), 2, Authority::Itself, 2), "authority");
}

#[test]
fn a_device_is_bound_once_for_ever() {
    let mut f = Fixture::new().bound_by_token(1).bound_by_token(2);
    refused(f.judge(&bind(), 2, f.token(2), 2), "device");
    let token = f.token(1);
    f.append(&unbind(UnbindReason::Removed), 2, token, 1);
    refused(f.judge(&bind(), 2, f.token(2), 2), "device");
    refused(f.judge(&bind(), 2, f.approval(2, 1), 1), "device");
    assert!(f.log.current(&id(2)).is_none() && f.log.ever_bound(&id(2)).is_some());
}

#[test]
fn a_link_is_approved_by_a_vouched_device_with_the_very_name_and_in_time() {
    let f = Fixture::new().bound_by_token(1).bound_by_link(2, 1);
    assert_eq!(f.log.current(&id(2)).unwrap().vouch, Vouch::Device);
    assert_eq!(f.judge(&bind(), 3, f.approval(3, 1), 1), Ok(()));
    refused(f.judge(&bind(), 3, f.approval(3, 2), 2), "authority.approver");
    refused(f.judge(&bind(), 3, f.approval(3, 1), 3), "authority.approver");
    refused(f.judge(&bind(), 3, f.approval(4, 1), 1), "authority.link.device");
    let renamed = LogOp::Bind { label: label("other"), kind: DeviceKind::Laptop };
    refused(f.judge(&renamed, 3, f.approval(3, 1), 1), "authority.link.label");
    let recast = LogOp::Bind { label: label("desk"), kind: DeviceKind::Server };
    refused(f.judge(&recast, 3, f.approval(3, 1), 1), "authority.link.kind");

    for (ts, good) in [
        (f.clock.minus(LINK_TTL_MS), true),
        (f.clock.minus(LINK_TTL_MS + 1), false),
        (f.clock.plus(CLOCK_SKEW_MS), true),
        (f.clock.plus(CLOCK_SKEW_MS + 1), false),
    ] {
        let authority = Authority::Device { approver: id(1), link: Box::new(f.link(3, ts)) };
        assert_eq!(f.judge(&bind(), 3, authority, 1).is_ok(), good, "{ts}");
    }
    let mut link = f.link(3, f.clock);
    link.enc = crate::ids::EncKey::from_bytes(&[4; 32]);
    let authority = Authority::Device { approver: id(1), link: Box::new(link) };
    refused(f.judge(&bind(), 3, authority, 1), "authority.link.sig");
}

#[test]
fn an_attest_raises_the_vouch_and_may_rename() {
    let mut f = Fixture::new().bound_by_token(1).bound_by_link(2, 1);
    refused(f.judge(&attest(), 2, f.token(2), 1), "by");
    refused(f.judge(&attest(), 2, Authority::Itself, 2), "authority");
    let op = LogOp::Attest { label: Some(label("tower")), kind: Some(DeviceKind::Server) };
    let token = f.token(2);
    f.append(&op, 2, token, 2);
    let bound = f.log.current(&id(2)).unwrap();
    assert_eq!((bound.vouch, bound.kind), (Vouch::Jelly, DeviceKind::Server));
    assert_eq!(bound.label, label("tower"));
    assert_eq!(f.judge(&bind(), 3, f.approval(3, 2), 2), Ok(()), "it may approve now");
}

#[test]
fn removals_are_by_vouched_devices_and_by_oneself() {
    let f = Fixture::new().bound_by_token(1).bound_by_link(2, 1).bound_by_token(3);
    for reason in [UnbindReason::Removed, UnbindReason::Lost, UnbindReason::Replaced] {
        let op = unbind(reason);
        assert_eq!(f.judge(&op, 2, f.token(1), 1), Ok(()));
        refused(f.judge(&op, 1, f.token(2), 2), "by");
        refused(f.judge(&op, 1, f.token(1), 1), "by");
        refused(f.judge(&op, 2, f.token(2), 1), "token.cnf");
        refused(f.judge(&op, 2, Authority::Itself, 1), "authority");
        refused(f.judge(&op, 9, f.token(1), 1), "device");
    }
    let own = unbind(UnbindReason::Itself);
    assert_eq!(f.judge(&own, 2, Authority::Itself, 2), Ok(()));
    refused(f.judge(&own, 2, Authority::Itself, 1), "by");
    refused(f.judge(&own, 2, f.token(2), 2), "authority");
    let deleted = unbind(UnbindReason::AccountDeleted);
    assert_eq!(f.judge(&deleted, 1, Authority::Service, 60), Ok(()));
    refused(f.judge(&deleted, 1, Authority::Service, 61), "by");
    refused(f.judge(&deleted, 1, Authority::Itself, 1), "authority");
}

#[test]
fn removing_a_device_keeps_those_it_approved() {
    let mut f = Fixture::new().bound_by_token(1).bound_by_link(2, 1).bound_by_token(3);
    let token = f.token(3);
    f.append(&unbind(UnbindReason::Lost), 1, token, 3);
    assert!(f.log.current(&id(2)).is_some());
}

#[test]
fn a_person_has_ten_devices_at_most() {
    let mut f = Fixture::new();
    for device in 1..=10 {
        f = f.bound_by_token(device);
    }
    assert_eq!(f.log.current_devices().len(), DEVICES_PER_PERSON);
    let limit = Err(Failure::new(Code::DeviceLimit, "device"));
    assert_eq!(f.judge(&bind(), 11, f.token(11), 11), limit);
    assert_eq!(f.judge(&bind(), 11, f.approval(11, 1), 1), limit);
    let token = f.token(1);
    f.append(&unbind(UnbindReason::Removed), 10, token, 1);
    assert_eq!(f.judge(&bind(), 11, f.token(11), 11), Ok(()));
}

#[test]
fn a_token_is_fresh_at_the_append() {
    let f = Fixture::new();
    for (ts, good) in [
        (f.clock.plus(900_000 + CLOCK_SKEW_MS), true),
        (f.clock.plus(900_001 + CLOCK_SKEW_MS), false),
        (f.clock.minus(CLOCK_SKEW_MS), true),
        (f.clock.minus(CLOCK_SKEW_MS + 1), false),
    ] {
        let act = (&bind(), &id(1), f.token(1));
        let entry = sign_log_entry(&f.realm.realm, &f.person, None, act, ts, &key(1)).unwrap();
        let judged = f.log.check(&entry.to_value().unwrap(), &f.rules(), None);
        assert_eq!(judged.is_ok(), good, "{ts}");
    }
}

#[test]
fn a_sign_in_vouches_for_one_act_and_a_host_for_many() {
    let mut f = Fixture::new();
    let first = f.sign_in(1, "j1");
    f.append(&bind(), 1, first.clone(), 1);
    refused(f.judge(&attest(), 1, first.clone(), 1), "authority.token");
    refused(f.judge(&attest(), 1, f.sign_in(1, "j1"), 1), "authority.token");
    let mut f = f.bound_by_token(2).bound_by_token(3);
    refused(f.judge(&unbind(UnbindReason::Lost), 2, first, 1), "authority.token");
    let second = f.sign_in(1, "j2");
    f.append(&unbind(UnbindReason::Lost), 2, second.clone(), 1);
    assert_eq!(f.judge(&unbind(UnbindReason::Lost), 3, second.clone(), 1), Ok(()));
    refused(f.judge(&attest(), 1, second, 1), "authority.token");
    let host = f.token(3);
    f.append(&attest(), 3, host.clone(), 3);
    assert_eq!(f.judge(&attest(), 3, host, 3), Ok(()));
}

#[test]
fn the_successor_is_the_last_replacement_if_it_is_there() {
    let mut f = Fixture::new().bound_by_token(1).bound_by_token(2).bound_by_token(3);
    assert_eq!(f.log.successor(&id(1)), None);
    let token = f.token(2);
    f.append(&unbind(UnbindReason::Replaced), 1, token, 2);
    assert_eq!(f.log.successor(&id(1)).unwrap().device, id(2));
    let token = f.token(3);
    f.append(&unbind(UnbindReason::Replaced), 2, token, 3);
    assert_eq!(f.log.successor(&id(1)).unwrap().device, id(3));
    assert_eq!(f.log.successor(&id(2)).unwrap().device, id(3));
    let own = unbind(UnbindReason::Itself);
    f.append(&own, 3, Authority::Itself, 3);
    assert_eq!(f.log.successor(&id(1)), None);
}

#[test]
fn the_profile_is_the_newest_tokens() {
    let mut f = Fixture::new().bound_by_token(1);
    assert_eq!(f.log.profile().unwrap().name.as_deref(), Some("alice"));
    let mut claims = testing::host_claims("alice", &id(1), f.clock);
    for member in ["email", "email_verified"] {
        claims.as_object_mut().unwrap().remove(member);
    }
    claims["name"] = "Alice B".into();
    let token = Authority::Jelly { token: f.issuer.sign(&claims) };
    f.append(&attest(), 1, token, 1);
    let profile = f.log.profile().unwrap();
    assert_eq!((profile.name.as_deref(), &profile.email), (Some("Alice B"), &None));
}

//! The chain that the specification gives as check values.
//! Spec: W9

use crate::ids::{Secret32Text, Ulid};
use crate::keys::{EncSecret, Identity, SigningKey};
use crate::limits::TTL_MS;
use crate::relay_auth::{Challenge, RosterHello};
use crate::roster::{Member, Op, Role, Roster, sign_genesis};
use crate::ticket::InviteTicket;
use crate::time::Ms;
use crate::version::Version;

#[test]
fn genesis_invite_and_redeem_are_the_published_ones() {
    let alice = Identity::from_secrets([0x01; 32], [0x11; 32]);
    let bob = Identity::from_secrets([0x02; 32], [0x12; 32]);
    assert_eq!(alice.machine().as_str(), "iojj3XQJ8ZX9UtstPLpdcspnCb8dlBIb83SIAbQPb1w");
    assert_eq!(bob.machine().as_str(), "gTl3Dqh9F19Wo1Rmw0x-zMuNipG07jeiXfYPW4_Js5Q");
    assert_eq!(bob.enc.public().as_str(), "BSpQdzrI2Rdz8tyWYuEvDe_pFeQVuKHI4gpaPWqyuEM");

    for (seed, machine) in [
        (0x03, "7UkoxijRwsbq6QM4kFmVYSlZJzpcY_k2NsFGFKyHN9E"),
        (0x04, "ypOsFwUYcHHWe4PH_w7-gQjo7EUwV113JoeTM9vavnw"),
    ] {
        assert_eq!(SigningKey::from_seed(&[seed; 32]).machine().as_str(), machine);
    }
    assert_eq!(
        EncSecret::from_bytes([0x13; 32]).public().as_str(),
        "GX_CxWfcA-4qrfDthmgdrCTap26DylVYdd075zduUwY"
    );

    let founder = Member {
        machine: *alice.machine(),
        enc: *alice.enc.public(),
        person: "alice".parse().unwrap(),
        role: Role::Admin,
        label: "laptop".parse().unwrap(),
    };
    let ts = Ms(1_700_000_000_000);
    let genesis = sign_genesis(&"demo".parse().unwrap(), &founder, ts, &alice.signing).unwrap();
    let mut roster = Roster::from_entries([&genesis]).unwrap();
    let team = *roster.team_id().unwrap();
    assert_eq!(team.as_str(), "SeGw5ik9q0MAP2h015KS9Y0HgNDdu7_OGEPhRLiJU5g");

    let ticket = InviteTicket {
        v: Version,
        relay: "wss://relay.example/v1/connect".parse().unwrap(),
        team,
        invite_id: Ulid::parse("01HF7YAT00ZZZZZZZZZZZZZZZZ").unwrap(),
        secret: Secret32Text::from_bytes(&[0x04; 32]),
        person: "bob".parse().unwrap(),
        expires: ts.plus(1_000 + TTL_MS),
        name: None,
    };
    assert_eq!(ticket.invite_pub().as_str(), "ypOsFwUYcHHWe4PH_w7-gQjo7EUwV113JoeTM9vavnw");
    let create = Op::InviteCreate {
        invite_id: ticket.invite_id,
        invite_pub: ticket.invite_pub(),
        person: ticket.person.clone(),
        expires: ticket.expires,
    };
    let entry = roster.sign_next(&create, ts.plus(1_000), &alice.signing).unwrap();
    let applied = roster.apply(&entry, None).unwrap();
    assert_eq!(applied.entry.hash().as_str(), "FZuwYPm7o3Ft9UxR8-VbtaQ-8nV7IICRHH9fBV0EXoU");

    let redeem = ticket.redeem(&team, &bob, &"desk".parse().unwrap()).unwrap();
    let Op::InviteRedeem { proof, .. } = &redeem else { panic!("a redeem") };
    assert_eq!(
        proof.as_str(),
        "pP5ocojBSwNzXI-BundbEO8-9MRuZFizhJsETRjwEBEmqvNPDHqgZBPFbnLCLQBTIjFjIbXRiu8lo5Gi5BOHAw"
    );
    let entry = roster.sign_next(&redeem, ts.plus(2_000), &bob.signing).unwrap();
    let applied = roster.apply(&entry, None).unwrap();
    assert_eq!(applied.entry.hash().as_str(), "Btqu00Tg0PxFHDaCCT_gOokIrwInWVjkhJYm9k62Zzk");

    let challenge = Challenge {
        relay: "wss://relay.example".into(),
        nonce: crate::ids::Nonce32::from_bytes(&[0x07; 32]),
    };
    assert_eq!(
        ticket.join_proof(&challenge).unwrap().as_str(),
        "CMv_-kjYcUbI_dtsyoSmtvNwAJ9chD-CO5V4VoLXLv9QuvEoMNzgGyDOt0xbqwY8T7Bf7D2ItO-cb5uSejYXDw"
    );
    let hello = RosterHello::sign(&challenge, &team, ts.plus(3_000), &bob.signing).unwrap();
    assert_eq!(
        hello.sig.as_str(),
        "OclR6gf62gXNzo2LWIzQ5UDksfeEpNgM6lWjUk6HqgqoesSUG_kXsxfb9flFfLMtSB3xNzvMFn7rcB46AmrsCw"
    );
}

//! Founding, joining and leaving through a relay.
//! Spec: §4, W5.8, checklist 7.19–7.24, 7.50–7.54

use std::collections::BTreeSet;

use messaging_core::code::Code;
use messaging_core::ids::Req;
use messaging_core::roster::{Op, Role, Roster};
use messaging_relay::GenesisPolicy;
use messaging_wire::{ClientFrame, CloseCode, Join, RelayFrame, RosterSync};

use crate::harness::{Client, Machine, Team, TestRelay, code_of, now, two_members};

#[track_caller]
fn nacked(frame: RelayFrame, code: Code) {
    match frame {
        RelayFrame::Nack(nack) => assert_eq!((nack.id.as_str(), nack.code), ("append", code)),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_team_is_founded_only_where_and_by_whom_it_is_allowed() {
    let admin = Machine::new("alice", "laptop");
    let closed =
        TestRelay::with(|config| config.genesis = GenesisPolicy::Machines(BTreeSet::new())).await;
    let (mut client, _) = Client::dial(&closed).await;
    nacked(client.append(&Team::genesis(&admin)).await, Code::Forbidden);

    let mine = BTreeSet::from([admin.id()]);
    let relay = TestRelay::with(|config| config.genesis = GenesisPolicy::Machines(mine)).await;
    let (mut client, _) = Client::dial(&relay).await;
    nacked(client.append(&Team::genesis(&Machine::new("bob", "desk"))).await, Code::Forbidden);
    let genesis = Team::genesis(&admin);
    assert!(matches!(client.append(&genesis).await, RelayFrame::RosterOk(_)));
    nacked(client.append(&genesis).await, Code::RosterConflict);
}

#[tokio::test]
async fn a_ticket_lets_a_machine_read_the_chain_join_and_connect() {
    let relay = TestRelay::start().await;
    let mut team = Team::found(&relay).await;
    let mut admin = Client::login(&relay, &team.id, &team.admin.identity).await;
    let ticket = team.invite(&relay, &mut admin, "bob").await;
    let bob = Machine::new("bob", "desk");

    let (mut client, challenge) = Client::dial(&relay).await;
    let join = Join {
        req: Req::parse("join").unwrap(),
        team: team.id,
        invite_id: ticket.invite_id,
        proof: ticket.join_proof(&challenge).unwrap(),
        after: None,
    };
    client.send(&ClientFrame::Join(join.clone())).await;
    let page = match client.next().await {
        RelayFrame::Roster(page) => page,
        other => panic!("{other:?}"),
    };
    assert_eq!((page.req.as_ref().map(Req::as_str), page.more), (Some("join"), false));
    let mut roster = Roster::from_entries(&page.entries).unwrap();
    assert_eq!(roster.team_id(), Some(&ticket.team), "the chain is the ticket's team");
    let redeem = ticket.redeem(&ticket.team, &bob.identity, &bob.label).unwrap();
    let entry = roster.sign_next(&redeem, now(), &bob.identity.signing).unwrap();
    assert!(matches!(client.append(&entry).await, RelayFrame::RosterOk(ok) if ok.head.seq == 2));
    roster.apply(&entry, None).unwrap();
    match admin.next().await {
        RelayFrame::Roster(page) => assert_eq!((page.req, page.entries), (None, vec![entry])),
        other => panic!("{other:?}"),
    }
    client.hello(&challenge, &team.id, &bob.identity).await;
    assert!(
        matches!(client.next().await, RelayFrame::Welcome(welcome) if Some(&welcome.head) == roster.head().as_ref())
    );

    // The proof is bound to its connection, and a used invite is no longer one.
    let (mut other, _) = Client::dial(&relay).await;
    other.send(&ClientFrame::Join(join)).await;
    assert!(
        matches!(other.next().await, RelayFrame::Nack(nack) if nack.code == Code::InviteInvalid)
    );
}

#[tokio::test]
async fn pages_hold_256_entries_and_say_when_there_is_more() {
    let relay = TestRelay::with(|config| config.limits.frames_per_minute = 100_000).await;
    let mut team = Team::found(&relay).await;
    let mut admin = Client::login(&relay, &team.id, &team.admin.identity).await;
    for n in 0..300 {
        let machine = Machine::new(&format!("p{n}"), "m");
        team.add(&mut admin, &machine).await;
    }
    let req = Req::parse("sync").unwrap();
    admin.send(&ClientFrame::RosterSync(RosterSync { req: req.clone(), after: None })).await;
    let RelayFrame::Roster(first) = admin.next().await else { panic!() };
    assert_eq!((first.entries.len(), first.more), (256, true));
    admin.send(&ClientFrame::RosterSync(RosterSync { req, after: Some(255) })).await;
    let RelayFrame::Roster(second) = admin.next().await else { panic!() };
    assert_eq!((second.entries.len(), second.more), (45, false));
    let all = first.entries.iter().chain(&second.entries);
    assert_eq!(Roster::from_entries(all).unwrap().head(), team.roster.head());
}

#[tokio::test]
async fn a_removed_member_gets_its_own_entry_and_4003_and_stays_out() {
    let relay = TestRelay::start().await;
    let (mut team, mut admin, bob, mut link) = two_members(&relay).await;
    let carol = Machine::new("carol", "desk");
    team.add(&mut admin, &carol).await;
    assert!(matches!(link.next().await, RelayFrame::Roster(_)));
    let entry = team.append(&mut admin, &Op::MemberRemove { machine: bob.id() }).await;
    match link.next().await {
        RelayFrame::Roster(page) => assert_eq!(page.entries, [entry]),
        other => panic!("{other:?}"),
    }
    assert_eq!(link.close_code().await, code_of(CloseCode::Removed));
    assert!(matches!(admin.next().await, RelayFrame::Peer(peer) if !peer.online));
    let (mut again, challenge) = Client::dial(&relay).await;
    again.hello(&challenge, &team.id, &bob.identity).await;
    assert_eq!(again.refused().await, (Code::NotMember, code_of(CloseCode::AuthFailed)));
}

#[tokio::test]
async fn a_member_may_not_append_what_only_an_admin_may() {
    let relay = TestRelay::start().await;
    let (team, _admin, bob, mut link) = two_members(&relay).await;
    let op = Op::MemberAdd { member: Machine::new("eve", "box").member(Role::Member) };
    let entry = team.roster.sign_next(&op, now(), &bob.identity.signing).unwrap();
    nacked(link.append(&entry).await, Code::Forbidden);
    let own = team.entry(&op);
    nacked(link.append(&own).await, Code::Forbidden);
}

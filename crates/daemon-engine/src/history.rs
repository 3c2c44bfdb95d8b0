//! The devices of persons as the roster's history tells them: when one came, when and how it went.
//! Spec: §8.2 "Devices", D1.6, D1.7

use std::collections::BTreeMap;

use messaging_core::ids::{Label, MachineId, RosterPerson};
use messaging_core::roster::{Op, Roster};
use messaging_core::time::Ms;

/// One machine's time in the team.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stay {
    pub(crate) machine: MachineId,
    pub(crate) person: RosterPerson,
    pub(crate) label: Label,
    /// When it was admitted.
    pub(crate) since: Ms,
    /// Whether it founded the team: then nobody added it.
    pub(crate) founder: bool,
    /// When it was removed, and by whom.
    pub(crate) removed: Option<(Ms, MachineId)>,
}

/// Every machine that ever was in the team, by its id. Cost: one walk over the chain.
pub(crate) fn stays(roster: &Roster) -> BTreeMap<MachineId, Stay> {
    let mut stays: BTreeMap<MachineId, Stay> = BTreeMap::new();
    for entry in roster.entries() {
        match entry.op() {
            Op::Genesis { founder: member, .. }
            | Op::MemberAdd { member }
            | Op::InviteRedeem { member, .. } => {
                let stay = Stay {
                    machine: member.machine,
                    person: member.person.clone(),
                    label: member.label.clone(),
                    since: entry.ts(),
                    founder: matches!(entry.op(), Op::Genesis { .. }),
                    removed: None,
                };
                stays.insert(member.machine, stay);
            }
            Op::MemberRemove { machine } => {
                if let Some(stay) = stays.get_mut(machine) {
                    stay.removed = Some((entry.ts(), *entry.by()));
                }
            }
            Op::MemberRole { .. }
            | Op::MemberRekey { .. }
            | Op::InviteCreate { .. }
            | Op::InviteRevoke { .. } => {}
        }
    }
    stays
}

/// When a machine of each person last came or went. That of the team's founder did not come.
pub(crate) fn last_changes<'s>(
    stays: impl IntoIterator<Item = &'s Stay>,
) -> BTreeMap<RosterPerson, Ms> {
    let mut last: BTreeMap<RosterPerson, Ms> = BTreeMap::new();
    for stay in stays {
        let came = (!stay.founder).then_some(stay.since);
        let Some(at) = stay.removed.map(|(at, _)| at).or(came) else { continue };
        let known = last.entry(stay.person.clone()).or_insert(at);
        *known = (*known).max(at);
    }
    last
}

//! Appends: the relay orders the entries of a chain, keeps them, and tells everybody.
//! Spec: §4 "Sequencing and forks", §7 "roster.append", "Removal"; W4.24, W5.8

use std::sync::Arc;

use messaging_core::code::Code;
use messaging_core::ids::{Hash, MachineId, Req};
use messaging_core::roster::{Applied, Entry, Live, Op, Roster};
use messaging_store::{Effects, Turn};
use messaging_wire::{CloseCode, text};
use serde_json::Value;

use crate::engine::RelayEngine;
use crate::halt::{Halt, refuse};
use crate::input::{ConnId, Out};
use crate::prepare::Submitted;
use crate::staged::{Appended, Staged};
use crate::store::{self, Party, presence, queue};

impl RelayEngine {
    /// Appends an entry of a member.
    pub(crate) fn append(
        &mut self,
        turn: &mut Turn<'_>,
        conn: ConnId,
        party: &Party,
        req: &Req,
        Submitted { raw, entry }: &Submitted,
    ) -> Result<(), Halt> {
        match entry.op() {
            Op::Genesis { .. } | Op::InviteRedeem { .. } => {
                return refuse(Code::Forbidden, "op after hello");
            }
            _ if entry.team() != Some(&party.realm) => return refuse(Code::Forbidden, "team"),
            _ if *entry.by() != party.machine => return refuse(Code::Forbidden, "by"),
            _ => {}
        }
        self.extend(turn, conn, &party.realm, req, raw)
    }

    /// Appends the entry of a machine that is no member yet: it founds a team, or redeems an invite.
    pub(crate) fn append_pre_auth(
        &mut self,
        turn: &mut Turn<'_>,
        conn: ConnId,
        req: &Req,
        Submitted { raw, entry }: &Submitted,
    ) -> Result<(), Halt> {
        match (entry.op(), entry.team()) {
            (Op::Genesis { .. }, _) => self.found(turn, conn, req, raw, entry),
            (Op::InviteRedeem { .. }, Some(team)) => {
                if self.realms.teams.roster(&turn.tx, team)?.is_none() {
                    return refuse(Code::InviteInvalid, "team");
                }
                self.extend(turn, conn, team, req, raw)
            }
            _ => refuse(Code::Forbidden, "op before hello"),
        }
    }

    fn found(
        &mut self,
        turn: &mut Turn<'_>,
        conn: ConnId,
        req: &Req,
        raw: &Value,
        entry: &Entry,
    ) -> Result<(), Halt> {
        let limits = &self.config.limits;
        if !self.config.genesis.allows(entry.by()) {
            return refuse(Code::Forbidden, "genesis");
        }
        if store::teams::total(&turn.tx)? >= limits.max_teams {
            return refuse(Code::Forbidden, "teams");
        }
        if let Some(known) = self.conns.get(conn) {
            self.budgets.founding(known.address, limits, turn.now.mono)?;
        }
        let team = *entry.hash();
        if store::teams::exists(&turn.tx, &team)? {
            return refuse(Code::RosterConflict, "team");
        }
        let mut roster = Roster::new();
        let applied = roster.apply(raw, Some(Live::append(turn.now.wall)))?;
        self.staged.push(Staged::Chain { team });
        self.realms.teams.found(team, roster);
        self.keep(turn, conn, &team, req, applied)
    }

    fn extend(
        &mut self,
        turn: &mut Turn<'_>,
        conn: ConnId,
        team: &Hash,
        req: &Req,
        raw: &Value,
    ) -> Result<(), Halt> {
        let Some(roster) = self.realms.teams.roster(&turn.tx, team)? else {
            return refuse(Code::NotMember, "team");
        };
        let applied = roster.apply(raw, Some(Live::append(turn.now.wall)))?;
        // In memory the chain has grown already: should the write fail, the team is read again.
        self.staged.push(Staged::Chain { team: *team });
        self.keep(turn, conn, team, req, applied)
    }

    /// Stores an entry that was applied, and stages whom to tell.
    fn keep(
        &mut self,
        turn: &mut Turn<'_>,
        author: ConnId,
        team: &Hash,
        req: &Req,
        Applied { entry, removed }: Applied,
    ) -> Result<(), Halt> {
        store::teams::append(&mut turn.tx, team, &entry, turn.now.wall)?;
        let removed = removed.map(|member| member.machine);
        if let Some(machine) = removed {
            let party = Party { realm: *team, machine };
            self.empty(turn, &party)?;
            presence::delete(&mut turn.tx, &party)?;
        }
        self.staged.push(Staged::Appended(Box::new(Appended {
            team: *team,
            author,
            ok: text::roster_ok(req, &entry.head()).into(),
            broadcast: text::roster(None, [entry.canonical().as_str()], false).into(),
            removed,
        })));
        Ok(())
    }

    /// Deletes everything to and from a machine that is no member any more.
    fn empty(&mut self, turn: &mut Turn<'_>, party: &Party) -> Result<(), Halt> {
        let mut pairs: Vec<(Party, MachineId)> = self
            .quotas
            .senders(&turn.tx, party)?
            .into_iter()
            .map(|sender| (*party, sender))
            .collect();
        // Whoever else has a queue is a current member: a removed one's was emptied then.
        if let Some(roster) = self.realms.teams.roster(&turn.tx, &party.realm)? {
            let others = roster.members().map(|member| Party { machine: member.machine, ..*party });
            pairs.extend(others.map(|other| (other, party.machine)));
        }
        let (mut rows, mut bytes) = (0, 0);
        for (recipient, sender) in &pairs {
            let gone = queue::delete_pair(&mut turn.tx, recipient, sender)?;
            rows += gone.0;
            bytes += gone.1;
        }
        self.staged.push(Staged::Emptied { party: *party, rows, bytes });
        Ok(())
    }

    /// Tells the author, everybody else, and a machine that was removed.
    pub(crate) fn appended(&mut self, appended: Appended, out: &mut Effects<Out>) {
        let Appended { team, author, ok, broadcast, removed } = appended;
        self.send(author, "roster.ok", ok, out);
        let others: Vec<ConnId> = self
            .conns
            .of_realm(&team)
            .map(|(_, conn)| conn)
            .filter(|conn| *conn != author)
            .collect();
        for conn in others {
            self.send(conn, "roster", Arc::clone(&broadcast), out);
        }
        let Some(machine) = removed else { return };
        if let Some(conn) = self.conns.online(&Party { realm: team, machine }) {
            if conn == author {
                self.send(conn, "roster", broadcast, out);
            }
            // It has its own signed removal now, which it verifies; the code is a hint.
            self.close(conn, CloseCode::Removed, out);
        }
    }

    /// A machine's queues were emptied: what was counted and in flight of them is not there any more.
    pub(crate) fn emptied(&mut self, party: &Party, rows: u64, bytes: u64) {
        self.quotas.empty(&party.realm, rows, bytes);
        let links: Vec<ConnId> = self.conns.of_realm(&party.realm).map(|(_, conn)| conn).collect();
        for conn in links {
            if let Some(link) = self.conns.link_mut(conn) {
                link.deliveries.forget_sender(&party.machine);
                link.presences.retain(|machine| *machine != party.machine);
            }
        }
    }
}

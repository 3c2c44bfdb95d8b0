//! Pages of a chain: for a member, and for whoever holds an open invite.
//! Spec: §7 "Paging", "Pre-auth frames"; W4.24 `join`, W5.8

use messaging_core::code::Code;
use messaging_core::ids::Req;
use messaging_core::invite;
use messaging_core::roster::Roster;
use messaging_store::{Effects, Turn};
use messaging_wire::{Join, text};

use crate::engine::RelayEngine;
use crate::halt::{Halt, refuse};
use crate::input::{ConnId, Out};
use crate::store::Party;

impl RelayEngine {
    /// Answers a member with the entries after a number.
    pub(crate) fn sync(
        &mut self,
        turn: &Turn<'_>,
        conn: ConnId,
        party: &Party,
        req: &Req,
        after: Option<u64>,
        out: &mut Effects<Out>,
    ) -> Result<(), Halt> {
        let Some(roster) = self.realms.teams.roster(&turn.tx, &party.realm)? else {
            return refuse(Code::NotMember, "team");
        };
        let page = page(roster, req, after);
        self.send(conn, "roster", page, out);
        Ok(())
    }

    /// Answers whoever proves an open invite with the entries after a number.
    ///
    /// One code for an unknown team, a closed invite and a bad proof: a stranger learns nothing of the team.
    pub(crate) fn join(
        &mut self,
        turn: &Turn<'_>,
        conn: ConnId,
        join: &Join,
        out: &mut Effects<Out>,
    ) -> Result<(), Halt> {
        let Some(nonce) = self.conns.get(conn).map(|conn| conn.nonce) else { return Ok(()) };
        let relay = &self.config.relay;
        let roster = self.realms.teams.roster(&turn.tx, &join.team)?;
        let proven = roster.filter(|roster| {
            roster.invite(&join.invite_id).is_some_and(|invite| {
                invite.open
                    && turn.now.wall < invite.expires
                    && invite::join_is_proven(
                        &invite.key,
                        relay,
                        &join.team,
                        &join.invite_id,
                        &nonce,
                        &join.proof,
                    )
            })
        });
        let Some(roster) = proven else { return refuse(Code::InviteInvalid, "invite") };
        let page = page(roster, &join.req, join.after);
        self.send(conn, "roster", page, out);
        Ok(())
    }
}

fn page(roster: &Roster, req: &Req, after: Option<u64>) -> String {
    let (entries, more) = roster.page_after(after);
    text::roster(Some(req), entries.iter().map(|entry| entry.canonical().as_str()), more)
}

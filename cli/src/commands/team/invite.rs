//! `messaging team invite`.
//! Spec: D6.4, §4 "Invites"

use clap_complete::ArgValueCompleter;
use messaging_core::ids::RosterPerson;
use messaging_ipc::call;
use messaging_ipc::params::team::Invite as Params;
use messaging_ipc::scalars::Count;

use crate::complete;
use crate::context::Context;
use crate::fault::Fault;
use crate::render::{Report, until};

/// Make a ticket with which one machine of a person joins the team
///
/// The ticket is printed once and kept nowhere. Whoever has it can join as that person, once, until it ends: hand it
/// over where nobody else reads it.
///
/// Examples:
///   messaging team invite bob
///   messaging team invite bob --expires 2h
///
/// See also: messaging team join, messaging team revoke
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Invite {
    /// The person's name in the team
    #[arg(value_name = "PERSON", add = ArgValueCompleter::new(complete::persons))]
    person: RosterPerson,
    /// How long it holds: a number and s, m, h or d; at most 7d
    #[arg(long, value_name = "TIME", default_value = "1d", value_parser = ttl)]
    expires: Ttl,
}

type Ttl = Count<60_000, { messaging_core::limits::TTL_MS }, 86_400_000>;

fn ttl(text: &str) -> Result<Ttl, &'static str> {
    let (digits, unit) = text.split_at_checked(text.len().saturating_sub(1)).ok_or("no time")?;
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        _ => return Err("no unit"),
    };
    let number: u64 = digits.parse().map_err(|_| "no number")?;
    let ms = number.checked_mul(seconds * 1_000).ok_or("too long")?;
    Ttl::parse(ms).map_err(|_| "out of range")
}

impl Invite {
    pub(crate) async fn run(self, context: &Context) -> Result<Report, Fault> {
        let link = context.connect().await?;
        let params = Params { person: self.person, ttl_ms: self.expires };
        let invited = link.call::<call::TeamInvite>(&params).await?;
        let note = format!(
            "Hand this ticket to {} where nobody else reads it: whoever has it joins as {}.\n\
             It works once, ends {}, and is not shown again. `messaging team revoke {}` takes it back.",
            invited.person,
            invited.person,
            until(&context.screen, invited.expires),
            invited.invite_id,
        );
        Ok(Report::of(&invited, format!("{}\n", invited.ticket.expose())).noting(note))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_number_and_a_unit_within_bounds() {
        for (text, ms) in
            [("60s", 60_000), ("90m", 5_400_000), ("2h", 7_200_000), ("7d", 604_800_000)]
        {
            assert_eq!(ttl(text).unwrap().value(), ms);
        }
        for bad in ["", "1", "d", "59s", "8d", "1w", "-1d", "1.5h", "99999999999999999999d", "é"] {
            assert!(ttl(bad).is_err(), "{bad}");
        }
    }
}

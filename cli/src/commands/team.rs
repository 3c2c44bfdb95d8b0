//! `messaging team`.
//! Spec: D6.4

mod add;
mod cancel;
mod card;
mod claim;
mod create;
mod invite;
mod join;
mod leave;
mod list;
mod pair;
mod prepare;
mod rekey;
mod remove;
mod revoke;
mod role;

use messaging_core::code::Code;
use messaging_core::ids::{Label, MachineId, RosterPerson};
use messaging_ipc::call;
use messaging_ipc::params::Nothing;
use messaging_ipc::results::team;
use messaging_ipc::shapes::Member;

use crate::context::{Context, Link};
use crate::fault::Fault;
use crate::render::Report;

/// Found a team, join one, and say who belongs to it
///
/// A team is a signed list of machines that every one of them checks by itself. Admins change it.
///
/// Examples:
///   messaging team create --relay wss://relay.example/v1/connect --name garden --person alice
///   messaging team invite bob
///   messaging team join < ticket
///
/// See also: messaging status, messaging contact list
#[derive(Debug, clap::Subcommand)]
#[command(verbatim_doc_comment)]
pub(crate) enum Team {
    Create(create::Create),
    Join(join::Join),
    Invite(invite::Invite),
    Revoke(revoke::Revoke),
    #[command(alias = "ls")]
    List(list::List),
    Card(card::Card),
    Role(role::SetRole),
    #[command(alias = "rm")]
    Remove(remove::Remove),
    Leave(leave::Leave),
    Rekey(rekey::Rekey),
    Prepare(prepare::Prepare),
    Pair(pair::Pair),
    Add(add::Add),
    Claim(claim::Claim),
    Cancel(cancel::Cancel),
}

impl Team {
    pub(crate) async fn run(self, context: &Context) -> Result<Report, Fault> {
        match self {
            Self::Create(command) => command.run(context).await,
            Self::Join(command) => command.run(context).await,
            Self::Invite(command) => command.run(context).await,
            Self::Revoke(command) => command.run(context).await,
            Self::List(command) => command.run(context).await,
            Self::Card(command) => command.run(context).await,
            Self::Role(command) => command.run(context).await,
            Self::Remove(command) => command.run(context).await,
            Self::Leave(command) => command.run(context).await,
            Self::Rekey(command) => command.run(context).await,
            Self::Prepare(command) => command.run(context).await,
            Self::Pair(command) => command.run(context).await,
            Self::Add(command) => command.run(context).await,
            Self::Claim(command) => command.run(context).await,
            Self::Cancel(command) => command.run(context).await,
        }
    }
}

/// The label of this machine when none is given: its host name, made a label.
fn label(given: Option<Label>) -> Result<Label, Fault> {
    match given {
        Some(label) => Ok(label),
        None => Ok(label_of(&rustix::system::uname().nodename().to_string_lossy())?),
    }
}

/// A host name as a label: its first part, lower case, other characters as dashes; `machine` when nothing is left.
fn label_of(host: &str) -> Result<Label, messaging_core::code::Failure> {
    let first = host.split('.').next().unwrap_or_default().to_lowercase();
    let dashed: String = first
        .chars()
        .map(|c| if c.is_ascii_lowercase() || c.is_ascii_digit() { c } else { '-' })
        .collect();
    let cut: String = dashed.trim_matches('-').chars().take(32).collect();
    match cut.trim_end_matches('-') {
        "" => Label::parse("machine"),
        label => Label::parse(label),
    }
}

/// A card from the command line, or else the first line of standard input.
async fn card<T>(given: Option<T>, read: fn(&str) -> Result<T, &'static str>) -> Result<T, Fault> {
    if let Some(card) = given {
        return Ok(card);
    }
    let line = tokio::task::spawn_blocking(join::first_line).await;
    let line = line.ok().flatten().unwrap_or_default();
    read(line.trim()).map_err(|_| {
        Fault::usage("there is no such card on standard input", "name it, or run it as `… < card`.")
    })
}

/// A machine as a person names it: its id, or `<person>@<label>`.
#[derive(Clone, Debug)]
enum Named {
    Id(MachineId),
    Place(RosterPerson, Label),
}

impl std::str::FromStr for Named {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Some((person, label)) = text.split_once('@') {
            return match (RosterPerson::parse(person), Label::parse(label)) {
                (Ok(person), Ok(label)) => Ok(Self::Place(person, label)),
                _ => Err("not a person and a label"),
            };
        }
        MachineId::parse(text).map(Self::Id).map_err(|_| "not a machine")
    }
}

impl Named {
    /// The member that is meant.
    async fn find(&self, link: &Link<'_>) -> Result<Member, Fault> {
        let found = list(link).await?.members.into_iter().find(|member| match self {
            Self::Id(id) => member.machine == *id,
            Self::Place(person, label) => member.person == *person && member.label == *label,
        });
        found.ok_or_else(|| {
            Fault::new(Code::NotFound, "no machine of the team is named so")
                .next("check `messaging team list`.")
        })
    }
}

async fn list(link: &Link<'_>) -> Result<team::Team, Fault> {
    link.call::<call::TeamList>(&Nothing {}).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_name_becomes_a_label() {
        for (host, label) in [
            ("Laptop.local", "laptop"),
            ("Ada's MacBook Pro", "ada-s-macbook-pro"),
            ("--x--", "x"),
            ("", "machine"),
            ("...", "machine"),
            ("ünï", "n"),
            (&"a".repeat(40), &"a".repeat(32)),
        ] {
            assert_eq!(label_of(host).unwrap().as_str(), label);
        }
    }

    #[test]
    fn machines_are_named_in_two_ways() {
        assert!(matches!("bob@laptop".parse(), Ok(Named::Place(..))));
        assert!(matches!("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo".parse(), Ok(Named::Id(_))));
        for bad in ["", "bob", "bob@", "@x", "Bob@x"] {
            assert!(bad.parse::<Named>().is_err(), "{bad}");
        }
    }
}

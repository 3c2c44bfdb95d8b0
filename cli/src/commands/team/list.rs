//! `messaging team list`.
//! Spec: D6.4

use messaging_ipc::shapes::Member;

use crate::commands::status::role;
use crate::context::Context;
use crate::fault::Fault;
use crate::render::{Cell, Report, Table, until, when};
use crate::screen::Style;

/// List the machines of the team and the open invites
///
/// Examples:
///   messaging team list
///   messaging team list --json
///
/// See also: messaging team role, messaging team remove, messaging team card
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct List {}

impl List {
    pub(crate) async fn run(self, context: &Context) -> Result<Report, Fault> {
        let link = context.connect().await?;
        let team = super::list(&link).await?;
        let screen = &context.screen;
        let mut members =
            Table::new(&["PERSON", "LABEL", "ROLE", "STATE", "SINCE", "MACHINE"], "No machines.");
        for member in &team.members {
            members.row(row(context, member));
        }
        let mut invites = Table::new(&["INVITE", "PERSON", "ENDS", "BY"], "No open invites.");
        for invite in &team.invites {
            invites.row([
                Cell::id(invite.invite_id),
                Cell::new(invite.person.as_str()),
                Cell::new(until(screen, invite.expires)),
                Cell::id(invite.by),
            ]);
        }
        let (members, invites) = (members.render(screen), invites.render(screen));
        let text = if screen.tty {
            let title = |text| screen.paint(Style::Strong, text);
            format!("{}\n{members}\n{}\n{invites}", title("MEMBERS"), title("INVITES"))
        } else {
            format!("{members}\n{invites}")
        };
        Ok(Report::of(&team, text))
    }
}

fn row(context: &Context, member: &Member) -> [Cell; 6] {
    let state = match (member.own.is_some(), member.online) {
        (true, _) => "this machine",
        (false, true) => "online",
        (false, false) => "offline",
    };
    let style = if member.online || member.own.is_some() { Style::Plain } else { Style::Dim };
    [
        Cell::new(member.person.as_str()).styled(style),
        Cell::new(member.label.as_str()).styled(style),
        Cell::new(role(member.role)).styled(style),
        Cell::new(state).styled(style),
        Cell::new(when(&context.screen, member.added_at)).styled(style),
        Cell::id(member.machine).styled(style),
    ]
}

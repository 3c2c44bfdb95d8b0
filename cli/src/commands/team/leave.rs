//! `messaging team leave`.
//! Spec: D6.4

use messaging_core::code::Code;
use messaging_ipc::call;
use messaging_ipc::params::team::OneMachine;

use crate::context::Context;
use crate::fault::Fault;
use crate::render::Report;

/// Remove this machine from the team
///
/// The last admin cannot leave: make another machine an admin first.
///
/// Examples:
///   messaging team leave
///   messaging team leave --yes
///
/// See also: messaging team role, messaging team list
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Leave {}

impl Leave {
    pub(crate) async fn run(self, context: &Context) -> Result<Report, Fault> {
        let link = context.connect().await?;
        let team = super::list(&link).await?;
        let own = team.members.iter().find(|member| member.own.is_some());
        let own = own.ok_or_else(|| Fault::new(Code::NotMember, "this machine is in no team"))?;
        let sentence = format!(
            "Leave the team {}; this machine cannot come back with its present keys.",
            messaging_core::peer_text::one_line(team.name.as_str(), 80)
        );
        if !context.confirm(&sentence).await? {
            return Ok(Report::declined());
        }
        let machine = own.machine;
        let removed = link.call::<call::TeamRemove>(&OneMachine { machine }).await?;
        Ok(Report::of(&removed, "left the team\n"))
    }
}

//! `messaging notices watch`.
//! Spec: D6.4, D2

use messaging_core::jcs;
use messaging_ipc::call;
use messaging_ipc::event::Event;
use messaging_ipc::params::notice::Subscribe;
use messaging_ipc::scalars::Str;
use messaging_ipc::shapes::{Notice, NoticeCategory};

use crate::context::Context;
use crate::fault::Fault;
use crate::render::{Clock, Report, behind, line, stamp};
use crate::screen::{Screen, Style};

/// Show notices as they come, those not yet acknowledged first
///
/// It goes on when the daemon was away for a while, and shows nothing twice.
///
/// Examples:
///   messaging notices watch
///   messaging notices watch --lines --json
///
/// See also: messaging notices list, messaging chat
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Watch {
    /// The start of each line too
    #[arg(long)]
    lines: bool,
}

impl Watch {
    pub(super) async fn run(self, context: &Context) -> Result<Report, Fault> {
        let clock = Clock::local();
        let mut link = context.connect().await?;
        let mut after: Option<Str<0, 64>> = None;
        loop {
            let subscribe = Subscribe { after: after.clone(), lines: self.lines };
            match link.call::<call::NoticeSubscribe>(&subscribe).await {
                Ok(_) => {}
                Err(fault) if fault.is_absence() => {
                    link = context.connect_again().await?;
                    continue;
                }
                Err(fault) => return Err(fault),
            }
            while let Some(event) = link.events.next().await {
                let Event::Notice { notice } = &event else { continue };
                after = Str::new(notice.id.clone()).ok();
                let json = jcs::to_value(&event).unwrap_or_default();
                if context.print_event(&json, &text(&context.screen, &clock, notice)).is_err() {
                    return Ok(Report::printed());
                }
            }
            link = context.connect_again().await?;
        }
    }
}

fn text(screen: &Screen, clock: &Clock, notice: &Notice) -> String {
    let from = notice.from.as_ref().map(|from| line(from.name.as_untrusted())).unwrap_or_default();
    let said = notice.line.as_deref().unwrap_or_default();
    if !screen.tty {
        let cells = [
            stamp(notice.at),
            notice.id.clone(),
            super::category(notice).to_owned(),
            from,
            super::place(notice),
            said.to_owned(),
        ];
        return cells.map(|cell| line(&cell)).join("\t") + "\n";
    }
    let place = super::place(notice);
    let what = match notice.category {
        NoticeCategory::Message => format!("line in {place}"),
        NoticeCategory::Request => format!("request of {place}"),
        NoticeCategory::Alert => "alert".to_owned(),
    };
    let from = if from.is_empty() || from == place { String::new() } else { format!(", {from}") };
    let head = format!("{}  {what}", clock.minute(notice.at));
    let style = match notice.category {
        NoticeCategory::Alert => Style::Warn,
        NoticeCategory::Message | NoticeCategory::Request => Style::Plain,
    };
    let said = if said.is_empty() { from } else { format!("{from}: {said}") };
    let mut out = String::new();
    for row in behind(screen.columns(), &head, "       ", &said) {
        out += &screen.paint(style, &row);
        out.push('\n');
    }
    out
}

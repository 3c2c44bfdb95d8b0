//! `messaging status`.
//! Spec: D6.4

use std::time::Duration;

use messaging_core::jcs;
use messaging_ipc::call;
use messaging_ipc::params::Nothing;
use messaging_ipc::params::notice::ListNotices;
use messaging_ipc::results::notice::Counts;
use messaging_ipc::shapes::{
    DaemonAlarm, DaemonHealth, DaemonState, DaemonStatus, DeviceStatus, HealthAlarm, RelayState,
};
use serde_json::{Value, json};

use crate::context::{Context, Link};
use crate::fault::Fault;
use crate::render::{Facts, Report, until, when};
use crate::screen::{Screen, Style};

/// Show how the daemon, this device, the team and the relay are
///
/// Alarms come first: they need you. The counts say what waits for the person.
///
/// Examples:
///   messaging status
///   messaging status --json
///   messaging status --watch
///
/// See also: messaging doctor, messaging daemon status
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Status {
    /// Show it again every two seconds
    #[arg(long)]
    watch: bool,
}

const PERIOD: Duration = Duration::from_secs(2);

impl Status {
    pub(crate) async fn run(self, context: &Context) -> Result<Report, Fault> {
        let link = context.connect().await?;
        if !self.watch {
            return Ok(Overview::ask(&link, true).await?.report(&context.screen));
        }
        loop {
            let report = Overview::ask(&link, true).await?.report(&Screen {
                now: messaging_runtime::clock::wall(),
                ..context.screen.clone()
            });
            let clear = if context.screen.tty { "\u{1b}[H\u{1b}[2J" } else { "" };
            if context.print_event(&report.json, &format!("{clear}{}\n", report.text)).is_err() {
                return Ok(Report::printed());
            }
            tokio::time::sleep(PERIOD).await;
        }
    }
}

/// Everything that `status` asks for.
pub(in crate::commands) struct Overview {
    /// At a glance.
    pub(in crate::commands) health: DaemonHealth,
    /// In full.
    pub(in crate::commands) status: DaemonStatus,
    /// This device in its realm.
    pub(in crate::commands) device: DeviceStatus,
    /// What waits for the person.
    counts: Option<Counts>,
}

impl Overview {
    /// Asks the daemon, for the person's counts too when wished.
    pub(in crate::commands) async fn ask(link: &Link<'_>, counts: bool) -> Result<Self, Fault> {
        Ok(Self {
            health: link.call::<call::DaemonHealth>(&Nothing {}).await?,
            status: link.call::<call::DaemonStatus>(&Nothing {}).await?,
            device: link.call::<call::DeviceStatus>(&Nothing {}).await?,
            counts: if counts { Some(person_counts(link).await?) } else { None },
        })
    }

    /// One document, and the same as facts.
    pub(in crate::commands) fn report(&self, screen: &Screen) -> Report {
        let mut document = json!({
            "health": value(&self.health), "status": value(&self.status), "device": value(&self.device),
        });
        if let (Some(counts), Some(members)) = (&self.counts, document.as_object_mut()) {
            members.insert("counts".to_owned(), value(counts));
        }
        Report::new(document, self.facts(screen).render(screen))
    }

    fn facts(&self, screen: &Screen) -> Facts {
        let status = &self.status;
        let mut facts = Facts::default();
        for alarm in self.alarms() {
            facts.styled("Alarm", alarm, Style::Bad);
        }
        let state = match status.state {
            DaemonState::Starting => "starting",
            DaemonState::Running => "running",
            DaemonState::Stopping => "stopping",
        };
        let since = when(screen, status.started_at);
        facts.add(
            "Daemon",
            format!("{state}, release {}, process {}, since {since}", status.version, status.pid),
        );
        match &status.identity {
            Some(identity) => facts.add(
                "Device",
                format!("{}@{} ({})", identity.person, identity.label, identity.device),
            ),
            None => facts.styled("Device", "not set up; found a team or join one", Style::Warn),
        };
        if let Some(team) = &status.team {
            let members = if team.members == 1 {
                "1 machine".into()
            } else {
                format!("{} machines", team.members)
            };
            facts.add(
                "Team",
                format!(
                    "{}, {members}, role {}, entry {}",
                    team.name.as_str(),
                    role(team.role),
                    team.seq
                ),
            );
        }
        facts.styled(
            "Relay",
            self.relay(screen),
            match status.relay.state {
                RelayState::Connected => Style::Good,
                RelayState::Connecting | RelayState::Offline => Style::Warn,
            },
        );
        if let Some(rotation) = status.rotation.as_ref().and_then(|rotation| rotation.next_at) {
            facts.add("Next key", until(screen, rotation));
        }
        if let Some(counts) = &self.counts {
            facts.add("Waiting", waiting(counts));
        }
        facts
    }

    fn relay(&self, screen: &Screen) -> String {
        let relay = &self.status.relay;
        let mut text = match relay.state {
            RelayState::Connected => "connected",
            RelayState::Connecting => "connecting",
            RelayState::Offline => "offline",
        }
        .to_owned();
        if let Some(url) = &relay.url {
            text += &format!(", {url}");
        }
        if let Some(since) = relay.since {
            text += &format!(", since {}", when(screen, since));
        }
        if let (Some(error), true) = (&relay.last_error, relay.state != RelayState::Connected) {
            text += &format!(", last failure: {error}");
        }
        text
    }

    /// What needs the person, gravest first.
    pub(in crate::commands) fn alarms(&self) -> Vec<String> {
        let mut alarms = Vec::new();
        match self.status.alarm {
            Some(DaemonAlarm::Restored) => {
                alarms.push("this device runs from an older copy of its home".to_owned());
            }
            Some(DaemonAlarm::KeysMissing) => {
                alarms.push("this device's keys are missing".to_owned())
            }
            None => {}
        }
        if self.status.damaged.is_some() {
            alarms.push("the store is damaged: nothing can be sent or read".to_owned());
        }
        if self.status.twin_since.is_some() {
            alarms.push(messaging_daemon_engine::TWIN.to_owned());
        }
        if self.health.alarm.0 == Some(HealthAlarm::Directory) {
            alarms.push("the directory showed two different histories".to_owned());
        }
        for split in self.status.divergence.iter().flatten() {
            alarms.push(format!(
                "{} was shown another history of the team than this device, from entry {}",
                split.person, split.seq
            ));
        }
        alarms
    }
}

/// What waits for the person, in words.
pub(in crate::commands) fn waiting(counts: &Counts) -> String {
    let counted = |count, one: &str| format!("{count} {one}{}", if count == 1 { "" } else { "s" });
    format!("{} not read, {}", counted(counts.unread, "line"), counted(counts.requests, "request"))
}

pub(in crate::commands) const fn role(role: messaging_core::roster::Role) -> &'static str {
    match role {
        messaging_core::roster::Role::Admin => "admin",
        messaging_core::roster::Role::Member => "member",
    }
}

async fn person_counts(link: &Link<'_>) -> Result<Counts, Fault> {
    Ok(link.call::<call::NoticeList>(&ListNotices::default()).await?.counts)
}

fn value(of: &impl serde::Serialize) -> Value {
    // These came from JSON, so they can become JSON again.
    jcs::to_value(of).unwrap_or_default()
}

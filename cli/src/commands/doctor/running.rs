//! What a running daemon says about itself, its device, its team and its relay.
//! Spec: D6.6

use messaging_core::limits::RETAINED_KEYS;
use messaging_daemon_engine::{Cause, LAYOUT, TWIN, cause_of};
use messaging_ipc::shapes::{Binding, DaemonAlarm, DaemonState, RelayState};

use super::Check;
use crate::commands::status::Overview;
use crate::render::when;
use crate::screen::Screen;

/// Every check of a daemon of this release.
pub(super) fn all(overview: &Overview, screen: &Screen) -> Vec<Check> {
    vec![
        state(overview),
        store(overview),
        identity(overview),
        alarm(overview),
        relay(overview, screen),
        twin(overview.status.twin_since.is_some()),
        team(overview),
        rotation(overview),
    ]
}

fn state(overview: &Overview) -> Check {
    match overview.status.state {
        DaemonState::Running => Check::ok("state", "running"),
        DaemonState::Starting => {
            Check::warn("state", "still starting", "wait a moment, then run this again.")
        }
        DaemonState::Stopping => {
            Check::warn("state", "stopping", "run `messaging daemon start` when it is gone.")
        }
    }
}

fn store(overview: &Overview) -> Check {
    if overview.status.damaged.is_some() {
        let next = "run `messaging daemon stop`, then `messaging daemon repair`.";
        return Check::fail("store", "it is damaged", next).coded("store_damaged");
    }
    let schema = overview.health.store_schema;
    if schema == u64::from(LAYOUT.schema) {
        Check::ok("store", format!("in use, schema {schema}"))
    } else {
        Check::fail(
            "store",
            format!("schema {schema} is not this release's"),
            "run `messaging daemon restart`.",
        )
    }
}

fn identity(overview: &Overview) -> Check {
    match (&overview.status.identity, overview.device.binding) {
        (_, Binding::Removed) => Check::fail(
            "identity",
            "this device was removed",
            "ask an admin for an invite and join with another home.",
        ),
        (Some(identity), _) => {
            Check::ok("identity", format!("{}@{}", identity.person, identity.label))
        }
        (None, _) => Check::warn(
            "identity",
            "this device is in no team yet",
            "run `messaging team create` or `messaging team join`.",
        ),
    }
}

fn alarm(overview: &Overview) -> Check {
    match overview.alarms().into_iter().next() {
        None => Check::ok("alarm", "none"),
        // Each has a check of its own.
        Some(_) if overview.status.damaged.is_some() || overview.status.twin_since.is_some() => {
            Check::ok("alarm", "see below")
        }
        Some(alarm) => Check::fail("alarm", alarm, mended_by(overview.status.alarm)),
    }
}

/// The one step that ends an alarm; without one of the home's own, members were shown two histories.
const fn mended_by(alarm: Option<DaemonAlarm>) -> &'static str {
    match alarm {
        Some(DaemonAlarm::KeysMissing) => {
            "put a copy of identity.json back, then run `messaging daemon restart`; without a copy, have an admin run \
             `messaging team remove` for this machine, move the home aside and join anew."
        }
        Some(DaemonAlarm::Restored) => {
            "run `messaging team leave`, move the home aside and join anew; a later copy of identity.json, put back while the \
             daemon is stopped, mends it too."
        }
        None => "compare `messaging team list` with the others before you go on.",
    }
}

fn relay(overview: &Overview, screen: &Screen) -> Check {
    let relay = &overview.status.relay;
    let Some(url) = &relay.url else {
        return Check::ok("relay", "none configured yet");
    };
    let since =
        relay.since.map(|since| format!(", since {}", when(screen, since))).unwrap_or_default();
    let why =
        relay.last_error.as_ref().map(|why| format!(", last failure: {why}")).unwrap_or_default();
    if relay.state != RelayState::Connected
        && let Some(cause) = relay.last_error.as_deref().and_then(cause_of)
    {
        let (code, meaning, next) = explained(cause);
        return Check::fail("relay", format!("{meaning}; the relay is {url}"), next).coded(code);
    }
    let next = "check the network and the relay; the daemon goes on trying.";
    match relay.state {
        RelayState::Connected => Check::ok("relay", format!("welcomed by {url}{since}")),
        RelayState::Connecting => {
            Check::warn("relay", format!("trying to reach {url}{since}{why}"), next)
        }
        RelayState::Offline => {
            Check::fail("relay", format!("cannot reach {url}{since}{why}"), next)
        }
    }
}

/// The word for a cause, what it means, and the one step that mends it.
const fn explained(cause: Cause) -> (&'static str, &'static str, &'static str) {
    match cause {
        Cause::Clock => (
            "clock_skew",
            "this machine's clock and the relay's are too far apart",
            "set this machine's clock (its date too), for example with `timedatectl set-ntp true`.",
        ),
        Cause::ProxyRefused => (
            "proxy_refused",
            "the proxy did not let the connection through",
            "have the proxy let the relay through, or name the relay in NO_PROXY, then run `messaging daemon restart`.",
        ),
        Cause::ProxyPassword => (
            "proxy_password",
            "the proxy wants another user or password",
            "put them in HTTPS_PROXY (http://user:password@host:port), then run `messaging daemon restart`.",
        ),
        Cause::ProxyUnusable => (
            "proxy_unusable",
            "the proxy does not answer, or its address is not understood",
            "set HTTPS_PROXY to http://host:port of a proxy that is there, or unset it, then run `messaging daemon restart`.",
        ),
        Cause::CertificateUnknown => (
            "certificate_unknown",
            "the relay's certificate is by nobody this machine knows",
            "add your authority to the system's certificates, or name its file in SSL_CERT_FILE, then run `messaging daemon restart`.",
        ),
        Cause::CertificateWrong => (
            "certificate_wrong",
            "the relay's certificate is for another name, or is none",
            "tell whoever runs the relay, and do not go on over this network before you know why.",
        ),
        Cause::OtherRelay => (
            "relay_mismatch",
            "the relay says that it is another one than its address names",
            "tell whoever runs the relay to set --relay-id to the address that members use.",
        ),
    }
}

/// Whether another copy of this home fights for the relay.
fn twin(stands: bool) -> Check {
    if stands {
        Check::fail(
            "twin",
            TWIN,
            "find the other copy of this home and stop its daemon; then run `messaging daemon restart`.",
        )
        .coded("twin")
    } else {
        Check::ok("twin", "no other copy of this home was met")
    }
}

fn team(overview: &Overview) -> Check {
    match &overview.status.team {
        Some(team) => Check::ok("team", format!("{} machines, entry {}", team.members, team.seq)),
        None => Check::ok("team", "none"),
    }
}

fn rotation(overview: &Overview) -> Check {
    let Some(rotation) = &overview.status.rotation else {
        return Check::ok("key rotation", "not yet");
    };
    let most = u64::try_from(RETAINED_KEYS).unwrap_or(u64::MAX);
    if rotation.retained >= most {
        let message =
            format!("{} replaced keys are kept, the most there can be", rotation.retained);
        return Check::fail("key rotation", message, "wait until the oldest is dropped.");
    }
    match rotation.days {
        0 => Check::warn(
            "key rotation",
            "off",
            "set identity.rotateEncDays in the settings, and restart the daemon.",
        ),
        days => Check::ok(
            "key rotation",
            format!("every {days} days, {} replaced keys kept", rotation.retained),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::*;

    #[test]
    fn a_twin_that_was_met_fails() {
        assert_eq!(twin(true).state, State::Fail);
        assert_eq!(twin(false).state, State::Ok);
    }

    #[test]
    fn every_alarm_names_the_step_that_ends_it() {
        let steps = [None, Some(DaemonAlarm::Restored), Some(DaemonAlarm::KeysMissing)];
        for (alarm, command) in steps.into_iter().zip(["team list", "team leave", "daemon restart"])
        {
            let next = mended_by(alarm);
            assert!(next.contains(&format!("`messaging {command}`")), "{next}");
            assert!(next.ends_with('.') && !next.contains("  "), "{next}");
        }
    }
}

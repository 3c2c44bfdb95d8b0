//! `hello`: a machine names itself and signs the challenge.
//! Spec: §7 "Connecting", W2.9, W4.24 `hello`

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Challenge, canonical, signed};
use crate::code::{Code, Failure};
use crate::domain::Domain;
use crate::ids::{Hash, HostedPerson, MachineId, Nonce32, Sig};
use crate::jcs::Canonical;
use crate::json;
use crate::keys::SigningKey;
use crate::limits::CLOCK_SKEW_MS;
use crate::time::Ms;
use crate::version::Version;

/// A `hello` of either form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hello {
    /// To a relay that serves teams.
    Roster(RosterHello),
    /// To a relay that serves a key directory.
    Hosted(HostedHello),
}

/// The `hello` of a team's machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RosterHello {
    /// The team.
    pub team: Hash,
    /// The machine.
    pub machine: MachineId,
    /// The machine's clock.
    pub ts: Ms,
    /// Its signature.
    pub sig: Sig,
}

/// The `hello` of a hosted person's device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostedHello {
    /// The directory realm.
    pub realm: Hash,
    /// The person.
    pub person: HostedPerson,
    /// The device.
    pub device: MachineId,
    /// The device's clock.
    pub ts: Ms,
    /// Its signature.
    pub sig: Sig,
}

impl Hello {
    /// Reads the members of a `hello` frame; others are ignored.
    ///
    /// Errors: `invalid_request`, also for a frame with members of both forms.
    pub fn read(frame: &Value) -> Result<Self, Failure> {
        let has = |members: &[&str]| members.iter().any(|member| frame.get(member).is_some());
        let shape = |_| Failure::invalid("hello");
        match (has(&["team", "machine"]), has(&["realm", "person", "device"])) {
            (true, false) => json::decode(frame).map(Hello::Roster).map_err(shape),
            (false, true) => json::decode(frame).map(Hello::Hosted).map_err(shape),
            _ => Err(Failure::invalid("hello")),
        }
    }

    /// The machine that says it is there.
    #[must_use]
    pub fn machine(&self) -> &MachineId {
        match self {
            Hello::Roster(hello) => &hello.machine,
            Hello::Hosted(hello) => &hello.device,
        }
    }

    /// Checks the clock and the signature. Membership is the caller's question.
    ///
    /// Errors: `expired` for a clock more than the skew away, then `bad_signature`.
    pub fn verify(&self, challenge: &Challenge, now: Ms) -> Result<(), Failure> {
        self.check_time(now)?;
        self.check_signature(challenge)
    }

    /// Checks the clock.
    ///
    /// Errors: `expired` for a clock more than the skew away.
    pub fn check_time(&self, now: Ms) -> Result<(), Failure> {
        let ts = match self {
            Hello::Roster(hello) => hello.ts,
            Hello::Hosted(hello) => hello.ts,
        };
        if ts.distance(now) <= CLOCK_SKEW_MS {
            Ok(())
        } else {
            Err(Failure::new(Code::Expired, "ts"))
        }
    }

    /// Checks the signature.
    ///
    /// Cost: one signature check. Errors: `bad_signature`, also under a key that is not usable.
    pub fn check_signature(&self, challenge: &Challenge) -> Result<(), Failure> {
        let (text, sig) = match self {
            Hello::Roster(RosterHello { team, machine, ts, sig }) => {
                (RosterHello::text(challenge, team, machine, *ts)?, sig)
            }
            Hello::Hosted(HostedHello { realm, person, device, ts, sig }) => {
                (HostedHello::text(challenge, realm, person, device, *ts)?, sig)
            }
        };
        signed(self.machine(), Domain::RelayAuth, &text, sig)
    }
}

impl RosterHello {
    /// Signs a `hello` for one connection.
    ///
    /// Errors: none for a challenge that was received as a frame.
    pub fn sign(
        challenge: &Challenge,
        team: &Hash,
        ts: Ms,
        key: &SigningKey,
    ) -> Result<Self, Failure> {
        let machine = *key.machine();
        let text = Self::text(challenge, team, &machine, ts)?;
        Ok(Self { team: *team, machine, ts, sig: key.sign(Domain::RelayAuth, &text) })
    }

    /// What the `hello` signs.
    ///
    /// Errors: `invalid_request` for a time past 2^53 − 1.
    pub fn text(
        challenge: &Challenge,
        team: &Hash,
        machine: &MachineId,
        ts: Ms,
    ) -> Result<Canonical, Failure> {
        #[derive(Serialize)]
        struct Signed<'a> {
            proto: Version,
            relay: &'a str,
            team: &'a Hash,
            machine: &'a MachineId,
            nonce: &'a Nonce32,
            ts: Ms,
        }
        let Challenge { relay, nonce } = challenge;
        canonical(&Signed { proto: Version, relay, team, machine, nonce, ts })
    }
}

impl HostedHello {
    /// Signs a `hello` for one connection.
    ///
    /// Errors: none for a challenge that was received as a frame.
    pub fn sign(
        challenge: &Challenge,
        realm: &Hash,
        person: &HostedPerson,
        ts: Ms,
        key: &SigningKey,
    ) -> Result<Self, Failure> {
        let device = *key.machine();
        let text = Self::text(challenge, realm, person, &device, ts)?;
        let sig = key.sign(Domain::RelayAuth, &text);
        Ok(Self { realm: *realm, person: person.clone(), device, ts, sig })
    }

    /// What the `hello` signs.
    ///
    /// Errors: `invalid_request` for a time past 2^53 − 1.
    pub fn text(
        challenge: &Challenge,
        realm: &Hash,
        person: &HostedPerson,
        device: &MachineId,
        ts: Ms,
    ) -> Result<Canonical, Failure> {
        #[derive(Serialize)]
        struct Signed<'a> {
            proto: Version,
            relay: &'a str,
            realm: &'a Hash,
            person: &'a HostedPerson,
            device: &'a MachineId,
            nonce: &'a Nonce32,
            ts: Ms,
        }
        let Challenge { relay, nonce } = challenge;
        canonical(&Signed { proto: Version, relay, realm, person, device, nonce, ts })
    }
}

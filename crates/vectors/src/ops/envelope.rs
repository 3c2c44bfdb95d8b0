//! Envelopes: sealing, verifying, opening, and the head that a signature commits to.

use messaging_core::b64;
use messaging_core::code::{Code, Failure};
use messaging_core::envelope::{Checked, End, SealedType, signed_head as head_of};
use messaging_core::ids::{EncKey, Hash, Label, MachineId, PersonId, Ulid};
use messaging_core::json;
use messaging_core::keys::EncSecret;
use messaging_core::realm::{Anchor, DeviceView, RealmView, RosterView, TableView};
use messaging_core::roster::Roster;
use messaging_core::seal::testing::{open_unverified, trace};
use messaging_core::seal::{SealRequest, seal};
use messaging_core::time::Ms;
use messaging_core::verify::{SelfRef, Verified, verify};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Op, keys, roster};
use crate::args::{Args, Outcome, Refusal};

pub(super) fn lookup(kind: &str) -> Option<Op> {
    Some(match kind {
        "envelope_seal" => envelope_seal,
        "envelope_verify" => envelope_verify,
        "envelope_open" => envelope_open,
        "envelope_receive" => envelope_receive,
        "signed_head" => signed_head,
        _ => return None,
    })
}

/// The header members that a caller chooses.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Fields {
    id: Ulid,
    #[serde(rename = "type")]
    kind: String,
    realm: Hash,
    from: End,
    to: End,
    ts: Ms,
    exp: Ms,
    anchor: Anchor,
    reply_to: Option<Ulid>,
}

fn envelope_seal(args: &Args<'_>) -> Outcome {
    let fields: Fields = json::decode(args.value("fields")?).map_err(Failure::from)?;
    let identity = keys::seed(args)?;
    let recipient = args.opt("recipientEnc").ok_or(Failure::invalid("recipientEnc"))?;
    let request = SealRequest {
        id: fields.id,
        kind: SealedType::parse(&fields.kind).ok_or(Failure::invalid("type"))?,
        realm: fields.realm,
        from: &fields.from,
        to: &fields.to,
        ts: fields.ts,
        exp: fields.exp,
        anchor: fields.anchor,
        reply_to: fields.reply_to,
        payload: args.value("payload")?,
        recipient: json::decode::<EncKey>(recipient).map_err(Failure::from)?,
        identity: &identity,
    };
    let (ephemeral, nonce) = (args.bytes("ephemeral")?, args.bytes("nonce")?);
    let sealed = seal(&request, ephemeral, nonce)?;
    let inner = trace(&request, ephemeral, nonce)?;
    Ok(json!({
        "aad": inner.aad.as_str(),
        "plaintext": inner.plaintext.as_str(),
        "key": b64::encode(&inner.key),
        "envelope": sealed.envelope,
    }))
}

/// What the receiver verified: the argument `view`.
pub(super) enum View {
    Roster(Roster),
    Table(TableView),
}

impl View {
    pub(super) fn read(args: &Args<'_>) -> Result<Self, Refusal> {
        let view = args.object("view")?;
        match view.text("kind")? {
            "roster" => Ok(Self::Roster(roster::roster(&view)?)),
            "directory" => Ok(Self::Table(table(&view).ok_or(Refusal::Case("view"))?)),
            _ => Err(Refusal::Case("view.kind")),
        }
    }

    /// Calls `then` with the view.
    pub(super) fn with<T>(
        &self,
        then: impl FnOnce(&dyn RealmView) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        match self {
            Self::Roster(roster) => then(&RosterView::new(roster).ok_or(Refusal::Case("view"))?),
            Self::Table(table) => then(table),
        }
    }
}

#[derive(Deserialize)]
struct Device {
    device: MachineId,
    person: PersonId,
    label: Label,
}

fn table(view: &Args<'_>) -> Option<TableView> {
    let realm = json::decode(view.value("realm").ok()?).ok()?;
    let anchor = json::decode(view.value("anchor").ok()?).ok()?;
    let devices: Vec<Device> = json::decode(view.value("devices").ok()?).ok()?;
    let devices = devices.into_iter().map(|Device { device, person, label }| {
        (device, DeviceView { person, label, enc: None, role: None })
    });
    Some(TableView::new(realm, anchor, devices))
}

/// Verifies the argument `envelope` and hands it to `then`.
fn verified(args: &Args<'_>, then: impl FnOnce(Verified<'_>) -> Outcome) -> Outcome {
    let now: Ms = json::decode(args.value("now")?).map_err(Failure::from)?;
    let checked = Checked::read(args.value("envelope")?.clone())?;
    let own: Option<MachineId> = match args.opt("self") {
        Some(own) => Some(json::decode(own).map_err(|_| Refusal::Case("self"))?),
        None => None,
    };
    View::read(args)?.with(|view| {
        let Some(device) = &own else { return then(verify(&checked, view, now, None, None)?) };
        match view.device(device) {
            Some(DeviceView { person, .. }) => {
                let own = SelfRef { device, person: &person };
                then(verify(&checked, view, now, Some(own), None)?)
            }
            // A device that its own view does not know is nobody's addressee.
            None => match verify(&checked, view, now, None, None)? {
                presence if presence.envelope().to().is_none() => then(presence),
                _ => Err(Code::InvalidRequest.into()),
            },
        }
    })
}

fn envelope_verify(args: &Args<'_>) -> Outcome {
    verified(args, |verified| Ok(verified.checked().raw().clone()))
}

/// The private keys of the argument `keys`, in order.
fn secrets(args: &Args<'_>) -> Result<Vec<EncSecret>, Refusal> {
    args.list("keys")?
        .iter()
        .map(|key| {
            let bytes = key.as_str().and_then(|text| b64::decode_array(text).ok());
            bytes.map(EncSecret::from_bytes).ok_or(Refusal::Case("keys"))
        })
        .collect()
}

fn envelope_open(args: &Args<'_>) -> Outcome {
    let checked = Checked::read(args.value("envelope")?.clone())?;
    let secrets = secrets(args)?;
    let keys: Vec<&EncSecret> = secrets.iter().collect();
    Ok(open_unverified(&checked, &keys)?.raw)
}

fn envelope_receive(args: &Args<'_>) -> Outcome {
    let secrets = secrets(args)?;
    verified(args, |verified| {
        if verified.presence()?.is_some() {
            return Ok(verified.checked().raw().get("body").cloned().unwrap_or(Value::Null));
        }
        let keys: Vec<&EncSecret> = secrets.iter().collect();
        Ok(verified.open(&keys)?.raw)
    })
}

fn signed_head(args: &Args<'_>) -> Outcome {
    let realm = Hash::parse(args.text("realm")?).map_err(|_| Refusal::Case("realm"))?;
    Ok(json!(head_of(args.value("envelope")?, &realm)))
}

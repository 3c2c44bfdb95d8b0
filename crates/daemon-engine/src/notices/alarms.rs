//! Alerts of this machine's alarms: each is told once for as long as it stands.
//! Spec: D1.8, D3.23, D3.27

use messaging_store::StoreError;

use super::Alert;
use crate::engine::DaemonEngine;
use crate::home::Standing;
use crate::store::kv;
use crate::work::Work;

/// Tells of an alarm that arose, and forgets one that is over, so that it is told again should it come back.
pub(crate) fn watch(engine: &DaemonEngine, work: &mut Work<'_, '_>) -> Result<(), StoreError> {
    let missing = engine.home.standing(engine.realm.roster()) == Standing::KeysMissing;
    let alarms = [
        (missing, kv::KEYS_MISSING_AT, "keys_missing", KEYS_MISSING),
        (engine.is_restored(), kv::RESTORED_AT, "restored", RESTORED),
        (engine.link.has_twin(work.mono()), kv::TWIN_AT, "twin", TWIN),
    ];
    for (stands, key, name, text) in alarms {
        let told = kv::get(work.tx, key)?.is_some();
        if stands && !told {
            let at = work.wall();
            kv::set(work.tx, key, &at.0.to_string())?;
            let source = format!("{name}_{}", at.0);
            let alert = Alert { source, person: None, device: None, text: text.to_owned(), at };
            super::alert(engine, work, alert)?;
        } else if told && !stands {
            kv::delete(work.tx, key)?;
        }
    }
    Ok(())
}

const KEYS_MISSING: &str =
    "This device's keys are missing. Restore identity.json or replace this device.";
const RESTORED: &str = "This device runs from an older copy. Replace it before you use it.";
const TWIN: &str = "Another copy of this home is running with the same keys. Stop one of them: mail reaches only one.";

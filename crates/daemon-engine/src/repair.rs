//! What was saved of a damaged store is made a home's store again.
//! Spec: §8.8; the repair is ours
//!
//! Rows are saved one by one, so what only holds of many rows together is looked at here: the roster has to verify, the
//! search index has to match the lines, numbers have to go on from the highest.

use messaging_core::ids::MachineId;
use messaging_core::json;
use messaging_core::limits::ROSTER_FRAME_BYTES;
use messaging_core::roster::Roster;
use messaging_store::{Store, StoreError, Tx, params};

use crate::realm::Realm;
use crate::store::kv;

/// Tables that are made from others.
pub const DERIVED: &[&str] = &["lines_found", "lines_terms"];

/// Whether what a start reads of the store can be read, and the search index matches the lines.
#[must_use]
pub fn is_whole(store: &Store) -> bool {
    let check = "INSERT INTO lines_found (lines_found, rank) VALUES ('integrity-check', 1)";
    kv::machine(&store.view()).is_ok()
        && Realm::load(&store.view()).is_ok()
        && store.write(|tx| tx.execute(check, ())).is_ok()
}

/// Puts what was saved in order. `machine`: whose keys the home holds. Returns how many entries of the team's history are
/// there; the relay has the later ones.
///
/// Errors: the store's; then nothing was changed.
pub fn mend(store: &Store, machine: Option<&MachineId>) -> Result<u64, StoreError> {
    let (roster, entries) = longest(store)?;
    store.write(|tx| {
        tx.execute("DELETE FROM roster WHERE seq >= ?1", params![as_i64(entries)])?;
        let named = match kv::machine(tx) {
            Ok(named) => named,
            Err(StoreError::Corrupt) => None,
            Err(error) => return Err(error),
        };
        if let (None, Some(machine), Some(team)) = (named, machine, roster.team_id())
            && roster.member(machine).is_some()
        {
            kv::set(tx, kv::IDENTITY_MACHINE, machine.as_str())?;
            kv::set(tx, kv::REALM_ID, team.as_str())?;
        }
        numbers(tx)?;
        tx.execute("INSERT INTO lines_found (lines_found) VALUES ('rebuild')", ())?;
        Ok(entries)
    })
}

/// The longest history from the beginning that verifies.
fn longest(store: &Store) -> Result<(Roster, u64), StoreError> {
    let mut roster = Roster::new();
    let mut count = 0;
    store.view().each("SELECT seq, entry FROM roster ORDER BY seq", (), |row| {
        let (seq, text): (i64, String) = (row.get(0)?, row.get(1)?);
        let goes_on = seq == as_i64(count)
            && json::parse(text.as_bytes(), ROSTER_FRAME_BYTES)
                .is_ok_and(|entry| roster.apply(&entry, None).is_ok());
        count += u64::from(goes_on);
        Ok(goes_on)
    })?;
    Ok((roster, count))
}

/// A change of a conversation that was told under a number is not told under it again.
fn numbers(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    let highest = "SELECT max(coalesce(max(seq), 0), coalesce(max(change_seq), 0)) FROM lines";
    let highest: i64 = tx.row(highest, (), |row| row.get(0))?.unwrap_or_default();
    let held = kv::number(tx, kv::CHAT_SEQ).unwrap_or_default();
    if held < highest.unsigned_abs() {
        kv::set(tx, kv::CHAT_SEQ, &highest.to_string())?;
    }
    Ok(())
}

fn as_i64(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::LAYOUT;
    use crate::tests::bench::{home, team};

    const THREE: [(&str, &str); 3] = [("alice", "laptop"), ("bob", "desk"), ("carol", "home")];

    #[test]
    fn the_history_is_kept_as_far_as_it_verifies() {
        let (roster, keys) = team(&THREE);
        let machine = *keys[0].machine();
        for (damage, left) in [
            ("DELETE FROM roster WHERE seq > 99", 3),
            ("DELETE FROM roster WHERE seq = 1", 1),
            ("UPDATE roster SET entry = replace(entry, 'carol', 'carox')", 2),
            ("UPDATE roster SET entry = '{' WHERE seq = 0", 0),
        ] {
            let store = home(&roster, &keys[0]);
            store.write(|tx| tx.execute(damage, ()).map(drop)).unwrap();
            assert_eq!(mend(&store, Some(&machine)).unwrap(), left, "{damage}");
            assert!(is_whole(&store));
        }
    }

    #[test]
    fn the_stores_machine_is_that_of_the_keys_when_it_was_lost() {
        let (roster, keys) = team(&THREE);
        let store = home(&roster, &keys[1]);
        store.write(|tx| kv::delete(tx, kv::IDENTITY_MACHINE)).unwrap();
        mend(&store, Some(keys[1].machine())).unwrap();
        assert_eq!(kv::machine(&store.view()).unwrap(), Some(*keys[1].machine()));
        let store = home(&roster, &keys[1]);
        mend(&store, Some(keys[0].machine())).unwrap();
        assert_eq!(kv::machine(&store.view()).unwrap(), Some(*keys[1].machine()), "it was there");
    }

    #[test]
    fn saved_lines_are_found_and_numbers_go_on() {
        let store = Store::memory(&LAYOUT, &[]).unwrap();
        store
            .write(|tx| {
                tx.execute(
                    "INSERT INTO lines (seq, id, change_seq, room_kind, room_id, person, device, direction, text, fold,
                       bytes, at, filed_at) VALUES (7, 'x', 9, 'dm', 'bob', 'bob', 'd', 'in', 'hello', 'hello', 5, 1, 1)",
                    (),
                )
            })
            .unwrap();
        assert!(!is_whole(&store), "the index knows no such line");
        mend(&store, None).unwrap();
        assert!(is_whole(&store));
        let found = "SELECT rowid FROM lines_found WHERE lines_found MATCH 'hello'";
        assert_eq!(store.view().row(found, (), |row| row.get::<_, i64>(0)).unwrap(), Some(7));
        assert_eq!(kv::number(&store.view(), kv::CHAT_SEQ).unwrap(), 9);
    }
}

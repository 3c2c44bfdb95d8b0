//! `grants`, `grant_review` and `grant_peers`: what the person allows, what lapsed, and which of their devices know.
//! Spec: §6.9, D3.13
//!
//! A grant is kept as it was signed, one for each subject.

use messaging_core::consent::{Levels, Subject, VerifiedGrant};
use messaging_core::ids::{MachineId, PersonId, Ulid};
use messaging_core::time::Ms;
use messaging_store::{Row, StoreError, Tx, View, params};
use serde::{Deserialize, Serialize};

use super::columns::{Columns, Read};

/// Levels that lapsed with the device that signed them, and wait for the person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lapsed {
    pub(crate) subject: Subject,
    pub(crate) said: LapsedLevels,
    pub(crate) at: Ms,
}

/// What a lapsed grant said, and which one it was: a later grant for the subject takes it off the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LapsedLevels {
    pub(crate) ts: Ms,
    pub(crate) id: Ulid,
    #[serde(flatten)]
    pub(crate) levels: Levels,
}

fn read(row: &Row<'_>) -> Read<VerifiedGrant> {
    Columns::of(row).held(VerifiedGrant::held)
}

/// The grant about a subject.
pub(crate) fn get(view: &View<'_>, subject: &Subject) -> Result<Option<VerifiedGrant>, StoreError> {
    view.row("SELECT grant FROM grants WHERE subject = ?1", params![key(subject)], read)
}

/// Every grant, newest first.
pub(crate) fn all(view: &View<'_>) -> Result<Vec<VerifiedGrant>, StoreError> {
    view.rows("SELECT grant FROM grants ORDER BY ts DESC, gid DESC", (), read)
}

/// The grants that trust somebody, or did, whose end the person was not told yet.
pub(crate) fn trusting(view: &View<'_>) -> Result<Vec<VerifiedGrant>, StoreError> {
    view.rows(
        "SELECT grant FROM grants WHERE warned IS NOT gid AND json_extract(grant, '$.trustedUntil') IS NOT NULL",
        (),
        read,
    )
}

/// Notes that the person was told of the end of a grant's trust.
pub(crate) fn warned(tx: &mut Tx<'_>, subject: &Subject) -> Result<(), StoreError> {
    tx.execute("UPDATE grants SET warned = gid WHERE subject = ?1", params![key(subject)])?;
    Ok(())
}

/// Notes which of the grants that a device signed are dated ahead, and takes those off the list whose time has come.
pub(crate) fn come(
    tx: &mut Tx<'_>,
    by: &MachineId,
    now: Ms,
) -> Result<Vec<VerifiedGrant>, StoreError> {
    tx.execute(
        "UPDATE grants SET again = 1 WHERE again = 0 AND by_device = ?1 AND ts > ?2",
        params![by.as_str(), now.as_i64()],
    )?;
    let come =
        tx.rows("SELECT grant FROM grants WHERE again AND ts <= ?1", params![now.as_i64()], read)?;
    if !come.is_empty() {
        tx.execute("UPDATE grants SET again = 0 WHERE again AND ts <= ?1", params![now.as_i64()])?;
    }
    Ok(come)
}

/// The grants of the channels that a person is in, as this machine holds them.
pub(crate) fn of_channels(
    view: &View<'_>,
    person: &PersonId,
) -> Result<Vec<VerifiedGrant>, StoreError> {
    let rows = view.rows(
        "SELECT c.persons, g.grant FROM grants AS g JOIN channels AS c ON g.subject = 'channel:' || c.id",
        (),
        |row| {
            let mut c = Columns::of(row);
            Ok((c.json::<Vec<PersonId>>()?, c.held(VerifiedGrant::held)?))
        },
    )?;
    let members = rows.into_iter().filter(|(persons, _)| persons.contains(person));
    Ok(members.map(|(_, grant)| grant).collect())
}

/// How many grants there are.
pub(crate) fn count(view: &View<'_>) -> Result<u64, StoreError> {
    let count = view.row("SELECT count(*) FROM grants", (), |row| Columns::of(row).count())?;
    Ok(count.unwrap_or_default())
}

/// Keeps a grant in the place of the one for its subject.
pub(crate) fn put(tx: &mut Tx<'_>, grant: &VerifiedGrant) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO grants (subject, grant, ts, gid, by_device) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (subject) DO UPDATE SET grant = excluded.grant, ts = excluded.ts, gid = excluded.gid,
           by_device = excluded.by_device, again = 0",
        params![
            key(&grant.subject),
            grant.raw().to_string(),
            grant.ts.as_i64(),
            grant.id.as_str(),
            grant.by.as_str()
        ],
    )?;
    Ok(())
}

/// Drops the grant about a subject.
pub(crate) fn delete(tx: &mut Tx<'_>, subject: &Subject) -> Result<(), StoreError> {
    tx.execute("DELETE FROM grants WHERE subject = ?1", params![key(subject)])?;
    Ok(())
}

/// Puts what lapsed on the review list, in the place of what lapsed before it. What said nothing stands there too: it is not
/// shown, and keeps out what is older.
pub(crate) fn review(tx: &mut Tx<'_>, lapsed: &Lapsed) -> Result<(), StoreError> {
    let held = last_lapsed(tx, &lapsed.subject)?;
    if held.is_some_and(|held| (held.ts, held.id) > (lapsed.said.ts, lapsed.said.id)) {
        return Ok(());
    }
    let levels = serde_json::to_string(&lapsed.said).map_err(|_| StoreError::Other)?;
    tx.execute(
        "INSERT INTO grant_review (subject, levels, lapsed_at) VALUES (?1, ?2, ?3)
         ON CONFLICT (subject) DO UPDATE SET levels = excluded.levels, lapsed_at = excluded.lapsed_at",
        params![key(&lapsed.subject), levels, lapsed.at.as_i64()],
    )?;
    Ok(())
}

/// What lapsed last about a subject, while nothing later was said.
pub(crate) fn last_lapsed(
    view: &View<'_>,
    subject: &Subject,
) -> Result<Option<LapsedLevels>, StoreError> {
    view.row("SELECT levels FROM grant_review WHERE subject = ?1", params![key(subject)], |row| {
        Columns::of(row).json()
    })
}

/// Where the last grant about each subject stood that lapsed, what waits for nobody included.
pub(crate) fn lapsed(view: &View<'_>) -> Result<Vec<(Subject, LapsedLevels)>, StoreError> {
    view.rows("SELECT subject, levels FROM grant_review ORDER BY subject", (), |row| {
        let mut c = Columns::of(row);
        Ok((c.word(subject)?, c.json()?))
    })
}

/// The review list, newest first.
pub(crate) fn reviews(view: &View<'_>) -> Result<Vec<Lapsed>, StoreError> {
    let lapsed = view.rows(
        "SELECT subject, levels, lapsed_at FROM grant_review ORDER BY lapsed_at DESC, subject",
        (),
        |row| {
            let mut c = Columns::of(row);
            Ok(Lapsed { subject: c.word(subject)?, said: c.json()?, at: c.ms()? })
        },
    )?;
    Ok(lapsed.into_iter().filter(|lapsed| !lapsed.said.levels.is_empty()).collect())
}

/// Takes a subject off the review list when this grant is later than what lapsed.
pub(crate) fn reviewed(tx: &mut Tx<'_>, grant: &VerifiedGrant) -> Result<(), StoreError> {
    let held = last_lapsed(tx, &grant.subject)?;
    if held.is_some_and(|held| (grant.ts, grant.id) > (held.ts, held.id)) {
        tx.execute("DELETE FROM grant_review WHERE subject = ?1", params![key(&grant.subject)])?;
    }
    Ok(())
}

/// When each of the person's devices was sent everything.
pub(crate) fn peers(view: &View<'_>) -> Result<Vec<(MachineId, Ms)>, StoreError> {
    view.rows("SELECT device, snapshot_at FROM grant_peers", (), |row| {
        let mut c = Columns::of(row);
        Ok((c.value()?, c.ms()?))
    })
}

/// Notes that a device was sent everything.
pub(crate) fn told(tx: &mut Tx<'_>, device: &MachineId, at: Ms) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO grant_peers (device, snapshot_at) VALUES (?1, ?2)
         ON CONFLICT (device) DO UPDATE SET snapshot_at = excluded.snapshot_at",
        params![device.as_str(), at.as_i64()],
    )?;
    Ok(())
}

/// Forgets which devices were sent everything: each gets it again.
pub(crate) fn tell_all_again(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    tx.execute("DELETE FROM grant_peers", ())?;
    Ok(())
}

fn key(subject: &Subject) -> String {
    match subject {
        Subject::Person(person) => format!("person:{person}"),
        Subject::Channel(channel) => format!("channel:{channel}"),
    }
}

fn subject(key: &str) -> Option<Subject> {
    match key.split_once(':')? {
        ("person", person) => PersonId::parse(person).ok().map(Subject::Person),
        ("channel", channel) => Ulid::parse(channel).ok().map(Subject::Channel),
        _ => None,
    }
}

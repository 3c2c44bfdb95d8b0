//! What agents wrote, and what must have arrived.

use super::sitting::key_of;
use super::{DAY, HOUR, Life};
use crate::agenda::At;
use serde_json::json;
use std::collections::BTreeSet;

/// Everything that was written, and every sitting.
#[derive(Debug, Default)]
pub(super) struct Letters {
    all: Vec<Letter>,
    arrived: BTreeSet<String>,
    sittings: Vec<Sitting>,
}

#[derive(Debug)]
struct Letter {
    token: String,
    from: usize,
    to: usize,
    at: At,
    id: String,
    /// Something befell its way: it need not arrive.
    excused: bool,
}

#[derive(Debug)]
struct Sitting {
    end: At,
    here: Vec<usize>,
}

impl Letters {
    /// A sitting ended, at which these machines were.
    pub(super) fn sat(&mut self, end: At, here: &[usize]) {
        self.sittings.push(Sitting { end, here: here.to_vec() });
    }

    /// Whether a letter arrived.
    pub(super) fn has(&self, token: &str) -> bool {
        self.arrived.contains(token)
    }

    /// How many were promised, and how many of them arrived.
    pub(super) fn counts(&self) -> (usize, usize) {
        let arrived = self.all.iter().filter(|letter| self.arrived.contains(&letter.token));
        (self.all.len(), arrived.count())
    }

    /// What is under way to or from a machine, or between all of them, need not arrive.
    pub(super) fn excuse(&mut self, machine: Option<usize>) {
        for letter in &mut self.all {
            let is_its =
                machine.is_none_or(|machine| letter.from == machine || letter.to == machine);
            if is_its && !self.arrived.contains(&letter.token) {
                letter.excused = true;
            }
        }
    }

    /// Letters that had every chance to arrive, and did not: both ends were there twice while it lived, the recipient also
    /// after the sender had been there again.
    fn lost(&self) -> Vec<&Letter> {
        let is_lost = |letter: &&Letter| {
            if letter.excused || self.arrived.contains(&letter.token) {
                return false;
            }
            let chances = self.sittings.iter().filter(|sitting| {
                sitting.end > letter.at && sitting.end < letter.at + 7 * DAY - HOUR
            });
            let (mut sent, mut heard, mut heard_after) = (0, 0, false);
            for sitting in chances {
                sent += u32::from(sitting.here.contains(&letter.from));
                if sitting.here.contains(&letter.to) {
                    heard += 1;
                    heard_after |= sent > 1;
                }
            }
            sent > 1 && heard > 1 && heard_after
        };
        self.all.iter().filter(is_lost).collect()
    }
}

impl Life {
    /// An agent writes to another machine's.
    pub(super) fn write_to_somebody(&mut self, seat: usize) {
        let others: Vec<usize> = (0..self.seats.len())
            .filter(|other| {
                *other != seat
                    && !self.gone.contains(other)
                    && self.seats.get(*other).is_some_and(|held| held.is_in)
            })
            .collect();
        if let Some(to) = self.dice.pick(&others).copied() {
            self.write(seat, to);
        }
    }

    /// Writes a letter. Returns whether it was promised.
    pub(super) fn write(&mut self, seat: usize, to: usize) -> bool {
        let Some(agent) = self.seats.get(seat).and_then(|held| held.agent) else { return false };
        let Some(label) = self.seats.get(to).map(|held| held.label.clone()) else { return false };
        let token = format!("w{:05}", self.requests);
        let params = json!({
            "key": key_of(self.home_of(seat)),
            "to": format!("alice/api@{label}"),
            "parts": [{ "text": format!("{token} hello") }],
        });
        let at = self.world.now();
        match self.ask(agent, "msg.send", params) {
            Ok(sent) => {
                let sent = &sent["results"][0];
                if sent["stage"] == "rejected" {
                    return false;
                }
                let id = sent["envelopeId"].as_str().unwrap_or_default().to_owned();
                let excused = self.relay_wrong
                    || self.disturbed.contains(&seat)
                    || self.disturbed.contains(&to);
                self.letters.all.push(Letter { token, from: seat, to, at, id, excused });
                true
            }
            Err(code) => {
                let fair = [
                    "lost",
                    "internal",
                    "no_identity",
                    "not_member",
                    "no_recipients",
                    "rate_limited",
                    "unknown_session",
                    "not_found",
                    "daemon_unavailable",
                ];
                if !fair.contains(&code.as_str()) {
                    self.violation(format!("writing at machine {seat} was refused: {code}"));
                }
                false
            }
        }
    }

    /// Notes what is in the inboxes.
    pub(super) fn look(&mut self) {
        for daemon in self.world.daemons() {
            let Some(rows) = daemon.rows() else { continue };
            let previews =
                rows.rows("SELECT preview FROM inbox", (), |row| row.get::<_, String>(0));
            for preview in previews.unwrap_or_default() {
                let token = preview.split(' ').next().unwrap_or_default().to_owned();
                self.letters.arrived.insert(token);
            }
        }
    }

    /// Nothing that had to survive is lost, and nothing was refused that could be opened.
    pub(super) fn verify_letters(&mut self) {
        let mut found = Vec::new();
        for letter in self.letters.lost() {
            found.push(format!(
                "{} ({}) from machine {} to {} of {} h is lost: {:?}",
                letter.token,
                letter.id,
                letter.from,
                letter.to,
                letter.at / HOUR,
                self.stage_of(letter)
            ));
        }
        for letter in self.letters.all.iter().filter(|letter| !letter.excused) {
            if let Some((stage, code)) = self.stage_of(letter)
                && stage == "rejected"
                && !matches!(code.as_str(), "expired" | "rate_limited" | "unknown_session")
            {
                found.push(format!(
                    "{} from machine {} to {} was refused: {code}",
                    letter.token, letter.from, letter.to
                ));
            }
        }
        for what in found {
            self.violation(what);
        }
    }

    fn stage_of(&self, letter: &Letter) -> Option<(String, String)> {
        let rows = self.world.daemons().get(letter.from)?.rows()?;
        let sql = "SELECT stage, coalesce(code, '') FROM sent WHERE id = ?1";
        let read = |row: &messaging_store::Row<'_>| Ok((row.get(0)?, row.get(1)?));
        rows.row(sql, messaging_store::params![letter.id], read).ok().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One letter from machine 0 to 1 at the beginning, and sittings a day apart.
    fn letters(sittings: &[&[usize]]) -> Letters {
        let mut letters = Letters::default();
        letters.all.push(Letter {
            token: "w1".to_owned(),
            from: 0,
            to: 1,
            at: 0,
            id: String::new(),
            excused: false,
        });
        for (number, here) in sittings.iter().enumerate() {
            letters.sat(1 + number as u64 * DAY, here);
        }
        letters
    }

    #[test]
    fn a_letter_that_had_every_chance_and_did_not_arrive_is_lost() {
        assert_eq!(letters(&[&[0], &[0, 1], &[1]]).lost().len(), 1);
        assert!(letters(&[&[0], &[1], &[1]]).lost().is_empty(), "its sender may have been cut off");
        assert!(letters(&[&[0, 1], &[0]]).lost().is_empty(), "there once");
        let late: [&[usize]; 10] = [&[0], &[0], &[], &[], &[], &[], &[], &[], &[1], &[1]];
        assert!(letters(&late).lost().is_empty(), "it did not live so long");
    }

    #[test]
    fn what_arrived_and_what_is_excused_is_not_lost() {
        let mut arrived = letters(&[&[0, 1], &[0, 1]]);
        assert_eq!(arrived.lost().len(), 1);
        arrived.arrived.insert("w1".to_owned());
        assert!(arrived.lost().is_empty());
        for (machine, lost) in [(Some(0), 0), (Some(1), 0), (Some(2), 1), (None, 0)] {
            let mut letters = letters(&[&[0, 1], &[0, 1]]);
            letters.excuse(machine);
            assert_eq!(letters.lost().len(), lost, "{machine:?}");
        }
    }
}

//! What must hold of what a daemon keeps, after every turn: tasks end once, pieces come once and in order, and nothing
//! comes from a machine that was removed.
//! Spec: §4 "Removal", §6.2, §6.3, W4.8, D3.15

use messaging_core::task::TaskState;
use messaging_store::{View, params};
use serde_json::Value;
use std::collections::BTreeMap;

use super::removals::Removals;

/// What each machine had kept at the end of its last turn.
#[derive(Debug, Default)]
pub(super) struct Records {
    machines: BTreeMap<usize, Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    tasks: BTreeMap<(String, String), Task>,
    /// The newest item.
    item: i64,
    /// The machines that its roster removed.
    removed: Removals,
}

/// One side's record.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Task {
    state: String,
    said: String,
    peer: String,
    updated: i64,
    touched: i64,
    follow_ups: usize,
    pieces: Vec<(String, String)>,
}

impl Records {
    /// Nothing is known of a machine any more.
    pub(super) fn forget(&mut self, machine: usize) {
        self.machines.remove(&machine);
    }

    /// Looks at what a machine has committed, and says what does not hold.
    pub(super) fn look(&mut self, machine: usize, rows: &View<'_>) -> Vec<String> {
        let kept = self.machines.entry(machine).or_default();
        let mut found = Vec::new();
        kept.look_at_tasks(rows, &mut found);
        kept.look_at_items(rows, &mut found);
        // Last: what came in the turn of a removal may have come before it.
        kept.removed.look(rows);
        found.into_iter().map(|what| format!("machine {machine}: {what}")).collect()
    }
}

impl Kept {
    fn look_at_tasks(&mut self, rows: &View<'_>, found: &mut Vec<String>) {
        let heads = rows.rows("SELECT id, role, updated_at FROM tasks", (), |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, i64>(2)?))
        });
        for (id, role, updated) in heads.unwrap_or_default() {
            let key = (id, role);
            if self.tasks.get(&key).is_some_and(|known| known.updated == updated) {
                continue;
            }
            let Some(task) = Task::read(rows, &key) else { continue };
            let before = self.tasks.insert(key.clone(), task.clone());
            let from_removed = self.removed.hold(&task.peer);
            let mut says = |what: String| found.push(format!("task {} ({}): {what}", key.0, key.1));
            if let Some(fault) = in_order(&task.pieces) {
                says(fault);
            }
            let Some(before) = before else { continue };
            if let Some(fault) = became(&before, &task, &key.1) {
                says(fault);
            }
            if from_removed && task.took_from_peer(&before, &key.1) {
                says("took something from a machine that was removed".to_owned());
            }
        }
    }

    fn look_at_items(&mut self, rows: &View<'_>, found: &mut Vec<String>) {
        let newer = rows.rows(
            "SELECT seq, from_device, id FROM inbox WHERE seq > ?1 ORDER BY seq",
            params![self.item],
            |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?)),
        );
        for (seq, device, id) in newer.unwrap_or_default() {
            self.item = seq;
            if self.removed.hold(&device) {
                found.push(format!("took {id} from a machine that was removed"));
            }
        }
    }
}

impl Task {
    fn read(rows: &View<'_>, (id, role): &(String, String)) -> Option<Self> {
        let sql = "SELECT state, status, peer_device, updated_at, touched_at, history, artifacts FROM tasks
                   WHERE id = ?1 AND role = ?2";
        let read = |row: &messaging_store::Row<'_>| {
            let history: Value = json(&row.get::<_, String>(5)?);
            let status: Value = json(&row.get::<_, String>(1)?);
            let said = status["message"]["parts"][0]["text"].as_str().unwrap_or_default();
            Ok(Self {
                state: row.get(0)?,
                said: said.to_owned(),
                peer: row.get(2)?,
                updated: row.get(3)?,
                touched: row.get(4)?,
                follow_ups: history.as_array().map_or(0, Vec::len),
                pieces: pieces(&row.get::<_, String>(6)?),
            })
        };
        rows.row(sql, params![id, role], read).ok().flatten()
    }

    /// Whether what changed can only have come from the other side.
    fn took_from_peer(&self, before: &Self, role: &str) -> bool {
        if role == "requester" {
            return self.touched != before.touched || self.pieces != before.pieces;
        }
        let was_cancelled = self.state != before.state && self.state == CANCELED;
        self.follow_ups != before.follow_ups || was_cancelled
    }
}

/// The pieces of a record's artifacts, in order: which artifact, and what it says.
pub(crate) fn pieces(text: &str) -> Vec<(String, String)> {
    let pieces = json(text);
    let mut found = Vec::new();
    for piece in pieces.as_array().into_iter().flatten() {
        let artifact = &piece["artifact"];
        let id = artifact["artifactId"].as_str().unwrap_or_default();
        for part in artifact["parts"].as_array().into_iter().flatten() {
            found.push((id.to_owned(), part["text"].as_str().unwrap_or_default().to_owned()));
        }
    }
    found
}

/// What is wrong with the order of pieces, which their texts tell: each is the number of its sending.
fn in_order(pieces: &[(String, String)]) -> Option<String> {
    let mut last: BTreeMap<&str, &str> = BTreeMap::new();
    for (artifact, text) in pieces {
        if let Some(before) = last.insert(artifact, text)
            && before >= text.as_str()
        {
            return Some(format!("{artifact} holds {text} behind {before}"));
        }
    }
    None
}

/// What is wrong with a change of state, if anything is.
fn became(before: &Task, after: &Task, role: &str) -> Option<String> {
    let (Some(old), Some(new)) = (TaskState::parse(&before.state), TaskState::parse(&after.state))
    else {
        return Some("a state that is none".to_owned());
    };
    // Updates may be skipped by the requester's side: what stands is then still the end of a way that the executor went.
    let may_follow = match role {
        "executor" => old == new || old.may_become(new),
        _ => old == new || !old.is_terminal(),
    };
    // What this side concluded by itself yields to the executor's word.
    let was_concluded = role == "requester" && old == TaskState::Failed && before.said == EXPIRED;
    let again = old == new && old.is_terminal() && before.said != after.said;
    let holds = (may_follow && !again) || was_concluded;
    (!holds).then(|| format!("went from {} ({}) to {}", before.state, before.said, after.state))
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

const CANCELED: &str = "TASK_STATE_CANCELED";
const EXPIRED: &str = "delivery failed: expired";

#[cfg(test)]
mod tests {
    use super::*;

    fn task(state: &str, said: &str) -> Task {
        Task {
            state: format!("TASK_STATE_{state}"),
            said: said.to_owned(),
            peer: "m".to_owned(),
            updated: 1,
            touched: 1,
            follow_ups: 0,
            pieces: Vec::new(),
        }
    }

    #[test]
    fn a_record_that_leaves_its_end_is_found() {
        let ok = |before: &Task, after: &Task, role| became(before, after, role).is_none();
        let (working, done) = (task("WORKING", ""), task("COMPLETED", "done"));
        for role in ["executor", "requester"] {
            assert!(ok(&working, &done, role));
            assert!(ok(&working, &working, role));
            assert!(!ok(&done, &working, role));
            assert!(!ok(&done, &task("COMPLETED", "done again"), role));
        }
        assert!(!ok(&working, &task("REJECTED", ""), "executor"));
        let expired = task("FAILED", EXPIRED);
        assert!(ok(&expired, &done, "requester"));
        assert!(!ok(&expired, &done, "executor"));
    }

    #[test]
    fn a_piece_twice_or_out_of_order_is_found() {
        let of = |texts: &[&str]| -> Vec<(String, String)> {
            texts.iter().map(|text| ("a".to_owned(), (*text).to_owned())).collect()
        };
        assert_eq!(in_order(&of(&["001", "002", "010"])), None);
        assert!(in_order(&of(&["001", "001"])).is_some());
        assert!(in_order(&of(&["002", "001"])).is_some());
        let artifacts =
            r#"[{"ts":1,"append":false,"artifact":{"artifactId":"a","parts":[{"text":"001"}]}}]"#;
        assert_eq!(pieces(artifacts), of(&["001"]));
    }
}

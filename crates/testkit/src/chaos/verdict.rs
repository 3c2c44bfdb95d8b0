//! What must hold when everything is up again and nothing is under way.
//! Spec: §8.4, D3.14

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use messaging_core::stage::{Stage, Track};
use serde_json::{Value, json};

use super::agent::{self, Invite, Ledger, Sent};
use super::{PERSONS, Report};
use crate::programs::{Ipc, Problem, until};

/// One person's ledger, and what their daemon has stored.
pub(super) struct Side {
    ledger: Ledger,
    ipc: Ipc,
}

/// What a daemon says of a message that it took.
struct Item {
    at: u64,
    stage: Stage,
    text: String,
}

/// What a daemon says of a message that it sent: each stage, and when it was reached.
type History = Vec<(Stage, u64)>;

/// The longest that an envelope may need to arrive: a machine takes sixty a minute of another, the relay offers what was
/// not taken again within a minute, and receipts go out at eight a second.
const ARRIVAL: Duration = Duration::from_secs(300);

impl Side {
    pub(super) fn new(ledger: Ledger, mut ipc: Ipc) -> Result<Self, Problem> {
        ipc.call("session.register", &agent::registration(ledger.who))??;
        ipc.call("daemon.woke", &json!({}))??;
        Ok(Self { ledger, ipc })
    }

    /// Everything in the inbox, by envelope, in the order of arrival.
    fn inbox(&mut self) -> Result<Vec<(String, Item)>, Problem> {
        let mut items = Vec::new();
        let mut before = Value::Null;
        loop {
            let mut page = json!({"key": agent::key(self.ledger.who), "limit": 200});
            if !before.is_null() {
                page["before"] = before;
            }
            let found = self.ipc.call("inbox.list", &page)??;
            let list = found["items"].as_array().cloned().unwrap_or_default();
            before =
                list.last().map_or(Value::Null, |last| json!({"at": last["at"], "id": last["id"]}));
            items.extend(list);
            if found["more"] != true {
                break;
            }
        }
        // The newest comes first.
        items.iter().rev().map(|item| Ok((word(&item["id"]), Item::read(item)?))).collect()
    }

    fn history(&mut self, id: &str) -> Result<History, Problem> {
        let ask = json!({"key": agent::key(self.ledger.who), "id": id});
        let sent = self.ipc.call("item.read", &ask)??;
        let steps = sent["history"].as_array().ok_or("no history")?;
        steps.iter().map(|step| Ok((stage(&step["stage"])?, number(&step["at"])?))).collect()
    }
}

impl Item {
    fn read(item: &Value) -> Result<Self, Problem> {
        let (at, stage) = (number(&item["at"])?, stage(&item["stage"])?);
        Ok(Self { at, stage, text: word(&item["preview"]) })
    }
}

/// Waits until everything has come as far as it can, then looks whether what stands there is true.
pub(super) fn settle(mut sides: Vec<Side>) -> Result<Report, Problem> {
    let mut violations = Vec::new();
    for (from, to) in [(0, 1), (1, 0)] {
        if let Err(problem) =
            until("everything's arrival", ARRIVAL, || arrived(&mut sides, from, to))
        {
            violations.push(problem.to_string());
        }
    }
    for (from, to) in [(0, 1), (1, 0)] {
        judge(&mut sides, from, to, &mut violations)?;
    }
    agree(&mut sides, &mut violations)?;
    let mut report = Report { violations, ..Report::default() };
    for Side { ledger, .. } in sides {
        report.accepted += ledger.sent.len();
        report.read += ledger.read.len();
        report.invites += ledger.invites.len();
        report.replied += ledger.sent.iter().filter(|sent| sent.reply_to.is_some()).count();
        report.hang_ups += ledger.hang_ups;
        report.lost_answers += ledger.lost_answers;
        report.violations.extend(ledger.violations);
    }
    Ok(report)
}

/// Whether the sender knows of every message what it will ever know.
fn arrived(sides: &mut [Side], from: usize, to: usize) -> Result<Option<()>, Problem> {
    let inbox: BTreeMap<_, _> = sides[to].inbox()?.into_iter().collect();
    let answered: BTreeSet<_> =
        sides[to].ledger.sent.iter().filter_map(|sent| sent.reply_to.clone()).collect();
    let sent: Vec<_> = sides[from].ledger.sent.iter().map(|sent| sent.id.clone()).collect();
    for id in sent {
        let Some(item) = inbox.get(&id) else { return Ok(None) };
        let goal = if answered.contains(&id) { Stage::Replied } else { item.stage };
        let last = sides[from].history(&id)?.last().map(|(stage, _)| *stage);
        if last != Some(goal) {
            return Ok(None);
        }
    }
    Ok(Some(()))
}

/// Both have the same roster, and it holds what the admin was told.
fn agree(sides: &mut [Side], violations: &mut Vec<String>) -> Result<(), Problem> {
    let same = until("one roster", ARRIVAL, || {
        let mut rosters = Vec::new();
        for side in &mut *sides {
            let list = side.ipc.call("team.list", &json!({}))??;
            rosters.push([list["seq"].clone(), list["hash"].clone(), list["invites"].clone()]);
        }
        let [first, second] = &rosters[..] else { return Err("there are two sides".into()) };
        Ok((first == second).then(|| first[2].clone()))
    });
    match same {
        Ok(open) => {
            let open: BTreeSet<_> = open
                .as_array()
                .into_iter()
                .flatten()
                .map(|invite| word(&invite["inviteId"]))
                .collect();
            invites_are_as_told(&open, &sides[0].ledger.invites, &mut |text| violations.push(text));
        }
        Err(problem) => violations.push(problem.to_string()),
    }
    Ok(())
}

fn invites_are_as_told(
    open: &BTreeSet<String>,
    told: &BTreeMap<String, Invite>,
    say: &mut impl FnMut(String),
) {
    for (id, fate) in told {
        if open.contains(id) != (*fate == Invite::Open) {
            say(format!("the invite {id} is not {fate:?}, as was said"));
        }
    }
}

fn judge(
    sides: &mut [Side],
    from: usize,
    to: usize,
    violations: &mut Vec<String>,
) -> Result<(), Problem> {
    let inbox = sides[to].inbox()?;
    let sent = &sides[from].ledger.sent;
    let mut say = |text: String| violations.push(format!("{}: {text}", PERSONS[from].0));
    accepted_is_there_once(sent, &inbox, &mut say);
    for (id, times) in sides[to].ledger.shown.iter().filter(|(_, times)| **times > 1) {
        say(format!("{id} was shown {times} times"));
    }
    let items: BTreeMap<_, _> = inbox.into_iter().collect();
    let ids: Vec<_> = sent.iter().map(|sent| sent.id.clone()).collect();
    for id in ids {
        let history = sides[from].history(&id)?;
        let told = sides[from].ledger.told.get(&id).map(Vec::as_slice).unwrap_or_default();
        stages_only_rise(&id, &history, told, &mut say);
        stages_are_true(&id, &history, items.get(&id), &sides[to].ledger, &mut say);
    }
    Ok(())
}

/// Nothing lost, nothing twice, nothing else, and in the order in which it was written.
fn accepted_is_there_once(sent: &[Sent], inbox: &[(String, Item)], say: &mut impl FnMut(String)) {
    let written: Vec<_> = sent.iter().map(|sent| (&sent.id, &sent.text)).collect();
    let stored: Vec<_> = inbox.iter().map(|(id, item)| (id, &item.text)).collect();
    for (id, text) in &written {
        match stored.iter().filter(|(_, stored)| stored == text).count() {
            1 => {}
            0 => say(format!("{id} `{text}` was accepted and is lost")),
            times => say(format!("{id} `{text}` stands there {times} times")),
        }
    }
    for (id, text) in stored.iter().filter(|one| !written.contains(one)) {
        say(format!("{id} `{text}` was never accepted"));
    }
    if written != stored {
        let at = written.iter().zip(&stored).position(|(one, other)| one != other);
        say(format!("the order differs from message {} on", at.unwrap_or(0)));
    }
}

fn stages_only_rise(id: &str, history: &History, told: &[String], say: &mut impl FnMut(String)) {
    let rank = |stage: Stage| stage.rank(Track::Mail);
    if !history.windows(2).all(|pair| match pair {
        [(one, at), (next, later)] => rank(*one) < rank(*next) && at <= later,
        _ => true,
    }) {
        say(format!("the stages of {id} went back: {history:?}"));
    }
    let stored: Vec<_> = history.iter().map(|(stage, _)| stage.as_str()).collect();
    let mut left = stored.iter();
    // Each one that was told is stored, in the same order.
    if !told.iter().all(|stage| left.any(|stored| stored == stage)) {
        say(format!("{id} was told {told:?}, and {stored:?} stands there"));
    }
}

fn stages_are_true(
    id: &str,
    history: &History,
    item: Option<&Item>,
    recipient: &Ledger,
    say: &mut impl FnMut(String),
) {
    for (stage, at) in history {
        let is_true = match stage {
            Stage::Accepted | Stage::Relayed => true,
            // Both daemons read the same clock.
            Stage::Delivered => item.is_some_and(|item| item.at <= *at),
            Stage::HandedToAgent => recipient.handed.contains(id) || recipient.read.contains(id),
            Stage::Read => recipient.read.contains(id),
            Stage::Replied => {
                recipient.sent.iter().any(|sent| sent.reply_to.as_deref() == Some(id))
            }
            Stage::Held | Stage::Rejected | Stage::Expired => false,
        };
        if !is_true {
            say(format!("{id} was said to be {}, and it was not", stage.as_str()));
        }
    }
}

fn stage(value: &Value) -> Result<Stage, Problem> {
    Ok(serde_json::from_value(value.clone())?)
}

fn number(value: &Value) -> Result<u64, Problem> {
    value.as_u64().ok_or_else(|| "a number is missing".into())
}

fn word(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(text: &str, at: u64) -> Item {
        Item { at, stage: Stage::Delivered, text: text.to_owned() }
    }

    fn sent(id: &str, text: &str) -> Sent {
        Sent { id: id.to_owned(), text: text.to_owned(), reply_to: None }
    }

    fn said(check: impl FnOnce(&mut dyn FnMut(String))) -> Vec<String> {
        let mut said = Vec::new();
        check(&mut |text| said.push(text));
        said
    }

    #[test]
    fn what_was_accepted_stands_there_once_and_in_order() {
        let written = [sent("1", "a"), sent("2", "b")];
        let check = |stored: &[(&str, &str)]| {
            let inbox: Vec<_> =
                stored.iter().map(|(id, text)| ((*id).to_owned(), item(text, 0))).collect();
            said(|mut say| accepted_is_there_once(&written, &inbox, &mut say)).len()
        };
        assert_eq!(check(&[("1", "a"), ("2", "b")]), 0);
        // The order alone; a loss and the order; twice and the order, and another envelope; a stranger and the order.
        assert_eq!(check(&[("2", "b"), ("1", "a")]), 1);
        assert_eq!(check(&[("2", "b")]), 2);
        assert_eq!(check(&[("1", "a"), ("2", "b"), ("3", "b")]), 3);
        assert_eq!(check(&[("1", "a"), ("2", "b"), ("3", "c")]), 2);
    }

    #[test]
    fn stages_rise_and_what_is_told_is_stored() {
        use Stage::{Accepted, Delivered, Read, Relayed};
        let check = |history: &[(Stage, u64)], told: &[&str]| {
            let told: Vec<_> = told.iter().map(|stage| (*stage).to_owned()).collect();
            said(|mut say| stages_only_rise("1", &history.to_vec(), &told, &mut say)).len()
        };
        let full = [(Accepted, 1), (Relayed, 1), (Delivered, 2), (Read, 5)];
        assert_eq!(check(&full, &["relayed", "read"]), 0);
        assert_eq!(check(&full[..2], &["relayed", "delivered"]), 1);
        assert_eq!(check(&full, &["delivered", "relayed"]), 1);
        assert_eq!(check(&full, &["relayed", "relayed"]), 1);
        assert_eq!(check(&[(Accepted, 1), (Read, 2), (Delivered, 3)], &[]), 1);
        assert_eq!(check(&[(Accepted, 2), (Relayed, 1)], &[]), 1);
    }

    #[test]
    fn a_stage_that_did_not_happen_is_a_lie() {
        let mut recipient = Ledger::default();
        let check = |stage: Stage, item: Option<&Item>, recipient: &Ledger| {
            let history = vec![(Stage::Accepted, 1), (stage, 5)];
            said(|mut say| stages_are_true("1", &history, item, recipient, &mut say)).len()
        };
        let there = item("a", 5);
        assert_eq!(check(Stage::Delivered, Some(&there), &recipient), 0);
        assert_eq!(check(Stage::Delivered, Some(&item("a", 6)), &recipient), 1);
        assert_eq!(check(Stage::Delivered, None, &recipient), 1);
        for stage in [Stage::HandedToAgent, Stage::Read, Stage::Replied, Stage::Rejected] {
            assert_eq!(check(stage, Some(&there), &recipient), 1, "{stage:?}");
        }
        recipient.read.insert("1".to_owned());
        assert_eq!(check(Stage::Read, Some(&there), &recipient), 0);
        recipient.sent.push(Sent { reply_to: Some("1".to_owned()), ..sent("9", "b") });
        assert_eq!(check(Stage::Replied, Some(&there), &recipient), 0);
    }

    #[test]
    fn an_invite_is_what_the_admin_was_told() {
        let told =
            BTreeMap::from([("1".to_owned(), Invite::Open), ("2".to_owned(), Invite::Revoked)]);
        let check = |open: &[&str]| {
            let open = open.iter().map(|id| (*id).to_owned()).collect();
            said(|mut say| invites_are_as_told(&open, &told, &mut say)).len()
        };
        assert_eq!(check(&["1"]), 0);
        assert_eq!(check(&["1", "7"]), 0, "of others nobody was told");
        assert_eq!(check(&[]), 1);
        assert_eq!(check(&["1", "2"]), 1);
    }
}

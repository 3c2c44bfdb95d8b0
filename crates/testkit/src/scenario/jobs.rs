//! What is known of the tasks of a run: who asked whom, on whose behalf, what its executor's daemon took of the results.

use serde_json::Value;
use std::collections::BTreeMap;

/// One task that an agent asked another to do.
#[derive(Clone, Debug)]
pub(super) struct Job {
    /// Its request, in the ledger of messages.
    pub(super) request: usize,
    /// Who was asked.
    pub(super) executor: usize,
    /// The executor's address, as the requester was told.
    pub(super) asked_of: String,
    /// The task's id, once somebody was told.
    pub(super) id: Option<String>,
    /// The task on whose behalf it was asked.
    pub(super) parent: Option<usize>,
    pub(super) wish: Wish,
    /// Results that the executor asked its daemon to send, in order.
    pub(super) pieces: Vec<Sent>,
    /// Its chain, as its executor was told.
    pub(super) chain: Value,
    /// The last state that the executor was told.
    pub(super) state: String,
    /// Reports made so far.
    pub(super) reports: u32,
    /// Its executor means to do something about it.
    pub(super) planned: bool,
    /// Its requester means to answer or to correct.
    pub(super) answering: bool,
}

/// How a delegation narrows what it was given, or tries to widen it.
#[derive(Clone, Debug, Default)]
pub(super) struct Wish {
    pub(super) scope: Option<Vec<&'static str>>,
    pub(super) max_depth: Option<u64>,
}

/// A result, or a piece of one.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    pub(super) artifact: String,
    /// Its text: the number of the report.
    pub(super) text: String,
    /// It takes the place of what stood there.
    pub(super) anew: bool,
    pub(super) fate: Took,
}

/// Whether the daemon took a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Took {
    Yes,
    No,
    /// The answer was lost, or was `internal`.
    Perhaps,
}

/// Every task of a run.
#[derive(Debug, Default)]
pub(super) struct Jobs {
    all: Vec<Job>,
    by_token: BTreeMap<String, usize>,
    by_id: BTreeMap<String, usize>,
}

impl Jobs {
    pub(super) fn add(
        &mut self,
        token: &str,
        request: usize,
        executor: usize,
        parent: Option<usize>,
        wish: Wish,
    ) -> usize {
        self.all.push(Job {
            request,
            executor,
            asked_of: String::new(),
            id: None,
            parent,
            wish,
            pieces: Vec::new(),
            chain: Value::Null,
            state: String::new(),
            reports: 0,
            planned: false,
            answering: false,
        });
        self.by_token.insert(token.to_owned(), self.all.len() - 1);
        self.all.len() - 1
    }

    pub(super) fn all(&self) -> &[Job] {
        &self.all
    }

    pub(super) fn get(&self, job: usize) -> Option<&Job> {
        self.all.get(job)
    }

    pub(super) fn get_mut(&mut self, job: usize) -> Option<&mut Job> {
        self.all.get_mut(job)
    }

    /// Somebody was told the task's id.
    pub(super) fn named(&mut self, job: usize, id: &str) {
        if let Some(held) = self.all.get_mut(job) {
            held.id = Some(id.to_owned());
            self.by_id.insert(id.to_owned(), job);
        }
    }

    /// The task that a record, as a client is shown it, is about.
    pub(super) fn of_record(&mut self, record: &Value) -> Option<usize> {
        let id = record["id"].as_str()?;
        if let Some(job) = self.by_id.get(id) {
            return Some(*job);
        }
        let token = record["title"].as_str()?.split(' ').next()?;
        let job = *self.by_token.get(token)?;
        self.named(job, id);
        Some(job)
    }
}

impl Job {
    /// Whether a chain may go on as wished, to `address`: narrower and no deeper than it is, and in no circle.
    pub(super) fn allows(&self, wish: &Wish, address: &str) -> bool {
        let max_depth = self.chain["maxDepth"].as_u64().unwrap_or_default();
        let depth = self.chain["depth"].as_u64().unwrap_or_default();
        let is_narrow = match (&wish.scope, self.chain["scope"].as_array()) {
            (Some(wished), Some(held)) => {
                wished.iter().all(|label| held.iter().any(|known| known == label))
            }
            _ => true,
        };
        let bound = wish.max_depth.unwrap_or(max_depth);
        let passed = self.chain["addresses"]
            .as_array()
            .is_some_and(|passed| passed.iter().any(|known| known.as_str() == Some(address)));
        is_narrow && bound <= max_depth && depth < bound && !passed
    }

    /// What is wrong with the results that the executor's machine keeps, if anything is.
    pub(super) fn check_results(&self, kept: &[(String, String)]) -> Option<String> {
        let sent = |text: &str| self.pieces.iter().position(|piece| piece.text == text);
        for (artifact, text) in kept {
            let Some(at) = sent(text) else { return Some(format!("{text} was never sent")) };
            let replaced =
                self.pieces.iter().skip(at + 1).any(|later| {
                    later.artifact == *artifact && later.anew && later.fate == Took::Yes
                });
            if replaced || self.pieces.get(at).is_some_and(|piece| piece.fate == Took::No) {
                return Some(format!("{text} should not be there"));
            }
        }
        for (at, piece) in self.pieces.iter().enumerate() {
            let may_be_gone = self.pieces.iter().skip(at + 1).any(|later| {
                later.artifact == piece.artifact && later.anew && later.fate != Took::No
            });
            let is_there = kept.iter().any(|(_, text)| *text == piece.text);
            if piece.fate == Took::Yes && !is_there && !may_be_gone {
                return Some(format!("{} is lost", piece.text));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn job() -> Job {
        let mut jobs = Jobs::default();
        jobs.add("m1", 0, 1, None, Wish::default());
        jobs.all.remove(0)
    }

    #[test]
    fn a_chain_goes_on_when_it_narrows() {
        let mut job = job();
        job.chain =
            json!({"addresses": ["a/x@1", "b/x@2"], "depth": 1, "maxDepth": 2, "scope": ["read"]});
        let wish =
            |scope: &[&'static str], max_depth| Wish { scope: Some(scope.to_vec()), max_depth };
        assert!(job.allows(&Wish::default(), "c/x@3"));
        assert!(job.allows(&wish(&[], Some(2)), "c/x@3"));
        assert!(!job.allows(&wish(&["write"], None), "c/x@3"));
        assert!(!job.allows(&wish(&["read"], Some(3)), "c/x@3"));
        assert!(!job.allows(&wish(&["read"], Some(1)), "c/x@3"));
        assert!(!job.allows(&Wish::default(), "a/x@1"));
    }

    #[test]
    fn results_that_are_lost_or_stale_are_found() {
        let mut job = job();
        for (text, anew, fate) in [
            ("1", true, Took::Yes),
            ("2", false, Took::Perhaps),
            ("3", false, Took::No),
            ("4", true, Took::Perhaps),
        ] {
            job.pieces.push(Sent { artifact: "a".into(), text: text.into(), anew, fate });
        }
        let check = |texts: &[&str]| {
            let kept: Vec<_> =
                texts.iter().map(|text| ("a".to_owned(), (*text).to_owned())).collect();
            job.check_results(&kept)
        };
        assert_eq!(check(&["1"]), None);
        assert_eq!(check(&["1", "2"]), None);
        assert_eq!(check(&["4"]), None);
        assert!(check(&["3"]).is_some());
        assert!(check(&["9"]).is_some());
        job.pieces[3].fate = Took::Yes;
        assert!(check_of(&job, &["1"]).is_some());
        job.pieces[3].fate = Took::No;
        assert!(check_of(&job, &["2"]).is_some());
    }

    fn check_of(job: &Job, texts: &[&str]) -> Option<String> {
        let kept: Vec<_> = texts.iter().map(|text| ("a".to_owned(), (*text).to_owned())).collect();
        job.check_results(&kept)
    }
}

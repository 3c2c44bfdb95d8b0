//! What agents do about tasks: ask, work, want to know more, answer, correct, send results in pieces, delegate, give up.

use super::jobs::{Job, Sent, Took, Wish};
use super::ledger::About;
use super::{Asked, Reminder, Scenario};
use messaging_core::task::TaskState;
use serde_json::{Value, json};

impl Scenario {
    /// An agent asks another to do something, of its own accord.
    pub(super) fn ask_for_task(&mut self, agent: usize, to: usize) {
        self.ask_on_behalf(agent, to, None, Wish::default());
    }

    fn ask_on_behalf(&mut self, agent: usize, to: usize, parent: Option<usize>, wish: Wish) {
        let Some(address) = self.address_of(to) else { return };
        let request = self.ledger.new_message(agent, Some(to), None, address);
        let Some(token) = self.ledger.message(request).map(|sent| sent.token.clone()) else {
            return;
        };
        let job = self.jobs.add(&token, request, to, parent, wish);
        if let Some(sent) = self.ledger.message_mut(request) {
            sent.about = About::Request(job);
        }
        self.ask_send(agent, request, "do it");
    }

    /// What a request says beside its text.
    pub(super) fn add_to_request(&self, job: usize, params: &mut Value) {
        let Some(job) = self.jobs.get(job) else { return };
        params["kind"] = json!("task");
        let parent = job.parent.and_then(|parent| self.jobs.get(parent));
        if let Some(id) = parent.and_then(|parent| parent.id.as_ref()) {
            let mut on_behalf = json!({ "taskId": id });
            if let Some(scope) = &job.wish.scope {
                on_behalf["scope"] = json!(scope);
            }
            if let Some(depth) = job.wish.max_depth {
                on_behalf["maxDepth"] = json!(depth);
            }
            params["onBehalfOf"] = on_behalf;
        }
    }

    /// The daemon answered a request: what widens a chain is refused, and nothing else is for that reason.
    pub(super) fn asked_for_task(&mut self, request: usize, result: &Value) {
        let Some((by, About::Request(number))) =
            self.ledger.message(request).map(|sent| (sent.by, sent.about))
        else {
            return;
        };
        let result = &result["results"][0];
        if let Some(id) = result["taskId"].as_str() {
            self.jobs.named(number, id);
        }
        let to = result["to"].as_str().unwrap_or_default();
        let Some(job) = self.jobs.get(number) else { return };
        let allowed = match job.parent.and_then(|parent| self.jobs.get(parent)) {
            Some(parent) => parent.allows(&job.wish, to),
            None => self.full_address(by).as_deref() != Some(to),
        };
        let is_rejected = result["stage"] == "rejected";
        if !allowed && !is_rejected {
            self.world
                .watch
                .violation(format!("request {request} went out, and is wider or in a circle"));
        }
        if allowed && result["code"] == "forbidden" {
            self.world.watch.violation(format!("request {request} is narrow, and was forbidden"));
        }
        if !is_rejected && self.dice.chance(25) {
            let delay = self.dice.tail(50, 30_000);
            self.remind(delay, Reminder::Cancel(by, number));
        }
    }

    fn full_address(&self, agent: usize) -> Option<String> {
        let held = self.agents.get(agent)?;
        let seat = self.seats.get(held.seat)?;
        Some(format!("{}/{}@{}", seat.person, held.name.as_ref()?, seat.label))
    }

    pub(super) fn tasks_listed(&mut self, agent: usize, result: &Value) {
        for record in result["tasks"].as_array().into_iter().flatten() {
            self.see_task(agent, record);
        }
    }

    pub(super) fn task_event(&mut self, agent: usize, event: &Value) {
        let record = &event["task"];
        self.see_task(agent, record);
        if record["role"] == "requester" {
            self.check_update(agent, event);
        }
    }

    /// An agent sees a record of a task, and perhaps means to do something about it.
    fn see_task(&mut self, agent: usize, record: &Value) {
        let Some(number) = self.jobs.of_record(record) else { return };
        let state = record["status"]["state"].as_str().unwrap_or_default();
        let has_ended = TaskState::parse(state).is_some_and(TaskState::is_terminal);
        let peer = record["peer"]["address"].as_str().unwrap_or_default();
        self.check_follow_ups(agent, record);
        let Some(job) = self.jobs.get_mut(number) else { return };
        if record["role"] == "requester" {
            peer.clone_into(&mut job.asked_of);
            let waits = state == INPUT_REQUIRED;
            let chance = if waits { 75 } else { 8 };
            if !has_ended && !job.answering && self.dice.chance(chance) {
                job.answering = true;
                let delay = self.dice.tail(100, 8_000);
                self.remind(delay, Reminder::Answer(agent, number));
            }
            return;
        }
        job.chain = record["chain"].clone();
        let was = std::mem::replace(&mut job.state, state.to_owned());
        // Who waits for an answer does nothing before one comes.
        let waits = state == INPUT_REQUIRED && was != INPUT_REQUIRED;
        if !has_ended && !waits {
            self.plan_work(agent, number);
        }
    }

    fn plan_work(&mut self, agent: usize, number: usize) {
        let Some(job) = self.jobs.get_mut(number).filter(|job| !job.planned) else { return };
        job.planned = true;
        let delay = self.dice.tail(100, 5_000);
        self.remind(delay, Reminder::Work(agent, number));
    }

    /// The executor goes on with a task.
    pub(super) fn work_on(&mut self, agent: usize, number: usize) {
        let healed = self.healed;
        let Some(job) = self.jobs.get_mut(number) else { return };
        job.planned = false;
        let ended = TaskState::parse(&job.state).is_none_or(TaskState::is_terminal);
        if ended || (healed && self.dice.chance(50)) {
            return;
        }
        job.reports += 1;
        if healed || job.reports > MOST_REPORTS {
            let with_result = self.dice.chance(50);
            return self.report(agent, number, Some("TASK_STATE_COMPLETED"), with_result);
        }
        match self.dice.below(100) {
            0..20 => self.report(agent, number, Some("TASK_STATE_WORKING"), false),
            20..45 => self.report(agent, number, None, true),
            45..52 => self.report(agent, number, Some("TASK_STATE_WORKING"), true),
            52..66 => self.report(agent, number, Some(INPUT_REQUIRED), false),
            66..68 => self.report(agent, number, Some("TASK_STATE_AUTH_REQUIRED"), false),
            68..76 => self.report(agent, number, Some("TASK_STATE_COMPLETED"), true),
            76..79 => self.report(agent, number, Some("TASK_STATE_COMPLETED"), false),
            79..83 => self.report(agent, number, Some("TASK_STATE_FAILED"), false),
            83..87 => self.report(agent, number, Some("TASK_STATE_REJECTED"), false),
            _ => self.delegate(agent, number),
        }
    }

    fn report(&mut self, agent: usize, number: usize, state: Option<&str>, with_result: bool) {
        let Some((client, key)) = self.agents.get(agent).and_then(super::agents::Agent::line)
        else {
            return;
        };
        let Some(job) = self.jobs.get_mut(number) else { return };
        let Some(id) = job.id.clone() else { return };
        let mut params = json!({ "key": key, "taskId": id });
        if let Some(state) = state {
            params["state"] = json!(state);
            params["message"] = json!([{ "text": format!("said {:03}", job.reports) }]);
        }
        let mut piece = None;
        if with_result {
            let artifact = if self.dice.chance(70) { "plan" } else { "log" };
            let is_first = !job.pieces.iter().any(|piece| piece.artifact == artifact);
            let anew = is_first || self.dice.chance(8);
            let text = format!("piece {:03}", job.reports);
            params["artifact"] = json!({ "artifactId": artifact, "parts": [{ "text": text }] });
            params["append"] = json!(!anew);
            if self.dice.chance(20) {
                params["lastChunk"] = json!(true);
            }
            let artifact = artifact.to_owned();
            job.pieces.push(Sent { artifact, text, anew, fate: Took::Perhaps });
            piece = Some(job.pieces.len() - 1);
        }
        self.request(client, "task.update", params, Asked::Report { agent, job: number, piece });
    }

    pub(super) fn reported(
        &mut self,
        agent: usize,
        number: usize,
        piece: Option<usize>,
        result: &Value,
    ) {
        if let Some(job) = self.jobs.get_mut(number) {
            job.settle(piece, Took::Yes);
        }
        self.see_task(agent, &result["task"]);
    }

    pub(super) fn report_refused(
        &mut self,
        agent: usize,
        number: usize,
        piece: Option<usize>,
        code: &str,
    ) {
        let Some(job) = self.jobs.get_mut(number) else { return };
        match code {
            "internal" => {}
            "invalid_state" | "not_found" | "not_member" | "daemon_unavailable" => {
                job.settle(piece, Took::No);
            }
            other => {
                self.world.watch.violation(format!("a report was refused: {other}"));
            }
        }
        if code == "invalid_state"
            && !TaskState::parse(&job.state).is_none_or(TaskState::is_terminal)
        {
            self.plan_work(agent, number);
        }
    }

    /// The executor hands a part of its task on, narrowed as it should be, or not.
    fn delegate(&mut self, agent: usize, number: usize) {
        const LABELS: [&str; 4] = ["read", "write", "build", "ship"];
        let Some(to) = self.dice.index(self.agents.len()) else { return };
        let mut wish = Wish::default();
        if self.dice.chance(60) {
            let labels = LABELS.into_iter().filter(|_| self.dice.chance(60)).collect();
            wish.scope = Some(labels);
        }
        if self.dice.chance(40) {
            wish.max_depth = Some(self.dice.between(1, 4));
        }
        if self.jobs.get(number).is_some_and(|job| job.id.is_some() && job.chain.is_object()) {
            self.ask_on_behalf(agent, to, Some(number), wish);
        }
        self.plan_work(agent, number);
    }

    /// The requester answers a question, or corrects what it asked for.
    pub(super) fn answer(&mut self, agent: usize, number: usize) {
        let Some(job) = self.jobs.get_mut(number) else { return };
        job.answering = false;
        if self.healed || job.asked_of.is_empty() {
            return;
        }
        let (to, address) = (job.executor, job.asked_of.clone());
        let message = self.ledger.new_message(agent, Some(to), None, address);
        if let Some(sent) = self.ledger.message_mut(message) {
            sent.about = About::FollowUp(number);
        }
        self.ask_send(agent, message, "the blue one");
    }

    /// The requester gives up.
    pub(super) fn give_up(&mut self, agent: usize, number: usize) {
        let line = self.agents.get(agent).and_then(super::agents::Agent::line);
        let id = self.jobs.get(number).and_then(|job| job.id.clone());
        if let (Some((client, key)), Some(id)) = (line, id) {
            let params = json!({ "key": key, "taskId": id, "reason": "enough" });
            self.request(client, "task.cancel", params, Asked::Cancel);
        }
    }
}

impl Job {
    fn settle(&mut self, piece: Option<usize>, fate: Took) {
        if let Some(piece) = piece.and_then(|piece| self.pieces.get_mut(piece)) {
            piece.fate = fate;
        }
    }
}

const INPUT_REQUIRED: &str = "TASK_STATE_INPUT_REQUIRED";
/// After so many, an executor comes to an end.
const MOST_REPORTS: u32 = 14;

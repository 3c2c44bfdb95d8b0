//! A relay in a few lines: honest by default, and dishonest where a test says so.

use std::collections::{BTreeMap, VecDeque};

use messaging_core::code::Code;
use messaging_core::ids::{MachineId, Nonce32, Req, Ulid};
use messaging_core::invite::join_is_proven;
use messaging_core::roster::{Live, Roster};
use messaging_core::time::Ms;
use messaging_core::url::origin;
use messaging_wire::{ClientFrame, Join, RecvAck, RosterAppend, RosterSync, text};
use serde_json::Value;

use super::bench::URL;
use crate::input::LinkId;

/// The relay.
pub(crate) struct Relay {
    /// Whether it answers a dial.
    pub(crate) up: bool,
    /// The chain it shows.
    pub(crate) roster: Roster,
    /// How many entries it shows; the rest it keeps to itself.
    pub(crate) shows: Option<u64>,
    /// What it answers to each `send`, in order; then it takes everything.
    pub(crate) nacks: VecDeque<(Code, Option<u64>)>,
    /// What it answers to each entry, in order; then it judges them.
    pub(crate) entry_nacks: VecDeque<Code>,
    /// It takes an entry and hangs up without an answer, so often.
    pub(crate) swallows: u32,
    /// It hangs up when an entry comes, and takes it behind the next refused hello: an old connection was slow.
    pub(crate) slow_entries: bool,
    slow: Option<Value>,
    /// So many refused hellos it comes later still.
    pub(crate) slower: u32,
    /// What the next requests of entries, a guest's or a member's, come to: a refusal, or none.
    pub(crate) page_nacks: VecDeque<Option<Code>>,
    /// It takes an entry and says `internal`, so often.
    pub(crate) denies: u32,
    /// Frames that a guest has on one connection; then it hangs up.
    pub(crate) guest_frames: u32,
    /// It takes entries and does not say so to their author.
    pub(crate) drops_answers: bool,
    /// It takes what is sent and answers nothing.
    pub(crate) silent: bool,
    /// It keeps what was sent and delivers nothing.
    pub(crate) holds_back: bool,
    /// It sends a page larger than was asked for, or one that does not follow.
    pub(crate) page_twist: Option<PageTwist>,
    /// It names another origin than its own.
    pub(crate) origin: Option<String>,
    links: BTreeMap<usize, Link>,
    frames: VecDeque<(usize, LinkId, String)>,
    queue: Vec<Queued>,
    /// Every frame it heard, by daemon.
    pub(crate) heard: Vec<(usize, ClientFrame)>,
    presence: BTreeMap<MachineId, String>,
    /// Links that it has closed, each with its code.
    hang_ups: Vec<(usize, LinkId, u16)>,
    /// How many envelopes a test made.
    pub(crate) forged: u64,
}

/// How a relay pages wrongly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PageTwist {
    /// Each page starts at the genesis.
    FromGenesis,
    /// Pages are empty and more are promised.
    EndlessEmpty,
}

struct Link {
    id: LinkId,
    machine: Option<MachineId>,
    frames: u32,
}

struct Queued {
    to: MachineId,
    from: MachineId,
    id: Ulid,
    text: String,
    digest: Value,
    acked: bool,
}

impl Relay {
    pub(crate) fn new(roster: Roster) -> Self {
        Self {
            up: false,
            roster,
            shows: None,
            nacks: VecDeque::new(),
            entry_nacks: VecDeque::new(),
            swallows: 0,
            denies: 0,
            slow_entries: false,
            slow: None,
            slower: 0,
            page_nacks: VecDeque::new(),
            guest_frames: 8,
            hang_ups: Vec::new(),
            drops_answers: false,
            silent: false,
            holds_back: false,
            page_twist: None,
            origin: None,
            links: BTreeMap::new(),
            frames: VecDeque::new(),
            queue: Vec::new(),
            heard: Vec::new(),
            presence: BTreeMap::new(),
            forged: 0,
        }
    }

    pub(crate) fn next_frame(&mut self) -> Option<(usize, LinkId, String)> {
        self.frames.pop_front()
    }

    pub(crate) fn opened(&mut self, at: usize, id: LinkId) {
        self.links.insert(at, Link { id, machine: None, frames: 0 });
        let own = origin(URL).unwrap();
        let relay = self.origin.clone().unwrap_or(own);
        self.say(at, text::challenge(&relay, &Nonce32::from_bytes(&[7; 32])));
    }

    pub(crate) fn closed(&mut self, at: usize, id: LinkId) {
        if self.links.get(&at).is_some_and(|link| link.id == id)
            && let Some(Link { machine: Some(machine), .. }) = self.links.remove(&at)
        {
            self.tell_others(at, &text::peer(&machine, false));
        }
    }

    pub(crate) fn say(&mut self, at: usize, text: String) {
        if let Some(link) = self.links.get(&at) {
            self.frames.push_back((at, link.id, text));
        }
    }

    fn tell_others(&mut self, at: usize, text: &str) {
        let others: Vec<usize> = self
            .links
            .iter()
            .filter(|(other, link)| **other != at && link.machine.is_some())
            .map(|(other, _)| *other)
            .collect();
        for other in others {
            self.say(other, text.to_owned());
        }
    }

    /// The frames of one kind that a daemon said.
    pub(crate) fn heard_from(&self, at: usize, t: &str) -> usize {
        self.heard.iter().filter(|(from, frame)| *from == at && frame.t() == t).count()
    }

    /// The name of a daemon's last append.
    pub(crate) fn last_append(&self, at: usize) -> Req {
        let append = |(from, frame): &(usize, ClientFrame)| match frame {
            ClientFrame::RosterAppend(append) if *from == at => Some(append.req.clone()),
            _ => None,
        };
        self.heard.iter().rev().find_map(append).unwrap()
    }

    /// The envelopes that a daemon sent, in order.
    pub(crate) fn sent_by(&self, at: usize) -> Vec<Value> {
        let send = |(from, frame): &(usize, ClientFrame)| match frame {
            ClientFrame::Send(env) if *from == at => Some(env.clone()),
            _ => None,
        };
        self.heard.iter().filter_map(send).collect()
    }

    /// The presences that a daemon sent, in order.
    pub(crate) fn presence_by(&self, at: usize) -> Vec<Value> {
        let presence = |(from, frame): &(usize, ClientFrame)| match frame {
            ClientFrame::Presence(env) if *from == at => Some(env.clone()),
            _ => None,
        };
        self.heard.iter().filter_map(presence).collect()
    }

    /// The ids that a daemon acknowledged, in order.
    pub(crate) fn acks_by(&self, at: usize) -> Vec<String> {
        let ack = |(from, frame): &(usize, ClientFrame)| match frame {
            ClientFrame::RecvAck(RecvAck { id, .. }) if *from == at => Some(id.to_string()),
            _ => None,
        };
        self.heard.iter().filter_map(ack).collect()
    }

    /// Whether everything that was queued for a machine is acknowledged.
    pub(crate) fn all_acked(&self) -> bool {
        self.queue.iter().all(|queued| queued.acked)
    }

    /// Sends again what was not acknowledged.
    pub(crate) fn redeliver(&mut self) {
        let waiting: Vec<(MachineId, String)> = self
            .queue
            .iter()
            .filter(|queued| !queued.acked)
            .map(|queued| (queued.to, queued.text.clone()))
            .collect();
        for (to, envelope) in waiting {
            self.deliver(&to, &envelope);
        }
    }

    fn deliver(&mut self, to: &MachineId, envelope: &str) {
        if self.holds_back {
            return;
        }
        let link = self.links.iter().find(|(_, link)| link.machine.as_ref() == Some(to));
        if let Some((at, _)) = link {
            self.say(*at, text::deliver(envelope));
        }
    }

    /// Takes an entry as if a member had appended it, and tells everybody.
    pub(crate) fn append(&mut self, entry: &Value) {
        self.roster.apply(entry, None).unwrap();
        if self.shows.is_none() {
            let raw = entry.to_string();
            self.tell_others(usize::MAX, &text::roster(None, [raw.as_str()], false));
        }
    }

    fn head(&self) -> u64 {
        let head = self.roster.head().unwrap().seq;
        self.shows.map_or(head, |shows| shows.min(head))
    }

    pub(crate) fn hear(&mut self, at: usize, id: LinkId, said: &str, now: Ms) {
        if self.links.get(&at).is_none_or(|link| link.id != id) {
            return;
        }
        let frame = ClientFrame::parse(said.as_bytes(), usize::MAX).unwrap();
        self.heard.push((at, frame.clone()));
        if self.silent {
            return;
        }
        if let Some(link) = self.links.get_mut(&at) {
            link.frames += 1;
            if link.machine.is_none() && link.frames > self.guest_frames {
                return self.hang_up(at, Code::RateLimited, 4002);
            }
        }
        match frame {
            ClientFrame::Hello(hello) if self.is_stranger(&hello.machine) => {
                self.hang_up(at, Code::NotMember, 4001);
                if self.slower > 0 {
                    self.slower -= 1;
                } else if let Some(entry) = self.slow.take() {
                    self.roster.apply(&entry, None).unwrap();
                }
            }
            ClientFrame::Hello(hello) => self.welcome(at, hello.machine),
            ClientFrame::RosterSync(sync) => self.page(at, &sync),
            ClientFrame::RosterAppend(append) => self.take_entry(at, &append, now),
            ClientFrame::Send(env) => self.take_envelope(at, &env),
            ClientFrame::Presence(env) => {
                let machine = device(&env, "from");
                self.presence.insert(machine, env.to_string());
                self.tell_others(at, &text::deliver(&env.to_string()));
            }
            ClientFrame::RecvAck(RecvAck { id, from }) => {
                let own = self.links.get(&at).and_then(|link| link.machine).unwrap();
                for queued in &mut self.queue {
                    if queued.to == own && queued.id == id && Some(queued.from) == from {
                        queued.acked = true;
                    }
                }
            }
            ClientFrame::Join(join) => self.let_in(at, &join, now),
            ClientFrame::Ping(_) | ClientFrame::Unknown => {}
        }
    }

    /// Whether a machine never was in the team.
    fn is_stranger(&self, machine: &MachineId) -> bool {
        self.roster.member(machine).is_none() && !self.roster.was_removed(machine)
    }

    /// Hangs up on a daemon, with a word before.
    fn hang_up(&mut self, at: usize, code: Code, close: u16) {
        self.say(at, text::error(code, "refused", None));
        self.drop_link(at, close);
    }

    fn drop_link(&mut self, at: usize, close: u16) {
        if let Some(link) = self.links.remove(&at) {
            self.hang_ups.push((at, link.id, close));
        }
    }

    /// A link that the relay has closed, once everything it said is heard.
    pub(crate) fn next_hang_up(&mut self) -> Option<(usize, LinkId, u16)> {
        self.hang_ups.pop()
    }

    fn let_in(&mut self, at: usize, join: &Join, now: Ms) {
        let own = origin(URL).unwrap();
        let proven = self.roster.invite(&join.invite_id).is_some_and(|invite| {
            let nonce = Nonce32::from_bytes(&[7; 32]);
            let proof = &join.proof;
            invite.open
                && invite.expires > now
                && join_is_proven(&invite.key, &own, &join.team, &invite.id, &nonce, proof)
        });
        if !proven || self.roster.team_id() != Some(&join.team) {
            return self.nack(at, &join.req, Code::InviteInvalid, None);
        }
        self.page(at, &RosterSync { req: join.req.clone(), after: join.after });
    }

    fn welcome(&mut self, at: usize, machine: MachineId) {
        let others: Vec<MachineId> = self.links.values().filter_map(|link| link.machine).collect();
        if let Some(link) = self.links.get_mut(&at) {
            link.machine = Some(machine);
        }
        let head = self.roster.entries()[usize::try_from(self.head()).unwrap()].head();
        self.say(at, text::welcome(&head, others.iter()));
        self.tell_others(at, &text::peer(&machine, true));
        let presence: Vec<String> = self
            .presence
            .iter()
            .filter(|(other, _)| **other != machine)
            .map(|(_, env)| env.clone())
            .collect();
        for env in presence {
            self.say(at, text::deliver(&env));
        }
        let waiting: Vec<String> = self
            .queue
            .iter()
            .filter(|queued| queued.to == machine && !queued.acked)
            .map(|queued| queued.text.clone())
            .collect();
        for envelope in waiting {
            self.deliver(&machine, &envelope);
        }
    }

    /// A daemon's last request for entries.
    pub(crate) fn last_sync(&self, at: usize) -> RosterSync {
        let sync = |(from, frame): &(usize, ClientFrame)| match frame {
            ClientFrame::RosterSync(sync) if *from == at => Some(sync.clone()),
            _ => None,
        };
        self.heard.iter().rev().find_map(sync).unwrap()
    }

    /// The page that answers a daemon's last request, as of now.
    pub(crate) fn page_text(&self, at: usize) -> String {
        self.page_for(&self.last_sync(at))
    }

    fn page(&mut self, at: usize, sync: &RosterSync) {
        if let Some(code) = self.page_nacks.pop_front().flatten() {
            return self.nack(at, &sync.req, code, None);
        }
        let text = self.page_for(sync);
        self.say(at, text);
    }

    fn page_for(&self, sync: &RosterSync) -> String {
        let after = match self.page_twist {
            Some(PageTwist::FromGenesis) => None,
            _ => sync.after,
        };
        let head = self.head();
        let (page, more) = self.roster.page_after(after);
        let texts: Vec<String> = page
            .iter()
            .filter(|entry| entry.seq() <= head)
            .map(|entry| entry.canonical().as_str().to_owned())
            .collect();
        let (texts, more) = match self.page_twist {
            Some(PageTwist::EndlessEmpty) => (Vec::new(), true),
            Some(PageTwist::FromGenesis) => (texts, true),
            None => (texts, more),
        };
        text::roster(Some(&sync.req), texts.iter().map(String::as_str), more)
    }

    fn take_entry(&mut self, at: usize, append: &RosterAppend, now: Ms) {
        let RosterAppend { req, entry } = append;
        if std::mem::take(&mut self.slow_entries) {
            self.slow = Some(entry.clone());
            return self.drop_link(at, 1001);
        }
        if let Some(code) = self.entry_nacks.pop_front() {
            return self.nack(at, req, code, None);
        }
        match self.roster.apply(entry, Some(Live::append(now))) {
            Ok(_) if self.swallows > 0 => {
                self.swallows -= 1;
                self.drop_link(at, 1001);
            }
            Ok(_) if self.denies > 0 => {
                self.denies -= 1;
                self.nack(at, req, Code::Internal, None);
            }
            Ok(applied) => {
                if !self.drops_answers {
                    self.say(at, text::roster_ok(req, &applied.entry.head()));
                }
                let raw = entry.to_string();
                self.tell_others(at, &text::roster(None, [raw.as_str()], false));
            }
            Err(failure) => self.nack(at, req, failure.code, None),
        }
    }

    fn nack(&mut self, at: usize, id: &Req, code: Code, after: Option<u64>) {
        self.say(at, text::nack(id.as_str(), code, "refused", after));
    }

    fn take_envelope(&mut self, at: usize, env: &Value) {
        let id = Ulid::parse(env["id"].as_str().unwrap()).unwrap();
        if let Some((code, after)) = self.nacks.pop_front() {
            return self.nack(at, &Req::from(id), code, after);
        }
        let (to, from) = (device(env, "to"), device(env, "from"));
        match self.queue.iter().find(|queued| queued.from == from && queued.id == id) {
            Some(queued) if queued.digest == *env => {}
            Some(_) => return self.nack(at, &Req::from(id), Code::InvalidRequest, None),
            None => {
                let text = env.to_string();
                self.deliver(&to, &text);
                let digest = env.clone();
                self.queue.push(Queued { to, from, id, text, digest, acked: false });
            }
        }
        self.say(at, text::ack(&id));
    }
}

pub(crate) fn device(env: &Value, end: &str) -> MachineId {
    MachineId::parse(env[end]["device"].as_str().unwrap()).unwrap()
}

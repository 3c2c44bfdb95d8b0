//! Connections between daemons and the relay, with everything that can befall them.
//!
//! One connection keeps what a stream promises: what arrives, arrives in order and once. Everything else is open: it may be
//! slow, break at any moment with anything still under way, be noticed as broken late and by one end first, and what an old
//! connection still carries may arrive after a new one has been used.

use crate::agenda::{Agenda, At};
use crate::dice::Dice;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// One connection; a number is never used again.
pub type LinkId = u64;

/// The two ends of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// The machine that dialled.
    Daemon,
    /// The relay.
    Relay,
}

impl End {
    const fn other(self) -> Self {
        match self {
            Self::Daemon => Self::Relay,
            Self::Relay => Self::Daemon,
        }
    }
}

/// What the network brings to one end.
#[derive(Clone, Debug)]
pub enum Arrival {
    /// The connection stands.
    Open,
    /// The dial failed: refused, unreachable, or never answered.
    Refused,
    /// One message.
    Frame(Arc<str>),
    /// The other end closed, with this code; or the connection broke.
    Closed(Option<u16>),
}

/// An arrival, on its way.
#[derive(Clone, Debug)]
pub struct Carried {
    /// Over which connection.
    pub link: LinkId,
    /// The machine that dialled it.
    pub machine: usize,
    /// To which end.
    pub to: End,
    /// What arrives.
    pub what: Arrival,
}

/// How one machine's connections behave.
#[derive(Clone, Copy, Debug)]
pub struct Quality {
    /// The usual one-way delay, ms.
    pub delay: u64,
    /// The longest one-way delay, ms.
    pub worst: u64,
}

#[derive(Debug)]
struct Link {
    machine: usize,
    /// Until when each lane is taken by what was sent before (to the relay, to the daemon).
    busy: BTreeMap<End, At>,
    /// Ends that know that it is over; nothing reaches them any more.
    over: BTreeSet<End>,
    /// From when on nothing that is sent arrives.
    broken: Option<At>,
}

/// Every connection of a world.
#[derive(Debug)]
pub struct Network {
    dice: Dice,
    links: BTreeMap<LinkId, Link>,
    made: LinkId,
    cut_off: BTreeSet<usize>,
    quality: BTreeMap<usize, Quality>,
}

const FAST: Quality = Quality { delay: 5, worst: 20 };

/// An end that hears nothing takes a connection for dead after this long, ms.
const SILENCE: u64 = 90_000;

impl Network {
    /// A network without connections.
    #[must_use]
    pub fn new(dice: Dice) -> Self {
        Self {
            dice,
            links: BTreeMap::new(),
            made: 0,
            cut_off: BTreeSet::new(),
            quality: BTreeMap::new(),
        }
    }

    /// Sets how a machine's connections behave from now on.
    pub fn set_quality(&mut self, machine: usize, quality: Quality) {
        self.quality.insert(machine, quality);
    }

    /// The machine behind a connection.
    #[must_use]
    pub fn machine(&self, link: LinkId) -> Option<usize> {
        self.links.get(&link).map(|link| link.machine)
    }

    /// Connections that an end still believes in.
    pub fn believed(&self, end: End) -> impl Iterator<Item = LinkId> {
        self.links.iter().filter(move |(_, link)| !link.over.contains(&end)).map(|(id, _)| *id)
    }

    /// A machine dials. The connection's number is given at once; whether it stands is an arrival.
    pub fn dial<E: From<Carried>>(
        &mut self,
        agenda: &mut Agenda<E>,
        machine: usize,
        relay_up: bool,
    ) -> LinkId {
        self.made += 1;
        let id = self.made;
        let mut link = Link { machine, busy: BTreeMap::new(), over: BTreeSet::new(), broken: None };
        if self.cut_off.contains(&machine) || !relay_up {
            link.over.insert(End::Relay);
            self.links.insert(id, link);
            let wait = if relay_up { self.dice.between(1_000, 10_000) } else { 1 };
            agenda.after(
                wait,
                Carried { link: id, machine, to: End::Daemon, what: Arrival::Refused }.into(),
            );
        } else {
            self.links.insert(id, link);
            self.carry(agenda, id, End::Relay, Arrival::Open);
            self.carry(agenda, id, End::Daemon, Arrival::Open);
        }
        id
    }

    /// An end sends a message.
    pub fn send<E: From<Carried>>(
        &mut self,
        agenda: &mut Agenda<E>,
        link: LinkId,
        from: End,
        text: Arc<str>,
    ) {
        self.carry(agenda, link, from.other(), Arrival::Frame(text));
    }

    /// An end closes: it hears nothing more; the other end hears what was sent before, then of the close.
    pub fn close<E: From<Carried>>(
        &mut self,
        agenda: &mut Agenda<E>,
        link: LinkId,
        from: End,
        code: Option<u16>,
    ) {
        self.carry(agenda, link, from.other(), Arrival::Closed(code));
        self.forget(link, from);
    }

    /// A connection breaks now: what is under way may still arrive or not, and each end notices in its own time.
    pub fn cut<E: From<Carried>>(&mut self, agenda: &mut Agenda<E>, link: LinkId) {
        let now = agenda.now();
        let Some(held) = self.links.get_mut(&link) else { return };
        if held.broken.is_some() {
            return;
        }
        // Half of the time what had left stays on its way: the break is behind it.
        let machine = held.machine;
        held.broken = Some(if self.dice.chance(50) { now } else { now + self.dice.between(1, 50) });
        let open: Vec<End> =
            [End::Daemon, End::Relay].into_iter().filter(|end| !held.over.contains(end)).collect();
        for end in open {
            let notice = match self.dice.below(3) {
                0 => 1,
                1 => self.dice.between(10, 5_000),
                _ => self.dice.between(5_000, SILENCE),
            };
            agenda.after(
                notice,
                Carried { link, machine, to: end, what: Arrival::Closed(None) }.into(),
            );
        }
    }

    /// Cuts a machine off from the relay, or joins it again.
    pub fn set_cut_off<E: From<Carried>>(
        &mut self,
        agenda: &mut Agenda<E>,
        machine: usize,
        cut_off: bool,
    ) {
        if !cut_off {
            self.cut_off.remove(&machine);
            return;
        }
        self.cut_off.insert(machine);
        for link in self.links_of(machine) {
            self.cut(agenda, link);
        }
    }

    /// Whether a machine is cut off.
    #[must_use]
    pub fn is_cut_off(&self, machine: usize) -> bool {
        self.cut_off.contains(&machine)
    }

    /// A process dies: its ends are gone at once, and the other ends hear of it, soon or after a long silence.
    pub fn died<E: From<Carried>>(
        &mut self,
        agenda: &mut Agenda<E>,
        end: End,
        machine: Option<usize>,
        silently: bool,
    ) {
        let links: Vec<(LinkId, usize)> = self
            .links
            .iter()
            .filter(|(_, link)| machine.is_none_or(|machine| link.machine == machine))
            .filter(|(_, link)| !link.over.contains(&end))
            .map(|(id, link)| (*id, link.machine))
            .collect();
        for (link, machine) in links {
            let wait =
                if silently { self.dice.between(1_000, SILENCE) } else { self.dice.between(1, 20) };
            let to = end.other();
            agenda.after(wait, Carried { link, machine, to, what: Arrival::Closed(None) }.into());
            self.forget(link, end);
        }
    }

    /// Takes an arrival from the agenda: `false` when nobody is there any more to hear it.
    pub fn arrives(&mut self, carried: &Carried) -> bool {
        let Some(link) = self.links.get_mut(&carried.link) else { return false };
        if link.over.contains(&carried.to) {
            return false;
        }
        if matches!(carried.what, Arrival::Closed(_) | Arrival::Refused) {
            self.forget(carried.link, carried.to);
        }
        true
    }

    fn links_of(&self, machine: usize) -> Vec<LinkId> {
        self.links.iter().filter(|(_, link)| link.machine == machine).map(|(id, _)| *id).collect()
    }

    fn carry<E: From<Carried>>(
        &mut self,
        agenda: &mut Agenda<E>,
        id: LinkId,
        to: End,
        what: Arrival,
    ) {
        let Some(link) = self.links.get_mut(&id) else { return };
        if link.over.contains(&to.other()) && !matches!(what, Arrival::Closed(_)) {
            return;
        }
        let quality = self.quality.get(&link.machine).copied().unwrap_or(FAST);
        let wanted = agenda.now() + self.dice.tail(quality.delay, quality.worst);
        let at = wanted.max(link.busy.get(&to).copied().unwrap_or(0));
        if link.broken.is_some_and(|broken| at >= broken) {
            return;
        }
        let machine = link.machine;
        link.busy.insert(to, at);
        agenda.at(at, Carried { link: id, machine, to, what }.into());
    }

    fn forget(&mut self, id: LinkId, end: End) {
        let Some(link) = self.links.get_mut(&id) else { return };
        link.over.insert(end);
        if link.over.len() == 2 {
            self.links.remove(&id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(network: &mut Network, agenda: &mut Agenda<Carried>, until: At) -> Vec<String> {
        let mut heard = Vec::new();
        while let Some(carried) = agenda.next(until) {
            if network.arrives(&carried) {
                heard.push(match carried.what {
                    Arrival::Open => format!("{:?} open", carried.to),
                    Arrival::Refused => format!("{:?} refused", carried.to),
                    Arrival::Frame(text) => format!("{:?} {text}", carried.to),
                    Arrival::Closed(code) => format!("{:?} closed {code:?}", carried.to),
                });
            }
        }
        heard
    }

    #[test]
    fn a_connection_keeps_its_order() {
        for seed in 0..50 {
            let (mut network, mut agenda) = (Network::new(Dice::new(seed)), Agenda::new());
            network.set_quality(0, Quality { delay: 10, worst: 3_000 });
            let link = network.dial(&mut agenda, 0, true);
            for number in 0..20 {
                network.send(&mut agenda, link, End::Relay, format!("{number:02}").into());
            }
            network.close(&mut agenda, link, End::Relay, Some(4004));
            let heard: Vec<String> = drain(&mut network, &mut agenda, 100_000)
                .into_iter()
                .filter(|line| line.starts_with("Daemon"))
                .collect();
            assert_eq!(heard.len(), 22, "seed {seed}");
            assert!(heard[1..21].is_sorted(), "seed {seed}: {heard:?}");
            assert_eq!(heard[21], "Daemon closed Some(4004)");
            assert_eq!(network.believed(End::Daemon).count(), 0);
        }
    }

    #[test]
    fn a_break_loses_a_tail_and_both_ends_notice() {
        for seed in 0..50 {
            let (mut network, mut agenda) = (Network::new(Dice::new(seed)), Agenda::new());
            let link = network.dial(&mut agenda, 0, true);
            drain(&mut network, &mut agenda, 1_000);
            for number in 0..20 {
                network.send(&mut agenda, link, End::Daemon, format!("{number:02}").into());
            }
            network.cut(&mut agenda, link);
            network.send(&mut agenda, link, End::Daemon, "late".into());
            let heard = drain(&mut network, &mut agenda, 200_000);
            let frames: Vec<&String> = heard
                .iter()
                .filter(|line| line.starts_with("Relay") && !line.contains("closed"))
                .collect();
            for (number, frame) in frames.iter().enumerate().take(20) {
                assert_eq!(**frame, format!("Relay {number:02}"), "seed {seed}");
            }
            assert_eq!(heard.iter().filter(|line| line.contains("closed None")).count(), 2);
            assert_eq!(network.believed(End::Relay).count(), 0);
        }
    }

    #[test]
    fn nobody_dials_through_a_partition() {
        let (mut network, mut agenda) = (Network::new(Dice::new(1)), Agenda::<Carried>::new());
        network.set_cut_off(&mut agenda, 0, true);
        network.dial(&mut agenda, 0, true);
        network.dial(&mut agenda, 1, false);
        assert_eq!(drain(&mut network, &mut agenda, 20_000), ["Daemon refused", "Daemon refused"]);
        network.set_cut_off(&mut agenda, 0, false);
        network.dial(&mut agenda, 0, true);
        let mut heard = drain(&mut network, &mut agenda, 40_000);
        heard.sort();
        assert_eq!(heard, ["Daemon open", "Relay open"]);
    }

    #[test]
    fn a_dead_process_hears_nothing() {
        let (mut network, mut agenda) = (Network::new(Dice::new(1)), Agenda::<Carried>::new());
        let link = network.dial(&mut agenda, 0, true);
        drain(&mut network, &mut agenda, 1_000);
        network.send(&mut agenda, link, End::Daemon, "lost".into());
        network.died(&mut agenda, End::Relay, None, false);
        assert_eq!(drain(&mut network, &mut agenda, 200_000), ["Daemon closed None"]);
    }
}

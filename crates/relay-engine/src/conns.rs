//! The connections: what each one is, what waits on its socket, and who is online.
//! Spec: W5.3, W5.9

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::IpAddr;

use messaging_core::ids::{Hash, MachineId, Nonce32};
use messaging_core::time::{Mono, Ms};

use crate::deliver::Deliveries;
use crate::input::ConnId;
use crate::store::Party;

/// Every open connection.
#[derive(Debug)]
pub(crate) struct Conns {
    all: BTreeMap<ConnId, Conn>,
    /// The link of each machine that is online, by realm.
    online: BTreeMap<Hash, BTreeMap<MachineId, ConnId>>,
    /// Machines online.
    linked: usize,
    /// When each connection that has not said `hello` is given up.
    waiting: BTreeSet<(Mono, ConnId)>,
    /// When each link next sends something again.
    redeliver: BTreeSet<(Mono, ConnId)>,
    /// Bytes waiting on all sockets.
    buffered: usize,
    /// The most that may wait on one.
    socket_bytes: usize,
    /// Connections that had more: they are dropped when the batch ends, and given nothing until then.
    over: BTreeSet<ConnId>,
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Conn {
    pub(crate) nonce: Nonce32,
    pub(crate) address: IpAddr,
    pub(crate) state: State,
    /// Bytes queued and not reported as drained.
    buffered: usize,
}

/// How far a connection has come.
#[derive(Debug)]
pub(crate) enum State {
    /// No valid `hello` yet.
    Greeting { frames: u32, until: Mono },
    /// A machine's link.
    Linked(Box<Link>),
    /// It was told to go, behind what is queued: that still waits on its socket, and nothing is added.
    Leaving,
}

/// An authenticated connection.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) party: Party,
    pub(crate) deliveries: Deliveries,
    /// Machines whose presence this link has yet to be told, before any delivery.
    pub(crate) presences: VecDeque<MachineId>,
    /// Too much waits on the socket: nothing is pumped until it drains.
    pub(crate) paused: bool,
    /// The entry of this link in [`Conns::redeliver`].
    redeliver: Option<Mono>,
}

impl Conns {
    /// None yet; at most `socket_bytes` may wait on one.
    pub(crate) fn new(socket_bytes: usize) -> Self {
        Self {
            all: BTreeMap::new(),
            online: BTreeMap::new(),
            linked: 0,
            waiting: BTreeSet::new(),
            redeliver: BTreeSet::new(),
            buffered: 0,
            socket_bytes,
            over: BTreeSet::new(),
        }
    }

    pub(crate) fn open(&mut self, id: ConnId, nonce: Nonce32, address: IpAddr, until: Mono) {
        let state = State::Greeting { frames: 0, until };
        self.all.insert(id, Conn { nonce, address, state, buffered: 0 });
        self.waiting.insert((until, id));
    }

    pub(crate) fn get(&self, id: ConnId) -> Option<&Conn> {
        self.all.get(&id)
    }

    pub(crate) fn get_mut(&mut self, id: ConnId) -> Option<&mut Conn> {
        self.all.get_mut(&id)
    }

    pub(crate) fn link(&self, id: ConnId) -> Option<&Link> {
        match &self.all.get(&id)?.state {
            State::Linked(link) => Some(link),
            State::Greeting { .. } | State::Leaving => None,
        }
    }

    pub(crate) fn link_mut(&mut self, id: ConnId) -> Option<&mut Link> {
        match &mut self.all.get_mut(&id)?.state {
            State::Linked(link) => Some(link),
            State::Greeting { .. } | State::Leaving => None,
        }
    }

    /// Whether a connection stands and was not told to go.
    pub(crate) fn is_open(&self, id: ConnId) -> bool {
        self.all.get(&id).is_some_and(|conn| !matches!(conn.state, State::Leaving))
    }

    /// Makes a connection the link of a machine. An earlier link of it is no longer online, and returned to be closed.
    pub(crate) fn admit(
        &mut self,
        id: ConnId,
        party: Party,
        deliveries: Deliveries,
    ) -> Option<ConnId> {
        let conn = self.all.get_mut(&id)?;
        if let State::Greeting { until, .. } = conn.state {
            self.waiting.remove(&(until, id));
        }
        conn.state = State::Linked(Box::new(Link {
            party,
            deliveries,
            presences: VecDeque::new(),
            paused: false,
            redeliver: None,
        }));
        let before = self.online.entry(party.realm).or_default().insert(party.machine, id);
        if before.is_none() {
            self.linked += 1;
        }
        before
    }

    /// A connection is told to go: it is nobody's link any more, but what waits on its socket counts until it is gone. The
    /// party that went offline with it, if it was that party's link.
    pub(crate) fn leave(&mut self, id: ConnId) -> Option<Party> {
        let conn = self.all.get_mut(&id)?;
        let state = std::mem::replace(&mut conn.state, State::Leaving);
        self.unlink(id, state)
    }

    /// A connection is gone. The party that went offline with it, if it was that party's link.
    pub(crate) fn forget(&mut self, id: ConnId) -> Option<Party> {
        self.over.remove(&id);
        let conn = self.all.remove(&id)?;
        self.buffered = self.buffered.saturating_sub(conn.buffered);
        self.unlink(id, conn.state)
    }

    fn unlink(&mut self, id: ConnId, state: State) -> Option<Party> {
        match state {
            State::Greeting { until, .. } => {
                self.waiting.remove(&(until, id));
                None
            }
            State::Linked(link) => {
                if let Some(at) = link.redeliver {
                    self.redeliver.remove(&(at, id));
                }
                // A replaced link is not its party's any more: the party stays online.
                if self.online(&link.party) != Some(id) {
                    return None;
                }
                if let Some(machines) = self.online.get_mut(&link.party.realm) {
                    machines.remove(&link.party.machine);
                    if machines.is_empty() {
                        self.online.remove(&link.party.realm);
                    }
                }
                self.linked = self.linked.saturating_sub(1);
                Some(link.party)
            }
            State::Leaving => None,
        }
    }

    /// The link of a machine, if it is online.
    pub(crate) fn online(&self, party: &Party) -> Option<ConnId> {
        self.online.get(&party.realm)?.get(&party.machine).copied()
    }

    /// Everybody of a realm who is online, in the order of their ids.
    pub(crate) fn of_realm(&self, realm: &Hash) -> impl Iterator<Item = (MachineId, ConnId)> {
        let machines = self.online.get(realm).into_iter().flatten();
        machines.map(|(machine, conn)| (*machine, *conn))
    }

    /// Connections without a valid `hello`.
    pub(crate) fn greeting(&self) -> usize {
        self.waiting.len()
    }

    /// Machines online.
    pub(crate) fn linked(&self) -> usize {
        self.linked
    }

    pub(crate) fn ids(&self) -> Vec<ConnId> {
        self.all.keys().copied().collect()
    }

    /// Bytes are queued on a socket; `false` when it takes nothing more: it is gone, told to go, or about to be dropped.
    ///
    /// So a socket holds one frame over its bound at the most, however much is asked for in one batch.
    pub(crate) fn queue(&mut self, id: ConnId, bytes: usize) -> bool {
        if self.is_over(id) {
            return false;
        }
        let Some(conn) = self.all.get_mut(&id) else { return false };
        if matches!(conn.state, State::Leaving) {
            return false;
        }
        conn.buffered = conn.buffered.saturating_add(bytes);
        self.buffered = self.buffered.saturating_add(bytes);
        if conn.buffered > self.socket_bytes {
            self.over.insert(id);
        }
        true
    }

    /// Whether a connection had more waiting than one may have.
    pub(crate) fn is_over(&self, id: ConnId) -> bool {
        self.over.contains(&id)
    }

    /// Bytes left a socket's queue, or were never queued; how many wait there now.
    pub(crate) fn drained(&mut self, id: ConnId, bytes: usize) -> usize {
        let Some(conn) = self.all.get_mut(&id) else { return 0 };
        let bytes = bytes.min(conn.buffered);
        conn.buffered -= bytes;
        self.buffered = self.buffered.saturating_sub(bytes);
        conn.buffered
    }

    pub(crate) fn buffered_on(&self, id: ConnId) -> usize {
        self.all.get(&id).map_or(0, |conn| conn.buffered)
    }

    /// Bytes waiting on all sockets.
    pub(crate) fn buffered(&self) -> usize {
        self.buffered
    }

    /// A connection that had more waiting than one may have.
    pub(crate) fn next_over(&self) -> Option<ConnId> {
        self.over.first().copied()
    }

    /// Ends the deliveries whose time has passed; the links that have room for others now.
    pub(crate) fn expire(&mut self, now: Ms) -> Vec<ConnId> {
        let mut freed = Vec::new();
        for (id, conn) in &mut self.all {
            if let State::Linked(link) = &mut conn.state
                && link.deliveries.expire(now)
            {
                freed.push(*id);
            }
        }
        freed
    }

    /// The connection with the most waiting, first among those that were told to go and have something waiting.
    pub(crate) fn furthest_behind(&self) -> Option<ConnId> {
        let leaving = |conn: &Conn| matches!(conn.state, State::Leaving) && conn.buffered > 0;
        let behind = |(_, conn): &(&ConnId, &Conn)| (leaving(conn), conn.buffered);
        self.all.iter().max_by_key(behind).map(|(id, _)| *id)
    }

    /// Notes when a link next sends something again; never, while it is paused.
    pub(crate) fn schedule(&mut self, id: ConnId) {
        let Some(Conn { state: State::Linked(link), .. }) = self.all.get_mut(&id) else { return };
        let next = if link.paused { None } else { link.deliveries.deadline() };
        if next == link.redeliver {
            return;
        }
        if let Some(at) = link.redeliver {
            self.redeliver.remove(&(at, id));
        }
        if let Some(at) = next {
            self.redeliver.insert((at, id));
        }
        link.redeliver = next;
    }

    /// Connections whose time for a `hello` is over.
    pub(crate) fn late(&self, now: Mono) -> Vec<ConnId> {
        due(&self.waiting, now)
    }

    /// Links that have something to send again.
    pub(crate) fn redelivering(&self, now: Mono) -> Vec<ConnId> {
        due(&self.redeliver, now)
    }

    /// The earlier of the next late `hello` and the next redelivery.
    pub(crate) fn deadline(&self) -> Option<Mono> {
        let first = |set: &BTreeSet<(Mono, ConnId)>| set.first().map(|(at, _)| *at);
        [first(&self.waiting), first(&self.redeliver)].into_iter().flatten().min()
    }
}

fn due(set: &BTreeSet<(Mono, ConnId)>, now: Mono) -> Vec<ConnId> {
    set.iter().take_while(|(at, _)| *at <= now).map(|(_, id)| *id).collect()
}

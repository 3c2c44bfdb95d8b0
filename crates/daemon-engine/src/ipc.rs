//! The clients that are connected, the session keys each of them holds, and how they are answered.
//! Spec: §8.2, D1.1, D3.17
//!
//! All of it is memory: a key works on a connection because that connection registered it. After a failed write a
//! connection may hold a session that is not in the store; such a key is then held by nobody.

use std::collections::BTreeMap;

use messaging_core::code::Code;
use messaging_ipc::error::Refusal;
use messaging_ipc::reply::{error_line, result_line};
use messaging_ipc::request::{Request, RequestId};
use messaging_ipc::scalars::SessionKey;
use messaging_store::StoreError;
use serde::Serialize;

use crate::engine::DaemonEngine;
use crate::events::LogEvent;
use crate::handlers;
use crate::input::{ConnId, Out, Tier};
use crate::sessions;
use crate::store::sessions::{self as rows, SessionId, SessionRow};
use crate::work::Work;

/// The connections.
#[derive(Debug, Default)]
pub(crate) struct Ipc {
    connections: BTreeMap<ConnId, Connection>,
}

#[derive(Debug)]
struct Connection {
    tier: Tier,
    /// By the hash of the key.
    held: BTreeMap<String, Held>,
    /// Whether it is told of notices, and then with their lines or without.
    notices: Option<Lines>,
    /// Whether it is told of changes of conversations.
    conv: bool,
}

/// Whether somebody who hears of notices hears the start of the lines too.
type Lines = bool;

#[derive(Debug)]
struct Held {
    key: SessionKey,
    session: SessionId,
    subscribed: bool,
}

/// Whom to answer. A call that waits keeps it; a client that is gone is answered into nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) conn: ConnId,
    pub(crate) id: RequestId,
    /// The method's name, for the log.
    pub(crate) method: &'static str,
}

impl Reply {
    /// Answers with a result.
    pub(crate) fn result(&self, work: &mut Work<'_, '_>, result: &impl Serialize) {
        self.send(work, result_line(&self.id, result));
    }

    /// Answers with a refusal.
    pub(crate) fn refuse(&self, work: &mut Work<'_, '_>, refusal: Refusal) {
        work.log(LogEvent::IpcError { method: self.method, code: refusal.as_code() });
        self.send(work, error_line(Some(&self.id), refusal.into()));
    }

    fn send(&self, work: &mut Work<'_, '_>, line: Vec<u8>) {
        work.answer((self.conn, self.id.clone()), line);
    }
}

impl Ipc {
    /// The socket a connection came through; none when it is gone.
    pub(crate) fn tier(&self, conn: ConnId) -> Option<Tier> {
        self.connections.get(&conn).map(|connection| connection.tier)
    }

    /// The session that `conn` registered under a key.
    pub(crate) fn session(&self, conn: ConnId, key_hash: &str) -> Option<SessionId> {
        Some(self.connections.get(&conn)?.held.get(key_hash)?.session)
    }

    /// Makes a session's key this connection's.
    pub(crate) fn hold(&mut self, conn: ConnId, key: SessionKey, row: &SessionRow) {
        if let Some(connection) = self.connections.get_mut(&conn) {
            let held = connection.held.entry(row.key_hash.clone()).or_insert(Held {
                key,
                session: row.id,
                subscribed: false,
            });
            held.session = row.id;
        }
    }

    /// Whether any connection holds the session's key.
    pub(crate) fn holds(&self, row: &SessionRow) -> bool {
        self.connections.values().any(|connection| {
            connection.held.get(&row.key_hash).is_some_and(|held| held.session == row.id)
        })
    }

    /// Takes a session's key from every connection.
    pub(crate) fn release(&mut self, row: &SessionRow) {
        for connection in self.connections.values_mut() {
            connection.held.remove(&row.key_hash);
        }
    }

    /// Sends the session's events to `conn` from now on.
    pub(crate) fn subscribe(&mut self, conn: ConnId, row: &SessionRow) {
        let held = self
            .connections
            .get_mut(&conn)
            .and_then(|connection| connection.held.get_mut(&row.key_hash));
        if let Some(held) = held {
            held.subscribed = true;
        }
    }

    /// Sends notices to `conn` from now on.
    pub(crate) fn follow_notices(&mut self, conn: ConnId, lines: Lines) {
        if let Some(connection) = self.connections.get_mut(&conn) {
            connection.notices = Some(lines);
        }
    }

    /// Who hears of notices, and whether with their lines.
    pub(crate) fn notice_followers(&self) -> impl Iterator<Item = (ConnId, Lines)> {
        let lines = |(conn, connection): (&ConnId, &Connection)| Some((*conn, connection.notices?));
        self.connections.iter().filter_map(lines)
    }

    /// Sends changes of conversations to `conn` from now on.
    pub(crate) fn follow_conv(&mut self, conn: ConnId) {
        if let Some(connection) = self.connections.get_mut(&conn) {
            connection.conv = true;
        }
    }

    /// Who hears of changes of conversations.
    pub(crate) fn conv_followers(&self) -> impl Iterator<Item = ConnId> {
        self.connections.iter().filter(|(_, connection)| connection.conv).map(|(conn, _)| *conn)
    }

    /// Who hears of the session's events, each with the key it registered.
    pub(crate) fn subscribers(
        &self,
        session: SessionId,
    ) -> impl Iterator<Item = (ConnId, &SessionKey)> {
        self.connections.iter().flat_map(move |(conn, connection)| {
            let subscribed = move |held: &&Held| held.session == session && held.subscribed;
            connection.held.values().filter(subscribed).map(|held| (*conn, &held.key))
        })
    }
}

/// A client connected.
pub(crate) fn opened(engine: &mut DaemonEngine, work: &mut Work<'_, '_>, conn: ConnId, tier: Tier) {
    engine
        .ipc
        .connections
        .insert(conn, Connection { tier, held: BTreeMap::new(), notices: None, conv: false });
    work.log(LogEvent::IpcOpen { conn: conn.0, tier: tier.as_str() });
}

/// A client asks.
pub(crate) fn request(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    conn: ConnId,
    request: Request,
) -> Result<(), StoreError> {
    match engine.ipc.tier(conn) {
        Some(tier) => handlers::dispatch(engine, work, conn, tier, request),
        // Its goodbye came first.
        None => Ok(()),
    }
}

/// A client is gone: sessions that nobody else holds are kept.
pub(crate) fn closed(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    conn: ConnId,
) -> Result<(), StoreError> {
    engine.calls.closed(conn);
    let Some(connection) = engine.ipc.connections.remove(&conn) else { return Ok(()) };
    work.log(LogEvent::IpcClose { conn: conn.0 });
    for (key_hash, held) in connection.held {
        let row = rows::get(work.tx, held.session)?.filter(|row| row.key_hash == key_hash);
        if let Some(row) = row
            && !engine.ipc.holds(&row)
            && sessions::keep(work, &row)?
        {
            engine.presence.changed();
        }
    }
    Ok(())
}

/// The answer to a request whose write failed: nothing of it happened.
pub(crate) fn internal(conn: ConnId, id: &RequestId) -> Out {
    let line = error_line(Some(id), Refusal::code(Code::Internal).into());
    Out::IpcSend { conn, line, answers: true }
}

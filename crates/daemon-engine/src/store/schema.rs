//! The baseline: schema 1 of `messaging.db`, with the tables of every part of the daemon.
//! Spec: §8.8, D3.29

use messaging_store::{Layout, SchemaAt};

/// What `messaging.db` looks like.
///
/// A store whose `impl` is missing or another is refused like one of another generation: the tables of another
/// implementation never open as ours.
pub const LAYOUT: Layout = Layout {
    records: "kv",
    schema_at: SchemaAt::Record,
    generation: 2,
    schema: 1,
    min_reader: 1,
    marks: &[("impl", "rs1")],
    baseline: BASELINE,
    growth: &[],
    ignored: &[],
};

const BASELINE: &str = "
CREATE TABLE kv (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;

CREATE TABLE roster (seq INTEGER PRIMARY KEY, hash TEXT NOT NULL, entry TEXT NOT NULL) STRICT;

CREATE TABLE evidence (
  id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, at INTEGER NOT NULL, envelope TEXT, detail TEXT
) STRICT;

CREATE TABLE presence (
  device TEXT PRIMARY KEY, person TEXT NOT NULL, seq INTEGER NOT NULL, ts INTEGER NOT NULL, body TEXT NOT NULL,
  received_at INTEGER NOT NULL
) STRICT;

CREATE TABLE sessions (
  id INTEGER PRIMARY KEY AUTOINCREMENT, key_hash TEXT NOT NULL UNIQUE, name TEXT NOT NULL, agent TEXT NOT NULL,
  tier TEXT NOT NULL, state TEXT NOT NULL, repo TEXT, branch TEXT, doing TEXT, features TEXT NOT NULL, host TEXT,
  agt TEXT, ticket_exp INTEGER, since INTEGER NOT NULL, kept_at INTEGER, closed_at INTEGER
) STRICT;
CREATE UNIQUE INDEX sessions_name ON sessions(name) WHERE closed_at IS NULL;

CREATE TABLE inbox (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, from_device TEXT NOT NULL, from_person TEXT NOT NULL,
  from_label TEXT NOT NULL, from_agent TEXT, session_id INTEGER NOT NULL, session_name TEXT NOT NULL, kind TEXT NOT NULL,
  message_id TEXT NOT NULL, context_id TEXT NOT NULL, task_id TEXT, reply_to TEXT, preview TEXT NOT NULL,
  attachments INTEGER NOT NULL, consent TEXT, wake INTEGER NOT NULL, chain TEXT, stage TEXT NOT NULL,
  bytes INTEGER NOT NULL, ts INTEGER NOT NULL, arrived_at INTEGER NOT NULL, read_at INTEGER, exp INTEGER NOT NULL,
  message TEXT NOT NULL, UNIQUE (from_device, id)
) STRICT;
CREATE INDEX inbox_session ON inbox(session_id, stage, seq);
CREATE INDEX inbox_sender ON inbox(from_device, bytes);
CREATE INDEX inbox_stage ON inbox(stage, read_at);
CREATE INDEX inbox_time ON inbox(arrived_at, id);

CREATE TABLE seen (device TEXT NOT NULL, id TEXT NOT NULL, until INTEGER NOT NULL, PRIMARY KEY (device, id))
  STRICT, WITHOUT ROWID;
CREATE INDEX seen_until ON seen(until);

CREATE TABLE outbox (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, to_device TEXT NOT NULL, to_person TEXT NOT NULL,
  type TEXT NOT NULL, class TEXT NOT NULL, bytes INTEGER NOT NULL, attempts INTEGER NOT NULL DEFAULT 0,
  next_at INTEGER NOT NULL DEFAULT 0, code TEXT, fresh_needed INTEGER NOT NULL DEFAULT 0, created_at INTEGER NOT NULL,
  exp INTEGER NOT NULL, envelope TEXT NOT NULL
) STRICT;
CREATE INDEX outbox_to ON outbox(to_device, seq, next_at);
CREATE INDEX outbox_exp ON outbox(exp);

CREATE TABLE sent (
  id TEXT PRIMARY KEY, session_id INTEGER, session_name TEXT, to_person TEXT NOT NULL, to_device TEXT NOT NULL,
  to_label TEXT NOT NULL, to_agent TEXT, type TEXT NOT NULL, message_id TEXT NOT NULL, context_id TEXT NOT NULL,
  task_id TEXT, reply_to TEXT, stage TEXT NOT NULL, code TEXT, history TEXT NOT NULL, ts INTEGER NOT NULL,
  exp INTEGER NOT NULL, settled_at INTEGER
) STRICT;
CREATE INDEX sent_session ON sent(session_id, ts);
CREATE INDEX sent_time ON sent(ts, id);
CREATE INDEX sent_settled ON sent(settled_at);
CREATE INDEX sent_task ON sent(task_id) WHERE task_id IS NOT NULL;
CREATE INDEX sent_open ON sent(exp) WHERE settled_at IS NULL;

CREATE TABLE sent_text (id TEXT PRIMARY KEY, message TEXT NOT NULL) STRICT;

CREATE TABLE tasks (
  id TEXT NOT NULL, role TEXT NOT NULL, session_id INTEGER NOT NULL, session_name TEXT NOT NULL,
  peer_person TEXT NOT NULL, peer_device TEXT NOT NULL, peer_label TEXT NOT NULL, peer_agent TEXT,
  context_id TEXT NOT NULL, request_id TEXT NOT NULL, title TEXT NOT NULL, state TEXT NOT NULL, status TEXT NOT NULL,
  request TEXT NOT NULL, history TEXT NOT NULL, artifacts TEXT NOT NULL, delivery TEXT, chain TEXT, grants TEXT,
  bytes INTEGER NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, touched_at INTEGER NOT NULL,
  PRIMARY KEY (id, role)
) STRICT;
CREATE INDEX tasks_session ON tasks(session_id, updated_at);
CREATE INDEX tasks_state ON tasks(state, touched_at);

CREATE TABLE ancestry (
  id TEXT PRIMARY KEY, root TEXT NOT NULL, context TEXT, counts INTEGER NOT NULL, at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX ancestry_root ON ancestry(root) WHERE counts;
CREATE INDEX ancestry_context ON ancestry(context, at) WHERE context IS NOT NULL;
CREATE INDEX ancestry_at ON ancestry(at);

CREATE TABLE acts (session_id INTEGER PRIMARY KEY, since INTEGER NOT NULL, root TEXT) STRICT;

CREATE TABLE idempotency (
  scope TEXT NOT NULL, key TEXT NOT NULL, hash TEXT NOT NULL, result TEXT NOT NULL, until INTEGER NOT NULL,
  PRIMARY KEY (scope, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_until ON idempotency(until);

CREATE TABLE lines (
  seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, change_seq INTEGER NOT NULL, room_kind TEXT NOT NULL,
  room_id TEXT NOT NULL, person TEXT NOT NULL, device TEXT NOT NULL, label TEXT, agent TEXT, direction TEXT NOT NULL,
  text TEXT NOT NULL, fold TEXT NOT NULL, thread TEXT, notice INTEGER NOT NULL DEFAULT 0,
  truncated INTEGER NOT NULL DEFAULT 0, state TEXT, refused TEXT, bytes INTEGER NOT NULL, at INTEGER NOT NULL,
  filed_at INTEGER NOT NULL
) STRICT;
CREATE INDEX lines_room ON lines(room_kind, room_id, seq);
CREATE INDEX lines_unread ON lines(room_kind, room_id, seq) WHERE direction = 'in';
CREATE INDEX lines_thread ON lines(thread, seq) WHERE thread IS NOT NULL;
CREATE INDEX lines_change ON lines(change_seq);
CREATE INDEX lines_person ON lines(person, seq, bytes);
CREATE INDEX lines_filed ON lines(filed_at, id);
CREATE VIRTUAL TABLE lines_found USING fts5(
  fold, content = 'lines', content_rowid = 'seq', tokenize = 'trigram case_sensitive 1'
);
INSERT INTO lines_found (lines_found, rank) VALUES ('secure-delete', 1);
CREATE VIRTUAL TABLE lines_terms USING fts5vocab('lines_found', 'row');

CREATE TABLE line_copies (
  envelope_id TEXT PRIMARY KEY, line_id TEXT NOT NULL, person TEXT NOT NULL, device TEXT NOT NULL, state TEXT NOT NULL,
  code TEXT, exp INTEGER NOT NULL
) STRICT;
CREATE INDEX line_copies_line ON line_copies(line_id, person);
CREATE INDEX line_copies_open ON line_copies(exp) WHERE state IN ('sent', 'held');
CREATE INDEX line_copies_to ON line_copies(device) WHERE state IN ('sent', 'held');

CREATE TABLE channels (
  id TEXT PRIMARY KEY, name TEXT NOT NULL, local_name TEXT NOT NULL UNIQUE, creator TEXT NOT NULL,
  persons TEXT NOT NULL, created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE channels_left (id TEXT PRIMARY KEY, until INTEGER NOT NULL) STRICT;

CREATE TABLE read_cursors (room TEXT PRIMARY KEY, up_to INTEGER NOT NULL) STRICT;

CREATE TABLE grants (
  subject TEXT PRIMARY KEY, grant TEXT NOT NULL, ts INTEGER NOT NULL, gid TEXT NOT NULL, by_device TEXT NOT NULL,
  again INTEGER NOT NULL DEFAULT 0, warned TEXT
) STRICT;

CREATE TABLE grant_review (subject TEXT PRIMARY KEY, levels TEXT NOT NULL, lapsed_at INTEGER NOT NULL) STRICT;

CREATE TABLE grant_peers (device TEXT PRIMARY KEY, snapshot_at INTEGER NOT NULL) STRICT;

CREATE TABLE held (
  device TEXT NOT NULL, id TEXT NOT NULL, envelope TEXT NOT NULL, payload TEXT NOT NULL, session_id INTEGER,
  person TEXT NOT NULL, kind TEXT NOT NULL, task TEXT, shown TEXT NOT NULL, at INTEGER NOT NULL, exp INTEGER NOT NULL,
  PRIMARY KEY (device, id)
) STRICT;
CREATE INDEX held_person ON held(person, at);

CREATE TABLE contact_requests (
  device TEXT NOT NULL, id TEXT NOT NULL, person TEXT NOT NULL UNIQUE, envelope TEXT NOT NULL, payload TEXT NOT NULL,
  at INTEGER NOT NULL, exp INTEGER NOT NULL, PRIMARY KEY (device, id)
) STRICT;

CREATE TABLE contact_sent (
  person TEXT PRIMARY KEY, line_id TEXT NOT NULL, at INTEGER NOT NULL, answered_at INTEGER
) STRICT;

CREATE TABLE suggestions (id TEXT PRIMARY KEY, agent TEXT NOT NULL, email TEXT NOT NULL, at INTEGER NOT NULL) STRICT;

CREATE TABLE cards (person TEXT PRIMARY KEY, card TEXT NOT NULL, seq INTEGER NOT NULL, at INTEGER NOT NULL) STRICT;

CREATE TABLE card_asks (
  person TEXT NOT NULL, direction TEXT NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (person, direction)
) STRICT;

CREATE TABLE notices (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, category TEXT NOT NULL, room TEXT, person TEXT,
  line_id TEXT, device TEXT, text TEXT, at INTEGER NOT NULL, acked_at INTEGER
) STRICT;
CREATE INDEX notices_unseen ON notices(seq) WHERE acked_at IS NULL;
CREATE INDEX notices_room ON notices(room) WHERE room IS NOT NULL;

CREATE TABLE spent (jti TEXT PRIMARY KEY, exp INTEGER NOT NULL) STRICT;

CREATE TABLE dir_persons (
  person TEXT PRIMARY KEY, log TEXT NOT NULL, keys TEXT NOT NULL, size INTEGER NOT NULL, verified_at INTEGER NOT NULL,
  tombstone INTEGER NOT NULL DEFAULT 0
) STRICT;
";

#[cfg(test)]
mod tests {
    use messaging_store::Store;

    use super::*;

    #[test]
    fn the_shape_matches_its_snapshot() {
        let store = Store::memory(&LAYOUT, &[]).unwrap();
        insta::assert_snapshot!("store_schema_1", store.shape().unwrap());
    }

    #[test]
    fn what_grows_is_looked_up_by_an_index() {
        let store = Store::memory(&LAYOUT, &[]).unwrap();
        for (sql, index) in [
            (
                "SELECT id FROM notices WHERE acked_at IS NULL AND seq > 1 ORDER BY seq",
                "notices_unseen",
            ),
            ("SELECT id FROM notices WHERE acked_at IS NULL ORDER BY seq DESC", "notices_unseen"),
            ("DELETE FROM notices WHERE room = 'dm:bob'", "notices_room"),
            (
                "SELECT line_id FROM line_copies WHERE state IN ('sent', 'held') AND device = 'd'",
                "line_copies_to",
            ),
            (
                "SELECT filed_at, id FROM lines WHERE filed_at >= 1 ORDER BY filed_at, id",
                "lines_filed",
            ),
        ] {
            let plan = store
                .view()
                .rows(&format!("EXPLAIN QUERY PLAN {sql}"), (), |row| row.get::<_, String>(3))
                .unwrap()
                .join("; ");
            assert!(plan.contains(index) && !plan.contains("TEMP B-TREE"), "{sql}: {plan}");
        }
    }

    #[test]
    fn a_new_store_records_what_it_is() {
        let store = Store::memory(&LAYOUT, &[]).unwrap();
        let rows = store
            .view()
            .rows("SELECT key, value FROM kv ORDER BY key", (), |row| {
                Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
            })
            .unwrap();
        let rows: Vec<(&str, &str)> = rows.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        assert_eq!(
            rows,
            [("generation", "2"), ("impl", "rs1"), ("min_reader", "1"), ("schema", "1")]
        );
    }
}

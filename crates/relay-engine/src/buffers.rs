//! Sockets that fall behind are dropped: one that has too much waiting, or the furthest behind when all together have.
//! Spec: §7 "Limits", W5.9

use messaging_store::Effects;

use crate::engine::RelayEngine;
use crate::events::{Event, Slow};
use crate::input::{ConnId, Out};
use crate::metrics;

impl RelayEngine {
    /// Drops whoever has fallen behind.
    pub(crate) fn drop_slow(&mut self, out: &mut Effects<Out>) {
        while let Some(conn) = self.conns.next_over() {
            self.terminate(conn, Slow::Socket, out);
        }
        self.keep_to_budget(out);
    }

    /// Drops whoever is furthest behind while all sockets together have too much waiting.
    pub(crate) fn keep_to_budget(&mut self, out: &mut Effects<Out>) {
        let budget = self.config.limits.buffered_bytes;
        if self.conns.buffered() <= budget {
            return;
        }
        while self.conns.buffered() > budget / 4 * 3 {
            let Some(conn) = self.conns.furthest_behind() else { return };
            self.terminate(conn, Slow::Budget, out);
        }
    }

    fn terminate(&mut self, conn: ConnId, reason: Slow, out: &mut Effects<Out>) {
        metrics::count(&mut self.metrics.slow_terminations, reason);
        out.push(Out::Terminate { conn });
        out.push(Out::Log(Event::ConnSlow { reason }));
        self.gone(conn, out);
    }
}

//! `send`: an envelope is judged, remembered and queued, and acknowledged once that is durable.
//! Spec: §7 "`send`", "Dedupe"; W4.24 `send`, W5.4

use messaging_core::code::{Code, Failure};
use messaging_core::ids::Ulid;
use messaging_core::limits::{BODY_CHARS, CLOCK_SKEW_MS, HEADER_BYTES, TTL_MS};
use messaging_core::realm::{RealmKind, RealmView, Relation};
use messaging_core::time::Now;
use messaging_store::{Effects, Turn};
use messaging_wire::text;

use crate::deliver::First;
use crate::engine::RelayEngine;
use crate::events::Event;
use crate::halt::{Halt, refuse};
use crate::input::{ConnId, Out};
use crate::prepare::{Ready, Side};
use crate::quota::Full;
use crate::staged::Staged;
use crate::store::queue::NewRow;
use crate::store::seen::Seen;
use crate::store::{Party, queue, seen};

impl RelayEngine {
    /// Takes an envelope: the steps of W4.24 after the first two, in order.
    pub(crate) fn route(
        &mut self,
        turn: &mut Turn<'_>,
        conn: ConnId,
        party: &Party,
        env: &Ready,
        out: &mut Effects<Out>,
    ) -> Result<(), Halt> {
        let Some(to) = &env.to else { return refuse(Code::InvalidRequest, "type") };
        let checks = Checks { party, env, now: turn.now };
        checks.header()?;
        let view = self.realms.view(&turn.tx, &party.realm)?;
        checks.ends(view.as_ref())?;
        drop(view);
        if env.body_len > BODY_CHARS {
            return refuse(Code::TooLarge, "body");
        }
        checks.window()?;
        let recipient = Party { realm: party.realm, machine: to.device };
        self.store_once(turn, party, &recipient, env, out)?;
        self.send(conn, "ack", text::ack(&env.id), out);
        Ok(())
    }

    /// Queues an envelope that was not taken before. One that was is fine, if it is the same.
    fn store_once(
        &mut self,
        turn: &mut Turn<'_>,
        sender: &Party,
        recipient: &Party,
        env: &Ready,
        out: &mut Effects<Out>,
    ) -> Result<(), Halt> {
        let Ready { id, exp, .. } = env;
        let text = env.deliver.env();
        let bytes = text.len() as u64;
        let staged_before = self.staged.len();
        if let Err(full) = self.fits(turn, sender, recipient, bytes)? {
            // A resend takes no room: it is known before it is refused.
            if self.seen_before(turn, sender, id, &env.digest)? {
                return Ok(());
            }
            return Err(self.full(full, out));
        }
        self.queue_full = false;
        let made_room = self.staged.len() > staged_before;
        let remembered = Seen { digest: env.digest, until: exp.plus(CLOCK_SKEW_MS) };
        let is_new = seen::insert(&mut turn.tx, sender, id, &remembered)?;
        if is_new {
            self.quotas.remember(sender);
            self.staged.push(Staged::Remembered { sender: *sender, id: *id });
        } else {
            if self.seen_before(turn, sender, id, &env.digest)? {
                return Ok(());
            }
            // What was remembered is over: the id is free again.
            seen::replace(&mut turn.tx, sender, id, &remembered)?;
        }
        let row = NewRow {
            sender: &sender.machine,
            id,
            recipient,
            env: text,
            exp: *exp,
            at: turn.now.wall,
        };
        let pos = match queue::insert(&mut turn.tx, &row) {
            Ok(pos) => pos,
            Err(error) => {
                if is_new && !made_room {
                    // It is refused alone: the id is not remembered either. What else it wrote takes the batch with it.
                    seen::delete(&mut turn.tx, sender, id)?;
                    turn.tx.undone();
                }
                return Err(error.into());
            }
        };
        self.quotas.add(recipient, &sender.machine, bytes, *exp);
        self.staged.push(Staged::Queued {
            recipient: *recipient,
            row: First { pos, sender: sender.machine, id: *id, exp: *exp, bytes },
            deliver: env.deliver.frame(),
        });
        Ok(())
    }

    /// Whether this very envelope was taken before. Errors: `invalid_request` for another one under its id.
    fn seen_before(
        &self,
        turn: &Turn<'_>,
        sender: &Party,
        id: &Ulid,
        digest: &[u8; 32],
    ) -> Result<bool, Halt> {
        match seen::get(&turn.tx, sender, id)? {
            Some(seen) if seen.until <= turn.now.wall => Ok(false),
            Some(seen) if seen.digest == *digest => Ok(true),
            Some(_) => refuse(Code::InvalidRequest, "id used before"),
            None => Ok(false),
        }
    }

    fn fits(
        &mut self,
        turn: &mut Turn<'_>,
        sender: &Party,
        recipient: &Party,
        bytes: u64,
    ) -> Result<Result<(), Full>, Halt> {
        let limits = &self.config.limits;
        let fits = self.quotas.fits(&turn.tx, limits, sender, recipient, bytes)?;
        if fits.is_ok() || !self.quotas.may_have_expired(recipient, turn.now.wall) {
            return Ok(fits);
        }
        self.make_room(turn, recipient)?;
        let limits = &self.config.limits;
        Ok(self.quotas.fits(&turn.tx, limits, sender, recipient, bytes)?)
    }

    fn full(&mut self, full: Full, out: &mut Effects<Out>) -> Halt {
        match full {
            Full::Seen => self.metrics.seen_full += 1,
            Full::Sender | Full::Recipient | Full::Queue => self.metrics.queue_full += 1,
        }
        if full == Full::Queue && !self.queue_full {
            self.queue_full = true;
            out.push(Out::Log(Event::QueueFull));
        }
        full.failure().into()
    }
}

/// The checks that `send` and `presence` share, in the order of W4.24.
pub(crate) struct Checks<'a> {
    /// The machine of this link.
    pub(crate) party: &'a Party,
    pub(crate) env: &'a Ready,
    pub(crate) now: Now,
}

impl Checks<'_> {
    /// Steps 3 to 5: the header's size, the sender, the realm.
    pub(crate) fn header(&self) -> Result<(), Halt> {
        if self.env.header_bytes > HEADER_BYTES {
            return refuse(Code::TooLarge, "header");
        }
        if self.env.from.device != self.party.machine {
            return refuse(Code::Forbidden, "from.device");
        }
        if self.env.realm != self.party.realm {
            return refuse(Code::NotMember, "realm");
        }
        Ok(())
    }

    /// Steps 6 to 8: both ends, the signature, the anchor.
    pub(crate) fn ends(&self, view: Option<&impl RealmView>) -> Result<(), Halt> {
        let Ready { from, to, anchor, .. } = self.env;
        let Some(view) = view else { return refuse(Code::NotMember, "realm") };
        let (stranger, fork) = match view.kind() {
            RealmKind::Roster => (Code::NotMember, Code::RosterConflict),
            RealmKind::Directory => (Code::UnknownDevice, Code::DirectoryInconsistent),
        };
        let current = |side: &Side| {
            view.device(&side.device).is_some_and(|device| device.person == side.person)
        };
        if !current(from) {
            return refuse(stranger, "from");
        }
        if let Some(to) = to {
            if !current(to) {
                return refuse(stranger, "to");
            }
            if to.device == from.device {
                return refuse(Code::InvalidRequest, "to.device");
            }
        }
        if !self.env.signed {
            return refuse(Code::BadSignature, "sig");
        }
        match view.relate(anchor) {
            Relation::Consistent => Ok(()),
            Relation::OtherKind => refuse(Code::InvalidRequest, "anchor.kind"),
            // Every entry reaches members through this relay, so an anchor it does not hold is a false claim.
            Relation::Ahead | Relation::Unsettled | Relation::Diverged { .. } => {
                refuse(fork, "anchor")
            }
        }
    }

    /// Step 10: the time window.
    pub(crate) fn window(&self) -> Result<(), Halt> {
        let Ready { ts, exp, .. } = self.env;
        let now = self.now.wall;
        let holds =
            ts <= exp && *ts <= now.plus(CLOCK_SKEW_MS) && *exp > now && exp.since(*ts) <= TTL_MS;
        if holds { Ok(()) } else { Err(Failure::new(Code::Expired, "exp").into()) }
    }
}

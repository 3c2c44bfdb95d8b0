//! Presence: the latest of each machine is kept, and told to the other members.
//! Spec: §6.5, §7 "presence"; W4.24 `presence`, W5.7

use messaging_core::code::Code;
use messaging_core::limits::PRESENCE_BYTES;
use messaging_store::Turn;

use crate::engine::RelayEngine;
use crate::halt::{Halt, refuse};
use crate::prepare::{Payload, Ready};
use crate::route::Checks;
use crate::staged::Staged;
use crate::store::{self, Party};

impl RelayEngine {
    /// Judges a presence in the order of W4.24, and keeps it. An outdated one is dropped without a word.
    pub(crate) fn presence(
        &mut self,
        turn: &mut Turn<'_>,
        party: &Party,
        env: &Ready,
    ) -> Result<(), Halt> {
        if matches!(env.payload, Payload::Sealed) {
            return refuse(Code::InvalidRequest, "type");
        }
        let checks = Checks { party, env, now: turn.now };
        checks.header()?;
        let view = self.realms.view(&turn.tx, &party.realm)?;
        checks.ends(view.as_ref())?;
        if env.body_len > PRESENCE_BYTES {
            return refuse(Code::TooLarge, "body");
        }
        let Payload::Presence(seq) = env.payload else {
            return refuse(Code::InvalidRequest, "body");
        };
        checks.window()?;
        drop(view);
        self.charge_presence(party, turn.now)?;
        let kept = store::presence::seq(&turn.tx, party)?;
        if kept.is_some_and(|kept| seq.0 <= kept) {
            return Ok(());
        }
        let text = env.deliver.env();
        store::presence::put(&mut turn.tx, party, &env.from.person, seq.0, text, env.exp)?;
        self.staged.push(Staged::Presence { party: *party, deliver: env.deliver.frame() });
        Ok(())
    }
}

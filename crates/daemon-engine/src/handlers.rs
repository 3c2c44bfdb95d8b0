//! What each method does: one file per noun, reached through one dispatch.
//! Spec: §8.2, D1.4, D1.7
//!
//! A handler checks everything before its first write: a refusal does not undo anything. A store failure does, and then the
//! caller is told `internal`. A call that must wait answers [`Answer::Later`] and leaves its [`Reply`] with
//! [`flows`](crate::flows).

mod admit;
mod agents;
mod card;
mod channel;
mod contact;
mod contacts;
mod conv;
mod daemon;
mod device;
mod dispatch;
mod events;
mod grant;
mod identity;
mod inbox;
mod item;
mod later;
mod mail;
mod msg;
mod notice;
mod people;
mod person;
mod repeat;
mod request;
mod screen;
mod search;
mod sent;
mod session;
mod task;
mod team;
#[cfg(test)]
mod tests;

use messaging_core::code::Code;
use messaging_core::secrets::Found;
use messaging_ipc::error::Refusal;

use crate::input::ConnId;
use crate::ipc::Reply;
use crate::store::sessions::SessionRow;
use crate::work::{Halt, Step};

pub(crate) use dispatch::dispatch;
pub use later::{LATER, PARTLY};
pub(crate) use team::one as one_member;

/// What is known of a call when its handler runs.
pub(crate) struct Call {
    pub(crate) reply: Reply,
    session: Option<SessionRow>,
    /// What its parameters hold that must not be sent.
    credential: Option<Found>,
}

impl Call {
    /// The connection that calls.
    fn conn(&self) -> ConnId {
        self.reply.conn
    }

    /// The session of a call that is scoped to one.
    fn session(&self) -> Step<&SessionRow> {
        // The table says which methods have one; a row that says otherwise answers as for an unknown key.
        self.session.as_ref().ok_or_else(no_session)
    }
}

/// A handler's answer.
pub(crate) enum Answer<R> {
    /// It is done.
    Now(R),
    /// A flow answers when it is done.
    Later,
}

/// The outcome of a handler.
pub(crate) type Handled<R> = Step<Answer<R>>;

/// The refusal of a parameter that has the right shape and the wrong meaning.
fn field(field: &'static str, words: &'static str) -> Halt {
    Halt::Refused(Refusal::field(field, words))
}

/// The refusal of something that is not here.
fn not_found(words: &'static str) -> Halt {
    Halt::refused(Code::NotFound, words)
}

/// The refusal of a key that this connection does not hold.
fn no_session() -> Halt {
    Halt::refused(Code::NotFound, "this connection registered no such session key")
}

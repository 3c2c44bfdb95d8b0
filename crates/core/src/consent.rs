//! Consent: what a person lets others send, who may say so, and what becomes of that which arrives.
//! Spec: §6.9, W2.6, W4.11–W4.13
//!
//! A [`ConsentGrant`] says it, signed by a device of the person; [`VerifiedGrant`] is one whose signature was checked.
//! [`prefer`] tells which of two copies counts, and [`resign`] keeps what a removed device may still say. A
//! [`ContactCard`] tells the other person what they may send. [`EffectivePolicy`] is what holds for a sender, and
//! [`decide`] answers for one envelope: deliver, hold or refuse.

mod card;
mod decide;
mod grant;
mod merge;
mod policy;
mod resign;
mod signed;
#[cfg(test)]
mod tests;

pub use card::{CardCan, CardSeq, ContactCard, card_can};
pub use decide::{Arrived, ConsentClass, Decision, Sender, decide};
pub use grant::{AgentMailLevel, AskLevel, ChatLevel, ConsentGrant, Levels, Subject};
pub use merge::{merge, prefer};
pub use policy::{EffectiveChat, EffectivePolicy, Relation, relation};
pub use resign::{Resigned, resign, sign_lapse};
pub use signed::{
    CardDraft, GrantDraft, VerifiedCard, VerifiedGrant, sign_card, sign_grant, verify_card,
    verify_grant,
};

//! The engine from outside: daemons and a relay on one clock, rule by rule.

mod ancestry;
mod appends;
mod archive;
pub(crate) mod bench;
mod budget;
mod chats;
mod consent;
mod dealings;
mod faults;
pub(crate) mod forge;
mod heads;
mod hostile;
mod judge;
mod link;
mod mail;
mod notices;
mod presence;
pub(crate) mod relay;
mod roster;
mod rotation;
mod said;
mod sent;
mod snapshot;
mod start;
mod tasks;
mod wake;

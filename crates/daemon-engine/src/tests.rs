//! The engine from outside: daemons and a relay on one clock, rule by rule.

pub(crate) mod bench;
mod mail;
pub(crate) mod relay;

//! Tests of the roster, by topic.

mod authority;
mod chain;
mod check_values;
mod invites;
mod properties;
mod shape;
mod team;

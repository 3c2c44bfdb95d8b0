//! The authority rules of device logs.

mod authority;
mod chain;
mod fixture;

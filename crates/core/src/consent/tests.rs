//! Consent: every rule, and the properties of merging and of signing anew.
//! Spec: §6.9

mod decisions;
mod fixture;
mod merging;
mod policies;
mod resigning;
mod signing;

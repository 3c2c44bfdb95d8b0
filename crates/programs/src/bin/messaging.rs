//! The program messaging.
fn main() {}

//! The program messagingd.
fn main() {}

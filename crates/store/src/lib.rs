//! SQLite plumbing: opening rules, transactions, the turn loop.
#![forbid(unsafe_code)]

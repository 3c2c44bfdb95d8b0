//! The World: daemons and a relay in one process under virtual time.
#![forbid(unsafe_code)]

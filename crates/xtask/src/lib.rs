//! Generators and guards of this workspace.
#![forbid(unsafe_code)]

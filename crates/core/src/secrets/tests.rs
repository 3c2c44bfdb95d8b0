//! Tests of the credential detector, by topic.

mod examples;
mod oracle;
mod ordinary;
mod scanning;

//! Delivery: from committed rows to frames on the recipient's link.
//! Spec: §7 "Delivery", W5.5

mod ack;
mod pump;
mod schedule;

pub(crate) use schedule::{Deliveries, First};

//! Processes killed at random moments: nothing is lost, nothing is shown twice, no stage is a lie.
//!
//! `cargo run --release --bin chaos -- --rounds 200` is the same, longer.
//! Spec: §7 "Store failures", §8.4

use messaging_testkit::chaos::{self, Plan};

use crate::harness::executable;

#[test]
fn killed_programs_lose_nothing_and_repeat_nothing() {
    let folder = chaos::folder().unwrap();
    let plan = Plan {
        executable: executable().to_owned(),
        folder: folder.path().to_owned(),
        rounds: 20,
        seed: 1,
    };
    let report = chaos::run(&plan, |_| {}).unwrap();
    assert!(report.violations.is_empty(), "{report}: {:#?}", report.violations);
    assert!(report.kills.iter().all(|kills| *kills > 0), "{report}");
    assert!(report.accepted >= 40 && report.read > 0 && report.replied > 0, "{report}");
}

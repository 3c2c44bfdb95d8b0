//! Processes killed at random moments: nothing is lost, nothing is shown twice, no stage is a lie.
//!
//! `cargo run --release --bin chaos -- --rounds 200` is the same, longer.
//! `--life all` is the second one, longer.
//! Spec: §7 "Store failures", §8.4

use messaging_testkit::chaos::life::{self, Act};
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

#[test]
fn a_machine_that_is_killed_in_the_middle_of_a_change_opens_again_and_is_whole() {
    let folder = chaos::folder().unwrap();
    let plan = life::Plan {
        executable: executable().to_owned(),
        folder: folder.path().to_owned(),
        rounds: 3,
        seed: 1,
    };
    for act in Act::ALL {
        let report = life::run(&plan, act).unwrap();
        assert_eq!(report.kills, 3, "{report}");
    }
}

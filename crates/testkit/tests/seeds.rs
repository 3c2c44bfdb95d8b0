//! A few hundred runs of the World: nothing is lost, shown twice or claimed falsely, whatever goes wrong.
//! Spec: §7 "Store failures", §8.4, §12

use messaging_testkit::scenario::Report;
use std::sync::atomic::{AtomicU64, Ordering};

/// Runs seeds on every processor.
fn run(seeds: std::ops::Range<u64>) -> Vec<Report> {
    let next = AtomicU64::new(seeds.start);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..std::thread::available_parallelism().map_or(1, usize::from))
            .map(|_| {
                scope.spawn(|| {
                    let mut reports = Vec::new();
                    loop {
                        let seed = next.fetch_add(1, Ordering::Relaxed);
                        if seed >= seeds.end {
                            return reports;
                        }
                        reports.push(messaging_testkit::run(seed, None));
                    }
                })
            })
            .collect();
        workers
            .into_iter()
            .flat_map(|worker| {
                worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
            .collect()
    })
}

#[test]
fn two_hundred_seeds_hold() {
    let reports = run(0..200);
    let failed: Vec<String> = reports
        .iter()
        .flat_map(|report| {
            report.violations.iter().map(|what| format!("seed {}: {what}", report.seed))
        })
        .collect();
    assert!(failed.is_empty(), "{}\nagain: simulate --seed N --trace", failed.join("\n"));
    // A run in which nothing happens proves nothing.
    let promised: usize = reports.iter().map(|report| report.promised).sum();
    let arrived: usize = reports.iter().map(|report| report.arrived).sum();
    let tasks: usize = reports.iter().map(|report| report.tasks).sum();
    assert!(promised > 2_000, "{promised} messages were promised");
    assert!(tasks > 1_000, "{tasks} tasks were asked for");
    let lines: usize = reports.iter().map(|report| report.lines).sum();
    assert!(lines > 300, "{lines} lines were written");
    // What is said about a task that ends meanwhile is refused.
    assert!(arrived * 10 > promised * 8, "{arrived} of {promised} arrived");
}

#[test]
fn a_seed_is_the_same_run_every_time() {
    let run = |seed| messaging_testkit::run(seed, None);
    for seed in [3, 8, 15, 17, 23] {
        let (first, second) = (run(seed), run(seed));
        assert_eq!(first.fingerprint, second.fingerprint, "seed {seed}");
        assert_eq!(first.steps, second.steps);
    }
    assert_ne!(run(1).fingerprint, run(2).fingerprint);
}

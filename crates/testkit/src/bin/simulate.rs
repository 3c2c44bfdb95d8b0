//! Runs seeds of the World and says what did not hold.
//!
//! ```text
//! simulate [--seeds N] [--from N]     N seeds (100) from the first one on (0), on every processor
//! simulate --seed N [--trace]         one seed, with every step
//! ```
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command that people and CI read")]

use messaging_testkit::scenario::Report;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::Instant;

struct Arguments {
    from: u64,
    seeds: u64,
    seed: Option<u64>,
    trace: bool,
}

const USAGE: &str = "usage: simulate [--seeds N] [--from N] | --seed N [--trace]";

fn main() -> ExitCode {
    let Some(arguments) = read(std::env::args().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    if let Some(seed) = arguments.seed {
        return one(seed, arguments.trace);
    }
    many(&arguments)
}

fn read(mut words: impl Iterator<Item = String>) -> Option<Arguments> {
    let mut arguments = Arguments { from: 0, seeds: 100, seed: None, trace: false };
    while let Some(word) = words.next() {
        match word.as_str() {
            "--trace" => arguments.trace = true,
            "--from" => arguments.from = words.next()?.parse().ok()?,
            "--seeds" => arguments.seeds = words.next()?.parse().ok()?,
            "--seed" => arguments.seed = Some(words.next()?.parse().ok()?),
            _ => return None,
        }
    }
    Some(arguments)
}

fn one(seed: u64, trace: bool) -> ExitCode {
    let trace: Option<fn(&str)> = if trace { Some(|line| println!("{line}")) } else { None };
    let report = messaging_testkit::run(seed, trace);
    println!(
        "seed {seed}: {} events, {} s of its time, {} promised, {} arrived, {} tasks, {} lines, fingerprint {:016x}",
        report.steps,
        report.lasted / 1_000,
        report.promised,
        report.arrived,
        report.tasks,
        report.lines,
        report.fingerprint
    );
    tell(&report);
    if report.violations.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn many(arguments: &Arguments) -> ExitCode {
    let began = Instant::now();
    let next = AtomicU64::new(arguments.from);
    let end = arguments.from.saturating_add(arguments.seeds);
    let (mut failed, mut events) = (0_u64, 0_u64);
    let (mut promised, mut arrived, mut tasks) = (0_usize, 0_usize, 0_usize);
    let mut lines = 0_usize;
    std::thread::scope(|scope| {
        let (tell_one, reports) = mpsc::channel();
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            let (tell_one, next) = (tell_one.clone(), &next);
            scope.spawn(move || {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= end || tell_one.send(messaging_testkit::run(seed, None)).is_err() {
                        break;
                    }
                }
            });
        }
        drop(tell_one);
        for report in reports {
            events += report.steps;
            promised += report.promised;
            arrived += report.arrived;
            tasks += report.tasks;
            lines += report.lines;
            failed += u64::from(!report.violations.is_empty());
            tell(&report);
        }
    });
    let seconds = began.elapsed().as_secs_f64().max(0.001);
    println!(
        "{} seeds from {} in {seconds:.1} s: {:.1} seeds a second, {events} events, {promised} messages promised, {arrived} \
         arrived, {tasks} tasks, {lines} lines; {failed} seeds with violations",
        arguments.seeds,
        arguments.from,
        arguments.seeds as f64 / seconds
    );
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn tell(report: &Report) {
    for violation in &report.violations {
        println!("seed {}: VIOLATION: {violation}", report.seed);
    }
}

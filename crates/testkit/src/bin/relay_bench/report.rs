//! The figures, for people and for programs.

use std::fmt::Write as _;
use std::io::Write as _;

use serde_json::{Value, json};

use crate::load::{Figures, Shape};
use crate::yardsticks::Yardsticks;

/// Every run, with the yardsticks taken around it.
pub(crate) struct Report {
    pub(crate) runs: Vec<(Shape, Figures, Yardsticks)>,
}

impl Report {
    /// A table.
    pub(crate) fn text(&self) -> String {
        let mut text = String::from(
            "senders x in flight   sends/s    /V   taken/s    /V   ack p50    p99   in probes   CPU/msg   x V |      V/s     probe  commits/s\n",
        );
        for (shape, figures, yardsticks) in &self.runs {
            let v = yardsticks.verify;
            // Writing to a String cannot fail.
            let _ = writeln!(
                text,
                "{:>7} x {:<9}  {:>8.0}  {:>4.2}  {:>8.0}  {:>4.2}  {:>6.2} ms {:>6.2} ms  {:>6.1}  {:>6.1} us  {:>4.2} | {:>8.0}  {:>5.2} ms  {:>9.0}",
                shape.senders,
                shape.in_flight,
                figures.sends_per_second,
                figures.sends_per_second / v,
                figures.taken_per_second,
                figures.taken_per_second / v,
                ms(figures.ack_p50),
                ms(figures.ack_p99),
                figures.ack_p50.as_secs_f64() / yardsticks.probe.as_secs_f64(),
                figures.cpu_per_message * 1e6,
                figures.cpu_per_message * yardsticks.verify_cpu,
                v,
                ms(yardsticks.probe),
                yardsticks.commit,
            );
        }
        text
    }

    /// One JSON object.
    pub(crate) fn json(&self) -> String {
        let runs: Vec<Value> = self
            .runs
            .iter()
            .map(|(shape, figures, yardsticks)| {
                json!({
                    "senders": shape.senders,
                    "inFlight": shape.in_flight,
                    "messages": figures.messages,
                    "sendsPerSecond": figures.sends_per_second,
                    "takenPerSecond": figures.taken_per_second,
                    "ackP50Ms": ms(figures.ack_p50),
                    "ackP99Ms": ms(figures.ack_p99),
                    "relayCpuSecondsPerMessage": figures.cpu_per_message,
                    "verifyPerSecond": yardsticks.verify,
                    "verifyPerCpuSecond": yardsticks.verify_cpu,
                    "probeMs": ms(yardsticks.probe),
                    "commitsPerSecond": yardsticks.commit,
                })
            })
            .collect();
        format!("{}\n", json!({ "runs": runs }))
    }
}

fn ms(time: std::time::Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Writes to stdout; a closed one is nobody's loss.
pub(crate) fn show(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}

/// Writes a line to stderr.
pub(crate) fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

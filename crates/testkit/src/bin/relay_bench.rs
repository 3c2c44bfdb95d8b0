//! Measures the relay from outside: durable sends a second over real sockets, beside what the machine can do at all.
//!
//! ```text
//! cargo run --release --bin relay-bench [-- --messages N] [--folder PATH] [--json]
//! cargo run --release --bin relay-bench -- --idle N
//! ```
//!
//! Columns: sends acknowledged a second, and as a share of V; the same until every envelope was taken and that was stored;
//! the time to an ack; the relay's CPU a message, and in checks (V times CPU). Right of the bar the yardsticks.
//!
//! Every figure stands beside three yardsticks of the same run, since a machine's moods move them all together: the bare
//! strict Ed25519 check (V, one core), the bare 4 KiB write and sync (probe), and the bare commit of one row in the relay's
//! own store. The load is signed before the clock starts; it shares the cores with the relay, whose own CPU is told apart by
//! its threads' names. With `--idle`, a relay of its own process holds N authenticated connections that say nothing, and its
//! memory is asked before and after.

#[path = "relay_bench/cpu.rs"]
mod cpu;
#[path = "relay_bench/idle.rs"]
mod idle;
#[path = "relay_bench/load.rs"]
mod load;
#[path = "relay_bench/report.rs"]
mod report;
#[path = "relay_bench/yardsticks.rs"]
mod yardsticks;

use std::path::PathBuf;
use std::process::ExitCode;

use load::Shape;
use report::Report;

/// What is asked for.
struct Options {
    messages: usize,
    idle: Option<usize>,
    /// Be the relay whose memory is asked.
    serve: bool,
    folder: PathBuf,
    json: bool,
}

/// Who sends, and how many envelopes each has on the way at once.
const SHAPES: [Shape; 4] = [
    Shape { senders: 1, in_flight: 1 },
    Shape { senders: 1, in_flight: 64 },
    Shape { senders: 16, in_flight: 64 },
    Shape { senders: 64, in_flight: 64 },
];

fn main() -> ExitCode {
    let options = match options(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(problem) => {
            report::say(&format!(
                "relay-bench: {problem}\nNext: relay-bench [--messages N | --idle N] [--folder PATH] [--json]"
            ));
            return ExitCode::from(2);
        }
    };
    let done = match options {
        Options { serve: true, folder, .. } => idle::serve(&folder).map(|()| String::new()),
        Options { idle: Some(connections), folder, .. } => idle::run(connections, &folder),
        options => {
            run(&options).map(|report| if options.json { report.json() } else { report.text() })
        }
    };
    match done {
        Ok(text) => {
            report::show(&text);
            ExitCode::SUCCESS
        }
        Err(problem) => {
            report::say(&format!("relay-bench: {problem}"));
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<Report, String> {
    let mut runs = Vec::new();
    for shape in SHAPES {
        // One in flight measures time, not throughput: a tenth of the messages tells enough.
        let messages = if shape.in_flight == 1 { options.messages / 10 } else { options.messages };
        let before = yardsticks::measure(&options.folder)?;
        let figures = load::run(shape, messages.max(shape.senders), &options.folder)?;
        let after = yardsticks::measure(&options.folder)?;
        runs.push((shape, figures, before.between(&after)));
    }
    Ok(Report { runs })
}

fn options(mut args: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut options = Options {
        messages: 20_000,
        idle: None,
        serve: false,
        folder: std::env::temp_dir(),
        json: false,
    };
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} needs a value"));
        match arg.as_str() {
            "--messages" => {
                options.messages =
                    value()?.parse().map_err(|_| "--messages takes a number".to_owned())?;
            }
            "--idle" => {
                let n = value()?.parse().map_err(|_| "--idle takes a number".to_owned())?;
                options.idle = Some(n);
            }
            "--serve" => options.serve = true,
            "--folder" => options.folder = value()?.into(),
            "--json" => options.json = true,
            _ => return Err("an unknown argument".to_owned()),
        }
    }
    Ok(options)
}

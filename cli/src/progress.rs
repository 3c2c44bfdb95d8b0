//! One line on stderr that says what is waited for, when it takes long.
//! Spec: D6.1 "Progress"

use std::future::Future;
use std::io::Write as _;
use std::time::Duration;

/// A step shorter than this shows nothing.
const PATIENCE: Duration = Duration::from_millis(400);
const FRAME: Duration = Duration::from_millis(100);
const FRAMES: [&str; 4] = ["|", "/", "-", "\\"];

/// Waits for `step`; on a terminal, with a moving line that names it.
pub(crate) async fn during<T>(name: &str, shown: bool, step: impl Future<Output = T>) -> T {
    if !shown {
        return step.await;
    }
    let mut step = std::pin::pin!(step);
    if let Ok(done) = tokio::time::timeout(PATIENCE, step.as_mut()).await {
        return done;
    }
    let _line = Line;
    for frame in FRAMES.iter().cycle() {
        write(&format!("\r{frame} {name}"));
        if let Ok(done) = tokio::time::timeout(FRAME, step.as_mut()).await {
            return done;
        }
    }
    // A cycle has no end.
    step.await
}

/// Takes the line away, also when the wait is given up.
struct Line;

impl Drop for Line {
    fn drop(&mut self) {
        write("\r\u{1b}[K");
    }
}

fn write(text: &str) {
    let mut stderr = std::io::stderr();
    // A stderr that is gone is no reason to stop.
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}

//! The keyboard of a terminal: read on a thread of its own, key by key, and given back as it was found.
//! Spec: D6.4 `chat --follow`

use std::io::{Read as _, Write as _};

use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};
use tokio::sync::mpsc;

/// What a terminal is told so that it marks what is pasted, and no longer does.
const MARK_PASTES: &str = "\u{1b}[?2004h";
const LEAVE_PASTES: &str = "\u{1b}[?2004l";

/// The keyboard while it is read. Dropping it gives the terminal back as it was.
#[derive(Debug)]
pub(super) struct Keyboard {
    keys: mpsc::Receiver<Vec<u8>>,
    before: Option<Termios>,
}

impl Keyboard {
    /// Reads key by key when the terminal lets us, else line by line.
    pub(super) fn open(by_key: bool) -> Self {
        let before = if by_key { by_keys() } else { None };
        let (send, keys) = mpsc::channel(16);
        // A read of a terminal cannot be called off: the thread ends with the process.
        std::thread::spawn(move || {
            let mut chunk = [0; 4_096];
            while let Ok(read @ 1..) = std::io::stdin().lock().read(&mut chunk) {
                if send.blocking_send(chunk.get(..read).unwrap_or_default().to_vec()).is_err() {
                    return;
                }
            }
        });
        Self { keys, before }
    }

    /// Whether it is read key by key, so that nobody but us shows what is typed.
    pub(super) fn is_by_key(&self) -> bool {
        self.before.is_some()
    }

    /// What was typed; `None` at its end.
    pub(super) async fn next(&mut self) -> Option<Vec<u8>> {
        self.keys.recv().await
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            write(&format!("\r\u{1b}[K{LEAVE_PASTES}"));
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Drain, before);
        }
    }
}

/// Sets the terminal up; what it was before, or `None` when it cannot be done. Signals stay keys: Ctrl-C interrupts.
fn by_keys() -> Option<Termios> {
    let before = tcgetattr(std::io::stdin()).ok()?;
    let mut keys = before.clone();
    keys.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO | LocalModes::IEXTEN);
    keys.special_codes[SpecialCodeIndex::VMIN] = 1;
    keys.special_codes[SpecialCodeIndex::VTIME] = 0;
    // A stopped process would leave the shell a terminal that shows nothing.
    keys.special_codes[SpecialCodeIndex::VSUSP] = 0;
    tcsetattr(std::io::stdin(), OptionalActions::Drain, &keys).ok()?;
    write(MARK_PASTES);
    Some(before)
}

fn write(text: &str) {
    let mut stdout = std::io::stdout();
    let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
}

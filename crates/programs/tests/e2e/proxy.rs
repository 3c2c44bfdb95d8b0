//! A wire between daemon and relay that a test can cut at a word.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU16, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// A port that leads to a relay.
pub(crate) struct Proxy {
    port: u16,
    inner: Arc<Inner>,
}

struct Inner {
    relay: AtomicU16,
    /// What the relay says from the chunk with this word on is not handed on.
    held: Mutex<Option<String>>,
    holds: AtomicUsize,
}

impl Proxy {
    /// A port of its own, which leads nowhere yet.
    pub(crate) fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let inner = Arc::new(Inner {
            relay: AtomicU16::new(0),
            held: Mutex::new(None),
            holds: AtomicUsize::new(0),
        });
        let shared = Arc::clone(&inner);
        // Its threads end with the test's process.
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Ok(relay) =
                    TcpStream::connect(("127.0.0.1", shared.relay.load(Ordering::SeqCst)))
                else {
                    continue;
                };
                let (from_client, to_client) = (client.try_clone().unwrap(), client);
                let (from_relay, to_relay) = (relay.try_clone().unwrap(), relay);
                thread::spawn(move || pass(from_client, to_relay, None));
                let shared = Arc::clone(&shared);
                thread::spawn(move || pass(from_relay, to_client, Some(&shared)));
            }
        });
        Self { port, inner }
    }

    /// The origin that clients know the relay by.
    pub(crate) fn origin(&self) -> String {
        format!("ws://127.0.0.1:{}", self.port)
    }

    /// Where clients connect.
    pub(crate) fn url(&self) -> String {
        format!("{}/v1/connect", self.origin())
    }

    /// Leads to a relay from now on.
    pub(crate) fn lead_to(&self, port: u16) {
        self.inner.relay.store(port, Ordering::SeqCst);
    }

    /// Swallows what the relay says from this word on, on every connection; `None` lets it through on new ones.
    pub(crate) fn hold(&self, word: Option<&str>) {
        *self.inner.held.lock().unwrap() = word.map(ToOwned::to_owned);
    }

    /// How often something was held.
    pub(crate) fn holds(&self) -> usize {
        self.inner.holds.load(Ordering::SeqCst)
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, held_by: Option<&Inner>) {
    let mut chunk = vec![0; 65_536];
    let mut holding = false;
    while let Ok(read @ 1..) = from.read(&mut chunk) {
        let bytes = &chunk[..read];
        if let Some(inner) = held_by
            && !holding
            && let Some(word) = &*inner.held.lock().unwrap()
            && String::from_utf8_lossy(bytes).contains(word.as_str())
        {
            inner.holds.fetch_add(1, Ordering::SeqCst);
            holding = true;
        }
        if !holding && to.write_all(bytes).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}

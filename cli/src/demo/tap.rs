//! A place on the wire between the daemons and the relay: it passes every byte on and remembers the texts.
//! Spec: D6.7

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use messaging_core::ids::Ulid;
use messaging_core::json;
use serde_json::{Map, Value};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};

use super::websocket::Wire;

/// The longest text that is looked at, bytes.
const TEXT_BYTES: usize = 8 * 1_048_576;

/// The tap, listening on loopback.
pub(super) struct Tap {
    listener: TcpListener,
    address: SocketAddr,
    seen: Seen,
}

/// What passed the tap.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen(Arc<Mutex<Vec<String>>>);

impl Tap {
    /// Takes a free port.
    pub(super) async fn listen() -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address, seen: Seen::default() })
    }

    /// Where the daemons connect.
    pub(super) fn origin(&self) -> String {
        format!("ws://{}", self.address)
    }

    /// Passes connections on to the relay until the runtime ends.
    pub(super) fn pass_on_to(self, relay: SocketAddr) -> Seen {
        let seen = self.seen.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = self.listener.accept().await {
                let seen = self.seen.clone();
                tokio::spawn(async move {
                    let Ok(server) = TcpStream::connect(relay).await else { return };
                    let (from_client, to_client) = client.into_split();
                    let (from_server, to_server) = server.into_split();
                    tokio::join!(
                        pass(from_client, to_server, seen.clone()),
                        pass(from_server, to_client, seen),
                    );
                });
            }
        });
        seen
    }
}

/// Copies one direction to its end, and ends the other side's too.
async fn pass(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, seen: Seen) {
    let mut wire = Wire::default();
    let mut chunk = vec![0; 16 * 1_024];
    while let Ok(read @ 1..) = from.read(&mut chunk).await {
        let bytes = chunk.get(..read).unwrap_or_default();
        let texts = wire.push(bytes);
        seen.0.lock().unwrap_or_else(PoisonError::into_inner).extend(texts);
        if to.write_all(bytes).await.is_err() {
            break;
        }
    }
    // The other side may be gone already.
    let _ = to.shutdown().await;
}

impl Seen {
    /// The envelope of an id as it was handed to the relay.
    pub(super) fn envelope(&self, id: &Ulid) -> Option<Map<String, Value>> {
        let texts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        texts.iter().find_map(|text| {
            let frame = json::parse(text.as_bytes(), TEXT_BYTES).ok()?;
            let envelope = frame.get("env")?.as_object()?;
            (envelope.get("id")?.as_str() == Some(id.as_str())).then(|| envelope.clone())
        })
    }

    /// Whether a text went over the wire in the clear.
    pub(super) fn contains(&self, text: &str) -> bool {
        let texts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        texts.iter().any(|seen| seen.contains(text))
    }

    /// How many texts passed.
    pub(super) fn count(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

//! TLS for the relay link: one provider, named, and the system's own roots.
//!
//! Spec: §7 "Connecting"

use std::sync::Arc;

use messaging_daemon_engine::LinkFault;
use rustls::{ClientConfig, RootCertStore};
use tokio::sync::OnceCell;
use tokio_tungstenite::Connector;

/// The connector for `wss://`. The roots are read once, at the first dial that needs them.
pub(crate) async fn connector() -> Result<Connector, LinkFault> {
    static CONFIG: OnceCell<Arc<ClientConfig>> = OnceCell::const_new();
    let config = CONFIG.get_or_try_init(load).await?;
    Ok(Connector::Rustls(Arc::clone(config)))
}

/// The connector for `ws://`, which never leaves this machine.
pub(crate) fn plain() -> Connector {
    Connector::Plain
}

async fn load() -> Result<Arc<ClientConfig>, LinkFault> {
    let roots = tokio::task::spawn_blocking(|| {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        roots
    })
    .await
    .map_err(|_| LinkFault::Tls)?;
    if roots.is_empty() {
        return Err(LinkFault::Tls);
    }
    // The provider is named here: a process-wide default would be decided by whoever links first.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|_| LinkFault::Tls)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}

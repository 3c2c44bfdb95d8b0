//! TLS for the relay link: one provider, named, and the certificates that this machine trusts.
//!
//! Spec: §7 "TLS"; decision 0024

use std::path::{Path, PathBuf};
use std::sync::Arc;

use messaging_daemon_engine::LinkFault;
use rustls::{CertificateError, ClientConfig, RootCertStore};
use rustls_native_certs::{CertificateResult, load_certs_from_paths, load_native_certs};
use tokio::sync::OnceCell;
use tokio_tungstenite::Connector;

/// By which certificates a relay is known: the system's, or those that `SSL_CERT_FILE` and `SSL_CERT_DIR` name in their
/// place. They are read at the first dial that needs them; a reading that failed is tried again at the next.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trust {
    file: Option<PathBuf>,
    folder: Option<PathBuf>,
    config: Arc<OnceCell<Arc<ClientConfig>>>,
}

impl Trust {
    /// The system's certificates, unless a file or a folder is named.
    pub(crate) fn of(file: Option<PathBuf>, folder: Option<PathBuf>) -> Self {
        Self { file, folder, config: Arc::default() }
    }

    /// The connector for `wss://`.
    pub(crate) async fn connector(&self) -> Result<Connector, LinkFault> {
        let load = || load(self.file.clone(), self.folder.clone());
        let config = self.config.get_or_try_init(load).await?;
        Ok(Connector::Rustls(Arc::clone(config)))
    }
}

/// The connector for `ws://`, which never leaves this machine.
pub(crate) fn plain() -> Connector {
    Connector::Plain
}

/// Why a handshake failed, as far as the certificate says.
pub(crate) fn fault_of(error: &std::io::Error) -> LinkFault {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    let Some(rustls::Error::InvalidCertificate(why)) = inner else { return LinkFault::Tls };
    match why {
        // A namesake of somebody who is known signed with a key of its own.
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            LinkFault::UnknownIssuer
        }
        CertificateError::Expired
        | CertificateError::ExpiredContext { .. }
        | CertificateError::NotValidYet
        | CertificateError::NotValidYetContext { .. } => LinkFault::NotAtThisTime,
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            LinkFault::OtherName
        }
        _ => LinkFault::BadCertificate,
    }
}

fn certificates(file: Option<&Path>, folder: Option<&Path>) -> CertificateResult {
    if file.is_none() && folder.is_none() {
        load_native_certs()
    } else {
        load_certs_from_paths(file, folder)
    }
}

async fn load(
    file: Option<PathBuf>,
    folder: Option<PathBuf>,
) -> Result<Arc<ClientConfig>, LinkFault> {
    let roots = tokio::task::spawn_blocking(move || {
        let mut roots = RootCertStore::empty();
        let found = certificates(file.as_deref(), folder.as_deref());
        roots.add_parsable_certificates(found.certs);
        roots
    })
    .await
    .map_err(|_| LinkFault::NoRoots)?;
    if roots.is_empty() {
        return Err(LinkFault::NoRoots);
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

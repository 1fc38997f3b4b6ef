//! Certificates, which are read again when their files change.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use rustls::crypto::CryptoProvider;
use rustls::crypto::ring::{Ticketer, default_provider};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use thiserror::Error;
use tokio::task::spawn_blocking;
use tokio_rustls::TlsAcceptor;

/// Where the certificate is, in PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsOptions {
    /// The server's own first, then those that lead to its authority.
    pub certificate: PathBuf,
    pub key: PathBuf,
    /// How often the files are looked at.
    pub check_every: Duration,
}

impl TlsOptions {
    pub fn new(certificate: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Self {
        Self { certificate: certificate.into(), key: key.into(), check_every: Duration::from_secs(60) }
    }
}

#[derive(Debug, Error)]
pub(super) enum TlsError {
    #[error("{} cannot be read: {error}", path.display())]
    Unreadable { path: PathBuf, error: io::Error },
    #[error("{} has no certificate in PEM", .0.display())]
    NoCertificate(PathBuf),
    #[error("{} has no private key in PEM", .0.display())]
    NoKey(PathBuf),
    #[error("certificate and key do not work: {0}")]
    Unusable(rustls::Error),
}

impl From<TlsError> for io::Error {
    fn from(error: TlsError) -> Self {
        Self::new(io::ErrorKind::InvalidInput, error)
    }
}

/// The bytes of both files, to see whether they have changed.
#[derive(Clone, PartialEq, Eq)]
struct Files {
    certificate: Vec<u8>,
    key: Vec<u8>,
}

impl Files {
    fn read(options: &TlsOptions) -> Result<Self, TlsError> {
        let read =
            |path: &Path| std::fs::read(path).map_err(|error| TlsError::Unreadable { path: path.to_path_buf(), error });
        Ok(Self { certificate: read(&options.certificate)?, key: read(&options.key)? })
    }

    fn certified_key(&self, options: &TlsOptions, provider: &CryptoProvider) -> Result<CertifiedKey, TlsError> {
        let chain = CertificateDer::pem_slice_iter(&self.certificate).collect::<Result<Vec<_>, _>>();
        let chain = chain.ok().filter(|chain| !chain.is_empty());
        let chain = chain.ok_or_else(|| TlsError::NoCertificate(options.certificate.clone()))?;
        let key = PrivateKeyDer::from_pem_slice(&self.key).map_err(|_| TlsError::NoKey(options.key.clone()))?;
        CertifiedKey::from_der(chain, key, provider).map_err(TlsError::Unusable)
    }
}

/// The certificate in use.
pub(super) struct Certificate {
    options: TlsOptions,
    provider: Arc<CryptoProvider>,
    files: RwLock<Files>,
    key: RwLock<Arc<CertifiedKey>>,
}

impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Certificate").field("options", &self.options).finish_non_exhaustive()
    }
}

impl ResolvesServerCert for Certificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.key.read().unwrap_or_else(PoisonError::into_inner)))
    }
}

impl Certificate {
    pub fn read(options: TlsOptions) -> Result<Arc<Self>, TlsError> {
        let provider = Arc::new(default_provider());
        let files = Files::read(&options)?;
        let key = files.certified_key(&options, &provider)?;
        Ok(Arc::new(Self { options, provider, files: RwLock::new(files), key: RwLock::new(Arc::new(key)) }))
    }

    /// HTTP/1.1 only, TLS 1.2 and 1.3.
    pub fn acceptor(self: &Arc<Self>) -> Result<TlsAcceptor, TlsError> {
        let builder = rustls::ServerConfig::builder_with_provider(Arc::clone(&self.provider));
        let builder = builder.with_safe_default_protocol_versions().map_err(TlsError::Unusable)?;
        let mut config = builder.with_no_client_auth().with_cert_resolver(Arc::clone(self) as _);
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        // Devices that come back resume their session, which saves both sides a signature.
        config.ticketer = Ticketer::new().map_err(TlsError::Unusable)?;
        Ok(TlsAcceptor::from(Arc::new(config)))
    }

    /// Whether there is a new certificate, which connections from now on get.
    fn renew(&self) -> Result<bool, TlsError> {
        let files = Files::read(&self.options)?;
        if *self.files.read().unwrap_or_else(PoisonError::into_inner) == files {
            return Ok(false);
        }
        let key = files.certified_key(&self.options, &self.provider)?;
        *self.key.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(key);
        *self.files.write().unwrap_or_else(PoisonError::into_inner) = files;
        Ok(true)
    }

    /// Looks at the files for ever. What cannot be used, such as half of a renewal, changes nothing.
    pub async fn keep_renewed(self: Arc<Self>) {
        loop {
            tokio::time::sleep(self.options.check_every).await;
            let certificate = Arc::clone(&self);
            match spawn_blocking(move || certificate.renew()).await {
                Ok(Ok(true)) => tracing::info!("a new certificate is in use"),
                Ok(Ok(false)) => {}
                Ok(Err(error)) => tracing::warn!(%error, "the old certificate stays in use"),
                Err(_) => tracing::error!("the certificate could not be looked at"),
            }
        }
    }
}

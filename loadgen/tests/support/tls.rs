//! Certificates of the tests, made in memory.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair, date_time_ymd};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;

fn params(names: &[&str]) -> CertificateParams {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    CertificateParams::new(names).unwrap()
}

/// A self-signed certificate and its key.
pub(crate) struct Identity {
    certificate: CertificateDer<'static>,
    certificate_pem: String,
    key_pem: String,
    key: PrivateKeyDer<'static>,
    client: Option<CertificateDer<'static>>,
}

impl Identity {
    /// For these names and addresses; `ca`: marked as an authority, as `openssl req -x509` does.
    pub(crate) fn self_signed(names: &[&str], ca: bool) -> Self {
        let mut params = params(names);
        if ca {
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        }
        Self::of(&params)
    }

    /// For `localhost` and `127.0.0.1`, in a year long ago.
    pub(crate) fn expired() -> Self {
        let mut params = params(&["localhost", "127.0.0.1"]);
        params.not_before = date_time_ymd(2001, 1, 1);
        params.not_after = date_time_ymd(2002, 1, 1);
        Self::of(&params)
    }

    fn of(params: &CertificateParams) -> Self {
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        Self {
            certificate_pem: certificate.pem(),
            certificate: certificate.der().clone(),
            key_pem: key.serialize_pem(),
            key: PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
            client: None,
        }
    }

    /// The same, for a server that demands the certificate of `client`.
    pub(crate) fn demanding(mut self, client: &Self) -> Self {
        self.client = Some(client.certificate.clone());
        self
    }

    /// A server that offers HTTP/1.1 by ALPN.
    pub(super) fn server_config(&self) -> Arc<rustls::ServerConfig> {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = rustls::ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .unwrap();
        let builder = match &self.client {
            None => builder.with_no_client_auth(),
            Some(client) => {
                let mut roots = rustls::RootCertStore::empty();
                roots.add(client.clone()).unwrap();
                let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider);
                builder.with_client_cert_verifier(verifier.build().unwrap())
            }
        };
        let mut config =
            builder.with_single_cert(vec![self.certificate.clone()], self.key.clone_key()).unwrap();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Arc::new(config)
    }

    /// Writes `cert.pem` and `key.pem` into `dir`.
    pub(crate) fn write(&self, dir: &Path) -> (PathBuf, PathBuf) {
        let (certificate, key) = (dir.join("cert.pem"), dir.join("key.pem"));
        std::fs::write(&certificate, &self.certificate_pem).unwrap();
        std::fs::write(&key, &self.key_pem).unwrap();
        (certificate, key)
    }
}

//! The TLS configuration all HTTPS servers share.

use std::{path::Path, sync::Arc, time::SystemTime};

use anyhow::{Context as _, bail};
use rustls::{
    CertificateError, Error, RootCertStore, ServerConfig,
    client::{WebPkiServerVerifier, danger::ServerCertVerifier as _},
    crypto::{CryptoProvider, aws_lc_rs},
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime, pem::PemObject as _},
    server::NoServerSessionStorage,
    version::{TLS12, TLS13},
};

use crate::certificate::Files;

/// TLS 1.2 and 1.3, ALPN `http/1.1`, stateless tickets: nothing the workers would have to lock.
///
/// # Errors
///
/// One that names the file, when a file is missing, malformed, expired, or the key is another's.
pub(crate) fn config(files: &Files) -> anyhow::Result<Arc<ServerConfig>> {
    let chain = read_chain(&files.cert)?;
    let key = PrivateKeyDer::from_pem_file(&files.key)
        .with_context(|| format!("no private key in PEM at {}", files.key.display()))?;
    let provider = Arc::new(aws_lc_rs::default_provider());
    check_validity(&chain[0], &provider, &files.cert)?;
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13, &TLS12])?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .with_context(|| {
            let (cert, key) = (files.cert.display(), files.key.display());
            format!("{cert} and {key} do not make a pair")
        })?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    config.ticketer = aws_lc_rs::Ticketer::new()?;
    config.session_storage = Arc::new(NoServerSessionStorage {});
    Ok(Arc::new(config))
}

fn read_chain(path: &Path) -> anyhow::Result<Vec<CertificateDer<'static>>> {
    let chain = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .with_context(|| format!("no certificate in PEM at {}", path.display()))?;
    if chain.is_empty() {
        bail!("no certificate in PEM at {}", path.display());
    }
    Ok(chain)
}

/// Refuses a certificate outside its dates. Whether anybody trusts it is not our question: we
/// verify it against itself and look at the complaint about dates only.
fn check_validity(
    certificate: &CertificateDer<'_>,
    provider: &Arc<CryptoProvider>,
    path: &Path,
) -> anyhow::Result<()> {
    let mut roots = RootCertStore::empty();
    if roots.add(certificate.clone().into_owned()).is_err() {
        bail!("{} is not a certificate that can be used", path.display());
    }
    let verifier =
        WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider))
            .build()?;
    let name = ServerName::try_from("localhost")?;
    let now = UnixTime::since_unix_epoch(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?);
    match verifier.verify_server_cert(certificate, &[], &name, &[], now) {
        Err(Error::InvalidCertificate(
            CertificateError::Expired | CertificateError::ExpiredContext { .. },
        )) => bail!(
            "{} has expired; delete it with its key, and the next start makes new ones",
            path.display()
        ),
        Err(Error::InvalidCertificate(
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. },
        )) => bail!("{} is not valid yet; is the clock right?", path.display()),
        _ => Ok(()),
    }
}

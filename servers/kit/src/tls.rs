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

use crate::certificate::{self, Files};

/// TLS 1.2 and 1.3, ALPN `http/1.1`, stateless tickets: nothing the workers would have to lock.
///
/// # Errors
///
/// One that names the file, when a file is missing, malformed, expired, or the key is another's.
pub(crate) fn config(files: &Files) -> anyhow::Result<Arc<ServerConfig>> {
    let chain = read_chain(&files.cert)?;
    let key = PrivateKeyDer::from_pem_file(&files.key).with_context(|| {
        let key = files.key.display();
        format!("no private key in PEM at {key}; {}", remedy(&files.cert))
    })?;
    let provider = Arc::new(aws_lc_rs::default_provider());
    check_validity(&chain[0], &provider, &files.cert)?;
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13, &TLS12])?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .with_context(|| {
            let (cert, key) = (files.cert.display(), files.key.display());
            format!("{cert} and {key} do not make a pair; {}", remedy(&files.cert))
        })?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    config.ticketer = aws_lc_rs::Ticketer::new()?;
    config.session_storage = Arc::new(NoServerSessionStorage {});
    Ok(Arc::new(config))
}

/// Whether a client that trusts the certificate in `files` alone can reach a server with it under
/// `names`.
///
/// # Errors
///
/// As [`config`], and when it is for other names.
pub(crate) fn check_names(files: &Files, names: &[&str]) -> anyhow::Result<()> {
    config(files)?;
    let chain = read_chain(&files.cert)?;
    let mut roots = RootCertStore::empty();
    for certificate in &chain {
        roots.add(certificate.clone())?;
    }
    let provider = Arc::new(aws_lc_rs::default_provider());
    let verifier =
        WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build()?;
    let now = UnixTime::since_unix_epoch(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?);
    for name in names {
        let server = ServerName::try_from(*name)?;
        verifier.verify_server_cert(&chain[0], &[], &server, &[], now).with_context(|| {
            let cert = files.cert.display();
            format!("{cert} cannot be used for {name}; {}", remedy(&files.cert))
        })?;
    }
    Ok(())
}

/// What to do about a certificate that is no good: the one made here is made again.
fn remedy(cert: &Path) -> &'static str {
    if cert.parent().is_some_and(|dir| dir == certificate::default_dir()) {
        "delete it with its key, and the next start makes new ones"
    } else {
        "give another pair with --cert and --key"
    }
}

fn read_chain(path: &Path) -> anyhow::Result<Vec<CertificateDer<'static>>> {
    let none = || format!("no certificate in PEM at {}; {}", path.display(), remedy(path));
    let chain = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .with_context(none)?;
    if chain.is_empty() {
        bail!(none());
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
        )) => bail!("{} has expired; {}", path.display(), remedy(path)),
        Err(Error::InvalidCertificate(
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. },
        )) => bail!("{} is not valid yet; is the clock right?", path.display()),
        _ => Ok(()),
    }
}

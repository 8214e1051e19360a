//! The development certificate: made once, used by every server and every contender.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    process,
    time::{SystemTime, UNIX_EPOCH},
};

use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair, PKCS_ECDSA_P256_SHA256};

/// The names the certificate is for.
const NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// Years a certificate is made for.
const YEARS: i32 = 10;

/// A certificate chain and its private key, both PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Files {
    /// The chain.
    pub cert: PathBuf,
    /// The key.
    pub key: PathBuf,
}

/// Why there is no certificate.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// The folder cannot be written or read.
    #[error("cannot make the development certificate in {dir}: {source}")]
    Io {
        /// The folder.
        dir: PathBuf,
        /// What happened.
        source: io::Error,
    },
    /// The generator failed.
    #[error("cannot make the development certificate: {0}")]
    Generator(#[from] rcgen::Error),
}

/// The folder of the workspace the certificate is kept in.
#[must_use]
pub fn default_dir() -> PathBuf {
    crate::workspace_root().join("certs")
}

/// The certificate in `dir`, made if it is not there: P-256, self-signed, for `localhost`,
/// `127.0.0.1` and `::1`, its key readable by its owner only.
///
/// Servers may start at once: one makes it under a lock, and no name ever stands for half a file
/// or for a key without its certificate.
///
/// # Errors
///
/// When the folder cannot be written.
pub fn ensure(dir: &Path) -> Result<Files, CertificateError> {
    let files = Files { cert: dir.join("cert.pem"), key: dir.join("key.pem") };
    if is_complete(&files) {
        return Ok(files);
    }
    let in_dir = |source| CertificateError::Io { dir: dir.to_owned(), source };
    fs::create_dir_all(dir).map_err(in_dir)?;
    let lock = File::create(dir.join(".lock")).map_err(in_dir)?;
    lock.lock().map_err(in_dir)?;
    if !is_complete(&files) {
        let (cert, key) = generate()?;
        store(&files, &cert, &key).map_err(in_dir)?;
    }
    Ok(files)
}

/// Whether the certificate in `files` can be served and reached: readable, a pair, within its dates,
/// and for this machine's loopback address.
///
/// # Errors
///
/// What is wrong with it and what to do, with the file.
pub fn check(files: &Files) -> anyhow::Result<()> {
    crate::tls::check_names(files, &["127.0.0.1"])
}

fn is_complete(files: &Files) -> bool {
    files.key.is_file() && files.cert.is_file()
}

/// Makes a certificate and its key, both PEM.
fn generate() -> Result<(String, String), rcgen::Error> {
    let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
    let mut params = CertificateParams::new(NAMES.map(str::to_owned))?;
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, "localhost (development)");
    let year = this_year();
    params.not_before = rcgen::date_time_ymd(year, 1, 1);
    params.not_after = rcgen::date_time_ymd(year + YEARS, 1, 1);
    Ok((params.self_signed(&key)?.pem(), key.serialize_pem()))
}

/// The current year, UTC, give or take a day around New Year: never a later one.
fn this_year() -> i32 {
    const SECONDS_PER_YEAR: u64 = 31_556_952;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    1970 + i32::try_from(now.saturating_sub(86_400) / SECONDS_PER_YEAR).unwrap_or(0)
}

/// Stores both files. A stale one of the pair goes first, so that the pair is only ever seen whole.
fn store(files: &Files, cert: &str, key: &str) -> io::Result<()> {
    for stale in [&files.cert, &files.key] {
        match fs::remove_file(stale) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    store_one(&files.key, key, 0o600)?;
    store_one(&files.cert, cert, 0o644)
}

fn store_one(path: &Path, text: &str, mode: u32) -> io::Result<()> {
    let temporary = path.with_extension(format!("pem.{}", process::id()));
    let mut file =
        OpenOptions::new().write(true).create(true).truncate(true).mode(mode).open(&temporary)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&temporary, path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn threads_that_start_at_once_get_one_usable_pair() {
        let dir = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let files = ensure(dir.path()).unwrap();
                    crate::tls::config(&files).unwrap();
                });
            }
        });
        let mode = fs::metadata(dir.path().join("key.pem")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn the_certificate_that_is_made_can_be_used_and_one_for_another_name_cannot() {
        let dir = tempfile::tempdir().unwrap();
        let files = ensure(dir.path()).unwrap();
        check(&files).unwrap();
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap();
        let params = CertificateParams::new(["elsewhere.test".to_owned()]).unwrap();
        fs::write(&files.cert, params.self_signed(&key).unwrap().pem()).unwrap();
        fs::write(&files.key, key.serialize_pem()).unwrap();
        let error = format!("{:#}", check(&files).unwrap_err());
        assert!(error.contains("cannot be used for 127.0.0.1"), "{error}");
        assert!(error.contains("elsewhere.test"), "{error}");
    }

    #[test]
    fn a_key_of_another_certificate_is_named() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (one, two) = (ensure(one.path()).unwrap(), ensure(two.path()).unwrap());
        let mixed = Files { cert: one.cert, key: two.key };
        let error = crate::tls::config(&mixed).unwrap_err().to_string();
        assert!(error.contains("do not make a pair"), "{error}");
    }

    #[test]
    fn an_expired_certificate_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files { cert: dir.path().join("c"), key: dir.path().join("k") };
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap();
        let mut params = CertificateParams::new(NAMES.map(str::to_owned)).unwrap();
        params.not_before = rcgen::date_time_ymd(2001, 1, 1);
        params.not_after = rcgen::date_time_ymd(2002, 1, 1);
        fs::write(&files.cert, params.self_signed(&key).unwrap().pem()).unwrap();
        fs::write(&files.key, key.serialize_pem()).unwrap();
        let error = crate::tls::config(&files).unwrap_err().to_string();
        assert!(error.contains("has expired"), "{error}");
    }
}

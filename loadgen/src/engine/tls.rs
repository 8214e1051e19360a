//! TLS on top of a socket the worker reads and writes itself (rustls, unbuffered).

use std::path::Path;
use std::sync::Arc;

use rustls::client::UnbufferedClientConnection;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::unbuffered::{ConnectionState, EncodeError, EncryptError, UnbufferedStatus};
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use super::EngineError;
use super::failure::Failure;
use super::result::TlsInfo;
use super::spec::{TlsSpec, TlsVersion};

/// Most plaintext in one TLS record (RFC 8446 section 5.1).
pub(crate) const MAX_PLAINTEXT: usize = 16 * 1024;

/// What every connection of a run shares.
#[derive(Clone, Debug)]
pub(crate) struct TlsSetup {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl TlsSetup {
    /// Reads the files of `spec` and fixes the parameters.
    pub(crate) fn new(spec: &TlsSpec) -> Result<Self, EngineError> {
        let input =
            |what: String| move |error: Error| EngineError::Input(format!("{what}: {error}"));
        let provider = Arc::new(aws_lc_rs::default_provider());
        let versions: &[&rustls::SupportedProtocolVersion] = match spec.version {
            None => &[&rustls::version::TLS13, &rustls::version::TLS12],
            Some(TlsVersion::V1_3) => &[&rustls::version::TLS13],
            Some(TlsVersion::V1_2) => &[&rustls::version::TLS12],
        };
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(versions)
            .map_err(input("TLS".into()))?;
        let builder = if spec.insecure {
            builder.dangerous().with_custom_certificate_verifier(Arc::new(AcceptAny { provider }))
        } else {
            builder.with_root_certificates(roots(spec.ca_file.as_deref())?)
        };
        let mut config = match &spec.client_identity {
            None => builder.with_no_client_auth(),
            Some((chain, key)) => {
                let certificates = certificates(chain)?;
                let private = PrivateKeyDer::from_pem_file(key).map_err(|error| {
                    EngineError::Input(format!("private key {}: {error}", key.display()))
                })?;
                builder
                    .with_client_auth_cert(certificates, private)
                    .map_err(input(format!("client certificate {}", chain.display())))?
            }
        };
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        let name = ServerName::try_from(spec.server_name.clone()).map_err(|_| {
            EngineError::Input(format!("{:?} is not a name TLS can ask for", spec.server_name))
        })?;
        Ok(Self { config: Arc::new(config), name })
    }

    /// A new session, nothing sent yet.
    pub(crate) fn session(&self) -> Result<TlsSession, Failure> {
        let connection = UnbufferedClientConnection::new(self.config.clone(), self.name.clone())
            .map_err(|error| tls_failure(&error))?;
        Ok(TlsSession {
            connection,
            carry: Vec::new(),
            out: Vec::new(),
            out_at: 0,
            established: false,
            closed: false,
        })
    }
}

fn roots(ca_file: Option<&Path>) -> Result<RootCertStore, EngineError> {
    let mut roots = RootCertStore::empty();
    match ca_file {
        Some(path) => {
            for certificate in certificates(path)? {
                roots.add(certificate).map_err(|error| {
                    EngineError::Input(format!("CA certificate {}: {error}", path.display()))
                })?;
            }
        }
        None => {
            // Without any system root every certificate is refused, and that failure says why.
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    Ok(roots)
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, EngineError> {
    let bad = |what: &dyn std::fmt::Display| {
        EngineError::Input(format!("certificate file {}: {what}", path.display()))
    };
    let certificates = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| bad(&error))?;
    if certificates.is_empty() { Err(bad(&"no PEM certificate in it")) } else { Ok(certificates) }
}

/// Accepts every certificate (`-k`), but still demands that the server holds its key.
#[derive(Debug)]
struct AcceptAny {
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for AcceptAny {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, cert, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, cert, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// The TLS state of one connection.
pub(crate) struct TlsSession {
    connection: UnbufferedClientConnection,
    /// Start of a record whose rest has not come yet.
    pub(crate) carry: Vec<u8>,
    /// Records the kernel has not taken yet, from `out_at`.
    out: Vec<u8>,
    out_at: usize,
    /// The handshake is finished.
    pub(crate) established: bool,
    /// The peer said `close_notify`.
    pub(crate) closed: bool,
}

impl TlsSession {
    /// Takes in the records at the start of `received` and hands their plaintext to `plain`;
    /// returns how many bytes were used up. Records to send are queued.
    pub(crate) fn process(
        &mut self,
        received: &mut [u8],
        mut plain: impl FnMut(&[u8]),
    ) -> Result<usize, Failure> {
        let mut start = 0;
        loop {
            let UnbufferedStatus { mut discard, state, .. } =
                self.connection.process_tls_records(&mut received[start..]);
            let mut more = true;
            match state.map_err(|error| tls_failure(&error))? {
                ConnectionState::ReadTraffic(mut traffic) => {
                    while let Some(record) = traffic.next_record() {
                        let record = record.map_err(|error| tls_failure(&error))?;
                        discard += record.discard;
                        plain(record.payload);
                    }
                }
                ConnectionState::EncodeTlsData(mut data) => {
                    let queued = self.out.len();
                    let room = match data.encode(&mut []) {
                        Err(EncodeError::InsufficientSize(size)) => size.required_size,
                        _ => 0,
                    };
                    self.out.resize(queued + room, 0);
                    let encoded = data.encode(&mut self.out[queued..]).unwrap_or(0);
                    self.out.truncate(queued + encoded);
                }
                ConnectionState::TransmitTlsData(data) => data.done(),
                ConnectionState::PeerClosed => self.closed = true,
                ConnectionState::WriteTraffic(_) => {
                    self.established = true;
                    more = false;
                }
                _ => more = false,
            }
            start += discard;
            if !more {
                return Ok(start);
            }
        }
    }

    /// Queues one record with `plain`, at most [`MAX_PLAINTEXT`] bytes.
    pub(crate) fn encrypt(&mut self, plain: &[u8]) -> Result<(), Failure> {
        debug_assert!(self.out_at == self.out.len(), "encrypts only when all was sent");
        self.out_at = 0;
        let enough = plain.len() + 256;
        self.out.resize(enough, 0);
        // The bytes kept back must be shown again: parts of a message from the server may be in them.
        let status = self.connection.process_tls_records(&mut self.carry);
        debug_assert_eq!(status.discard, 0, "what could be used up was, when it came");
        let ConnectionState::WriteTraffic(mut traffic) =
            status.state.map_err(|error| tls_failure(&error))?
        else {
            self.out.clear();
            return Err(Failure::Tls("the session does not take data any more".into()));
        };
        let written = match traffic.encrypt(plain, &mut self.out) {
            Ok(written) => written,
            Err(EncryptError::InsufficientSize(size)) => {
                self.out.resize(size.required_size, 0);
                traffic
                    .encrypt(plain, &mut self.out)
                    .map_err(|error| Failure::Tls(format!("encrypting: {error}")))?
            }
            Err(error) => return Err(Failure::Tls(format!("encrypting: {error}"))),
        };
        self.out.truncate(written);
        Ok(())
    }

    /// Records to send; [`TlsSession::sent`] says how much of them was.
    pub(crate) fn pending(&self) -> &[u8] {
        &self.out[self.out_at..]
    }

    /// The kernel took this many bytes of [`TlsSession::pending`].
    pub(crate) fn sent(&mut self, bytes: usize) {
        self.out_at += bytes;
        if self.out_at == self.out.len() {
            self.out.clear();
            self.out_at = 0;
        }
    }

    /// Whether the handshake resumed an earlier session.
    pub(crate) fn resumed(&self) -> bool {
        self.connection.handshake_kind() == Some(rustls::HandshakeKind::Resumed)
    }

    /// What was negotiated.
    pub(crate) fn info(&self) -> TlsInfo {
        let version = match self.connection.protocol_version() {
            Some(rustls::ProtocolVersion::TLSv1_3) => "TLSv1.3".into(),
            Some(rustls::ProtocolVersion::TLSv1_2) => "TLSv1.2".into(),
            other => format!("{other:?}"),
        };
        let cipher = self
            .connection
            .negotiated_cipher_suite()
            .map(|suite| iana_name(suite.suite()))
            .unwrap_or_default();
        let alpn = self.connection.alpn_protocol();
        TlsInfo { version, cipher, alpn: alpn.map(|name| String::from_utf8_lossy(name).into()) }
    }
}

/// rustls names TLS 1.3 suites `TLS13_…`; IANA names them `TLS_…`.
fn iana_name(suite: rustls::CipherSuite) -> String {
    suite.as_str().map_or_else(|| format!("{suite:?}"), |name| name.replacen("TLS13_", "TLS_", 1))
}

/// A TLS error in words, with the flag that helps where one does.
fn tls_failure(error: &Error) -> Failure {
    use rustls::CertificateError as Bad;
    Failure::Tls(match error {
        Error::InvalidCertificate(
            reason @ (Bad::Expired
            | Bad::ExpiredContext { .. }
            | Bad::NotValidYet
            | Bad::NotValidYetContext { .. }),
        ) => format!(
            "the server's certificate is outside its dates ({reason}): renew it, or accept any with -k"
        ),
        Error::InvalidCertificate(
            reason @ (Bad::NotValidForName | Bad::NotValidForNameContext { .. }),
        ) => format!(
            "the server's certificate is for another name ({reason}): use that name, give it with \
             --sni NAME, or accept any with -k"
        ),
        Error::InvalidCertificate(reason) => format!(
            "the server's certificate is not trusted ({reason}): accept any with -k, or name its \
             authority with --cacert FILE"
        ),
        Error::InvalidMessage(_) => format!("the server does not speak TLS here: {error}"),
        other => other.to_string(),
    })
}

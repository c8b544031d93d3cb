//! TLS for streams, so that they pass where only port 443 does. Hosts of Windlass know the server by
//! its raw public key (RFC 7250), other TURN clients by a certificate (X.509).

use std::io::{self, ErrorKind, Read, Write};
use std::sync::Arc;

use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::CertificateType;
use rustls::server::{Acceptor, AlwaysResolvesServerRawPublicKeys, ClientHello};
use rustls::sign::CertifiedKey;
use rustls::{ServerConfig, ServerConnection};
use windlass_identity::SecretKey;

/// A chain of certificates and the key of the first one.
#[derive(Debug)]
pub struct Certificate {
    /// The chain, the server's own certificate first.
    pub chain: Vec<CertificateDer<'static>>,
    /// The private key of the server's own certificate.
    pub key: PrivateKeyDer<'static>,
}

impl Certificate {
    /// Reads a chain and its key in PEM.
    ///
    /// # Errors
    ///
    /// There is no certificate or no key, or PEM is malformed.
    pub fn from_pem(chain: &[u8], key: &[u8]) -> Result<Certificate, pem::Error> {
        let chain: Vec<_> = CertificateDer::pem_slice_iter(chain).collect::<Result<_, _>>()?;
        if chain.is_empty() {
            return Err(pem::Error::NoItemsFound);
        }
        Ok(Certificate { chain, key: PrivateKeyDer::from_pem_slice(key)? })
    }
}

/// The keys with which streams are accepted. Clones share them.
#[derive(Clone)]
pub(super) struct Tls {
    raw_key: Arc<ServerConfig>,
    certificate: Option<Arc<ServerConfig>>,
}

impl Tls {
    pub(super) fn new(
        key: &SecretKey,
        certificate: Option<Certificate>,
    ) -> Result<Tls, rustls::Error> {
        let provider = Arc::new(ring::default_provider());
        let signer = provider.key_provider.load_private_key(key.to_pkcs8_der().into())?;
        let spki = CertificateDer::from(key.public_key().to_spki_der().to_vec());
        let certified = Arc::new(CertifiedKey::new(vec![spki], signer));
        let resolver = Arc::new(AlwaysResolvesServerRawPublicKeys::new(certified));
        let raw_key = builder(&provider)?.with_cert_resolver(resolver);
        let with = |own: Certificate| builder(&provider)?.with_single_cert(own.chain, own.key);
        let certificate = certificate.map(with).transpose()?.map(Arc::new);
        Ok(Tls { raw_key: Arc::new(raw_key), certificate })
    }

    /// The settings for a client: a raw key if it takes one.
    fn choose(&self, hello: &ClientHello<'_>) -> Arc<ServerConfig> {
        let takes_raw_keys = hello
            .server_cert_types()
            .is_some_and(|types| types.contains(&CertificateType::RawPublicKey));
        match &self.certificate {
            Some(config) if !takes_raw_keys => Arc::clone(config),
            // Without a certificate, the handshake tells the client that there is none.
            _ => Arc::clone(&self.raw_key),
        }
    }
}

fn builder(
    provider: &Arc<CryptoProvider>,
) -> Result<rustls::ConfigBuilder<ServerConfig, rustls::server::WantsServerCert>, rustls::Error> {
    let builder = ServerConfig::builder_with_provider(Arc::clone(provider));
    Ok(builder.with_safe_default_protocol_versions()?.with_no_client_auth())
}

/// How the bytes of a stream are protected.
pub(super) enum Security {
    /// Not at all.
    Plain {
        /// Bytes for the socket.
        out: Vec<u8>,
    },
    /// TLS, before the client's first message is complete.
    Accepting(Box<(Acceptor, Tls)>),
    /// TLS, from then on.
    Tls(Box<ServerConnection>),
}

/// Whether a stream goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// There may be more to read.
    More,
    /// Nothing to read at present.
    Blocked,
    /// The stream has ended.
    Ended,
}

impl Security {
    pub(super) fn plain() -> Security {
        Security::Plain { out: Vec::new() }
    }

    pub(super) fn tls(tls: Tls) -> Security {
        Security::Accepting(Box::new((Acceptor::default(), tls)))
    }

    /// Reads once from the socket, and appends what the client said to `inbox`.
    ///
    /// # Errors
    ///
    /// The socket's error, or `InvalidData` for bytes that are not TLS.
    pub(super) fn read(
        &mut self,
        socket: &mut (impl Read + Write),
        inbox: &mut Vec<u8>,
    ) -> io::Result<Progress> {
        let count = match self {
            Security::Plain { .. } => {
                let mut bytes = [0; 4096];
                let count = socket.read(&mut bytes);
                inbox.extend_from_slice(&bytes[..*count.as_ref().unwrap_or(&0)]);
                count
            }
            Security::Accepting(accepting) => accepting.0.read_tls(socket),
            Security::Tls(tls) => tls.read_tls(socket),
        };
        match count {
            Ok(0) => return Ok(Progress::Ended),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(Progress::Blocked),
            Err(error) if error.kind() == ErrorKind::Interrupted => return Ok(Progress::More),
            Err(error) => return Err(error),
        }
        self.accept(socket)?;
        if let Security::Tls(tls) = self {
            let state = match tls.process_new_packets() {
                Ok(state) => state,
                Err(error) => {
                    // The alert says why.
                    let _ = tls.write_tls(socket);
                    return Err(io::Error::new(ErrorKind::InvalidData, error));
                }
            };
            let plain = state.plaintext_bytes_to_read() as u64;
            tls.reader().take(plain).read_to_end(inbox)?;
            if state.peer_has_closed() {
                return Ok(Progress::Ended);
            }
        }
        Ok(Progress::More)
    }

    /// Goes on with TLS when the client's first message is complete.
    fn accept(&mut self, socket: &mut impl Write) -> io::Result<()> {
        let Security::Accepting(accepting) = self else { return Ok(()) };
        let (acceptor, tls) = &mut **accepting;
        let connection = match acceptor.accept() {
            Ok(None) => return Ok(()),
            Ok(Some(accepted)) => {
                let config = tls.choose(&accepted.client_hello());
                accepted.into_connection(config)
            }
            Err(error) => Err(error),
        };
        match connection {
            Ok(mut connection) => {
                // The stream bounds what waits.
                connection.set_buffer_limit(None);
                *self = Security::Tls(Box::new(connection));
                Ok(())
            }
            Err((error, mut alert)) => {
                let _ = alert.write_all(socket);
                Err(io::Error::new(ErrorKind::InvalidData, error))
            }
        }
    }

    /// Takes bytes for the client.
    pub(super) fn queue(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Security::Plain { out } => out.extend_from_slice(bytes),
            // Nothing has asked for an answer yet.
            Security::Accepting(_) => {}
            Security::Tls(tls) => tls.writer().write_all(bytes)?,
        }
        Ok(())
    }

    /// Writes to the socket what it takes. Returns the number of bytes, and true if nothing is left.
    pub(super) fn write(&mut self, socket: &mut impl Write) -> io::Result<(usize, bool)> {
        let mut all = 0;
        loop {
            let written = match self {
                Security::Plain { out } if !out.is_empty() => {
                    socket.write(out).inspect(|count| drop(out.drain(..*count)))
                }
                Security::Tls(tls) if tls.wants_write() => tls.write_tls(socket),
                _ => return Ok((all, true)),
            };
            match written {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => all += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok((all, false)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Tells the client that the server ends the stream.
    pub(super) fn close(&mut self, socket: &mut impl Write) {
        if let Security::Tls(tls) = self {
            tls.send_close_notify();
            let _ = self.write(socket);
        }
    }
}

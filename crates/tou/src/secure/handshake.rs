//! The handshake without I/O: bytes in, bytes out.

use super::channel::{Receiver, Sender, channel};
use super::keys::KeySchedule;
use super::record::parse_header;
use super::verifier::{Accepted, Verifier};
use super::{ALPN, Allow, Error, Identity};
use rustls::client::{Resumption, UnbufferedClientConnection};
use rustls::pki_types::ServerName;
use rustls::server::{NoServerSessionStorage, UnbufferedServerConnection};
use rustls::unbuffered::{ConnectionState, EncodeError, UnbufferedStatus};
use rustls::version::TLS13;
use rustls::{ClientConfig, ServerConfig};
use std::fmt;
use std::net::Ipv4Addr;
use std::sync::Arc;
use windlass_identity::PublicKey;

/// One end of a handshake, without I/O.
///
/// Send what [`Handshake::take_output`] returns, pass arriving bytes to [`Handshake::handle_input`],
/// and repeat both until [`Handshake::is_complete`]. Then [`Handshake::finish`] gives the two
/// directions of the connection. After an error, send the output once more: it contains the alert
/// for the peer.
pub struct Handshake {
    connection: Connection,
    verifier: Arc<Verifier>,
    own: PublicKey,
    incoming: Vec<u8>,
    /// Bytes of `incoming` that rustls has seen: whole records.
    seen: usize,
    output: Vec<u8>,
    is_complete: bool,
}

enum Connection {
    Client(UnbufferedClientConnection),
    Server(UnbufferedServerConnection),
}

/// The next step of the handshake after one call of rustls.
enum Step {
    Repeat,
    Input,
    Traffic,
}

impl Handshake {
    /// The client's end. Its first message is in the output. Only a server with the key `peer`
    /// passes.
    ///
    /// # Errors
    /// [`Error::Protocol`] if the system provides no randomness.
    pub fn client(identity: &Identity, peer: PublicKey) -> Result<Handshake, Error> {
        let verifier = Verifier::new(Accepted::Only(peer));
        let own = identity.public_key();
        let config =
            client_config(identity, &verifier).map_err(|error| Error::of_tls(&error, own))?;
        // An address instead of a name: then the client sends no name.
        let name = ServerName::IpAddress(Ipv4Addr::UNSPECIFIED.into());
        let connection = UnbufferedClientConnection::new(Arc::new(config), name)
            .map_err(|error| Error::of_tls(&error, own))?;
        let mut handshake = Handshake::new(Connection::Client(connection), verifier, own);
        handshake.advance()?;
        Ok(handshake)
    }

    /// The server's end. Only clients whose keys `allow` permits pass.
    ///
    /// # Errors
    /// [`Error::Protocol`] if rustls refuses the configuration, which does not happen.
    pub fn server(identity: &Identity, allow: &Allow) -> Result<Handshake, Error> {
        let verifier = Verifier::new(Accepted::Allowed(allow.clone()));
        let own = identity.public_key();
        let connection = server_config(identity, &verifier)
            .and_then(|config| UnbufferedServerConnection::new(Arc::new(config)))
            .map_err(|error| Error::of_tls(&error, own))?;
        Ok(Handshake::new(Connection::Server(connection), verifier, own))
    }

    fn new(connection: Connection, verifier: Arc<Verifier>, own: PublicKey) -> Handshake {
        Handshake {
            connection,
            verifier,
            own,
            incoming: Vec::new(),
            seen: 0,
            output: Vec::new(),
            is_complete: false,
        }
    }

    /// The bytes to send now.
    pub fn take_output(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.output)
    }

    /// Whether both ends are authenticated. A client must then still send its output.
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Handles bytes that have arrived. Bytes beyond the handshake are kept for the [`Receiver`].
    ///
    /// # Errors
    /// - [`Error::WrongPeer`], [`Error::NotAllowed`] if the peer's key is not accepted;
    /// - [`Error::Refused`] if the peer does not accept the key of this end;
    /// - [`Error::NotTls`], [`Error::Protocol`], [`Error::Alert`] if there is no agreement.
    pub fn handle_input(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.incoming.extend_from_slice(bytes);
        // Record by record, so that rustls takes none that belongs to the application.
        while !self.is_complete
            && let Some((_, len)) = parse_header(&self.incoming[self.seen..])?
            && let end = self.seen + len
            && end <= self.incoming.len()
        {
            self.seen = end;
            if let Err(error) = self.advance() {
                self.collect_alert();
                return Err(error);
            }
        }
        Ok(())
    }

    /// The two directions of the connection, and the peer's key.
    ///
    /// # Errors
    /// [`Error::Protocol`] before the handshake is complete.
    pub fn finish(self) -> Result<(Sender, Receiver, PublicKey), Error> {
        let own = self.own;
        let failed = |error: rustls::Error| Error::of_tls(&error, own);
        let peer = match self.verifier.verdict() {
            Some(Ok(peer)) if self.is_complete => *peer,
            _ => return Err(failed(rustls::Error::HandshakeNotComplete)),
        };
        let (secrets, keys) = match self.connection {
            Connection::Client(connection) => {
                let taken = connection.dangerous_into_kernel_connection().map_err(failed)?;
                (taken.0, KeySchedule::Client(taken.1))
            }
            Connection::Server(connection) => {
                let taken = connection.dangerous_into_kernel_connection().map_err(failed)?;
                (taken.0, KeySchedule::Server(taken.1))
            }
        };
        let (sender, receiver) = channel(secrets, keys, own, &self.incoming[self.seen..])?;
        Ok((sender, receiver, peer))
    }

    /// Lets rustls work on the records seen so far.
    fn advance(&mut self) -> Result<(), Error> {
        loop {
            match self.step() {
                Ok(Step::Repeat) => {}
                Ok(Step::Input) => return Ok(()),
                Ok(Step::Traffic) => return self.complete(),
                Err(error) => {
                    // The verifier knows better than rustls why a key was not accepted.
                    let verdict = self.verifier.verdict().and_then(|verdict| verdict.clone().err());
                    return Err(verdict.unwrap_or_else(|| Error::of_tls(&error, self.own)));
                }
            }
        }
    }

    fn step(&mut self) -> Result<Step, rustls::Error> {
        let records = &mut self.incoming[..self.seen];
        let (used, step) = match &mut self.connection {
            Connection::Client(connection) => {
                step(connection.process_tls_records(records), &mut self.output)
            }
            Connection::Server(connection) => {
                step(connection.process_tls_records(records), &mut self.output)
            }
        };
        self.incoming.drain(..used);
        self.seen -= used;
        step
    }

    /// The server may send before the client is authenticated, but does not.
    fn complete(&mut self) -> Result<(), Error> {
        let (is_handshaking, protocol) = match &self.connection {
            Connection::Client(connection) => {
                (connection.is_handshaking(), connection.alpn_protocol())
            }
            Connection::Server(connection) => {
                (connection.is_handshaking(), connection.alpn_protocol())
            }
        };
        // rustls lets a server send before the client has proved its key.
        if is_handshaking {
            return Ok(());
        }
        // RFC 7301: a key of ToU is of no use in another protocol.
        if protocol != Some(ALPN) {
            return Err(Error::Protocol("the peer offers another protocol (ALPN)".into()));
        }
        self.is_complete = true;
        Ok(())
    }

    /// After an error: the alert that rustls has for the peer. A single step, which gives it out before
    /// rustls looks at its input: there it would find the same fault once more.
    fn collect_alert(&mut self) {
        let _ = self.step();
    }
}

impl fmt::Debug for Handshake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Handshake");
        shown.field("own", &self.own).field("is_complete", &self.is_complete);
        shown.finish_non_exhaustive()
    }
}

/// Handles one status of rustls. Returns the bytes to discard, and what follows.
fn step<Data>(
    status: UnbufferedStatus<'_, '_, Data>,
    output: &mut Vec<u8>,
) -> (usize, Result<Step, rustls::Error>) {
    let unexpected = |what: &str| Err(rustls::Error::General(what.into()));
    let step = match status.state {
        Ok(ConnectionState::EncodeTlsData(mut message)) => {
            let needed = match message.encode(&mut []) {
                Err(EncodeError::InsufficientSize(size)) => size.required_size,
                _ => 0,
            };
            let start = output.len();
            output.resize(start + needed, 0);
            match message.encode(&mut output[start..]) {
                Ok(_) => Ok(Step::Repeat),
                Err(_) => unexpected("a message that cannot be encoded"),
            }
        }
        Ok(ConnectionState::TransmitTlsData(sent)) => {
            sent.done();
            Ok(Step::Repeat)
        }
        Ok(ConnectionState::BlockedHandshake) => Ok(Step::Input),
        Ok(ConnectionState::WriteTraffic(_)) => Ok(Step::Traffic),
        Ok(_) => unexpected("the peer closed during the handshake"),
        Err(error) => Err(error),
    };
    (status.discard, step)
}

pub(super) fn client_config(
    identity: &Identity,
    verifier: &Arc<Verifier>,
) -> Result<ClientConfig, rustls::Error> {
    let resolver = rustls::client::AlwaysResolvesClientRawPublicKeys::new(identity.certified());
    let mut config = ClientConfig::builder_with_provider(identity.provider())
        .with_protocol_versions(&[&TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(Arc::clone(verifier) as _)
        .with_client_cert_resolver(Arc::new(resolver));
    config.alpn_protocols = vec![ALPN.to_vec()];
    config.resumption = Resumption::disabled();
    config.enable_sni = false;
    config.enable_secret_extraction = true;
    Ok(config)
}

pub(super) fn server_config(
    identity: &Identity,
    verifier: &Arc<Verifier>,
) -> Result<ServerConfig, rustls::Error> {
    let resolver = rustls::server::AlwaysResolvesServerRawPublicKeys::new(identity.certified());
    let mut config = ServerConfig::builder_with_provider(identity.provider())
        .with_protocol_versions(&[&TLS13])?
        .with_client_cert_verifier(Arc::clone(verifier) as _)
        .with_cert_resolver(Arc::new(resolver));
    config.alpn_protocols = vec![ALPN.to_vec()];
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    config.enable_secret_extraction = true;
    Ok(config)
}

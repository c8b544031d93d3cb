//! The key schedule after the handshake: rustls derives the next keys of each direction.

use super::Error;
use super::record::{Opener, Sealer};
use rustls::client::ClientConnectionData;
use rustls::kernel::KernelConnection;
use rustls::server::ServerConnectionData;

/// Derives the keys that follow a key update (RFC 8446, section 7.2).
pub(super) enum KeySchedule {
    Client(KernelConnection<ClientConnectionData>),
    Server(KernelConnection<ServerConnectionData>),
}

impl KeySchedule {
    /// The next keys for sending.
    pub(super) fn next_sealer(&mut self) -> Result<Sealer, Error> {
        let secrets = match self {
            KeySchedule::Client(connection) => connection.update_tx_secret(),
            KeySchedule::Server(connection) => connection.update_tx_secret(),
        };
        Sealer::new(secrets.map_err(no_keys)?)
    }

    /// The next keys for receiving.
    pub(super) fn next_opener(&mut self) -> Result<Opener, Error> {
        let secrets = match self {
            KeySchedule::Client(connection) => connection.update_rx_secret(),
            KeySchedule::Server(connection) => connection.update_rx_secret(),
        };
        Opener::new(secrets.map_err(no_keys)?)
    }

    /// Records after which a key is to be replaced (section 5.5).
    pub(super) fn record_limit(&self) -> u64 {
        let suite = match self {
            KeySchedule::Client(connection) => connection.negotiated_cipher_suite(),
            KeySchedule::Server(connection) => connection.negotiated_cipher_suite(),
        };
        suite.tls13().map_or(0, |suite| suite.common.confidentiality_limit)
    }
}

fn no_keys(error: rustls::Error) -> Error {
    Error::Protocol(error.to_string())
}

//! Applications: their keys, and the traffic that they describe.

use crate::units::NoSettingsKeys;
use windlass_base::Span;
use windlass_keys::{Bytes, Positive, choice, keys};
use windlass_sim::model::TcpApp;

choice! {
    /// Amount and timing of the data that a TCP sender writes.
    enum AppKeys as "an application" {
        /// As much as the connection takes.
        Bulk(NoSettingsKeys) = "bulk",
        /// So many bytes, then FIN.
        Transfer(TransferKeys) = "transfer",
        /// One transfer after the other, each on a connection of its own.
        Repeated(RepeatedKeys) = "repeated",
    }
}

keys! {
    /// Settings of a transfer.
    struct TransferKeys {
        /// Size of the transfer.
        size: Bytes,
    }
}

keys! {
    /// Settings of repeated transfers.
    struct RepeatedKeys {
        /// Size of each.
        size: Bytes,
        /// Time from the end of one transfer to the start of the next.
        pause: Span,
        /// Draw the pauses from an exponential distribution with that mean. Default: false.
        exponential: Option<bool>,
        /// Number of transfers. Default: until the end.
        count: Option<Positive>,
    }
}

impl AppKeys {
    /// The application of the simulator.
    pub(crate) fn app(&self) -> TcpApp {
        match self {
            AppKeys::Bulk(_) => TcpApp::Bulk,
            AppKeys::Transfer(keys) => TcpApp::Transfer { bytes: keys.size.0 },
            AppKeys::Repeated(keys) => TcpApp::Repeated {
                bytes: keys.size.0,
                pause: keys.pause,
                exponential: keys.exponential.unwrap_or(false),
                count: keys.count.map(|count| u64::from(count.0)),
            },
        }
    }
}

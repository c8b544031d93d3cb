//! The keys of flows of other transports.

use crate::any_kind::{AnyKind, KnownKinds};
use crate::registry::{Kind, Registry};
use crate::units::NoSettingsKeys;
use std::sync::Arc;
use windlass_base::Span;
use windlass_keys::{Bytes, Located, Name, Positive, choice, keys, words};
use windlass_sim::endpoint::EndpointFactory;

keys! {
    /// A flow of another transport than TCP.
    struct EndpointKeys {
        /// Its name in results. Default: endpoint1, endpoint2, ... by position.
        name: Option<Located<Name>>,
        /// The sending host.
        from: Located<String>,
        /// The receiving host. Default with a shorthand: the host at the other end.
        to: Option<Located<String>>,
        /// When it begins. Default: 0s.
        start: Option<Located<Span>>,
        /// When the application at the sender stops writing. Default: never.
        stop: Option<Located<Span>>,
        /// The transport of both ends.
        stack: Located<StackKind>,
        /// The transport of the receiver, if it is another one.
        receiver_stack: Option<Located<StackKind>>,
        /// The application. Default: bulk.
        app: Option<Located<EndpointAppKeys>>,
        /// The end that opens the connection. Default: sender; with requests: receiver.
        opens: Option<Located<OpensKeys>>,
    }
}

choice! {
    /// A transport.
    enum StackKeys as "a transport" {
        /// A fixed window of datagrams, without congestion control, for experiments.
        FixedWindow(FixedWindowKeys) = "fixed-window",
    }
}

/// A transport: one of Windlass's, or one of the registry's.
pub(crate) type StackKind = AnyKind<StackKeys>;

impl KnownKinds for StackKeys {
    type Custom = Arc<dyn EndpointFactory>;
    type Beside = NoSettingsKeys;

    fn added(registry: &Registry) -> &[Kind<Self::Custom>] {
        &registry.endpoints
    }
}

keys! {
    /// Settings of the fixed window.
    struct FixedWindowKeys {
        /// Datagrams in flight at most. Default: 10.
        window: Option<Positive>,
        /// Bytes of a datagram without IP and UDP headers, from 8 to 65507. Default: 1200B.
        datagram: Option<Located<Bytes>>,
        /// A datagram is sent again when it was not acknowledged for so long. Default: 1s.
        timeout: Option<Located<Span>>,
    }
}

choice! {
    /// The application of an endpoint's flow.
    enum EndpointAppKeys as "an application" {
        /// As much as the connection takes.
        Bulk(NoSettingsKeys) = "bulk",
        /// So many bytes, then the end of the stream.
        Transfer(EndpointTransferKeys) = "transfer",
        /// Requests of the receiver, and responses.
        Requests(EndpointRequestsKeys) = "requests",
    }
}

keys! {
    /// Settings of a transfer.
    struct EndpointTransferKeys {
        /// Size of the transfer.
        size: Bytes,
    }
}

keys! {
    /// Settings of requests and responses, one after the other.
    struct EndpointRequestsKeys {
        /// Size of a request. Default: 300B.
        request: Option<Bytes>,
        /// Size of a response.
        response: Bytes,
        /// Time from a response to the next request. Default: 0s.
        think: Option<Span>,
        /// Number of requests. Default: until the end.
        count: Option<Positive>,
    }
}

words! {
    /// An end of a flow.
    enum OpensKeys as "an end of the flow" {
        /// The sender: an upload.
        Sender = "sender",
        /// The receiver: a download.
        Receiver = "receiver",
    }
}

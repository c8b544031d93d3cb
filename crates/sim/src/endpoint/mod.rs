//! Transports of other crates on simulated hosts.
//!
//! An [`Endpoint`] is one end of a connection of any transport that does no I/O: datagrams go in and come out, and
//! time is an argument. The simulator carries its datagrams through the same links, queues and middleboxes as TCP
//! segments and UDP packets. An [`EndpointFactory`] makes the two ends of a flow for each run;
//! `windlass_scenario::Registry::endpoint` gives it a name in scenario files.
//!
//! # Contract
//!
//! The simulator changes an endpoint by one of [`start`](Endpoint::start), [`stop`](Endpoint::stop),
//! [`handle_datagram`](Endpoint::handle_datagram) and [`handle_timeout`](Endpoint::handle_timeout). Then it drains it:
//! [`poll_transmit`](Endpoint::poll_transmit) and [`poll_event`](Endpoint::poll_event) until both return `None`, and
//! [`poll_timeout`](Endpoint::poll_timeout) once. Between two changes it calls nothing but getters.
//!
//! A run is a function of scenario and seed only if its endpoints are: they draw from
//! [`EndpointParams::rng`] alone, read no clock, and iterate over no table whose order is random.

//! # Example
//!
//! A beacon sends a datagram of 100 bytes every 10 ms, and its receiver counts them:
//!
//! ```
//! use std::sync::Arc;
//! use windlass_base::{Ecn, Span, Time};
//! use windlass_sim::endpoint::{
//!     Datagram, Endpoint, EndpointEvent, EndpointFactory, EndpointParams, Side, Transmit,
//! };
//! use windlass_sim::run;
//!
//! #[derive(Debug)]
//! struct Beacon;
//!
//! impl EndpointFactory for Beacon {
//!     fn name(&self) -> &'static str {
//!         "beacon"
//!     }
//!     fn build(&self, params: EndpointParams) -> Box<dyn Endpoint> {
//!         Box::new(End { side: params.side, due: None, arrived: 0 })
//!     }
//! }
//!
//! #[derive(Debug)]
//! struct End {
//!     side: Side,
//!     due: Option<Time>,
//!     arrived: u64,
//! }
//!
//! impl Endpoint for End {
//!     fn start(&mut self, now: Time) {
//!         self.due = (self.side == Side::Sender).then_some(now);
//!     }
//!     fn handle_datagram(&mut self, _: Time, datagram: Datagram) {
//!         self.arrived += u64::from(datagram.size);
//!     }
//!     fn handle_timeout(&mut self, _: Time) {}
//!     fn poll_timeout(&mut self) -> Option<Time> {
//!         self.due
//!     }
//!     fn poll_transmit(&mut self, now: Time, _: &mut Vec<u8>) -> Option<Transmit> {
//!         let due = self.due.filter(|due| *due <= now)?;
//!         self.due = Some(due + Span::from_millis(10));
//!         Some(Transmit { size: 100, ecn: Ecn::NotEct })
//!     }
//!     fn poll_event(&mut self) -> Option<EndpointEvent> {
//!         let bytes = std::mem::take(&mut self.arrived);
//!         (bytes > 0).then_some(EndpointEvent::Delivered { bytes })
//!     }
//! }
//!
//! let text = r#"
//!     schema = 2
//!     name = "beacon"
//!     duration = "1s"
//!     nodes = ["a", "b"]
//!     links = [{ a = "a", b = "b", rate = "1Mbit/s", delay = "5ms" }]
//!     endpoints = [{ from = "a", to = "b", stack = "fixed-window" }]
//! "#;
//! let mut document = windlass_scenario::from_toml("beacon.toml", text, &[])?;
//! // A registry gives it a name in scenario files; a program may as well put it in place.
//! document.scenario.endpoints[0].ends = [Arc::new(Beacon), Arc::new(Beacon)];
//! let summary = run(&document.scenario, 1, &mut ())?;
//!
//! assert_eq!(summary.endpoints[0].receiver.delivered_bytes, 100 * 100);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod fixed_window;

pub use fixed_window::FixedWindow;

use std::fmt;
use windlass_base::{Ecn, Rng, Span, Time};

/// Headers of IPv4 without options and of UDP, in bytes.
pub const UDP_OVER_IPV4_BYTES: u32 = 28;

/// One end of a connection of a transport without I/O, with the application on it.
pub trait Endpoint: fmt::Debug {
    /// The flow begins. The end that [opens](EndpointParams::opens) connects; the other one accepts. An end may get
    /// datagrams before its start, as both start at the same time, one after the other.
    fn start(&mut self, now: Time);

    /// The application at the sender stops writing. Data that it has written are still delivered. Default: nothing.
    fn stop(&mut self, now: Time) {
        let _ = now;
    }

    /// Processes a datagram of the other end.
    fn handle_datagram(&mut self, now: Time, datagram: Datagram);

    /// Processes a due timer. It may be called a little early or without need.
    fn handle_timeout(&mut self, now: Time);

    /// When to call [`handle_timeout`](Endpoint::handle_timeout); `None` if no timer is set. A time that has passed
    /// means at once, but not before the clock has moved by a nanosecond.
    fn poll_timeout(&mut self) -> Option<Time>;

    /// The next datagram to send, one at a time; `None` if there is none at present. The bytes go into `payload`,
    /// which is empty; they may be fewer than [`Transmit::size`], and the others have no content.
    fn poll_transmit(&mut self, now: Time, payload: &mut Vec<u8>) -> Option<Transmit>;

    /// The next event of the application or the connection.
    fn poll_event(&mut self) -> Option<EndpointEvent>;

    /// The state of the sender for time series and means. The simulator reads the sender's after each change.
    /// Default: nothing known.
    fn status(&self) -> EndpointStatus {
        EndpointStatus::default()
    }

    /// Counters of this end by name, for the summary of a run. Default: none.
    fn counters(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// Bytes on a link beside those of each datagram. Default: [`UDP_OVER_IPV4_BYTES`]; 0 for a transport whose
    /// datagrams are whole IP packets.
    fn header_bytes(&self) -> u32 {
        UDP_OVER_IPV4_BYTES
    }
}

/// A datagram that arrives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// The bytes that the other end wrote; they may be fewer than `size`.
    pub payload: Vec<u8>,
    /// Its size without headers, as the other end gave it.
    pub size: u32,
    /// The codepoint in its IP header. Queues on the path may have set [`Ecn::Ce`].
    pub ecn: Ecn,
}

/// A datagram to send, beside its bytes.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// Its size in bytes, without [headers](Endpoint::header_bytes).
    pub size: u32,
    /// The codepoint of its IP header.
    pub ecn: Ecn,
}

/// An event of an endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EndpointEvent {
    /// The connection is established, as this end sees it.
    Connected,
    /// So many further bytes of the application have arrived at this end, in order.
    Delivered {
        /// Bytes since the last event.
        bytes: u64,
    },
    /// A transfer or a response has arrived whole at this end.
    TransferDone {
        /// When the flow began, or when its request was sent.
        begun: Time,
        /// Its bytes, those of the request excluded.
        bytes: u64,
    },
    /// The application has done all that it ever will. Once from either end of a flow.
    Finished,
    /// The connection has failed; no more will come.
    Failed {
        /// The transport's own words.
        reason: String,
    },
}

/// The state of a sender. `None`: the transport does not tell.
#[derive(Copy, Clone, Debug, Default, PartialEq)]
pub struct EndpointStatus {
    /// The congestion window in bytes.
    pub cwnd_bytes: Option<u64>,
    /// The slow-start threshold in bytes; also `None` while there is none.
    pub ssthresh_bytes: Option<u64>,
    /// The smoothed round-trip time; also `None` before the first sample.
    pub srtt: Option<Span>,
    /// Bytes in flight.
    pub in_flight_bytes: Option<u64>,
    /// Packets that the sender has declared lost so far.
    pub lost_packets: Option<u64>,
}

/// An end of a flow.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Side {
    /// The end that sends the data: uploads, or answers requests.
    Sender,
    /// The end that receives the data.
    Receiver,
}

impl Side {
    /// The sender first.
    pub const BOTH: [Side; 2] = [Side::Sender, Side::Receiver];

    /// 0 for the sender, 1 for the receiver.
    pub fn index(self) -> usize {
        match self {
            Side::Sender => 0,
            Side::Receiver => 1,
        }
    }
}

/// The application of a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EndpointApp {
    /// The sender writes as much as the connection takes.
    Bulk,
    /// The sender writes so many bytes and ends its stream.
    Transfer {
        /// Size of the transfer.
        bytes: u64,
    },
    /// The receiver, which opens the connection, asks; the sender answers. One exchange after the other, each on a
    /// stream of its own where the transport has streams.
    Requests(EndpointRequests),
}

/// Requests and responses.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct EndpointRequests {
    /// Bytes of a request.
    pub request: u64,
    /// Bytes of a response.
    pub response: u64,
    /// From the end of a response to the next request.
    pub think: Span,
    /// How many; `None`: until the end.
    pub count: Option<u64>,
}

/// The parameters of an endpoint.
#[derive(Clone, Debug)]
pub struct EndpointParams {
    /// Which end of the flow it is.
    pub side: Side,
    /// Whether it opens the connection.
    pub opens: bool,
    /// The application.
    pub app: EndpointApp,
    /// When the flow begins, jitter included.
    pub start: Time,
    /// The only source of randomness: its own, and the same for the same seed of the run.
    pub rng: Rng,
}

/// Makes the ends of flows for each run.
pub trait EndpointFactory: fmt::Debug + Send + Sync {
    /// The name of the transport in summaries.
    fn name(&self) -> &'static str;

    /// The name of its congestion controller in summaries; empty if it has none.
    fn controller(&self) -> &str {
        ""
    }

    /// Whether it can run an application. Default: any.
    ///
    /// # Errors
    ///
    /// The application that it cannot run, as a sentence for the author of a scenario.
    fn check(&self, app: &EndpointApp) -> Result<(), String> {
        let _ = app;
        Ok(())
    }

    /// One end of a flow, which has not started yet.
    fn build(&self, params: EndpointParams) -> Box<dyn Endpoint>;
}

//! A scenario: plain data from which a network is built. `windlass-scenario` reads it from files, and
//! expands their shorthands.

use crate::endpoint::EndpointFactory;
pub use crate::endpoint::{EndpointApp, EndpointRequests, Side};
use crate::middlebox::MiddleboxFactory;
pub use crate::packet::NodeId;
use std::sync::Arc;
use windlass_aqm as aqm;
use windlass_base::{BitRate, Ecn, Span};
use windlass_ecn_proxy_core as ecn_proxy_core;
pub use windlass_link_model::{self as link_model, GilbertElliott, Variation};
use windlass_tcp as tcp;
pub use windlass_traffic as traffic;

/// One experiment.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// A short name, also that of its results.
    pub name: String,
    /// Purpose of the experiment and its source (paper, section, table).
    pub description: String,
    /// Simulated time from 0 to the end.
    pub duration: Span,
    /// The run ends as soon as every TCP flow is done, if that is before `duration`.
    pub until_done: bool,
    /// The steady window begins here and lasts to the end.
    pub steady_from: Span,
    /// The summary has rates and fairness over time, in intervals of this length, above zero; `None`: it
    /// has not.
    pub interval: Option<Span>,
    /// Added to every start time: a uniform draw from 0 to this.
    pub jitter: Span,
    /// Names of hosts and routers.
    pub nodes: Vec<String>,
    /// Full-duplex links.
    pub links: Vec<Link>,
    /// TCP flows.
    pub flows: Vec<Flow>,
    /// UDP sources.
    pub udp: Vec<UdpFlow>,
    /// Flows of other transports.
    pub endpoints: Vec<EndpointFlow>,
    /// Middleboxes on the nodes.
    pub middleboxes: Vec<Middlebox>,
    /// Equal-cost multi-path: where a node has several next hops of equal delay and number of hops, a
    /// hash of each connection's addresses and ports chooses. False: every packet takes the first link.
    pub ecmp: bool,
    /// The link direction whose queue the summary reports first.
    pub bottleneck: LinkDirection,
}

impl Scenario {
    /// The node of that name.
    pub fn node(&self, name: &str) -> Option<NodeId> {
        self.nodes.iter().position(|node| node == name)
    }

    /// One direction of a link, which must be one of this scenario's.
    pub fn channel(&self, direction: LinkDirection) -> &Channel {
        let link = &self.links[direction.link];
        if direction.reverse { &link.backward } else { &link.forward }
    }

    /// One direction of a link, to be changed before a run. It must be one of this scenario's.
    pub fn channel_mut(&mut self, direction: LinkDirection) -> &mut Channel {
        let link = &mut self.links[direction.link];
        if direction.reverse { &mut link.backward } else { &mut link.forward }
    }
}

/// A device on a node that processes the packets which pass it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Middlebox {
    /// ECN for hosts that do not ask for it.
    EcnProxy {
        /// The node that hosts it.
        node: NodeId,
        /// The hosts that it serves.
        served: Vec<NodeId>,
        /// How it signals marks to their senders.
        policy: ecn_proxy_core::Policy,
    },
    /// The proxy of Sprenger 2016: ECN between the hosts of its two sides.
    DuplicateAcks {
        /// The node that hosts it.
        node: NodeId,
        /// The hosts on one side.
        served: Vec<NodeId>,
        /// Which reading of the paper it follows.
        variant: DuplicateAcks,
    },
    /// A middlebox of another crate.
    Custom {
        /// The node that hosts it.
        node: NodeId,
        /// Builds it for a run.
        factory: CustomMiddlebox,
    },
}

impl Middlebox {
    /// The node that hosts it.
    pub fn node(&self) -> NodeId {
        match self {
            Middlebox::EcnProxy { node, .. }
            | Middlebox::DuplicateAcks { node, .. }
            | Middlebox::Custom { node, .. } => *node,
        }
    }
}

/// Which reading of Sprenger 2016 a [`Middlebox::DuplicateAcks`] follows.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum DuplicateAcks {
    /// The state machine of section 3.1.2, which never sets CWR: the far host's ECE does not end.
    StateMachine,
    /// The same, with the CWR that the text before the state machine speaks of.
    WithCwr,
    /// Listing D.1: as the state machine, but where nothing is echoed it saves the ACK flag instead of
    /// the ACK number. It also forgets an echo with the third of the packets that it edits.
    Printed,
}

/// A factory in a [`Middlebox`]. It equals only itself and its clones.
#[derive(Clone, Debug)]
pub struct CustomMiddlebox(pub Arc<dyn MiddleboxFactory>);

impl PartialEq for CustomMiddlebox {
    fn eq(&self, other: &CustomMiddlebox) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for CustomMiddlebox {}

/// One direction of a link.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct LinkDirection {
    /// The link: an index into [`Scenario::links`].
    pub link: usize,
    /// False: from [`Link::a`] to [`Link::b`]; true: the way back.
    pub reverse: bool,
}

/// A full-duplex link.
#[derive(Clone, Debug)]
pub struct Link {
    /// `a-b` unless the file names it.
    pub name: String,
    /// One end.
    pub a: NodeId,
    /// The other end.
    pub b: NodeId,
    /// From `a` to `b`.
    pub forward: Channel,
    /// From `b` to `a`.
    pub backward: Channel,
}

/// One direction of a link: a queue, a rate, a delay, losses, reordering, and what changes over time.
#[derive(Clone, Debug)]
pub struct Channel {
    /// Bits per second; `None`: no serialisation time, so no queue ever builds.
    pub rate: Option<BitRate>,
    /// Propagation delay.
    pub delay: Span,
    /// The queue in front of it.
    pub queue: aqm::Config,
    /// How much transmission time the device may take from the queue in advance.
    pub device_queue: Span,
    /// Loss after the queue.
    pub loss: Loss,
    /// Reordering after the queue.
    pub reorder: Option<Reorder>,
    /// Whether it clears the ECN codepoint of each packet, after the queue.
    pub bleaches_ecn: bool,
    /// Variations over time. If the rate varies, `rate` is its mean; if the delay varies, `delay`
    /// is the least.
    pub variation: Variation,
}

/// Loss on the wire, after the queue.
#[derive(Clone, Debug, PartialEq)]
pub enum Loss {
    /// No losses.
    None,
    /// Each packet independently.
    Random {
        /// From 0 to 1.
        probability: f64,
    },
    /// The packets with these ordinals (the first packet to enter the channel is 1), ascending.
    Listed {
        /// Ordinals of the lost packets.
        packets: Vec<u64>,
    },
    /// In bursts.
    GilbertElliott(GilbertElliott),
}

/// Reordering on the wire: some packets take longer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reorder {
    /// From 0 to 1.
    pub probability: f64,
    /// How much longer, uniform from 0 to this.
    pub max_extra_delay: Span,
}

/// A TCP connection and what it carries.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Its name in results.
    pub name: String,
    /// The sending host, which opens the connection.
    pub from: NodeId,
    /// The receiving host.
    pub to: NodeId,
    /// The profile that the options of both ends began from, for results; `None` if there was none.
    pub profile: Option<tcp::Profile>,
    /// Options of the sender.
    pub sender: tcp::Config,
    /// Options of the receiver.
    pub receiver: tcp::Config,
    /// False: both ends start established (ns-2's habit), profile `ns2-reno`.
    pub handshake: bool,
    /// When the application starts.
    pub start: Span,
    /// When it stops writing; bulk flows without one last to the end.
    pub stop: Option<Span>,
    /// Amount and timing of the data that the application writes.
    pub app: TcpApp,
}

/// Amount and timing of the data that a TCP sender writes.
#[derive(Clone, Debug, PartialEq)]
pub enum TcpApp {
    /// As much as the connection takes.
    Bulk,
    /// A fixed number of bytes, then FIN.
    Transfer {
        /// Size of the transfer.
        bytes: u64,
    },
    /// One transfer after the other, each on a connection of its own, with a pause in between.
    Repeated {
        /// Size of each.
        bytes: u64,
        /// Pause: fixed, or the mean of an exponential distribution.
        pause: Span,
        /// Draw pauses from the exponential distribution.
        exponential: bool,
        /// Number of transfers; `None`: until the end.
        count: Option<u64>,
    },
    /// Transfers that come and go, each on a connection of its own, however many are open.
    Arriving {
        /// When each comes, and its size.
        arrivals: traffic::Arrivals,
    },
    /// The same number of bytes in each interval: a sender that its application limits.
    Limited {
        /// Bytes of each write.
        bytes: u64,
        /// From one write to the next.
        interval: Span,
    },
    /// Requests of the receiver and the sender's responses, one after the other.
    Requests(Requests),
    /// Loads of pages, each over several connections.
    Pages(Pages),
    /// Video over HTTP.
    Video(VideoPlayer),
}

/// A user who asks, waits for the response, thinks and asks again. The receiver opens the connections.
#[derive(Clone, Debug, PartialEq)]
pub struct Requests {
    /// Sizes, times to think, and how many requests.
    pub dialogue: traffic::dialogue::Dialogue,
    /// Which connection the next request takes.
    pub reuse: Reuse,
    /// The flows with this number wait for each other: the next requests follow when each has its
    /// response to the last one (incast).
    pub barrier: Option<usize>,
}

/// A user who loads pages. The receiver opens the connections, anew for each page.
#[derive(Clone, Debug, PartialEq)]
pub struct Pages {
    /// The page.
    pub page: traffic::page::Page,
    /// From the end of a load to the beginning of the next, or the mean of it.
    pub think: Span,
    /// Draw these times from the exponential distribution.
    pub exponential: bool,
    /// How many loads; `None`: until the end.
    pub count: Option<u64>,
}

/// A client that plays a video. It opens the connection, and keeps it.
#[derive(Clone, Debug, PartialEq)]
pub struct VideoPlayer {
    /// The video, and how it is played.
    pub video: traffic::video::Video,
    /// Bytes of the request for a segment.
    pub request: u64,
}

/// Which connection the next request takes.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Reuse {
    /// The same.
    Kept,
    /// A new one.
    New,
}

/// A UDP source.
#[derive(Clone, Debug)]
pub struct UdpFlow {
    /// Its name in results.
    pub name: String,
    /// The sending host.
    pub from: NodeId,
    /// The receiving host.
    pub to: NodeId,
    /// The ECN codepoint of its packets. The source does not react to marks.
    pub ecn: Ecn,
    /// When it starts.
    pub start: Span,
    /// When it stops.
    pub stop: Option<Span>,
    /// Times and sizes of its packets.
    pub traffic: UdpTraffic,
}

/// A flow of another transport: its two ends and the application on them.
#[derive(Clone, Debug)]
pub struct EndpointFlow {
    /// Its name in results.
    pub name: String,
    /// The sending host.
    pub from: NodeId,
    /// The receiving host.
    pub to: NodeId,
    /// When it begins.
    pub start: Span,
    /// When the application at the sender stops writing.
    pub stop: Option<Span>,
    /// The end that opens the connection.
    pub opens: Side,
    /// The application on its ends.
    pub app: EndpointApp,
    /// Makes the sender and the receiver.
    pub ends: [Arc<dyn EndpointFactory>; 2],
}

/// Times and sizes of the packets of a UDP source.
#[derive(Clone, Debug, PartialEq)]
pub enum UdpTraffic {
    /// A constant bit rate, all the time or in bursts.
    Constant(ConstantRate),
    /// Each arrival is a packet. Its bytes are those on the wire, IP and UDP headers included: smaller
    /// ones are raised to 28, the headers alone, and larger ones cut to 65535.
    Arrivals(traffic::Arrivals),
    /// Frames of real-time media. Each packet has IP and UDP headers beside its bytes of a frame.
    Media(traffic::media::Media),
}

/// A constant bit rate.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct ConstantRate {
    /// Size of a packet on the wire in bytes, IP and UDP headers included.
    pub packet_bytes: u32,
    /// While on.
    pub rate: BitRate,
    /// On and off times; `None`: always on.
    pub on_off: Option<OnOff>,
}

/// On and off times of a source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OnOff {
    /// Time on: fixed, or the mean of an exponential distribution.
    pub on: Span,
    /// Time off.
    pub off: Span,
    /// Draw both from the exponential distribution.
    pub exponential: bool,
}

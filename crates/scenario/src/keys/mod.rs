//! Every key that a scenario may have.

use windlass_keys::{FreeTable, Located, Name, Named, keys};

mod app;
mod endpoints;
mod fabrics;
mod flows;
mod middleboxes;
mod over_time;
mod tcp;
mod topology;
mod traffic;

pub(crate) use app::{
    AppKeys, ArrivingKeys, LimitedKeys, NumberKeys, PagesKeys, RequestsKeys, ReuseKeys, RuleKeys,
    VideoKeys,
};
pub(crate) use endpoints::{
    EndpointAppKeys, EndpointKeys, FixedWindowKeys, OpensKeys, StackKeys, StackKind,
};
pub(crate) use fabrics::{FatTreeKeys, LeafSpineKeys};
pub(crate) use flows::{CodepointKeys, FlowKeys, OnOffKeys, UdpKeys};
pub(crate) use middleboxes::{EcnProxyKeys, MiddleboxKeys, MiddleboxKind, SenderPolicyKeys};
pub(crate) use over_time::{
    AggregationKeys, DelayKeys, LinkOverTimeKeys, OutageKeys, OverTimeKeys, RateKeys,
    TokenBucketKeys,
};
pub(crate) use tcp::{AckKeys, EchoKeys, GrowthKeys, ReceiverKeys, ReductionKeys, TcpKeys};
pub(crate) use topology::{
    AccessKeys, DumbbellKeys, HandoverKeys, LinkKeys, LossKeys, ParkingLotKeys, PathKeys,
    ReorderKeys,
};
pub(crate) use traffic::{ArrivalsKeys, BurstKeys, MediaKeys, SizesKeys};

use crate::queues::QueueKind;
use crate::version::Version;
use windlass_base::Span;

keys! {
    /// An experiment: a topology, the flows that cross it, and its duration.
    struct ScenarioKeys {
        /// Version of the format: 2. In version 1 the profile of a flow that names none is rfc5681.
        schema: Located<Version>,
        /// A short name, also that of the results.
        name: Name,
        /// The purpose of the experiment, in a sentence.
        description: Option<String>,
        /// Simulated time.
        duration: Located<Span>,
        /// End as soon as every TCP flow is done; `duration` is the most. Default: false.
        until_done: Option<bool>,
        /// The steady window begins here and lasts to the end. Default: the whole run.
        steady_from: Option<Located<Span>>,
        /// The summary has rates and fairness over time, in intervals of this length. Default: it has not.
        interval: Option<Located<Span>>,
        /// Seed of the random stream unless the command line gives one. Default: 1.
        seed: Option<u64>,
        /// Upper bound of a uniform draw that is added to every start time. Default: none.
        jitter: Option<Span>,
        /// Where the experiment comes from.
        source: Option<SourceKeys>,
        /// Published figures, as data for reports; the simulator does not read them.
        published: Option<FreeTable>,
        /// TCP options of every flow that does not set its own.
        defaults: Option<TcpKeys>,
        /// Queue disciplines by name, for links to refer to.
        queues: Option<Named<QueueKind>>,
        /// Shorthand: senders behind one bottleneck.
        dumbbell: Option<Located<DumbbellKeys>>,
        /// Shorthand: bottlenecks in a row.
        parking_lot: Option<Located<ParkingLotKeys>>,
        /// Shorthand: a data centre of leaves and spines.
        leaf_spine: Option<Located<LeafSpineKeys>>,
        /// Shorthand: a data centre whose switches form a fat tree.
        fat_tree: Option<Located<FatTreeKeys>>,
        /// Equal-cost multi-path: where a node has several next hops of equal delay and number of hops,
        /// a hash of each connection's addresses and ports chooses. Default: true with `leaf_spine` and
        /// `fat_tree`; else false, and packets take the first of the links.
        ecmp: Option<bool>,
        /// Hosts and routers of a topology without a shorthand.
        nodes: Vec<Located<Name>>,
        /// Full-duplex links between them.
        links: Vec<Located<LinkKeys>>,
        /// The link that the summary reports as the bottleneck, by its name; or its two nodes
        /// in reverse order for the backward direction. Default: the shorthand's, in a data centre the link to
        /// h1, or else the slowest.
        bottleneck: Option<Located<String>>,
        /// TCP flows.
        flows: Vec<Located<FlowKeys>>,
        /// UDP sources.
        udp: Vec<Located<UdpKeys>>,
        /// Flows of other transports.
        endpoints: Vec<Located<EndpointKeys>>,
        /// Devices on nodes, those of one node in the order in which packets meet them.
        middleboxes: Vec<Located<MiddleboxKind>>,
    }
}

keys! {
    /// Where an experiment comes from.
    struct SourceKeys {
        /// Author, title, year.
        paper: String,
        /// Section of the paper.
        section: Option<String>,
        /// Table of the paper.
        table: Option<String>,
        /// Figure of the paper.
        figure: Option<String>,
        /// A remark about it.
        note: Option<String>,
    }
}

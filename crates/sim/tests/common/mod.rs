//! Small scenarios for tests.

use std::cell::RefCell;
use std::rc::Rc;
use windlass_aqm::{Config as Queue, DropTailConfig, Limit, RedConfig};
use windlass_base::{BitRate, Ecn, Span, Time};
use windlass_sim::model::{
    Channel, ConstantRate, Flow, Link, LinkDirection, Loss, NodeId, OnOff, TcpApp, UdpFlow,
    UdpTraffic, Variation,
};
use windlass_sim::packet::Packet;
use windlass_sim::{Middlebox, Scenario, Simulation};
use windlass_tcp::config::EcnEcho;
use windlass_tcp::{Profile, cc};

/// Notes when packets arrive at a node, and which.
#[derive(Clone, Default)]
pub(crate) struct Witness(pub(crate) Rc<RefCell<Vec<(Time, Packet)>>>);

impl Middlebox for Witness {
    fn handle_packet(&mut self, now: Time, packet: Packet, out: &mut Vec<Packet>) {
        self.0.borrow_mut().push((now, packet));
        out.push(packet);
    }
}

/// The times in nanoseconds at which packets arrive at node 1.
pub(crate) fn arrivals(scenario: &Scenario) -> Vec<u64> {
    let witness = Witness::default();
    let mut simulation = Simulation::new(scenario, 1).expect("a sound scenario");
    simulation.add_middlebox(1, witness.clone());
    simulation.run(&mut ());
    let seen = witness.0.borrow();
    seen.iter().map(|(time, _)| time.as_nanos()).collect()
}

/// Host 0 sends UDP packets of 512 bytes at `rate` Mbit/s over 10 Mbit/s and 1 ms to host 1.
pub(crate) fn cbr(rate: f64, queue: u32) -> Scenario {
    let wire = || channel(mbit(10.0), ms(1.0), drop_tail(queue));
    let mut scenario = pair(wire(), wire(), Span::from_secs(1));
    scenario.udp.push(udp(0, 1, 512, mbit(rate)));
    scenario
}

pub(crate) fn ms(millis: f64) -> Span {
    Span::from_secs_f64(millis / 1e3)
}

pub(crate) fn mbit(rate: f64) -> Option<BitRate> {
    BitRate::from_bits_per_sec((rate * 1e6) as u64)
}

pub(crate) fn drop_tail(packets: u32) -> Queue {
    Queue::DropTail(DropTailConfig { limit: Limit::Packets(packets) })
}

/// The bottleneck's queue of Hamann 1999.
pub(crate) fn red() -> Queue {
    Queue::Red(RedConfig {
        limit: Limit::Packets(500),
        min: 10.0,
        max: Some(20.0),
        gentle: false,
        ..RedConfig::default()
    })
}

pub(crate) fn channel(rate: Option<BitRate>, delay: Span, queue: Queue) -> Channel {
    Channel {
        rate,
        delay,
        queue,
        device_queue: Span::ZERO,
        loss: Loss::None,
        reorder: None,
        bleaches_ecn: false,
        variation: Variation::default(),
    }
}

pub(crate) fn link(a: NodeId, b: NodeId, there: Channel, back: Channel) -> Link {
    Link { name: format!("{a}-{b}"), a, b, forward: there, backward: back }
}

/// A scenario of two hosts with one link between them and nothing on it.
pub(crate) fn pair(there: Channel, back: Channel, duration: Span) -> Scenario {
    Scenario {
        name: "pair".into(),
        description: String::new(),
        duration,
        until_done: false,
        steady_from: Span::ZERO,
        interval: None,
        jitter: Span::ZERO,
        nodes: vec!["a".into(), "b".into()],
        links: vec![link(0, 1, there, back)],
        flows: vec![],
        udp: vec![],
        endpoints: vec![],
        middleboxes: vec![],
        ecmp: false,
        bottleneck: LinkDirection { link: 0, reverse: false },
    }
}

/// Routers 0 and 1 with `bottleneck` between them; for each access delay a sender with 10 Mbit/s
/// and a receiver right behind the other router.
pub(crate) fn dumbbell(bottleneck: Channel, access_delays: &[Span], duration: Span) -> Scenario {
    let mut nodes = vec!["left".into(), "right".into()];
    let back = channel(bottleneck.rate, bottleneck.delay, drop_tail(500));
    let mut links = vec![link(0, 1, bottleneck, back)];
    for (n, &delay) in access_delays.iter().enumerate() {
        let access = |delay| channel(mbit(10.0), delay, drop_tail(500));
        links.push(link(2 + 2 * n, 0, access(delay), access(delay)));
        links.push(link(1, 3 + 2 * n, access(Span::ZERO), access(Span::ZERO)));
        nodes.extend([format!("sender{n}"), format!("receiver{n}")]);
    }
    Scenario {
        name: "dumbbell".into(),
        steady_from: duration / 6,
        nodes,
        links,
        ..pair(
            channel(None, Span::ZERO, drop_tail(1)),
            channel(None, Span::ZERO, drop_tail(1)),
            duration,
        )
    }
}

/// The TCP of Hamann 1999 with a controller; `ecn` with the receiver's echo once per CE.
pub(crate) fn ns2_flow(from: NodeId, to: NodeId, controller: &str, ecn: bool) -> Flow {
    let congestion = cc::by_name(controller).expect("a known controller");
    let mut config = Profile::Ns2Reno.config(472, congestion);
    config.window.limit = Some(128 * 472);
    config.window.initial_ssthresh = Some(128 * 472);
    config.ecn.enabled = ecn;
    config.ecn.echo = EcnEcho::OncePerCe;
    Flow {
        name: format!("{from}-{to}"),
        from,
        to,
        profile: Some(Profile::Ns2Reno),
        receiver: config.clone(),
        sender: config,
        handshake: false,
        start: Span::ZERO,
        stop: None,
        app: TcpApp::Bulk,
    }
}

/// Today's TCP, with a handshake.
pub(crate) fn modern_flow(from: NodeId, to: NodeId, app: TcpApp) -> Flow {
    let congestion = cc::by_name("cubic").expect("a known controller");
    let config = Profile::Rfc5681.config(1460, congestion);
    Flow {
        name: format!("{from}-{to}"),
        from,
        to,
        profile: Some(Profile::Rfc5681),
        receiver: config.clone(),
        sender: config,
        handshake: true,
        start: Span::ZERO,
        stop: None,
        app,
    }
}

pub(crate) fn udp(from: NodeId, to: NodeId, packet_bytes: u32, rate: Option<BitRate>) -> UdpFlow {
    UdpFlow {
        name: "udp".into(),
        from,
        to,
        ecn: Ecn::NotEct,
        start: Span::ZERO,
        stop: None,
        traffic: constant(packet_bytes, rate, None),
    }
}

pub(crate) fn constant(
    packet_bytes: u32,
    rate: Option<BitRate>,
    on_off: Option<OnOff>,
) -> UdpTraffic {
    UdpTraffic::Constant(ConstantRate { packet_bytes, rate: rate.expect("a rate"), on_off })
}

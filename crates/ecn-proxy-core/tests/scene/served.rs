//! A served connection, packet by packet.

use super::syn::{FAR_ISN, ISN, all_options, syn, syn_ack};
use super::watch::Watch;
use windlass_ecn_proxy_core::{Edit, Events, Flags, Options, Outcome, Packet, Phase, Policy, Side};

pub(crate) const MSS: u32 = 1_000;

/// A served connection that the host opened; data are counted in segments of [`MSS`].
pub(crate) struct Scene {
    pub(crate) watch: Watch,
    options: Options,
    pub(crate) now: u32,
}

impl Scene {
    pub(crate) fn new(policy: Policy, options: Options) -> Scene {
        let mut watch = Watch::new(policy);
        watch.pass(&syn(Flags::empty(), ISN, options), Side::Host);
        watch.pass(&syn_ack(Flags::ECE, FAR_ISN, ISN + 1, options), Side::Far);
        assert_eq!(watch.flow.phase(), Phase::Proxied);
        Scene { watch, options: options & Options::TIMESTAMPS, now: 100 }
    }

    pub(crate) fn default() -> Scene {
        Scene::new(Policy::default(), all_options())
    }

    /// The number at which segment `n` begins, counted from 0.
    pub(crate) fn at(n: u32) -> u32 {
        (ISN + 1).wrapping_add(n * MSS)
    }

    /// The host sends segment `n`.
    pub(crate) fn data(&mut self, n: u32) -> (Edit, Outcome) {
        self.now += 1;
        let packet = self.data_packet(n);
        self.watch.pass(&packet, Side::Host)
    }

    pub(crate) fn data_packet(&self, n: u32) -> Packet {
        Packet {
            seq: Scene::at(n),
            ack: FAR_ISN + 1,
            payload_bytes: MSS,
            segment_bytes: MSS,
            tsval: self.now,
            options: self.options,
            flags: Flags::ACK,
            window: 1_000,
            ..Packet::default()
        }
    }

    /// The host sends segments `n` and the next seven as one super-packet.
    pub(crate) fn burst(&mut self, n: u32) -> (Edit, Outcome) {
        self.now += 1;
        let packet = Packet { payload_bytes: 8 * MSS, ..self.data_packet(n) };
        self.watch.pass(&packet, Side::Host)
    }

    pub(crate) fn all(&mut self, segments: std::ops::Range<u32>) {
        segments.for_each(|n| drop(self.data(n)));
    }

    /// An ACK of everything before segment `n`, as the far host sends it.
    pub(crate) fn ack_packet(&self, n: u32, flags: Flags) -> Packet {
        Packet {
            seq: FAR_ISN + 1,
            ack: Scene::at(n),
            tsval: self.now,
            tsecr: self.now,
            options: self.options,
            flags: flags | Flags::ACK,
            window: 1_000,
            ..Packet::default()
        }
    }

    pub(crate) fn ack(&mut self, n: u32) -> (Edit, Outcome) {
        let packet = self.ack_packet(n, Flags::empty());
        self.watch.pass(&packet, Side::Far)
    }

    pub(crate) fn echo(&mut self, n: u32) -> (Edit, Outcome) {
        let packet = self.ack_packet(n, Flags::ECE);
        self.watch.pass(&packet, Side::Far)
    }

    /// Eight segments in flight, one acknowledged with ECE: the virtual loss is segment 0.
    pub(crate) fn with_a_virtual_loss() -> Scene {
        let mut scene = Scene::default();
        scene.all(0..8);
        let (edit, _) = scene.echo(2);
        assert!(edit.events.contains(Events::EPISODE | Events::VIRTUAL_LOSS));
        scene
    }

    /// Five in flight, a virtual loss, and the proxy's answer to its retransmission.
    pub(crate) fn after_a_small_virtual_loss() -> Scene {
        let mut scene = Scene::default();
        scene.all(0..5);
        scene.echo(2);
        let (_, out) = scene.data(0);
        assert!(out.forward.is_empty());
        assert_eq!(out.back.expect("a reply").ack, Scene::at(2));
        scene
    }
}

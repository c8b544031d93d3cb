//! The state of a connection.

use crate::data::{Answer, Edit, Packet, Phase, Policy, Reason};
use crate::ffi;

/// The host that sent a packet.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Side {
    /// The served host, which does not request ECN.
    Host,
    /// The host beyond the proxy, with or without ECN.
    Far,
}

/// `struct ecn_flow`.
#[repr(C)]
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub(crate) struct RawFlow {
    pub(crate) isn: u32,
    shown_una: u32,
    far_una: u32,
    snd_max: u32,
    round_end: u32,
    virtual_loss: u32,
    virtual_loss_end: u32,
    last_virtual_loss: u32,
    recover: u32,
    ts_floor: u32,
    sacked_to: u32,
    far_tsval: u32,
    /// `answered_at`, or `far_fin`.
    answered_at: u32,
    pub(crate) host_ack: u32,
    shown_tsecr: u32,
    min_rtt: u32,
    virtual_loss_tsval: u32,
    newest_tsval: u32,
    maybe_lost_below: u32,
    pub(crate) far_window: u16,
    shown_window: u16,
    segment_bytes: u16,
    average_segment_bytes: u16,
    flight_max: u16,
    previous_flight_max: u16,
    pub(crate) notes: u16,
    pub(crate) phase: u8,
    reason: u8,
    /// `syn_triple`, or `rounds_since`.
    rounds_since: u8,
    answer: u8,
    window_scale: u8,
    duplicates: u8,
    rewritten_acks: u8,
    /// `rounds`, or `retransmits`.
    rounds: u8,
    pub(crate) held_acks: u8,
    simultaneous: u8,
    plain_syns: u8,
    response_due: u8,
    unheeded: u8,
    pub(crate) surplus: u8,
}

/// The state that the proxy keeps for a connection. The default stands for an unknown one.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub struct Flow(RawFlow);

impl Flow {
    /// Handles a SYN without ACK. `destination_fails` says that SYNs requesting ECN are known to get
    /// lost on the way to the far host. Returns whether the caller must keep the flow, and the edit.
    pub fn handle_syn(
        &mut self,
        policy: &Policy,
        packet: &Packet,
        from: Side,
        destination_fails: bool,
    ) -> (bool, Edit) {
        ffi::opens(&mut self.0, policy, packet, from == Side::Host, destination_fails)
    }

    /// Handles any other packet and returns the edit for it.
    pub fn handle_packet(&mut self, policy: &Policy, packet: &Packet, from: Side) -> Edit {
        match from {
            Side::Host => ffi::from_host(&mut self.0, policy, packet),
            Side::Far => ffi::to_host(&mut self.0, policy, packet),
        }
    }

    /// The phase of the connection.
    pub fn phase(&self) -> Phase {
        match self.0.phase {
            1 => Phase::HostOpens,
            2 => Phase::FarOpens,
            3 => Phase::Proxied,
            4 => Phase::Bypass,
            5 => Phase::Closed,
            _ => Phase::None,
        }
    }

    /// The state of the answer to an ECE.
    pub fn answer(&self) -> Answer {
        match self.0.answer {
            1 => Answer::Armed,
            2 => Answer::VirtualLoss,
            3 => Answer::Retransmitted,
            4 => Answer::Dropped,
            _ => Answer::Idle,
        }
    }

    /// Why the proxy bypasses the connection, or cannot signal its sender.
    pub fn reason(&self) -> Reason {
        Reason::from_number(self.0.reason)
    }

    /// The highest ACK number that the proxy has shown to the served host.
    pub fn shown_ack(&self) -> u32 {
        self.0.shown_una
    }

    /// Withholds ECT from the connection from now on, because other connections of its host did not slow
    /// down for virtual losses.
    pub fn distrust(&mut self) -> Edit {
        ffi::distrust(&mut self.0)
    }

    /// The highest ACK number of the far host.
    pub fn far_ack(&self) -> u32 {
        self.0.far_una
    }
}

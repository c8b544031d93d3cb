//! The state of a connection.

use crate::data::{Answer, Edit, Packet, Phase, Policy, RawFlow, Reason};
use crate::ffi;

/// The host that sent a packet.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Side {
    /// The served host, which does not request ECN.
    Host,
    /// The host beyond the proxy, with or without ECN.
    Far,
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

//! Packets, and a DualPI2 that holds them: ours or the kernel's.

use std::io;
use windlass_aqm::{DualPi2, DualPi2Config, Packet, Queue};
use windlass_base::{Ecn, Rng, Time};
use windlass_sim::packet;

/// A packet at the bottleneck.
#[derive(Clone, Debug)]
pub(crate) struct Parcel {
    pub(crate) number: u64,
    pub(crate) arrived: Time,
    pub(crate) bytes: u32,
    /// Its codepoint on arrival.
    pub(crate) came_with: Ecn,
    pub(crate) ecn: Ecn,
    /// The packet of a simulated flow.
    pub(crate) content: Option<packet::Packet>,
}

impl Packet for Parcel {
    fn wire_bytes(&self) -> u32 {
        self.bytes
    }

    fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn set_ecn(&mut self, ecn: Ecn) {
        self.ecn = ecn;
    }

    fn flow_hash(&self) -> u64 {
        0
    }
}

/// A queue with a device of one packet behind it: the device takes a packet from the queue whenever it has none.
///
/// A TUN device with a transmit queue of one packet is one.
pub(crate) trait Held {
    /// A packet arrives. Appends those that the queue drops to `lost`.
    fn offer(&mut self, now: Time, parcel: Parcel, lost: &mut Vec<Parcel>) -> io::Result<()>;

    /// The transmitter takes the packet in the device, which takes the next one from the queue.
    fn take(&mut self, now: Time, lost: &mut Vec<Parcel>) -> io::Result<Option<Parcel>>;
}

/// Windlass's DualPI2.
pub(crate) struct Ours {
    queue: DualPi2<Parcel>,
    device: Option<Parcel>,
    rng: Rng,
}

impl Ours {
    pub(crate) fn new(seed: u64) -> Ours {
        let queue = DualPi2::new(DualPi2Config::default()).expect("the defaults are valid");
        Ours { queue, device: None, rng: Rng::new(seed) }
    }

    fn fill_device(&mut self, now: Time, lost: &mut Vec<Parcel>) {
        if self.device.is_none() {
            self.device =
                self.queue.dequeue(now, &mut self.rng, &mut |parcel, _| lost.push(parcel));
        }
    }
}

impl Held for Ours {
    fn offer(&mut self, now: Time, parcel: Parcel, lost: &mut Vec<Parcel>) -> io::Result<()> {
        self.queue.enqueue(now, parcel, &mut self.rng, &mut |parcel, _| lost.push(parcel));
        self.fill_device(now, lost);
        Ok(())
    }

    fn take(&mut self, now: Time, lost: &mut Vec<Parcel>) -> io::Result<Option<Parcel>> {
        let taken = self.device.take();
        self.fill_device(now, lost);
        Ok(taken)
    }
}

//! A network device of two queues.

use smoltcp::phy::{self, ChecksumCapabilities, DeviceCapabilities, Medium};
use smoltcp::time::Instant;
use std::collections::VecDeque;

/// The packets that arrive at the interface, and those that left it.
#[derive(Debug)]
pub(crate) struct Queues {
    pub(crate) arriving: VecDeque<Vec<u8>>,
    pub(crate) leaving: VecDeque<Vec<u8>>,
    /// The largest IP packet, in bytes.
    pub(crate) mtu: usize,
}

/// A packet that arrives.
pub(crate) struct Arriving(Vec<u8>);

/// Room for a packet that leaves.
pub(crate) struct Leaving<'a>(&'a mut VecDeque<Vec<u8>>);

impl phy::Device for Queues {
    type RxToken<'a> = Arriving;
    type TxToken<'a> = Leaving<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Arriving, Leaving<'_>)> {
        let packet = self.arriving.pop_front()?;
        Some((Arriving(packet), Leaving(&mut self.leaving)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Leaving<'_>> {
        Some(Leaving(&mut self.leaving))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ip;
        capabilities.max_transmission_unit = self.mtu;
        capabilities.checksum = ChecksumCapabilities::default();
        capabilities
    }
}

impl phy::RxToken for Arriving {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        f(&self.0)
    }
}

impl phy::TxToken for Leaving<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        let mut packet = vec![0; len];
        let result = f(&mut packet);
        self.0.push_back(packet);
        result
    }
}

//! Which port a packet leaves by. The [`Network`](crate::Network) asks for each packet at the end
//! of a path up.

use crate::config::PortConfig;
use crate::frame::Frame;
use ipnet::IpNet;

/// The destinations behind each port, the most specific first.
#[derive(Debug)]
pub(crate) struct Routes {
    ports: usize,
    networks: Vec<(IpNet, usize)>,
}

impl Routes {
    pub(crate) fn new(ports: &[PortConfig]) -> Routes {
        let of_port = |(index, port): (usize, &PortConfig)| {
            port.networks.iter().map(move |network| (*network, index)).collect::<Vec<_>>()
        };
        let mut networks: Vec<_> = ports.iter().enumerate().flat_map(of_port).collect();
        networks.sort_by_key(|(network, _)| core::cmp::Reverse(network.prefix_len()));
        Routes { ports: ports.len(), networks }
    }

    /// The port for a packet that came in at `from`; never `from` itself.
    pub(crate) fn look_up(&self, from: usize, frame: &Frame) -> Option<usize> {
        if self.ports == 2 {
            return Some(1 - from);
        }
        let destination = frame.destination()?;
        let found = self.networks.iter().find(|(network, _)| network.contains(&destination));
        found.map(|(_, port)| *port).filter(|port| *port != from)
    }
}

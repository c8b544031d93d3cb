//! One at a time at an address.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;

/// For each address in use, the sessions that want it: the first one has it, the others wait.
#[derive(Clone, Debug, Default)]
pub(super) struct Turns(BTreeMap<IpAddr, VecDeque<usize>>);

impl Turns {
    /// True if it is the host's turn at once; else [`Turns::leave`] tells when it is.
    pub(super) fn claim(&mut self, address: IpAddr, host: usize) -> bool {
        let queue = self.0.entry(address).or_default();
        queue.push_back(host);
        queue.front() == Some(&host)
    }

    /// A host is done with an address; whose turn it is now.
    pub(super) fn leave(&mut self, address: IpAddr, host: usize) -> Option<usize> {
        let queue = self.0.get_mut(&address)?;
        let had_turn = queue.front() == Some(&host);
        queue.retain(|other| *other != host);
        let next = queue.front().copied();
        if next.is_none() {
            self.0.remove(&address);
        }
        next.filter(|_| had_turn)
    }
}

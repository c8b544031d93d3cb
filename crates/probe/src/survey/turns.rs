//! Limits each address to one host at a time.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;

/// For each address in use, the hosts that want it: the first one has it, the others wait.
#[derive(Clone, Debug, Default)]
pub(super) struct Turns(BTreeMap<IpAddr, VecDeque<usize>>);

impl Turns {
    /// Requests an address for a host. True if the host may use it at once; otherwise a later
    /// [`Turns::leave`] returns the host.
    pub(super) fn claim(&mut self, address: IpAddr, host: usize) -> bool {
        let queue = self.0.entry(address).or_default();
        queue.push_back(host);
        queue.front() == Some(&host)
    }

    /// Releases an address. Returns the host that has the next turn.
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

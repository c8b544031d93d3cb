//! The bindings of a NAT, found by inner and by external endpoint.

use crate::{Dependence, Flow, Protocol};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use windlass_base::{Deadlines, Time};

/// Remote endpoints of one binding that may be remembered.
const CONTACTS_MAX: usize = 4096;

/// One side of a binding: the endpoint that packets are sent from inside, or its translation.
pub(crate) type Key = (Protocol, SocketAddr);

/// An inner endpoint and its external one.
#[derive(Debug)]
struct Binding {
    inner: SocketAddr,
    /// The remote endpoint as the mapping sees it.
    remote: SocketAddr,
    expires: Time,
    /// The remote endpoints, as the filter sees them, that were sent to; each with the time until
    /// which it may answer.
    contacts: BTreeMap<SocketAddr, Time>,
}

/// All bindings. None of its functions returns an expired one.
#[derive(Debug, Default)]
pub(crate) struct Table {
    by_external: BTreeMap<Key, Binding>,
    by_inner: BTreeMap<(Protocol, SocketAddr, SocketAddr), SocketAddr>,
    /// When to look at a binding again: at its end, or earlier if it was refreshed meanwhile.
    timers: Deadlines<Key>,
}

/// The part of a remote endpoint that a decision depends on; the rest is zero.
fn project(dependence: Dependence, remote: SocketAddr) -> SocketAddr {
    match dependence {
        Dependence::Independent => SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0),
        Dependence::Address => SocketAddr::new(remote.ip(), 0),
        Dependence::AddressAndPort => remote,
    }
}

impl Table {
    /// Removes what has expired.
    pub(crate) fn expire(&mut self, now: Time) {
        while let Some((_, key)) = self.timers.pop(now) {
            let Some(binding) = self.by_external.get(&key) else { continue };
            if binding.expires > now {
                self.timers.insert(binding.expires, key);
            } else {
                self.by_inner.remove(&(key.0, binding.inner, binding.remote));
                self.by_external.remove(&key);
            }
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.by_external.len()
    }

    pub(crate) fn is_taken(&self, external: &Key) -> bool {
        self.by_external.contains_key(external)
    }

    /// The external endpoint of the binding that an outgoing packet belongs to.
    pub(crate) fn external(&self, flow: &Flow, mapping: Dependence) -> Option<SocketAddr> {
        let remote = project(mapping, flow.destination);
        self.by_inner.get(&(flow.protocol, flow.source, remote)).copied()
    }

    /// Adds a binding for an outgoing packet. Refresh it before time passes.
    pub(crate) fn insert(&mut self, flow: &Flow, mapping: Dependence, external: SocketAddr) {
        let (key, remote) = ((flow.protocol, external), project(mapping, flow.destination));
        let binding =
            Binding { inner: flow.source, remote, expires: Time::ZERO, contacts: BTreeMap::new() };
        self.by_inner.insert((flow.protocol, flow.source, remote), external);
        self.by_external.insert(key, binding);
        self.timers.insert(Time::ZERO, key);
    }

    /// Lets `remote` send to a binding until `until`; false if too many others may.
    pub(crate) fn admit(
        &mut self,
        external: &Key,
        remote: SocketAddr,
        filtering: Dependence,
        now: Time,
        until: Time,
    ) -> bool {
        let Some(binding) = self.by_external.get_mut(external) else { return false };
        let contact = project(filtering, remote);
        binding.expires = binding.expires.max(until);
        if let Some(end) = binding.contacts.get_mut(&contact) {
            *end = until;
            return true;
        }
        if binding.contacts.len() >= CONTACTS_MAX {
            // Only entries that have run out make room.
            binding.contacts.retain(|_, end| *end > now);
        }
        if binding.contacts.len() >= CONTACTS_MAX {
            return false;
        }
        binding.contacts.insert(contact, until);
        true
    }

    /// The inner endpoint of a binding.
    pub(crate) fn inner(&self, external: &Key) -> Option<SocketAddr> {
        self.by_external.get(external).map(|binding| binding.inner)
    }

    /// Whether `remote` may send to a binding.
    pub(crate) fn admits(
        &self,
        external: &Key,
        remote: SocketAddr,
        filtering: Dependence,
        now: Time,
    ) -> bool {
        let Some(binding) = self.by_external.get(external) else { return false };
        binding.contacts.get(&project(filtering, remote)).is_some_and(|end| *end > now)
    }

    /// Removes all bindings and returns their external endpoints.
    pub(crate) fn clear(&mut self) -> BTreeSet<Key> {
        self.by_inner.clear();
        self.timers.clear();
        std::mem::take(&mut self.by_external).into_keys().collect()
    }
}

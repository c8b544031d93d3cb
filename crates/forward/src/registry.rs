//! The connections of this process, counted for the status.

use crate::copy::Counters;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use windlass_identity::PublicKey;
use windlass_tou::secure::MaybeSecureStream;

/// The open connections, and the sums of those that have ended. Clones share it.
#[derive(Clone, Default)]
pub struct Registry(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    next: u64,
    open: BTreeMap<u64, Open>,
    ended: BTreeMap<PublicKey, Ended>,
}

struct Open {
    peer: PublicKey,
    far: MaybeSecureStream,
    counters: Arc<Counters>,
}

#[derive(Copy, Clone, Default)]
struct Ended {
    connections: u64,
    sent: u64,
    received: u64,
}

/// The connections with one peer.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct PeerTotals {
    /// Connections that are open now.
    pub open: u64,
    /// Connections so far, open ones included.
    pub connections: u64,
    /// Bytes sent to the peer, without those of TLS and of retransmissions.
    pub sent: u64,
    /// Bytes received from the peer.
    pub received: u64,
    /// The sum of the congestion windows of the open connections, in bytes.
    pub cwnd: u64,
    /// The smallest smoothed round-trip time of the open connections, in microseconds.
    pub srtt_us: Option<u64>,
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry").field("open", &self.lock().open.len()).finish_non_exhaustive()
    }
}

/// A connection in the registry. Dropping it removes the connection.
#[derive(Debug)]
pub struct Registered {
    registry: Registry,
    number: u64,
    counters: Arc<Counters>,
}

impl Registered {
    /// The bytes that the connection has carried so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The same for another thread.
    pub fn shared_counters(&self) -> &Arc<Counters> {
        &self.counters
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        let mut inner = self.registry.lock();
        let Some(Open { peer, counters, .. }) = inner.open.remove(&self.number) else { return };
        let ended = inner.ended.entry(peer).or_default();
        ended.connections += 1;
        ended.sent += counters.sent.load(Ordering::Relaxed);
        ended.received += counters.received.load(Ordering::Relaxed);
    }
}

impl Registry {
    /// Adds a connection. Its counters count from the side of this host: the local program is near,
    /// the peer far.
    pub fn add(&self, peer: PublicKey, far: &MaybeSecureStream) -> Registered {
        let counters = Arc::new(Counters::default());
        let mut inner = self.lock();
        let number = inner.next;
        inner.next += 1;
        let open = Open { peer, far: far.clone(), counters: Arc::clone(&counters) };
        inner.open.insert(number, open);
        Registered { registry: self.clone(), number, counters }
    }

    /// The sums for each peer.
    pub fn totals(&self) -> BTreeMap<PublicKey, PeerTotals> {
        let inner = self.lock();
        let mut totals: BTreeMap<PublicKey, PeerTotals> = BTreeMap::new();
        for (peer, ended) in &inner.ended {
            let Ended { connections, sent, received } = *ended;
            totals
                .insert(*peer, PeerTotals { connections, sent, received, ..PeerTotals::default() });
        }
        for open in inner.open.values() {
            let total = totals.entry(open.peer).or_default();
            total.open += 1;
            total.connections += 1;
            total.sent += open.counters.sent.load(Ordering::Relaxed);
            total.received += open.counters.received.load(Ordering::Relaxed);
            let Ok(info) = open.far.connection().info() else { continue };
            total.cwnd += info.cwnd;
            let srtt = info.rtt.map(|rtt| rtt.as_micros() as u64);
            total.srtt_us = [total.srtt_us, srtt].into_iter().flatten().min();
        }
        totals
    }

    /// Resets the open connections, so that the programs at both ends notice.
    pub fn abort_all(&self) {
        for open in self.lock().open.values() {
            open.far.connection().abort();
        }
    }

    /// Closes the outgoing direction of each open connection, and waits for the delivery of each at
    /// most this long.
    pub fn finish_all(&self, each: Duration) {
        let open: Vec<MaybeSecureStream> =
            self.lock().open.values().map(|open| open.far.clone()).collect();
        for far in open {
            // A connection that failed or stays silent is left to its end.
            let _ = far.finish(Some(each));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

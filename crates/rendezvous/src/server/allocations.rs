//! Relayed addresses and what they permit (RFC 8656, sections 3, 9 and 12).

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use stun_types::message::MessageIntegrityCredentials;
use windlass_base::{Deadlines, RateLimit, Span, Time, TokenBucket};

use super::Path;
use super::shares::{Network, Shares, networks};

/// RFC 8656, section 9.
pub(super) const PERMISSION_LIFETIME: Span = Span::from_secs(300);
/// RFC 8656, section 12.
pub(super) const CHANNEL_LIFETIME: Span = Span::from_secs(600);
/// A host that relays sends its peer a check every second.
const ABANDONED_AFTER: Span = Span::from_secs(15);
/// An allocation that has carried nothing for longer makes room where there is none. A path of ICE is
/// checked every few seconds, and ends after half a minute without an answer (RFC 7675, section 5.1).
const UNUSED_AFTER: Span = Span::from_secs(30);
/// Permissions and channels of one allocation.
const ENTRIES_MAX: usize = 64;

/// Identifies an allocation, and its socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AllocationId(pub(crate) u64);

/// One relayed address, requested or in use.
pub(super) struct Allocation {
    pub(super) path: Path,
    pub(super) user: String,
    pub(super) credentials: MessageIntegrityCredentials,
    /// The request, until the socket is open; then the request that it was granted for, so that a
    /// repetition gets the same answer.
    pub(super) request: Vec<u8>,
    pub(super) lifetime_s: u32,
    pub(super) address: Option<SocketAddr>,
    pub(super) expires: Time,
    /// When the host last sent something on the path.
    heard: Time,
    /// When it last carried a datagram, or began.
    used: Time,
    /// Its time in the order of use, `used` or earlier.
    noted: Time,
    permissions: BTreeMap<IpAddr, Time>,
    channels: BTreeMap<u16, (SocketAddr, Time)>,
    /// The bytes that the allocation may carry now, if its rate is limited.
    bytes: Option<(RateLimit, TokenBucket)>,
}

impl Allocation {
    pub(super) fn new(
        path: Path,
        (user, credentials): (String, MessageIntegrityCredentials),
        request: Vec<u8>,
        lifetime_s: u32,
        carries: Option<RateLimit>,
    ) -> Allocation {
        Allocation {
            path,
            user,
            credentials,
            request,
            lifetime_s,
            address: None,
            expires: Time::ZERO,
            heard: Time::ZERO,
            used: Time::ZERO,
            noted: Time::ZERO,
            permissions: BTreeMap::new(),
            channels: BTreeMap::new(),
            bytes: carries.map(|limit| (limit, TokenBucket::default())),
        }
    }

    /// Whether it may carry a datagram of `len` bytes now.
    pub(super) fn carries(&mut self, now: Time, len: usize) -> bool {
        let bytes = self.bytes.as_mut();
        let carries = bytes.is_none_or(|(limit, bucket)| bucket.take(limit, now, len as u64));
        if carries {
            self.used = now;
        }
        carries
    }

    /// The host has never let a peer through.
    pub(super) fn is_unused(&self) -> bool {
        self.permissions.is_empty()
    }

    /// Whether the peer may send to the relayed address.
    pub(super) fn permits(&self, now: Time, peer: IpAddr) -> bool {
        self.permissions.get(&peer).is_some_and(|until| *until > now)
    }

    /// Permits a peer. False if there are too many.
    pub(super) fn permit(&mut self, now: Time, peer: IpAddr) -> bool {
        if self.permissions.len() >= ENTRIES_MAX {
            // Expired permissions are only removed when they are in the way.
            self.permissions.retain(|_, until| *until > now);
        }
        let room = self.permissions.len() < ENTRIES_MAX || self.permissions.contains_key(&peer);
        // RFC 8656, section 9: a permission is for an address, whatever the port.
        if room {
            self.permissions.insert(peer, now + PERMISSION_LIFETIME);
        }
        room
    }

    /// Binds a channel to a peer, or renews it. False if number or peer is bound otherwise, or
    /// there are too many.
    pub(super) fn bind(&mut self, now: Time, number: u16, peer: SocketAddr) -> bool {
        self.channels.retain(|_, (_, until)| *until > now);
        // RFC 8656, section 12: a channel has one peer, and a peer one channel.
        let same =
            |(other, (at, _)): (&u16, &(SocketAddr, Time))| (*other == number) == (*at == peer);
        if !self.channels.iter().all(same) {
            return false;
        }
        let room = self.channels.len() < ENTRIES_MAX || self.channels.contains_key(&number);
        // RFC 8656, section 12.2: a channel comes with a permission.
        if room && self.permit(now, peer.ip()) {
            self.channels.insert(number, (peer, now + CHANNEL_LIFETIME));
            return true;
        }
        false
    }

    /// The peer of a channel.
    pub(super) fn peer(&self, now: Time, number: u16) -> Option<SocketAddr> {
        self.channels.get(&number).filter(|(_, until)| *until > now).map(|(peer, _)| *peer)
    }

    /// The channel of a peer.
    pub(super) fn channel(&self, now: Time, peer: SocketAddr) -> Option<u16> {
        let mut channels = self.channels.iter();
        channels.find(|(_, (at, until))| *at == peer && *until > now).map(|(number, _)| *number)
    }
}

/// All allocations.
pub(super) struct Allocations {
    by_id: BTreeMap<AllocationId, Allocation>,
    by_path: BTreeMap<Path, AllocationId>,
    by_address: BTreeMap<SocketAddr, AllocationId>,
    by_user: BTreeMap<String, BTreeSet<AllocationId>>,
    /// Each with a time that it was used last at, or earlier.
    by_use: Deadlines<AllocationId>,
    shares: Shares,
    next: u64,
}

impl Allocations {
    pub(super) fn new(shares: Shares) -> Allocations {
        Allocations {
            by_id: BTreeMap::new(),
            by_path: BTreeMap::new(),
            by_address: BTreeMap::new(),
            by_user: BTreeMap::new(),
            by_use: Deadlines::default(),
            shares,
            next: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.by_id.len()
    }

    pub(super) fn of_user(&self, user: &str) -> usize {
        self.by_user.get(user).map_or(0, BTreeSet::len)
    }

    /// The narrowest network of a host whose share is used up.
    pub(super) fn full_network(&self, host: SocketAddr) -> Option<Network> {
        self.shares.full(host)
    }

    pub(super) fn insert(&mut self, now: Time, mut allocation: Allocation) -> AllocationId {
        (allocation.heard, allocation.used, allocation.noted) = (now, now, now);
        let id = AllocationId(self.next);
        self.next += 1;
        self.by_path.insert(allocation.path, id);
        self.by_user.entry(allocation.user.clone()).or_default().insert(id);
        self.by_use.insert(now, id);
        self.shares.add(allocation.path.address());
        self.by_id.insert(id, allocation);
        id
    }

    pub(super) fn get_mut(&mut self, id: AllocationId) -> Option<&mut Allocation> {
        self.by_id.get_mut(&id)
    }

    /// The socket of an allocation is open.
    pub(super) fn set_address(&mut self, id: AllocationId, address: SocketAddr) {
        if let Some(allocation) = self.by_id.get_mut(&id) {
            allocation.address = Some(address);
            self.by_address.insert(address, id);
        }
    }

    /// Whether this is a relayed address. With port 0: whether one has this IP address.
    pub(super) fn is_relayed(&self, address: SocketAddr) -> bool {
        let last = if address.port() == 0 { u16::MAX } else { address.port() };
        let ports = address..=SocketAddr::new(address.ip(), last);
        self.by_address.range(ports).next().is_some()
    }

    /// The allocation of a host that sends something on this path.
    pub(super) fn at(&mut self, now: Time, path: Path) -> Option<(AllocationId, &mut Allocation)> {
        // RFC 8656, section 6: no two allocations have one 5-tuple.
        let id = *self.by_path.get(&path)?;
        let allocation = self.by_id.get_mut(&id)?;
        allocation.heard = now;
        Some((id, allocation))
    }

    /// The allocation of a stream.
    pub(super) fn of_stream(&self, stream: u64) -> Option<AllocationId> {
        let first = Path::Stream { id: stream, address: SocketAddr::from(([0; 4], 0)) };
        let (path, id) = self.by_path.range(first..).next()?;
        (path.stream() == Some(stream)).then_some(*id)
    }

    /// The user's allocation whose host has been silent longest, if that is long enough.
    pub(super) fn abandoned(&self, now: Time, user: &str) -> Option<AllocationId> {
        let of_user = self.by_user.get(user)?.iter();
        let heard = of_user.filter_map(|id| Some((self.by_id.get(id)?.heard, *id)));
        let (heard, id) = heard.min()?;
        (now.saturating_since(heard) >= ABANDONED_AFTER).then_some(id)
    }

    /// The allocation of a network, or of all, that has carried nothing for longest, if that is long
    /// enough.
    pub(super) fn unused(&mut self, now: Time, within: Option<Network>) -> Option<AllocationId> {
        let in_scope = |one: &Allocation| {
            within.is_none_or(|within| networks(one.path.address()).contains(&within))
        };
        let (mut stale, mut found) = (Vec::new(), None);
        for (noted, id) in self.by_use.iter() {
            if now.saturating_since(noted) < UNUSED_AFTER {
                break;
            }
            let one = &self.by_id[&id];
            if one.used != noted {
                stale.push((noted, id));
            } else if in_scope(one) {
                found = Some(id);
                break;
            }
        }
        // The order is corrected here, so that a datagram need not.
        for (noted, id) in stale {
            self.by_use.remove(noted, id);
            if let Some(one) = self.by_id.get_mut(&id) {
                one.noted = one.used;
                self.by_use.insert(one.noted, id);
            }
        }
        found
    }

    pub(super) fn remove(&mut self, id: AllocationId) -> Option<Allocation> {
        let allocation = self.by_id.remove(&id)?;
        self.by_path.remove(&allocation.path);
        if let Some(address) = &allocation.address {
            self.by_address.remove(address);
        }
        if let Some(ids) = self.by_user.get_mut(&allocation.user) {
            ids.remove(&id);
            if ids.is_empty() {
                self.by_user.remove(&allocation.user);
            }
        }
        self.by_use.remove(allocation.noted, id);
        self.shares.remove(allocation.path.address());
        Some(allocation)
    }

    /// Those that have expired.
    pub(super) fn expired(&self, now: Time) -> Vec<AllocationId> {
        self.by_id.iter().filter(|(_, one)| one.expires <= now).map(|(id, _)| *id).collect()
    }

    /// Asserts that the indexes agree with the table.
    pub(super) fn check(&self) {
        self.shares.check(self.by_id.values().map(|one| one.path.address()));
        assert_eq!(self.by_path, self.by_id.iter().map(|(id, one)| (one.path, *id)).collect());
        let open = self.by_id.iter().filter_map(|(id, one)| Some((one.address?, *id)));
        assert_eq!(self.by_address, open.collect());
        assert_eq!(self.by_use, self.by_id.iter().map(|(id, one)| (one.noted, *id)).collect());
        assert!(self.by_id.values().all(|one| one.used >= one.noted));
        let of_users = self.by_user.values().flatten();
        assert_eq!(of_users.collect::<BTreeSet<_>>(), self.by_id.keys().collect());
        assert!(self.by_user.iter().all(|(user, ids)| {
            !ids.is_empty() && ids.iter().all(|id| self.by_id[id].user == *user)
        }));
    }
}

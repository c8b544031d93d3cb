//! Relayed addresses and what they permit (RFC 8656, sections 3, 9 and 12).

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use stun_types::message::MessageIntegrityCredentials;
use windlass_base::{Span, Time};

use super::Path;
use super::bucket::{Bucket, BucketSize};
use super::relay::AllocationId;

/// RFC 8656, section 9.
pub(super) const PERMISSION_LIFETIME: Span = Span::from_secs(300);
/// RFC 8656, section 12.
pub(super) const CHANNEL_LIFETIME: Span = Span::from_secs(600);
/// A host that relays sends its peer a check every second.
const ABANDONED_AFTER: Span = Span::from_secs(15);
/// Permissions and channels of one allocation.
const ENTRIES_MAX: usize = 64;

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
    permissions: BTreeMap<IpAddr, Time>,
    channels: BTreeMap<u16, (SocketAddr, Time)>,
    /// What it may carry now, in bytes, if that is limited.
    bytes: Option<(BucketSize, Bucket)>,
}

impl Allocation {
    pub(super) fn new(
        path: Path,
        (user, credentials): (String, MessageIntegrityCredentials),
        request: Vec<u8>,
        lifetime_s: u32,
        carries: Option<BucketSize>,
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
            permissions: BTreeMap::new(),
            channels: BTreeMap::new(),
            bytes: carries.map(|size| (size, Bucket::full(size))),
        }
    }

    /// Whether it may carry a datagram of `len` bytes now.
    pub(super) fn carries(&mut self, now: Time, len: usize) -> bool {
        let Some((size, bucket)) = &mut self.bytes else { return true };
        bucket.take(*size, now, u32::try_from(len).unwrap_or(u32::MAX))
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
            self.permissions.retain(|_, until| *until > now);
        }
        let room = self.permissions.len() < ENTRIES_MAX || self.permissions.contains_key(&peer);
        if room {
            self.permissions.insert(peer, now + PERMISSION_LIFETIME);
        }
        room
    }

    /// Binds a channel to a peer, or renews it. False if number or peer is bound otherwise, or
    /// there are too many.
    pub(super) fn bind(&mut self, now: Time, number: u16, peer: SocketAddr) -> bool {
        self.channels.retain(|_, (_, until)| *until > now);
        let same =
            |(other, (at, _)): (&u16, &(SocketAddr, Time))| (*other == number) == (*at == peer);
        if !self.channels.iter().all(same) {
            return false;
        }
        let room = self.channels.len() < ENTRIES_MAX || self.channels.contains_key(&number);
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
#[derive(Default)]
pub(super) struct Allocations {
    by_id: BTreeMap<AllocationId, Allocation>,
    by_path: BTreeMap<Path, AllocationId>,
    next: u64,
}

impl Allocations {
    pub(super) fn len(&self) -> usize {
        self.by_id.len()
    }

    pub(super) fn of_user(&self, user: &str) -> usize {
        self.by_id.values().filter(|one| one.user == user).count()
    }

    pub(super) fn insert(&mut self, now: Time, mut allocation: Allocation) -> AllocationId {
        allocation.heard = now;
        let id = AllocationId(self.next);
        self.next += 1;
        self.by_path.insert(allocation.path, id);
        self.by_id.insert(id, allocation);
        id
    }

    pub(super) fn get_mut(&mut self, id: AllocationId) -> Option<&mut Allocation> {
        self.by_id.get_mut(&id)
    }

    /// The allocation of a host that sends something on this path.
    pub(super) fn at(&mut self, now: Time, path: Path) -> Option<(AllocationId, &mut Allocation)> {
        let id = *self.by_path.get(&path)?;
        let allocation = self.by_id.get_mut(&id)?;
        allocation.heard = now;
        Some((id, allocation))
    }

    /// The user's allocation whose host has been silent longest, if that is long enough.
    pub(super) fn abandoned(&self, now: Time, user: &str) -> Option<AllocationId> {
        let of_user = self.by_id.iter().filter(|(_, one)| one.user == user);
        let (id, oldest) = of_user.min_by_key(|(_, one)| one.heard)?;
        (now.saturating_since(oldest.heard) >= ABANDONED_AFTER).then_some(*id)
    }

    pub(super) fn remove(&mut self, id: AllocationId) -> Option<Allocation> {
        let allocation = self.by_id.remove(&id)?;
        self.by_path.remove(&allocation.path);
        Some(allocation)
    }

    /// Those for which `over` holds.
    pub(super) fn find(&self, over: impl Fn(&Allocation) -> bool) -> Vec<AllocationId> {
        self.by_id.iter().filter(|(_, one)| over(one)).map(|(id, _)| *id).collect()
    }
}

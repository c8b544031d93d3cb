//! The relay (TURN, RFC 8656), for UDP between relay and peers. Passwords are derived from user
//! names, and user names from keys, so that the relay keeps no table of users.

use std::collections::VecDeque;
use std::net::SocketAddr;

use stun_types::message::{
    IntegrityAlgorithm, LongTermKeyCredentials, Message, MessageClass, MessageIntegrityCredentials,
    MessageWrite, MessageWriteExt, MessageWriteVec, Method,
};
use windlass_base::{RateLimit, Span, Time};
use windlass_identity::PublicKey;

use super::allocations::{Allocation, AllocationId, Allocations};
use super::peers::Peers;
use super::shares::Shares;
use super::source::Secret;
use super::stun::{self, add, add_address};
use super::{Limits, Path, Transmit};
use crate::message::{Nonce, TurnCredentials};

const ALLOCATE: Method = Method::new(0x003);
const REFRESH: Method = Method::new(0x004);
const SEND: Method = Method::new(0x006);
const DATA: Method = Method::new(0x007);
const CREATE_PERMISSION: Method = Method::new(0x008);
const CHANNEL_BIND: Method = Method::new(0x009);

/// Error codes (RFC 8489, section 14.8; RFC 8656, section 19).
const BAD_REQUEST: u16 = 400;
const UNAUTHORIZED: u16 = 401;
const FORBIDDEN: u16 = 403;
const ALLOCATION_MISMATCH: u16 = 437;
const STALE_NONCE: u16 = 438;
const FAMILY_NOT_SUPPORTED: u16 = 440;
const WRONG_CREDENTIALS: u16 = 441;
const TRANSPORT_NOT_SUPPORTED: u16 = 442;
const PEER_FAMILY_MISMATCH: u16 = 443;
const QUOTA_REACHED: u16 = 486;
const INSUFFICIENT_CAPACITY: u16 = 508;

/// RFC 8656, section 3.2: the default and the greatest lifetime of an allocation.
const LIFETIME_S: u32 = 600;
const LIFETIME_MAX_S: u32 = 3600;
/// The numbers of channels in RFC 5766, section 11, which coturn's client still uses. RFC 8656,
/// section 12, ends them at 0x4fff, so that DTLS can share the port. There is none here.
const CHANNELS: std::ops::RangeInclusive<u16> = 0x4000..=0x7fff;
/// REQUESTED-TRANSPORT: UDP (RFC 8656, section 18.8).
const UDP: u8 = 17;
/// The least burst of an allocation whose rate is limited: what a sender's window may hold at once.
const BURST_BYTES_MIN: u32 = 64 << 10;
/// The family IPv6 in REQUESTED-ADDRESS-FAMILY (RFC 8656, section 18.6).
const IPV6: u8 = 2;

/// A request to the caller to open or close the socket of an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelayRequest {
    /// Opens a UDP socket and calls [`relay_opened`](super::Server::relay_opened). At an even port it
    /// also suits those who ask for one (RFC 8656, section 7.2).
    Open {
        /// The allocation.
        allocation: AllocationId,
        /// The socket's family.
        is_ipv6: bool,
    },
    /// Closes the socket.
    Close {
        /// The allocation.
        allocation: AllocationId,
    },
}

/// User name and password for the relay of the host with this key.
pub(super) fn credentials(secret: &Secret, key: &PublicKey) -> TurnCredentials {
    let username = format!("{:016x}", secret.hash(4, key.as_bytes()) as u64);
    let password = password(secret, &username);
    TurnCredentials { username, password }
}

fn password(secret: &Secret, username: &str) -> String {
    format!("{:032x}", secret.hash(5, username))
}

/// The inputs for verifying a request.
pub(super) struct Proof<'a> {
    pub(super) secret: &'a Secret,
    /// A fresh nonce for the source.
    pub(super) nonce: Nonce,
    /// The request has a valid nonce.
    pub(super) verified: bool,
}

/// The result of a host's message.
pub(super) enum Answer {
    /// A message to the host.
    Host(Vec<u8>),
    /// A datagram to a peer.
    Peer(Transmit),
    /// Nothing, or nothing yet.
    Nothing,
}

pub(super) struct Relay {
    realm: String,
    pub(super) peers: Peers,
    max: usize,
    max_per_user: usize,
    /// Of each allocation, in bytes.
    carries: Option<RateLimit>,
    allocations: Allocations,
    requests: VecDeque<RelayRequest>,
}

/// A request whose sender is known.
struct Request<'a> {
    now: Time,
    path: Path,
    message: &'a Message<'a>,
    user: String,
    credentials: MessageIntegrityCredentials,
}

impl Request<'_> {
    fn success(&self) -> MessageWriteVec {
        Message::builder_success(self.message, MessageWriteVec::new())
    }

    fn error(&self, code: u16) -> MessageWriteVec {
        stun::error(self.message, code)
    }

    /// The peers that the request names.
    fn peers(&self) -> Vec<SocketAddr> {
        let attributes = self.message.iter_attributes().map(|(_, raw)| raw);
        let peers = attributes.filter(|raw| raw.header.get_type() == stun::XOR_PEER_ADDRESS);
        peers.filter_map(|raw| stun::address(self.message, &raw)).collect()
    }
}

/// Signs a response (RFC 8489, section 9.2.4).
fn signed(mut response: MessageWriteVec, credentials: &MessageIntegrityCredentials) -> Vec<u8> {
    response
        .add_message_integrity(credentials, IntegrityAlgorithm::Sha1)
        .expect("a response without integrity");
    response.finish()
}

impl Relay {
    pub(super) fn new(realm: String, peers: Peers, limits: &Limits) -> Relay {
        let shares = Shares::new(limits.allocations, limits.allocations_per_network);
        Relay {
            realm,
            peers,
            max: limits.allocations,
            max_per_user: limits.allocations_per_key,
            carries: limits.relayed_bytes_per_s.map(|per_s| {
                RateLimit::per_second(per_s.into(), (per_s / 4).max(BURST_BYTES_MIN).into())
            }),
            allocations: Allocations::new(shares),
            requests: VecDeque::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.allocations.len()
    }

    pub(super) fn poll_request(&mut self) -> Option<RelayRequest> {
        self.requests.pop_front()
    }

    /// Handles a message of TURN.
    pub(super) fn handle(
        &mut self,
        now: Time,
        path: Path,
        message: &Message<'_>,
        proof: &Proof<'_>,
    ) -> Answer {
        match (message.class(), message.method()) {
            (MessageClass::Indication, SEND) => self.send(now, path, message),
            (MessageClass::Request, ALLOCATE | REFRESH | CREATE_PERMISSION | CHANNEL_BIND) => {
                match self.authenticate(now, path, message, proof) {
                    Ok(request) => self.handle_request(&request),
                    Err(refusal) => Answer::Host(refusal),
                }
            }
            _ => Answer::Nothing,
        }
    }

    /// Finds out who sent a request (RFC 8489, section 9.2.4).
    fn authenticate<'a>(
        &self,
        now: Time,
        path: Path,
        message: &'a Message<'a>,
        proof: &Proof<'_>,
    ) -> Result<Request<'a>, Vec<u8>> {
        let challenge = |code| {
            let mut response = stun::error(message, code);
            add(&mut response, stun::REALM, self.realm.as_bytes());
            add(&mut response, stun::NONCE, proof.nonce.as_str().as_bytes());
            Err(response.finish())
        };
        let user = stun::value(message, stun::USERNAME).map(String::from_utf8);
        // RFC 8489, section 9.2.4: 401 without credentials, 438 with a stale nonce.
        let Some(Ok(user)) = user else { return challenge(UNAUTHORIZED) };
        if !proof.verified {
            return challenge(STALE_NONCE);
        }
        let password = password(proof.secret, &user);
        let credentials = LongTermKeyCredentials::new(user.clone(), password, self.realm.clone());
        let credentials = MessageIntegrityCredentials::from(credentials);
        match message.validate_integrity(&credentials) {
            Ok(_) => Ok(Request { now, path, message, user, credentials }),
            Err(_) => challenge(UNAUTHORIZED),
        }
    }

    fn handle_request(&mut self, request: &Request<'_>) -> Answer {
        let response = match request.message.method() {
            ALLOCATE => self.allocate(request),
            method => match self.allocations.at(request.now, request.path) {
                None => Some(request.error(ALLOCATION_MISMATCH)),
                // 441: another user has made the allocation.
                Some((_, allocation)) if allocation.user != request.user => {
                    Some(request.error(WRONG_CREDENTIALS))
                }
                // Its socket is not open yet. The host repeats the request.
                Some((_, allocation)) if allocation.address.is_none() => None,
                _ if method == REFRESH => Some(self.refresh(request)),
                _ if method == CREATE_PERMISSION => Some(self.create_permission(request)),
                _ => Some(self.bind_channel(request)),
            },
        };
        match response {
            Some(response) => Answer::Host(signed(response, &request.credentials)),
            None => Answer::Nothing,
        }
    }

    /// RFC 8656, section 7.2. `None` if the answer follows when the socket is open.
    fn allocate(&mut self, request: &Request<'_>) -> Option<MessageWriteVec> {
        let message = request.message;
        // RFC 8656, section 7.2: the 5-tuple is in use.
        if let Some((_, allocation)) = self.allocations.at(request.now, request.path) {
            let repeated = Message::from_bytes(&allocation.request)
                .is_ok_and(|first| first.transaction_id() == message.transaction_id());
            return match (repeated, allocation.address) {
                (true, Some(address)) => Some(granted(message, allocation, address)),
                (true, None) => None,
                (false, Some(address)) if may_take_over(request, allocation, address) => {
                    allocation.request = message.as_bytes().to_vec();
                    Some(granted(message, allocation, address))
                }
                _ => Some(request.error(ALLOCATION_MISMATCH)),
            };
        }
        let dont_fragment = stun_types::attribute::AttributeType::new(0x001a);
        let known = [
            stun::REQUESTED_TRANSPORT,
            stun::REQUESTED_ADDRESS_FAMILY,
            stun::LIFETIME,
            stun::EVEN_PORT,
            dont_fragment,
        ];
        let unknown = stun::unknown(message, &known);
        if !unknown.is_empty() {
            return Some(stun::unknown_error(message, &unknown));
        }
        let first_byte = |kind| stun::value(message, kind).map(|value| value.first().copied());
        let family = first_byte(stun::REQUESTED_ADDRESS_FAMILY);
        // RFC 8656, section 7.2: the codes 400, 442, 440 and 508.
        let code = match first_byte(stun::REQUESTED_TRANSPORT) {
            None => BAD_REQUEST,
            Some(transport) if transport != Some(UDP) => TRANSPORT_NOT_SUPPORTED,
            _ if !matches!(family, None | Some(Some(1 | IPV6))) => FAMILY_NOT_SUPPORTED,
            // The next port is not reserved for anyone.
            _ if first_byte(stun::EVEN_PORT).flatten().is_some_and(|flags| flags & 0x80 != 0) => {
                INSUFFICIENT_CAPACITY
            }
            _ => match self.make_room(request) {
                Err(code) => code,
                Ok(()) => {
                    self.open(request, family == Some(Some(IPV6)));
                    return None;
                }
            },
        };
        Some(request.error(code))
    }

    /// Makes room for one more allocation, at the cost of one that carries nothing if need be: of the
    /// same user, of the same network, or of anyone. Otherwise returns the code of the error.
    fn make_room(&mut self, request: &Request<'_>) -> Result<(), u16> {
        let (now, host) = (request.now, request.path.address());
        // Before others lose an allocation, this user's quota counts.
        if !self.has_room_for(now, &request.user) {
            return Err(QUOTA_REACHED);
        }
        while let Some(network) = self.allocations.full_network(host) {
            let unused = self.allocations.unused(now, Some(network)).ok_or(QUOTA_REACHED)?;
            self.close(unused);
        }
        if self.allocations.len() >= self.max {
            let unused = self.allocations.unused(now, None).ok_or(INSUFFICIENT_CAPACITY)?;
            self.close(unused);
        }
        Ok(())
    }

    /// Whether a user may have one more allocation. Ends an abandoned one if need be: after a NAT has
    /// forgotten a mapping, the host cannot end the allocation that it had there.
    fn has_room_for(&mut self, now: Time, user: &str) -> bool {
        if self.allocations.of_user(user) < self.max_per_user {
            return true;
        }
        let abandoned = self.allocations.abandoned(now, user);
        abandoned.inspect(|id| self.close(*id)).is_some()
    }

    fn open(&mut self, request: &Request<'_>, is_ipv6: bool) {
        let lifetime_s = stun::number(request.message, stun::LIFETIME).unwrap_or(LIFETIME_S);
        let user = (request.user.clone(), request.credentials.clone());
        let bytes = request.message.as_bytes().to_vec();
        // RFC 8656, section 7.2: no less than the default, no more than the server's limit.
        let lifetime_s = lifetime_s.clamp(LIFETIME_S, LIFETIME_MAX_S);
        let mut allocation = Allocation::new(request.path, user, bytes, lifetime_s, self.carries);
        allocation.expires = request.now + Span::from_secs(lifetime_s.into());
        let allocation = self.allocations.insert(request.now, allocation);
        self.requests.push_back(RelayRequest::Open { allocation, is_ipv6 });
    }

    /// The caller has opened the socket, or could not. Returns the answer to the host.
    pub(super) fn opened(
        &mut self,
        now: Time,
        id: AllocationId,
        mut address: Option<SocketAddr>,
    ) -> Option<(Path, Vec<u8>)> {
        let allocation = self.allocations.get_mut(id)?;
        allocation.expires = now + Span::from_secs(allocation.lifetime_s.into());
        let request = Message::from_bytes(&allocation.request).ok()?;
        let wants_even = request.has_attribute(stun::EVEN_PORT);
        // EVEN-PORT: an odd port is given back.
        if address.is_some_and(|address| wants_even && address.port() % 2 == 1) {
            self.requests.push_back(RelayRequest::Close { allocation: id });
            address = None;
        }
        let response = match address {
            Some(address) => granted(&request, allocation, address),
            None => stun::error(&request, INSUFFICIENT_CAPACITY),
        };
        let answer = (allocation.path, signed(response, &allocation.credentials));
        match address {
            Some(address) => self.allocations.set_address(id, address),
            None => drop(self.allocations.remove(id)),
        }
        Some(answer)
    }

    /// RFC 8656, section 8.2. A lifetime of 0 ends the allocation.
    fn refresh(&mut self, request: &Request<'_>) -> MessageWriteVec {
        let wanted = stun::number(request.message, stun::LIFETIME).unwrap_or(LIFETIME_S);
        let lifetime_s = if wanted == 0 { 0 } else { wanted.clamp(LIFETIME_S, LIFETIME_MAX_S) };
        let Some((id, allocation)) = self.allocations.at(request.now, request.path) else {
            return request.error(ALLOCATION_MISMATCH);
        };
        allocation.expires = request.now + Span::from_secs(lifetime_s.into());
        if lifetime_s == 0 {
            self.close(id);
        }
        let mut response = request.success();
        add(&mut response, stun::LIFETIME, &lifetime_s.to_be_bytes());
        response
    }

    /// Whether datagrams pass between an allocation and this peer: one that the policy admits, or another
    /// allocation, which two hosts need that both send to nothing but the relay. With port 0: whether
    /// there is any such peer at this address.
    fn reaches(&self, peer: SocketAddr) -> bool {
        self.peers.admits(peer.ip()) || self.allocations.is_relayed(peer)
    }

    /// The code of the error for a peer of an allocation with this address. A permission is for all ports
    /// (RFC 8656, section 9), so that each datagram is looked at again.
    fn refusal(&self, relayed: Option<SocketAddr>, peer: SocketAddr) -> Option<u16> {
        // RFC 8656, sections 10.2 and 12.2: 443 for a peer of the other family.
        if relayed.is_some_and(|relayed| relayed.is_ipv4() != peer.is_ipv4()) {
            return Some(PEER_FAMILY_MISMATCH);
        }
        (!self.reaches(peer)).then_some(FORBIDDEN)
    }

    /// RFC 8656, section 10.2.
    fn create_permission(&mut self, request: &Request<'_>) -> MessageWriteVec {
        let peers = request.peers();
        let Some((id, allocation)) = self.allocations.at(request.now, request.path) else {
            return request.error(ALLOCATION_MISMATCH);
        };
        let relayed = allocation.address;
        // RFC 8656, section 10.2: at least one peer is to be named.
        if peers.is_empty() {
            return request.error(BAD_REQUEST);
        }
        // One peer that is refused refuses the whole request.
        if let Some(code) = peers.iter().find_map(|peer| self.refusal(relayed, *peer)) {
            return request.error(code);
        }
        let allocation = self.allocations.get_mut(id);
        let permit =
            |one: &mut Allocation| peers.iter().all(|peer| one.permit(request.now, peer.ip()));
        match allocation.is_some_and(permit) {
            true => request.success(),
            false => request.error(INSUFFICIENT_CAPACITY),
        }
    }

    /// RFC 8656, section 12.2.
    fn bind_channel(&mut self, request: &Request<'_>) -> MessageWriteVec {
        let number = stun::number(request.message, stun::CHANNEL_NUMBER);
        let number = number.map(|value| (value >> 16) as u16);
        let Some((id, allocation)) = self.allocations.at(request.now, request.path) else {
            return request.error(ALLOCATION_MISMATCH);
        };
        let relayed = allocation.address;
        let (Some(number), Some(peer)) = (number, request.peers().first().copied()) else {
            return request.error(BAD_REQUEST);
        };
        // RFC 8656, section 12: other numbers are reserved, or look like STUN.
        if !CHANNELS.contains(&number) {
            return request.error(BAD_REQUEST);
        }
        if let Some(code) = self.refusal(relayed, peer) {
            return request.error(code);
        }
        let allocation = self.allocations.get_mut(id);
        match allocation.is_some_and(|one| one.bind(request.now, number, peer)) {
            true => request.success(),
            false => request.error(BAD_REQUEST),
        }
    }

    /// A Send indication (RFC 8656, section 11.2).
    fn send(&mut self, now: Time, path: Path, message: &Message<'_>) -> Answer {
        let peer = message.raw_attribute(stun::XOR_PEER_ADDRESS);
        let peer = peer.and_then(|raw| stun::address(message, &raw));
        let data = stun::value(message, stun::DATA);
        let (Some(to), Some(bytes)) = (peer, data) else { return Answer::Nothing };
        // The policy may admit no such peer, for example an address inside of this network.
        if !self.reaches(to) {
            return Answer::Nothing;
        }
        let Some((allocation, one)) = self.allocations.at(now, path) else {
            return Answer::Nothing;
        };
        // RFC 8656, section 11.2: without a permission the datagram is dropped.
        if one.permits(now, to.ip()) && one.carries(now, bytes.len()) {
            return Answer::Peer(Transmit::Peer { allocation, to, bytes });
        }
        Answer::Nothing
    }

    /// A datagram of a host in a channel (RFC 8656, section 12.6).
    pub(super) fn channel_data(&mut self, now: Time, path: Path, bytes: &[u8]) -> Option<Transmit> {
        let (header, data) = bytes.split_first_chunk::<4>()?;
        let number = u16::from_be_bytes([header[0], header[1]]);
        let data = data.get(..usize::from(u16::from_be_bytes([header[2], header[3]])))?;
        let (allocation, one) = self.allocations.at(now, path)?;
        // RFC 8656, section 12.6: a binding and a permission are needed.
        let to = one.peer(now, number).filter(|peer| one.permits(now, peer.ip()))?;
        if !self.reaches(to) {
            return None;
        }
        self.allocations.get_mut(allocation)?.carries(now, data.len()).then_some(())?;
        Some(Transmit::Peer { allocation, to, bytes: data.to_vec() })
    }

    /// Wraps a datagram of a peer for the host.
    pub(super) fn handle_peer(
        &mut self,
        now: Time,
        id: AllocationId,
        from: SocketAddr,
        bytes: &[u8],
    ) -> Option<(Path, Vec<u8>)> {
        if !self.reaches(from) {
            return None;
        }
        let one = self.allocations.get_mut(id).filter(|one| one.expires > now)?;
        let len = u16::try_from(bytes.len()).ok().filter(|_| one.permits(now, from.ip()))?;
        one.carries(now, bytes.len()).then_some(())?;
        // RFC 8656, section 12.7: a bound channel replaces the Data indication.
        if let Some(number) = one.channel(now, from) {
            let mut framed = Vec::with_capacity(4 + bytes.len());
            framed.extend(number.to_be_bytes());
            framed.extend(len.to_be_bytes());
            framed.extend(bytes);
            return Some((one.path, framed));
        }
        // RFC 8656, section 11.3: without a channel a Data indication names the peer.
        let write = MessageWriteVec::with_capacity(48 + bytes.len());
        let mut indication = Message::builder_indication(DATA, write);
        let xor = stun_types::attribute::XorSocketAddr::new(from, indication.transaction_id());
        indication.push_attribute_unchecked(&xor.to_raw(stun::XOR_PEER_ADDRESS));
        add(&mut indication, stun::DATA, bytes);
        Some((one.path, indication.finish()))
    }

    fn close(&mut self, allocation: AllocationId) {
        if self.allocations.remove(allocation).is_some() {
            self.requests.push_back(RelayRequest::Close { allocation });
        }
    }

    /// Ends the allocation of a stream.
    pub(super) fn close_stream(&mut self, stream: u64) {
        if let Some(id) = self.allocations.of_stream(stream) {
            self.close(id);
        }
    }

    /// Ends the allocations that were not refreshed.
    pub(super) fn expire(&mut self, now: Time) {
        for id in self.allocations.expired(now) {
            self.close(id);
        }
    }

    /// Asserts that the tables agree, and are within their bounds.
    pub(super) fn check(&self) {
        assert!(self.allocations.len() <= self.max);
        self.allocations.check();
    }
}

/// Whether a new request gets the allocation that an earlier one was granted: the same user's, of the
/// same kind, and never used. So a host whose answers were all lost need not wait for the end of
/// the allocation's lifetime, as it would by RFC 8656, section 7.2.
fn may_take_over(request: &Request<'_>, allocation: &Allocation, address: SocketAddr) -> bool {
    let family = stun::value(request.message, stun::REQUESTED_ADDRESS_FAMILY);
    let wants_ipv6 = family.is_some_and(|value| value.first() == Some(&IPV6));
    let wants_even = request.message.has_attribute(stun::EVEN_PORT);
    allocation.user == request.user
        && allocation.is_unused()
        && wants_ipv6 == address.is_ipv6()
        && !wants_even
}

/// The answer to a granted request (RFC 8656, section 7.2).
fn granted(request: &Message<'_>, allocation: &Allocation, address: SocketAddr) -> MessageWriteVec {
    let mut response = Message::builder_success(request, MessageWriteVec::new());
    add_address(&mut response, request, stun::XOR_RELAYED_ADDRESS, address);
    add_address(&mut response, request, stun::XOR_MAPPED_ADDRESS, allocation.path.address());
    add(&mut response, stun::LIFETIME, &allocation.lifetime_s.to_be_bytes());
    response
}

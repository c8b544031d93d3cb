//! The relay: what it grants, carries and refuses.

use super::*;
use turn_client_proto::api::{TurnConfig, TurnEvent, TurnPollRet, TurnRecvRet};
use turn_client_proto::prelude::*;
use turn_client_proto::stun::Instant;
use turn_client_proto::stun::agent::Transmit as TurnTransmit;
use turn_client_proto::types::{TransportType, TurnCredentials as Credentials};
use turn_client_proto::udp::TurnClientUdp;

/// A host of a relay, and its client.
struct Relayed {
    server: Server,
    client: TurnClientUdp,
    path: Path,
    now: Time,
    socket: Option<AllocationId>,
    allocated: Option<SocketAddr>,
}

const RELAYED: &str = "203.0.113.1:50000";

fn instant(now: Time) -> Instant {
    Instant::from_nanos(now.as_nanos() as i64)
}

impl Relayed {
    fn new(user: &TurnCredentials) -> Relayed {
        Relayed::at(server(), user)
    }

    fn at(mut server: Server, user: &TurnCredentials) -> Relayed {
        let now = Time::ZERO + Span::from_secs(1000);
        let path = udp("192.0.2.1:1000");
        // Registered hosts are verified.
        server.credits.verified(&server.secret, path.address());
        let config = TurnConfig::new(Credentials::new(&user.username, &user.password));
        let client = TurnClientUdp::allocate(path.address(), address("203.0.113.1:3478"), config);
        let mut relayed = Relayed { server, client, path, now, socket: None, allocated: None };
        // The client paces its requests.
        relayed.wait(Span::from_secs(1));
        relayed
    }

    fn settle(&mut self) {
        loop {
            let _ = self.client.poll(instant(self.now));
            let mut idle = true;
            while let Some(event) = self.client.poll_event() {
                if let TurnEvent::AllocationCreated(_, address) = event {
                    self.allocated = Some(address);
                }
            }
            while let Some(transmit) = self.client.poll_transmit(instant(self.now)) {
                idle = false;
                self.server.handle(self.now, self.path, &transmit.data);
            }
            while let Some(request) = self.server.poll_relay() {
                match request {
                    RelayRequest::Open { allocation, is_ipv6 } => {
                        assert!(!is_ipv6);
                        self.socket = Some(allocation);
                        self.server.relay_opened(self.now, allocation, Some(address(RELAYED)));
                    }
                    RelayRequest::Close { .. } => self.socket = None,
                }
            }
            while let Some(transmit) = self.server.poll_transmit() {
                idle = false;
                let Transmit::Host { bytes, .. } = transmit else { panic!("for the host") };
                self.receive(&bytes);
            }
            if idle {
                return;
            }
        }
    }

    fn receive(&mut self, bytes: &[u8]) -> Option<(SocketAddr, Vec<u8>)> {
        let server = address("203.0.113.1:3478");
        let transmit =
            TurnTransmit::new(bytes.to_vec(), TransportType::Udp, server, self.path.address());
        match self.client.recv(transmit, instant(self.now)) {
            TurnRecvRet::PeerData(data) => Some((data.peer, data.data().to_vec())),
            _ => None,
        }
    }

    /// The datagram that reaches a peer when the host sends `data` to it.
    fn send(&mut self, peer: SocketAddr, data: &[u8]) -> Option<(SocketAddr, Vec<u8>)> {
        let built = self.client.send_to(TransportType::Udp, peer, data.to_vec(), instant(self.now));
        let built = built.ok().flatten()?.build();
        self.server.handle(self.now, self.path, &built.data);
        match self.server.poll_transmit()? {
            Transmit::Peer { to, bytes, .. } => Some((to, bytes)),
            Transmit::Host { .. } => panic!("for the peer"),
        }
    }

    /// Sends `data` from a peer to the relayed address, and returns what the host receives: the
    /// peer and the data.
    fn receive_from(&mut self, peer: SocketAddr, data: &[u8]) -> Option<(SocketAddr, Vec<u8>)> {
        self.server.handle_relayed(self.now, self.socket?, peer, data);
        match self.server.poll_transmit()? {
            Transmit::Host { bytes, .. } => self.receive(&bytes),
            Transmit::Peer { .. } => panic!("for the host"),
        }
    }

    fn wait(&mut self, span: Span) {
        let end = self.now + span;
        while let TurnPollRet::WaitUntil(at) = self.client.poll(instant(self.now)) {
            let at = Time::from_nanos(at.as_nanos() as u64).max(self.now + Span::from_nanos(1));
            if at > end {
                break;
            }
            self.now = at;
            self.server.handle_timeout(self.now);
            self.settle();
        }
        self.now = end;
        self.server.handle_timeout(end);
        self.settle();
    }
}

fn user(server: &Server) -> TurnCredentials {
    relay::credentials(&server.secret, &key(1))
}

#[test]
fn a_relay_carries_datagrams_both_ways_and_only_of_permitted_peers() {
    let mut relayed = Relayed::new(&user(&server()));
    assert_eq!(relayed.allocated, Some(address(RELAYED)));
    let (peer, stranger) = (address("198.51.100.1:9"), address("198.51.100.2:9"));
    assert_eq!(relayed.receive_from(peer, b"too early"), None);
    let permitted =
        relayed.client.create_permission(TransportType::Udp, peer.ip(), instant(relayed.now));
    permitted.expect("an allocation");
    relayed.settle();
    assert_eq!(relayed.send(peer, b"out"), Some((peer, b"out".to_vec())));
    assert_eq!(relayed.receive_from(peer, b"in"), Some((peer, b"in".to_vec())));
    assert_eq!(relayed.receive_from(stranger, b"in"), None);
    let bound = relayed.client.bind_channel(TransportType::Udp, peer, instant(relayed.now));
    bound.expect("an allocation");
    relayed.settle();
    assert_eq!(relayed.send(peer, b"channel"), Some((peer, b"channel".to_vec())));
    assert_eq!(relayed.receive_from(peer, b"channel"), Some((peer, b"channel".to_vec())));
}

/// A permission lives for minutes, and the host's addresses may change meanwhile.
#[test]
fn every_way_through_a_relay_is_closed_to_its_own_host() {
    let mut relayed = Relayed::new(&user(&server()));
    let [bound, permitted, late, late_bound] =
        [1, 2, 3, 4].map(|last| address(&format!("198.51.100.{last}:9")));
    // The client sends no second request for permissions at the same moment.
    let permit = |relayed: &mut Relayed, peer: SocketAddr| {
        relayed.now += Span::from_secs(1);
        let now = instant(relayed.now);
        relayed.client.create_permission(TransportType::Udp, peer.ip(), now).expect("allocated");
        relayed.settle();
    };
    let bind = |relayed: &mut Relayed, peer: SocketAddr| {
        let now = instant(relayed.now);
        relayed.client.bind_channel(TransportType::Udp, peer, now).expect("allocated");
        relayed.settle();
    };
    permit(&mut relayed, permitted);
    permit(&mut relayed, bound);
    bind(&mut relayed, bound);
    let open = |relayed: &mut Relayed, peer| {
        let there = relayed.send(peer, b"out").is_some();
        (there, relayed.receive_from(peer, b"in").is_some())
    };
    for peer in [permitted, bound] {
        assert_eq!(open(&mut relayed, peer), (true, true), "{peer}");
    }
    relayed.server.set_own_addresses([bound, permitted, late, late_bound].map(|peer| peer.ip()));
    for peer in [permitted, bound] {
        assert_eq!(open(&mut relayed, peer), (false, false), "{peer}");
    }
    permit(&mut relayed, late);
    bind(&mut relayed, late_bound);
    relayed.server.set_own_addresses([]);
    for peer in [late, late_bound] {
        assert_eq!(relayed.receive_from(peer, b"in"), None, "{peer} was refused");
    }
    for peer in [permitted, bound] {
        assert_eq!(open(&mut relayed, peer), (true, true), "{peer}");
    }
}

#[test]
fn a_relayed_address_carries_no_more_than_its_rate_both_ways_together() {
    let mut config = Config::new([3; 16]);
    config.limits.relayed_bytes_per_s = Some(400_000);
    let mut relayed = Relayed::at(Server::new(config, Rng::new(1)), &user(&server()));
    let peer = address("198.51.100.1:9");
    let permitted =
        relayed.client.create_permission(TransportType::Udp, peer.ip(), instant(relayed.now));
    permitted.expect("an allocation");
    relayed.settle();
    let datagram = [0; 1000];
    let mut carried = [0; 2];
    for _ in 0..200 {
        carried[0] += u32::from(relayed.send(peer, &datagram).is_some());
        carried[1] += u32::from(relayed.receive_from(peer, &datagram).is_some());
    }
    assert_eq!(carried, [50, 50], "the burst of a quarter of a second");
    assert_eq!(relayed.server.counters().relay_dropped, 300);
    relayed.now += Span::from_millis(10);
    let more = (0..10).filter(|_| relayed.send(peer, &datagram).is_some());
    assert_eq!(more.count(), 4);
}

/// All answers to the first request were lost, and the host asks anew.
#[test]
fn an_allocation_that_was_never_used_is_granted_to_the_next_request() {
    let mut relayed = Relayed::new(&user(&server()));
    let asks_anew = |relayed: &mut Relayed| {
        let user = user(&relayed.server);
        let config = TurnConfig::new(Credentials::new(&user.username, &user.password));
        let server = address("203.0.113.1:3478");
        relayed.client = TurnClientUdp::allocate(relayed.path.address(), server, config);
        relayed.allocated = None;
        relayed.wait(Span::from_secs(1));
        relayed.allocated
    };
    assert_eq!(asks_anew(&mut relayed), Some(address(RELAYED)));
    assert_eq!(relayed.server.counters().allocations, 1);
    // Once it is used, nothing but its end makes room (RFC 8656, section 7.2).
    let peer = address("198.51.100.1:9").ip();
    let now = instant(relayed.now);
    relayed.client.create_permission(TransportType::Udp, peer, now).expect("an allocation");
    relayed.settle();
    assert_eq!(asks_anew(&mut relayed), None);
}

#[test]
fn an_allocation_lives_while_it_is_refreshed() {
    let mut relayed = Relayed::new(&user(&server()));
    relayed.wait(Span::from_secs(3 * 3600));
    assert!(relayed.socket.is_some(), "the client refreshes, with new nonces");
    relayed.now += Span::from_secs(3601);
    relayed.server.handle_timeout(relayed.now);
    assert!(matches!(relayed.server.poll_relay(), Some(RelayRequest::Close { .. })));
}

/// A request for a relayed address with an even port. With `both`, also for the next one.
fn allocate_even(server: &mut Server, now: Time, path: Path, both: bool) -> Vec<u8> {
    use stun_types::message::{IntegrityAlgorithm, LongTermKeyCredentials, MessageWriteExt};
    let class = stun_types::message::MessageClass::Request;
    let kind = MessageType::from_class_method(class, stun_types::message::Method::new(3));
    let mut message = Stun::builder(kind, 7.into(), MessageWriteVec::new());
    let (user, nonce) = (user(server), server.nonces.draw(now, path.address()));
    stun::add(&mut message, stun::REQUESTED_TRANSPORT, &[17, 0, 0, 0]);
    stun::add(&mut message, stun::EVEN_PORT, &[u8::from(both) << 7]);
    stun::add(&mut message, stun::USERNAME, user.username.as_bytes());
    stun::add(&mut message, stun::REALM, b"windlass");
    stun::add(&mut message, stun::NONCE, nonce.as_str().as_bytes());
    let known = LongTermKeyCredentials::new(user.username, user.password, "windlass".into());
    let added = message.add_message_integrity(&known.into(), IntegrityAlgorithm::Sha1);
    added.expect("the first integrity");
    message.finish()
}

#[test]
fn a_client_that_asks_for_an_even_port_gets_no_other() {
    let now = Time::ZERO + Span::from_secs(1000);
    let path = udp("192.0.2.1:1000");
    for (both, port, granted) in [(false, 50_000, true), (false, 50_001, false), (true, 0, false)] {
        let mut server = server();
        let request = allocate_even(&mut server, now, path, both);
        server.handle(now, path, &request);
        if let Some(RelayRequest::Open { allocation, .. }) = server.poll_relay() {
            server.relay_opened(now, allocation, Some(([203, 0, 113, 1], port).into()));
        }
        let Some(Transmit::Host { bytes, .. }) = server.poll_transmit() else { panic!("none") };
        let answer = Stun::from_bytes(&bytes).expect("STUN");
        assert_eq!(answer.has_attribute(stun::XOR_RELAYED_ADDRESS), granted, "{port}");
        let code = stun::value(&answer, stun::ERROR_CODE);
        assert_eq!(code, (!granted).then(|| vec![0, 0, 5, 8]), "{port}");
        // A socket that does not suit is closed again.
        let closed = matches!(server.poll_relay(), Some(RelayRequest::Close { .. }));
        assert_eq!(closed, port == 50_001);
        assert_eq!(server.counters().allocations, u64::from(granted));
    }
}

/// Asks for one more allocation of a user whose limit is reached. Returns the code of the error, and
/// the allocation that was ended for it.
fn one_more(server: &mut Server, now: Time, path: Path) -> (Option<Vec<u8>>, Option<AllocationId>) {
    let request = allocate_even(server, now, path, false);
    server.handle(now, path, &request);
    let mut closed = None;
    while let Some(request) = server.poll_relay() {
        match request {
            RelayRequest::Open { allocation, .. } => {
                server.relay_opened(now, allocation, Some(address(RELAYED)));
            }
            RelayRequest::Close { allocation } => closed = Some(allocation),
        }
    }
    let Some(Transmit::Host { bytes, .. }) = server.poll_transmit() else { panic!("none") };
    let answer = Stun::from_bytes(&bytes).expect("STUN");
    (stun::value(&answer, stun::ERROR_CODE).map(|code| code[2..].to_vec()), closed)
}

#[test]
fn a_host_at_its_limit_loses_the_allocation_that_is_silent() {
    let (mut server, start) = (server(), Time::ZERO + Span::from_secs(1000));
    let limit = Limits::default().allocations_per_key as u16;
    let path = |port: u16| udp(&format!("192.0.2.1:{}", 1000 + port));
    for port in 0..limit {
        assert_eq!(one_more(&mut server, start, path(port)), (None, None));
    }
    let quota_reached = Some(vec![4, 86]);
    assert_eq!(one_more(&mut server, start, path(limit)), (quota_reached.clone(), None));
    // The host sends through the first one: an empty message of a channel. Its NAT has forgotten
    // the others.
    let later = start + Span::from_secs(10);
    server.handle(later, path(0), &[0x40, 0, 0, 0]);
    assert_eq!(one_more(&mut server, later, path(limit)), (quota_reached, None));
    let end = start + Span::from_secs(20);
    let (error, closed) = one_more(&mut server, end, path(limit));
    assert_eq!((error, closed), (None, Some(AllocationId(1))));
    assert_eq!(server.counters().allocations, u64::from(limit));
}

#[test]
fn a_wrong_password_gets_no_relay() {
    let mut wrong = user(&server());
    wrong.password.push('x');
    let relayed = Relayed::new(&wrong);
    assert_eq!(relayed.allocated, None);
    assert!(relayed.socket.is_none());
}

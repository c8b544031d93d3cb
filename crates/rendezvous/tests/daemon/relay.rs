//! Relayed addresses, as a TURN client (RFC 8656) of another author uses them.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use turn_client_proto::api::{TurnConfig, TurnEvent, TurnRecvRet};
use turn_client_proto::prelude::*;
use turn_client_proto::stun::Instant as TurnInstant;
use turn_client_proto::stun::agent::Transmit;
use turn_client_proto::tcp::TurnClientTcp;
use turn_client_proto::types::{TransportType, TurnCredentials};
use turn_client_proto::udp::TurnClientUdp;
use windlass_rendezvous::client::Event;
use windlass_rendezvous::message::TurnCredentials as Given;

use crate::host::{Host, Way, Wire};
use crate::running::{Running, relaying};

turn_client_proto::impl_client!(Client, (Udp, TurnClientUdp), (Tcp, TurnClientTcp));

/// A TURN client over a wire.
struct User {
    client: Client,
    wire: Wire,
    server: SocketAddr,
    start: Instant,
    events: Vec<TurnEvent>,
    received: Vec<(SocketAddr, Vec<u8>)>,
}

impl User {
    fn start(running: &Running, way: Way, credentials: &Given) -> User {
        let wire = Wire::connect(running, way);
        let given = TurnCredentials::new(&credentials.username, &credentials.password);
        let (config, local) = (TurnConfig::new(given), wire.local_address());
        let (client, server) = match way {
            Way::Udp => {
                let server = running.addresses.udp[0];
                (Client::Udp(TurnClientUdp::allocate(local, server, config)), server)
            }
            Way::Tcp | Way::Tls => {
                let server = running.addresses.tcp[0];
                (Client::Tcp(TurnClientTcp::allocate(local, server, config)), server)
            }
        };
        let (events, received) = (Vec::new(), Vec::new());
        User { client, wire, server, start: Instant::now(), events, received }
    }

    fn now(&self) -> TurnInstant {
        TurnInstant::from_nanos(self.start.elapsed().as_nanos() as i64)
    }

    fn progress(&mut self) {
        let _ = self.client.poll(self.now());
        while let Some(transmit) = self.client.poll_transmit(self.now()) {
            self.wire.send(transmit.data.to_vec());
        }
        if let Some(bytes) = self.wire.receive() {
            let (now, local) = (self.now(), self.wire.local_address());
            let transmit = Transmit::new(bytes, self.client.transport(), self.server, local);
            if let TurnRecvRet::PeerData(data) = self.client.recv(transmit, now) {
                self.received.push((data.peer, data.data().to_vec()));
            }
            while let Some(data) = self.client.poll_recv(now) {
                self.received.push((data.peer, data.data().to_vec()));
            }
        }
        self.events.extend(std::iter::from_fn(|| self.client.poll_event()));
    }

    fn wait<T>(&mut self, found: impl Fn(&User) -> Option<T>) -> T {
        let deadline = Instant::now() + Duration::from_secs(30);
        while Instant::now() < deadline {
            self.progress();
            if let Some(found) = found(self) {
                return found;
            }
        }
        panic!("it did not happen; there was {:?}", self.events);
    }

    fn relayed_address(&mut self) -> SocketAddr {
        self.wait(|user| {
            user.events.iter().find_map(|event| match event {
                TurnEvent::AllocationCreated(_, address) => Some(*address),
                _ => None,
            })
        })
    }

    fn permit(&mut self, peer: SocketAddr) {
        let now = self.now();
        self.client.create_permission(TransportType::Udp, peer.ip(), now).expect("an allocation");
        self.wait(|user| {
            let permitted = |event: &TurnEvent| matches!(event, TurnEvent::PermissionCreated(..));
            user.events.iter().any(permitted).then_some(())
        });
    }

    fn bind(&mut self, peer: SocketAddr) {
        let now = self.now();
        self.client.bind_channel(TransportType::Udp, peer, now).expect("an allocation");
        self.wait(|user| {
            let bound = |event: &TurnEvent| matches!(event, TurnEvent::ChannelCreated(..));
            user.events.iter().any(bound).then_some(())
        });
    }

    fn send(&mut self, peer: SocketAddr, data: &[u8]) {
        let now = self.now();
        let built = self.client.send_to(TransportType::Udp, peer, data.to_vec(), now);
        let built = built.expect("a permission").expect("bytes").build();
        self.wire.send(built.data);
    }

    fn expect(&mut self, from: SocketAddr, data: &[u8]) {
        self.wait(|user| {
            user.received.iter().any(|one| *one == (from, data.to_vec())).then_some(())
        });
    }
}

pub(crate) fn credentials(running: &Running) -> Given {
    let mut host = Host::start(running, 1, Way::Udp);
    host.wait_for(|event| match event {
        Event::Credentials(credentials) => Some(credentials.clone()),
        _ => None,
    })
}

/// An address of this host that is not the loopback's, to which a relay does not send. `None` without
/// a network: then the test says so and ends.
pub(crate) fn peer_address() -> Option<IpAddr> {
    let routed = UdpSocket::bind("0.0.0.0:0").expect("a socket");
    let connected = routed.connect("192.0.2.1:9");
    let ip = connected.and_then(|()| routed.local_addr()).map(|address| address.ip());
    if ip.is_err() {
        eprintln!("skipped: this host has no address but that of loopback");
    }
    ip.ok()
}

#[test]
fn datagrams_pass_a_relay_over_every_transport() {
    let Some(ip) = peer_address() else { return };
    let peer = UdpSocket::bind((ip, 0)).expect("a socket");
    peer.set_read_timeout(Some(Duration::from_secs(20))).expect("a time");
    let at = peer.local_addr().expect("bound");
    let running = Running::start(|options| relaying(options, ip));
    let credentials = credentials(&running);
    for way in [Way::Udp, Way::Tcp, Way::Tls] {
        let mut user = User::start(&running, way, &credentials);
        let relayed = user.relayed_address();
        assert_eq!(relayed.ip(), at.ip());
        assert!(relayed.port() >= 49152, "{relayed}");
        user.permit(at);
        for round in 0..2 {
            let (out, back) = (format!("out {round}"), format!("back {round}, odd"));
            user.send(at, out.as_bytes());
            let mut buffer = [0; 64];
            let (len, from) = peer.recv_from(&mut buffer).expect("relayed");
            assert_eq!((&buffer[..len], from), (out.as_bytes(), relayed), "{way:?}");
            peer.send_to(back.as_bytes(), relayed).expect("sent");
            user.expect(at, back.as_bytes());
            if round == 0 {
                user.bind(at);
            }
        }
    }
    let figures = running.handle.figures().expect("it runs");
    assert!(figures.server.relayed_bytes > 0 && figures.server.allocations >= 1, "{figures:?}");
}

#[test]
fn a_relayed_address_ends_with_its_stream() {
    let running = Running::start(|_| {});
    let mut user = User::start(&running, Way::Tls, &credentials(&running));
    let relayed = user.relayed_address();
    let allocations = || running.handle.figures().expect("it runs").server.allocations;
    assert_eq!(allocations(), 1);
    drop(user);
    crate::running::await_that("the allocation ends", || allocations() == 0);
    crate::running::await_that("the port is free", || UdpSocket::bind(relayed).is_ok());
}

/// Two hosts that can send to nothing but the relay meet at their relayed addresses, both of the relay's
/// own host. Its other ports are behind its firewall, which does not see what it sends to itself.
#[test]
fn a_relay_leads_to_its_other_relayed_addresses_and_to_nothing_else_of_its_host() {
    let Some(ip) = peer_address() else { return };
    let service = UdpSocket::bind((ip, 0)).expect("a socket");
    service.set_nonblocking(true).expect("an option");
    let at = service.local_addr().expect("bound");
    let running = Running::start(|options| {
        relaying(options, ip);
        options.relay_peers.clear();
    });
    let credentials = credentials(&running);
    let mut users = [Way::Tls, Way::Udp].map(|way| User::start(&running, way, &credentials));
    let relayed = users.each_mut().map(User::relayed_address);
    users.iter_mut().for_each(|user| user.permit(at));
    let [one, other] = &mut users;
    one.send(at, b"to the service");
    one.send(relayed[1], b"to the other host");
    other.expect(relayed[0], b"to the other host");
    let unreached = service.recv_from(&mut [0; 64]).expect_err("nothing arrived");
    assert_eq!(unreached.kind(), std::io::ErrorKind::WouldBlock);
    service.send_to(b"from the service", relayed[1]).expect("sent");
    one.send(relayed[1], b"after it");
    other.expect(relayed[0], b"after it");
    assert!(other.received.iter().all(|(from, _)| *from == relayed[0]), "{:?}", other.received);
}

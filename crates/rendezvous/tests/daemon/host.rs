//! A host of the rendezvous: the client of its protocol over a socket.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};
use windlass_base::{Rng, Span, Time};
use windlass_identity::{PublicKey, SecretKey};
use windlass_rendezvous::client::{Client, Config, Event, Transport, tls_config};
use windlass_rendezvous::message::IntroductionId;
use windlass_rendezvous::server::frame_len;

use crate::running::Running;

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long to wait for bytes before timers are looked at.
const SLICE: Duration = Duration::from_millis(20);

/// How a host reaches the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Udp,
    Tcp,
    Tls,
}

enum Link {
    Datagrams(UdpSocket),
    Plain(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

/// A way to the server that carries whole messages.
pub(crate) struct Wire {
    link: Link,
    inbox: Vec<u8>,
}

impl Wire {
    pub(crate) fn connect(running: &Running, way: Way) -> Wire {
        let link = match way {
            Way::Udp => {
                let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
                socket.connect(running.addresses.udp[0]).expect("an address");
                socket.set_read_timeout(Some(SLICE)).expect("a time");
                Link::Datagrams(socket)
            }
            Way::Tcp => Link::Plain(connect(running.addresses.tcp[0])),
            Way::Tls => {
                let name = ServerName::try_from("127.0.0.1").expect("a name");
                let config = Arc::new(tls_config(Some(running.key), Arc::default()));
                let mut tls = ClientConnection::new(config, name).expect("settings");
                let mut socket = connect(running.addresses.tls[0]);
                let shaken = || match tls.complete_io(&mut socket) {
                    // On a busy machine the server takes longer than a slice.
                    Err(error) if error.kind() == ErrorKind::WouldBlock => false,
                    result => result.map(|_| true).expect("a handshake"),
                };
                assert!(windlass_testbed::eventually(shaken), "no handshake");
                Link::Tls(Box::new(StreamOwned::new(tls, socket)))
            }
        };
        Wire { link, inbox: Vec::new() }
    }

    pub(crate) fn local_address(&self) -> SocketAddr {
        match &self.link {
            Link::Datagrams(socket) => socket.local_addr(),
            Link::Plain(socket) => socket.local_addr(),
            Link::Tls(stream) => stream.sock.local_addr(),
        }
        .expect("bound")
    }

    pub(crate) fn send(&mut self, mut message: Vec<u8>) {
        if !matches!(self.link, Link::Datagrams(_)) {
            message.resize(message.len().next_multiple_of(4), 0);
        }
        match &mut self.link {
            // While no server is there, the system says so.
            Link::Datagrams(socket) => drop(socket.send(&message)),
            Link::Plain(socket) => socket.write_all(&message).expect("an open stream"),
            Link::Tls(stream) => {
                stream.write_all(&message).expect("an open stream");
                stream.flush().expect("an open stream");
            }
        }
    }

    /// The next message, if one comes soon. A stream's are whole, without their padding.
    pub(crate) fn receive(&mut self) -> Option<Vec<u8>> {
        let mut bytes = [0; 4096];
        let complete = self.has_message();
        let read = match &mut self.link {
            Link::Datagrams(socket) => {
                let len = socket.recv(&mut bytes).ok()?;
                return Some(bytes[..len].to_vec());
            }
            Link::Plain(_) | Link::Tls(_) if complete => Ok(0),
            Link::Plain(socket) => socket.read(&mut bytes),
            Link::Tls(stream) => stream.read(&mut bytes),
        };
        match read {
            Ok(len) => self.inbox.extend(&bytes[..len]),
            Err(error) => {
                let kind = error.kind();
                assert!(matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut), "{error}");
            }
        }
        if !self.has_message() {
            return None;
        }
        let len = frame_len(&self.inbox).expect("a message");
        let mut message: Vec<u8> = self.inbox.drain(..len.next_multiple_of(4)).collect();
        message.truncate(len);
        Some(message)
    }

    fn has_message(&self) -> bool {
        frame_len(&self.inbox).is_some_and(|len| self.inbox.len() >= len.next_multiple_of(4))
    }
}

fn connect(to: SocketAddr) -> TcpStream {
    let socket = TcpStream::connect(to).expect("it listens");
    socket.set_read_timeout(Some(SLICE)).expect("a time");
    socket.set_nodelay(true).expect("an option");
    socket
}

/// A registered host.
pub(crate) struct Host {
    secret: SecretKey,
    client: Client,
    wire: Wire,
    start: Instant,
}

impl Host {
    pub(crate) fn start(running: &Running, number: u8, way: Way) -> Host {
        let secret = SecretKey::from_seed([number; 32]);
        let transport = if way == Way::Udp { Transport::Datagram } else { Transport::Stream };
        let instance = [number; 16];
        let config =
            Config { secret: secret.clone(), instance, publish: true, transport, server_key: None };
        let client = Client::new(config, Rng::new(number.into()), Time::ZERO);
        let wire = Wire::connect(running, way);
        let mut host = Host { secret, client, wire, start: Instant::now() };
        host.flush();
        host
    }

    pub(crate) fn key(&self) -> PublicKey {
        self.secret.public_key()
    }

    pub(crate) fn local_address(&self) -> SocketAddr {
        self.wire.local_address()
    }

    fn now(&self) -> Time {
        Time::ZERO + Span::from_nanos(self.start.elapsed().as_nanos() as u64)
    }

    /// Begins again, as a host does that finds the server silent.
    pub(crate) fn restart(&mut self) {
        let now = self.now();
        self.client.restart(now);
        self.flush();
    }

    pub(crate) fn introduce(&mut self, target: PublicKey, body: &[u8]) -> IntroductionId {
        let now = self.now();
        let introduction = self.client.introduce(now, target, body.to_vec());
        self.flush();
        introduction
    }

    pub(crate) fn answer(&mut self, introduction: IntroductionId, body: &[u8]) {
        assert!(self.client.answer(introduction, body.to_vec()), "it was asked");
        self.flush();
    }

    fn flush(&mut self) {
        while let Some(bytes) = self.client.poll_transmit() {
            self.wire.send(bytes);
        }
    }

    /// Waits for an event.
    pub(crate) fn wait_for<T>(&mut self, wanted: impl Fn(&Event) -> Option<T>) -> T {
        let mut found = None;
        let mut seen = Vec::new();
        self.serve(|client| {
            while let Some(event) = client.poll_event() {
                found = wanted(&event);
                seen.push(event);
                if found.is_some() {
                    return true;
                }
            }
            false
        });
        found.unwrap_or_else(|| panic!("it did not happen; there was {seen:?}"))
    }

    /// Goes on until a condition holds.
    pub(crate) fn serve_until(&mut self, condition: impl Fn() -> bool) {
        assert!(self.serve(|_| condition()), "it did not happen");
    }

    /// Exchanges messages with the server until `done`. False if that takes too long.
    fn serve(&mut self, mut done: impl FnMut(&mut Client) -> bool) -> bool {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            if done(&mut self.client) {
                return true;
            }
            if let Some(bytes) = self.wire.receive() {
                let now = self.now();
                self.client.handle(now, &bytes);
            }
            let now = self.now();
            if self.client.poll_timeout() <= now {
                self.client.handle_timeout(now);
            }
            self.flush();
        }
        false
    }
}

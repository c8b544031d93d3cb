//! Many hosts that are registered over TLS, in one process.

use std::error::Error;
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};
use socket2::{Domain, Socket, Type};
use windlass_base::{Deadlines, Rng, Span, Time};
use windlass_identity::SecretKey;
use windlass_rendezvous::client::{Client, Config, Transport, tls_config};
use windlass_rendezvous::server::frame_len;

/// Hosts of one address, each in a /24 of its own.
const PER_ADDRESS: u32 = 100;
/// Hosts that begin at once.
const BEGIN_AT_ONCE: u32 = 50;
/// How long registering all may take.
const PATIENCE: Duration = Duration::from_secs(300);

struct Host {
    client: Client,
    tls: ClientConnection,
    socket: TcpStream,
    inbox: Vec<u8>,
    deadline: Time,
}

impl Host {
    fn connect(
        number: u32,
        server: SocketAddr,
        config: Arc<ClientConfig>,
    ) -> Result<Host, Box<dyn Error>> {
        let [_, high, low, _] = (number / PER_ADDRESS * 256).to_be_bytes();
        let address = IpAddr::from([127, 1 + high, low, 1]);
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
        socket.bind(&SocketAddr::new(address, 0).into())?;
        socket.connect(&server.into())?;
        socket.set_nonblocking(true)?;
        let mut seed = [0; 32];
        seed[..4].copy_from_slice(&number.to_be_bytes());
        let secret = SecretKey::from_seed(seed);
        let transport = Transport::Stream;
        let own = Config { secret, instance: [1; 16], publish: true, transport, server_key: None };
        Ok(Host {
            client: Client::new(own, Rng::fork(1, number.into()), Time::ZERO),
            tls: ClientConnection::new(config, ServerName::try_from("127.0.0.1")?)?,
            socket: TcpStream::from_std(socket.into()),
            inbox: Vec::new(),
            deadline: Time::MAX,
        })
    }

    fn receive(&mut self, now: Time) -> Result<(), Box<dyn Error>> {
        loop {
            match self.tls.read_tls(&mut self.socket) {
                Ok(0) => return Err("the server has ended a stream".into()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error.into()),
            }
            let state = self.tls.process_new_packets()?;
            let at = self.inbox.len();
            self.inbox.resize(at + state.plaintext_bytes_to_read(), 0);
            self.tls.reader().read_exact(&mut self.inbox[at..])?;
        }
        while let Some(len) = frame_len(&self.inbox)
            && self.inbox.len() >= len.next_multiple_of(4)
        {
            self.client.handle(now, &self.inbox[..len]);
            self.inbox.drain(..len.next_multiple_of(4));
        }
        Ok(())
    }

    fn send(&mut self) -> Result<(), Box<dyn Error>> {
        while self.client.poll_event().is_some() {}
        while let Some(bytes) = self.client.poll_transmit() {
            // Messages of hosts have whole words.
            self.tls.writer().write_all(&bytes)?;
        }
        while self.tls.wants_write() {
            match self.tls.write_tls(&mut self.socket) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                sent => drop(sent?),
            }
        }
        Ok(())
    }
}

pub(crate) struct Streams {
    hosts: Vec<Host>,
    poll: Poll,
    events: Events,
    start: Instant,
    deadlines: Deadlines<usize>,
}

impl Streams {
    /// Connects and registers `count` hosts.
    pub(crate) fn start(count: u32, server: SocketAddr) -> Result<Streams, Box<dyn Error>> {
        let mut streams = Streams {
            hosts: Vec::new(),
            poll: Poll::new()?,
            events: Events::with_capacity(1024),
            start: Instant::now(),
            deadlines: Deadlines::default(),
        };
        let config = Arc::new(tls_config(None, Arc::default()));
        for number in 0..count {
            let mut host = Host::connect(number, server, Arc::clone(&config))?;
            let (token, events) = (Token(number as usize), Interest::READABLE | Interest::WRITABLE);
            streams.poll.registry().register(&mut host.socket, token, events)?;
            streams.deadlines.insert(host.deadline, number as usize);
            streams.hosts.push(host);
            streams.flush(number as usize)?;
            // On a busy machine a handshake takes as long as the server waits for one.
            let first = number.saturating_sub(BEGIN_AT_ONCE) as usize;
            while number > BEGIN_AT_ONCE && !streams.hosts[first].client.is_registered() {
                streams.turn(Duration::from_millis(1))?;
            }
        }
        while streams.hosts.iter().any(|host| !host.client.is_registered()) {
            if streams.start.elapsed() > PATIENCE {
                return Err("not all hosts could register".into());
            }
            streams.turn(Duration::from_millis(10))?;
        }
        Ok(streams)
    }

    /// Keeps the registrations for `time`.
    pub(crate) fn serve(&mut self, time: Duration) -> Result<(), Box<dyn Error>> {
        let start = Instant::now();
        while start.elapsed() < time {
            self.turn(Duration::from_millis(20))?;
        }
        Ok(())
    }

    fn turn(&mut self, patience: Duration) -> Result<(), Box<dyn Error>> {
        self.poll.poll(&mut self.events, Some(patience))?;
        let now = Time::ZERO + Span::from_nanos(self.start.elapsed().as_nanos() as u64);
        let ready: Vec<usize> = self.events.iter().map(|event| event.token().0).collect();
        for number in ready {
            self.hosts[number].receive(now)?;
            self.flush(number)?;
        }
        while let Some((_, number)) = self.deadlines.pop(now) {
            self.hosts[number].client.handle_timeout(now);
            self.flush(number)?;
        }
        Ok(())
    }

    fn flush(&mut self, number: usize) -> Result<(), Box<dyn Error>> {
        let host = &mut self.hosts[number];
        host.send()?;
        self.deadlines.remove(host.deadline, number);
        host.deadline = host.client.poll_timeout();
        self.deadlines.insert(host.deadline, number);
        Ok(())
    }
}

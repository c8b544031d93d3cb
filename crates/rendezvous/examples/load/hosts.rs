//! Many registered hosts in one process.

use std::collections::BTreeMap;
use std::error::Error;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use mio::net::UdpSocket;
use mio::{Events, Interest, Poll, Token};
use windlass_base::{Deadlines, Rng, Span, Time};
use windlass_identity::{PublicKey, SecretKey};
use windlass_rendezvous::client::{Client, Config, Event, Transport};
use windlass_rendezvous::message::IntroductionId;

/// Hosts of one address: fewer than a network may register at once.
const PER_ADDRESS: u32 = 100;
/// Hosts that begin at once, so that the burst does not overflow the server's socket.
const BEGIN_AT_ONCE: usize = 50;

struct Host {
    key: PublicKey,
    client: Client,
    socket: UdpSocket,
    deadline: Time,
}

/// How long introductions took.
#[derive(Default)]
pub(crate) struct Latencies {
    pub(crate) asked: usize,
    times: Vec<Duration>,
}

impl Latencies {
    pub(crate) fn answered(&self) -> usize {
        self.times.len()
    }

    pub(crate) fn quantile_ms(&self, quantile: f64) -> f64 {
        let mut times = self.times.clone();
        times.sort_unstable();
        let at = ((times.len() as f64 * quantile).ceil() as usize).clamp(1, times.len().max(1));
        times.get(at - 1).map_or(f64::NAN, |time| time.as_secs_f64() * 1e3)
    }
}

pub(crate) struct Hosts {
    hosts: Vec<Host>,
    poll: Poll,
    events: Events,
    start: Instant,
    deadlines: Deadlines<usize>,
    rng: Rng,
    asked: BTreeMap<(usize, IntroductionId), Instant>,
    latencies: Latencies,
}

impl Hosts {
    pub(crate) fn start(count: u32, server: SocketAddr) -> Result<Hosts, Box<dyn Error>> {
        let poll = Poll::new()?;
        let mut hosts = Vec::new();
        let mut deadlines = Deadlines::default();
        for number in 0..count {
            let [_, high, low, _] = (number / PER_ADDRESS * 256).to_be_bytes();
            let address = IpAddr::from([127, 1 + high, low, 1]);
            let mut socket = UdpSocket::bind(SocketAddr::new(address, 0))?;
            socket.connect(server)?;
            let token = Token(number as usize);
            poll.registry().register(&mut socket, token, Interest::READABLE)?;
            let mut seed = [0; 32];
            seed[..4].copy_from_slice(&number.to_be_bytes());
            let secret = SecretKey::from_seed(seed);
            let key = secret.public_key();
            let transport = Transport::Datagram;
            let config =
                Config { secret, instance: [1; 16], publish: true, transport, server_key: None };
            let client = Client::new(config, Rng::fork(1, number.into()), Time::ZERO);
            let deadline = Time::MAX;
            deadlines.insert(deadline, number as usize);
            hosts.push(Host { key, client, socket, deadline });
        }
        Ok(Hosts {
            hosts,
            poll,
            events: Events::with_capacity(1024),
            start: Instant::now(),
            deadlines,
            rng: Rng::new(3),
            asked: BTreeMap::new(),
            latencies: Latencies::default(),
        })
    }

    fn now(&self) -> Time {
        Time::ZERO + Span::from_nanos(self.start.elapsed().as_nanos() as u64)
    }

    /// Waits until all are registered.
    pub(crate) fn register(&mut self) -> Result<(), Box<dyn Error>> {
        let mut begun = 0;
        let deadline = Instant::now() + Duration::from_secs(120);
        while self.hosts.iter().any(|host| !host.client.is_registered()) {
            if Instant::now() > deadline {
                return Err("not all hosts could register".into());
            }
            let end = self.hosts.len().min(begun + BEGIN_AT_ONCE);
            for number in begun..end {
                self.flush(number);
            }
            begun = end;
            self.turn(Duration::from_millis(1))?;
        }
        Ok(())
    }

    /// Keeps the registrations for `time`, and asks for introductions.
    pub(crate) fn serve(&mut self, time: Duration, per_s: u32) -> io::Result<()> {
        let (start, mut asked) = (Instant::now(), 0);
        while start.elapsed() < time {
            if start.elapsed().as_secs_f64() * f64::from(per_s) >= f64::from(asked) {
                asked += 1;
                self.ask();
            }
            self.turn(Duration::from_millis(5))?;
        }
        Ok(())
    }

    pub(crate) fn take_latencies(&mut self) -> Latencies {
        self.asked.clear();
        std::mem::take(&mut self.latencies)
    }

    fn ask(&mut self) {
        let count = self.hosts.len() as u64;
        let from = self.rng.below(count) as usize;
        let to = (from + 1 + self.rng.below(count - 1) as usize) % self.hosts.len();
        let (now, target) = (self.now(), self.hosts[to].key);
        let id = self.hosts[from].client.introduce(now, target, vec![1; 400]);
        self.asked.insert((from, id), Instant::now());
        self.latencies.asked += 1;
        self.flush(from);
    }

    /// Handles what arrives within `patience`, and the timers.
    fn turn(&mut self, patience: Duration) -> io::Result<()> {
        self.poll.poll(&mut self.events, Some(patience))?;
        let ready: Vec<usize> = self.events.iter().map(|event| event.token().0).collect();
        let mut buffer = [0; 2048];
        for number in ready {
            let now = self.now();
            let host = &mut self.hosts[number];
            while let Ok(len) = host.socket.recv(&mut buffer) {
                host.client.handle(now, &buffer[..len]);
            }
            self.flush(number);
        }
        let now = self.now();
        while let Some((_, number)) = self.deadlines.pop(now) {
            self.hosts[number].client.handle_timeout(now);
            self.flush(number);
        }
        Ok(())
    }

    /// Sends, and notes what has happened.
    fn flush(&mut self, number: usize) {
        let host = &mut self.hosts[number];
        while let Some(event) = host.client.poll_event() {
            match event {
                Event::Offer(offer) => {
                    host.client.answer(offer.introduction, vec![2; 400]);
                }
                Event::Answer { introduction, .. } => {
                    if let Some(asked) = self.asked.remove(&(number, introduction)) {
                        self.latencies.times.push(asked.elapsed());
                        host.client.forget(introduction);
                    }
                }
                _ => {}
            }
        }
        while let Some(bytes) = host.client.poll_transmit() {
            // A lost request is retransmitted.
            let _ = host.socket.send(&bytes);
        }
        self.deadlines.remove(host.deadline, number);
        host.deadline = host.client.poll_timeout();
        self.deadlines.insert(host.deadline, number);
    }
}

//! One end of a connection of quinn.

use crate::settings::Quinn;
use bytes::{Bytes, BytesMut};
use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, ConnectionId, ConnectionIdGenerator, DatagramEvent,
    Dir, EcnCodepoint, Endpoint, EndpointConfig, ServerConfig, StreamEvent, TransportConfig,
};
use ring::{hkdf, hmac};
use std::collections::VecDeque;
use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use windlass_base::{Ecn, Rng, Span};
use windlass_sim::endpoint::{EndpointStatus, Transmit};
use windlass_stacks_quic::{Direction, Event, Read, Session, StreamId, tls};

/// The other host, as each end sees it: a simulated flow has two hosts.
const REMOTE: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 4433);
const ID_BYTES: usize = 8;
/// The data, at which nothing looks.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

/// quinn's endpoint, and its connection once there is one.
pub(crate) struct QuinnSession {
    endpoint: Endpoint,
    client: ClientConfig,
    connection: Option<(ConnectionHandle, Connection)>,
    /// Datagrams of the endpoint itself.
    responses: VecDeque<Vec<u8>>,
}

impl fmt::Debug for QuinnSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QuinnSession").field("connected", &self.connection.is_some()).finish()
    }
}

impl QuinnSession {
    pub(crate) fn new(settings: &Quinn, rng: &mut Rng) -> QuinnSession {
        let transport = Arc::new(settings.transport());
        let server = server(&transport, rng);
        let config = endpoint_config(rng);
        QuinnSession {
            endpoint: Endpoint::new(Arc::new(config), Some(Arc::new(server)), true, None),
            client: client(&transport, rng),
            connection: None,
            responses: VecDeque::new(),
        }
    }

    /// Passes the events between endpoint and connection.
    fn settle(&mut self) {
        let Some((handle, connection)) = &mut self.connection else { return };
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(event);
            }
        }
    }

    fn handle(&mut self, now: Instant, event: DatagramEvent, mut answer: Vec<u8>) {
        match event {
            DatagramEvent::ConnectionEvent(handle, event) => {
                if let Some((own, connection)) = &mut self.connection
                    && *own == handle
                {
                    connection.handle_event(event);
                }
            }
            DatagramEvent::NewConnection(incoming) if self.connection.is_none() => {
                match self.endpoint.accept(incoming, now, &mut answer, None) {
                    Ok(connection) => self.connection = Some(connection),
                    Err(error) => {
                        let size = error.response.map_or(0, |response| response.size);
                        self.respond(answer, size);
                    }
                }
            }
            DatagramEvent::NewConnection(incoming) => self.endpoint.ignore(incoming),
            DatagramEvent::Response(transmit) => self.respond(answer, transmit.size),
        }
    }

    fn respond(&mut self, mut answer: Vec<u8>, size: usize) {
        answer.truncate(size);
        if !answer.is_empty() {
            self.responses.push_back(answer);
        }
    }

    fn connection(&mut self) -> Option<&mut Connection> {
        self.connection.as_mut().map(|(_, connection)| connection)
    }
}

impl Session for QuinnSession {
    fn connect(&mut self, now: Instant) -> Result<(), String> {
        let config = self.client.clone();
        let connection = self.endpoint.connect(now, config, REMOTE, tls::SERVER_NAME);
        self.connection = Some(connection.map_err(|error| error.to_string())?);
        Ok(())
    }

    fn handle_datagram(&mut self, now: Instant, ecn: Ecn, payload: BytesMut) {
        let mut answer = Vec::new();
        let ecn = EcnCodepoint::from_bits(ecn.bits());
        let event = self.endpoint.handle(now, REMOTE, None, ecn, payload, &mut answer);
        if let Some(event) = event {
            self.handle(now, event, answer);
        }
        self.settle();
    }

    fn handle_timeout(&mut self, now: Instant) {
        if let Some(connection) = self.connection() {
            connection.handle_timeout(now);
        }
        self.settle();
    }

    fn poll_timeout(&mut self) -> Option<Instant> {
        self.connection()?.poll_timeout()
    }

    fn poll_transmit(&mut self, now: Instant, payload: &mut Vec<u8>) -> Option<Transmit> {
        if let Some(response) = self.responses.pop_front() {
            *payload = response;
            return Some(Transmit { size: payload.len() as u32, ecn: Ecn::NotEct });
        }
        let transmit = self.connection()?.poll_transmit(now, 1, payload);
        self.settle();
        let transmit = transmit?;
        let ecn = transmit.ecn.map_or(Ecn::NotEct, |codepoint| Ecn::from_bits(codepoint as u8));
        Some(Transmit { size: transmit.size as u32, ecn })
    }

    fn poll_event(&mut self) -> Option<Event> {
        use quinn_proto::Event as Quinn;
        loop {
            return Some(match self.connection()?.poll()? {
                Quinn::Connected => Event::Connected,
                Quinn::ConnectionLost { reason } => Event::Lost(reason.to_string()),
                Quinn::Stream(StreamEvent::Opened { dir }) => Event::Opened(direction(dir)),
                Quinn::Stream(StreamEvent::Readable { id }) => Event::Readable(id.into()),
                Quinn::Stream(StreamEvent::Writable { id }) => Event::Writable(id.into()),
                Quinn::Stream(StreamEvent::Available { .. }) => Event::Available,
                _ => continue,
            });
        }
    }

    fn open(&mut self, direction: Direction) -> Option<StreamId> {
        Some(self.connection()?.streams().open(dir(direction))?.into())
    }

    fn accept(&mut self, direction: Direction) -> Option<StreamId> {
        Some(self.connection()?.streams().accept(dir(direction))?.into())
    }

    fn write(&mut self, stream: StreamId, limit: u64) -> u64 {
        let (Some(connection), Some(id)) = (self.connection(), id(stream)) else { return 0 };
        let bytes = limit.min(ZEROS.len() as u64) as usize;
        let chunk = Bytes::from_static(&ZEROS[..bytes]);
        let written = connection.send_stream(id).write_chunks(&mut [chunk]);
        written.map_or(0, |written| written.bytes as u64)
    }

    fn finish(&mut self, stream: StreamId) {
        if let (Some(connection), Some(id)) = (self.connection(), id(stream)) {
            // A stream that the other end has stopped needs no end.
            let _ = connection.send_stream(id).finish();
        }
    }

    fn read(&mut self, stream: StreamId) -> Read {
        let (Some(connection), Some(id)) = (self.connection(), id(stream)) else {
            return Read::default();
        };
        let mut read = Read::default();
        let mut stream = connection.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else { return read };
        loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => read.bytes += chunk.bytes.len() as u64,
                Ok(None) => {
                    read.finished = true;
                    break;
                }
                Err(_) => break,
            }
        }
        // The connection is polled for datagrams in any case.
        let _ = chunks.finalize();
        read
    }

    fn status(&self) -> EndpointStatus {
        let Some((_, connection)) = &self.connection else { return EndpointStatus::default() };
        let controller = connection.congestion_state();
        let metrics = controller.metrics();
        EndpointStatus {
            cwnd_bytes: Some(controller.window()),
            // quinn's value for none is the largest.
            ssthresh_bytes: metrics.ssthresh.filter(|bytes| *bytes != u64::MAX),
            srtt: Some(span(connection.rtt())),
            in_flight_bytes: None,
            lost_packets: Some(connection.stats().path.lost_packets),
        }
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let Some((_, connection)) = &self.connection else { return vec![] };
        let path = connection.stats().path;
        vec![
            ("sent_packets", path.sent_packets),
            ("lost_packets", path.lost_packets),
            ("lost_bytes", path.lost_bytes),
            ("congestion_events", path.congestion_events),
            ("mtu_probes", path.sent_plpmtud_probes),
            ("black_holes", path.black_holes_detected),
            ("mtu", path.current_mtu.into()),
        ]
    }
}

fn span(duration: Duration) -> Span {
    Span::from_nanos(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
}

fn id(stream: StreamId) -> Option<quinn_proto::StreamId> {
    quinn_proto::VarInt::from_u64(stream).ok().map(quinn_proto::StreamId::from)
}

fn dir(direction: Direction) -> Dir {
    match direction {
        Direction::One => Dir::Uni,
        Direction::Both => Dir::Bi,
    }
}

fn direction(dir: Dir) -> Direction {
    match dir {
        Dir::Uni => Direction::One,
        Dir::Bi => Direction::Both,
    }
}

fn endpoint_config(rng: &mut Rng) -> EndpointConfig {
    let mut config =
        EndpointConfig::new(Arc::new(hmac::Key::new(hmac::HMAC_SHA256, &bytes::<32>(rng))));
    let ids = Arc::new(Mutex::new(Rng::new(rng.bits())));
    config.cid_generator(move || Box::new(Ids(Arc::clone(&ids)))).rng_seed(Some(bytes(rng)));
    config
}

#[expect(clippy::expect_used, reason = "the certificate and the provider are this workspace's")]
fn client(transport: &Arc<TransportConfig>, rng: &mut Rng) -> ClientConfig {
    let tls = tls::client().expect("the client's TLS");
    let tls = QuicClientConfig::try_from(tls).expect("TLS 1.3 with its first cipher suite");
    let mut config = ClientConfig::new(Arc::new(tls));
    let ids = Arc::new(Mutex::new(Rng::new(rng.bits())));
    config.transport_config(Arc::clone(transport));
    config.initial_dst_cid_provider(Arc::new(move || draw(&ids)));
    config
}

#[expect(clippy::expect_used, reason = "the certificate and the provider are this workspace's")]
fn server(transport: &Arc<TransportConfig>, rng: &mut Rng) -> ServerConfig {
    let tls = tls::server().expect("the server's TLS");
    let tls = QuicServerConfig::try_from(tls).expect("TLS 1.3 with its first cipher suite");
    let key = hkdf::Salt::new(hkdf::HKDF_SHA256, &[]).extract(&bytes::<32>(rng));
    let mut config = ServerConfig::new(Arc::new(tls), Arc::new(key));
    config.transport_config(Arc::clone(transport));
    config
}

fn bytes<const N: usize>(rng: &mut Rng) -> [u8; N] {
    std::array::from_fn(|_| rng.below(256) as u8)
}

/// Connection IDs from a seed.
struct Ids(Arc<Mutex<Rng>>);

impl ConnectionIdGenerator for Ids {
    fn generate_cid(&mut self) -> ConnectionId {
        draw(&self.0)
    }

    fn cid_len(&self) -> usize {
        ID_BYTES
    }

    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}

fn draw(ids: &Mutex<Rng>) -> ConnectionId {
    let bits = ids.lock().unwrap_or_else(PoisonError::into_inner).bits();
    ConnectionId::new(&bits.to_be_bytes())
}

//! The RTT estimator of quinn-proto, which only its connections can make and update.
//!
//! A connection stands in its handshake for ever: each byte of its peer brings two Initial packets, and their
//! acknowledgment gives it an RTT sample. A controller in it sees the estimator.

use crate::initial::{ack, crypto, packet, parse};
use bytes::BytesMut;
use quinn_proto::congestion::{Controller, ControllerFactory};
use quinn_proto::crypto::{
    ClientConfig as ClientCrypto, CryptoError, ExportKeyingMaterialError, HeaderKey, HmacKey,
    KeyPair, Keys, PacketKey, Session,
};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{
    ClientConfig, ConnectError, Connection, ConnectionHandle, ConnectionId, DatagramEvent,
    Endpoint, EndpointConfig, RttEstimator, Side, TransportConfig, TransportError,
};
use std::any::Any;
use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

const VERSION: u32 = 1;
/// Fills one packet and begins another.
const TWO_PACKETS: usize = 1500;

/// Updates an estimator by samples.
pub(crate) struct Estimator {
    endpoint: Endpoint,
    handle: ConnectionHandle,
    connection: Connection,
    seen: Arc<Mutex<Option<RttEstimator>>>,
    now: Instant,
    /// Packets of the peer so far.
    packets: u32,
    /// Bytes of its handshake so far.
    offset: u64,
    /// The connection ID that the connection chose.
    client: Vec<u8>,
    peer: SocketAddr,
}

impl fmt::Debug for Estimator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Estimator").field("rtt", &self.connection.rtt()).finish_non_exhaustive()
    }
}

impl Estimator {
    /// An estimator without samples. `None` if quinn-proto refuses such a connection.
    pub(crate) fn new(now: Instant) -> Option<Estimator> {
        let seen = Arc::new(Mutex::new(None));
        let mut transport = TransportConfig::default();
        transport
            .max_idle_timeout(None)
            .mtu_discovery_config(None)
            .enable_segmentation_offload(false)
            .congestion_controller_factory(Arc::new(Watching(Arc::clone(&seen))));
        let mut client = ClientConfig::new(Arc::new(NoCrypto));
        client.transport_config(Arc::new(transport));
        let config = Arc::new(EndpointConfig::new(Arc::new(NoCrypto)));
        let mut endpoint = Endpoint::new(config, None, false, Some([0; 32]));
        let peer = SocketAddr::from((Ipv4Addr::LOCALHOST, 4433));
        let (handle, connection) = endpoint.connect(now, client, peer, "peer").ok()?;
        let (packets, offset, client) = (0, 0, Vec::new());
        let mut estimator =
            Estimator { endpoint, handle, connection, seen, now, packets, offset, client, peer };
        estimator.transmit();
        Some(estimator)
    }

    /// The estimator after one sample more. `None` if the connection does not send two packets.
    pub(crate) fn sample(&mut self, rtt: Duration) -> Option<RttEstimator> {
        self.receive(&crypto(self.offset));
        self.offset += 1;
        let [.., before, last] = self.transmit()[..] else { return None };
        self.now += rtt;
        // Only the newest packet gives a sample. The ACK of the one before it then shows what the sample has made.
        self.receive(&ack(last));
        self.receive(&ack(before));
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the connection send; returns the numbers of its packets.
    fn transmit(&mut self) -> Vec<u64> {
        let mut sent = Vec::new();
        let mut buffer = Vec::new();
        while self.connection.poll_transmit(self.now, 1, &mut buffer).is_some() {
            if let Some(initial) = parse(&buffer) {
                sent.push(initial.number);
                self.client = initial.source;
            }
            buffer.clear();
        }
        sent
    }

    /// The connection gets a packet with this frame.
    fn receive(&mut self, frame: &[u8]) {
        let packet = packet(VERSION, &self.client, self.packets, frame);
        self.packets += 1;
        let bytes = BytesMut::from(&packet[..]);
        let event = self.endpoint.handle(self.now, self.peer, None, None, bytes, &mut Vec::new());
        if let Some(DatagramEvent::ConnectionEvent(handle, event)) = event
            && handle == self.handle
        {
            self.connection.handle_event(event);
        }
    }
}

/// A controller that notes the estimator.
#[derive(Clone)]
struct Watching(Arc<Mutex<Option<RttEstimator>>>);

impl ControllerFactory for Watching {
    fn build(self: Arc<Self>, _: Instant, _: u16) -> Box<dyn Controller> {
        Box::new(Watching::clone(&self))
    }
}

impl Controller for Watching {
    fn on_ack(&mut self, _: Instant, _: Instant, _: u64, _: bool, rtt: &RttEstimator) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(*rtt);
    }

    fn on_congestion_event(&mut self, _: Instant, _: Instant, _: bool, _: u64) {}

    fn on_mtu_update(&mut self, _: u16) {}

    fn window(&self) -> u64 {
        u64::MAX / 2
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        self.window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// Neither keys nor a handshake: packets are as they are, and the connection never opens.
struct NoCrypto;

fn keys() -> Keys {
    Keys {
        header: KeyPair { local: Box::new(NoCrypto), remote: Box::new(NoCrypto) },
        packet: KeyPair { local: Box::new(NoCrypto), remote: Box::new(NoCrypto) },
    }
}

impl ClientCrypto for NoCrypto {
    fn start_session(
        self: Arc<Self>,
        _: u32,
        _: &str,
        _: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        Ok(Box::new(Handshaking { owes: 1 }))
    }
}

struct Handshaking {
    /// Bytes that it has to say.
    owes: usize,
}

impl Session for Handshaking {
    fn initial_keys(&self, _: &ConnectionId, _: Side) -> Keys {
        keys()
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        None
    }

    fn early_data_accepted(&self) -> Option<bool> {
        None
    }

    fn is_handshaking(&self) -> bool {
        true
    }

    fn read_handshake(&mut self, _: &[u8]) -> Result<bool, TransportError> {
        self.owes = TWO_PACKETS;
        Ok(false)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        Ok(None)
    }

    fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<Keys> {
        buf.resize(buf.len() + std::mem::take(&mut self.owes), 0);
        None
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        None
    }

    fn is_valid_retry(&self, _: &ConnectionId, _: &[u8], _: &[u8]) -> bool {
        false
    }

    fn export_keying_material(
        &self,
        _: &mut [u8],
        _: &[u8],
        _: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        Err(ExportKeyingMaterialError)
    }
}

impl HeaderKey for NoCrypto {
    fn decrypt(&self, _: usize, _: &mut [u8]) {}

    fn encrypt(&self, _: usize, _: &mut [u8]) {}

    fn sample_size(&self) -> usize {
        0
    }
}

impl PacketKey for NoCrypto {
    fn encrypt(&self, _: u64, _: &mut [u8], _: usize) {}

    fn decrypt(&self, _: u64, _: &[u8], _: &mut BytesMut) -> Result<(), CryptoError> {
        Ok(())
    }

    fn tag_len(&self) -> usize {
        0
    }

    fn confidentiality_limit(&self) -> u64 {
        u64::MAX
    }

    fn integrity_limit(&self) -> u64 {
        u64::MAX
    }
}

impl HmacKey for NoCrypto {
    fn sign(&self, _: &[u8], signature: &mut [u8]) {
        signature.fill(0);
    }

    fn signature_len(&self) -> usize {
        32
    }

    fn verify(&self, _: &[u8], _: &[u8]) -> Result<(), CryptoError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9002 section 5.3.
    #[test]
    fn samples_make_the_smoothed_rtt() {
        let ms = Duration::from_millis;
        let mut estimator = Estimator::new(Instant::now()).expect("a connection");
        let first = estimator.sample(ms(100)).expect("a sample");
        assert_eq!((first.get(), first.min()), (ms(100), ms(100)));
        let second = estimator.sample(ms(180)).expect("a sample");
        assert_eq!((second.get(), second.min()), (ms(110), ms(100)));
        for _ in 0..200 {
            estimator.sample(ms(60)).expect("a sample");
        }
        let last = estimator.sample(ms(60)).expect("a sample");
        assert_eq!(last.min(), ms(60));
        assert!(last.get() < ms(61), "{:?}", last.get());
    }
}

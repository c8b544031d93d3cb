//! QUIC by quinn: CUBIC, AES-128-GCM or what ring has, windows of 64 MiB, datagrams as large as
//! Ethernet takes them.

use crate::verifier::Anyone;
use crate::{BLOCK, Received, Result, ready};
use bytes::Bytes;
use quinn::congestion::CubicConfig;
use quinn::crypto::rustls::QuicClientConfig;
use quinn::rustls::pki_types::PrivatePkcs8KeyDer;
use quinn::{
    ClientConfig, Endpoint, EndpointConfig, ServerConfig, TokioRuntime, TransportConfig, VarInt,
};
use socket2::{Domain, Socket, Type};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

const WINDOW: u32 = 64 << 20;
const SOCKET_BUFFER: usize = 4 << 20;
/// UDP's payload on Ethernet.
const DATAGRAM: u16 = 1472;

fn transport() -> Arc<TransportConfig> {
    let mut transport = TransportConfig::default();
    transport
        .congestion_controller_factory(Arc::new(CubicConfig::default()))
        .stream_receive_window(VarInt::from_u32(WINDOW))
        .receive_window(VarInt::from_u32(WINDOW))
        .send_window(u64::from(WINDOW))
        .initial_mtu(DATAGRAM)
        .mtu_discovery_config(None);
    Arc::new(transport)
}

fn endpoint(address: SocketAddr, server: Option<ServerConfig>) -> Result<Endpoint> {
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, None)?;
    socket.set_send_buffer_size(SOCKET_BUFFER)?;
    socket.set_recv_buffer_size(SOCKET_BUFFER)?;
    socket.bind(&address.into())?;
    let config = EndpointConfig::default();
    Ok(Endpoint::new(config, server, socket.into(), Arc::new(TokioRuntime))?)
}

/// One thread: each end has one core.
fn block_on<T>(future: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(future)
}

pub(crate) fn receive(address: SocketAddr) -> Result<Received> {
    block_on(async {
        let own = rcgen::generate_simple_self_signed(["bench".into()])?;
        let key = PrivatePkcs8KeyDer::from(own.signing_key.serialize_der());
        let mut config = ServerConfig::with_single_cert(vec![own.cert.into()], key.into())?;
        config.transport_config(transport());
        let endpoint = endpoint(address, Some(config))?;
        ready();
        let connection = endpoint.accept().await.ok_or("no connection")?.await?;
        let mut stream = connection.accept_uni().await?;
        let mut received = Received::nothing();
        while let Some(chunk) = stream.read_chunk(BLOCK, true).await? {
            received.add(chunk.bytes.len());
        }
        connection.close(VarInt::from_u32(0), b"");
        endpoint.wait_idle().await;
        Ok(received)
    })
}

pub(crate) fn send(peer: SocketAddr, time: Duration) -> Result<Option<u64>> {
    block_on(async {
        let mut endpoint = endpoint((Ipv4Addr::UNSPECIFIED, 0).into(), None)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let crypto = rustls::ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Anyone(provider)))
            .with_no_client_auth();
        let mut config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(crypto)?));
        config.transport_config(transport());
        endpoint.set_default_client_config(config);
        let connection = endpoint.connect(peer, "bench")?.await?;
        let mut stream = connection.open_uni().await?;
        // Handed over, not copied: quinn's fastest way.
        let block = Bytes::from(vec![7; BLOCK]);
        let start = Instant::now();
        while start.elapsed() < time {
            stream.write_chunk(block.clone()).await?;
        }
        stream.finish()?;
        // The peer closes when it has had all.
        connection.closed().await;
        Ok(Some(connection.stats().path.lost_packets))
    })
}

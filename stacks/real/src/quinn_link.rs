//! quinn on a socket.

use crate::meter::{Meter, Window};
use crate::{Choice, Failure};
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{ClientConfig, Endpoint, ServerConfig, TransportConfig, VarInt};
use serde_json::Value;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::timeout;
use windlass_stacks_quic::tls;
use windlass_stacks_quinn::{Controller, Quinn};

pub(crate) async fn receive(
    address: SocketAddr,
    choice: &Choice,
    window: Window,
) -> Result<Value, Failure> {
    let crypto = QuicServerConfig::try_from(tls::server()?)?;
    let mut config = ServerConfig::with_crypto(Arc::new(crypto));
    config.transport_config(transport(choice)?);
    let endpoint = Endpoint::server(config, address)?;
    let incoming = endpoint.accept().await.ok_or("no connection")?;
    let mut meter = Meter::begin(window);
    let connection = incoming.await?;
    let mut stream = connection.accept_uni().await?;
    let mut buffer = vec![0; 1 << 16];
    // The end of the connection may be lost.
    while let Ok(Ok(Some(bytes))) = timeout(meter.left(), stream.read(&mut buffer)).await {
        meter.add(bytes);
    }
    Ok(meter.measured())
}

pub(crate) async fn send(
    address: SocketAddr,
    choice: &Choice,
    time: Duration,
) -> Result<(), Failure> {
    let crypto = QuicClientConfig::try_from(tls::client()?)?;
    let mut config = ClientConfig::new(Arc::new(crypto));
    config.transport_config(transport(choice)?);
    let endpoint = Endpoint::client((Ipv4Addr::UNSPECIFIED, 0).into())?;
    let begun = Instant::now();
    let connection = endpoint.connect_with(config, address, tls::SERVER_NAME)?.await?;
    let mut stream = connection.open_uni().await?;
    let block = vec![0; 1 << 16];
    while begun.elapsed() < time {
        // The receiver may be the first to close.
        if stream.write(&block).await.is_err() {
            break;
        }
    }
    connection.close(VarInt::from_u32(0), b"");
    endpoint.wait_idle().await;
    Ok(())
}

fn transport(choice: &Choice) -> Result<Arc<TransportConfig>, Failure> {
    let named = |controller: &Controller| controller.name() == choice.controller;
    let controller =
        Controller::ALL.into_iter().find(named).ok_or("quinn has no such controller")?;
    Ok(Arc::new(Quinn { controller, ..Quinn::default() }.transport()))
}

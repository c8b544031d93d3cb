//! TLS 1.3 with AES-128-GCM over the kernel's TCP (CUBIC), by rustls and its blocking stream, with
//! either of its two providers.

use crate::verifier::Anyone;
use crate::{BLOCK, Received, Result, ready, tcp};
use rustls::crypto::{CryptoProvider, aws_lc_rs, ring};
use rustls::pki_types::{PrivatePkcs8KeyDer, ServerName};
use rustls::version::TLS13;
use rustls::{ClientConfig, ClientConnection, ServerConfig, ServerConnection, StreamOwned};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

const CONTROLLER: &str = "cubic";

/// The provider of this name, with one cipher suite.
fn provider(name: &str) -> Result<Arc<CryptoProvider>> {
    let (mut provider, suite) = match name {
        "aws-lc" => {
            let suite = aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256;
            (aws_lc_rs::default_provider(), suite)
        }
        "ring" => (ring::default_provider(), ring::cipher_suite::TLS13_AES_128_GCM_SHA256),
        _ => return Err("no such provider of TLS".into()),
    };
    provider.cipher_suites = vec![suite];
    Ok(Arc::new(provider))
}

pub(crate) fn receive(name: &str, address: SocketAddr) -> Result<Received> {
    let own = rcgen::generate_simple_self_signed(["bench".into()])?;
    let key = PrivatePkcs8KeyDer::from(own.signing_key.serialize_der());
    let config = ServerConfig::builder_with_provider(provider(name)?)
        .with_protocol_versions(&[&TLS13])?
        .with_no_client_auth()
        .with_single_cert(vec![own.cert.into()], key.into())?;
    let listener = tcp::listen(CONTROLLER, address)?;
    ready();
    let (socket, _) = listener.accept()?;
    let mut stream = StreamOwned::new(ServerConnection::new(Arc::new(config))?, socket);
    let mut block = vec![0; BLOCK];
    let mut received = Received::nothing();
    loop {
        match stream.read(&mut block)? {
            0 => return Ok(received),
            bytes => received.add(bytes),
        }
    }
}

pub(crate) fn send(name: &str, address: SocketAddr, time: Duration) -> Result<Option<u64>> {
    let provider = provider(name)?;
    let config = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&[&TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Anyone(provider)))
        .with_no_client_auth();
    let server = ServerName::try_from("bench")?;
    let connection = ClientConnection::new(Arc::new(config), server)?;
    let mut stream = StreamOwned::new(connection, tcp::connect(CONTROLLER, address)?);
    let block = vec![7; BLOCK];
    let start = Instant::now();
    while start.elapsed() < time {
        stream.write_all(&block)?;
    }
    stream.conn.send_close_notify();
    stream.flush()?;
    stream.sock.shutdown(Shutdown::Write)?;
    // The server's session tickets, and its end when it has had all.
    while stream.sock.read(&mut [0; 4096])? > 0 {}
    Ok(None)
}

//! The kernel's TCP. Its buffers grow by themselves, as far as tcp_wmem and tcp_rmem let them.

use crate::{BLOCK, Received, Result, ready};
use socket2::{Domain, Socket, Type};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::time::{Duration, Instant};

fn socket(controller: &str, address: SocketAddr) -> Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    socket.set_tcp_congestion(controller.as_bytes())?;
    Ok(socket)
}

/// A socket that listens at `address`.
pub(crate) fn listen(controller: &str, address: SocketAddr) -> Result<Socket> {
    let listener = socket(controller, address)?;
    listener.bind(&address.into())?;
    listener.listen(1)?;
    Ok(listener)
}

/// A connection to `address`.
pub(crate) fn connect(controller: &str, address: SocketAddr) -> Result<Socket> {
    let stream = socket(controller, address)?;
    stream.connect(&address.into())?;
    Ok(stream)
}

pub(crate) fn receive(controller: &str, address: SocketAddr) -> Result<Received> {
    let listener = listen(controller, address)?;
    ready();
    let (mut stream, _) = listener.accept()?;
    let mut block = vec![0; BLOCK];
    let mut received = Received::nothing();
    loop {
        match stream.read(&mut block)? {
            0 => return Ok(received),
            bytes => received.add(bytes),
        }
    }
}

/// The kernel counts what it sends again for its whole namespace.
pub(crate) fn send(controller: &str, address: SocketAddr, time: Duration) -> Result<Option<u64>> {
    let mut stream = connect(controller, address)?;
    let block = vec![7; BLOCK];
    let start = Instant::now();
    while start.elapsed() < time {
        stream.write_all(&block)?;
    }
    stream.shutdown(Shutdown::Write)?;
    // The peer closes when it has had all.
    let _ = stream.read(&mut [0])?;
    Ok(None)
}

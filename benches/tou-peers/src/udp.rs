//! Datagrams and nothing else: what UDP_SEGMENT and UDP_GRO alone can carry. No transport holds the
//! sender back; what the receiver cannot take is lost and does not count.

use crate::{Received, Result, ready};
use quinn_udp::{RecvMeta, Transmit, UdpSocketState};
use std::io::{self, ErrorKind, IoSliceMut};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

/// ToU's payload on Ethernet.
const PAYLOAD: usize = 1456;
/// Datagrams a call: 64 KiB hold no more of them.
const DATAGRAMS: usize = 44;
/// As ToU's driver asks for.
const SOCKET_BUFFER: usize = 4 << 20;
const MESSAGES: usize = 16;
const MESSAGE_MAX: usize = 1 << 16;
/// As long without a datagram, and it was the last one.
const SILENCE: Duration = Duration::from_millis(300);

fn prepared(socket: &UdpSocket) -> Result<UdpSocketState> {
    let state = UdpSocketState::new(socket.into())?;
    // quinn-udp makes the socket nonblocking; here a call waits.
    socket.set_nonblocking(false)?;
    state.set_send_buffer_size(socket.into(), SOCKET_BUFFER)?;
    state.set_recv_buffer_size(socket.into(), SOCKET_BUFFER)?;
    Ok(state)
}

pub(crate) fn receive(address: SocketAddr) -> Result<Received> {
    let socket = UdpSocket::bind(address)?;
    let state = prepared(&socket)?;
    ready();
    let mut memory = vec![0; MESSAGES * MESSAGE_MAX];
    let mut slices: Vec<_> = memory.chunks_mut(MESSAGE_MAX).map(IoSliceMut::new).collect();
    let mut metas = [RecvMeta::default(); MESSAGES];
    let mut received = Received::nothing();
    loop {
        match state.recv((&socket).into(), &mut slices, &mut metas) {
            Ok(messages) => {
                received.add(metas[..messages].iter().map(|meta| meta.len).sum());
                socket.set_read_timeout(Some(SILENCE))?;
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(received),
            Err(error) => return Err(error.into()),
        }
    }
}

pub(crate) fn send(peer: SocketAddr, time: Duration) -> Result<Option<u64>> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    let state = prepared(&socket)?;
    let block = vec![7; PAYLOAD * DATAGRAMS];
    let transmit = Transmit {
        destination: peer,
        ecn: None,
        contents: &block,
        segment_size: Some(PAYLOAD),
        src_ip: None,
    };
    let start = Instant::now();
    while start.elapsed() < time {
        match state.try_send((&socket).into(), &transmit) {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error.into()),
            _ => {}
        }
    }
    Ok(None)
}

//! Which address of a rendezvous answers over UDP: RFC 8305 for datagrams.

use crate::driver::now;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};
use windlass_base::dial::Attempts;

/// How long all addresses together may take.
const PATIENCE: Duration = Duration::from_millis(1500);
/// After this time without any answer each request is sent again (RFC 8489 §6.2.1).
const REPEAT: Duration = Duration::from_millis(500);
/// A Binding request without its transaction (RFC 8489 §5).
const REQUEST: [u8; 8] = [0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42];

/// Asks all addresses of one name, and puts the one that answers first before the others. Nothing
/// is asked where there is no choice.
pub(super) fn answering_first(mut addresses: Vec<SocketAddr>) -> Vec<SocketAddr> {
    if addresses.len() > 1
        && let Ok(Some(answers)) = first_to_answer(&addresses)
        && let Some(at) = addresses.iter().position(|address| *address == answers)
    {
        addresses[..=at].rotate_right(1);
    }
    addresses
}

fn first_to_answer(addresses: &[SocketAddr]) -> io::Result<Option<SocketAddr>> {
    let mut request = [0; 20];
    request[..8].copy_from_slice(&REQUEST);
    getrandom::fill(&mut request[8..])?;
    let mut attempts = Attempts::new(addresses.iter().copied());
    let mut pending: Vec<(SocketAddr, UdpSocket)> = Vec::new();
    let deadline = Instant::now() + PATIENCE;
    loop {
        while let Some(address) = attempts.poll_begin(now()) {
            match ask(address, &request) {
                Ok(socket) => pending.push((address, socket)),
                Err(error) => attempts.fail(address, error),
            }
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if attempts.is_over() || left.is_zero() {
            return Ok(None);
        }
        let next = attempts.poll_timeout().map(|at| at.saturating_since(now()).as_nanos());
        let wait = next.map_or(REPEAT, Duration::from_nanos).min(left);
        if wait_for_any(&pending, wait)? == 0 && next.is_none() {
            for (_, socket) in &pending {
                // The answer to the first request may still come.
                let _ = socket.send(&request);
            }
        }
        let mut silent = Vec::new();
        for (address, socket) in pending {
            match answer(&socket, &request) {
                Ok(true) => return Ok(Some(address)),
                Ok(false) => silent.push((address, socket)),
                // Such as a closed port.
                Err(error) => attempts.fail(address, error),
            }
        }
        pending = silent;
    }
}

fn ask(address: SocketAddr, request: &[u8]) -> io::Result<UdpSocket> {
    let socket = match address {
        SocketAddr::V4(_) => UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?,
        SocketAddr::V6(_) => UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0))?,
    };
    socket.set_nonblocking(true)?;
    socket.connect(address)?;
    socket.send(request)?;
    Ok(socket)
}

/// Waits until a socket has an answer or an error. Returns the number of such sockets.
fn wait_for_any(pending: &[(SocketAddr, UdpSocket)], wait: Duration) -> io::Result<usize> {
    let mut fds: Vec<_> =
        pending.iter().map(|(_, socket)| PollFd::new(socket, PollFlags::IN)).collect();
    let wait = Timespec::try_from(wait).map_err(io::Error::other)?;
    match poll(&mut fds, Some(&wait)) {
        Ok(count) => Ok(count),
        Err(rustix::io::Errno::INTR) => Ok(0),
        Err(error) => Err(error.into()),
    }
}

/// Whether an answer with the transaction of the request has arrived.
fn answer(socket: &UdpSocket, request: &[u8]) -> io::Result<bool> {
    let mut bytes = [0; 1500];
    match socket.recv(&mut bytes) {
        Ok(len) => Ok(len >= 20 && bytes[4..20] == request[4..20]),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    /// Answers one request if it is to.
    fn server(answers: bool) -> (SocketAddr, thread::JoinHandle<()>) {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
        let address = socket.local_addr().expect("bound");
        socket.set_read_timeout(Some(PATIENCE)).expect("open");
        let serve = move || {
            let mut bytes = [0; 64];
            if let Ok((len, from)) = socket.recv_from(&mut bytes)
                && answers
            {
                bytes[0] = 1;
                socket.send_to(&bytes[..len], from).expect("sent");
            }
            // The port stays open while the others are probed.
            let _ = socket.recv_from(&mut bytes);
        };
        (address, thread::spawn(serve))
    }

    #[test]
    fn the_address_that_answers_comes_first() {
        let [(dead, _a), (other, _b), (live, _c)] = [server(false), server(false), server(true)];
        assert_eq!(answering_first(vec![dead, other, live]), [live, dead, other]);
        assert_eq!(answering_first(vec![dead]), [dead], "not probed");
    }

    #[test]
    fn without_any_answer_the_order_stays() {
        let closed = UdpSocket::bind("127.0.0.1:0").expect("a port");
        let first = closed.local_addr().expect("bound");
        drop(closed);
        let (second, _kept) = server(false);
        assert_eq!(answering_first(vec![first, second]), [first, second]);
    }
}

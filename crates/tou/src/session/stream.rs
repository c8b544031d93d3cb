//! A TLS connection to a rendezvous, for hosts whose UDP is blocked. It carries what UDP would:
//! STUN messages, and datagrams through the relay (RFC 8656 §12.5).

use super::rendezvous::RendezvousAddress;
use super::wake::{self, Waker, Woken};
use crate::driver::now;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::sockopt;
use rustls::ClientConnection;
use rustls::pki_types::ServerName;
use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;
use windlass_base::dial::Attempts;
use windlass_identity::PublicKey;
use windlass_rendezvous::client::tls_config;

/// How long to wait for each address.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Bytes that may wait for the stream. Beyond it datagrams for peers are dropped, as a full queue of
/// a link would do. Requests to the server are not: over a stream they are not repeated (RFC 8489
/// §6.2.2).
const BACKLOG_MAX: usize = 256 << 10;
/// Reads before messages are delivered and others sent.
const TURN: usize = 16;
/// The longest message, header included.
const FRAME_MAX: usize = 20 + (1 << 16);

/// The sending half of a stream. Dropping it ends the stream.
pub(super) struct StreamSender {
    bytes: Sender<Vec<u8>>,
    waker: Waker,
}

impl StreamSender {
    /// Queues a message.
    pub(super) fn send(&self, mut message: Vec<u8>) {
        // ChannelData is padded to a multiple of four bytes (RFC 8656 §12.5). STUN always is.
        message.resize(message.len().next_multiple_of(4), 0);
        if self.bytes.send(message).is_ok() {
            self.waker.wake();
        }
    }
}

impl Drop for StreamSender {
    fn drop(&mut self) {
        // The thread sees that the sender is gone only when it wakes up.
        let (sender, _) = channel();
        self.bytes = sender;
        self.waker.wake();
    }
}

/// An open stream, before its thread runs.
pub(super) struct Stream {
    tcp: TcpStream,
    tls: ClientConnection,
    messages: Receiver<Vec<u8>>,
    woken: Woken,
    outbox: Outbox,
    inbox: Vec<u8>,
    /// The key that the server has shown, if it is not the expected one.
    wrong_key: Arc<OnceLock<PublicKey>>,
}

/// Messages that wait until TLS takes them, several in one record. TLS holds 64 KiB at most by itself,
/// and what it does not take must not be lost in the middle of a message.
#[derive(Default)]
struct Outbox {
    bytes: Vec<u8>,
    /// Bytes at the beginning that TLS has taken.
    taken: usize,
}

impl Outbox {
    fn len(&self) -> usize {
        self.bytes.len() - self.taken
    }

    fn push(&mut self, message: &[u8]) {
        if self.len() + message.len() <= BACKLOG_MAX || !is_data(message) {
            self.bytes.extend_from_slice(message);
        }
    }

    /// Passes on what `out` takes, which may be less than all.
    fn write_to(&mut self, out: &mut impl Write) -> io::Result<()> {
        self.taken += out.write(&self.bytes[self.taken..])?;
        if self.taken == self.bytes.len() || self.taken >= BACKLOG_MAX {
            self.bytes.drain(..self.taken);
            self.taken = 0;
        }
        Ok(())
    }
}

/// Whether a message carries a datagram for a peer: ChannelData, or a Send indication (RFC 8656
/// §12.4, §11.1).
fn is_data(message: &[u8]) -> bool {
    message.first().is_some_and(|first| first >> 6 != 0) || message.starts_with(&[0, 0x16])
}

/// The rendezvous has another key than the user named.
#[derive(Debug)]
pub(super) struct WrongKey(pub(super) PublicKey);

impl fmt::Display for WrongKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the rendezvous has the key {}", self.0)
    }
}

impl std::error::Error for WrongKey {}

/// Connects to a rendezvous by TCP and begins TLS.
pub(super) fn open(address: &RendezvousAddress) -> io::Result<(StreamSender, Stream)> {
    let targets = (address.host.as_str(), address.tls_port).to_socket_addrs()?;
    begin(connect(targets)?, address)
}

/// Connects to the first address that answers (RFC 8305). An attempt that is late ends with its own
/// timeout.
fn connect(targets: impl Iterator<Item = SocketAddr>) -> io::Result<TcpStream> {
    let (reporter, reports) = channel();
    let mut attempts = Attempts::new(targets);
    loop {
        let now = now();
        while let Some(target) = attempts.poll_begin(now) {
            let reporter = reporter.clone();
            let attempt = move || {
                // The receiver is gone if another attempt has won.
                let connected = TcpStream::connect_timeout(&target, CONNECT_TIMEOUT);
                let _ = reporter.send((target, connected));
            };
            if let Err(error) = thread::Builder::new().name("tou-connect".into()).spawn(attempt) {
                attempts.fail(target, error);
            }
        }
        if attempts.is_over() {
            return Err(attempts.into_error());
        }
        let next = attempts.poll_timeout().map(|at| at.saturating_since(now).as_nanos());
        match reports.recv_timeout(next.map_or(CONNECT_TIMEOUT, Duration::from_nanos)) {
            Ok((_, Ok(tcp))) => return Ok(tcp),
            Ok((target, Err(error))) => attempts.fail(target, error),
            Err(_) => {}
        }
    }
}

fn begin(tcp: TcpStream, address: &RendezvousAddress) -> io::Result<(StreamSender, Stream)> {
    tcp.set_nodelay(true)?;
    tcp.set_nonblocking(true)?;
    notice_breaks(&tcp)?;
    allow_fragments(&tcp);
    // TLS knows no zones.
    let host = address.host.split('%').next().unwrap_or(&address.host);
    let name = ServerName::try_from(host.to_owned())
        .map_err(|error| io::Error::new(ErrorKind::InvalidInput, error))?;
    let wrong_key = Arc::new(OnceLock::new());
    let config = tls_config(address.key, Arc::clone(&wrong_key));
    let tls = ClientConnection::new(Arc::new(config), name).map_err(io::Error::other)?;
    let (bytes, messages) = channel();
    let (waker, woken) = wake::pair()?;
    let sender = StreamSender { bytes, waker };
    let (outbox, inbox) = (Outbox::default(), Vec::new());
    Ok((sender, Stream { tcp, tls, messages, woken, outbox, inbox, wrong_key }))
}

/// A NAT that has restarted breaks the connection silently. Probes notice it within about 20 s,
/// and so does data that is not acknowledged.
fn notice_breaks(tcp: &TcpStream) -> io::Result<()> {
    sockopt::set_socket_keepalive(tcp, true)?;
    sockopt::set_tcp_keepidle(tcp, Duration::from_secs(10))?;
    sockopt::set_tcp_keepintvl(tcp, Duration::from_secs(5))?;
    sockopt::set_tcp_keepcnt(tcp, 2)?;
    #[cfg(target_os = "linux")]
    sockopt::set_tcp_user_timeout(tcp, 20_000)?;
    Ok(())
}

/// Lets routers fragment packets over IPv4. TCP would otherwise rely on their ICMP messages (RFC 1191),
/// which this host may not get (RFC 2923 §2.1): then nothing but short messages passes. IPv6 routers do
/// not fragment.
#[cfg(target_os = "linux")]
fn allow_fragments(tcp: &TcpStream) {
    use rustix::net::sockopt::{Ipv4PathMtuDiscovery, set_ip_mtu_discover};
    // Without it, most paths work.
    let _ = set_ip_mtu_discover(tcp, Ipv4PathMtuDiscovery::DONT);
}

/// Without such an option.
#[cfg(not(target_os = "linux"))]
fn allow_fragments(_: &TcpStream) {}

impl Stream {
    /// Runs until the stream ends. `deliver` gets the messages that have arrived together.
    ///
    /// # Errors
    /// [`WrongKey`], or what the socket or TLS reports.
    pub(super) fn run(mut self, deliver: impl FnMut(&[&[u8]])) -> io::Result<()> {
        let ended = self.serve(deliver);
        match self.wrong_key.get() {
            Some(found) => Err(io::Error::new(ErrorKind::PermissionDenied, WrongKey(*found))),
            None => ended,
        }
    }

    fn serve(&mut self, mut deliver: impl FnMut(&[&[u8]])) -> io::Result<()> {
        loop {
            self.take_messages()?;
            self.write()?;
            self.wait()?;
            let goes_on = self.read()?;
            self.take_frames(&mut deliver)?;
            if !goes_on {
                return Ok(());
            }
        }
    }

    /// Queues the messages of the sender, and ends if it is gone.
    fn take_messages(&mut self) -> io::Result<()> {
        use std::sync::mpsc::TryRecvError;
        loop {
            match self.messages.try_recv() {
                Ok(message) => self.outbox.push(&message),
                Err(TryRecvError::Empty) => return Ok(()),
                Err(TryRecvError::Disconnected) => {
                    return Err(io::Error::new(ErrorKind::BrokenPipe, "closed"));
                }
            }
        }
    }

    /// Writes until the socket is full, or nothing waits. During the handshake messages wait.
    fn write(&mut self) -> io::Result<()> {
        loop {
            self.outbox.write_to(&mut self.tls.writer())?;
            if !self.tls.wants_write() {
                return Ok(());
            }
            match self.tls.write_tls(&mut self.tcp) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn wait(&mut self) -> io::Result<()> {
        let mut wanted = PollFlags::IN;
        wanted.set(PollFlags::OUT, self.tls.wants_write());
        let woken = PollFd::new(self.woken.pollable(), PollFlags::IN);
        let mut fds = [PollFd::new(&self.tcp, wanted), woken];
        match poll(&mut fds, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        if !fds[1].revents().is_empty() {
            self.woken.clear();
        }
        Ok(())
    }

    /// Reads for a turn what has arrived. False at the end of the stream.
    fn read(&mut self) -> io::Result<bool> {
        for _ in 0..TURN {
            match self.tls.read_tls(&mut self.tcp) {
                Ok(0) => return Ok(false),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(true),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            let state = self.tls.process_new_packets().map_err(io::Error::other)?;
            let plain = state.plaintext_bytes_to_read() as u64;
            self.tls.reader().take(plain).read_to_end(&mut self.inbox)?;
        }
        Ok(true)
    }

    /// Delivers the complete messages of the bytes received.
    fn take_frames(&mut self, deliver: &mut impl FnMut(&[&[u8]])) -> io::Result<()> {
        let (frames, end) = frames(&self.inbox)?;
        if !frames.is_empty() {
            deliver(&frames);
        }
        self.inbox.drain(..end);
        Ok(())
    }
}

/// The complete messages at the beginning, without padding, and their end.
fn frames(bytes: &[u8]) -> io::Result<(Vec<&[u8]>, usize)> {
    let (mut at, mut frames) = (0, Vec::new());
    while let Some(len) = frame_len(&bytes[at..]) {
        if len > FRAME_MAX {
            return Err(io::Error::new(ErrorKind::InvalidData, "no STUN message"));
        }
        let padded = len.next_multiple_of(4);
        if bytes.len() - at < padded {
            break;
        }
        frames.push(&bytes[at..at + len]);
        at += padded;
    }
    Ok((frames, at))
}

/// The length of the message that begins here, without padding: STUN (RFC 8489 §6.2.2) or
/// ChannelData (RFC 8656 §12.4). `None` while its header is incomplete.
fn frame_len(bytes: &[u8]) -> Option<usize> {
    let [first, _, high, low] = bytes.first_chunk::<4>()?;
    let len = usize::from(u16::from_be_bytes([*high, *low]));
    Some(len + if first >> 6 == 0 { 20 } else { 4 })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes a few bytes at a time, as a bounded buffer does.
    struct Narrow(Vec<u8>, usize);

    impl Write for Narrow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let count = bytes.len().min(self.1);
            self.0.extend_from_slice(&bytes[..count]);
            self.1 -= count;
            Ok(count)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_message_that_fits_in_part_goes_on_where_it_stopped() {
        let mut outbox = Outbox::default();
        let messages = [vec![0x40; 100], vec![0x41; 300], vec![0x42; 8]];
        messages.iter().for_each(|message| outbox.push(message));
        let mut out = Narrow(Vec::new(), 0);
        while outbox.len() > 0 {
            out.1 = 7;
            outbox.write_to(&mut out).expect("it takes some");
        }
        assert_eq!(out.0, messages.concat());
    }

    #[test]
    fn messages_that_arrive_together_are_delivered_together() {
        let bytes = [0x40, 0, 0, 3, 1, 2, 3, 0, 0x40, 0, 0, 4, 5, 6, 7, 8, 0x40, 0, 0, 1, 9];
        let (found, end) = frames(&bytes).expect("ChannelData");
        assert_eq!(found, [&bytes[..7], &bytes[8..16]]);
        assert_eq!(end, 16, "the padding of the third is missing");
    }

    #[test]
    fn datagrams_beyond_the_backlog_are_dropped_and_requests_are_not() {
        let mut outbox = Outbox::default();
        let datagram = |kind: [u8; 2]| [&kind[..], &[0; 998]].concat();
        (0..1000).for_each(|_| outbox.push(&datagram([0x40, 0])));
        let full = outbox.len();
        assert!((BACKLOG_MAX - 1000..=BACKLOG_MAX).contains(&full), "{full} bytes");
        outbox.push(&datagram([0, 0x16]));
        assert_eq!(outbox.len(), full, "a Send indication");
        outbox.push(&datagram([0, 0x04]));
        assert_eq!(outbox.len(), full + 1000, "a Refresh request");
    }

    #[test]
    fn messages_are_framed_by_their_own_lengths() {
        assert_eq!(frame_len(&[0, 1, 0]), None);
        assert_eq!(frame_len(&[0, 1, 0, 8]), Some(28), "STUN");
        assert_eq!(frame_len(&[0x40, 0, 0, 5]), Some(9), "ChannelData, which is padded to 12");
    }
}

//! Secured streams over real sockets.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Wake, Waker};
use std::thread;
use std::time::Duration;
use windlass_testbed::{PATIENCE, wait_until};
use windlass_tou::secure::{Allow, Error, Identity, PublicKey, SecretKey, SecureStream};
use windlass_tou::wire::{self, Flags};
use windlass_tou::{Options, Ready, TouListener, TouStream};

fn identity(seed: u8) -> Identity {
    Identity::new(&SecretKey::from_seed([seed; 32]))
}

fn key(seed: u8) -> PublicKey {
    identity(seed).public_key()
}

/// The client and the server of a connection that is not secured yet.
fn plain_pair(options: &Options) -> (TouStream, TouStream) {
    let listener = TouListener::bind_with("127.0.0.1:0", options).expect("a port");
    let address = listener.local_addr().expect("bound");
    let client = TouStream::connect_with(address, options).expect("connects");
    (client, listener.accept().expect("comes").0)
}

/// A client with the key 1 that expects the key 2, and a server with the key 2 and this rule.
fn secure(
    (client, server): (TouStream, TouStream),
    allow: &Allow,
) -> (io::Result<SecureStream>, io::Result<SecureStream>) {
    thread::scope(|scope| {
        let server = scope.spawn(|| SecureStream::accept(server, &identity(2), allow));
        let client = SecureStream::connect(client, &identity(1), key(2));
        (client, server.join().expect("no panic"))
    })
}

fn pair_with(options: &Options) -> (SecureStream, SecureStream) {
    let (client, server) = secure(plain_pair(options), &Allow::keys([key(1)]));
    (client.expect("the right key"), server.expect("allowed"))
}

fn pair() -> (SecureStream, SecureStream) {
    pair_with(&Options::default())
}

fn small() -> Options {
    Options { send_buffer: 32 << 10, receive_buffer: 32 << 10, ..Options::default() }
}

fn pattern(len: usize) -> Vec<u8> {
    (0..len as u64).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33) as u8).collect()
}

fn send_all(mut stream: &SecureStream, bytes: &[u8]) {
    stream.write_all(bytes).expect("open");
    stream.shutdown(Shutdown::Write).expect("open");
}

fn read_all(mut stream: &SecureStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).expect("an end in order");
    bytes
}

/// Why a stream failed.
fn reason(error: &io::Error) -> Option<&Error> {
    error.get_ref()?.downcast_ref::<Error>()
}

#[test]
fn threads_read_and_write_at_the_same_time() {
    for options in [Options::default(), small()] {
        let (client, server) = pair_with(&options);
        assert_eq!((client.peer_key(), client.own_key()), (Some(key(2)), key(1)));
        assert_eq!((server.peer_key(), server.own_key()), (Some(key(1)), key(2)));
        let data = pattern(3_000_000);
        thread::scope(|scope| {
            scope.spawn(|| send_all(&client, &data));
            scope.spawn(|| send_all(&server, &data));
            scope.spawn(|| assert!(read_all(&client) == data));
            scope.spawn(|| assert!(read_all(&server) == data));
        });
        // The end is the end, for good.
        assert_eq!((&client).read(&mut [0]).expect("the end"), 0);
        let error = (&client).write(b"late").expect_err("closed");
        assert_eq!(error.kind(), ErrorKind::BrokenPipe);
    }
}

/// Reads with room for a record open it there, others in memory of the stream; a receive buffer may be
/// smaller than a record.
#[test]
fn reads_of_any_size_alternate() {
    let tiny = Options { receive_buffer: 8 << 10, ..small() };
    for options in [Options::default(), small(), tiny] {
        let (client, server) = pair_with(&options);
        let data = pattern(4_000_000);
        let arrived = thread::scope(|scope| {
            scope.spawn(|| {
                let mut rest = &data[..];
                for len in [1, 70_000, 100, 300_000, 16_384, 40_000].into_iter().cycle() {
                    let (part, after) = rest.split_at(rest.len().min(len));
                    (&client).write_all(part).expect("open");
                    rest = after;
                    if rest.is_empty() {
                        break;
                    }
                }
                client.shutdown(Shutdown::Write).expect("open");
            });
            let (mut arrived, mut buffer) = (Vec::new(), vec![0; 256 << 10]);
            for room in [256 << 10, 20_000, 1000, 256 << 10, 16_406, 16_405].into_iter().cycle() {
                match (&server).read(&mut buffer[..room]).expect("an end in order") {
                    0 => break,
                    len => arrived.extend_from_slice(&buffer[..len]),
                }
            }
            arrived
        });
        assert!(arrived == data);
    }
}

#[test]
fn one_direction_stays_open_after_the_other_has_ended() {
    let (client, server) = pair();
    send_all(&client, b"question");
    assert_eq!(read_all(&server), b"question");
    send_all(&server, b"answer");
    assert_eq!(read_all(&client), b"answer");
    client.finish(Some(PATIENCE)).expect("delivered");
    server.finish(Some(PATIENCE)).expect("delivered");
}

#[test]
fn a_stream_that_is_dropped_ends_in_order() {
    let (mut client, server) = pair();
    client.write_all(b"last words").expect("open");
    drop(client);
    assert_eq!(read_all(&server), b"last words");
}

#[test]
fn a_stream_that_is_cut_off_does_not_end_in_order() {
    let (client, mut server) = pair();
    (&client).write_all(b"some").expect("open");
    // FIN without close_notify: what anyone on the path could send.
    client.connection().shutdown(Shutdown::Write).expect("open");
    let mut bytes = Vec::new();
    let error = server.read_to_end(&mut bytes).expect_err("truncated");
    assert_eq!((&bytes[..], reason(&error)), (&b"some"[..], Some(&Error::Truncated)));
    assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
}

#[test]
fn resets_are_reported_as_such() {
    let (client, mut server) = pair();
    client.abort();
    for _ in 0..2 {
        let error = server.read(&mut [0; 10]).expect_err("reset");
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    }
    // Dropping a stream with unread data resets too.
    let (mut client, mut server) = pair();
    server.write_all(&[7; 100]).expect("open");
    client.read_exact(&mut [0; 1]).expect("data");
    drop(client);
    let error = server.read(&mut [0; 10]).expect_err("reset");
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
}

#[test]
fn a_refused_client_and_the_server_learn_why() {
    let (client, server) = secure(plain_pair(&Options::default()), &Allow::keys([key(3)]));
    let refused = server.expect_err("not allowed");
    assert_eq!(reason(&refused), Some(&Error::NotAllowed(key(1))));
    assert_eq!(refused.kind(), ErrorKind::PermissionDenied);
    // In TLS 1.3 the client is done before the server judges.
    let mut client = client.expect("the right key");
    for _ in 0..2 {
        let error = client.read(&mut [0; 10]).expect_err("refused");
        assert_eq!(reason(&error), Some(&Error::Refused { own: key(1) }));
        assert!(error.to_string().contains(&key(1).to_string()), "{error}");
    }
}

#[test]
fn a_refused_client_that_only_writes_learns_it_too() {
    let (client, server) = secure(plain_pair(&Options::default()), &Allow::keys([key(3)]));
    server.expect_err("not allowed");
    let mut client = client.expect("the right key");
    wait_until("a write fails", || match client.write(b"anyone there?") {
        Ok(_) => false,
        Err(error) => reason(&error) == Some(&Error::Refused { own: key(1) }),
    });
    let error = client.finish(Some(PATIENCE)).expect_err("refused");
    assert_eq!(reason(&error), Some(&Error::Refused { own: key(1) }));
}

#[test]
fn another_server_than_expected_is_refused() {
    let (client, server) = plain_pair(&Options::default());
    let other = identity(4);
    let (client, server) = thread::scope(|scope| {
        let server = scope.spawn(|| SecureStream::accept(server, &other, &Allow::any()));
        let client = SecureStream::connect(client, &identity(1), key(2));
        (client, server.join().expect("no panic"))
    });
    let wrong = Error::WrongPeer { expected: key(2), found: key(4) };
    assert_eq!(reason(&client.expect_err("another key")), Some(&wrong));
    let refused = Error::Refused { own: key(4) };
    assert_eq!(reason(&server.expect_err("refused")), Some(&refused));
}

#[test]
fn a_peer_without_encryption_is_recognized() {
    let (mut plain, server) = plain_pair(&Options::default());
    plain.write_all(b"GET / HTTP/1.1\r\n\r\n").expect("open");
    let error = SecureStream::accept(server, &identity(2), &Allow::any()).expect_err("not TLS");
    assert_eq!(reason(&error), Some(&Error::NotTls));
    let (client, mut plain) = plain_pair(&Options::default());
    plain.write_all(b"SSH-2.0-OpenSSH_9\r\n").expect("open");
    let error = SecureStream::connect(client, &identity(1), key(2)).expect_err("not TLS");
    assert_eq!(reason(&error), Some(&Error::NotTls));
    // A peer that closes at once.
    let (client, plain) = plain_pair(&Options::default());
    drop(plain);
    let error = SecureStream::connect(client, &identity(1), key(2)).expect_err("closed");
    assert!(
        matches!(error.kind(), ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset),
        "{error}"
    );
}

#[test]
fn reading_can_be_closed() {
    let (client, server) = pair();
    (&server).write_all(b"not read").expect("open");
    thread::scope(|scope| {
        let (client, server) = (&client, &server);
        let reader = scope.spawn(move || read_all(client));
        client.shutdown(Shutdown::Read).expect("open");
        let bytes = reader.join().expect("no panic");
        assert!(b"not read".starts_with(&bytes[..]));
        scope.spawn(move || send_all(client, b"still writing"));
        assert_eq!(read_all(server), b"still writing");
    });
}

#[test]
fn waits_end_at_timeouts() {
    let (client, server) = pair_with(&small());
    client.connection().set_read_timeout(Some(Duration::from_millis(1))).expect("above zero");
    let error = (&client).read(&mut [0]).expect_err("nothing came");
    assert_eq!(error.kind(), ErrorKind::WouldBlock);
    client.set_nonblocking(true).expect("open");
    let mut written = 0;
    let data = pattern(1_000_000);
    // The server does not read: at some time neither it nor the client takes more.
    let error = loop {
        match (&client).write(&data[written..]) {
            Ok(taken) => written += taken,
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), ErrorKind::WouldBlock);
    client.set_nonblocking(false).expect("open");
    // The end fits although the buffer is full.
    client.shutdown(Shutdown::Write).expect("open");
    assert!(read_all(&server) == data[..written]);
}

#[test]
fn a_tiny_send_buffer_is_refused() {
    let options = Options { send_buffer: 4095, ..Options::default() };
    let (client, _server) = plain_pair(&options);
    let error = SecureStream::connect(client, &identity(1), key(2)).expect_err("too small");
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    let (client, server) = pair_with(&Options { send_buffer: 4096, ..Options::default() });
    let data = pattern(100_000);
    thread::scope(|scope| {
        scope.spawn(|| send_all(&client, &data));
        assert!(read_all(&server) == data);
    });
}

#[test]
fn readiness_is_that_of_the_bytes_inside() {
    let (client, server) = plain_pair(&small());
    let waker = Waker::noop();
    let client = SecureStream::begin_connect(client, &identity(1), key(2)).expect("fits");
    assert_eq!(client.poll_ready(waker), Ready::default(), "the handshake is under way");
    let allow = Allow::keys([key(1)]);
    let server = SecureStream::begin_accept(server, &identity(2), &allow).expect("fits");
    let idle = Ready { writable: true, ..Ready::default() };
    wait_until("both are secured", || {
        // Each call continues the handshake of its end.
        [&client, &server].map(|end| end.poll_ready(waker)) == [idle; 2]
    });

    (&client).write_all(b"data").expect("open");
    let readable = Ready { readable: true, ..idle };
    wait_until("data is readable", || server.poll_ready(waker) == readable);
    (&server).read_exact(&mut [0; 4]).expect("data");
    assert_eq!(server.poll_ready(waker), idle);
    client.shutdown(Shutdown::Write).expect("open");
    let ended = Ready { peer_closed: true, ..readable };
    wait_until("the end is readable", || server.poll_ready(waker) == ended);
    assert_eq!((&server).read(&mut [0]).expect("the end"), 0);

    // A part of a record is nothing to read, although the connection below is readable.
    let mut raw = server.connection();
    let received = || client.connection().info().expect("open").bytes_received;
    let before = received();
    raw.write_all(&[23, 3, 3, 0, 100]).expect("open");
    wait_until("a header has arrived", || received() == before + 5);
    assert!(!client.poll_ready(waker).readable);
    raw.write_all(&[0; 100]).expect("open");
    wait_until("the fault is readable", || client.poll_ready(waker).readable);
    assert!(client.poll_ready(waker).failed);
    let error = (&client).read(&mut [0]).expect_err("forged");
    assert_eq!(reason(&error), Some(&Error::Forged));
}

/// A waker that asks for the readiness at once, in the thread that wakes it, as libtou's does.
#[derive(Default)]
struct Asking {
    stream: OnceLock<SecureStream>,
    asked: AtomicUsize,
}

impl Wake for Asking {
    fn wake(self: Arc<Self>) {
        let waker = Waker::from(Arc::clone(&self));
        if let Some(stream) = self.stream.get() {
            stream.poll_ready(&waker);
            self.asked.fetch_add(1, Ordering::SeqCst);
        }
    }
}

#[test]
fn wakers_may_use_the_stream() {
    let (client, server) = pair_with(&small());
    let wakers = [&client, &server].map(|stream| {
        let asking = Arc::new(Asking::default());
        asking.stream.set(stream.clone()).expect("not set yet");
        stream.poll_ready(&Waker::from(Arc::clone(&asking)));
        asking
    });
    let data = pattern(2_000_000);
    thread::scope(|scope| {
        scope.spawn(|| send_all(&client, &data));
        scope.spawn(|| send_all(&server, &data));
        scope.spawn(|| assert!(read_all(&client) == data));
        scope.spawn(|| assert!(read_all(&server) == data));
    });
    assert!(wakers.iter().all(|asking| asking.asked.load(Ordering::SeqCst) > 10));
}

#[test]
fn wakers_may_use_a_stream_that_fails() {
    let (client, server) = pair();
    let asking = Arc::new(Asking::default());
    asking.stream.set(server.clone()).expect("not set yet");
    server.poll_ready(&Waker::from(Arc::clone(&asking)));
    let mut raw = client.connection();
    raw.write_all(&[23, 3, 3, 0, 20]).expect("open");
    raw.write_all(&[0; 20]).expect("open");
    // The thread that finds the fault closes the connection, which wakes all waiters.
    let error = (&server).read(&mut [0]).expect_err("forged");
    assert_eq!(reason(&error), Some(&Error::Forged));
    wait_until("the waker has asked", || asking.asked.load(Ordering::SeqCst) > 0);
    let error = (&client).read(&mut [0]).expect_err("an alert");
    assert_eq!(reason(&error), Some(&Error::Alert("BadRecordMac".into())));
}

/// Forwards datagrams between a client and a server. Of those to the client it forwards none after
/// the first with payload.
struct Relay {
    front: UdpSocket,
    back: UdpSocket,
}

impl Relay {
    fn new(server: SocketAddr) -> Relay {
        let [front, back] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").expect("a free port"));
        back.connect(server).expect("a local address");
        Relay { front, back }
    }

    fn forward(&self, is_over: &OnceLock<()>) {
        for socket in [&self.front, &self.back] {
            let timeout = Some(Duration::from_millis(1));
            socket.set_read_timeout(timeout).expect("above zero");
        }
        let (mut bytes, mut client, mut is_silent) = ([0; 2000], None, false);
        while is_over.get().is_none() {
            if let Ok((len, from)) = self.front.recv_from(&mut bytes) {
                client = Some(from);
                self.back.send(&bytes[..len]).expect("a local address");
            }
            if let (Ok(len), Some(client)) = (self.back.recv(&mut bytes), client)
                && !is_silent
            {
                self.front.send_to(&bytes[..len], client).expect("a local address");
                let (segment, _) = wire::parse(&bytes[..len]).expect("a segment");
                is_silent = segment.payload_len > 0;
                assert!(!is_silent || !segment.flags.contains(Flags::SYN));
            }
        }
    }
}

/// SYN and SYN-ACK are one round trip, the hellos the second. The client's data must then need no
/// further datagram of the server, although Nagle's algorithm is on.
#[test]
fn the_clients_first_data_leaves_after_two_round_trips() {
    let listener = TouListener::bind("127.0.0.1:0").expect("a port");
    let relay = Relay::new(listener.local_addr().expect("bound"));
    let address = relay.front.local_addr().expect("bound");
    let is_over = OnceLock::new();
    thread::scope(|scope| {
        scope.spawn(|| relay.forward(&is_over));
        let client = scope.spawn(|| {
            let stream = TouStream::connect(address).expect("connects");
            let client = SecureStream::connect(stream, &identity(1), key(2)).expect("the key");
            assert!(!client.nodelay());
            (&client).write_all(b"first").expect("open");
            // The hello, the last message of the handshake, and the data.
            let stats = client.connection().info().expect("open").stats;
            assert!(stats.data_segments_sent >= 3, "{stats:?}");
            client
        });
        let (stream, _) = listener.accept().expect("comes");
        let server = SecureStream::accept(stream, &identity(2), &Allow::any()).expect("allowed");
        server.connection().set_read_timeout(Some(PATIENCE)).expect("above zero");
        let mut bytes = [0; 5];
        let arrived = (&server).read_exact(&mut bytes);
        // Before any check, so that the relay ends when one fails.
        is_over.set(()).expect("set once");
        arrived.expect("the data needs no answer of the server");
        assert_eq!(&bytes, b"first");
        let client = client.join().expect("no panic");
        client.abort();
    });
}

#[test]
fn nagles_algorithm_is_as_the_application_wants_it() {
    for nodelay in [false, true] {
        let (client, _server) = pair_with(&Options { nodelay, ..Options::default() });
        assert_eq!(client.nodelay(), nodelay);
        let of_connection = || client.connection().nodelay().expect("open");
        (&client).write_all(b"first").expect("open");
        assert!(of_connection(), "the first data is not held back");
        (&client).write_all(b"second").expect("open");
        assert_eq!(of_connection(), nodelay);
        client.set_nodelay(!nodelay).expect("open");
        assert_eq!((client.nodelay(), of_connection()), (!nodelay, !nodelay));
    }
    let (client, _server) = pair();
    client.set_nodelay(true).expect("open");
    for _ in 0..2 {
        (&client).write_all(b"data").expect("open");
    }
    assert!(client.connection().nodelay().expect("open"));
}

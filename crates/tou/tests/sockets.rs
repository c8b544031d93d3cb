//! ToU sockets over the loopback device, compared with the behavior of TCP sockets.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, UdpSocket};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};
use windlass_tou::{Options, TouListener, TouSocket, TouStream, congestion};

fn pair(options: &Options) -> (TouStream, TouStream) {
    let listener = TouListener::bind_with("127.0.0.1:0", options).expect("a port");
    let address = listener.local_addr().expect("bound");
    let client = TouStream::connect_with(address, options).expect("connects");
    let (server, peer) = listener.accept().expect("comes");
    assert_eq!(peer.port(), client.local_addr().expect("bound").port());
    (client, server)
}

fn pattern(len: usize) -> Vec<u8> {
    (0..len as u64).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33) as u8).collect()
}

/// A continuous writer processes ACKs itself. When it stops, the I/O thread must take over.
#[test]
fn data_written_without_a_pause_arrive_without_another_call() {
    let options = Options { send_buffer: 8 << 20, ..Options::default() };
    let (mut client, mut server) = pair(&options);
    server.set_read_timeout(Some(Duration::from_secs(20))).expect("open");
    let data = pattern(4 << 20);
    let mut arrived = vec![0; data.len()];
    for _ in 0..3 {
        for block in data.chunks(64 << 10) {
            client.write_all(block).expect("open");
        }
        server.read_exact(&mut arrived).expect("no timeout");
        assert!(arrived == data);
    }
}

#[test]
fn bytes_go_both_ways_at_once() {
    for address in ["127.0.0.1:0", "[::1]:0"] {
        let listener = TouListener::bind(address).expect("a port");
        let client = TouStream::connect(listener.local_addr().expect("bound")).expect("connects");
        let (server, _) = listener.accept().expect("comes");
        let data = pattern(20_000_000);
        thread::scope(|scope| {
            for stream in [&client, &server] {
                let data = &data;
                scope.spawn(move || {
                    (&*stream).write_all(data).expect("open");
                    stream.shutdown(Shutdown::Write).expect("open");
                });
                scope.spawn(move || {
                    let mut arrived = Vec::new();
                    (&*stream).read_to_end(&mut arrived).expect("open");
                    assert!(arrived == *data);
                });
            }
        });
    }
}

#[test]
fn a_half_close_leaves_the_other_way_open() {
    let (mut client, mut server) = pair(&Options::default());
    client.write_all(b"question").expect("open");
    client.shutdown(Shutdown::Write).expect("open");
    let mut text = String::new();
    server.read_to_string(&mut text).expect("open");
    assert_eq!(text, "question");
    assert_eq!(client.write(b"more").expect_err("closed").kind(), ErrorKind::BrokenPipe);
    server.write_all(b"answer").expect("open");
    drop(server);
    let mut text = String::new();
    client.read_to_string(&mut text).expect("open");
    assert_eq!(text, "answer");
}

#[test]
fn data_arrive_after_their_sender_is_dropped() {
    let (mut client, mut server) = pair(&Options::default());
    let data = pattern(3_000_000);
    client.write_all(&data).expect("open");
    drop(client);
    let mut arrived = Vec::new();
    server.read_to_end(&mut arrived).expect("orderly");
    assert!(arrived == data);
}

#[test]
fn finish_returns_when_all_has_arrived() {
    let (mut client, server) = pair(&Options::default());
    client.write_all(&pattern(100_000)).expect("open");
    client.finish(None).expect("acknowledged");
    assert_eq!(server.info().expect("there").bytes_received, 100_000);
}

/// RFC 2525 §2.17, as Linux does.
#[test]
fn closing_with_unread_data_resets_the_connection() {
    let (mut client, server) = pair(&Options::default());
    client.write_all(b"never read").expect("open");
    while server.info().expect("there").bytes_received < 10 {
        thread::sleep(Duration::from_millis(1));
    }
    drop(server);
    assert_eq!(client.read(&mut [0]).expect_err("reset").kind(), ErrorKind::ConnectionReset);
    // The error is reported once, like SO_ERROR. Afterwards the stream is at its end.
    assert_eq!(client.read(&mut [0]).expect("the end"), 0);
    assert_eq!(client.write(b"x").expect_err("over").kind(), ErrorKind::BrokenPipe);
}

#[test]
fn an_abort_resets_and_reports_undelivered_data() {
    let (client, mut server) = pair(&Options::default());
    // The server does not read, so the window closes before all is sent.
    client.set_write_timeout(Some(Duration::from_millis(20))).expect("not zero");
    while (&client).write(&[7; 1 << 16]).is_ok() {}
    let waiting = client.clone();
    let reading = thread::spawn(move || (&waiting).read(&mut [0]));
    client.abort();
    // The reader gets the error first, whether or not it waited already.
    let error = reading.join().expect("no panic").expect_err("aborted");
    assert_eq!(error.kind(), ErrorKind::ConnectionAborted);
    for _ in 0..2 {
        let error = client.finish(None).expect_err("not delivered");
        assert_eq!(error.kind(), ErrorKind::ConnectionAborted);
    }
    let error = server.read_to_end(&mut Vec::new()).expect_err("reset");
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
}

/// `windlass tou perf client --reverse` needs this of its server.
#[test]
fn an_accepted_connection_can_take_another_controller() {
    let (mut client, mut server) = pair(&Options::default());
    server.set_congestion(congestion("new-ecn").expect("a name")).expect("open");
    let info = server.info().expect("there");
    assert_eq!(info.cwnd, 10 * u64::from(info.mss), "the initial window");
    let data = pattern(1_000_000);
    thread::scope(|scope| {
        scope.spawn(|| server.write_all(&data).and_then(|()| server.finish(None)).expect("open"));
        let mut arrived = Vec::new();
        client.read_to_end(&mut arrived).expect("open");
        assert!(arrived == data);
    });
}

#[test]
fn a_port_that_does_not_listen_refuses() {
    // A port that was just closed, and a port with a socket that does not listen.
    let closed = UdpSocket::bind("127.0.0.1:0").expect("a port").local_addr().expect("bound");
    let idle = TouSocket::bind("127.0.0.1:0").expect("a port");
    for address in [closed, idle.local_addr()] {
        let error = TouStream::connect(address).expect_err("no listener");
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused, "{address}");
    }
}

#[test]
fn silence_is_a_timeout() {
    let silent = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let address = silent.local_addr().expect("bound");
    let timeout = Duration::from_millis(50);
    let error = TouStream::connect_timeout(&address, timeout, &Options::default());
    assert_eq!(error.expect_err("silence").kind(), ErrorKind::TimedOut);
}

/// RFC 6298 §2.1 and §5.5: the SYN waits for 1 s, and sent again once for 2 s.
#[test]
fn connecting_fails_after_as_many_retries_as_the_options_say() {
    let silent = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let address = silent.local_addr().expect("bound");
    let options = Options { connect_retries: Some(1), ..Options::default() };
    let began = Instant::now();
    let error = TouStream::connect_timeout(&address, Duration::from_secs(60), &options);
    assert_eq!(error.expect_err("silence").kind(), ErrorKind::TimedOut);
    let waited = began.elapsed();
    assert!(waited > Duration::from_millis(2900) && waited < Duration::from_secs(20), "{waited:?}");
    silent.set_nonblocking(true).expect("a socket");
    let syns = std::iter::from_fn(|| silent.recv(&mut [0; 1500]).ok()).count();
    assert_eq!(syns, 2);
}

#[test]
fn a_port_in_use_is_an_error() {
    let first = TouListener::bind("127.0.0.1:0").expect("a port");
    let again = TouListener::bind(first.local_addr().expect("bound"));
    assert_eq!(again.expect_err("taken").kind(), ErrorKind::AddrInUse);
    let socket = TouSocket::bind("127.0.0.1:0").expect("a port");
    let _listener = socket.listen().expect("the first");
    assert_eq!(socket.listen().expect_err("the second").kind(), ErrorKind::AddrInUse);
}

#[test]
fn timeouts_and_nonblocking_calls_return_would_block() {
    let (mut client, mut server) = pair(&Options::default());
    client.set_read_timeout(Some(Duration::from_millis(20))).expect("not zero");
    assert_eq!(client.read(&mut [0]).expect_err("nothing").kind(), ErrorKind::WouldBlock);
    assert_eq!(
        client.set_read_timeout(Some(Duration::ZERO)).expect_err("zero").kind(),
        ErrorKind::InvalidInput
    );
    client.set_nonblocking(true).expect("a flag");
    assert_eq!(client.read(&mut [0]).expect_err("nothing").kind(), ErrorKind::WouldBlock);
    // The server does not read, so the buffers of both ends fill up.
    let full = loop {
        if let Err(error) = client.write(&[7; 1 << 16]) {
            break error;
        }
    };
    assert_eq!(full.kind(), ErrorKind::WouldBlock);
    let mut byte = [0];
    server.read_exact(&mut byte).expect("there is much");
    assert_eq!(byte, [7]);
    let listener = TouListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("a flag");
    assert_eq!(listener.accept().expect_err("no peer").kind(), ErrorKind::WouldBlock);
}

#[test]
fn a_read_that_waits_ends_with_a_shutdown_in_another_thread() {
    let (client, _server) = pair(&Options::default());
    let reader = client.clone();
    let reading = thread::spawn(move || (&reader).read(&mut [0]));
    // The reader may or may not wait already.
    client.shutdown(Shutdown::Both).expect("open");
    assert_eq!(reading.join().expect("no panic").expect("the end"), 0);
}

#[test]
fn many_connections_share_a_port() {
    const CONNECTIONS: u8 = 200;
    let options = Options { backlog: usize::from(CONNECTIONS), ..Options::default() };
    let listener = TouListener::bind_with("127.0.0.1:0", &options).expect("a port");
    let address = listener.local_addr().expect("bound");
    let clients: Vec<_> =
        (0..CONNECTIONS).map(|_| TouStream::connect(address).expect("connects")).collect();
    for (number, mut client) in (0..CONNECTIONS).zip(&clients) {
        client.write_all(&[number; 1000]).expect("open");
    }
    let mut seen = Vec::new();
    for _ in 0..CONNECTIONS {
        let (mut server, _) = listener.accept().expect("comes");
        let mut bytes = [0; 1000];
        server.read_exact(&mut bytes).expect("open");
        assert!(bytes.iter().all(|byte| *byte == bytes[0]));
        seen.push(bytes[0]);
    }
    seen.sort_unstable();
    assert!(seen.into_iter().eq(0..CONNECTIONS));
}

/// Like two hosts behind NATs: they exchange STUN, and then connect to each other.
#[test]
fn ports_that_exchanged_stun_connect_to_each_other() {
    let [a, b] = [(); 2].map(|()| TouSocket::bind("127.0.0.1:0").expect("a port"));
    let mut stun = [0; 20];
    stun[1] = 1;
    stun[4..8].copy_from_slice(&[0x21, 0x12, 0xa4, 0x42]);
    let (sender, received) = channel();
    b.on_stun(move |peer, message| sender.send((peer, message.to_vec())).expect("open"));
    a.send_stun(b.local_addr(), &stun).expect("sent");
    assert_eq!(received.recv().expect("a message"), (a.local_addr(), stun.to_vec()));
    let error = a.send_stun(b.local_addr(), b"not STUN").expect_err("refused");
    assert_eq!(error.kind(), ErrorKind::InvalidInput);

    let addresses: [SocketAddr; 2] = [a.local_addr(), b.local_addr()];
    let dial = |socket: TouSocket, peer| -> io::Result<TouStream> {
        // The peer refuses a SYN that arrives before it connects too.
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            match socket.connect(peer) {
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                    assert!(Instant::now() < deadline, "never met");
                }
                result => return result,
            }
        }
    };
    thread::scope(|scope| {
        let first = scope.spawn(move || dial(a, addresses[1]));
        let mut second = dial(b, addresses[0]).expect("connects");
        let mut first = first.join().expect("no panic").expect("connects");
        first.write_all(b"through").expect("open");
        let mut bytes = [0; 7];
        second.read_exact(&mut bytes).expect("open");
        assert_eq!(&bytes, b"through");
    });
}

//! Which address of a host a connection uses, over the loopback device, which has all of 127.0.0.0/8.

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};
use windlass_tou::{Options, TouListener, TouSocket, TouStream};

const WAIT: Duration = Duration::from_secs(10);

fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

fn connect(peer: SocketAddr) -> TouStream {
    TouStream::connect_timeout(&peer, WAIT, &Options::default()).expect("answers")
}

/// A UDP port that takes SYNs and says nothing.
fn silent() -> (SocketAddr, UdpSocket) {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    (socket.local_addr().expect("bound"), socket)
}

/// RFC 1122 §4.1.3.5 and §4.2.3.7: answers come from the address that was asked.
#[test]
fn a_listener_at_all_addresses_answers_from_the_one_that_was_asked() {
    for (bound, asked) in [
        ("0.0.0.0:0", &["127.0.0.1", "127.0.0.2", "127.9.9.9"][..]),
        // IPv4 by mapped addresses.
        ("[::]:0", &["::1", "127.0.0.1", "127.0.0.2"]),
    ] {
        let listener = TouListener::bind(bound).expect("a port");
        let port = listener.local_addr().expect("bound").port();
        for asked in asked.iter().map(|text| SocketAddr::new(ip(text), port)) {
            let mut client = connect(asked);
            let (mut server, peer) = listener.accept().expect("comes");
            assert_eq!(server.local_addr().expect("open"), asked);
            assert_eq!(client.local_addr().expect("open"), peer);
            for stream in [&client, &server] {
                stream.set_read_timeout(Some(WAIT)).expect("open");
            }
            let data = vec![7; 300_000];
            let mut arrived = vec![0; data.len()];
            client.write_all(&data).expect("open");
            server.read_exact(&mut arrived).expect("arrives");
            server.write_all(&data).expect("open");
            client.read_exact(&mut arrived).expect("arrives");
            drop(client);
            assert_eq!(server.read(&mut arrived).expect("the end"), 0);
            server.finish(Some(WAIT)).expect("delivered");
            assert_eq!(server.local_addr().expect("known"), asked, "also afterwards");
        }
    }
}

/// RFC 9293 §3.4.1: both addresses and ports identify a connection.
#[test]
fn one_port_of_a_client_has_a_connection_to_each_address() {
    let listener = TouListener::bind("0.0.0.0:0").expect("a port");
    let port = listener.local_addr().expect("bound").port();
    for bound in ["127.0.0.1:0", "0.0.0.0:0", "[::]:0"] {
        let own = TouSocket::bind(bound).expect("a port");
        let connected = ["127.0.0.1", "127.0.0.2"].map(|text| {
            let asked = SocketAddr::new(ip(text), port);
            let client = own.connect(asked).expect("answers");
            let again = own.begin(asked).expect_err("the second to this address");
            assert_eq!(again.kind(), ErrorKind::AddrInUse);
            let (server, peer) = listener.accept().expect("comes");
            assert_eq!(server.local_addr().expect("open"), asked);
            assert_eq!(client.local_addr().expect("open"), peer);
            (client, server)
        });
        for (index, (client, server)) in connected.iter().enumerate() {
            (&*client).write_all(&[index as u8; 5]).expect("open");
            let mut arrived = [9; 5];
            (&*server).read_exact(&mut arrived).expect("arrives");
            assert_eq!(arrived, [index as u8; 5]);
        }
    }
}

#[test]
fn a_refusal_comes_from_the_address_that_was_asked() {
    let closed = TouSocket::bind("0.0.0.0:0").expect("a port");
    let asked = SocketAddr::new(ip("127.0.0.2"), closed.local_addr().port());
    let error = TouStream::connect_timeout(&asked, WAIT, &Options::default());
    assert_eq!(error.expect_err("does not listen").kind(), ErrorKind::ConnectionRefused);
}

/// RFC 8489 §6.3.1.
#[test]
fn an_answer_to_a_stun_message_comes_from_the_address_that_was_asked() {
    for bound in ["0.0.0.0:0", "[::]:0"] {
        let server = TouSocket::bind(bound).expect("a port");
        let port = server.local_addr().port();
        let answering = server.with_options(&Options::default());
        server.on_stun(move |from, message| {
            answering.send_stun(from, message).expect("sent");
        });
        let message = [&[0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42][..], &[5; 12]].concat();
        for asked in ["127.0.0.1", "127.0.0.2"] {
            let client = UdpSocket::bind("127.0.0.1:0").expect("a port");
            client.set_read_timeout(Some(WAIT)).expect("open");
            // Takes datagrams of this source only.
            client.connect((asked, port)).expect("a route");
            client.send(&message).expect("sent");
            let mut answer = [0; 64];
            let len = client.recv(&mut answer).expect("from the address that was asked");
            assert_eq!(&answer[..len], message);
        }
    }
}

/// RFC 8305 §5.
#[test]
fn dead_addresses_of_a_name_cost_a_quarter_of_a_second_each() {
    let [(first, _kept), (second, _also)] = [silent(), silent()];
    let listener = TouListener::bind("127.0.0.1:0").expect("a port");
    let live = listener.local_addr().expect("bound");
    let began = Instant::now();
    let client = TouStream::connect(&[first, second, live][..]).expect("the third answers");
    assert_eq!(client.peer_addr().expect("open"), live);
    let waited = began.elapsed();
    assert!(waited >= Duration::from_millis(500), "{waited:?}");
    assert!(waited < Duration::from_secs(10), "no timeout of an attempt: {waited:?}");
    // The losers are cancelled: nothing else comes.
    let (_server, peer) = listener.accept().expect("comes");
    assert_eq!(peer, client.local_addr().expect("open"));
}

#[test]
fn the_error_of_a_name_names_every_address() {
    let [(first, _kept), (second, _also)] = [silent(), silent()];
    let timeout = Some(Duration::from_millis(600));
    let error = TouStream::connect_any(&[first, second], timeout, &Options::default());
    let error = error.expect_err("none answers");
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    assert_eq!(error.to_string(), format!("{first}: timed out; {second}: timed out"));
}

#[cfg(feature = "tokio")]
#[tokio::test]
async fn a_task_reaches_the_address_that_answers() {
    let (dead, _kept) = silent();
    let listener = windlass_tou::tokio::AsyncTouListener::bind("0.0.0.0:0").await.expect("a port");
    let port = listener.local_addr().expect("bound").port();
    let live = SocketAddr::new(ip("127.0.0.2"), port);
    let both = [dead, live];
    let connects = windlass_tou::tokio::AsyncTouStream::connect(&both[..]);
    let client = tokio::time::timeout(WAIT, connects).await.expect("in time").expect("answers");
    let (server, _) = listener.accept().await.expect("comes");
    assert_eq!(client.peer_addr().expect("open"), live);
    assert_eq!(server.local_addr().expect("open"), live);
}

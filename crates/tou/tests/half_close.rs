//! Closing connections over real sockets. The endpoint's unit tests cover every combination.

use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::thread;
use windlass_tou::{Options, TouListener, TouStream};

/// Far more than the buffers of both ends.
const LARGE: usize = 1_000_000;

fn pair() -> (TouStream, TouStream) {
    let small = Options { send_buffer: 32 << 10, receive_buffer: 32 << 10, ..Options::default() };
    let listener = TouListener::bind_with("127.0.0.1:0", &small).expect("a port");
    let address = listener.local_addr().expect("bound");
    let client = TouStream::connect_with(address, &small).expect("connects");
    (client, listener.accept().expect("comes").0)
}

fn pattern(len: usize) -> Vec<u8> {
    (0..len as u64).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33) as u8).collect()
}

fn send_all(mut stream: &TouStream, bytes: &[u8]) {
    stream.write_all(bytes).expect("open");
    stream.shutdown(Shutdown::Write).expect("open");
}

fn read_all(mut stream: &TouStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).expect("an end in order");
    bytes
}

/// Writes until the peer's window is closed and the send buffer is full.
fn fill(mut stream: &TouStream, bytes: &[u8]) -> usize {
    stream.set_nonblocking(true).expect("open");
    let (mut written, mut refusals) = (0, 0);
    while refusals < 50 {
        match stream.write(&bytes[written..]) {
            Ok(taken) => (written, refusals) = (written + taken, 0),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock);
                refusals += 1;
                thread::sleep(std::time::Duration::from_millis(10));
            }
        }
    }
    stream.set_nonblocking(false).expect("open");
    written
}

#[test]
fn ends_that_close_at_the_same_time_receive_everything() {
    let (client, server) = pair();
    let data = pattern(LARGE);
    thread::scope(|scope| {
        scope.spawn(|| send_all(&client, &data));
        scope.spawn(|| send_all(&server, &data));
        scope.spawn(|| assert!(read_all(&client) == data));
        scope.spawn(|| assert!(read_all(&server) == data));
    });
    assert!(client.take_error().expect("there").is_none());
}

#[test]
fn data_held_back_by_a_closed_window_at_the_end_arrive() {
    for client_ends in [true, false] {
        let (client, server) = pair();
        let (ends, other) = if client_ends { (client, server) } else { (server, client) };
        let data = pattern(LARGE);
        let written = fill(&ends, &data);
        assert!(written < LARGE, "the peer does not read");
        ends.shutdown(Shutdown::Write).expect("open");
        assert!(read_all(&other) == data[..written]);
        thread::scope(|scope| {
            scope.spawn(|| send_all(&other, &data));
            assert!(read_all(&ends) == data, "the other direction is open");
        });
    }
}

#[test]
fn a_reset_of_a_half_closed_connection_is_not_an_orderly_end() {
    let (client, mut server) = pair();
    send_all(&server, b"all there is");
    assert_eq!(read_all(&client), b"all there is");
    (&client).write_all(b"some of it").expect("open");
    client.abort();
    let mut bytes = Vec::new();
    let error = server.read_to_end(&mut bytes).expect_err("not the end");
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    assert!(b"some of it".starts_with(&bytes[..]));
}

//! Delivery before a process ends. The only test of its process, since it affects all connections.

use std::io::{Read, Write};
use std::thread;
use std::time::Duration;
use windlass_tou::{TouListener, TouStream, drain};

#[test]
fn data_of_a_dropped_stream_arrive_before_the_end() {
    let listener = TouListener::bind("127.0.0.1:0").expect("a port");
    let mut client = TouStream::connect(listener.local_addr().expect("bound")).expect("connects");
    let (mut server, _) = listener.accept().expect("comes");
    // More than the peer's buffer holds.
    let data = vec![7; 8_000_000];
    let reader = thread::spawn({
        let expected = data.len();
        move || {
            let mut arrived = Vec::new();
            server.read_to_end(&mut arrived).expect("orderly");
            assert_eq!(arrived.len(), expected);
            server
        }
    });
    client.write_all(&data).expect("open");
    drop(client);
    assert!(drain(Duration::from_secs(60)), "all has arrived");
    drop(reader.join().expect("no panic"));

    // A peer that does not read prevents delivery, and drain reports that.
    let mut client = TouStream::connect(listener.local_addr().expect("bound")).expect("connects");
    let (server, _) = listener.accept().expect("comes");
    client.set_nonblocking(true).expect("set");
    while client.write(&data).is_ok() {}
    drop(client);
    assert!(!drain(Duration::from_millis(20)), "the peer's buffer is full");
    drop(server);
}

//! Windows that fit into the UDP socket's receive buffer.

use super::network::{Network, config};
use crate::endpoint::ConnectionId;
use windlass_base::Span;

const SERVER: u8 = 5;
/// Size of the buffer in bytes. It must hold the data of 2 ms; a round trip takes 20 ms.
const ROOM: u64 = 40_000;
const ROOM_OF_PATH: u64 = 10 * ROOM;

/// The bytes that a client may have in flight.
fn window(network: &mut Network, host: u8, id: ConnectionId) -> u64 {
    let connection = network.host(host).stream(id).expect("there").connection();
    connection.peer_window_edge() - connection.bytes_acked()
}

/// The clients send for 1.5 s, and the server reads.
fn send(network: &mut Network, clients: &[(u8, ConnectionId)], servers: &[ConnectionId]) {
    for _ in 0..300 {
        for (host, id) in clients {
            let stream = network.host(*host).stream_mut(*id).expect("there");
            stream.write(&[7; 100_000]).expect("open");
        }
        network.run(Span::from_millis(5));
        for id in servers {
            network.read(SERVER, *id).expect("open");
        }
    }
}

#[test]
fn connections_share_what_the_socket_holds() {
    let mut network = Network::new(SERVER);
    network.host(SERVER).set_receive_buffer(ROOM);
    network.host(SERVER).listen(config(), 16).expect("free");
    let clients: Vec<_> = (1..SERVER).map(|host| (host, network.connect(host, SERVER))).collect();
    network.run(Span::from_millis(100));
    let accepted = std::iter::from_fn(|| network.host(SERVER).accept());
    let servers: Vec<_> = accepted.collect();
    assert_eq!(servers.len(), clients.len());
    // Idle connections have a window of 20 segments, independent of the connection's buffer.
    for (host, id) in &clients {
        assert_eq!(window(&mut network, *host, *id), 20 * 1456);
    }
    send(&mut network, &clients, &servers);
    let windows: Vec<_> =
        clients.iter().map(|(host, id)| window(&mut network, *host, *id)).collect();
    let all: u64 = windows.iter().sum();
    assert!(all <= ROOM_OF_PATH, "{windows:?}");
    assert!(all > ROOM_OF_PATH * 9 / 10, "{windows:?}");
    // A single client gets the whole buffer.
    send(&mut network, &clients[..1], &servers);
    let (host, id) = clients[0];
    let alone = window(&mut network, host, id);
    assert!((ROOM_OF_PATH * 9 / 10..=ROOM_OF_PATH).contains(&alone), "{alone}");
}

#[test]
fn a_window_has_16_segments_even_if_the_socket_holds_fewer() {
    let mut network = Network::new(SERVER);
    network.host(SERVER).set_receive_buffer(1000);
    network.host(SERVER).listen(config(), 16).expect("free");
    let client = network.connect(1, SERVER);
    network.run(Span::from_millis(100));
    assert_eq!(window(&mut network, 1, client), 16 * 1456);
}

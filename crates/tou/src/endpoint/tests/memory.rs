//! The limit of memory for all connections of a port.

use super::network::{Network, address, config, pattern};
use crate::endpoint::{ConnectError, Limits};
use windlass_base::Span;
use windlass_tcp::State;

const MEMORY: u64 = 512 << 10;
const BUFFER: u64 = 128 << 10;
const CLIENTS: u8 = 10;
const SERVER: u8 = 12;

fn network() -> Network {
    Network::with_limits(SERVER, Limits { memory: MEMORY, ..Limits::default() })
}

#[test]
fn a_port_advertises_no_more_than_its_memory_and_loses_nothing() {
    let mut network = network();
    let server = config().with(|c| c.buffers.receive = BUFFER);
    network.host(SERVER).listen(server, 16).expect("free");
    let clients = (1..=CLIENTS).map(|host| (host, network.connect(host, SERVER)));
    let clients: Vec<_> = clients.collect();
    network.run(Span::from_millis(100));
    let accepted = std::iter::from_fn(|| network.host(SERVER).accept());
    let servers: Vec<_> = accepted.collect();
    assert_eq!(servers.len(), clients.len());
    let data = pattern(300_000);
    for (host, id) in &clients {
        let stream = network.host(*host).stream_mut(*id).expect("there");
        assert_eq!(stream.write(&data), Ok(data.len()));
    }
    // The server does not read.
    network.run(Span::from_secs(2));
    let memory = network.host(SERVER).memory();
    assert!((MEMORY..=MEMORY + BUFFER).contains(&memory), "{memory}");
    // The server accepts no other connection meanwhile.
    let late = network.connect(SERVER - 1, SERVER);
    network.run(Span::from_millis(500));
    assert_eq!(network.state(SERVER - 1, late), State::SynSent);
    assert!(network.host(SERVER).counters().overflowed > 0);
    // All that was written arrives.
    let mut arrived = vec![Vec::new(); servers.len()];
    for _ in 0..400 {
        network.run(Span::from_millis(50));
        for (arrived, id) in arrived.iter_mut().zip(&servers) {
            arrived.extend(network.read(SERVER, *id).expect("open"));
        }
        let memory = network.host(SERVER).memory();
        assert!(memory <= MEMORY + BUFFER, "{memory}");
    }
    assert!(arrived.iter().all(|arrived| *arrived == data));
    // Connections that end free memory.
    for ((host, client), server) in clients.into_iter().zip(servers).skip(1) {
        network.release(host, client);
        network.release(SERVER, server);
    }
    network.run(Span::from_secs(20));
    assert_eq!(network.state(SERVER - 1, late), State::Established);
}

#[test]
fn a_writer_waits_while_other_connections_use_the_memory() {
    let mut network = network();
    for host in [1, 2] {
        network.host(host).listen(config(), 16).expect("free");
    }
    let (first, second) = (network.connect(3, 1), network.connect(3, 2));
    network.run(Span::from_millis(100));
    let (a, b) = (network.host(1).accept(), network.host(2).accept());
    let data = pattern(1_000_000);
    let write = |network: &mut Network, id, from: usize| {
        network.host(3).stream_mut(id).expect("there").write(&data[from..]).expect("open")
    };
    assert_eq!(write(&mut network, first, 0), data.len(), "the first gets all memory");
    network.run(Span::from_millis(1));
    assert!(write(&mut network, second, 0) <= 4096);
    let now = network.now;
    let refused = network.host(3).connect(now, address(4), config());
    assert_eq!(refused, Err(ConnectError::TooMany));
    // The second still makes progress, and runs at full speed when memory is free.
    let mut written = 4096;
    let mut arrived = [Vec::new(), Vec::new()];
    for _ in 0..400 {
        written += write(&mut network, second, written);
        network.run(Span::from_millis(10));
        for (arrived, (host, id)) in arrived.iter_mut().zip([(1, a), (2, b)]) {
            arrived.extend(network.read(host, id.expect("complete")).expect("open"));
        }
    }
    assert!(arrived[0] == data && arrived[1] == data, "{written} bytes");
}

#[test]
fn a_connection_that_is_removed_with_data_gives_its_memory_back() {
    let mut network = network();
    network.host(1).listen(config(), 1).expect("free");
    let client = network.connect(2, 1);
    network.run(Span::from_millis(100));
    network.passes = Box::new(|_| false);
    let stream = network.host(2).stream_mut(client).expect("there");
    stream.write(&pattern(100_000)).expect("open");
    network.run(Span::from_millis(1));
    assert!(network.host(2).memory() > 100_000);
    network.release(2, client);
    network.host(2).forget_released();
    assert_eq!(network.host(2).memory(), 0);
}

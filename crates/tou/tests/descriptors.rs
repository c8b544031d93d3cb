//! Descriptors of connections that have ended. The only test of its process, since it lowers the
//! limit of descriptors.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io::Read;
use std::net::Shutdown;
use std::thread;
use std::time::Duration;
use windlass_tou::{TouListener, TouStream};

const DESCRIPTORS: u64 = 40;
const CONNECTIONS: usize = 100;

/// Each client closes first, and stays in TIME-WAIT for a minute.
#[test]
fn connections_in_time_wait_use_up_no_descriptors() {
    let listener = TouListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("bound");
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(DESCRIPTORS), ..limit }).expect("lower");
    for number in 0..CONNECTIONS {
        let mut client = TouStream::connect(address)
            .unwrap_or_else(|error| panic!("connection {number}: {error}"));
        let (mut server, _) = listener.accept().expect("comes");
        client.shutdown(Shutdown::Write).expect("open");
        assert_eq!(server.read(&mut [0]).expect("the end"), 0);
        drop(server);
        assert_eq!(client.read(&mut [0]).expect("the end"), 0);
        drop(client);
        // Without a free descriptor, a port can be reused after two of these delays.
        thread::sleep(Duration::from_millis(1));
    }
}

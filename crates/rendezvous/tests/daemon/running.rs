//! A daemon in a thread of its own.

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use windlass_base::special::Prefix;
use windlass_identity::{PublicKey, SecretKey};
use windlass_rendezvous::daemon::{Addresses, Certificate, Daemon, Handle, Options, RelayOptions};
use windlass_rendezvous::server::PeerPolicy;
use windlass_testbed::eventually;

pub(crate) fn address(text: &str) -> SocketAddr {
    text.parse().expect("an address")
}

/// The server's key.
pub(crate) fn key() -> SecretKey {
    SecretKey::from_seed([77; 32])
}

pub(crate) struct Running {
    pub(crate) addresses: Addresses,
    pub(crate) key: PublicKey,
    pub(crate) handle: Handle,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    /// A daemon at free ports of the loopback address, with changed options.
    pub(crate) fn start(change: impl Fn(&mut Options)) -> Running {
        let bind = || {
            let mut options = Options::new(key(), vec![address("127.0.0.1:0")]);
            options.tls = vec![address("127.0.0.1:0")];
            relaying(&mut options, [127, 0, 0, 1].into());
            change(&mut options);
            Daemon::bind(options)
        };
        // A port that is free for UDP may be taken for TCP, by another test or for a moment by a
        // connection that has ended.
        let mut bound = bind();
        eventually(|| {
            if bound.is_err() {
                bound = bind();
            }
            bound.is_ok()
        });
        let mut daemon = bound.expect("free ports");
        let (addresses, key, handle) = (daemon.addresses(), daemon.public_key(), daemon.handle());
        let serve = move || daemon.run(|| ()).expect("events");
        Running { addresses, key, handle, thread: Some(thread::spawn(serve)) }
    }

    pub(crate) fn connect(&self, to: SocketAddr) -> TcpStream {
        let stream = TcpStream::connect(to).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a time");
        stream
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.handle.stop();
        if let Some(thread) = self.thread.take()
            && let Err(panic) = thread.join()
            && !thread::panicking()
        {
            std::panic::resume_unwind(panic);
        }
    }
}

/// Relays between addresses of this host, which a relay does only if they are named.
pub(crate) fn relaying(options: &mut Options, address: IpAddr) {
    options.relay_peers = vec![Prefix::host(address)];
    let relay = RelayOptions { addresses: vec![address], ..RelayOptions::default() };
    options.relay = Some((relay, PeerPolicy::PublicAndPrivate));
}

/// A certificate for 127.0.0.1, signed by itself.
pub(crate) fn certificate() -> Certificate {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).expect("a certificate");
    let (chain, key) = (made.cert.pem(), made.signing_key.serialize_pem());
    Certificate::from_pem(chain.as_bytes(), key.as_bytes()).expect("PEM")
}

/// Waits for the daemon, which was asked to end.
pub(crate) fn expect_end_within(mut running: Running, patience: Duration) {
    let thread = running.thread.take().expect("it runs");
    let start = std::time::Instant::now();
    await_that("the daemon ends", || thread.is_finished());
    assert!(start.elapsed() < patience);
    assert!(running.handle.figures().is_none(), "no daemon answers any more");
}

/// Sends what no client sends, and waits for the end of the stream.
pub(crate) fn expect_end(at: SocketAddr, junk: &[u8]) {
    let mut stream = TcpStream::connect(at).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a time");
    // The server may have ended the stream already.
    let _ = stream.write_all(junk);
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer) {
        // At most an alert of TLS.
        Ok(_) => assert!(answer.len() < 16, "{answer:?}"),
        Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{error}"),
    }
}

/// A port that is free together with the next one, at both addresses of the discovery.
pub(crate) fn free_pair_of_ports() -> u16 {
    let is_free = |port: u16| {
        let mut places = [1, 2].into_iter().flat_map(|last| [(last, port), (last, port + 1)]);
        places.all(|(last, port)| UdpSocket::bind((IpAddr::from([127, 0, 0, last]), port)).is_ok())
    };
    // Below the ports that the system gives out.
    (20_000..30_000).step_by(2).find(|port| is_free(*port)).expect("free ports")
}

/// Waits for a condition.
pub(crate) fn await_that(what: &str, condition: impl FnMut() -> bool) {
    assert!(eventually(condition), "it did not happen: {what}");
}

/// The answer to a request of HTTP.
pub(crate) fn get(at: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(at).expect("it listens");
    // A refusal may come before the end of the request.
    let _ = stream.write_all(request.as_bytes());
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8(answer).expect("UTF-8")
}

//! ECN on the wire: codepoints are sent in the IP header, and CE marks are read from the socket.

use nix::sys::socket::{setsockopt, sockopt};
use quinn_udp::{EcnCodepoint, RecvMeta, Transmit, UdpSocketState};
use std::io::{ErrorKind, IoSliceMut, Read, Write};
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use windlass_tou::{Options, TouListener, TouStream, congestion, wire};

/// The router marks every datagram with this number, counting those with data.
const MARK_EACH: u64 = 50;

/// A router between two ports, which checks codepoints and marks datagrams.
struct Router {
    socket: UdpSocket,
    udp: UdpSocketState,
    server: SocketAddr,
    /// Datagrams with payload, and of those the ones that are not ECT(0).
    data: AtomicU64,
    not_ect: AtomicU64,
    marks: AtomicU64,
    over: AtomicBool,
}

impl Router {
    fn new(server: SocketAddr) -> Router {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
        let udp = UdpSocketState::new((&socket).into()).expect("a socket");
        // As in driver/options.rs: otherwise coalesced datagrams have no codepoints.
        setsockopt(&socket, sockopt::ReceiveTimestampns, &false).expect("a socket");
        Router {
            socket,
            udp,
            server,
            data: AtomicU64::new(0),
            not_ect: AtomicU64::new(0),
            marks: AtomicU64::new(0),
            over: AtomicBool::new(false),
        }
    }

    fn run(&self) {
        let mut client = None;
        let mut buffer = vec![0; 1 << 16];
        while !self.over.load(Ordering::Relaxed) {
            let mut metas = [RecvMeta::default()];
            let mut slices = [IoSliceMut::new(&mut buffer)];
            match self.udp.recv((&self.socket).into(), &mut slices, &mut metas) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    thread::yield_now();
                    continue;
                }
                Err(error) => panic!("{error}"),
            }
            let [meta] = metas;
            if meta.addr != self.server {
                client = Some(meta.addr);
            }
            let upward = meta.addr != self.server;
            let Some(destination) = (if upward { Some(self.server) } else { client }) else {
                continue;
            };
            for datagram in buffer[..meta.len].chunks(meta.stride) {
                let ecn = if upward { self.look(datagram, meta.ecn) } else { meta.ecn };
                let transmit = Transmit {
                    destination,
                    ecn,
                    contents: datagram,
                    segment_size: None,
                    src_ip: None,
                };
                // A full socket buffer drops the datagram, like a full queue.
                let _ = self.udp.try_send((&self.socket).into(), &transmit);
            }
        }
    }

    fn look(&self, datagram: &[u8], ecn: Option<EcnCodepoint>) -> Option<EcnCodepoint> {
        let Ok((segment, _)) = wire::parse(datagram) else { return ecn };
        if segment.payload_len == 0 {
            return ecn;
        }
        let count = self.data.fetch_add(1, Ordering::Relaxed);
        if ecn != Some(EcnCodepoint::Ect0) {
            self.not_ect.fetch_add(1, Ordering::Relaxed);
            return ecn;
        }
        if count % MARK_EACH != MARK_EACH - 1 {
            return ecn;
        }
        self.marks.fetch_add(1, Ordering::Relaxed);
        Some(EcnCodepoint::Ce)
    }
}

#[test]
fn data_is_ect_and_marks_reduce_the_window() {
    for controller in ["cubic", "new-ecn"] {
        let options = Options {
            congestion: congestion(controller).expect("a name"),
            ecn: true,
            ..Options::default()
        };
        let listener = TouListener::bind_with("127.0.0.1:0", &options).expect("a port");
        let router = Router::new(listener.local_addr().expect("bound"));
        let address = router.socket.local_addr().expect("bound");
        thread::scope(|scope| {
            scope.spawn(|| router.run());
            let receiver = scope.spawn(|| {
                let (mut server, _) = listener.accept().expect("comes");
                let arrived = std::io::copy(&mut server, &mut std::io::sink()).expect("orderly");
                (arrived, server.info().expect("there"))
            });
            let mut client = TouStream::connect_with(address, &options).expect("connects");
            client.write_all(&vec![7; 2_000_000]).expect("open");
            client.finish(None).expect("acknowledged");
            let sent = client.info().expect("there");
            let (arrived, received) = receiver.join().expect("no panic");
            router.over.store(true, Ordering::Relaxed);
            assert_eq!(arrived, 2_000_000);
            assert!(sent.ecn && received.ecn, "{controller}: not agreed on");
            assert!(received.stats.ce_received > 0, "{controller}: {:?}", received.stats);
            assert!(sent.stats.ece_received > 0, "{controller}: {:?}", sent.stats);
            assert!(sent.stats.ecn_cuts > 0, "{controller}: {:?}", sent.stats);
            // Neither retransmissions (RFC 3168 §6.1.5) nor path MTU probes are ECT.
            let again = sent.stats.retransmitted_segments + 3;
            assert!(router.not_ect.load(Ordering::Relaxed) <= again, "{:?}", sent.stats);
            assert!(router.marks.load(Ordering::Relaxed) >= received.stats.ce_received);
        });
    }
}

#[test]
fn without_an_offer_nothing_is_ect() {
    let listener = TouListener::bind("127.0.0.1:0").expect("a port");
    let router = Router::new(listener.local_addr().expect("bound"));
    let address = router.socket.local_addr().expect("bound");
    thread::scope(|scope| {
        scope.spawn(|| router.run());
        let receiver = scope.spawn(|| {
            let (mut server, _) = listener.accept().expect("comes");
            server.read_to_end(&mut Vec::new()).expect("orderly")
        });
        let mut client = TouStream::connect(address).expect("connects");
        client.write_all(&[7; 100_000]).expect("open");
        client.finish(None).expect("acknowledged");
        assert_eq!(receiver.join().expect("no panic"), 100_000);
        router.over.store(true, Ordering::Relaxed);
        let [data, not_ect] =
            [&router.data, &router.not_ect].map(|count| count.load(Ordering::Relaxed));
        assert_eq!(data, not_ect);
    });
}

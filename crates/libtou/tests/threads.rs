//! Sockets that many threads use and close concurrently.

#[expect(dead_code, reason = "each test uses a part")]
mod common;

use common::{Api, Outcome, poll};
use libc::c_int;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use windlass_testbed::wait_until;

const TOU: Api = Api::Tou;
const EBADF: Outcome = -(libc::EBADF as Outcome);

/// Runs a call that waits, closes its descriptor meanwhile, and returns the call's result.
fn closed_under(fd: c_int, call: impl FnOnce() -> Outcome + Send) -> Outcome {
    thread::scope(|scope| {
        let (says, heard) = mpsc::channel();
        let waiting = scope.spawn(move || {
            let own = std::fs::read_link("/proc/thread-self").expect("Linux");
            says.send(own).expect("the closing thread listens");
            call()
        });
        // Once the descriptor is closed, another test may get its number: the call has to wait by then.
        let thread = heard.recv().expect("the thread's folder");
        wait_until("the call to wait", || sleeps(&thread));
        assert_eq!(TOU.close(fd), 0);
        waiting.join().expect("no panic")
    })
}

/// Whether a thread of this process sleeps (proc_pid_stat(5): the state follows the name in parentheses).
fn sleeps(thread: &Path) -> bool {
    let file = Path::new("/proc").join(thread).join("stat");
    let stat = std::fs::read_to_string(file).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('S'))
}

#[test]
fn calls_that_wait_return_ebadf_when_the_socket_is_closed() {
    let (client, server) = TOU.pair();
    assert_eq!(closed_under(client, || TOU.recv(client, &mut [0])), EBADF);
    let listener = TOU.listener();
    assert_eq!(closed_under(listener, || TOU.accept(listener)), EBADF);
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
    let port = silent.local_addr().expect("bound").port();
    let connecting = TOU.fresh();
    assert_eq!(closed_under(connecting, || TOU.connect(connecting, port)), EBADF);
    assert_eq!(TOU.close(server), 0);

    let (client, server) = TOU.pair();
    let data = vec![0; 64 << 20];
    // Returns the number of bytes accepted before the close.
    let sent = closed_under(client, || TOU.send(client, &data));
    assert!(sent > 0 && sent < data.len() as Outcome, "{sent}");
    assert_eq!(TOU.close(server), 0);
}

/// Without an answer from the peer, calls return what TCP sockets return.
#[test]
fn calls_on_a_connecting_socket_give_the_errors_of_tcp() {
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
    let port = silent.local_addr().expect("bound").port();
    let fd = TOU.fresh();
    common::set_nonblocking(fd);
    let outcomes = [
        TOU.connect(fd, port),
        TOU.connect(fd, port),
        TOU.send(fd, b"x"),
        TOU.recv(fd, &mut [0]),
        TOU.getpeername(fd),
        TOU.get(fd, (libc::SOL_SOCKET, libc::SO_ERROR)),
    ];
    let [begun, again, would_block, not_connected] =
        [libc::EINPROGRESS, libc::EALREADY, libc::EAGAIN, libc::ENOTCONN].map(|e| -i64::from(e));
    assert_eq!(outcomes, [begun, again, would_block, would_block, not_connected, 0]);
    assert_eq!(poll(fd, libc::POLLIN | libc::POLLOUT, 0), 0);
    assert_eq!(TOU.close(fd), 0);

    let fd = TOU.fresh();
    let time = libc::timeval { tv_sec: 0, tv_usec: 20_000 };
    assert_eq!(TOU.set(fd, (libc::SOL_SOCKET, libc::SO_SNDTIMEO), time), 0);
    assert_eq!(TOU.connect(fd, port), begun);
    assert_eq!(TOU.close(fd), 0);
}

/// The peer stops answering after the handshake.
#[test]
fn keep_alive_finds_a_dead_peer() {
    let listener = TOU.listener();
    let address = format!("127.0.0.1:{}", TOU.port(listener));
    let relay = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
    let back = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
    let (fd, port) = (TOU.fresh(), relay.local_addr().expect("bound").port());
    for option in [libc::TCP_KEEPIDLE, libc::TCP_KEEPINTVL, libc::TCP_KEEPCNT] {
        assert_eq!(TOU.set(fd, (libc::IPPROTO_TCP, option), 1), 0);
    }
    assert_eq!(TOU.set(fd, (libc::SOL_SOCKET, libc::SO_KEEPALIVE), 1), 0);
    // The relay forwards the handshake and nothing more.
    let relaying = thread::spawn(move || {
        let mut buffer = [0; 2048];
        let (len, client) = relay.recv_from(&mut buffer).expect("SYN");
        back.send_to(&buffer[..len], &address).expect("sent");
        let len = back.recv(&mut buffer).expect("SYN-ACK");
        relay.send_to(&buffer[..len], client).expect("sent");
        (relay, back)
    });
    assert_eq!(TOU.connect(fd, port), 0);
    let sockets = relaying.join().expect("no panic");
    assert_eq!(TOU.recv(fd, &mut [0]), -i64::from(libc::ETIMEDOUT));
    assert_eq!(TOU.recv(fd, &mut [0]), 0);
    drop(sockets);
    assert_eq!(TOU.close(fd), 0);
    assert_eq!(TOU.close(listener), 0);
}

#[test]
fn many_threads_share_one_connection() {
    const THREADS: usize = 4;
    const EACH: usize = 400_000;
    let (client, server) = TOU.pair();
    let received = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let chunk = vec![1; 10_000];
                for _ in 0..EACH / chunk.len() {
                    assert_eq!(TOU.send(client, &chunk), chunk.len() as Outcome);
                }
            });
            scope.spawn(|| {
                let mut buffer = vec![0; 7_000];
                while let count @ 1.. = TOU.recv(server, &mut buffer) {
                    assert!(buffer[..count as usize].iter().all(|byte| *byte == 1));
                    let count =
                        received.fetch_add(count as usize, Ordering::Relaxed) + count as usize;
                    if count == THREADS * EACH {
                        assert_eq!(TOU.shutdown(client, libc::SHUT_WR), 0);
                    }
                }
            });
        }
    });
    assert_eq!(received.into_inner(), THREADS * EACH);
    assert_eq!(TOU.close(client), 0);
    assert_eq!(TOU.close(server), 0);
}

/// No call crashes, and each returns.
#[test]
fn sockets_are_closed_under_their_users() {
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..30 {
                    let (client, server) = TOU.pair();
                    thread::scope(|scope| {
                        scope.spawn(|| TOU.recv(client, &mut [0; 100]));
                        scope.spawn(|| TOU.send(client, &[0; 100_000]));
                        scope.spawn(|| TOU.send(server, &[0; 100_000]));
                        scope.spawn(|| TOU.shutdown(server, libc::SHUT_WR));
                        scope.spawn(|| tou::abi::tou_run());
                    });
                    TOU.close(client);
                    TOU.close(server);
                }
            });
        }
    });
}

//! The descriptor of a socket in select, poll and epoll.
#![expect(unsafe_code, reason = "the calls under test are C's")]

#[expect(dead_code, reason = "each test uses a part")]
mod common;

use common::{Api, PATIENCE_MS, poll, set_nonblocking, wait_for};
use libc::{POLLERR, POLLHUP, POLLIN, POLLOUT, POLLRDHUP, c_int, c_short};
use std::mem::zeroed;
use std::ptr::null_mut;

const TOU: Api = Api::Tou;
const ALL: c_short = POLLIN | POLLOUT | POLLRDHUP;

/// Waits until poll reports exactly these events. Changes by the I/O thread may take a moment.
fn settles_at(fd: c_int, events: c_short) {
    wait_for(fd, events);
    let start = std::time::Instant::now();
    while poll(fd, ALL, 0) != events {
        assert!(start.elapsed().as_millis() < PATIENCE_MS as u128, "{:#x}", poll(fd, ALL, 0));
        std::thread::yield_now();
    }
}

#[test]
fn a_listener_is_readable_while_connections_wait() {
    let listener = TOU.listener();
    assert_eq!(poll(listener, ALL, 0), 0);
    let clients = [TOU.fresh(), TOU.fresh()];
    for client in clients {
        assert_eq!(TOU.connect(client, TOU.port(listener)), 0);
    }
    for _ in clients {
        wait_for(listener, POLLIN);
        let server = TOU.accept(listener) as c_int;
        assert_eq!(poll(server, ALL, 0), POLLOUT);
        assert_eq!(TOU.close(server), 0);
    }
    settles_at(listener, 0);
    for fd in clients.into_iter().chain([listener]) {
        assert_eq!(TOU.close(fd), 0);
    }
}

#[test]
fn a_connection_is_readable_while_bytes_wait() {
    let (client, server) = TOU.pair();
    assert_eq!(poll(client, ALL, 0), POLLOUT);
    for _ in 0..100 {
        assert_eq!(TOU.send(server, b"abc"), 3);
        wait_for(client, POLLIN);
        assert_eq!(TOU.recv(client, &mut [0; 2]), 2);
        assert_eq!(poll(client, ALL, 0), POLLIN | POLLOUT, "one byte is left");
        assert_eq!(TOU.recv(client, &mut [0; 2]), 1);
        settles_at(client, POLLOUT);
    }
    assert_eq!(TOU.close(client), 0);
    assert_eq!(TOU.close(server), 0);
}

#[test]
fn a_connection_is_writable_while_there_is_room() {
    let (client, server) = TOU.pair();
    set_nonblocking(client);
    let chunk = vec![7; 1 << 20];
    let (mut sent, mut received) = (0, 0);
    let mut buffer = vec![0; 1 << 20];
    for _ in 0..3 {
        // Until the buffer stays full, although the peer may still receive some data.
        while poll(client, POLLOUT, 200) != 0 {
            let count = TOU.send(client, &chunk);
            assert!(count > 0, "poll has reported room: {count}");
            sent += count;
        }
        while received < sent {
            received += TOU.recv(server, &mut buffer);
        }
        settles_at(client, POLLOUT);
    }
    assert_eq!(TOU.close(client), 0);
    assert_eq!(TOU.close(server), 0);
}

#[test]
fn poll_reports_the_end_of_each_direction() {
    let (client, server) = TOU.pair();
    assert_eq!(TOU.shutdown(server, libc::SHUT_WR), 0);
    settles_at(client, POLLIN | POLLOUT | POLLRDHUP);
    assert_eq!(TOU.send(client, b"still open"), 10);
    assert_eq!(TOU.shutdown(client, libc::SHUT_WR), 0);
    settles_at(client, POLLIN | POLLOUT | POLLRDHUP | POLLHUP);
    assert_eq!(TOU.recv(server, &mut [0; 16]), 10);
    assert_eq!(TOU.close(client), 0);
    assert_eq!(TOU.close(server), 0);
}

#[test]
fn a_reset_is_pollerr_until_so_error_is_read() {
    let (client, server) = TOU.pair();
    assert_eq!(TOU.send(client, b"never read"), 10);
    wait_for(server, POLLIN);
    assert_eq!(TOU.close(server), 0);
    let over = POLLIN | POLLOUT | POLLRDHUP | POLLHUP;
    settles_at(client, over | POLLERR);
    let error = TOU.get(client, (libc::SOL_SOCKET, libc::SO_ERROR));
    assert_eq!(error, i64::from(libc::ECONNRESET));
    assert_eq!(poll(client, ALL, 0), over);
    assert_eq!(TOU.close(client), 0);
}

#[test]
fn a_linger_of_zero_resets() {
    let (client, server) = TOU.pair();
    let linger = libc::linger { l_onoff: 1, l_linger: 0 };
    assert_eq!(TOU.set(client, (libc::SOL_SOCKET, libc::SO_LINGER), linger), 0);
    assert_eq!(TOU.close(client), 0);
    wait_for(server, POLLERR);
    assert_eq!(TOU.recv(server, &mut [0]), -i64::from(libc::ECONNRESET));
    assert_eq!(TOU.close(server), 0);
}

/// The program polls only for the end.
#[test]
fn poll_reports_the_end_while_data_is_unread() {
    let (client, server) = TOU.pair();
    assert_eq!(TOU.send(server, b"unread"), 6);
    wait_for(client, POLLIN);
    assert_eq!(TOU.shutdown(server, libc::SHUT_WR), 0);
    assert_eq!(poll(client, POLLRDHUP, PATIENCE_MS), POLLRDHUP);
    let linger = libc::linger { l_onoff: 1, l_linger: 0 };
    assert_eq!(TOU.set(server, (libc::SOL_SOCKET, libc::SO_LINGER), linger), 0);
    assert_eq!(TOU.close(server), 0);
    assert_eq!(poll(client, 0, PATIENCE_MS), POLLERR | POLLHUP);
    assert_eq!(TOU.close(client), 0);
}

/// Each arrival after EAGAIN causes one edge.
#[test]
fn epoll_takes_it_edge_triggered() {
    let (client, server) = TOU.pair();
    set_nonblocking(client);
    // SAFETY: it makes a descriptor; the event is plain data.
    let (epoll, mut event) = unsafe { (libc::epoll_create1(0), zeroed::<libc::epoll_event>()) };
    event.events = (libc::EPOLLIN | libc::EPOLLET) as u32;
    event.u64 = 5;
    // SAFETY: the event outlives the call.
    let added = unsafe { libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, client, &raw mut event) };
    assert_eq!(added, 0);
    for round in 0..50 {
        assert_eq!(TOU.send(server, b"abc"), 3);
        // SAFETY: one event, which outlives the call.
        let count = unsafe { libc::epoll_wait(epoll, &raw mut event, 1, PATIENCE_MS) };
        assert_eq!((count, event.u64), (1, 5), "round {round}");
        let mut taken = 0;
        while taken < 3 {
            // An edge may occur before the data can be read.
            taken += TOU.recv(client, &mut [0; 8]).max(0);
        }
        assert_eq!(TOU.recv(client, &mut [0; 8]), -i64::from(libc::EAGAIN));
    }
    // SAFETY: this test owns the descriptor.
    unsafe { libc::close(epoll) };
    assert_eq!(TOU.close(client), 0);
    assert_eq!(TOU.close(server), 0);
}

/// As in Lee 2009: select, then tou_run.
#[test]
fn select_takes_it() {
    let (client, server) = TOU.pair();
    assert_eq!(TOU.send(server, b"abc"), 3);
    // SAFETY: plain data, and sets that outlive the call.
    let count = unsafe {
        let mut readable: libc::fd_set = zeroed();
        libc::FD_SET(client, &raw mut readable);
        let mut patience = libc::timeval { tv_sec: (PATIENCE_MS / 1000).into(), tv_usec: 0 };
        let sets = (&raw mut readable, null_mut(), null_mut());
        let count = libc::select(client + 1, sets.0, sets.1, sets.2, &raw mut patience);
        assert!(libc::FD_ISSET(client, &raw const readable));
        count
    };
    assert_eq!((count, tou::abi::tou_run()), (1, 0));
    assert_eq!(TOU.recv(client, &mut [0; 8]), 3);
    assert_eq!(TOU.close(client), 0);
    assert_eq!(TOU.close(server), 0);
}

//! STUN and connections on the same port, and tou_cleanup.
#![expect(unsafe_code, reason = "the calls under test are C's")]

#[expect(dead_code, reason = "each test uses a part")]
mod common;

use common::{Api, loopback};
use libc::{c_int, c_void, sockaddr, socklen_t};
use std::mem::size_of;
use std::net::UdpSocket;
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};
use tou::abi::{tou_cleanup, tou_send_stun, tou_set_stun_callback};

const TOU: Api = Api::Tou;

/// A binding request (RFC 8489 §5).
const REQUEST: [u8; 20] =
    [0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];

extern "C" fn forward(
    fd: c_int,
    message: *const c_void,
    len: usize,
    from: *const sockaddr,
    from_len: socklen_t,
    context: *mut c_void,
) {
    // SAFETY: the library passes a message, an address, and the context that was given to it.
    let (bytes, context) = unsafe {
        let bytes = std::slice::from_raw_parts(message.cast::<u8>(), len);
        (bytes.to_vec(), &*context.cast::<Sender<(c_int, Vec<u8>)>>())
    };
    assert_eq!(from_len as usize, size_of::<libc::sockaddr_in>());
    // Answers from the callback, as a STUN server would.
    // SAFETY: the address is valid during the callback.
    let sent = unsafe { tou_send_stun(fd, message, len, from, from_len) };
    assert_eq!(sent, len as isize);
    let _ = context.send((fd, bytes));
}

fn send_stun(fd: c_int, message: &[u8], port: u16) -> isize {
    let to = loopback(port);
    let len = size_of::<libc::sockaddr_in>() as socklen_t;
    // SAFETY: a message and an address, with their lengths.
    unsafe {
        tou_send_stun(fd, message.as_ptr().cast(), message.len(), (&raw const to).cast(), len)
    }
}

fn threads_of_the_library() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").expect("Linux");
    let names = tasks.flatten().map(|task| std::fs::read_to_string(task.path().join("comm")));
    names.flatten().filter(|name| name.trim() == "tou").count()
}

/// One test only, since tou_cleanup closes the sockets of all tests.
#[test]
fn stun_shares_the_port_until_all_is_torn_down() {
    let listener = TOU.listener();
    let (sender, receiver) = channel::<(c_int, Vec<u8>)>();
    let context = (&raw const sender).cast_mut().cast();
    // SAFETY: the context lives until the callback is taken away.
    assert_eq!(unsafe { tou_set_stun_callback(listener, Some(forward), context) }, 0);

    let outside = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let port = TOU.port(listener);
    outside.send_to(&REQUEST, ("127.0.0.1", port)).expect("sent");
    let heard = receiver.recv_timeout(Duration::from_secs(60)).expect("called");
    assert_eq!(heard, (listener, REQUEST.to_vec()));
    let mut answer = [0; 64];
    assert_eq!(outside.recv(&mut answer).expect("an answer"), REQUEST.len());
    assert_eq!(answer[..20], REQUEST);

    // The port refuses to send other messages, and accepts connections.
    assert_eq!(send_stun(listener, b"no STUN at all, really", port), -1);
    let client = TOU.fresh();
    assert_eq!(TOU.connect(client, port), 0);
    let server = TOU.accept(listener) as c_int;
    assert_eq!(TOU.send(client, b"abc"), 3);
    assert_eq!(TOU.recv(server, &mut [0; 3]), 3);

    // SAFETY: removing the callback has no preconditions.
    assert_eq!(unsafe { tou_set_stun_callback(listener, None, std::ptr::null_mut()) }, 0);
    outside.send_to(&REQUEST, ("127.0.0.1", port)).expect("sent");
    drop(sender);
    assert!(receiver.recv().is_err(), "not called any more");

    // tou_cleanup closes both ends in the middle of a transfer.
    assert_eq!(threads_of_the_library(), 1);
    assert_eq!(tou_cleanup(60_000), 0);
    assert_eq!(TOU.send(client, b"x"), -i64::from(libc::EBADF));
    let start = Instant::now();
    while threads_of_the_library() > 0 {
        assert!(start.elapsed().as_secs() < 60, "the thread goes on");
        std::thread::sleep(Duration::from_millis(1));
    }
    // The library works again afterwards.
    let (client, server) = TOU.pair();
    assert_eq!(TOU.send(client, b"abc"), 3);
    assert_eq!(TOU.recv(server, &mut [0; 3]), 3);
    assert_eq!(tou_cleanup(60_000), 0);
}

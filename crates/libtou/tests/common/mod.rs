//! One set of calls for ToU and TCP sockets, to compare them.
#![expect(unsafe_code, reason = "the calls under test are C's")]

use libc::{c_int, c_short, c_void, sockaddr, sockaddr_in, socklen_t};
use std::mem::{size_of, zeroed};

/// Deadline of all waits, in milliseconds.
pub(crate) const PATIENCE_MS: c_int = 60_000;

/// Which sockets to use.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Api {
    Tou,
    Tcp,
}

/// The result of a call, or its negated errno.
pub(crate) type Outcome = i64;

fn outcome(result: i64) -> Outcome {
    if result >= 0 {
        return result;
    }
    -i64::from(std::io::Error::last_os_error().raw_os_error().expect("errno"))
}

pub(crate) fn loopback(port: u16) -> sockaddr_in {
    // SAFETY: zeros are a valid sockaddr_in.
    let mut address: sockaddr_in = unsafe { zeroed() };
    address.sin_family = libc::AF_INET as libc::sa_family_t;
    address.sin_addr.s_addr = u32::from(std::net::Ipv4Addr::LOCALHOST).to_be();
    address.sin_port = port.to_be();
    address
}

const LEN: socklen_t = size_of::<sockaddr_in>() as socklen_t;

/// Calls ToU's or the system's function with the same arguments.
macro_rules! call {
    ($api:expr, $tou:ident, $tcp:ident ($($argument:expr),*)) => {
        // SAFETY: each caller passes valid pointers, or invalid ones that the call rejects.
        outcome(match $api {
            Api::Tou => (unsafe { tou::abi::$tou($($argument),*) }) as i64,
            Api::Tcp => (unsafe { libc::$tcp($($argument),*) }) as i64,
        })
    };
}

#[expect(unused_unsafe, reason = "some calls take no pointer")]
impl Api {
    pub(crate) fn socket(self, domain: c_int, kind: c_int, protocol: c_int) -> Outcome {
        call!(self, tou_socket, socket(domain, kind, protocol))
    }

    pub(crate) fn fresh(self) -> c_int {
        c_int::try_from(self.socket(libc::AF_INET, libc::SOCK_STREAM, 0)).expect("a socket")
    }

    pub(crate) fn bind_raw(self, fd: c_int, address: *const sockaddr, len: socklen_t) -> Outcome {
        call!(self, tou_bind, bind(fd, address, len))
    }

    pub(crate) fn bind(self, fd: c_int, port: u16) -> Outcome {
        let address = loopback(port);
        self.bind_raw(fd, (&raw const address).cast(), LEN)
    }

    pub(crate) fn connect_raw(
        self,
        fd: c_int,
        address: *const sockaddr,
        len: socklen_t,
    ) -> Outcome {
        call!(self, tou_connect, connect(fd, address, len))
    }

    pub(crate) fn connect(self, fd: c_int, port: u16) -> Outcome {
        let address = loopback(port);
        self.connect_raw(fd, (&raw const address).cast(), LEN)
    }

    pub(crate) fn listen(self, fd: c_int, backlog: c_int) -> Outcome {
        call!(self, tou_listen, listen(fd, backlog))
    }

    pub(crate) fn accept_raw(self, fd: c_int, to: *mut sockaddr, len: *mut socklen_t) -> Outcome {
        call!(self, tou_accept, accept(fd, to, len))
    }

    pub(crate) fn accept(self, fd: c_int) -> Outcome {
        self.accept_raw(fd, std::ptr::null_mut(), std::ptr::null_mut())
    }

    pub(crate) fn send_raw(
        self,
        fd: c_int,
        from: *const c_void,
        len: usize,
        flags: c_int,
    ) -> Outcome {
        call!(self, tou_send, send(fd, from, len, flags | libc::MSG_NOSIGNAL))
    }

    pub(crate) fn send(self, fd: c_int, bytes: &[u8]) -> Outcome {
        self.send_raw(fd, bytes.as_ptr().cast(), bytes.len(), 0)
    }

    pub(crate) fn recv_raw(self, fd: c_int, to: *mut c_void, len: usize, flags: c_int) -> Outcome {
        call!(self, tou_recv, recv(fd, to, len, flags))
    }

    pub(crate) fn recv(self, fd: c_int, buffer: &mut [u8]) -> Outcome {
        self.recv_raw(fd, buffer.as_mut_ptr().cast(), buffer.len(), 0)
    }

    pub(crate) fn shutdown(self, fd: c_int, how: c_int) -> Outcome {
        call!(self, tou_shutdown, shutdown(fd, how))
    }

    pub(crate) fn close(self, fd: c_int) -> Outcome {
        call!(self, tou_close, close(fd))
    }

    pub(crate) fn setsockopt_raw(
        self,
        fd: c_int,
        (level, name): (c_int, c_int),
        value: *const c_void,
        len: socklen_t,
    ) -> Outcome {
        call!(self, tou_setsockopt, setsockopt(fd, level, name, value, len))
    }

    pub(crate) fn set<T>(self, fd: c_int, option: (c_int, c_int), value: T) -> Outcome {
        self.setsockopt_raw(fd, option, (&raw const value).cast(), size_of::<T>() as socklen_t)
    }

    pub(crate) fn getsockopt_raw(
        self,
        fd: c_int,
        (level, name): (c_int, c_int),
        value: *mut c_void,
        len: *mut socklen_t,
    ) -> Outcome {
        call!(self, tou_getsockopt, getsockopt(fd, level, name, value, len))
    }

    /// The value of an option of type int, or the negated errno.
    pub(crate) fn get(self, fd: c_int, option: (c_int, c_int)) -> Outcome {
        let (mut value, mut len): (c_int, _) = (0, size_of::<c_int>() as socklen_t);
        match self.getsockopt_raw(fd, option, (&raw mut value).cast(), &raw mut len) {
            0 => value.into(),
            error => error,
        }
    }

    pub(crate) fn getsockname_raw(
        self,
        fd: c_int,
        to: *mut sockaddr,
        len: *mut socklen_t,
    ) -> Outcome {
        call!(self, tou_getsockname, getsockname(fd, to, len))
    }

    pub(crate) fn getpeername_raw(
        self,
        fd: c_int,
        to: *mut sockaddr,
        len: *mut socklen_t,
    ) -> Outcome {
        call!(self, tou_getpeername, getpeername(fd, to, len))
    }

    pub(crate) fn getpeername(self, fd: c_int) -> Outcome {
        let (mut address, mut len) = (loopback(0), LEN);
        self.getpeername_raw(fd, (&raw mut address).cast(), &raw mut len)
    }

    pub(crate) fn name(self, fd: c_int) -> sockaddr_in {
        let (mut address, mut len) = (loopback(0), LEN);
        assert_eq!(self.getsockname_raw(fd, (&raw mut address).cast(), &raw mut len), 0);
        assert_eq!(len, LEN);
        address
    }

    pub(crate) fn port(self, fd: c_int) -> u16 {
        u16::from_be(self.name(fd).sin_port)
    }

    /// A listener on a new port.
    pub(crate) fn listener(self) -> c_int {
        let fd = self.fresh();
        assert_eq!(self.bind(fd, 0), 0);
        assert_eq!(self.listen(fd, 128), 0);
        fd
    }

    /// The client and the server end of a connection.
    pub(crate) fn pair(self) -> (c_int, c_int) {
        let (listener, client) = (self.listener(), self.fresh());
        assert_eq!(self.connect(client, self.port(listener)), 0);
        let server = c_int::try_from(self.accept(listener)).expect("comes");
        assert_eq!(self.close(listener), 0);
        (client, server)
    }
}

pub(crate) fn set_nonblocking(fd: c_int) {
    // SAFETY: F_SETFL only changes flags.
    let set = unsafe { libc::fcntl(fd, libc::F_SETFL, libc::O_NONBLOCK) };
    assert_eq!(set, 0);
}

/// The events of a descriptor that poll reports within `timeout_ms`.
pub(crate) fn poll(fd: c_int, events: c_short, timeout_ms: c_int) -> c_short {
    let mut entry = libc::pollfd { fd, events, revents: 0 };
    // SAFETY: the entry outlives the call.
    let count = unsafe { libc::poll(&raw mut entry, 1, timeout_ms) };
    assert!(count >= 0);
    entry.revents
}

/// Waits until poll reports all of `events`.
pub(crate) fn wait_for(fd: c_int, events: c_short) {
    let start = std::time::Instant::now();
    while poll(fd, events, 100) & events != events {
        assert!(start.elapsed().as_millis() < PATIENCE_MS as u128, "not reported: {events:#x}");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

//! Calls of tou.h in any order with any arguments. They must not crash, panic, wait, or write beyond
//! a buffer. On failure they must set an errno that tou(3) lists.
//!
//! Addresses are restricted to this host, and all descriptors are nonblocking.
#![expect(unsafe_code, reason = "the calls under test are C's")]

use libc::{c_int, c_void, sockaddr, socklen_t};
use std::ptr::null_mut;
use tou::abi;

/// Size of a buffer in bytes: more than any call writes.
const ROOM_MAX: usize = 512;
const SOCKETS_MAX: usize = 12;
const CALLS_MAX: usize = 64;

/// The allowed errno values. EIO is not allowed, since it indicates a panic.
pub(crate) const ERRNOS: [(&str, c_int); 29] = [
    ("EACCES", libc::EACCES),
    ("EADDRINUSE", libc::EADDRINUSE),
    ("EADDRNOTAVAIL", libc::EADDRNOTAVAIL),
    ("EAFNOSUPPORT", libc::EAFNOSUPPORT),
    ("EAGAIN", libc::EAGAIN),
    ("EALREADY", libc::EALREADY),
    ("EBADF", libc::EBADF),
    ("ECONNABORTED", libc::ECONNABORTED),
    ("ECONNREFUSED", libc::ECONNREFUSED),
    ("ECONNRESET", libc::ECONNRESET),
    ("EDOM", libc::EDOM),
    ("EFAULT", libc::EFAULT),
    ("EHOSTUNREACH", libc::EHOSTUNREACH),
    ("EINPROGRESS", libc::EINPROGRESS),
    ("EINVAL", libc::EINVAL),
    ("EISCONN", libc::EISCONN),
    ("EMFILE", libc::EMFILE),
    ("EMSGSIZE", libc::EMSGSIZE),
    ("ENETUNREACH", libc::ENETUNREACH),
    ("ENOBUFS", libc::ENOBUFS),
    ("ENOENT", libc::ENOENT),
    ("ENOPROTOOPT", libc::ENOPROTOOPT),
    ("ENOTCONN", libc::ENOTCONN),
    ("ENOTSOCK", libc::ENOTSOCK),
    ("EOPNOTSUPP", libc::EOPNOTSUPP),
    ("EPIPE", libc::EPIPE),
    ("EPROTONOSUPPORT", libc::EPROTONOSUPPORT),
    ("ESOCKTNOSUPPORT", libc::ESOCKTNOSUPPORT),
    ("ETIMEDOUT", libc::ETIMEDOUT),
];

/// The bytes of a case, taken from the front; zeros when there are no more.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    fn number(&mut self) -> c_int {
        c_int::from_ne_bytes(std::array::from_fn(|_| self.byte()))
    }

    /// Usually one of `known`, sometimes any number.
    fn number_or(&mut self, known: &[c_int]) -> c_int {
        match self.byte() {
            0xff => self.number(),
            at => known[usize::from(at) % known.len()],
        }
    }

    /// Exactly this number of bytes on the heap, so that a sanitizer detects accesses beyond them.
    fn buffer(&mut self, len: usize) -> Box<[u8]> {
        (0..len).map(|_| self.byte()).collect()
    }
}

/// A buffer whose pointer is passed to a call, or a null pointer.
struct Buffer {
    bytes: Box<[u8]>,
    is_null: bool,
}

impl Buffer {
    fn of(input: &mut Input<'_>) -> Buffer {
        let len = match input.byte() {
            0xff => ROOM_MAX,
            len @ 0xf0..0xff => usize::from(len) * 2,
            len => usize::from(len) % 40,
        };
        Buffer { bytes: input.buffer(len), is_null: input.byte() % 16 == 1 }
    }

    /// An address, usually one of this host.
    fn address(input: &mut Input<'_>, port: u16) -> Buffer {
        let kind = input.byte();
        if kind.is_multiple_of(4) {
            let mut place = Buffer::of(input);
            stay_here(&mut place.bytes);
            return place;
        }
        // SAFETY: zeros are a valid sockaddr_in.
        let mut address: libc::sockaddr_in = unsafe { std::mem::zeroed() };
        address.sin_family = libc::AF_INET as libc::sa_family_t;
        address.sin_port = port.to_be();
        address.sin_addr.s_addr = u32::from_ne_bytes([127, 0, 0, 1 + kind % 2]);
        let mut bytes = vec![0; size_of_val(&address)];
        // SAFETY: the buffer has the size of the address.
        unsafe { bytes.as_mut_ptr().cast::<libc::sockaddr_in>().write_unaligned(address) };
        Buffer { bytes: bytes.into(), is_null: false }
    }

    fn to<T>(&mut self) -> *mut T {
        if self.is_null { null_mut() } else { self.bytes.as_mut_ptr().cast() }
    }

    fn from<T>(&self) -> *const T {
        if self.is_null { std::ptr::null() } else { self.bytes.as_ptr().cast() }
    }

    /// The length to pass: that of the buffer, less, or with a null pointer any number.
    fn passed_len(&self, input: &mut Input<'_>) -> socklen_t {
        match input.byte() {
            0xff if self.is_null => input.number() as socklen_t,
            // Such a length is rejected before the buffer is used.
            0xfe => 0x8000_0000 | input.number() as socklen_t,
            less @ 0xf0..0xfe => (self.bytes.len() as socklen_t).min(less.into()),
            _ => self.bytes.len() as socklen_t,
        }
    }
}

/// Replaces addresses of other hosts, so that nothing leaves this host.
fn stay_here(bytes: &mut [u8]) {
    let Some(family) = bytes.first_chunk::<2>().map(|two| u16::from_ne_bytes(*two)) else { return };
    match c_int::from(family) {
        libc::AF_INET if bytes.len() >= 8 => bytes[4] = 127,
        libc::AF_INET6 if bytes.len() >= 24 => {
            bytes[8..23].fill(0);
            bytes[23] &= 1;
        }
        _ => {}
    }
}

extern "C" fn on_stun(
    _: c_int,
    _: *const c_void,
    _: usize,
    _: *const sockaddr,
    _: socklen_t,
    _: *mut c_void,
) {
}

struct World {
    sockets: Vec<c_int>,
}

/// Runs the calls that `bytes` describe.
pub(crate) fn run(bytes: &[u8]) {
    let mut input = Input(bytes);
    let mut world = World { sockets: Vec::new() };
    world.listener();
    for _ in 0..CALLS_MAX {
        if input.0.is_empty() {
            break;
        }
        let which = input.byte();
        let result = world.call(which, &mut input);
        if result < 0 {
            let number = std::io::Error::last_os_error().raw_os_error().unwrap_or(0);
            let known = ERRNOS.iter().any(|(_, errno)| *errno == number);
            assert!(known, "call {which}: errno {number}");
        }
    }
    for fd in world.sockets {
        assert_eq!(abi::tou_close(fd), 0, "descriptor {fd} was a socket's");
    }
    // Connections that are open or in TIME-WAIT would keep their ports.
    abi::tou_cleanup(0);
}

impl World {
    fn listener(&mut self) {
        let fd = abi::tou_socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_NONBLOCK, 0);
        if fd >= 0 {
            abi::tou_listen(fd, 4);
            self.sockets.push(fd);
        }
    }

    fn keep(&mut self, fd: c_int) -> i64 {
        if fd >= 0 {
            // SAFETY: F_SETFL only changes flags.
            unsafe { libc::fcntl(fd, libc::F_SETFL, libc::O_NONBLOCK) };
            self.sockets.push(fd);
        }
        fd.into()
    }

    /// Usually a socket's descriptor, sometimes any number.
    fn fd(&self, input: &mut Input<'_>) -> c_int {
        match input.byte() {
            0xff => input.number(),
            0xfe => -1,
            at => {
                self.sockets.get(usize::from(at) % self.sockets.len().max(1)).map_or(-1, |fd| *fd)
            }
        }
    }

    /// The port of one of the sockets, or any number.
    fn port(&self, input: &mut Input<'_>) -> u16 {
        let (fd, any) = (self.fd(input), input.byte());
        // SAFETY: zeros are a valid sockaddr_in.
        let mut address: libc::sockaddr_in = unsafe { std::mem::zeroed() };
        let mut len = size_of_val(&address) as socklen_t;
        // SAFETY: both outlive the call.
        let named = unsafe { abi::tou_getsockname(fd, (&raw mut address).cast(), &raw mut len) };
        if named < 0 || any == 0xff { any.into() } else { u16::from_be(address.sin_port) }
    }

    fn call(&mut self, which: u8, input: &mut Input<'_>) -> i64 {
        match which % 16 {
            0 if self.sockets.len() < SOCKETS_MAX => {
                let domain = input.number_or(&[libc::AF_INET, libc::AF_INET6]);
                let kind = input.number_or(&[libc::SOCK_STREAM]);
                let fd = abi::tou_socket(domain, kind, input.number_or(&[0]));
                self.keep(fd)
            }
            3 if self.sockets.len() < SOCKETS_MAX => self.accept(input),
            2 => abi::tou_listen(self.fd(input), input.number_or(&[4, 0, 1, -1])).into(),
            7 => abi::tou_shutdown(self.fd(input), input.number_or(&[0, 1, 2])).into(),
            8 => {
                let fd = self.fd(input);
                self.sockets.retain(|other| *other != fd);
                abi::tou_close(fd).into()
            }
            14 => abi::tou_run().into(),
            15 if input.byte().is_multiple_of(16) => {
                self.sockets.clear();
                abi::tou_cleanup(c_int::from(input.byte() % 2)).into()
            }
            1 | 4 => self.with_address(which % 16 == 1, input),
            5 | 6 => self.transfer(which % 16 == 5, input),
            9 | 10 => self.option(which % 16 == 9, input),
            11 | 12 => self.name(which % 16 == 11, input),
            _ => self.stun(input),
        }
    }

    fn accept(&mut self, input: &mut Input<'_>) -> i64 {
        let (fd, mut place) = (self.fd(input), Buffer::of(input));
        let mut len = place.passed_len(input);
        let len_at = if input.byte() == 0xff { null_mut() } else { &raw mut len };
        // SAFETY: null, or at least `len` bytes; a length beyond i32 is refused.
        let accepted = unsafe { abi::tou_accept(fd, place.to(), len_at) };
        self.keep(accepted)
    }

    fn with_address(&self, binds: bool, input: &mut Input<'_>) -> i64 {
        let (fd, port) = (self.fd(input), self.port(input));
        let place = Buffer::address(input, if binds && port != 0xff { 0 } else { port });
        let len = place.passed_len(input);
        // SAFETY: null, or at least `len` bytes; lengths beyond any address are refused.
        i64::from(unsafe {
            if binds {
                abi::tou_bind(fd, place.from(), len)
            } else {
                abi::tou_connect(fd, place.from(), len)
            }
        })
    }

    fn transfer(&self, sends: bool, input: &mut Input<'_>) -> i64 {
        let (fd, mut place) = (self.fd(input), Buffer::of(input));
        let flags =
            input.number_or(&[0, libc::MSG_DONTWAIT, libc::MSG_NOSIGNAL, libc::MSG_WAITALL]);
        let len = if place.is_null { input.number() as usize } else { place.bytes.len() };
        // SAFETY: null, or that many bytes.
        unsafe {
            if sends {
                abi::tou_send(fd, place.from(), len, flags) as i64
            } else {
                abi::tou_recv(fd, place.to(), len, flags) as i64
            }
        }
    }

    fn option(&self, sets: bool, input: &mut Input<'_>) -> i64 {
        let (fd, mut place) = (self.fd(input), Buffer::of(input));
        let level = input.number_or(&[libc::SOL_SOCKET, libc::IPPROTO_TCP, abi::SOL_TOU]);
        let name = match input.byte() {
            0xff => input.number(),
            name => c_int::from(name) % 64,
        };
        let mut len = place.passed_len(input);
        let waits = match (level, name) {
            (abi::SOL_TOU, abi::TOU_NONBLOCK) => Some(0..4),
            // tou_close would wait for this time.
            (libc::SOL_SOCKET, libc::SO_LINGER) => Some(4..8),
            _ => None,
        };
        if let Some(bytes) = waits.and_then(|range| place.bytes.get_mut(range)) {
            bytes.fill(if level == abi::SOL_TOU { 1 } else { 0 });
        }
        if sets {
            // SAFETY: null, or at least `len` bytes; a length beyond i32 is refused.
            return unsafe { abi::tou_setsockopt(fd, level, name, place.from(), len) }.into();
        }
        let len_at = if input.byte() == 0xff { null_mut() } else { &raw mut len };
        // SAFETY: as above.
        unsafe { abi::tou_getsockopt(fd, level, name, place.to(), len_at) }.into()
    }

    fn name(&self, own: bool, input: &mut Input<'_>) -> i64 {
        let (fd, mut place) = (self.fd(input), Buffer::of(input));
        let mut len = place.passed_len(input);
        let len_at = if input.byte() == 0xff { null_mut() } else { &raw mut len };
        // SAFETY: null, or at least `len` bytes; a length beyond i32 is refused.
        i64::from(unsafe {
            if own {
                abi::tou_getsockname(fd, place.to(), len_at)
            } else {
                abi::tou_getpeername(fd, place.to(), len_at)
            }
        })
    }

    fn stun(&self, input: &mut Input<'_>) -> i64 {
        let fd = self.fd(input);
        if input.byte().is_multiple_of(2) {
            let callback = input.byte().is_multiple_of(2).then_some(on_stun as abi::StunCallback);
            // SAFETY: the callback may be called at any time and ignores its context.
            return unsafe { abi::tou_set_stun_callback(fd, callback, null_mut()) }.into();
        }
        let message = Buffer::of(input);
        let port = self.port(input);
        let address = Buffer::address(input, port);
        let len = if message.is_null { input.number() as usize } else { message.bytes.len() };
        let address_len = address.passed_len(input);
        // SAFETY: null, or that many bytes; lengths beyond any address are refused.
        let sent =
            unsafe { abi::tou_send_stun(fd, message.from(), len, address.from(), address_len) };
        sent as i64
    }
}

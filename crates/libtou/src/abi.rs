//! The functions of tou.h, which are documented there, in tou(3) and in docs/guide/tou-c.md.
//!
//! On failure each function returns -1 and sets errno, like the BSD socket call of the same name. A
//! panic becomes EIO.

use crate::address::{self, Family, RawAddress};
use crate::errno::{Errno, Result};
use crate::option;
pub use crate::option::{
    SOL_TOU, TOU_ECN, TOU_ECN_ECHO, TOU_INFO, TOU_NONBLOCK, TOU_QLOG, TOU_RETRIES,
};
use crate::socket::Socket;
pub use crate::stun::Callback as StunCallback;
use crate::table;
use libc::{c_int, c_void, sockaddr, socklen_t, ssize_t};
use std::net::Shutdown;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// The largest transfer of one call in Linux (MAX_RW_COUNT).
const TRANSFER_MAX: usize = 0x7fff_f000;

/// Runs a call. Converts an error to -1 and errno, and stops a panic from unwinding into C.
pub(crate) fn guard<T: From<i8>>(call: impl FnOnce() -> Result<T>) -> T {
    let result = catch_unwind(AssertUnwindSafe(call)).unwrap_or(Err(Errno(libc::EIO)));
    result.unwrap_or_else(|Errno(number)| {
        // SAFETY: the pointer is valid for the calling thread.
        unsafe { *libc::__errno_location() = number };
        T::from(-1)
    })
}

/// The bytes that C passed. A null pointer is an error unless `len` is 0.
///
/// # Safety
/// `start` is null or has `len` bytes that stay readable while the result is used.
unsafe fn bytes<'a>(start: *const c_void, len: usize) -> Result<&'a [u8]> {
    match (len, start.is_null()) {
        (0, _) => Ok(&[]),
        (_, true) => Err(Errno(libc::EFAULT)),
        // SAFETY: the caller guarantees `len` bytes; the length is below isize::MAX.
        _ => Ok(unsafe { std::slice::from_raw_parts(start.cast(), len.min(TRANSFER_MAX)) }),
    }
}

/// Makes a socket and returns its descriptor.
#[unsafe(no_mangle)]
pub extern "C" fn tou_socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int {
    guard(|| {
        let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        let family = Family::of(domain)?;
        match kind & !flags {
            libc::SOCK_STREAM => {}
            0..=10 => return Err(Errno(libc::ESOCKTNOSUPPORT)),
            _ => return Err(Errno(libc::EINVAL)),
        }
        if protocol != 0 {
            return Err(Errno(libc::EPROTONOSUPPORT));
        }
        table::insert(Socket::new(family, kind & libc::SOCK_NONBLOCK != 0)?)
    })
}

/// Binds a socket to an address.
///
/// # Safety
/// `address` is null or has `len` readable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tou_bind(fd: c_int, address: *const sockaddr, len: socklen_t) -> c_int {
    guard(|| {
        let socket = table::get(fd)?;
        // SAFETY: this function requires valid pointers of its caller.
        let address = unsafe { address::read(socket.family(), address, len) }?;
        socket.bind(address).map(|()| 0)
    })
}

/// Starts to accept connections.
#[unsafe(no_mangle)]
pub extern "C" fn tou_listen(fd: c_int, backlog: c_int) -> c_int {
    guard(|| table::get(fd)?.listen(backlog).map(|()| 0))
}

/// Waits for the next connection and returns its descriptor.
///
/// # Safety
/// `address` is null or has `*len` writable bytes; then `len` is null or can be read and written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tou_accept(
    fd: c_int,
    address: *mut sockaddr,
    len: *mut socklen_t,
) -> c_int {
    guard(|| {
        let (socket, peer) = table::get(fd)?.accept()?;
        let accepted = table::insert(socket)?;
        if !address.is_null() {
            // SAFETY: this function requires valid pointers of its caller.
            if let Err(error) = unsafe { RawAddress::new(peer).write(address, len) } {
                table::remove(accepted)?.close(false);
                return Err(error);
            }
        }
        Ok(accepted)
    })
}

/// Connects a socket.
///
/// # Safety
/// `address` is null or has `len` readable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tou_connect(fd: c_int, address: *const sockaddr, len: socklen_t) -> c_int {
    guard(|| {
        let socket = table::get(fd)?;
        // SAFETY: this function requires valid pointers of its caller.
        let address = unsafe { address::read(socket.family(), address, len) }?;
        socket.connect(address).map(|()| 0)
    })
}

/// Sends bytes and returns the number accepted.
///
/// # Safety
/// `buffer` is null or has `len` readable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tou_send(
    fd: c_int,
    buffer: *const c_void,
    len: usize,
    flags: c_int,
) -> ssize_t {
    guard(|| {
        let socket = table::get(fd)?;
        // SAFETY: this function requires valid pointers of its caller.
        let sent = match unsafe { bytes(buffer, len) } {
            Ok(bytes) => socket.send(bytes, flags)?,
            // An error of the socket takes precedence over the null pointer, as with TCP.
            Err(error) => socket.send(&[], flags).and(Err(error))?,
        };
        Ok(sent as ssize_t)
    })
}

/// Receives bytes and returns their number, 0 at the end of the stream.
///
/// # Safety
/// `buffer` is null or has `len` writable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tou_recv(
    fd: c_int,
    buffer: *mut c_void,
    len: usize,
    flags: c_int,
) -> ssize_t {
    guard(|| {
        let socket = table::get(fd)?;
        let received = match (len, buffer.is_null()) {
            (0, _) => socket.receive(&mut [], flags)?,
            (_, true) => socket.receive(&mut [], flags).and(Err(Errno(libc::EFAULT)))?,
            // SAFETY: the caller guarantees `len` bytes; the length is below isize::MAX, and the
            // bytes are only written.
            _ => socket.receive(
                unsafe { std::slice::from_raw_parts_mut(buffer.cast(), len.min(TRANSFER_MAX)) },
                flags,
            )?,
        };
        Ok(received as ssize_t)
    })
}

/// Closes one direction or both.
#[unsafe(no_mangle)]
pub extern "C" fn tou_shutdown(fd: c_int, how: c_int) -> c_int {
    guard(|| {
        let socket = table::get(fd)?;
        let how = match how {
            libc::SHUT_RD => Shutdown::Read,
            libc::SHUT_WR => Shutdown::Write,
            libc::SHUT_RDWR => Shutdown::Both,
            _ => return Err(Errno(libc::EINVAL)),
        };
        socket.shutdown(how).map(|()| 0)
    })
}

/// Closes a socket and its descriptor.
#[unsafe(no_mangle)]
pub extern "C" fn tou_close(fd: c_int) -> c_int {
    guard(|| {
        table::remove(fd)?.close(true);
        Ok(0)
    })
}

/// Reads the value of an option.
///
/// # Safety
/// `len` is null or can be read and written. `value` is null or has `*len` writable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tou_getsockopt(
    fd: c_int,
    level: c_int,
    name: c_int,
    value: *mut c_void,
    len: *mut socklen_t,
) -> c_int {
    guard(|| {
        let socket = table::get(fd)?;
        if len.is_null() {
            return Err(Errno(libc::EFAULT));
        }
        // SAFETY: this function requires valid pointers of its caller.
        let room = unsafe { len.read_unaligned() };
        if room > i32::MAX as socklen_t {
            return Err(Errno(libc::EINVAL));
        }
        if room > 0 && value.is_null() {
            return Err(Errno(libc::EFAULT));
        }
        let bytes = option::get(&socket, level, name)?.bytes();
        let written = bytes.len().min(room as usize);
        // SAFETY: `written` is at most the room that the caller guarantees.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), value.cast(), written);
            len.write_unaligned(written as socklen_t);
        }
        Ok(0)
    })
}

/// Sets an option.
///
/// # Safety
/// `value` is null or has `len` readable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tou_setsockopt(
    fd: c_int,
    level: c_int,
    name: c_int,
    value: *const c_void,
    len: socklen_t,
) -> c_int {
    guard(|| {
        let socket = table::get(fd)?;
        if len > i32::MAX as socklen_t {
            return Err(Errno(libc::EINVAL));
        }
        // SAFETY: this function requires valid pointers of its caller.
        let value = unsafe { bytes(value, len as usize) }?;
        option::set(&socket, level, name, value).map(|()| 0)
    })
}

/// Writes the local address.
///
/// # Safety
/// `len` is null or can be read and written. `address` is null or has `*len` writable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tou_getsockname(
    fd: c_int,
    address: *mut sockaddr,
    len: *mut socklen_t,
) -> c_int {
    guard(|| {
        let local = table::get(fd)?.local();
        // SAFETY: this function requires valid pointers of its caller.
        unsafe { RawAddress::new(local).write(address, len) }.map(|()| 0)
    })
}

/// Writes the peer's address.
///
/// # Safety
/// As for [`tou_getsockname`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tou_getpeername(
    fd: c_int,
    address: *mut sockaddr,
    len: *mut socklen_t,
) -> c_int {
    guard(|| {
        let peer = table::get(fd)?.peer()?;
        // SAFETY: this function requires valid pointers of its caller.
        unsafe { RawAddress::new(peer).write(address, len) }.map(|()| 0)
    })
}

/// Updates the readiness of all descriptors.
#[unsafe(no_mangle)]
pub extern "C" fn tou_run() -> c_int {
    guard(|| {
        table::all().iter().for_each(Socket::sync);
        Ok(0)
    })
}

/// Sets the callback for STUN messages that arrive at the socket's port. Null removes it.
///
/// # Safety
/// Until its removal, `callback` can be called from another thread with `context`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tou_set_stun_callback(
    fd: c_int,
    callback: Option<StunCallback>,
    context: *mut c_void,
) -> c_int {
    guard(|| table::get(fd)?.set_stun(fd, callback, context).map(|()| 0))
}

/// Sends a STUN message from the socket's port.
///
/// # Safety
/// `message` is null or has `len` readable bytes, and `address` is null or has `address_len`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tou_send_stun(
    fd: c_int,
    message: *const c_void,
    len: usize,
    address: *const sockaddr,
    address_len: socklen_t,
) -> ssize_t {
    guard(|| {
        let socket = table::get(fd)?;
        // SAFETY: this function requires valid pointers of its caller.
        let (message, peer) = unsafe {
            (bytes(message, len)?, address::read(socket.family(), address, address_len)?)
        };
        socket.send_stun(peer, message)?;
        Ok(message.len() as ssize_t)
    })
}

/// Closes all sockets and waits until written data is delivered, for at most `timeout_ms`; a negative
/// value means no limit. Returns 0, or -1 with ETIMEDOUT.
#[unsafe(no_mangle)]
pub extern "C" fn tou_cleanup(timeout_ms: c_int) -> c_int {
    guard(|| {
        let timeout = u64::try_from(timeout_ms).unwrap_or(u64::from(u32::MAX));
        let arrived = table::cleanup(Duration::from_millis(timeout));
        if arrived { Ok(0) } else { Err(Errno(libc::ETIMEDOUT)) }
    })
}

//! System calls with the bytes that a script gives: for these the libraries have types of their own.
#![expect(unsafe_code, reason = "no library passes any option, control message or request")]

use crate::call::Control;
use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::{SockaddrLike, SockaddrStorage};
use std::mem::{size_of, zeroed};
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::ptr::{from_mut, from_ref, null_mut};

/// The value that a call returns, or Linux's number of the error.
pub(super) type Value = Result<i64, i32>;

/// Room for the control messages of one packet.
const CONTROL_ROOM: usize = 4096;

fn value(returned: i64) -> Value {
    if returned < 0 { Err(Errno::last_raw()) } else { Ok(returned) }
}

/// Accepts a connection, as `accept4`.
pub(super) fn accept(fd: RawFd, flags: i32) -> Result<OwnedFd, i32> {
    // SAFETY: the address is left out.
    let new = unsafe { libc::accept4(fd, null_mut(), null_mut(), flags) };
    value(new.into())?;
    // SAFETY: the kernel made it for this call alone.
    Ok(unsafe { OwnedFd::from_raw_fd(new) })
}

/// Ends one direction or both, as `shutdown`.
pub(super) fn shutdown(fd: RawFd, how: i32) -> Value {
    // SAFETY: it takes numbers.
    value(unsafe { libc::shutdown(fd, how) }.into())
}

/// `connect` to AF_UNSPEC.
pub(super) fn disconnect(fd: RawFd) -> Value {
    // SAFETY: an address of this family has no further fields.
    let mut nowhere: libc::sockaddr = unsafe { zeroed() };
    nowhere.sa_family = libc::AF_UNSPEC as libc::sa_family_t;
    let len = size_of_val(&nowhere) as libc::socklen_t;
    // SAFETY: the address is readable.
    value(unsafe { libc::connect(fd, from_ref(&nowhere), len) }.into())
}

/// `fcntl` with a number.
pub(super) fn fcntl(fd: RawFd, command: i32, argument: i64) -> Value {
    // SAFETY: the caller passes only commands that take numbers.
    value(unsafe { libc::fcntl(fd, command, argument as libc::c_long) }.into())
}

/// `ioctl` that writes a number.
pub(super) fn ioctl(fd: RawFd, request: u64) -> (Value, i64) {
    // Larger than what any request for a number writes.
    let mut room = [0_i32; 64];
    // SAFETY: the room is writable.
    let returned = unsafe { libc::ioctl(fd, request as libc::Ioctl, room.as_mut_ptr()) };
    (value(returned.into()), room[0].into())
}

/// Sets an option, as `setsockopt`.
pub(super) fn set_option(fd: RawFd, level: i32, name: i32, bytes: &[u8]) -> Value {
    let len = bytes.len() as libc::socklen_t;
    // SAFETY: the bytes are readable.
    value(unsafe { libc::setsockopt(fd, level, name, bytes.as_ptr().cast(), len) }.into())
}

/// `getsockopt` with room for `room` bytes; returns what the kernel wrote.
pub(super) fn option(fd: RawFd, level: i32, name: i32, room: usize) -> Result<Vec<u8>, i32> {
    let mut bytes = vec![0; room];
    let mut len = room as libc::socklen_t;
    // SAFETY: the bytes are writable.
    let returned =
        unsafe { libc::getsockopt(fd, level, name, bytes.as_mut_ptr().cast(), from_mut(&mut len)) };
    value(returned.into())?;
    bytes.truncate(len as usize);
    Ok(bytes)
}

/// `recv` with a null pointer for the buffer.
pub(super) fn receive_nowhere(fd: RawFd, len: usize, flags: i32) -> Value {
    // SAFETY: the kernel refuses the null pointer.
    value(unsafe { libc::recv(fd, null_mut(), len, flags) } as i64)
}

/// A message to send.
#[derive(Debug)]
pub(super) struct Message<'a> {
    /// The data of each buffer; without it the buffers are null pointers.
    pub(super) data: Option<&'a [u8]>,
    /// The sizes of the buffers, at most that of the data.
    pub(super) lens: &'a [usize],
    /// The control messages.
    pub(super) control: &'a [Control],
    /// The address, where the call is to connect.
    pub(super) to: Option<SockaddrStorage>,
}

/// Sends a message, as `sendmsg`.
pub(super) fn send(fd: RawFd, message: &Message<'_>, flags: i32) -> Value {
    let iov_base = message.data.map_or(null_mut(), |data| data.as_ptr().cast_mut().cast());
    let room = message.data.map_or(usize::MAX, <[u8]>::len);
    let buffer = |len: &usize| libc::iovec { iov_base, iov_len: room.min(*len) };
    let mut buffers: Vec<_> = message.lens.iter().map(buffer).collect();
    let mut control = encode(message.control);
    let mut head = header(&mut buffers, &mut control);
    if let Some(to) = &message.to {
        head.msg_name = to.as_ptr().cast_mut().cast();
        head.msg_namelen = to.len();
    }
    // SAFETY: buffers, control messages and address are readable while the call lasts.
    value(unsafe { libc::sendmsg(fd, from_ref(&head), flags) } as i64)
}

/// `recvmsg` into buffers of these sizes; returns its flags and control messages.
pub(super) fn receive_message(
    fd: RawFd,
    lens: &[usize],
    has_control: bool,
    flags: i32,
) -> (Value, i32, Vec<Control>) {
    let mut bytes: Vec<Vec<u8>> = lens.iter().map(|len| vec![0; *len]).collect();
    let mut buffers: Vec<_> = bytes
        .iter_mut()
        .map(|bytes| libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() })
        .collect();
    let mut room = vec![0_u64; if has_control { CONTROL_ROOM / 8 } else { 0 }];
    let mut message = header(&mut buffers, &mut room);
    // SAFETY: the buffers and the room are writable while the call lasts.
    let returned = value(unsafe { libc::recvmsg(fd, from_mut(&mut message), flags) } as i64);
    let control = if returned.is_ok() { decode(&message) } else { Vec::new() };
    (returned, message.msg_flags, control)
}

/// A message of these buffers. The control messages are in words, as their headers are aligned.
fn header(buffers: &mut [libc::iovec], control: &mut [u64]) -> libc::msghdr {
    // SAFETY: of a message without addresses, buffers and control messages all bits are zero.
    let mut message: libc::msghdr = unsafe { zeroed() };
    message.msg_iov = buffers.as_mut_ptr();
    message.msg_iovlen = buffers.len() as _;
    if !control.is_empty() {
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = size_of_val(control) as _;
    }
    message
}

/// Control messages as `sendmsg` takes them.
fn encode(control: &[Control]) -> Vec<u64> {
    let mut bytes = Vec::new();
    for message in control {
        let len = size_of::<libc::cmsghdr>() + message.data.len();
        bytes.extend(len.to_ne_bytes());
        bytes.extend(message.level.to_ne_bytes());
        bytes.extend(message.kind.to_ne_bytes());
        bytes.extend(&message.data);
        bytes.resize(bytes.len().next_multiple_of(size_of::<usize>()), 0);
    }
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    let word = |bytes: &[u8]| bytes.try_into().map(u64::from_ne_bytes).unwrap_or_default();
    bytes.chunks_exact(8).map(word).collect()
}

/// The control messages that `recvmsg` wrote.
fn decode(message: &libc::msghdr) -> Vec<Control> {
    let mut control = Vec::new();
    // SAFETY: the message has the control messages that the kernel wrote, and these macros stay inside them.
    unsafe {
        let mut next = libc::CMSG_FIRSTHDR(from_ref(message));
        while let Some(head) = next.as_ref() {
            let len = head.cmsg_len.saturating_sub(libc::CMSG_LEN(0) as usize);
            let data = std::slice::from_raw_parts(libc::CMSG_DATA(next), len).to_vec();
            control.push(Control { level: head.cmsg_level, kind: head.cmsg_type, data });
            next = libc::CMSG_NXTHDR(from_ref(message), next);
        }
    }
    control
}

/// `poll`; returns the events of each descriptor.
pub(super) fn poll(fds: &[(RawFd, i16)], timeout_ms: i32) -> (Value, Vec<i16>) {
    let asked = |&(fd, events): &(RawFd, i16)| libc::pollfd { fd, events, revents: 0 };
    let mut asked: Vec<_> = fds.iter().map(asked).collect();
    // SAFETY: the entries are writable.
    let returned = unsafe { libc::poll(asked.as_mut_ptr(), asked.len() as _, timeout_ms) };
    (value(returned.into()), asked.iter().map(|entry| entry.revents).collect())
}

/// The calling thread's scheduling policy.
pub(super) fn policy() -> i32 {
    // SAFETY: it takes a number.
    unsafe { libc::sched_getscheduler(0) }
}

/// Sets the calling thread's scheduling policy and priority.
pub(super) fn set_policy(policy: i32, sched_priority: i32) -> Value {
    let parameters = libc::sched_param { sched_priority };
    // SAFETY: the parameters are readable.
    value(unsafe { libc::sched_setscheduler(0, policy, from_ref(&parameters)) }.into())
}

/// `epoll_ctl`; the event's data is the descriptor.
pub(super) fn epoll_control(epoll: RawFd, operation: i32, fd: RawFd, events: u32) -> Value {
    let mut event = libc::epoll_event { events, u64: fd as u64 };
    // SAFETY: the event is readable.
    value(unsafe { libc::epoll_ctl(epoll, operation, fd, from_mut(&mut event)) }.into())
}

/// `epoll_wait`; returns the events and their descriptors.
pub(super) fn epoll_wait(epoll: RawFd, most: usize, timeout_ms: i32) -> (Value, Vec<(u32, RawFd)>) {
    let mut room = vec![libc::epoll_event { events: 0, u64: 0 }; most];
    // SAFETY: the events are writable.
    let returned = value(
        unsafe { libc::epoll_wait(epoll, room.as_mut_ptr(), most as i32, timeout_ms) }.into(),
    );
    let count = returned.map_or(0, |count| count as usize);
    let events = room.iter().take(count).map(|event| (event.events, event.u64 as RawFd));
    (returned, events.collect())
}

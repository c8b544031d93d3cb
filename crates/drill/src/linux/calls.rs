//! The calls of a script as the kernel's.

use super::files::Files;
use super::socket_address;
use super::sys::{self, Message, Value};
use crate::call::{Call, Control, Fd, Outcome, Return};
use crate::subject::{Setup, Unsupported};
use nix::errno::Errno;
use nix::libc;
use nix::sys::epoll::{Epoll, EpollCreateFlags};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::sendfile::sendfile;
use nix::sys::socket::{
    Backlog, MsgFlags, SockFlag, SockProtocol, SockType, bind, connect, listen, recv, socket,
};
use nix::unistd::{close, ftruncate};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;

/// Makes a script's calls, each of which may block the thread.
#[derive(Debug)]
pub(super) struct Caller {
    setup: Setup,
    files: Files,
    /// The data that is sent; it stays where it is, as the kernel may send it later (MSG_ZEROCOPY).
    zeros: Vec<Vec<u8>>,
}

impl Caller {
    /// Keeps its descriptors in `files`.
    pub(super) fn new(setup: &Setup, files: Files) -> Caller {
        Caller { setup: setup.clone(), files, zeros: Vec::new() }
    }

    /// Whether the call is known.
    ///
    /// # Errors
    ///
    /// It is not.
    pub(super) fn knows(call: &Call) -> Result<(), Unsupported> {
        match call {
            Call::Ioctl { request, .. } if !NUMBERS.contains(request) => {
                Err(Unsupported(format!("ioctl {request:#x} is none that only reads a number")))
            }
            Call::Fcntl { command, .. } if !FLAGS.contains(command) => {
                Err(Unsupported(format!("fcntl {command} is none of a descriptor's flags")))
            }
            _ => Ok(()),
        }
    }

    /// Makes the call.
    pub(super) fn call(&mut self, call: &Call) -> Return {
        let done = match call {
            Call::ReceiveMessage { fd, lens, control, flags } => {
                self.receive_message(*fd, lens, *control, *flags)
            }
            Call::GetOption { fd, level, name, len } => self.option(*fd, *level, *name, *len),
            Call::Ioctl { fd, request } => self.ioctl(*fd, *request),
            Call::Poll { fds, timeout_ms } => Ok(poll(fds, *timeout_ms)),
            Call::EpollWait { epoll, most, timeout_ms } => {
                self.epoll_wait(*epoll, *most, *timeout_ms)
            }
            _ => self.call_for_value(call).map(Return::value),
        };
        done.unwrap_or_else(Return::error)
    }

    /// The calls that return a number alone.
    fn call_for_value(&mut self, call: &Call) -> Value {
        match call {
            Call::Socket { nonblocking } => self.socket(*nonblocking),
            Call::Accept { fd, nonblocking } => self.accept(*fd, *nonblocking),
            Call::EpollCreate => {
                let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).map_err(number)?;
                Ok(self.files.insert(epoll.0))
            }
            Call::EpollControl { epoll, operation, fd, events } => {
                sys::epoll_control(self.raw(*epoll)?, *operation, fd.0, *events)
            }
            Call::Close { fd } => done(close(self.files.remove(*fd)?)),
            Call::Receive { .. } | Call::NullBuffer { sends: false, .. } => self.receive(call),
            Call::Send { .. } | Call::SendMessage { .. } | Call::NullBuffer { .. } => {
                self.send(call)
            }
            Call::SendFile { fd, len } => self.send_file(*fd, *len),
            _ => self.control(call),
        }
    }

    /// The calls on a socket that transfer no data.
    fn control(&self, call: &Call) -> Value {
        match call {
            Call::Bind { fd } => done(bind(self.raw(*fd)?, &socket_address::local(&self.setup))),
            Call::Connect { fd } => {
                let file = self.file(*fd)?;
                done(connect(file.as_raw_fd(), &socket_address::remote(&self.setup)))
            }
            Call::Disconnect { fd } => sys::disconnect(self.raw(*fd)?),
            Call::Listen { fd, backlog } => {
                // The kernel too takes a larger one for its maximum.
                let backlog = Backlog::new(*backlog).unwrap_or(Backlog::MAXCONN);
                done(listen(&*self.file(*fd)?, backlog))
            }
            Call::Shutdown { fd, how } => sys::shutdown(self.raw(*fd)?, *how),
            Call::SetOption { fd, level, name, value } => {
                sys::set_option(self.raw(*fd)?, *level, *name, value)
            }
            Call::Fcntl { fd, command, argument } => {
                sys::fcntl(self.raw(*fd)?, *command, *argument)
            }
            _ => Err(libc::ENOSYS),
        }
    }

    fn file(&self, fd: Fd) -> Result<Arc<OwnedFd>, i32> {
        self.files.get(fd)
    }

    /// The number of an open descriptor.
    fn raw(&self, fd: Fd) -> Value32 {
        self.files.get(fd).map(|file| file.as_raw_fd())
    }

    fn socket(&self, nonblocking: bool) -> Value {
        let mut flags = SockFlag::SOCK_CLOEXEC;
        flags.set(SockFlag::SOCK_NONBLOCK, nonblocking);
        let family = socket_address::family(&self.setup);
        let socket = socket(family, SockType::Stream, flags, SockProtocol::Tcp).map_err(number)?;
        Ok(self.files.insert(socket))
    }

    fn accept(&self, fd: Fd, nonblocking: bool) -> Value {
        let listener = self.file(fd)?;
        let flag = if nonblocking { libc::SOCK_NONBLOCK } else { 0 };
        let accepted = sys::accept(listener.as_raw_fd(), libc::SOCK_CLOEXEC | flag)?;
        Ok(self.files.insert(accepted))
    }

    fn receive(&self, call: &Call) -> Value {
        match call {
            Call::Receive { fd, len, flags } => {
                let file = self.file(*fd)?;
                let flags = MsgFlags::from_bits_retain(*flags);
                let len = recv(file.as_raw_fd(), &mut vec![0; *len], flags).map_err(number)?;
                Ok(len as i64)
            }
            Call::NullBuffer { fd, len, flags, .. } => {
                sys::receive_nowhere(self.raw(*fd)?, *len, *flags)
            }
            _ => Err(libc::ENOSYS),
        }
    }

    fn send(&mut self, call: &Call) -> Value {
        let (fd, lens, control, flags): (_, &[usize], &[Control], _) = match call {
            Call::Send { fd, len, flags } | Call::NullBuffer { fd, len, flags, .. } => {
                (*fd, &[*len], &[], *flags)
            }
            Call::SendMessage { fd, lens, control, flags } => (*fd, lens, control, *flags),
            _ => return Err(libc::ENOSYS),
        };
        let file = self.file(fd)?;
        let connects = flags & libc::MSG_FASTOPEN != 0;
        let to = connects.then(|| socket_address::remote(&self.setup));
        let is_null = matches!(call, Call::NullBuffer { .. });
        let data = (!is_null).then(|| self.zeros(lens.iter().copied().max().unwrap_or(0)));
        sys::send(file.as_raw_fd(), &Message { data, lens, control, to }, flags)
    }

    /// At least `len` bytes to send.
    fn zeros(&mut self, len: usize) -> &[u8] {
        if self.zeros.last().is_none_or(|zeros| zeros.len() < len) {
            self.zeros.push(vec![0; len]);
        }
        self.zeros.last().map_or(&[], Vec::as_slice)
    }

    fn send_file(&self, fd: Fd, len: usize) -> Value {
        let socket = self.file(fd)?;
        let zeros = memfd_create(c"zeros", MFdFlags::MFD_CLOEXEC).map_err(number)?;
        ftruncate(&zeros, len as i64).map_err(number)?;
        Ok(sendfile(&*socket, &zeros, None, len).map_err(number)? as i64)
    }

    fn receive_message(
        &self,
        fd: Fd,
        lens: &[usize],
        has_control: bool,
        flags: i32,
    ) -> Result<Return, i32> {
        let file = self.file(fd)?;
        let (value, flags, control) =
            sys::receive_message(file.as_raw_fd(), lens, has_control, flags);
        Ok(Return { value: Ok(value?), outcome: Outcome::Message { flags, control } })
    }

    fn option(&self, fd: Fd, level: i32, name: i32, room: usize) -> Result<Return, i32> {
        let bytes = sys::option(self.raw(fd)?, level, name, room)?;
        Ok(Return { value: Ok(0), outcome: Outcome::Option(bytes) })
    }

    fn ioctl(&self, fd: Fd, request: u64) -> Result<Return, i32> {
        let (value, number) = sys::ioctl(self.raw(fd)?, request);
        Ok(Return { value: Ok(value?), outcome: Outcome::Number(number) })
    }

    fn epoll_wait(&self, epoll: Fd, most: usize, timeout_ms: i32) -> Result<Return, i32> {
        let epoll = self.file(epoll)?;
        let (value, events) = sys::epoll_wait(epoll.as_raw_fd(), most, timeout_ms);
        let events = events.into_iter().map(|(events, fd)| (events, Fd(fd))).collect();
        Ok(Return { value: Ok(value?), outcome: Outcome::Events(events) })
    }
}

type Value32 = Result<i32, i32>;

/// The commands that take or return a number alone.
const FLAGS: [i32; 4] = [libc::F_GETFD, libc::F_SETFD, libc::F_GETFL, libc::F_SETFL];

/// The requests that read a number and take no argument.
const NUMBERS: [u64; 4] = [libc::FIONREAD, libc::TIOCOUTQ, SIOCOUTQNSD, SIOCATMARK];

/// Unsent bytes; whether the urgent pointer is reached (linux/sockios.h).
const SIOCOUTQNSD: u64 = 0x894b;
const SIOCATMARK: u64 = 0x8905;

fn poll(fds: &[(Fd, i16)], timeout_ms: i32) -> Return {
    let fds: Vec<_> = fds.iter().map(|&(Fd(fd), events)| (fd, events)).collect();
    let (value, events) = sys::poll(&fds, timeout_ms);
    Return { value, outcome: Outcome::Polled(events) }
}

fn number(error: Errno) -> i32 {
    error as i32
}

fn done(result: nix::Result<()>) -> Value {
    result.map(|()| 0).map_err(number)
}

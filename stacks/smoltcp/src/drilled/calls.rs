//! The calls of a program.

use super::Machine;
use super::numbers::*;
use super::sockets::Kind;
use crate::stack::Control;
use smoltcp::socket::tcp::State;
use windlass_base::{Span, Time};
use windlass_drill::{Call, Fd, Outcome, Return, Unsupported};

/// The data that a program sends.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

/// A call that has begun.
#[derive(Debug)]
pub(super) struct Open {
    call: Call,
    /// When it returns at the latest.
    until: Option<Time>,
    /// Bytes that it has sent.
    sent: usize,
    /// It has opened its connection.
    connects: bool,
}

/// How a call goes on: its value or error, or `None` while it blocks.
type Step = Result<Option<i64>, i32>;

impl Open {
    pub(super) fn new(call: Call, now: Time) -> Open {
        let until = match &call {
            Call::Poll { timeout_ms, .. } if *timeout_ms >= 0 => {
                Some(now + Span::from_millis(timeout_ms.unsigned_abs().into()))
            }
            _ => None,
        };
        Open { call, until, sent: 0, connects: false }
    }

    pub(super) fn until(&self) -> Option<Time> {
        self.until
    }

    /// Goes on; returns the end of the call if it is one.
    pub(super) fn proceed(&mut self, machine: &mut Machine) -> Result<Option<Return>, Unsupported> {
        if let Call::Poll { fds, .. } = &self.call {
            let is_over = self.until.is_some_and(|until| machine.now >= until);
            return Ok(machine.polled(fds, is_over));
        }
        if let Call::GetOption { fd, level, name, .. } = self.call {
            return machine.get_option(fd, level, name).map(Some);
        }
        let step = match self.call.clone() {
            Call::Send { fd, len, flags } => self.send(machine, fd, len, plain(flags)?),
            Call::SendMessage { fd, lens, control, flags } if control.is_empty() => {
                self.send(machine, fd, lens.iter().sum(), plain(flags)?)
            }
            Call::Receive { fd, len, flags } => machine.receive_data(fd, len, plain(flags)?),
            Call::Connect { fd } => self.connect(machine, fd),
            other => machine.at_once(&other)?,
        };
        Ok(match step {
            Ok(None) => None,
            Ok(Some(value)) => Some(Return::value(value)),
            Err(errno) => Some(Return::error(errno)),
        })
    }

    fn connect(&mut self, machine: &mut Machine, fd: Fd) -> Step {
        if !self.connects {
            if let Ok((_, state)) = machine.connection(fd) {
                return Err(if state == State::SynSent { EALREADY } else { EISCONN });
            }
            machine.open(fd)?;
            self.connects = true;
        }
        let nonblocking = machine.sockets.get(fd)?.nonblocking;
        match machine.connection(fd)?.1 {
            State::SynSent | State::SynReceived if nonblocking => Err(EINPROGRESS),
            State::SynSent | State::SynReceived => Ok(None),
            State::Closed => Err(ECONNREFUSED),
            _ => Ok(Some(0)),
        }
    }

    fn send(&mut self, machine: &mut Machine, fd: Fd, len: usize, dont_wait: bool) -> Step {
        let (connection, _) = machine.connection(fd)?;
        let nonblocking = dont_wait || machine.sockets.get(fd)?.nonblocking;
        let socket = machine.stack.get(connection.handle);
        if connection.shut || (connection.opened && !socket.may_send()) {
            return if self.sent > 0 { Ok(Some(self.sent as i64)) } else { Err(EPIPE) };
        }
        while self.sent < len && socket.can_send() {
            let part = ZEROS.len().min(len - self.sent);
            match socket.send_slice(&ZEROS[..part]) {
                Ok(taken) if taken > 0 => self.sent += taken,
                _ => break,
            }
        }
        match self.sent {
            sent if sent == len || nonblocking && sent > 0 => Ok(Some(sent as i64)),
            _ if nonblocking => Err(EAGAIN),
            _ => Ok(None),
        }
    }
}

/// Whether a call may not wait, of flags that mean nothing else.
fn plain(flags: i32) -> Result<bool, Unsupported> {
    match flags & !(MSG_DONTWAIT | MSG_NOSIGNAL) {
        0 => Ok(flags & MSG_DONTWAIT != 0),
        other => Err(Unsupported(format!("smoltcp has no flags {other:#x} of send and recv"))),
    }
}

impl Machine {
    /// Calls that need no memory of their own.
    fn at_once(&mut self, call: &Call) -> Result<Step, Unsupported> {
        Ok(match call {
            Call::Socket { nonblocking } => Ok(Some(i64::from(self.sockets.add(*nonblocking).0))),
            Call::Bind { fd } => self.sockets.get(*fd).map(|_| Some(0)),
            Call::Listen { fd, backlog } => self.listen(*fd, *backlog).map(|()| Some(0)),
            Call::Accept { fd, nonblocking } => self.accept_call(*fd, *nonblocking),
            Call::Close { fd } => self.close(*fd).map(|()| Some(0)),
            Call::Shutdown { fd, how: SHUT_WR } => self.shut(*fd),
            Call::SetOption { fd, level, name, value } => {
                return self.set_option(*fd, (*level, *name), value);
            }
            Call::Fcntl { fd, command, argument } => self.fcntl(*fd, *command, *argument),
            other => {
                let name = format!("{other:?}");
                let name = name.split([' ', '{']).next().unwrap_or_default();
                return Err(Unsupported(format!("smoltcp has no call {name}")));
            }
        })
    }

    fn accept_call(&mut self, fd: Fd, nonblocking: bool) -> Step {
        let waits = !self.sockets.get(fd)?.nonblocking;
        match self.accept(fd, nonblocking)? {
            Some(accepted) => Ok(Some(i64::from(accepted.0))),
            None if waits => Ok(None),
            None => Err(EAGAIN),
        }
    }

    fn receive_data(&mut self, fd: Fd, len: usize, dont_wait: bool) -> Step {
        let (connection, state) = self.connection(fd)?;
        let nonblocking = dont_wait || self.sockets.get(fd)?.nonblocking;
        let socket = self.stack.get(connection.handle);
        if socket.recv_queue() > 0 {
            let mut buffer = vec![0; len];
            let taken = socket.recv_slice(&mut buffer).map_err(|_| ENOTCONN)?;
            return Ok(Some(taken as i64));
        }
        let is_reset = state == State::Closed && connection.opened && !connection.shut;
        match socket.may_recv() {
            _ if is_reset => Err(ECONNRESET),
            false if connection.opened => Ok(Some(0)),
            _ if nonblocking => Err(EAGAIN),
            _ => Ok(None),
        }
    }

    fn shut(&mut self, fd: Fd) -> Step {
        let (connection, _) = self.connection(fd)?;
        self.stack.get(connection.handle).close();
        if let Kind::Connection(connection) = &mut self.sockets.get(fd)?.kind {
            connection.shut = true;
        }
        Ok(Some(0))
    }

    fn set_option(
        &mut self,
        fd: Fd,
        option: (i32, i32),
        value: &[u8],
    ) -> Result<Step, Unsupported> {
        let is_set = value.iter().any(|byte| *byte != 0);
        let descriptor = match self.sockets.get(fd) {
            Ok(descriptor) => descriptor,
            Err(errno) => return Ok(Err(errno)),
        };
        match option {
            (SOL_SOCKET, SO_REUSEADDR | SO_REUSEPORT) => {}
            (SOL_TCP, TCP_NODELAY) => descriptor.nodelay = is_set,
            (SOL_TCP, TCP_CONGESTION) if matches!(descriptor.kind, Kind::New) => {
                let name = String::from_utf8_lossy(value);
                let name = name.trim_end_matches('\0').parse::<Control>();
                descriptor.control = name.map_err(Unsupported)?;
            }
            (level, name) => {
                return Err(Unsupported(format!("smoltcp has no option {name} of level {level}")));
            }
        }
        let nagle = !descriptor.nodelay;
        if let Kind::Connection(connection) = descriptor.kind {
            self.stack.get(connection.handle).set_nagle_enabled(nagle);
        }
        Ok(Ok(Some(0)))
    }

    fn get_option(&mut self, fd: Fd, level: i32, name: i32) -> Result<Return, Unsupported> {
        if (level, name) != (SOL_SOCKET, SO_ERROR) {
            return Err(Unsupported(format!("smoltcp has no option {name} of level {level}")));
        }
        let error = match self.connection(fd) {
            Ok((connection, State::Closed)) if !connection.opened => ECONNREFUSED,
            Ok((connection, State::Closed)) if !connection.shut => ECONNRESET,
            _ => 0,
        };
        let outcome = Outcome::Option(error.to_ne_bytes().to_vec());
        Ok(Return { value: Ok(0), outcome })
    }

    fn fcntl(&mut self, fd: Fd, command: i32, argument: i64) -> Step {
        let descriptor = self.sockets.get(fd)?;
        match command {
            F_GETFL if descriptor.nonblocking => Ok(Some(O_RDWR | O_NONBLOCK)),
            F_GETFL => Ok(Some(O_RDWR)),
            F_SETFL => {
                descriptor.nonblocking = argument & O_NONBLOCK != 0;
                Ok(Some(0))
            }
            _ => Err(EOPNOTSUPP),
        }
    }

    /// The end of a `poll`, if there are events or its time is over.
    fn polled(&mut self, fds: &[(Fd, i16)], is_over: bool) -> Option<Return> {
        let events: Vec<i16> =
            fds.iter().map(|(fd, asked)| self.events(*fd) & (asked | POLLHUP)).collect();
        let count = events.iter().filter(|events| **events != 0).count();
        (count > 0 || is_over)
            .then_some(Return { value: Ok(count as i64), outcome: Outcome::Polled(events) })
    }

    fn events(&mut self, fd: Fd) -> i16 {
        let Ok((connection, state)) = self.connection(fd) else { return self.listener_events(fd) };
        let socket = self.stack.get(connection.handle);
        let ends = connection.opened && !socket.may_recv();
        let mut events = if socket.can_recv() || ends { POLLIN } else { 0 };
        events |= if socket.can_send() { POLLOUT } else { 0 };
        events | if state == State::Closed { POLLHUP | POLLOUT } else { 0 }
    }

    fn listener_events(&mut self, fd: Fd) -> i16 {
        let Ok(descriptor) = self.sockets.get(fd) else { return 0 };
        let Kind::Listener(listening) = &descriptor.kind else { return 0 };
        let waits = |state| !matches!(state, State::Listen | State::SynReceived | State::Closed);
        let handles = listening.clone();
        let any = handles.into_iter().any(|handle| waits(self.stack.get(handle).state()));
        if any { POLLIN } else { 0 }
    }
}

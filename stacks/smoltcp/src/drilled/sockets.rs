//! The descriptors of a program, and the sockets of smoltcp behind them.

use super::Machine;
use super::numbers::*;
use crate::stack::{Control, SocketOptions};
use smoltcp::iface::SocketHandle;
use smoltcp::socket::tcp::State;
use std::collections::BTreeMap;
use std::net::IpAddr;
use windlass_base::Span;
use windlass_drill::{Fd, Setup, Unsupported};

/// The first descriptor of a program; those before it are its streams.
const FIRST: i32 = 3;
/// The first port of connections that the host opens.
const PORTS: u16 = 40_000;
/// Connections that a listener can have before the program accepts one.
const BACKLOG: i32 = 8;
/// smoltcp's own default.
const ACK_DELAY: Span = Span::from_millis(10);

/// A descriptor.
#[derive(Debug)]
pub(super) struct Descriptor {
    pub(super) nonblocking: bool,
    pub(super) control: Control,
    pub(super) nodelay: bool,
    pub(super) kind: Kind,
}

#[derive(Debug)]
pub(super) enum Kind {
    /// Neither connects nor listens.
    New,
    /// A socket of smoltcp takes one connection: a listener has several.
    Listener(Vec<SocketHandle>),
    Connection(Connection),
}

#[derive(Copy, Clone, Debug)]
pub(super) struct Connection {
    pub(super) handle: SocketHandle,
    /// The handshake was over once.
    pub(super) opened: bool,
    /// The program has closed its direction.
    pub(super) shut: bool,
}

/// The descriptors.
#[derive(Debug)]
pub(crate) struct Sockets {
    pub(super) all: BTreeMap<Fd, Descriptor>,
    next: i32,
    next_port: u16,
    control: Control,
    pub(super) local_port: u16,
    pub(super) remote: (IpAddr, u16),
}

impl Sockets {
    pub(super) fn new(control: Control, setup: &Setup) -> Sockets {
        Sockets {
            all: BTreeMap::new(),
            next: FIRST,
            next_port: PORTS,
            control,
            local_port: setup.local_port,
            remote: (setup.remote, setup.remote_port),
        }
    }

    pub(super) fn add(&mut self, nonblocking: bool) -> Fd {
        let control = self.control;
        self.insert(Descriptor { nonblocking, control, nodelay: false, kind: Kind::New })
    }

    pub(super) fn insert(&mut self, descriptor: Descriptor) -> Fd {
        let fd = Fd(self.next);
        self.next += 1;
        self.all.insert(fd, descriptor);
        fd
    }

    pub(super) fn ephemeral_port(&mut self) -> u16 {
        self.next_port += 1;
        self.next_port - 1
    }

    pub(super) fn get(&mut self, fd: Fd) -> Result<&mut Descriptor, i32> {
        self.all.get_mut(&fd).ok_or(EBADF)
    }
}

impl Descriptor {
    fn options(&self) -> SocketOptions {
        SocketOptions {
            control: self.control,
            timestamps: false,
            nagle: !self.nodelay,
            ack_delay: Some(ACK_DELAY),
            receive_buffer: 65_535,
            send_buffer: 65_535,
        }
    }
}

impl Machine {
    /// A connection of a descriptor, with the state of its socket.
    pub(super) fn connection(&mut self, fd: Fd) -> Result<(Connection, State), i32> {
        let descriptor = self.sockets.get(fd)?;
        let Kind::Connection(connection) = &mut descriptor.kind else { return Err(ENOTCONN) };
        let state = self.stack.get(connection.handle).state();
        let opening = matches!(state, State::SynSent | State::SynReceived);
        connection.opened |= !opening && state != State::Closed;
        Ok((*connection, state))
    }

    /// Begins to open a connection.
    pub(super) fn open(&mut self, fd: Fd) -> Result<(), i32> {
        let port = self.sockets.ephemeral_port();
        let remote = self.sockets.remote;
        let options = match self.sockets.get(fd)? {
            descriptor if matches!(descriptor.kind, Kind::New) => descriptor.options(),
            _ => return Err(EISCONN),
        };
        let handle = self.stack.socket(&options);
        self.stack.connect(handle, remote, port).map_err(|_| EINVAL)?;
        let connection = Connection { handle, opened: false, shut: false };
        self.sockets.get(fd)?.kind = Kind::Connection(connection);
        Ok(())
    }

    pub(super) fn listen(&mut self, fd: Fd, backlog: i32) -> Result<(), i32> {
        let options = self.sockets.get(fd)?.options();
        let mut listening = Vec::new();
        for _ in 0..backlog.clamp(1, BACKLOG) {
            listening.push(self.listening(&options)?);
        }
        self.sockets.get(fd)?.kind = Kind::Listener(listening);
        Ok(())
    }

    fn listening(&mut self, options: &SocketOptions) -> Result<SocketHandle, i32> {
        let handle = self.stack.socket(options);
        let port = self.sockets.local_port;
        self.stack.get(handle).listen(port).map_err(|_| EINVAL)?;
        Ok(handle)
    }

    /// A connection that is open and waits for the program; another socket listens in its place.
    pub(super) fn accept(&mut self, fd: Fd, nonblocking: bool) -> Result<Option<Fd>, i32> {
        let descriptor = self.sockets.get(fd)?;
        let (options, control, nodelay) =
            (descriptor.options(), descriptor.control, descriptor.nodelay);
        let Kind::Listener(listening) = &descriptor.kind else { return Err(EINVAL) };
        let waits = |state| !matches!(state, State::Listen | State::SynReceived | State::Closed);
        let found =
            listening.clone().into_iter().find(|handle| waits(self.stack.get(*handle).state()));
        let Some(handle) = found else { return Ok(None) };
        let next = self.listening(&options)?;
        if let Kind::Listener(listening) = &mut self.sockets.get(fd)?.kind {
            listening.retain(|known| *known != handle);
            listening.push(next);
        }
        let connection = Connection { handle, opened: true, shut: false };
        let kind = Kind::Connection(connection);
        Ok(Some(self.sockets.insert(Descriptor { nonblocking, control, nodelay, kind })))
    }

    /// Closes a descriptor. Its connection goes on until it is closed, too.
    pub(super) fn close(&mut self, fd: Fd) -> Result<(), i32> {
        match self.sockets.all.remove(&fd).ok_or(EBADF)?.kind {
            Kind::New => {}
            Kind::Listener(listening) => {
                listening.into_iter().for_each(|handle| self.stack.remove(handle));
            }
            Kind::Connection(connection) => self.stack.get(connection.handle).close(),
        }
        Ok(())
    }

    /// smoltcp shows the state of a socket, and nothing of its congestion control.
    pub(super) fn info(&mut self, fd: Fd) -> Result<BTreeMap<String, i64>, Unsupported> {
        let not_one = |_| Unsupported(format!("{fd:?} is no connection"));
        let (_, state) = self.connection(fd).map_err(not_one)?;
        // Linux's numbers of the states (include/net/tcp_states.h).
        let number = match state {
            State::Established => 1,
            State::SynSent => 2,
            State::SynReceived => 3,
            State::FinWait1 => 4,
            State::FinWait2 => 5,
            State::TimeWait => 6,
            State::Closed => 7,
            State::CloseWait => 8,
            State::LastAck => 9,
            State::Listen => 10,
            State::Closing => 11,
        };
        Ok(BTreeMap::from([("tcpi_state".to_owned(), number)]))
    }
}

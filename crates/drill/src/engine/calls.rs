//! The system calls of a program, with Linux's errors.

use super::abi::{errno, level, misc, msg};
use super::link::Owner;
use super::machine::Machine;
use super::queue::Write;
use super::socket::{Descriptor, Epoll, Kind, LinkId, Listener, Socket};
use crate::call::{Call, Control, Fd, Outcome, Return};
use crate::subject::Unsupported;
use windlass_base::{Span, Time};
use windlass_tcp::State;

/// A call that was begun.
#[derive(Clone, Debug)]
pub(super) struct Open {
    call: Call,
    /// When it returns at the latest, if it says so.
    pub(super) until: Option<Time>,
    /// Bytes that it has moved.
    moved: u64,
}

/// Whether a call has ended.
type Progress = Result<Option<Return>, Unsupported>;

impl Open {
    pub(super) fn new(call: Call, now: Time) -> Open {
        let timeout_ms = match call {
            Call::Poll { timeout_ms, .. } | Call::EpollWait { timeout_ms, .. } => timeout_ms,
            _ => -1,
        };
        let until = u64::try_from(timeout_ms).ok().map(|ms| now + Span::from_millis(ms));
        Open { call, until, moved: 0 }
    }

    /// Goes on with the call as far as it does not block.
    pub(super) fn proceed(&mut self, machine: &mut Machine) -> Progress {
        let expired = self.until.is_some_and(|until| until <= machine.now);
        let returned = match &self.call {
            Call::Socket { nonblocking } => machine.open_socket(*nonblocking),
            Call::Bind { fd } => value(machine.bind(*fd)),
            Call::Listen { fd, backlog } => value(machine.listen(*fd, *backlog)),
            Call::Accept { fd, nonblocking } => return Ok(machine.accept(*fd, *nonblocking)),
            Call::Connect { fd } => return Ok(machine.open_connection(*fd)),
            Call::Disconnect { fd } => value(machine.disconnect(*fd)),
            Call::Receive { fd, len, flags } => return Ok(machine.read(*fd, *len, *flags)),
            Call::ReceiveMessage { fd, lens, control, flags } => {
                return Ok(machine.read_message(*fd, lens.iter().sum(), *control, *flags));
            }
            Call::Send { fd, len, flags } => {
                return Ok(machine.write(*fd, *len as u64, *flags, &mut self.moved));
            }
            Call::SendMessage { fd, lens, control, flags } => {
                if !control.is_empty() {
                    return Err(unsupported("control messages of `sendmsg`"));
                }
                let len = lens.iter().sum::<usize>() as u64;
                return Ok(machine.write(*fd, len, *flags, &mut self.moved));
            }
            Call::SendFile { fd, len } => {
                return Ok(machine.write(*fd, *len as u64, 0, &mut self.moved));
            }
            Call::NullBuffer { fd, sends, flags, .. } => {
                return Ok(machine.move_nothing(*fd, *sends, *flags));
            }
            Call::Shutdown { fd, how } => value(machine.shut_down(*fd, *how)),
            Call::Close { fd } => value(machine.close(*fd)),
            Call::SetOption { fd, level, name, value: bytes } => {
                value(machine.set_option(*fd, *level, *name, bytes)?)
            }
            Call::GetOption { fd, level, name, len } => {
                machine.get_option(*fd, *level, *name, *len)?
            }
            Call::Poll { fds, .. } => return Ok(machine.poll(fds, expired)),
            Call::Fcntl { fd, command, argument } => {
                value(machine.control(*fd, *command, *argument)?)
            }
            Call::Ioctl { fd, request } => machine.count_queued(*fd, *request)?,
            Call::EpollCreate => {
                let fd = machine.open(Descriptor::Epoll(Epoll::default()));
                Return::value(fd.0.into())
            }
            Call::EpollControl { epoll, operation, fd, events } => {
                value(machine.epoll_control(*epoll, *operation, *fd, *events)?)
            }
            Call::EpollWait { epoll, most, .. } => {
                return Ok(machine.epoll_wait(*epoll, *most, expired));
            }
        };
        Ok(Some(returned))
    }
}

fn unsupported(what: &str) -> Unsupported {
    Unsupported(format!("the engine's host lacks {what}"))
}

/// The end of a call that returns a number.
fn value(result: Result<i64, i32>) -> Return {
    Return { value: result, outcome: Outcome::None }
}

/// The end of a call that blocks as it is, or fails with EAGAIN.
fn blocks(nonblocking: bool) -> Option<Return> {
    nonblocking.then(|| Return::error(errno::EAGAIN))
}

/// Opening and closing.
impl Machine {
    fn open_socket(&mut self, nonblocking: bool) -> Return {
        let fd = self.open(Descriptor::Socket(Socket { nonblocking, ..Socket::default() }));
        Return::value(fd.0.into())
    }

    fn bind(&mut self, fd: Fd) -> Result<i64, i32> {
        let port = self.local_port();
        let taken = |(other, descriptor): (&Fd, &Descriptor)| {
            *other != fd
                && matches!(descriptor, Descriptor::Socket(Socket { port: Some(at), kind: Kind::Listener(_), .. }) if *at == port)
        };
        if self.descriptors.iter().any(taken) {
            return Err(errno::EADDRINUSE);
        }
        let socket = self.socket(fd)?;
        if socket.port.is_some() {
            return Err(errno::EINVAL);
        }
        socket.port = Some(port);
        Ok(0)
    }

    fn listen(&mut self, fd: Fd, backlog: i32) -> Result<i64, i32> {
        let port = self.local_port();
        let socket = self.socket(fd)?;
        let backlog = backlog.max(0) as usize;
        match &mut socket.kind {
            Kind::Fresh => {
                socket.kind = Kind::Listener(Listener { backlog, ..Listener::default() });
            }
            Kind::Listener(listener) => listener.backlog = backlog,
            _ => return Err(errno::EINVAL),
        }
        socket.port.get_or_insert(port);
        Ok(0)
    }

    fn accept(&mut self, fd: Fd, nonblocking: bool) -> Option<Return> {
        let socket = match self.socket(fd) {
            Ok(socket) => socket,
            Err(error) => return Some(Return::error(error)),
        };
        let waits = !socket.nonblocking;
        let Kind::Listener(listener) = &mut socket.kind else {
            return Some(Return::error(errno::EINVAL));
        };
        let Some(id) = listener.ready.pop_front() else { return blocks(!waits) };
        let options = self.links.get(&id).map(|link| link.options.clone()).unwrap_or_default();
        let port = Some(self.local_port());
        let socket =
            Socket { nonblocking, opening: false, options, port, kind: Kind::Connected(id) };
        let fd = self.open(Descriptor::Socket(socket));
        if let Some(link) = self.links.get_mut(&id) {
            link.owner = Owner::Socket(fd);
        }
        Some(Return::value(fd.0.into()))
    }

    fn open_connection(&mut self, fd: Fd) -> Option<Return> {
        match self.try_connect(fd) {
            Ok(connected) => connected.then(|| Return::value(0)),
            Err(error) => Some(Return::error(error)),
        }
    }

    /// True once the connection is open, false while a call that blocks waits for it.
    fn try_connect(&mut self, fd: Fd) -> Result<bool, i32> {
        let socket = self.socket(fd)?;
        let (nonblocking, waiting) = (socket.nonblocking, socket.opening);
        match &socket.kind {
            Kind::Fresh | Kind::Failed { .. } => {
                socket.opening = true;
                self.connect(fd)?;
                return if nonblocking { Err(errno::EINPROGRESS) } else { Ok(false) };
            }
            Kind::Listener(_) => return Err(errno::EISCONN),
            Kind::Connected(_) => {}
        }
        let (state, error) = match self.link_of(fd)? {
            Some(link) => (link.connection.state(), link.error.take()),
            None => (State::Closed, None),
        };
        if let Some(error) = error {
            self.fail_opening(fd)?;
            return Err(error);
        }
        match state {
            State::SynSent | State::SynReceived if nonblocking => Err(errno::EALREADY),
            State::SynSent | State::SynReceived => Ok(false),
            State::Closed => Err(errno::ECONNABORTED),
            _ if waiting => {
                self.socket(fd)?.opening = false;
                Ok(true)
            }
            _ => Err(errno::EISCONN),
        }
    }

    /// A connection could not be opened: its socket may try again.
    fn fail_opening(&mut self, fd: Fd) -> Result<(), i32> {
        let socket = self.socket(fd)?;
        socket.opening = false;
        if let Kind::Connected(id) =
            std::mem::replace(&mut socket.kind, Kind::Failed { error: None })
        {
            self.links.remove(&id);
        }
        Ok(())
    }

    fn shut_down(&mut self, fd: Fd, how: i32) -> Result<i64, i32> {
        if !(misc::SHUT_RD..=misc::SHUT_RDWR).contains(&how) {
            return Err(errno::EINVAL);
        }
        let clock = self.clock();
        let Kind::Connected(id) = self.socket(fd)?.kind else { return Err(errno::ENOTCONN) };
        let link = self.links.get_mut(&id).ok_or(errno::ENOTCONN)?;
        if link.connection.state() == State::Closed {
            return Err(errno::ENOTCONN);
        }
        link.reads_nothing |= how != misc::SHUT_WR;
        if how != misc::SHUT_RD {
            link.queue.fin = true;
            link.push(clock);
        }
        self.settle(id);
        Ok(0)
    }

    fn close(&mut self, fd: Fd) -> Result<i64, i32> {
        let descriptor = self.descriptors.remove(&fd).ok_or(errno::EBADF)?;
        self.unwatch(fd);
        let Descriptor::Socket(socket) = descriptor else { return Ok(0) };
        match socket.kind {
            Kind::Listener(_) => self.drop_unaccepted(fd),
            Kind::Connected(id) => self.abandon(id, socket.options.linger),
            _ => {}
        }
        Ok(0)
    }

    /// The connections of a listener that were not accepted end with a reset; handshakes are forgotten
    /// (`inet_csk_listen_stop`).
    fn drop_unaccepted(&mut self, fd: Fd) {
        let waiting: Vec<_> = self
            .links
            .iter()
            .filter(|(_, link)| link.owner == Owner::Listener(fd))
            .map(|(id, _)| *id)
            .collect();
        for id in waiting {
            let Some(link) = self.links.get_mut(&id) else { continue };
            link.owner = Owner::Orphan;
            if link.connection.state() == State::SynReceived {
                self.links.remove(&id);
            } else {
                link.connection.abort();
                self.settle(id);
            }
        }
    }

    /// A socket is as new again (`tcp_disconnect`). Its connection ends with a reset.
    fn disconnect(&mut self, fd: Fd) -> Result<i64, i32> {
        let socket = self.socket(fd)?;
        socket.opening = false;
        match std::mem::take(&mut socket.kind) {
            Kind::Listener(_) => self.drop_unaccepted(fd),
            Kind::Connected(id) => {
                if let Some(link) = self.links.get_mut(&id) {
                    link.owner = Owner::Orphan;
                    link.connection.abort();
                }
                self.settle(id);
            }
            Kind::Fresh | Kind::Failed { .. } => {}
        }
        Ok(0)
    }

    /// A connection loses its socket (`tcp_close`).
    fn abandon(&mut self, id: LinkId, linger: Option<i32>) {
        let clock = self.clock();
        let Some(link) = self.links.get_mut(&id) else { return };
        link.owner = Owner::Orphan;
        link.wants_room = false;
        if link.connection.state() == State::SynSent {
            // Nothing of it was answered, so nothing needs a reset.
            self.links.remove(&id);
            return;
        }
        // RFC 2525 section 2.17: unread data is lost, which a reset tells the peer.
        if link.connection.readable() > 0 || linger == Some(0) {
            link.connection.abort();
        } else {
            link.queue.fin = true;
            link.push(clock);
        }
        self.settle(id);
    }
}

/// Data that a program reads and writes.
impl Machine {
    fn read(&mut self, fd: Fd, len: usize, flags: i32) -> Option<Return> {
        match self.try_read(fd, len as u64, flags) {
            Ok(Some(bytes)) => Some(Return::value(bytes as i64)),
            Ok(None) => None,
            Err(error) => Some(Return::error(error)),
        }
    }

    /// The bytes read; `None` while the call blocks.
    fn try_read(&mut self, fd: Fd, len: u64, flags: i32) -> Result<Option<u64>, i32> {
        let nonblocking = self.socket(fd)?.nonblocking || flags & msg::DONTWAIT != 0;
        let Kind::Connected(id) = self.socket(fd)?.kind else { return Err(errno::ENOTCONN) };
        let link = self.links.get_mut(&id).ok_or(errno::ENOTCONN)?;
        let readable = link.connection.readable();
        let state = link.connection.state();
        let ended = link.connection.peer_closed() || link.reads_nothing || state == State::Closed;
        let enough = flags & msg::WAITALL == 0 || readable >= len || ended || nonblocking;
        if readable > 0 && enough {
            let taken = readable.min(len);
            if flags & msg::PEEK == 0 {
                link.connection.read(taken).unwrap_or_default();
                self.settle(id);
            }
            return Ok(Some(taken));
        }
        if let Some(error) = link.error.take() {
            return Err(error);
        }
        if ended {
            return Ok(Some(0));
        }
        if matches!(state, State::SynSent) && nonblocking {
            return Err(errno::EAGAIN);
        }
        if nonblocking { Err(errno::EAGAIN) } else { Ok(None) }
    }

    fn read_message(&mut self, fd: Fd, len: usize, control: bool, flags: i32) -> Option<Return> {
        let mut returned = self.read(fd, len, flags & !msg::TRUNC)?;
        let wants_count = control && self.socket(fd).is_ok_and(|socket| socket.options.inq);
        let mut messages = Vec::new();
        if wants_count && returned.value.is_ok() {
            let left = self.link_of(fd).ok().flatten().map_or(0, |link| {
                // Linux counts one byte at the end of the stream, so that the program reads on and sees it.
                let ended = i32::from(link.connection.peer_closed());
                (link.connection.readable() as i32).max(ended)
            });
            let data = left.to_ne_bytes().to_vec();
            messages.push(Control { level: level::TCP, kind: misc::CM_INQ, data });
        }
        returned.outcome = Outcome::Message { flags: 0, control: messages };
        Some(returned)
    }

    /// Writes up to `len` bytes, of which `moved` are written; `None` while the call blocks.
    fn write(&mut self, fd: Fd, len: u64, flags: i32, moved: &mut u64) -> Option<Return> {
        match self.try_write(fd, len, flags, moved) {
            Ok(true) => Some(Return::value(*moved as i64)),
            Ok(false) => None,
            Err(_) if *moved > 0 => Some(Return::value(*moved as i64)),
            Err(error) => Some(Return::error(error)),
        }
    }

    fn try_write(&mut self, fd: Fd, len: u64, flags: i32, moved: &mut u64) -> Result<bool, i32> {
        let clock = self.clock();
        let nonblocking = self.socket(fd)?.nonblocking || flags & msg::DONTWAIT != 0;
        let buffer = self.socket(fd)?.options.send_buffer.is_some();
        let send_buffer = {
            let settings = self.settings.clone();
            self.socket(fd)?.options.send_buffer(&settings)
        };
        let Kind::Connected(id) = self.socket(fd)?.kind else { return Err(errno::EPIPE) };
        let link = self.links.get_mut(&id).ok_or(errno::EPIPE)?;
        if let Some(error) = link.error.take() {
            return Err(error);
        }
        let opening = matches!(link.connection.state(), State::SynSent | State::SynReceived);
        if opening && nonblocking {
            return Err(errno::EAGAIN);
        }
        if opening {
            return Ok(false);
        }
        if !link.connection.can_write() || link.queue.fin {
            return Err(errno::EPIPE);
        }
        while *moved < len && link.has_room(send_buffer, link.wants_room) {
            let step = if buffer { link.size_goal() } else { len };
            let step = step.min(len - *moved);
            *moved += step;
            let whole = *moved == len;
            let write = Write {
                more: flags & msg::MORE != 0 && whole,
                ends_record: flags & msg::EOR != 0 && whole,
            };
            link.queue.push(step, write);
            link.wants_room = false;
        }
        link.wants_room = *moved < len;
        link.push(clock);
        self.settle(id);
        match *moved < len {
            true if nonblocking => Err(errno::EAGAIN),
            more => Ok(!more),
        }
    }

    /// A call whose buffer is no memory of the program.
    fn move_nothing(&mut self, fd: Fd, sends: bool, flags: i32) -> Option<Return> {
        let may = match sends {
            true => self.try_write(fd, 0, flags, &mut 0).map(Some),
            false => {
                self.try_read(fd, 1, flags | msg::PEEK).map(|read| read.map(|bytes| bytes > 0))
            }
        };
        match may {
            Ok(Some(true)) => Some(Return::error(errno::EFAULT)),
            Ok(Some(false)) => Some(Return::value(0)),
            Ok(None) => None,
            Err(error) => Some(Return::error(error)),
        }
    }
}

/// The rest.
impl Machine {
    fn control(
        &mut self,
        fd: Fd,
        command: i32,
        argument: i64,
    ) -> Result<Result<i64, i32>, Unsupported> {
        let socket = match self.socket(fd) {
            Ok(socket) => socket,
            Err(error) => return Ok(Err(error)),
        };
        Ok(Ok(match command {
            misc::F_GETFL => misc::O_RDWR | if socket.nonblocking { misc::O_NONBLOCK } else { 0 },
            misc::F_SETFL => {
                socket.nonblocking = argument & misc::O_NONBLOCK != 0;
                0
            }
            misc::F_GETFD | misc::F_SETFD => 0,
            _ => return Err(unsupported(&format!("command {command} of `fcntl`"))),
        }))
    }

    fn count_queued(&mut self, fd: Fd, request: u64) -> Result<Return, Unsupported> {
        let link = match self.link_of(fd) {
            Ok(Some(link)) => link,
            Ok(None) => return Ok(Return::error(errno::EINVAL)),
            Err(error) => return Ok(Return::error(error)),
        };
        let number = match request {
            misc::SIOCINQ => link.connection.readable(),
            misc::SIOCOUTQ => link.unacknowledged(),
            misc::SIOCOUTQNSD => link.unsent(),
            _ => return Err(unsupported(&format!("request {request:#x} of `ioctl`"))),
        };
        Ok(Return { value: Ok(0), outcome: Outcome::Number(number as i64) })
    }
}

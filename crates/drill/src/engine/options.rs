//! `setsockopt` and `getsockopt`.

use super::abi::{errno, ip, level, so, tcp};
use super::machine::Machine;
use super::socket::{Kind, Options};
use crate::call::{Fd, Outcome, Return};
use crate::subject::Unsupported;
use windlass_tcp::State;

/// Linux's least sizes of buffers (SOCK_MIN_SNDBUF, SOCK_MIN_RCVBUF), in bytes.
const SEND_BUFFER_MIN: u64 = 4608;
const RECEIVE_BUFFER_MIN: u64 = 2304;
/// The range of TCP_MAXSEG (TCP_MIN_MSS, MAX_TCP_WINDOW).
const MAXSEG: std::ops::RangeInclusive<i32> = 88..=32_767;

/// Options that are stored and change nothing here.
const STORED: &[(i32, i32)] = &[
    (level::SOCKET, so::REUSEADDR),
    (level::SOCKET, so::REUSEPORT),
    (level::SOCKET, so::PRIORITY),
    (level::SOCKET, so::MARK),
    (level::IP, ip::MTU_DISCOVER),
    (level::IPV6, ip::V6_MTU_DISCOVER),
    (level::TCP, tcp::NOTSENT_LOWAT),
];

impl Machine {
    /// Sets an option. The outer error is for options that the host lacks.
    pub(super) fn set_option(
        &mut self,
        fd: Fd,
        level: i32,
        name: i32,
        value: &[u8],
    ) -> Result<Result<i64, i32>, Unsupported> {
        if let Err(error) = self.socket(fd) {
            return Ok(Err(error));
        }
        if (level, name) == (level::TCP, tcp::CONGESTION) {
            return Ok(self.set_controller(fd, value));
        }
        let Some(number) = number(value) else { return Ok(Err(errno::EINVAL)) };
        let lacks =
            || Unsupported(format!("the engine's host lacks option {name} of level {level}"));
        let set = match level {
            level::SOCKET => self.set_socket_option(fd, name, number, value),
            level::TCP => self.set_tcp_option(fd, name, number),
            level::IP | level::IPV6 => self.set_ip_option(fd, level, name, number),
            _ => None,
        };
        if set.is_none() && !STORED.contains(&(level, name)) {
            return Err(lacks());
        }
        let done = set.unwrap_or_else(|| {
            self.change(fd, |options| options.store(level, name, number));
            Ok(())
        });
        self.take_effect(fd, level, name);
        Ok(done.map(|()| 0))
    }

    /// Changes the options of a socket and of its connection.
    fn change(&mut self, fd: Fd, change: impl Fn(&mut Options)) {
        if let Ok(socket) = self.socket(fd) {
            change(&mut socket.options);
        }
        if let Ok(Some(link)) = self.link_of(fd) {
            change(&mut link.options);
        }
    }

    fn set_socket_option(
        &mut self,
        fd: Fd,
        name: i32,
        number: i32,
        value: &[u8],
    ) -> Option<Result<(), i32>> {
        // Linux doubles the sizes, for its bookkeeping.
        let doubled = u64::from(number.unsigned_abs()) * 2;
        match name {
            so::SNDBUF => self.change(fd, |o| o.send_buffer = Some(doubled.max(SEND_BUFFER_MIN))),
            so::RCVBUF => {
                self.change(fd, |o| o.receive_buffer = Some(doubled.max(RECEIVE_BUFFER_MIN)));
            }
            so::KEEPALIVE => self.change(fd, |o| o.keep_alive = number != 0),
            so::LINGER => {
                let seconds = number_at(value, 4)?;
                self.change(fd, |o| o.linger = (number != 0).then_some(seconds));
            }
            so::ERROR | so::ACCEPTCONN => return Some(Err(errno::ENOPROTOOPT)),
            _ => return None,
        }
        Some(Ok(()))
    }

    fn set_tcp_option(&mut self, fd: Fd, name: i32, number: i32) -> Option<Result<(), i32>> {
        let count = u32::try_from(number).ok();
        match name {
            tcp::NODELAY => self.change(fd, |o| o.nodelay = number != 0),
            tcp::CORK => self.change(fd, |o| o.cork = number != 0),
            tcp::QUICKACK => self.change(fd, |o| o.quickack = number != 0),
            tcp::INQ if !(0..=1).contains(&number) => return Some(Err(errno::EINVAL)),
            tcp::INQ => self.change(fd, |o| o.inq = number != 0),
            tcp::MAXSEG if number != 0 && !MAXSEG.contains(&number) => {
                return Some(Err(errno::EINVAL));
            }
            tcp::MAXSEG => {
                self.change(fd, |o| o.max_segment = u16::try_from(number).ok().filter(|n| *n > 0));
            }
            tcp::SYNCNT => self.change(fd, |o| o.syn_retries = count),
            tcp::USER_TIMEOUT if count.is_none() => return Some(Err(errno::EINVAL)),
            tcp::USER_TIMEOUT => self.change(fd, |o| o.user_timeout_ms = count.unwrap_or(0)),
            tcp::KEEPIDLE | tcp::KEEPINTVL | tcp::KEEPCNT if number < 1 => {
                return Some(Err(errno::EINVAL));
            }
            tcp::KEEPIDLE => self.change(fd, |o| o.keep_idle_s = Some(number.into())),
            tcp::KEEPINTVL => self.change(fd, |o| o.keep_interval_s = Some(number.into())),
            tcp::KEEPCNT => self.change(fd, |o| o.keep_probes = Some(number.into())),
            tcp::LINGER2 => self.change(fd, |o| o.fin_timeout_s = Some(number.into())),
            _ => return None,
        }
        Some(Ok(()))
    }

    fn set_ip_option(
        &mut self,
        fd: Fd,
        level: i32,
        name: i32,
        number: i32,
    ) -> Option<Result<(), i32>> {
        match (level, name) {
            // The ECN field is TCP's.
            (level::IP, ip::TOS) | (level::IPV6, ip::V6_TCLASS) => {
                self.change(fd, |o| o.tos = number as u8 & !0b11);
            }
            (level::IP, ip::TTL) => match u8::try_from(number) {
                Ok(ttl) if ttl > 0 => self.change(fd, |o| o.ttl = ttl),
                _ => return Some(Err(errno::EINVAL)),
            },
            _ => return None,
        }
        Some(Ok(()))
    }

    fn set_controller(&mut self, fd: Fd, value: &[u8]) -> Result<i64, i32> {
        let name = String::from_utf8_lossy(value);
        let name = name.trim_end_matches('\0').to_owned();
        let factory = super::controller::controller(&name).ok_or(errno::ENOENT)?;
        self.change(fd, |options| options.controller = Some(name.clone()));
        if let Some(link) = self.link_of(fd)? {
            link.connection.set_congestion(factory);
        }
        Ok(0)
    }

    /// An option of a connection takes effect at once.
    fn take_effect(&mut self, fd: Fd, level: i32, name: i32) {
        let clock = self.clock();
        let Ok(Some(link)) = self.link_of(fd) else { return };
        match (level, name) {
            (level::TCP, tcp::NODELAY) if link.options.nodelay => {
                // It overrides TCP_CORK and MSG_MORE for what was written before.
                let pushes = !link.queue.expects_more();
                link.connection.set_nagle(false);
                link.release(clock, pushes);
            }
            (level::TCP, tcp::NODELAY) => link.connection.set_nagle(true),
            (level::TCP, tcp::CORK) if !link.options.cork => {
                link.queue.end_more();
                link.push(clock);
            }
            (level::TCP, tcp::QUICKACK) if link.options.quickack => {
                link.connection.acknowledge_now();
            }
            (level::TCP, tcp::MAXSEG) => {}
            _ => return,
        }
        if let Ok(Kind::Connected(id)) = self.socket(fd).map(|socket| socket.kind.clone()) {
            self.settle(id);
        }
    }

    /// The value of an option.
    pub(super) fn get_option(
        &mut self,
        fd: Fd,
        level: i32,
        name: i32,
        len: usize,
    ) -> Result<Return, Unsupported> {
        let settings = self.settings.clone();
        let link_mss = self.link_mss();
        let socket = match self.socket(fd) {
            Ok(socket) => socket,
            Err(error) => return Ok(Return::error(error)),
        };
        let options = socket.options.clone();
        let listens = matches!(socket.kind, Kind::Listener(_));
        if (level, name) == (level::TCP, tcp::CONGESTION) {
            let name = options.controller.unwrap_or(settings.controller);
            let mut bytes = name.into_bytes();
            bytes.resize(len.min(16), 0);
            return Ok(Return { value: Ok(0), outcome: Outcome::Option(bytes) });
        }
        let flag = |on: bool| u64::from(on);
        let number = match (level, name) {
            (level::SOCKET, so::SNDBUF) => match options.send_buffer {
                Some(bytes) => bytes,
                None => settings.wmem[1].unsigned_abs(),
            },
            (level::SOCKET, so::RCVBUF) => options.receive_buffer(&settings),
            (level::SOCKET, so::ERROR) => self.take_error_of(fd),
            (level::SOCKET, so::KEEPALIVE) => flag(options.keep_alive),
            (level::SOCKET, so::ACCEPTCONN) => flag(listens),
            (level::TCP, tcp::NODELAY) => flag(options.nodelay),
            (level::TCP, tcp::CORK) => flag(options.cork),
            (level::TCP, tcp::INQ) => flag(options.inq),
            (level::TCP, tcp::QUICKACK) => flag(options.quickack),
            (level::TCP, tcp::USER_TIMEOUT) => options.user_timeout_ms.into(),
            (level::TCP, tcp::MAXSEG) => self.segment_of(fd, link_mss),
            (level::IP, ip::TOS) => options.tos.into(),
            (level::IP, ip::TTL) => {
                if options.ttl == 0 {
                    64
                } else {
                    options.ttl.into()
                }
            }
            _ => match options.stored(level, name) {
                Some(number) => u64::from(number.unsigned_abs()),
                None if STORED.contains(&(level, name)) => 0,
                None => {
                    let what = format!("the engine's host lacks option {name} of level {level}");
                    return Err(Unsupported(what));
                }
            },
        };
        let mut bytes = (number as i32).to_ne_bytes().to_vec();
        bytes.truncate(len);
        Ok(Return { value: Ok(0), outcome: Outcome::Option(bytes) })
    }

    /// SO_ERROR, which it clears.
    fn take_error_of(&mut self, fd: Fd) -> u64 {
        let error = match self.socket(fd) {
            Ok(socket) => match &mut socket.kind {
                Kind::Failed { error } => error.take(),
                _ => self.link_of(fd).ok().flatten().and_then(|link| link.error.take()),
            },
            Err(_) => None,
        };
        error.unwrap_or(0).unsigned_abs().into()
    }

    /// TCP_MAXSEG: the segment size in use, or the one asked for.
    fn segment_of(&mut self, fd: Fd, link_mss: u16) -> u64 {
        let asked = self.socket(fd).ok().and_then(|socket| socket.options.max_segment);
        match self.link_of(fd) {
            Ok(Some(link)) if link.connection.state() != State::SynSent => {
                link.connection.mss().into()
            }
            // Linux says the default of RFC 9293 section 3.7.1 before there is a connection.
            _ => asked.map_or(536, |asked| asked.min(link_mss)).into(),
        }
    }
}

impl Options {
    fn store(&mut self, level: i32, name: i32, number: i32) {
        self.stored.retain(|(l, n, _)| (*l, *n) != (level, name));
        self.stored.push((level, name, number));
    }

    fn stored(&self, level: i32, name: i32) -> Option<i32> {
        self.stored.iter().find(|(l, n, _)| (*l, *n) == (level, name)).map(|(_, _, number)| *number)
    }
}

/// The number that an option's value is: an `int`, or one octet.
fn number(value: &[u8]) -> Option<i32> {
    match value {
        [octet] => Some((*octet).into()),
        _ => number_at(value, 0),
    }
}

fn number_at(value: &[u8], at: usize) -> Option<i32> {
    value.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map(i32::from_ne_bytes)
}

//! Makes calls of a script's.

use super::arguments::{Arguments, buffers, int, number, option_value, structure};
use super::control::{Data, message};
use crate::call::{Call, Fd};
use crate::constants;
use crate::script::{CallSpec, Expression};
use windlass_base::suggest::did_you_mean;

/// A call of a script, ready for the subject.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::run) enum Prepared {
    /// For the subject.
    Call(Call),
    /// `open`: the runner keeps files.
    File,
    /// `close` of the script's descriptor, which may be a file.
    CloseFile(i32),
    /// No subject has it; the reason.
    Unsupported(String),
}

/// Every call of packetdrill.
const NAMES: [&str; 33] = [
    "socket",
    "bind",
    "listen",
    "accept",
    "accept4",
    "connect",
    "read",
    "readv",
    "recv",
    "recvfrom",
    "recvmsg",
    "write",
    "writev",
    "send",
    "sendto",
    "sendmsg",
    "fcntl",
    "ioctl",
    "close",
    "shutdown",
    "getsockopt",
    "setsockopt",
    "poll",
    "cap_set",
    "open",
    "sendfile",
    "epoll_create",
    "epoll_ctl",
    "epoll_wait",
    "pipe",
    "splice",
    "psp_rx_assoc",
    "psp_tx_assoc",
];

const AF_UNSPEC: i64 = 0;
const SOCK_STREAM: i64 = 1;
const SOCK_TYPE: i64 = 0xf;
const SOCK_NONBLOCK: i64 = 0o4000;
const POLL: &str = "{fd=3, events=POLLIN, revents=POLLIN}";
pub(super) const EPOLL_EVENT: &str = "{events=EPOLLIN, fd=3}";
pub(super) const EPOLL_FIELDS: [&str; 5] = ["events", "fd", "ptr", "u32", "u64"];

type Live<'a> = &'a dyn Fn(i32) -> Result<Fd, String>;

/// The call with the subject's descriptors.
///
/// # Errors
///
/// An argument is wrong, a constant is unknown, or a descriptor is not open.
pub(in crate::run) fn prepare(spec: &CallSpec, live: Live<'_>) -> Result<Prepared, String> {
    let name = spec.name.as_str();
    if !NAMES.contains(&name) {
        return Err(format!("no system call is named `{name}`{}", did_you_mean(name, NAMES)));
    }
    match name {
        "socket" => socket(spec),
        "open" => Arguments::of(spec, 2..=3).map(|_| Prepared::File),
        "close" => Ok(Prepared::CloseFile(Arguments::of(spec, 1..=1)?.int(0)?)),
        "pipe" | "splice" | "cap_set" | "psp_rx_assoc" | "psp_tx_assoc" => {
            Ok(Prepared::Unsupported(format!("the call {name} is not supported")))
        }
        "read" | "recv" | "recvfrom" | "readv" | "recvmsg" => receive(spec, live),
        "write" | "send" | "sendto" | "writev" | "sendmsg" => send(spec, live),
        "poll" | "epoll_create" | "epoll_ctl" | "epoll_wait" => {
            wait(spec, live).map(Prepared::Call)
        }
        "connect" => connect(spec, live),
        _ => other(spec, live).map(Prepared::Call),
    }
}

fn socket(spec: &CallSpec) -> Result<Prepared, String> {
    let arguments = Arguments::of(spec, 3..=3)?;
    if *arguments.get(0) != Expression::Ellipsis {
        arguments.number(0)?;
    }
    let (kind, protocol) = (arguments.number(1)?, arguments.number(2)?);
    // 0 is the usual protocol of a stream, TCP.
    if kind & SOCK_TYPE != SOCK_STREAM || ![0, 6].contains(&protocol) {
        return Ok(Prepared::Unsupported(
            "sockets other than those of TCP are not supported".to_owned(),
        ));
    }
    Ok(Prepared::Call(Call::Socket { nonblocking: kind & SOCK_NONBLOCK != 0 }))
}

fn connect(spec: &CallSpec, live: Live<'_>) -> Result<Prepared, String> {
    let arguments = Arguments::of(spec, 3..=3)?;
    let fd = live(arguments.int(0)?)?;
    Ok(match arguments.get(1) {
        Expression::Ellipsis => Prepared::Call(Call::Connect { fd }),
        family if number(family) == Ok(AF_UNSPEC) => Prepared::Call(Call::Disconnect { fd }),
        _ => Prepared::Unsupported("connect to another address is not supported".to_owned()),
    })
}

fn receive(spec: &CallSpec, live: Live<'_>) -> Result<Prepared, String> {
    let name = spec.name.as_str();
    let count = match name {
        "recv" => 4,
        "recvfrom" => 6,
        _ => 3,
    };
    let arguments = Arguments::of(spec, count..=count)?;
    let fd = live(arguments.int(0)?)?;
    Ok(Prepared::Call(match name {
        "readv" => {
            let lens = buffers(arguments.get(1))?;
            Call::ReceiveMessage { fd, lens, control: false, flags: 0 }
        }
        "recvmsg" => {
            let message = message(arguments.get(1))?;
            let flags = arguments.int(2)?;
            if message.control.iter().any(|control| control.data == Data::Statistics) {
                return Ok(Prepared::Unsupported(
                    "statistics in control messages are not supported".to_owned(),
                ));
            }
            Call::ReceiveMessage { fd, lens: message.lens, control: message.has_control, flags }
        }
        _ => {
            let (null, len) = (arguments.is_null(1)?, arguments.len(2)?);
            let flags = if name == "read" { 0 } else { arguments.int(3)? };
            if null {
                Call::NullBuffer { fd, sends: false, len, flags }
            } else {
                Call::Receive { fd, len, flags }
            }
        }
    }))
}

fn send(spec: &CallSpec, live: Live<'_>) -> Result<Prepared, String> {
    let name = spec.name.as_str();
    let count = match name {
        "send" => 4,
        "sendto" => 6,
        _ => 3,
    };
    let arguments = Arguments::of(spec, count..=count)?;
    let fd = live(arguments.int(0)?)?;
    Ok(Prepared::Call(match name {
        "writev" => Call::SendMessage {
            fd,
            lens: buffers(arguments.get(1))?,
            control: Vec::new(),
            flags: 0,
        },
        "sendmsg" => {
            let message = message(arguments.get(1))?;
            let flags = arguments.int(2)?;
            let control: Option<Vec<_>> =
                message.control.iter().map(|control| control.sent()).collect();
            match control {
                Some(control) => Call::SendMessage { fd, lens: message.lens, control, flags },
                None => {
                    return Err(
                        "expected a number as data of a control message that is sent".to_owned()
                    );
                }
            }
        }
        "sendto" if *arguments.get(4) != Expression::Ellipsis => {
            return Ok(Prepared::Unsupported(
                "sendto to another address is not supported".to_owned(),
            ));
        }
        _ => {
            let (null, len) = (arguments.is_null(1)?, arguments.len(2)?);
            let flags = if name == "write" { 0 } else { arguments.int(3)? };
            if null {
                Call::NullBuffer { fd, sends: true, len, flags }
            } else {
                Call::Send { fd, len, flags }
            }
        }
    }))
}

fn wait(spec: &CallSpec, live: Live<'_>) -> Result<Call, String> {
    match spec.name.as_str() {
        "poll" => {
            let arguments = Arguments::of(spec, 3..=3)?;
            let fds = polled(arguments.get(0))?;
            let fds = fds.into_iter().map(|(fd, events, _)| Ok((live(fd)?, events)));
            Ok(Call::Poll {
                fds: fds.collect::<Result<_, String>>()?,
                timeout_ms: arguments.int(2)?,
            })
        }
        "epoll_create" => Arguments::of(spec, 1..=1).map(|_| Call::EpollCreate),
        "epoll_ctl" => {
            let arguments = Arguments::of(spec, 4..=4)?;
            let (epoll, fd) = (live(arguments.int(0)?)?, live(arguments.int(2)?)?);
            let fields = structure(arguments.get(3), &EPOLL_FIELDS, EPOLL_EVENT)?;
            let events = int(fields.get("events")?)? as u32;
            Ok(Call::EpollControl { epoll, operation: arguments.int(1)?, fd, events })
        }
        _ => {
            let arguments = Arguments::of(spec, 4..=4)?;
            let epoll = live(arguments.int(0)?)?;
            Ok(Call::EpollWait { epoll, most: arguments.len(2)?, timeout_ms: arguments.int(3)? })
        }
    }
}

fn other(spec: &CallSpec, live: Live<'_>) -> Result<Call, String> {
    let count = match spec.name.as_str() {
        "bind" | "accept" => 3..=3,
        "listen" | "shutdown" => 2..=2,
        "fcntl" => 2..=3,
        "ioctl" => 3..=3,
        "accept4" | "sendfile" => 4..=4,
        _ => 5..=5,
    };
    let arguments = Arguments::of(spec, count)?;
    let fd = live(arguments.int(0)?)?;
    Ok(match spec.name.as_str() {
        "bind" => Call::Bind { fd },
        "listen" => Call::Listen { fd, backlog: arguments.int(1)? },
        "accept" => Call::Accept { fd, nonblocking: false },
        "accept4" => Call::Accept { fd, nonblocking: arguments.number(3)? & SOCK_NONBLOCK != 0 },
        "shutdown" => Call::Shutdown { fd, how: arguments.int(1)? },
        "fcntl" => {
            let argument = if spec.arguments.len() == 3 { arguments.number(2)? } else { 0 };
            Call::Fcntl { fd, command: arguments.int(1)?, argument }
        }
        "ioctl" => {
            arguments.bracketed(2)?;
            Call::Ioctl { fd, request: arguments.number(1)? as u64 }
        }
        "sendfile" => Call::SendFile { fd, len: arguments.len(3)? },
        "getsockopt" => {
            let len = usize::try_from(arguments.bracketed(4)?)
                .map_err(|_| "expected a length in brackets")?;
            option_value(arguments.get(3))?;
            Call::GetOption { fd, level: arguments.int(1)?, name: arguments.int(2)?, len }
        }
        _ => {
            let mut value = option_value(arguments.get(3))?;
            value.resize(arguments.len(4)?, 0);
            Call::SetOption { fd, level: arguments.int(1)?, name: arguments.int(2)?, value }
        }
    })
}

/// Descriptors of `poll` with the events asked for and those expected.
pub(super) fn polled(expression: &Expression) -> Result<Vec<(i32, i16, i16)>, String> {
    let Expression::List(items) = expression else {
        return Err(format!("expected descriptors as [{POLL}], found `{expression}`"));
    };
    let item = |item: &Expression| {
        let fields = structure(item, &["fd", "events", "revents"], POLL)?;
        let revents = fields.optional("revents").map_or(Ok(0), int)?;
        Ok((int(fields.get("fd")?)?, int(fields.get("events")?)? as i16, revents as i16))
    };
    items.iter().map(item).collect()
}

/// The script's descriptor that is a call's first argument.
pub(in crate::run) fn descriptor(spec: &CallSpec) -> Option<i32> {
    spec.arguments.first().and_then(|first| int(first).ok())
}

/// The data that `epoll_ctl` gives to a descriptor, by both descriptors.
pub(in crate::run) fn epoll_data(spec: &CallSpec) -> Option<((i32, i32), i64)> {
    let delete = constants::value("EPOLL_CTL_DEL").ok()?;
    let [epoll, operation, fd, event] = &spec.arguments[..] else { return None };
    if spec.name != "epoll_ctl" || number(operation) == Ok(delete) {
        return None;
    }
    Some(((int(epoll).ok()?, int(fd).ok()?), event_data(event)?))
}

/// The data of an event of `epoll`.
pub(super) fn event_data(expression: &Expression) -> Option<i64> {
    let fields = structure(expression, &EPOLL_FIELDS, EPOLL_EVENT).ok()?;
    EPOLL_FIELDS[1..].iter().find_map(|name| number(fields.optional(name)?).ok())
}

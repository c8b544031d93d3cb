//! Compares what a call returned with the script.

use super::arguments::{Arguments, int, number, option_value, structure};
use super::control::{Wanted, message};
use super::prepare::{EPOLL_EVENT, EPOLL_FIELDS, event_data, polled};
use crate::call::{Fd, Outcome, Return};
use crate::constants;
use crate::script::CallSpec;
use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};
use windlass_base::Time;

/// The part of a running script that comparisons need.
pub(in crate::run) struct View<'a> {
    /// The script's descriptors with the subject's.
    pub(in crate::run) fds: &'a BTreeMap<i32, Fd>,
    /// The data of `epoll_ctl`.
    pub(in crate::run) epoll_data: &'a BTreeMap<(i32, i32), i64>,
    /// How far a time may be off.
    pub(in crate::run) tolerance_ns: i64,
    /// The time of the first event by the subject's clock.
    pub(in crate::run) start: Time,
    /// The time now.
    pub(in crate::run) now: Time,
}

/// The number that a call returns in the script.
pub(in crate::run) fn result(spec: &CallSpec) -> Option<i64> {
    number(&spec.result).ok()
}

/// Checks the parts of a call that say what it returns.
pub(super) fn check(spec: &CallSpec) -> Result<(), String> {
    number(&spec.result)?;
    if let Some(errno) = &spec.errno {
        constants::value(errno)?;
    }
    if spec.name == "epoll_wait" {
        let fields = structure(&spec.arguments[1], &EPOLL_FIELDS, EPOLL_EVENT)?;
        int(fields.get("events")?)?;
    }
    Ok(())
}

/// The result as a script writes it.
pub(in crate::run) fn returned_text(value: &Return) -> String {
    match value.value {
        Ok(value) => value.to_string(),
        Err(errno) => format!("-1 {}", constants::errno(errno)),
    }
}

/// Why the number or the error is another one; `None` if it fits. Of a new descriptor any number will do.
pub(in crate::run) fn value_fault(spec: &CallSpec, value: &Return) -> Option<String> {
    let expected = result(spec)?;
    let opens = ["socket", "accept", "accept4", "epoll_create"].contains(&spec.name.as_str());
    let fits = match value.value {
        Ok(value) if opens && expected >= 0 => value >= 0,
        Ok(value) => value == expected,
        Err(errno) => {
            let wanted = spec.errno.as_deref().and_then(|name| constants::value(name).ok());
            expected == -1 && wanted.is_none_or(|wanted| wanted == i64::from(errno))
        }
    };
    let error = spec.errno.as_ref().map_or(String::new(), |errno| format!(" {errno}"));
    (!fits).then(|| {
        format!("{}: expected {expected}{error}, returned {}", spec.name, returned_text(value))
    })
}

/// Why what a call wrote into the program's memory is something else.
pub(in crate::run) fn outcome_fault(
    spec: &CallSpec,
    value: &Return,
    view: &View<'_>,
) -> Option<String> {
    if value.value.is_err() {
        return None;
    }
    let arguments = Arguments::of(spec, 0..=usize::MAX).ok()?;
    match (spec.name.as_str(), &value.outcome) {
        ("getsockopt", outcome) => option_fault(arguments, outcome),
        ("ioctl", Outcome::Number(was)) => {
            let expected = i64::from(arguments.bracketed(2).ok()?);
            (expected != *was).then(|| format!("ioctl: expected {expected}, was {was}"))
        }
        ("recvmsg", outcome) => message_fault(arguments, outcome, view),
        ("poll", Outcome::Polled(seen)) => {
            let wanted: Vec<i16> =
                polled(arguments.get(0)).ok()?.into_iter().map(|(_, _, revents)| revents).collect();
            (wanted != *seen)
                .then(|| format!("poll: expected the events {wanted:x?}, were {seen:x?}"))
        }
        ("epoll_wait", outcome) => events_fault(arguments, outcome, view),
        _ => None,
    }
}

fn option_fault(arguments: Arguments<'_>, outcome: &Outcome) -> Option<String> {
    let wanted = option_value(arguments.get(3)).ok()?;
    let len = usize::try_from(arguments.bracketed(4).ok()?).ok()?;
    let Outcome::Option(seen) = outcome else { return Some("getsockopt: no value".to_owned()) };
    if seen.len() != len {
        return Some(format!("getsockopt: expected {len} bytes, were {}", seen.len()));
    }
    let number = |bytes: &[u8]| match bytes.try_into() {
        Ok(four) => i32::from_ne_bytes(four).to_string(),
        Err(_) => format!("{bytes:02x?}"),
    };
    (wanted != *seen)
        .then(|| format!("getsockopt: expected {}, was {}", number(&wanted), number(seen)))
}

fn message_fault(arguments: Arguments<'_>, outcome: &Outcome, view: &View<'_>) -> Option<String> {
    let wanted = message(arguments.get(1)).ok()?;
    let (flags, seen) = match outcome {
        Outcome::Message { flags, control } => (*flags, &control[..]),
        _ => (0, &[][..]),
    };
    if flags != wanted.flags {
        return Some(format!("msg_flags: expected {:#x}, was {flags:#x}", wanted.flags));
    }
    let (expected, were) = (wanted.control.len(), seen.len());
    if expected != were {
        return Some(format!("expected {expected} control messages, were {were}"));
    }
    // The kernel's timestamps count from 1970; its clock and this one go on together.
    let realtime = || {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_nanos() as i128);
        now - i128::from(view.now.saturating_since(view.start).as_nanos())
    };
    let fault = |(wanted, seen): (&Wanted, _)| wanted.fault(seen, view.tolerance_ns, &realtime);
    wanted.control.iter().zip(seen).find_map(fault)
}

/// The first event alone is compared, as packetdrill does. Without one it is all zeros.
fn events_fault(arguments: Arguments<'_>, outcome: &Outcome, view: &View<'_>) -> Option<String> {
    let fields = structure(arguments.get(1), &EPOLL_FIELDS, EPOLL_EVENT).ok()?;
    let wanted = int(fields.get("events").ok()?).ok()? as u32;
    let first = match outcome {
        Outcome::Events(events) => events.first().copied(),
        _ => None,
    };
    let was = first.map_or(0, |(events, _)| events);
    if was != wanted {
        return Some(format!("epoll_wait: expected the events {wanted:#x}, were {was:#x}"));
    }
    let data = event_data(arguments.get(1))?;
    let was = first.map_or(Some(0), |(_, live)| {
        let (fd, _) = view.fds.iter().find(|(_, open)| **open == live)?;
        view.epoll_data.get(&(arguments.int(0).ok()?, *fd)).copied()
    });
    (was != Some(data))
        .then(|| format!("epoll_wait: expected the data {data}, was {}", was.unwrap_or(-1)))
}

//! Messages of `sendmsg` and `recvmsg`, with their control messages.

use super::arguments::{buffers, int, number, structure};
use crate::call::Control;
use crate::constants;
use crate::script::Expression;

/// A message as the script writes it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Message {
    pub(super) lens: Vec<usize>,
    pub(super) flags: i32,
    pub(super) control: Vec<Wanted>,
    /// It has a list of control messages, if only an empty one.
    pub(super) has_control: bool,
}

/// A control message of the script.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Wanted {
    pub(super) level: i32,
    pub(super) kind: i32,
    pub(super) data: Data,
}

/// The data of a control message.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Data {
    /// A number.
    Number(i32),
    /// `struct sock_extended_err`: errno, info and data, and between them origin, type and code.
    Error { errno: u32, origin: u8, kind: u8, code: u8, info: u32, data: u32 },
    /// A time since the start of the script, in nanoseconds; 0 is any.
    Time(i64),
    /// Statistics of TCP.
    Statistics,
}

const MESSAGE: &str = "{msg_name(...)=..., msg_iov(1)=[{..., 10}], msg_flags=0, msg_control=[]}";
const CONTROL: &str = "{cmsg_level=SOL_TCP, cmsg_type=TCP_CM_INQ, cmsg_data=0}";

pub(super) fn message(expression: &Expression) -> Result<Message, String> {
    let names = ["msg_name", "msg_iov", "msg_flags", "msg_control"];
    let fields = structure(expression, &names, MESSAGE)?;
    let lens = buffers(fields.get("msg_iov")?)?;
    let count = fields.field("msg_iov").and_then(|field| field.len.as_ref());
    let count = count.map_or(Ok(lens.len() as i64), number)?;
    if count != lens.len() as i64 {
        return Err(format!("msg_iov({count}) has {} buffers", lens.len()));
    }
    let flags = fields.optional("msg_flags").map_or(Ok(0), int)?;
    let control = match fields.optional("msg_control") {
        None => return Ok(Message { lens, flags, control: Vec::new(), has_control: false }),
        Some(Expression::List(items)) => items.iter().map(control).collect::<Result<_, _>>()?,
        Some(other) => {
            return Err(format!("expected control messages as [{CONTROL}], found `{other}`"));
        }
    };
    Ok(Message { lens, flags, control, has_control: true })
}

fn control(expression: &Expression) -> Result<Wanted, String> {
    let fields = structure(expression, &["cmsg_level", "cmsg_type", "cmsg_data"], CONTROL)?;
    let level = int(fields.get("cmsg_level")?)?;
    let kind = int(fields.get("cmsg_type")?)?;
    Ok(Wanted { level, kind, data: data(fields.get("cmsg_data")?)? })
}

fn data(expression: &Expression) -> Result<Data, String> {
    let Expression::Struct(items) = expression else { return int(expression).map(Data::Number) };
    let first = items.first().and_then(|item| item.name.as_deref()).unwrap_or_default();
    if first.starts_with("scm_") {
        let fields = structure(expression, &["scm_sec", "scm_nsec"], "{scm_sec=0, scm_nsec=10}")?;
        let seconds = i64::from(int(fields.get("scm_sec")?)?);
        return Ok(Data::Time(seconds * 1_000_000_000 + i64::from(int(fields.get("scm_nsec")?)?)));
    }
    if !first.starts_with("ee_") {
        return Ok(Data::Statistics);
    }
    let names = ["ee_errno", "ee_origin", "ee_type", "ee_code", "ee_info", "ee_data"];
    let form = "{ee_errno=0, ee_origin=0, ee_type=0, ee_code=0, ee_info=0, ee_data=0}";
    let fields = structure(expression, &names, form)?;
    let value = |name: &str| fields.get(name).and_then(int);
    Ok(Data::Error {
        errno: value("ee_errno")? as u32,
        origin: value("ee_origin")? as u8,
        kind: value("ee_type")? as u8,
        code: value("ee_code")? as u8,
        info: value("ee_info")? as u32,
        data: value("ee_data")? as u32,
    })
}

impl Wanted {
    /// The control message of a program that sends; `None` if it only makes sense in what a program receives.
    pub(super) fn sent(&self) -> Option<Control> {
        let Wanted { level, kind, ref data } = *self;
        match data {
            Data::Number(value) => {
                Some(Control { level, kind, data: value.to_ne_bytes().to_vec() })
            }
            _ => None,
        }
    }

    /// Why a control message is another one; `realtime` is the time of the script's start since 1970, in nanoseconds.
    pub(super) fn fault(
        &self,
        seen: &Control,
        tolerance_ns: i64,
        realtime: &dyn Fn() -> i128,
    ) -> Option<String> {
        if (self.level, self.kind) != (seen.level, seen.kind) {
            return Some(format!(
                "control message: expected level {} type {}, was level {} type {}",
                self.level, self.kind, seen.level, seen.kind
            ));
        }
        let differs = |name: &str, expected: i64, was: i64| {
            (expected != was)
                .then(|| format!("control message: {name}: expected {expected}, was {was}"))
        };
        let word = |at: usize| {
            seen.data
                .get(at..at + 4)
                .map(|word| u32::from_ne_bytes([word[0], word[1], word[2], word[3]]))
        };
        let short = || Some(format!("control message: {} bytes of data", seen.data.len()));
        match self.data {
            Data::Statistics => None,
            Data::Number(value) => match word(0) {
                Some(was) if seen.data.len() == 4 => {
                    differs("data", value.into(), (was as i32).into())
                }
                _ => short(),
            },
            Data::Error { errno, origin, kind, code, info, data } => {
                let (Some(first), Some(third), Some(fourth)) = (word(0), word(8), word(12)) else {
                    return short();
                };
                let bytes = &seen.data[4..7];
                let name = |errno: u32| constants::errno(errno as i32);
                (errno != first)
                    .then(|| {
                        format!(
                            "control message: ee_errno: expected {}, was {}",
                            name(errno),
                            name(first)
                        )
                    })
                    .or_else(|| differs("ee_origin", origin.into(), bytes[0].into()))
                    .or_else(|| differs("ee_type", kind.into(), bytes[1].into()))
                    .or_else(|| differs("ee_code", code.into(), bytes[2].into()))
                    .or_else(|| differs("ee_info", info.into(), third.into()))
                    .or_else(|| differs("ee_data", data.into(), fourth.into()))
            }
            Data::Time(0) => None,
            Data::Time(at) => {
                let half = |at: usize| {
                    seen.data
                        .get(at..at + 8)
                        .and_then(|half| half.try_into().ok())
                        .map(i64::from_ne_bytes)
                };
                let (Some(seconds), Some(nanos)) = (half(0), half(8)) else { return short() };
                let was = i128::from(seconds) * 1_000_000_000 + i128::from(nanos) - realtime();
                let off = (was - i128::from(at)).abs();
                let text = |nanos: i128| format!("{:.6} s", nanos as f64 / 1e9);
                (off > tolerance_ns.into()).then(|| {
                    format!(
                        "control message: time: expected {}, was {}",
                        text(at.into()),
                        text(was)
                    )
                })
            }
        }
    }
}

//! Options of tou_setsockopt and tou_getsockopt: those of the system, with its numbers, and ToU's own.

use crate::errno::{Errno, Result};
use crate::settings::Settings;
use crate::socket::{Phase, Socket};
use libc::{IPPROTO_TCP, SOL_SOCKET, c_int, linger, timeval};
use std::ffi::OsStr;
use std::mem::size_of;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::time::Duration;
use windlass_tou::{EcnEcho, Info, State, qlog};

/// The level of ToU's own options.
pub const SOL_TOU: c_int = 0x746f;
/// State and counters as `struct tou_info`.
pub const TOU_INFO: c_int = 1;
/// Offer ECN, and accept the offers of peers.
pub const TOU_ECN: c_int = 2;
/// 0: echo CE until CWR; 1: echo each CE mark once.
pub const TOU_ECN_ECHO: c_int = 3;
/// Whether the descriptor has O_NONBLOCK.
pub const TOU_NONBLOCK: c_int = 4;

/// The folder to which connections write qlog.
pub const TOU_QLOG: c_int = 5;

/// How often a segment is sent again before the connection fails.
pub const TOU_RETRIES: c_int = 6;

/// Size of a controller's name in bytes (Linux's TCP_CA_NAME_MAX).
const NAME_MAX: usize = 16;
/// The smallest buffer size in bytes.
const BUFFER_MIN: u64 = 4096;
/// Valid values of TCP_MAXSEG, as in Linux.
const MSS: std::ops::RangeInclusive<c_int> = 88..=32767;
/// Valid values of TCP_SYNCNT, as in Linux (MAX_TCP_SYNCNT).
const CONNECT_RETRIES: std::ops::RangeInclusive<c_int> = 1..=127;
/// Valid values of TOU_RETRIES, those of Linux's net.ipv4.tcp_retries2.
const RETRIES: std::ops::RangeInclusive<c_int> = 0..=255;

/// The value of an option in C.
pub(crate) enum Value {
    Int(c_int),
    Time(timeval),
    Linger(linger),
    Text(&'static str),
    Info(Box<TouInfo>),
}

impl Value {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        match self {
            Value::Int(value) => value.to_ne_bytes().to_vec(),
            Value::Time(time) => [time.tv_sec.to_ne_bytes(), time.tv_usec.to_ne_bytes()].concat(),
            Value::Linger(linger) => {
                [linger.l_onoff.to_ne_bytes(), linger.l_linger.to_ne_bytes()].concat()
            }
            Value::Text(text) => {
                let mut bytes = text.as_bytes().to_vec();
                bytes.resize(NAME_MAX.max(text.len() + 1), 0);
                bytes
            }
            Value::Info(info) => info.bytes(),
        }
    }
}

/// `struct tou_info`. All fields have 64 bits, so there is no padding and fields can be added.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct TouInfo {
    state: u64,
    mss: u64,
    cwnd: u64,
    ssthresh: u64,
    rtt_ns: u64,
    rto_ns: u64,
    in_flight: u64,
    bytes_acked: u64,
    bytes_received: u64,
    ecn: u64,
    sack: u64,
    data_segments_sent: u64,
    retransmitted_segments: u64,
    acks_sent: u64,
    segments_received: u64,
    timeouts: u64,
    fast_retransmits: u64,
    tail_probes: u64,
    ce_received: u64,
    ece_received: u64,
    ecn_cuts: u64,
    duplicates_received: u64,
}

impl TouInfo {
    fn of(info: &Info) -> TouInfo {
        let stats = &info.stats;
        TouInfo {
            state: state_number(info.state),
            mss: info.mss.into(),
            cwnd: info.cwnd,
            ssthresh: info.ssthresh.unwrap_or(u64::MAX),
            rtt_ns: info.rtt.map_or(0, nanos),
            rto_ns: nanos(info.rto),
            in_flight: info.in_flight,
            bytes_acked: info.bytes_acked,
            bytes_received: info.bytes_received,
            ecn: info.ecn.into(),
            sack: info.sack.into(),
            data_segments_sent: stats.data_segments_sent,
            retransmitted_segments: stats.retransmitted_segments,
            acks_sent: stats.acks_sent,
            segments_received: stats.segments_received,
            timeouts: stats.timeouts,
            fast_retransmits: stats.fast_retransmits,
            tail_probes: stats.tail_probes,
            ce_received: stats.ce_received,
            ece_received: stats.ece_received,
            ecn_cuts: stats.ecn_cuts,
            duplicates_received: stats.duplicates_received,
        }
    }

    fn bytes(&self) -> Vec<u8> {
        let fields = [
            self.state,
            self.mss,
            self.cwnd,
            self.ssthresh,
            self.rtt_ns,
            self.rto_ns,
            self.in_flight,
            self.bytes_acked,
            self.bytes_received,
            self.ecn,
            self.sack,
            self.data_segments_sent,
            self.retransmitted_segments,
            self.acks_sent,
            self.segments_received,
            self.timeouts,
            self.fast_retransmits,
            self.tail_probes,
            self.ce_received,
            self.ece_received,
            self.ecn_cuts,
            self.duplicates_received,
        ];
        const { assert!(size_of::<TouInfo>() == 22 * 8) };
        fields.iter().flat_map(|field| field.to_ne_bytes()).collect()
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// The numbers of `<netinet/tcp.h>` (Linux's tcp_states.h).
fn state_number(state: State) -> u64 {
    match state {
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
    }
}

/// Reads an option. Reading SO_ERROR clears the error.
pub(crate) fn get(socket: &Arc<Socket>, level: c_int, name: c_int) -> Result<Value> {
    match level {
        SOL_SOCKET => get_of_socket(socket, name),
        IPPROTO_TCP => get_of_tcp(socket, name),
        SOL_TOU => get_of_tou(socket, name),
        _ => Err(Errno(libc::ENOPROTOOPT)),
    }
}

fn get_of_socket(socket: &Arc<Socket>, name: c_int) -> Result<Value> {
    let settings = socket.settings();
    Ok(Value::Int(match name {
        libc::SO_ERROR => socket.take_error().map_or(0, |error| error.0),
        libc::SO_TYPE => libc::SOCK_STREAM,
        libc::SO_DOMAIN => socket.family().domain(),
        libc::SO_ACCEPTCONN => matches!(socket.phase(), Phase::Listening(_)).into(),
        libc::SO_SNDBUF => int(settings.options.send_buffer),
        libc::SO_RCVBUF => int(settings.options.receive_buffer),
        libc::SO_KEEPALIVE => settings.keep_alive_enabled.into(),
        libc::SO_RCVTIMEO => return Ok(Value::Time(time(settings.receive_timeout))),
        libc::SO_SNDTIMEO => return Ok(Value::Time(time(settings.send_timeout))),
        libc::SO_LINGER => {
            let l_linger = settings.linger.map_or(0, |time| int(time.as_secs()));
            let l_onoff = settings.linger.is_some().into();
            return Ok(Value::Linger(linger { l_onoff, l_linger }));
        }
        _ => return Err(Errno(libc::ENOPROTOOPT)),
    }))
}

fn get_of_tcp(socket: &Arc<Socket>, name: c_int) -> Result<Value> {
    let settings = socket.settings();
    Ok(Value::Int(match name {
        libc::TCP_NODELAY => settings.options.nodelay.into(),
        libc::TCP_CONGESTION => return Ok(Value::Text(settings.options.congestion.name())),
        libc::TCP_MAXSEG => {
            info(socket).map_or(c_int::from(settings.options.mss), |info| int(info.mss.into()))
        }
        libc::TCP_KEEPIDLE => int(settings.idle_s.into()),
        libc::TCP_KEEPINTVL => int(settings.interval_s.into()),
        libc::TCP_KEEPCNT => int(settings.probes.into()),
        libc::TCP_SYNCNT => int(retries(&settings).0.into()),
        _ => return Err(Errno(libc::ENOPROTOOPT)),
    }))
}

fn get_of_tou(socket: &Arc<Socket>, name: c_int) -> Result<Value> {
    let settings = socket.settings();
    Ok(Value::Int(match name {
        TOU_INFO => {
            let state = match socket.phase() {
                Phase::Listening(_) => State::Listen,
                _ => State::Closed,
            };
            let none = TouInfo { state: state_number(state), ..TouInfo::default() };
            let info = info(socket).map_or(none, |info| TouInfo::of(&info));
            return Ok(Value::Info(Box::new(info)));
        }
        TOU_ECN => settings.options.ecn.into(),
        TOU_ECN_ECHO => match settings.options.ecn_echo {
            EcnEcho::OncePerCe => int(1),
            EcnEcho::Accurate => int(2),
            _ => int(0),
        },
        TOU_NONBLOCK => socket.descriptor().is_nonblocking().into(),
        TOU_RETRIES => int(retries(&settings).1.into()),
        _ => return Err(Errno(libc::ENOPROTOOPT)),
    }))
}

/// How often a SYN, and how often data is sent again.
fn retries(settings: &Settings) -> (u32, u32) {
    let timers = settings.options.listening_config().timers;
    (timers.max_syn_retries, timers.max_retries)
}

fn info(socket: &Socket) -> Option<Info> {
    match socket.phase() {
        Phase::Connected(stream, _) => stream.connection().info().ok(),
        Phase::Connecting(stream) => stream.info().ok(),
        _ => None,
    }
}

/// Sets an option.
pub(crate) fn set(socket: &Arc<Socket>, level: c_int, name: c_int, bytes: &[u8]) -> Result<()> {
    match level {
        SOL_SOCKET => set_of_socket(socket, name, bytes),
        IPPROTO_TCP => set_of_tcp(socket, name, bytes),
        SOL_TOU => set_of_tou(socket, name, bytes),
        _ => Err(Errno(libc::ENOPROTOOPT)),
    }
}

fn set_of_socket(socket: &Arc<Socket>, name: c_int, bytes: &[u8]) -> Result<()> {
    match name {
        libc::SO_RCVTIMEO => {
            let timeout = read_time(bytes)?;
            socket.change_settings(|settings| settings.receive_timeout = timeout);
        }
        libc::SO_SNDTIMEO => {
            let timeout = read_time(bytes)?;
            socket.change_settings(|settings| settings.send_timeout = timeout);
        }
        libc::SO_LINGER => {
            let (on, seconds) = (read_int(bytes)?, read_int(bytes.get(4..).unwrap_or(&[]))?);
            let linger = (on != 0).then_some(Duration::from_secs(seconds.max(0) as u64));
            socket.change_settings(|settings| settings.linger = linger);
        }
        // A port is free when its last connection has ended, so there is nothing to override.
        libc::SO_REUSEADDR => _ = read_int(bytes)?,
        libc::SO_SNDBUF => {
            let size = read_size(bytes)?;
            require_idle(socket)?;
            socket.change_settings(|settings| settings.options.send_buffer = size);
        }
        libc::SO_RCVBUF => {
            let size = read_size(bytes)?;
            require_idle(socket)?;
            socket.change_settings(|settings| settings.options.receive_buffer = size);
        }
        libc::SO_KEEPALIVE => {
            let on = read_int(bytes)? != 0;
            require_idle(socket)?;
            socket.change_settings(|settings| settings.keep_alive_enabled = on);
        }
        _ => return Err(Errno(libc::ENOPROTOOPT)),
    }
    Ok(())
}

fn set_of_tcp(socket: &Arc<Socket>, name: c_int, bytes: &[u8]) -> Result<()> {
    match name {
        libc::TCP_NODELAY => {
            let nodelay = read_int(bytes)? != 0;
            socket.change_settings(|settings| settings.options.nodelay = nodelay);
            // Fails only if the connection has ended.
            let _ = match socket.phase() {
                Phase::Connected(stream, _) => stream.set_nodelay(nodelay),
                Phase::Connecting(stream) => stream.set_nodelay(nodelay),
                _ => Ok(()),
            };
        }
        libc::TCP_CONGESTION => {
            let name = bytes.split(|byte| *byte == 0).next().unwrap_or(&[]);
            if name.is_empty() {
                return Err(Errno(libc::EINVAL));
            }
            let name = std::str::from_utf8(name).map_err(|_| Errno(libc::ENOENT))?;
            let congestion = windlass_tou::congestion(name)?;
            require_idle(socket)?;
            socket.change_settings(|settings| settings.options.congestion = congestion);
        }
        libc::TCP_MAXSEG => {
            let mss = read_int(bytes)?;
            if !MSS.contains(&mss) {
                return Err(Errno(libc::EINVAL));
            }
            require_idle(socket)?;
            socket.change_settings(|settings| settings.options.mss = mss as u16);
        }
        libc::TCP_SYNCNT => {
            let retries = read_within(bytes, CONNECT_RETRIES)?;
            require_idle(socket)?;
            socket.change_settings(|settings| settings.options.connect_retries = Some(retries));
        }
        libc::TCP_KEEPIDLE | libc::TCP_KEEPINTVL | libc::TCP_KEEPCNT => {
            set_keep_alive(socket, name, read_int(bytes)?)?;
        }
        _ => return Err(Errno(libc::ENOPROTOOPT)),
    }
    Ok(())
}

/// Sets a keep-alive option within the bounds of Linux (such as MAX_TCP_KEEPIDLE).
fn set_keep_alive(socket: &Arc<Socket>, name: c_int, value: c_int) -> Result<()> {
    let max = if name == libc::TCP_KEEPCNT { 127 } else { 32767 };
    if !(1..=max).contains(&value) {
        return Err(Errno(libc::EINVAL));
    }
    require_idle(socket)?;
    socket.change_settings(|settings| {
        *match name {
            libc::TCP_KEEPIDLE => &mut settings.idle_s,
            libc::TCP_KEEPINTVL => &mut settings.interval_s,
            _ => &mut settings.probes,
        } = value as u32;
    });
    Ok(())
}

fn set_of_tou(socket: &Arc<Socket>, name: c_int, bytes: &[u8]) -> Result<()> {
    match name {
        TOU_ECN => {
            let ecn = read_int(bytes)? != 0;
            require_idle(socket)?;
            socket.change_settings(|settings| settings.options.ecn = ecn);
        }
        TOU_ECN_ECHO => {
            let echo = match read_int(bytes)? {
                0 => EcnEcho::UntilCwr,
                1 => EcnEcho::OncePerCe,
                2 => EcnEcho::Accurate,
                _ => return Err(Errno(libc::EINVAL)),
            };
            require_idle(socket)?;
            socket.change_settings(|settings| settings.options.ecn_echo = echo);
        }
        TOU_NONBLOCK => {
            let on = read_int(bytes)? != 0;
            socket.descriptor().set_nonblocking(on)?;
        }
        TOU_RETRIES => {
            let retries = read_within(bytes, RETRIES)?;
            require_idle(socket)?;
            socket.change_settings(|settings| settings.options.retries = Some(retries));
        }
        TOU_QLOG => {
            let path = bytes.split(|byte| *byte == 0).next().unwrap_or(&[]);
            require_idle(socket)?;
            let folder = match path {
                [] => None,
                path => Some(qlog::Folder::create(OsStr::from_bytes(path))?),
            };
            socket.change_settings(|settings| settings.options.qlog = folder);
        }
        _ => return Err(Errno(libc::ENOPROTOOPT)),
    }
    Ok(())
}

/// Fails unless the socket is idle: some options are fixed when it connects or listens.
fn require_idle(socket: &Socket) -> Result<()> {
    match socket.phase() {
        Phase::Idle => Ok(()),
        Phase::Closed => Err(Errno(libc::EBADF)),
        _ => Err(Errno(libc::EISCONN)),
    }
}

fn read_int(bytes: &[u8]) -> Result<c_int> {
    let bytes = bytes.first_chunk().ok_or(Errno(libc::EINVAL))?;
    Ok(c_int::from_ne_bytes(*bytes))
}

fn read_within(bytes: &[u8], range: std::ops::RangeInclusive<c_int>) -> Result<u32> {
    let value = read_int(bytes)?;
    if range.contains(&value) { Ok(value as u32) } else { Err(Errno(libc::EINVAL)) }
}

fn read_size(bytes: &[u8]) -> Result<u64> {
    Ok((read_int(bytes)?.max(0) as u64).max(BUFFER_MIN))
}

fn read_time(bytes: &[u8]) -> Result<Option<Duration>> {
    const HALF: usize = size_of::<timeval>() / 2;
    let part = |at: usize| bytes.get(at..)?.first_chunk().map(|part| i64::from_ne_bytes(*part));
    let (Some(s), Some(us)) = (part(0), part(HALF)) else { return Err(Errno(libc::EINVAL)) };
    let (Ok(s), 0..1_000_000) = (u64::try_from(s), us) else { return Err(Errno(libc::EDOM)) };
    let time = Duration::from_secs(s) + Duration::from_micros(us as u64);
    Ok((!time.is_zero()).then_some(time))
}

fn time(timeout: Option<Duration>) -> timeval {
    let timeout = timeout.unwrap_or_default();
    timeval { tv_sec: timeout.as_secs() as _, tv_usec: timeout.subsec_micros().into() }
}

/// Converts to C's int, with saturation.
fn int(value: u64) -> c_int {
    c_int::try_from(value).unwrap_or(c_int::MAX)
}

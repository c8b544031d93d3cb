//! SYN cookies (RFC 4987 §3.6): what a full backlog would have to remember of a SYN travels in the
//! SYN-ACK, and comes back in the ACK.
//!
//! The initial sequence number holds a counter of time, the MSS from a short list, and a mark that
//! only this endpoint can make. What else was offered stands in the low bits of TSval, which the
//! peer echoes; without timestamps it is forgotten.

use super::secret::Secret;
use std::net::SocketAddr;
use windlass_base::{Span, Time};
use windlass_tcp::{Config, Connection, Ecn, Flags, Options, Segment, SeqNumber, Timestamps};

/// A cookie is good in the period in which it was made and in the next.
const PERIOD: Span = Span::from_secs(64);
/// The oldest cookie that is good.
pub(super) const LIFETIME: Span = Span::from_secs(2 * 64);
/// The counter has 5 bits.
const PERIODS: u32 = 32;
/// Three bits say which: the largest that the peer takes whole.
const SEGMENT_SIZES: [u16; 8] = [536, 1160, 1220, 1300, 1400, 1436, 1444, 1456];

/// The low bits of TSval: four for the window shift (15: no scaling), one each for SACK and ECN.
const OFFER: u32 = (1 << 6) - 1;
const NO_SCALING: u32 = 15;
const SACK: u32 = 1 << 4;
const ECN: u32 = 1 << 5;

/// What the tag vouches for.
#[derive(Hash)]
struct CookieInput {
    peer: SocketAddr,
    client_isn: u32,
    period: u32,
    size: u32,
}

/// The SYN-ACK that remembers `syn` for this endpoint. Not longer than the SYN: it has no option
/// that the SYN has not.
pub(super) fn syn_ack(
    secret: &Secret,
    config: &Config,
    now: Time,
    peer: SocketAddr,
    syn: &Segment,
) -> Option<Segment> {
    let offered = &syn.options;
    let size = SEGMENT_SIZES.iter().rposition(|size| offered.mss.unwrap_or(0) >= *size);
    let size = size.unwrap_or(0) as u32;
    let period = period_at(now);
    let tag = secret.cookie_tag(CookieInput { peer, client_isn: syn.seq.0, period, size });
    let isn = SeqNumber(period << 27 | size << 24 | tag);
    let config = with_stored_options(config, offered.timestamps.is_some());
    let mut answer = syn_received(config, now, isn, syn)?.1;
    if let Some(timestamps) = &mut answer.options.timestamps {
        let shift = answer.options.window_scale.and(offered.window_scale);
        let sack = if answer.options.sack_permitted { SACK } else { 0 };
        let ecn = if answer.flags.contains(Flags::ECE) { ECN } else { 0 };
        timestamps.value = stamp(now, shift.map_or(NO_SCALING, u32::from) | sack | ecn);
    }
    Some(answer)
}

/// The connection, in SYN-RECEIVED, whose SYN-ACK `ack` acknowledges, if that was a cookie of this
/// endpoint.
pub(super) fn redeem(
    secret: &Secret,
    config: &Config,
    now: Time,
    peer: SocketAddr,
    ack: &Segment,
) -> Option<Connection> {
    let cookie = SeqNumber(ack.ack.0.wrapping_sub(1));
    let client_isn = SeqNumber(ack.seq.0.wrapping_sub(1));
    let (period, size) = (cookie.0 >> 27, cookie.0 >> 24 & 7);
    let age = (period_at(now) + PERIODS - period) % PERIODS;
    let tag = secret.cookie_tag(CookieInput { peer, client_isn: client_isn.0, period, size });
    if age > 1 || tag != cookie.0 & 0xff_ffff {
        return None;
    }
    let echo = ack.options.timestamps;
    let offer = echo.map_or(NO_SCALING, |echo| echo.echo_reply & OFFER);
    let shift = offer & NO_SCALING;
    let setup = if offer & ECN != 0 { Flags::ECE | Flags::CWR } else { Flags::empty() };
    let syn = Segment {
        seq: client_isn,
        flags: Flags::SYN | setup,
        options: Options {
            mss: Some(SEGMENT_SIZES[size as usize]),
            window_scale: (shift != NO_SCALING).then_some(shift as u8),
            sack_permitted: offer & SACK != 0,
            timestamps: echo.map(|echo| Timestamps { value: echo.value, echo_reply: 0 }),
            ..Options::default()
        },
        ..Segment::default()
    };
    let config = with_stored_options(config, echo.is_some());
    Some(syn_received(config, sent_at(now, echo), cookie, &syn)?.0)
}

/// Without timestamps there is no room for what the SYN offered.
fn with_stored_options(config: &Config, timestamps: bool) -> Config {
    let keeps = timestamps && config.timestamps;
    Config {
        window_scaling: keeps && config.window_scaling,
        sack: keeps && config.sack,
        ecn: keeps && config.ecn,
        ..config.clone()
    }
}

/// A listening connection that has had its SYN, and its answer.
fn syn_received(
    config: Config,
    now: Time,
    isn: SeqNumber,
    syn: &Segment,
) -> Option<(Connection, Segment)> {
    let mut connection = Connection::listen(config, isn);
    connection.handle_segment(now, syn, Ecn::NotEct, &mut ());
    let answer = connection.poll_transmit(now, 1, &mut ())?.first;
    Some((connection, answer))
}

/// When a SYN-ACK went out, to the 64 ms that its stamp leaves open; without a stamp a second ago,
/// the RTT that RFC 6298 assumes.
fn sent_at(now: Time, echo: Option<Timestamps>) -> Time {
    let ago_ms = match echo {
        Some(echo) => milliseconds(now).wrapping_sub(echo.echo_reply).min(AGE_MAX_MS),
        None => 1000,
    };
    Time::from_nanos(now.as_nanos().saturating_sub(u64::from(ago_ms) * 1_000_000))
}

const AGE_MAX_MS: u32 = 2 * 64 * 1000;

/// The clock of the engine's timestamps.
fn milliseconds(now: Time) -> u32 {
    (now.as_nanos() / 1_000_000) as u32
}

/// A time not after `now` whose low bits say `offer`.
fn stamp(now: Time, offer: u32) -> u32 {
    let now = milliseconds(now);
    let stamp = now & !OFFER | offer;
    if stamp > now { stamp.wrapping_sub(OFFER + 1) } else { stamp }
}

fn period_at(now: Time) -> u32 {
    (now.as_nanos() / PERIOD.as_nanos()) as u32 % PERIODS
}

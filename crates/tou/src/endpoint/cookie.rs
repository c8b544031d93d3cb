//! SYN cookies (RFC 4987 §3.6). When the backlog is full, the endpoint stores nothing about a SYN.
//! The SYN-ACK carries the state instead, and the peer's ACK returns it.
//!
//! The initial sequence number of the SYN-ACK holds a time counter, an index into a short list of
//! segment sizes, and a keyed hash (the tag). The other options of the SYN stand in the low bits of
//! TSval, which the peer echoes. Without timestamps these options are not negotiated.

use super::secret::Secret;
use std::net::SocketAddr;
use windlass_base::{Span, Time};
use windlass_tcp::config::EcnEcho;
use windlass_tcp::{Config, Connection, Ecn, Flags, Options, Segment, SeqNumber, Timestamps};

/// A cookie is valid in the period in which it was made and in the next one.
const PERIOD: Span = Span::from_secs(64);
/// The longest time for which a cookie is valid.
pub(super) const LIFETIME: Span = Span::from_secs(2 * 64);
/// The number of values of the time counter, which has 5 bits.
const PERIODS: u32 = 32;
/// Segment sizes that a cookie can represent, in bytes. Its 3-bit index selects the largest one that
/// does not exceed the peer's MSS.
const SEGMENT_SIZES: [u16; 8] = [536, 1160, 1220, 1300, 1400, 1436, 1444, 1456];

/// Options in the low bits of TSval: four bits for the window shift (15: no scaling), one each for
/// SACK and ECN.
const OFFER: u32 = (1 << 6) - 1;
const NO_SCALING: u32 = 15;
const SACK: u32 = 1 << 4;
const ECN: u32 = 1 << 5;

/// The input of a cookie's keyed hash.
#[derive(Hash)]
struct CookieInput {
    peer: SocketAddr,
    client_isn: u32,
    period: u32,
    size: u32,
}

/// The SYN-ACK that carries the state of `syn`. It is not longer than the SYN, since it has only
/// options that the SYN has.
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
    // Five bits of time, three of size, 24 of the tag.
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

/// Restores the connection, in SYN-RECEIVED, from the cookie that `ack` acknowledges. `None` if that
/// is not a valid cookie of this endpoint.
pub(super) fn redeem(
    secret: &Secret,
    config: &Config,
    now: Time,
    peer: SocketAddr,
    ack: &Segment,
) -> Option<Connection> {
    // The ACK follows the client's SYN and acknowledges the cookie.
    let cookie = SeqNumber(ack.ack.0.wrapping_sub(1));
    let client_isn = SeqNumber(ack.seq.0.wrapping_sub(1));
    let (period, size) = (cookie.0 >> 27, cookie.0 >> 24 & 7);
    // The counter wraps after 34 minutes.
    let age = (period_at(now) + PERIODS - period) % PERIODS;
    let tag = secret.cookie_tag(CookieInput { peer, client_isn: client_isn.0, period, size });
    // Too old, or not made here: one guess in 2^24 succeeds.
    if age > 1 || tag != cookie.0 & 0xff_ffff {
        return None;
    }
    let echo = ack.options.timestamps;
    let offer = echo.map_or(NO_SCALING, |echo| echo.echo_reply & OFFER);
    let shift = offer & NO_SCALING;
    let setup = if offer & ECN != 0 { Flags::ECE | Flags::CWR } else { Flags::empty() };
    // The SYN as far as the cookie keeps it, for the listener to handle once more.
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

/// `config` without the options that a cookie cannot carry: without timestamps it has no room for
/// window scaling, SACK and ECN. It has one bit for ECN, so an offer of AccECN is answered by classic ECN.
fn with_stored_options(config: &Config, timestamps: bool) -> Config {
    let keeps = timestamps && config.extensions.timestamps;
    config.clone().with(|c| {
        c.extensions.window_scaling = keeps && config.extensions.window_scaling;
        c.extensions.sack = keeps && config.extensions.sack;
        c.ecn.enabled = keeps && config.ecn.enabled;
        if c.ecn.echo == EcnEcho::Accurate {
            c.ecn.echo = EcnEcho::UntilCwr;
        }
    })
}

/// A listening connection after its SYN, and its SYN-ACK.
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

/// When the SYN-ACK was sent, with the 64 ms resolution of its timestamp. Without a timestamp: one
/// second ago, the RTT that RFC 6298 assumes.
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

/// The latest timestamp not after `now` whose low bits are `offer`.
fn stamp(now: Time, offer: u32) -> u32 {
    let now = milliseconds(now);
    let stamp = now & !OFFER | offer;
    // A time in the future would give a negative RTT.
    if stamp > now { stamp.wrapping_sub(OFFER + 1) } else { stamp }
}

fn period_at(now: Time) -> u32 {
    (now.as_nanos() / PERIOD.as_nanos()) as u32 % PERIODS
}

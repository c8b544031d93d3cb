//! The state of a socket, by sock_diag(7): struct tcp_info, and of BBR struct tcp_bbr_info.

use crate::packets::{HOST, PEER, PEER_PORT};
use netlink_sys::protocols::NETLINK_SOCK_DIAG;
use netlink_sys::{Socket, SocketAddr};
use std::io;

const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLM_F_REQUEST: u16 = 1;
const AF_INET: u8 = 2;
const IPPROTO_TCP: u8 = 6;
/// Attributes of an answer.
const INFO: u16 = 2;
const BBR_INFO: u16 = 16;
/// Bits of a request: INET_DIAG_INFO, and INET_DIAG_VEGASINFO for whatever the controller shows.
const WANTED: u8 = 1 << 1 | 1 << 2;
/// Lengths of struct nlmsghdr, inet_diag_req_v2 and inet_diag_msg.
const HEADER: usize = 16;
const REQUEST: usize = 56;
const ANSWER: usize = 72;
/// ssthresh before the first reduction (TCP_INFINITE_SSTHRESH).
const NO_SSTHRESH: u32 = 0x7fff_ffff;

/// Asks the kernel for the state of the connection in one namespace.
pub(super) struct Diagnosis {
    socket: Socket,
    request: Vec<u8>,
}

impl Diagnosis {
    /// Of the connection from this port, in the calling thread's namespace.
    ///
    /// # Errors
    ///
    /// The kernel has no sock_diag.
    pub(super) fn open(port: u16) -> io::Result<Diagnosis> {
        let mut socket = Socket::new(NETLINK_SOCK_DIAG)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        Ok(Diagnosis { socket, request: request(port) })
    }

    /// The state of now; `None` once the connection is gone.
    pub(super) fn ask(&self) -> Option<State> {
        self.socket.send(&self.request, 0).ok()?;
        let (answer, _) = self.socket.recv_from_full().ok()?;
        State::parse(&answer)
    }
}

/// struct nlmsghdr and struct inet_diag_req_v2.
fn request(port: u16) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER + REQUEST);
    bytes.extend(((HEADER + REQUEST) as u32).to_ne_bytes());
    bytes.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    bytes.extend(NLM_F_REQUEST.to_ne_bytes());
    bytes.extend([0; 8]);
    bytes.extend([AF_INET, IPPROTO_TCP, WANTED, 0]);
    // In any state.
    bytes.extend(u32::MAX.to_ne_bytes());
    bytes.extend(port.to_be_bytes());
    bytes.extend(PEER_PORT.to_be_bytes());
    for address in [HOST, PEER] {
        bytes.extend(address.octets());
        bytes.extend([0; 12]);
    }
    bytes.extend([0; 4]);
    // No cookie.
    bytes.extend([u8::MAX; 8]);
    bytes
}

/// The part of a socket's state that cases know.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) struct State {
    mss: f64,
    rto_s: f64,
    srtt_s: f64,
    min_rtt_s: f64,
    ssthresh: Option<f64>,
    cwnd: f64,
    pacing_rate: Option<f64>,
    bbr: Option<Bbr>,
}

/// The figures that BBR shows.
#[derive(Copy, Clone, Debug, PartialEq)]
struct Bbr {
    bytes_per_s: f64,
    min_rtt_s: f64,
    pacing_gain: f64,
    cwnd_gain: f64,
}

impl State {
    fn parse(answer: &[u8]) -> Option<State> {
        let kind = answer.get(4..6)?;
        if kind != SOCK_DIAG_BY_FAMILY.to_ne_bytes() {
            return None;
        }
        let (mut rest, mut info, mut bbr) = (answer.get(HEADER + ANSWER..)?, None, None);
        while let Some((kind, body, behind)) = attribute(rest) {
            match kind {
                INFO => info = Some(body),
                BBR_INFO => bbr = Bbr::parse(body),
                _ => {}
            }
            rest = behind;
        }
        State::of(info?, bbr)
    }

    /// The offsets are those of struct tcp_info.
    fn of(info: &[u8], bbr: Option<Bbr>) -> Option<State> {
        let micros = |at| u32_at(info, at).map(|micros| f64::from(micros) / 1e6);
        let mss = f64::from(u32_at(info, 16)?);
        let segments = |at| u32_at(info, at).map(|segments| f64::from(segments) * mss);
        let rate = u64::from_ne_bytes(*info.get(104..)?.first_chunk()?);
        Some(State {
            mss,
            rto_s: micros(8)?,
            srtt_s: micros(68)?,
            min_rtt_s: micros(148)?,
            ssthresh: segments(76).filter(|_| u32_at(info, 76) < Some(NO_SSTHRESH)),
            cwnd: segments(80)?,
            pacing_rate: (rate != u64::MAX).then_some(rate as f64),
            bbr,
        })
    }

    /// A variable by the name that cases have for it.
    pub(super) fn variable(&self, name: &str) -> Option<f64> {
        let seen = |value: f64| (value > 0.0).then_some(value);
        match name {
            "mss" => Some(self.mss),
            "cwnd" => Some(self.cwnd),
            "ssthresh" => self.ssthresh,
            "srtt" => seen(self.srtt_s),
            "rto" => Some(self.rto_s),
            "pacing_rate" => self.pacing_rate,
            "min_rtt" => self.bbr.map_or(seen(self.min_rtt_s), |bbr| seen(bbr.min_rtt_s)),
            "bw" => self.bbr.map(|bbr| bbr.bytes_per_s),
            "pacing_gain" => self.bbr.map(|bbr| bbr.pacing_gain),
            "cwnd_gain" => self.bbr.map(|bbr| bbr.cwnd_gain),
            _ => None,
        }
    }
}

impl Bbr {
    /// struct tcp_bbr_info: gains have eight bits behind the point.
    fn parse(body: &[u8]) -> Option<Bbr> {
        let [low, high, min_rtt, pacing, cwnd] = [0, 4, 8, 12, 16].map(|at| u32_at(body, at));
        Some(Bbr {
            bytes_per_s: (u64::from(high?) << 32 | u64::from(low?)) as f64,
            min_rtt_s: f64::from(min_rtt?) / 1e6,
            pacing_gain: f64::from(pacing?) / 256.0,
            cwnd_gain: f64::from(cwnd?) / 256.0,
        })
    }
}

/// struct nlattr: its kind, its body, and the bytes behind it.
fn attribute(bytes: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let len = usize::from(u16::from_ne_bytes(*bytes.first_chunk()?));
    let kind = u16::from_ne_bytes(*bytes.get(2..)?.first_chunk()?);
    let body = bytes.get(4..len)?;
    Some((kind, body, bytes.get(len.next_multiple_of(4)..).unwrap_or_default()))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|word| u32::from_ne_bytes(*word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(attributes: &[(u16, &[u8])]) -> Vec<u8> {
        let mut bytes = vec![0; HEADER + ANSWER];
        bytes[4..6].copy_from_slice(&SOCK_DIAG_BY_FAMILY.to_ne_bytes());
        for (kind, body) in attributes {
            bytes.extend((4 + body.len() as u16).to_ne_bytes());
            bytes.extend(kind.to_ne_bytes());
            bytes.extend(*body);
            bytes.resize(bytes.len().next_multiple_of(4), 0);
        }
        bytes
    }

    fn info(words: &[(usize, u32)]) -> Vec<u8> {
        let mut bytes = vec![0; 232];
        for (at, word) in words {
            bytes[*at..at + 4].copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }

    #[test]
    fn windows_are_in_bytes_and_times_in_seconds() {
        let info = info(&[(8, 204_000), (16, 1448), (68, 40_000), (76, 7), (80, 10)]);
        let state = State::parse(&answer(&[(INFO, &info)])).expect("an answer");
        assert_eq!(state.variable("cwnd"), Some(14_480.0));
        assert_eq!(state.variable("ssthresh"), Some(10_136.0));
        assert_eq!(state.variable("srtt"), Some(0.04));
        assert_eq!(state.variable("rto"), Some(0.204));
        assert_eq!(state.variable("bw"), None);
    }

    #[test]
    fn before_the_first_reduction_there_is_no_ssthresh() {
        let info = info(&[(16, 1448), (76, NO_SSTHRESH), (80, 10)]);
        let state = State::parse(&answer(&[(INFO, &info)])).expect("an answer");
        assert_eq!(state.variable("ssthresh"), None);
        assert_eq!(state.variable("srtt"), None);
    }

    #[test]
    fn bbr_shows_its_model() {
        let words = [1_250_000_u32, 0, 40_000, 739, 512];
        let bbr: Vec<u8> = words.into_iter().flat_map(u32::to_ne_bytes).collect();
        // An attribute that is not known comes first.
        let answer = answer(&[(5, &[1]), (INFO, &info(&[(16, 1448)])), (BBR_INFO, &bbr)]);
        let state = State::parse(&answer).expect("an answer");
        assert_eq!(state.variable("bw"), Some(1_250_000.0));
        assert_eq!(state.variable("min_rtt"), Some(0.04));
        assert_eq!(state.variable("pacing_gain"), Some(739.0 / 256.0));
        assert_eq!(state.variable("cwnd_gain"), Some(2.0));
    }

    #[test]
    fn a_refusal_and_a_short_answer_have_no_state() {
        let mut refusal = answer(&[]);
        refusal[4..6].copy_from_slice(&2_u16.to_ne_bytes());
        assert_eq!(State::parse(&refusal), None);
        assert_eq!(State::parse(&answer(&[(INFO, &[0; 20])])), None);
        assert_eq!(State::parse(&[]), None);
    }
}

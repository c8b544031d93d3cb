use crate::endpoint::Limits;
use std::io::{self, ErrorKind};
use std::sync::Arc;
use windlass_tcp::cc::{self, ControllerFactory};
use windlass_tcp::config::{AckPolicy, EcnEcho, KeepAlive};
use windlass_tcp::{Config, Profile};

/// UDP's payload on Ethernet over IPv4, less ToU's header: 1500 - 20 - 8 - 16 bytes.
const MSS: u16 = 1456;
/// IPv6's header has 20 bytes more than IPv4's.
pub(crate) const IPV6_EXTRA: u16 = 20;

/// How connections are made. Start from the default and change what matters:
///
/// ```
/// let options = windlass_tou::Options {
///     congestion: windlass_tou::congestion("new-ecn")?,
///     ecn: true,
///     ..Default::default()
/// };
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Options {
    /// The congestion controller; see [`congestion`].
    pub congestion: Arc<dyn ControllerFactory>,
    /// Everything that is not named here: the TCP of a time and place.
    pub profile: Profile,
    /// Payload bytes of the largest segment over IPv4, TCP options included; over IPv6 20 fewer. A
    /// datagram has 16 more.
    pub mss: u16,
    /// Bytes that may have been written and not acknowledged.
    pub send_buffer: u64,
    /// Bytes that may wait to be read; the largest window announced.
    pub receive_buffer: u64,
    /// Send small segments at once (no Nagle algorithm, RFC 9293 §3.7.4).
    pub nodelay: bool,
    /// Offer ECN, and take the offer of others (RFC 3168).
    pub ecn: bool,
    /// How marks are echoed. New-ECN at the other end wants
    /// [`OncePerCe`](EcnEcho::OncePerCe).
    pub ecn_echo: EcnEcho,
    /// Spread data over the round trip, and send no bursts beyond a millisecond's worth.
    pub pacing: bool,
    /// Probes on an idle connection; they keep a NAT's binding too.
    pub keep_alive: Option<KeepAlive>,
    /// Of a listener: connections under way, and complete ones not accepted yet. More get SYN
    /// cookies.
    pub backlog: usize,
    /// Of a port.
    pub limits: Limits,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            congestion: Arc::new(cc::Cubic::default()),
            profile: Profile::Linux,
            mss: MSS,
            send_buffer: 4 << 20,
            receive_buffer: 4 << 20,
            nodelay: false,
            ecn: false,
            ecn_echo: EcnEcho::UntilCwr,
            pacing: true,
            keep_alive: None,
            backlog: 128,
            limits: Limits::default(),
        }
    }
}

impl Options {
    pub(crate) fn config(&self, ipv6: bool) -> Config {
        // Off in the profile itself, which is held against kernels without them in the simulator.
        let modern = self.profile == Profile::Linux;
        let mss = if ipv6 { self.mss.saturating_sub(IPV6_EXTRA) } else { self.mss };
        let base = self.profile.config(mss, Arc::clone(&self.congestion));
        let ack_policy = match base.ack_policy {
            AckPolicy::Delayed { max } if modern => AckPolicy::Linux { max },
            other => other,
        };
        Config {
            send_buffer: self.send_buffer,
            receive_buffer: self.receive_buffer,
            nagle: !self.nodelay,
            ecn: self.ecn,
            // What drops such SYNs of TCP does not read ToU's flags.
            ecn_fallback: false,
            ecn_echo: self.ecn_echo,
            keep_alive: self.keep_alive,
            pacing: self.pacing,
            undo: modern,
            frto: modern,
            hystart_trains: modern,
            cubic_as_linux: modern,
            whole_segment_growth: modern,
            push_when_held_back: modern,
            ack_policy,
            ..base
        }
    }
}

/// The congestion controller of that name: `cubic`, `newreno`, `reno`, `vegas`, `new-ecn`, `tahoe`, or
/// `none`, which is [no congestion control](cc::NoControl) and for experiments on one's own links alone.
///
/// # Errors
/// [`ErrorKind::NotFound`] for any other name, with the list.
pub fn congestion(name: &str) -> io::Result<Arc<dyn ControllerFactory>> {
    cc::by_name(name).ok_or_else(|| {
        let known = cc::NAMES.join(", ");
        io::Error::new(
            ErrorKind::NotFound,
            format!("{name}: no congestion controller, expected one of {known}"),
        )
    })
}

//! The options of the API, and the engine's config that follows from them.

use crate::endpoint::{Limits, longer_headers};
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use windlass_base::Span;
use windlass_qlog as qlog;
use windlass_tcp::cc::{self, ControllerFactory};
use windlass_tcp::config::{AckPolicy, EcnEcho, KeepAlive, RtoRule};
use windlass_tcp::{Config, Profile};

/// Segment size for Ethernet over IPv4, less the headers of IP, UDP and ToU: 1500 - 20 - 8 - 16 bytes.
const MSS: u16 = 1456;

/// Options for connections, listeners and ports. Start from the default and change single fields:
///
/// ```
/// use windlass_tou::{Options, TouListener, TouStream, congestion};
///
/// let listener = TouListener::bind("127.0.0.1:0")?;
/// let options = Options { congestion: congestion("new-ecn")?, ecn: true, ..Default::default() };
/// let client = TouStream::connect_with(listener.local_addr()?, &options)?;
/// let (server, _) = listener.accept()?;
/// assert!(client.info()?.ecn && server.info()?.ecn);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Options {
    /// The congestion controller; see [`congestion`]. Default: CUBIC.
    pub congestion: Arc<dyn ControllerFactory>,
    /// The TCP implementation whose behavior is used for everything else. Default: Linux.
    pub profile: Profile,
    /// Largest segment over IPv4, in bytes of payload and TCP options. Over IPv6 it is 20 bytes less.
    /// A datagram has 16 bytes more. Default: 1456.
    pub mss: u16,
    /// Size of the send buffer: bytes written and not yet acknowledged. Default: 4 MiB.
    pub send_buffer: u64,
    /// Size of the receive buffer in bytes, which is also the largest advertised window. Default:
    /// 4 MiB.
    pub receive_buffer: u64,
    /// Send small segments at once, without Nagle's algorithm (RFC 9293 §3.7.4). Default: off.
    pub nodelay: bool,
    /// Offer ECN (RFC 3168 §6.1.1). A listener accepts the offers of peers without it, like Linux with
    /// `net.ipv4.tcp_ecn = 2`. Default: off.
    pub ecn: bool,
    /// How the receiver echoes CE marks. A peer with New-ECN needs
    /// [`OncePerCe`](EcnEcho::OncePerCe), one with DCTCP [`Dctcp`](EcnEcho::Dctcp).
    /// [`Accurate`](EcnEcho::Accurate) is AccECN (RFC 9768) if both ends have it, and else `UntilCwr`.
    /// Default: [`UntilCwr`](EcnEcho::UntilCwr).
    pub ecn_echo: EcnEcho,
    /// Spread data over the round trip, with bursts of at most one millisecond's data. It takes more
    /// than its share beside a kernel's TCP that does not pace. Default: off, as in Linux without the
    /// queue discipline fq.
    pub pacing: bool,
    /// Probes on an idle connection, which also keep a NAT's binding alive. Default: none.
    pub keep_alive: Option<KeepAlive>,
    /// The shortest retransmission timeout; with Linux's profile the least that it exceeds the
    /// round-trip time by. Default: that of the profile, which is 200 ms for Linux.
    pub rto_min: Option<Duration>,
    /// The longest retransmission timeout (RFC 6298 §2.5: at least a minute). Default: that of the
    /// profile, which is 120 s for Linux.
    pub rto_max: Option<Duration>,
    /// How the retransmission timeout follows from round-trip times. Default: RFC 6298.
    pub rto_rule: RtoRule,
    /// How often a SYN, or a listener's answer to one, is sent again before connecting fails. Default:
    /// that of the profile, which is 6 for Linux: two minutes.
    pub connect_retries: Option<u32>,
    /// How often a segment is sent again after timeouts before the connection fails (RFC 9293 §3.8.3,
    /// R2). Default: that of the profile, which is 15 for Linux: at least a quarter of an hour.
    pub retries: Option<u32>,
    /// Look for the largest segment that the path takes (RFC 8899), from one that passes every path.
    /// Without it segments have [`Options::mss`] at once, and a path that drops those carries nothing.
    /// For all connections of the port. Default: on.
    pub path_probes: bool,
    /// Of a listener: the largest number of half-open connections, and of complete ones that wait to
    /// be accepted. Further SYNs are answered by SYN cookies. Default: 128.
    pub backlog: usize,
    /// Limits of the port.
    pub limits: Limits,
    /// Write the events of each connection of the port to a file in this folder, in the format qlog.
    /// The connection costs about half more CPU time. Default: none.
    pub qlog: Option<qlog::Folder>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            congestion: Arc::new(cubic()),
            profile: Profile::Linux,
            mss: MSS,
            send_buffer: 4 << 20,
            receive_buffer: 4 << 20,
            nodelay: false,
            ecn: false,
            ecn_echo: EcnEcho::UntilCwr,
            pacing: false,
            keep_alive: None,
            rto_min: None,
            rto_max: None,
            rto_rule: RtoRule::Rfc6298,
            connect_retries: None,
            retries: None,
            path_probes: true,
            backlog: 128,
            limits: Limits::default(),
            qlog: None,
        }
    }
}

impl Options {
    /// The default options of a session's connections. After an outage of the path their first RTT
    /// samples are as long as the outage, so their timeout has a limit of one minute.
    pub fn for_sessions() -> Options {
        Options { rto_max: Some(Duration::from_secs(60)), ..Options::default() }
    }

    /// The engine's configuration of a connection with `peer`, which may be a virtual address. For
    /// users of [`Endpoint`](crate::Endpoint).
    pub fn connection_config(&self, peer: &SocketAddr) -> Config {
        self.config_for(peer)
    }

    /// The engine's configuration for [`Endpoint::listen`](crate::Endpoint::listen).
    pub fn listening_config(&self) -> Config {
        self.config().with(|c| c.ecn.enabled = true)
    }

    /// The configuration of a connection with `peer`.
    pub(crate) fn config_for(&self, peer: &SocketAddr) -> Config {
        let config = self.config();
        let mss = config.mss.saturating_sub(longer_headers(peer));
        config.with(|c| c.mss = mss)
    }

    /// The configuration of a connection over IPv4.
    pub(crate) fn config(&self) -> Config {
        // These are off in the profile, which the simulator compares with kernels that lack them.
        let modern = self.profile == Profile::Linux;
        let base = self.profile.config(self.mss, Arc::clone(&self.congestion));
        let ack_policy = match base.acks.policy {
            AckPolicy::Delayed { max } if modern => AckPolicy::Linux { max },
            other => other,
        };
        base.with(|c| {
            c.buffers.send = self.send_buffer;
            c.buffers.receive = self.receive_buffer;
            c.sending.nagle = !self.nodelay;
            c.ecn.enabled = self.ecn;
            // Middleboxes that drop ECN-setup SYNs of TCP do not read ToU's flags.
            c.ecn.fallback = false;
            c.ecn.echo = self.ecn_echo;
            c.timers.keep_alive = self.keep_alive;
            c.timers.max_syn_retries = self.connect_retries.unwrap_or(c.timers.max_syn_retries);
            c.timers.max_retries = self.retries.unwrap_or(c.timers.max_retries);
            let rto = &mut c.timers.rto;
            rto.min = self.rto_min.map_or(rto.min, span);
            rto.max = self.rto_max.map_or(rto.max, span);
            rto.rule = self.rto_rule;
            c.sending.pacing = self.pacing;
            c.recovery.undo = modern;
            c.recovery.frto = modern;
            c.growth.whole_segments = modern;
            c.sending.push_when_held_back = modern;
            c.acks.policy = ack_policy;
        })
    }
}

fn span(duration: Duration) -> Span {
    Span::from_nanos(duration.as_nanos() as u64)
}

/// CUBIC as Linux has it.
fn cubic() -> cc::Cubic {
    let mut cubic = cc::Cubic::default();
    cubic.hystart = cc::HyStart::AckTrains;
    cubic.as_linux = true;
    cubic
}

/// The congestion controller with this name: `cubic`, `newreno`, `reno`, `vegas`, `new-ecn`, `dctcp`, `prague`, `bbr`,
/// `bbr3`, `tahoe` or `none`. The last one means [no congestion control](cc::NoControl): use it only on your own
/// links.
///
/// CUBIC leaves slow start and grows as Linux's does. For CUBIC by RFC 9438, with a profile other than
/// [`Profile::Linux`], take [`Profile::controller`].
///
/// # Errors
/// [`ErrorKind::NotFound`] for any other name. The message lists the valid names.
pub fn congestion(name: &str) -> io::Result<Arc<dyn ControllerFactory>> {
    if name == "cubic" {
        return Ok(Arc::new(cubic()));
    }
    cc::by_name(name).ok_or_else(|| {
        let known = cc::NAMES.join(", ");
        io::Error::new(
            ErrorKind::NotFound,
            format!("{name}: no congestion controller, expected one of {known}"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_timeout_is_the_profiles_unless_the_options_say_otherwise() {
        let rto = |options: &Options| options.listening_config().timers.rto;
        let linux = rto(&Options::default());
        assert_eq!((linux.min, linux.rule), (Span::from_millis(200), RtoRule::Rfc6298));
        let options = Options {
            rto_min: Some(Duration::from_millis(100)),
            rto_rule: RtoRule::Lee2009,
            ..Options::default()
        };
        let set = rto(&options);
        assert_eq!((set.min, set.rule), (Span::from_millis(100), RtoRule::Lee2009));
        assert_eq!(set.max, linux.max);
    }

    #[test]
    fn retries_are_the_profiles_unless_the_options_say_otherwise() {
        let limits = |options: &Options| {
            let timers = options.listening_config().timers;
            (timers.max_syn_retries, timers.max_retries)
        };
        // tcp(7): tcp_syn_retries and tcp_retries2.
        assert_eq!(limits(&Options::default()), (6, 15));
        let options = Options { connect_retries: Some(1), ..Options::default() };
        assert_eq!(limits(&options), (1, 15));
        let options = Options { retries: Some(0), ..Options::default() };
        assert_eq!(limits(&options), (6, 0));
    }
}

//! The options of a socket before and after it connects; `option` reads and writes them.

use std::time::Duration;
use windlass_tou::{KeepAlive, Options, Span};

/// The values of tou_setsockopt. An accepted socket inherits those of its listener.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) options: Options,
    /// SO_RCVTIMEO; `None` means no limit.
    pub(crate) receive_timeout: Option<Duration>,
    /// SO_SNDTIMEO; `None` means no limit.
    pub(crate) send_timeout: Option<Duration>,
    /// SO_LINGER; `None` means that tou_close returns at once.
    pub(crate) linger: Option<Duration>,
    /// SO_KEEPALIVE: send probes on idle connections.
    pub(crate) keep_alive_enabled: bool,
    /// TCP_KEEPIDLE, in seconds.
    pub(crate) idle_s: u32,
    /// TCP_KEEPINTVL, in seconds.
    pub(crate) interval_s: u32,
    /// TCP_KEEPCNT: unanswered probes after which the connection fails.
    pub(crate) probes: u32,
}

impl Default for Settings {
    /// The defaults of Linux (tcp(7)).
    fn default() -> Settings {
        Settings {
            options: Options::default(),
            receive_timeout: None,
            send_timeout: None,
            linger: None,
            keep_alive_enabled: false,
            idle_s: 7200,
            interval_s: 75,
            probes: 9,
        }
    }
}

impl Settings {
    /// The options for a connection or listener that begins now.
    pub(crate) fn options_in_force(&self) -> Options {
        let keep_alive = self.keep_alive_enabled.then_some(KeepAlive {
            idle: Span::from_secs(self.idle_s.into()),
            interval: Span::from_secs(self.interval_s.into()),
            probes: self.probes,
        });
        Options { keep_alive, ..self.options.clone() }
    }
}

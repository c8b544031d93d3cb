use std::time::Duration;
use windlass_base::Span;
use windlass_tcp::config::KeepAlive;
use windlass_tou::Options;

/// What tou_setsockopt sets. Accepted sockets begin with those of their listener.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) options: Options,
    /// SO_RCVTIMEO; `None`: no limit.
    pub(crate) receive_timeout: Option<Duration>,
    /// SO_SNDTIMEO.
    pub(crate) send_timeout: Option<Duration>,
    /// SO_LINGER.
    pub(crate) linger: Option<Duration>,
    /// SO_KEEPALIVE.
    pub(crate) keeps_alive: bool,
    /// TCP_KEEPIDLE, in seconds.
    pub(crate) idle_s: u32,
    /// TCP_KEEPINTVL, in seconds.
    pub(crate) interval_s: u32,
    /// TCP_KEEPCNT.
    pub(crate) probes: u32,
}

impl Default for Settings {
    /// Linux's (tcp(7)).
    fn default() -> Settings {
        Settings {
            options: Options::default(),
            receive_timeout: None,
            send_timeout: None,
            linger: None,
            keeps_alive: false,
            idle_s: 7200,
            interval_s: 75,
            probes: 9,
        }
    }
}

impl Settings {
    /// For what is begun now.
    pub(crate) fn in_force(&self) -> Options {
        let keep_alive = self.keeps_alive.then_some(KeepAlive {
            idle: Span::from_secs(self.idle_s.into()),
            interval: Span::from_secs(self.interval_s.into()),
            probes: self.probes,
        });
        Options { keep_alive, ..self.options.clone() }
    }
}

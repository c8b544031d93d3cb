//! The next connection of a session: its purpose, and the windows and sizes that it needs.

use super::{Found, Session, Settings, Stage, Step, bare_host};
use crate::dialogue::{Dialogue, Exchange, Scheme};
use crate::http;
use crate::tls::Tls;
use crate::topic::burst::BurstOrder;
use crate::topic::cca::trials;
use crate::topic::read::KEPT_BYTES;
use crate::topic::split::{SplitOrder, Test};
use crate::topic::{Order, Purpose};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use std::net::SocketAddr;
use std::sync::Arc;
use url::Url;
use windlass_base::Span;

/// Sizes the receive window: it fits an initial window of this many packets and the packets that a test
/// provokes, plus a quarter.
pub(super) const FIRST_FLIGHT_PACKETS_MAX: u32 = 64;
const WINDOW_MIN_BYTES: u32 = 256 * 1024;
/// The largest receive window without scaling.
const WINDOW_UNSCALED_BYTES: u32 = 65_535;
/// The packets of a first flight that must fit into an unscaled window.
const FIRST_FLIGHT_PACKETS: u32 = 16;
/// The least MSS that every host takes (RFC 9293 §3.7.1).
const MSS_MIN: u16 = 536;

impl Session {
    /// The next measurement. Tests and sizes alternate, so that state that a server keeps about its peer
    /// affects all alike.
    pub(super) fn next_purpose(&self) -> Option<Purpose> {
        if let Some(ask) = self.next_ask() {
            return Some(Purpose::Ecn(ask));
        }
        if let Some(library) = &self.settings.controllers {
            let scout = self.found.iter().map(|found| &found.scout);
            let all = scout.chain(&self.ecn_reports).chain(&self.reports);
            let trial = trials::next(&self.reports, &self.ecn_reports, all, library);
            return trial.map(Purpose::Identify);
        }
        let (done, all) = self.progress();
        let purposes = self.purposes();
        let index = done.checked_rem(purposes.len())?;
        purposes.get(index).copied().filter(|_| done < all)
    }

    /// The measurements of a round.
    pub(super) fn purposes(&self) -> Vec<Purpose> {
        let Settings { tests, bursts, acks, timeout, .. } = &self.settings;
        if bursts.is_empty() {
            let split = |test: &Test| SplitOrder { test: *test, acks: *acks, timeout: *timeout };
            return tests.iter().map(|test| Purpose::Measure(split(test))).collect();
        }
        let mss = self.found.as_ref().map_or(0, |found| self.mss_usual(found.remote));
        // Without scaling, not every size fits into the receive window.
        let most = match self.found.as_ref().is_some_and(Found::is_unscaled) {
            true => WINDOW_UNSCALED_BYTES,
            false => u32::MAX,
        };
        let sizes = bursts.iter().map(|packets| u32::from(*packets));
        let orders = sizes.map(|packets| BurstOrder::next(packets, mss, &self.reports));
        let fits = |order: &BurstOrder| order.packets * order.packet_bytes <= most;
        orders.filter(fits).map(Purpose::Burst).collect()
    }

    /// The longest wait for a SYN-ACK.
    fn handshake(&self) -> Span {
        let first = match &self.stage {
            Stage::Scouting { attempts, .. } => attempts.handshake(),
            _ => None,
        };
        first.unwrap_or(self.settings.patience).min(self.settings.patience)
    }

    pub(super) fn connect(&self, remote: SocketAddr, url: &Url, purpose: Purpose) -> Step {
        let Settings { user_agent, exchange, .. } = &self.settings;
        // The target was read with the same function.
        let Ok(dialogue) = Dialogue::of(url, user_agent, exchange) else { return Step::Done };
        let kind = dialogue.kind;
        let secure = Scheme::of(url).is_some_and(|scheme| scheme.tls) || kind.begins_tls;
        let tls = secure.then(|| ServerName::try_from(bare_host(url)).ok()).flatten();
        let (remote, purpose, dialogue) = match (self.opened_port, purpose) {
            (None, _) if kind.opens_way => (remote, Purpose::Open, dialogue),
            (Some(port), _) if kind.opens_way => {
                let opened = SocketAddr::new(remote.ip(), port);
                (opened, purpose, Dialogue::plain(&Exchange::default()))
            }
            (_, Purpose::Identify(_)) if dialogue.is_web() => {
                let head = self.found.as_ref().and_then(|found| found.scout.head.as_ref());
                let length = head.and_then(|head| head.content_length);
                let request = http::requests(url, user_agent, trials::requests(length));
                (remote, purpose, Dialogue::http(request))
            }
            (_, Purpose::Measure(_)) if self.repeats > 1 && dialogue.is_web() => {
                let requests = http::requests(url, user_agent, self.repeats);
                (remote, purpose, Dialogue::http_several(requests))
            }
            (_, Purpose::Read(_)) => {
                let request = http::request(url, user_agent);
                (remote, purpose, Dialogue::http_kept(request, KEPT_BYTES))
            }
            _ => (remote, purpose, dialogue),
        };
        let (mss, window) = match purpose {
            Purpose::Identify(_) => {
                (self.settings.mss.unwrap_or(trials::MSS), trials::WINDOW_BYTES)
            }
            Purpose::Burst(burst) => (self.mss_usual(remote), burst.window()),
            Purpose::Measure(split) => (self.mss(remote, split.test), self.window(remote)),
            Purpose::Scout | Purpose::Read(_) | Purpose::Ecn(_) | Purpose::Open => {
                (self.mss_usual(remote), self.window(remote))
            }
        };
        let order = Order {
            purpose,
            tls: tls.map(|name| Tls { config: self.tls_config(&dialogue), name }),
            handshake: self.handshake(),
            patience: self.settings.patience.max(dialogue.kind.patience_min),
            mss,
            window,
            supply: self.supply(),
            dialogue,
        };
        Step::Connect { remote, order: Box::new(order) }
    }

    /// The TLS configuration: the protocol that ALPN names is for HTTP alone.
    fn tls_config(&self, dialogue: &Dialogue) -> Arc<ClientConfig> {
        let mut config = Arc::clone(&self.settings.tls);
        if !dialogue.is_web() && !config.alpn_protocols.is_empty() {
            Arc::make_mut(&mut config).alpn_protocols.clear();
        }
        config
    }

    /// The most packets that the ACKs of a test may provoke, those that they free among them.
    fn packets_provoked(&self, test: Test) -> u32 {
        u32::from(self.settings.acks) * (1 + u32::from(test.parts()))
    }

    /// The most packets that the ACKs of any test may provoke.
    pub(super) fn packets_provoked_max(&self) -> u32 {
        let provoked = self.settings.tests.iter().map(|test| self.packets_provoked(*test));
        provoked.max().unwrap_or(0)
    }

    /// The bytes of an answer that the measurements need.
    pub(super) fn enough_bytes(&self, remote: SocketAddr) -> u64 {
        let packets = match self.settings.bursts.iter().max() {
            // The flights before the burst, whose sizes double, and the burst.
            Some(largest) => 3 * u32::from(*largest),
            None => self.packets_provoked_max(),
        };
        u64::from(FIRST_FLIGHT_PACKETS + packets) * u64::from(self.mss_usual(remote))
    }

    /// The MSS to announce, if the receive window does not limit it.
    pub(super) fn mss_usual(&self, remote: SocketAddr) -> u16 {
        let ethernet = if remote.is_ipv4() { 1460 } else { 1440 };
        self.settings.mss.unwrap_or(ethernet)
    }

    /// The MSS to announce for a test, reduced if the window is too small for it with the usual one.
    pub(super) fn mss(&self, remote: SocketAddr, test: Test) -> u16 {
        let mss = self.mss_usual(remote);
        if self.settings.mss.is_some() {
            return mss;
        }
        let mss = self.mss_supplied().map_or(mss, |supplied| supplied.min(mss));
        if !self.found.as_ref().is_some_and(Found::is_unscaled) {
            return mss;
        }
        let provoked = self.packets_provoked(test);
        let seen = self.reports.iter().flat_map(|report| &report.observation);
        let seen = seen.filter(|run| !run.fills_window).map(|run| run.first_flight.sent()).max();
        let fits = |flight: u32| (flight + provoked) * u32::from(mss) <= WINDOW_UNSCALED_BYTES;
        if fits(seen.unwrap_or(FIRST_FLIGHT_PACKETS)) {
            return mss;
        }
        let fitting = WINDOW_UNSCALED_BYTES / (FIRST_FLIGHT_PACKETS + provoked);
        u16::try_from(fitting).unwrap_or(mss).clamp(MSS_MIN.min(mss), mss)
    }

    /// The receive window. If a first flight has filled it, every second run halves it, to see whether
    /// the flight follows.
    fn window(&self, remote: SocketAddr) -> u32 {
        let packets = FIRST_FLIGHT_PACKETS_MAX + self.packets_provoked_max();
        let bytes = packets * u32::from(self.mss_usual(remote)) * 5 / 4;
        let last = self.reports.iter().rev().find_map(|report| report.observation.as_ref());
        let filled = self.reports.iter().flat_map(|r| &r.observation).any(|run| run.fills_window);
        let window = bytes.max(WINDOW_MIN_BYTES);
        let last_window = last.map_or(window, |run| run.window);
        match filled && self.reports.len() % 2 == 1 {
            true => window.min(last_window) / 2,
            false => window,
        }
    }
}

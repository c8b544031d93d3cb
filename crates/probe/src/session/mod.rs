//! All connections to one server, one after the other, without I/O. Scouts find the port and follow
//! redirects; then the tests run in rounds. With FTP each of these connections has another one before it, which
//! opens the way.

mod attempts;
mod identify;
mod outcome;
mod spoken;

pub use outcome::{Failure, Outcome, Predicted, Stat, TestRow};
pub use spoken::{Spoken, WindowAfter};

use crate::burst::BurstOutcome;
use crate::cca::Library;
use crate::dialogue::{Dialogue, Exchange, Scheme};
use crate::ecn::{Ask, Capability, Mode};
use crate::http::Head;
use crate::probe::{BurstOrder, BurstRun, Ending, Order, Purpose, Report};
use crate::target::Target;
use crate::test::Test;
use crate::tls::Tls;
use attempts::Attempts;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use url::Url;
use windlass_base::Span;

/// The settings of a measurement.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The tests of a round.
    pub tests: Vec<Test>,
    /// The sizes of bursts to measure instead, in packets; none: the tests are run.
    pub bursts: Vec<u16>,
    /// How many rounds there are; each runs every test or size once.
    pub runs: u32,
    /// How many of the first segments are acknowledged.
    pub acks: u16,
    /// How long to observe the server after the ACKs, for retransmissions.
    pub timeout: Span,
    /// The longest wait for a handshake, and again for an answer.
    pub patience: Span,
    /// The MSS to announce, in bytes. `None`: the MSS of Ethernet.
    pub mss: Option<u16>,
    /// Restricts the addresses to this family.
    pub family: Option<Family>,
    /// The User-Agent header.
    pub user_agent: String,
    /// The scheme of targets without one; `None`: the ports of the web are tried.
    pub scheme: Option<Scheme>,
    /// The dialogue of `tcp` and `tls`.
    pub exchange: Exchange,
    /// Learn first what ECN the server speaks.
    pub ecn: bool,
    /// Identify the congestion controller by this library, instead of running tests.
    pub controllers: Option<Arc<Library>>,
    /// The client's TLS configuration.
    pub tls: Arc<ClientConfig>,
}

/// A family of addresses.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Family {
    /// IPv4 addresses only.
    V4,
    /// IPv6 addresses only.
    V6,
}

/// The next step of a session.
#[derive(Clone, Debug)]
pub enum Step {
    /// Resolve a name and pass the addresses to [`Session::handle_addresses`].
    Resolve {
        /// A name or an address.
        host: String,
        /// The port of the addresses to return.
        port: u16,
    },
    /// Make a connection and pass its report to [`Session::handle_report`].
    Connect {
        /// The server's address and port.
        remote: SocketAddr,
        /// The task of the connection.
        order: Box<Order>,
    },
    /// Nothing more: see [`Session::outcome`].
    Done,
}

const REDIRECTS_MAX: u32 = 5;
/// This many failed runs in a row end the session.
const FAILURES_MAX: usize = 3;
/// Sizes the receive window: it fits an initial window of this many packets and the packets that a test
/// provokes, plus a quarter.
const FIRST_FLIGHT_PACKETS_MAX: u32 = 64;
const WINDOW_MIN_BYTES: u32 = 256 * 1024;
/// The largest receive window without scaling.
const WINDOW_UNSCALED_BYTES: u32 = 65_535;
/// The packets of a first flight that must fit into an unscaled window.
const FIRST_FLIGHT_PACKETS: u32 = 16;
/// The packets of a first flight that most servers send at once (RFC 6928).
const FIRST_BURST_PACKETS: u32 = 10;
/// The least MSS that every host takes (RFC 9293 §3.7.1).
const MSS_MIN: u16 = 536;

/// All connections to one server.
#[derive(Clone, Debug)]
pub struct Session {
    settings: Settings,
    target: Target,
    stage: Stage,
    /// URLs that are still to be tried.
    candidates: Vec<Url>,
    redirects: u32,
    /// The server to measure if no better one answers.
    fallback: Option<Found>,
    /// The failure of the first candidate, which the user most likely meant.
    failure: Option<Failure>,
    found: Option<Found>,
    reports: Vec<Report>,
    /// The connections that asked for ECN.
    ecn_reports: Vec<Report>,
    /// The port that the last connection opened for the next one.
    opened_port: Option<u16>,
    /// Addresses that have left a SYN without an answer.
    unanswered: Vec<IpAddr>,
}

#[derive(Clone, Debug)]
enum Stage {
    Resolving(Url),
    Scouting { url: Url, attempts: Attempts },
    Measuring,
    Done,
}

/// The server that answers.
#[derive(Clone, Debug)]
struct Found {
    url: Url,
    remote: SocketAddr,
    scout: Report,
}

impl Session {
    /// A session that has done nothing yet.
    pub fn new(target: Target, settings: Settings) -> Session {
        let mut candidates = target.candidates.clone();
        candidates.reverse();
        let mut session = Session {
            settings,
            target,
            stage: Stage::Done,
            candidates,
            redirects: 0,
            fallback: None,
            failure: None,
            found: None,
            reports: Vec::new(),
            ecn_reports: Vec::new(),
            opened_port: None,
            unanswered: Vec::new(),
        };
        session.try_next();
        session
    }

    /// The current step. It stays the same until its result is passed in.
    pub fn step(&self) -> Step {
        match &self.stage {
            Stage::Resolving(url) => {
                Step::Resolve { host: bare_host(url), port: Scheme::port_of(url).unwrap_or(80) }
            }
            Stage::Scouting { url, attempts } => match attempts.current() {
                Some(remote) => self.connect(remote, url, Purpose::Scout),
                None => Step::Done,
            },
            Stage::Measuring => match (&self.found, self.next_purpose()) {
                (Some(found), Some(purpose)) => self.connect(found.remote, &found.url, purpose),
                _ => Step::Done,
            },
            Stage::Done => Step::Done,
        }
    }

    /// The least pause before the next connection: before the first one too, as another probe may have just
    /// ended.
    pub fn pause_min(&self) -> Span {
        match self.step() {
            Step::Connect { order, .. } if order.purpose == Purpose::Identify => {
                order.dialogue.pause_min().max(identify::PAUSE)
            }
            Step::Connect { order, .. } => order.dialogue.pause_min(),
            _ => Span::ZERO,
        }
    }

    /// Completed and planned runs, for a progress bar.
    pub fn progress(&self) -> (usize, usize) {
        if self.settings.controllers.is_some() {
            return (self.reports.len(), identify::TRIALS_MAX);
        }
        (self.reports.len(), self.purposes().len() * self.settings.runs as usize)
    }

    /// The answer to [`Step::Resolve`].
    pub fn handle_addresses(&mut self, addresses: Result<Vec<SocketAddr>, String>) {
        let Stage::Resolving(url) = &self.stage else { return };
        let url = url.clone();
        let family = self.settings.family;
        let wanted = |address: &SocketAddr| match family {
            None => true,
            Some(Family::V4) => address.is_ipv4(),
            Some(Family::V6) => address.is_ipv6(),
        };
        let mut addresses = match addresses {
            Ok(addresses) => addresses,
            Err(why) => return self.fail(Failure::NoSuchHost { host: bare_host(&url), why }),
        };
        for address in &mut addresses {
            address.set_ip(address.ip().to_canonical());
        }
        addresses.retain(wanted);
        if addresses.is_empty() {
            let why = "no address of this family".to_owned();
            return self.fail(Failure::NoSuchHost { host: bare_host(&url), why });
        }
        let attempts = Attempts::new(&addresses, &self.unanswered);
        self.stage = Stage::Scouting { url, attempts };
    }

    /// Another answer to [`Step::Resolve`]: the host must not be probed.
    pub fn handle_exclusion(&mut self) {
        if let Stage::Resolving(url) = &self.stage {
            let host = bare_host(url);
            self.fail(Failure::Excluded { host });
        }
    }

    /// The answer to [`Step::Connect`].
    pub fn handle_report(&mut self, report: Report) {
        self.opened_port = report.heard.as_ref().and_then(|heard| heard.opened_port);
        if self.opened_port.is_some() {
            return;
        }
        match &mut self.stage {
            Stage::Scouting { url, attempts } => {
                let (url, remote) = (url.clone(), attempts.current());
                if let Some(remote) = remote {
                    self.handle_scout(Found { url, remote, scout: report });
                }
            }
            Stage::Measuring => {
                match self.next_ask() {
                    Some(_) => self.ecn_reports.push(report),
                    None => self.reports.push(report),
                }
                let measured = |report: &Report| report.ending == Ending::Measured;
                let tail = self.reports.iter().rev().take(FAILURES_MAX);
                let failing = tail.len() == FAILURES_MAX && !tail.clone().any(measured);
                // A server may send few packets at once, and not more.
                let some = !self.settings.bursts.is_empty() && self.reports.iter().any(measured);
                if failing && !some || self.next_purpose().is_none() {
                    self.stage = Stage::Done;
                }
            }
            _ => {}
        }
    }

    /// The next request for ECN, unless the server's ECN is known or not asked for.
    fn next_ask(&self) -> Option<Ask> {
        Capability::next_ask(&self.ecn_reports).filter(|_| self.settings.ecn)
    }

    /// The request of a trial's SYN: the kind that the server negotiates, as far as it is known.
    /// `None` on a path that marks.
    fn trial_ask(&self) -> Option<Ask> {
        let capability = Capability::of(&self.ecn_reports);
        let capability = capability.filter(|capability| capability.mode != Mode::None);
        let trial = capability.as_ref().and_then(|capability| capability.trial());
        let ask = trial.map_or(Ask::Accurate, |trial| trial.negotiation.ask);
        (!self.path_marks()).then_some(ask)
    }

    /// The outcome so far; it is complete after [`Step::Done`].
    pub fn outcome(&self) -> Outcome {
        outcome::make(self)
    }

    /// The same for bursts, if the settings ask for them.
    pub fn burst_outcome(&self) -> BurstOutcome {
        BurstOutcome::of(self.outcome(), &self.settings.bursts)
    }

    fn handle_scout(&mut self, found: Found) {
        match (&found.scout.ending, &found.scout.head) {
            (Ending::HeadRead, None) if found.scout.heard.is_some() => self.settle_on(found),
            (Ending::HeadRead, Some(head)) => match head.redirect_from(&found.url) {
                Err(why) => self.fail(Failure::BadRedirect { why }),
                Ok(Some(url)) => self.redirect(url),
                Ok(None) if self.looks_like_tls(&found.url, head) => {
                    self.fallback = Some(found);
                    self.try_next();
                }
                Ok(None) => self.settle_on(found),
            },
            (Ending::HeadRead, None) => self.fail(Failure::NotHttp),
            (ending, _) => {
                let silent = *ending == Ending::Silent;
                if silent && !self.unanswered.contains(&found.remote.ip()) {
                    self.unanswered.push(found.remote.ip());
                }
                // A name may have addresses that do not answer.
                let more = match &mut self.stage {
                    Stage::Scouting { attempts, .. } => attempts.next(silent),
                    _ => false,
                };
                if !more {
                    self.fail(Failure::Ended { ending: ending.clone() });
                }
            }
        }
    }

    /// Whether a guessed port seems to expect HTTPS: servers answer plain HTTP there with status 400.
    fn looks_like_tls(&self, url: &Url, head: &Head) -> bool {
        let guessed = self.target.guessed && !self.candidates.is_empty();
        guessed && url.scheme() == "http" && url.port().is_some() && head.status == 400
    }

    fn redirect(&mut self, url: Url) {
        self.redirects += 1;
        if self.redirects > REDIRECTS_MAX {
            self.candidates.clear();
            self.fallback = None;
            return self.fail(Failure::Redirects { count: self.redirects });
        }
        self.candidates = vec![url];
        // An answer arrived: earlier failures no longer explain the outcome.
        self.failure = None;
        self.try_next();
    }

    fn fail(&mut self, failure: Failure) {
        let nameless = matches!(failure, Failure::NoSuchHost { .. } | Failure::Excluded { .. });
        self.failure.get_or_insert(failure);
        if nameless {
            // The other ports have the same name.
            self.candidates.clear();
        }
        self.try_next();
    }

    fn try_next(&mut self) {
        match self.candidates.pop() {
            Some(url) => self.stage = Stage::Resolving(url),
            None => match self.fallback.take() {
                Some(found) => self.settle_on(found),
                None => self.stage = Stage::Done,
            },
        }
    }

    fn settle_on(&mut self, found: Found) {
        self.failure = None;
        self.unanswered.retain(|address| *address != found.remote.ip());
        self.found = Some(found);
        self.stage = Stage::Measuring;
    }

    /// The next measurement. Tests and sizes alternate, so that state that a server keeps about its peer
    /// affects all alike.
    fn next_purpose(&self) -> Option<Purpose> {
        if let Some(ask) = self.next_ask() {
            return Some(Purpose::Ecn(ask));
        }
        if self.settings.controllers.is_some() {
            return self.wants_trial().then_some(Purpose::Identify);
        }
        let (done, all) = self.progress();
        let purposes = self.purposes();
        let index = done.checked_rem(purposes.len())?;
        purposes.get(index).copied().filter(|_| done < all)
    }

    /// The measurements of a round.
    fn purposes(&self) -> Vec<Purpose> {
        let (packet_bytes, first_max) = (self.packet_bytes(), self.first_burst_max());
        let burst = |packets: &u16| {
            let packets = u32::from(*packets);
            let first_packets = packets.min(first_max);
            let fills = self.failures_of(packets) % 2 == 1;
            Purpose::Burst(BurstOrder { packets, first_packets, fills, packet_bytes })
        };
        match self.settings.bursts.is_empty() {
            true => self.settings.tests.iter().map(|test| Purpose::Measure(*test)).collect(),
            false => {
                self.settings.bursts.iter().filter(|n| self.has_room(**n)).map(burst).collect()
            }
        }
    }

    /// Whether so many packets fit into the receive window, which may have no scaling.
    fn has_room(&self, packets: u16) -> bool {
        let syn_ack = self.found.as_ref().and_then(|found| found.scout.syn_ack);
        let bytes = u32::from(packets) * self.packet_bytes();
        syn_ack.is_none_or(|syn_ack| syn_ack.window_scale.is_some())
            || bytes <= WINDOW_UNSCALED_BYTES
    }

    /// The most packets for which a burst's first window opens: the server's initial window, if a run has
    /// shown it. Otherwise twice the largest first flight so far.
    fn first_burst_max(&self) -> u32 {
        let runs = || self.reports.iter().flat_map(|report| &report.burst);
        let flights = |runs: &mut dyn Iterator<Item = &BurstRun>| {
            runs.map(|run| run.first_flight + if run.flights_before == 0 { run.lost } else { 0 })
                .max()
        };
        let is_short =
            |run: &&BurstRun| run.flights_before > 0 && run.first_flight < run.first_window;
        match flights(&mut runs().filter(is_short)) {
            Some(initial_window) => initial_window.max(1),
            None => FIRST_BURST_PACKETS.max(2 * flights(&mut runs()).unwrap_or(0)),
        }
    }

    /// Runs with bursts of this size that were not measured. After each, the other way to grow is tried.
    fn failures_of(&self, packets: u32) -> usize {
        let of_size = self.reports.iter().filter(|report| report.packets_asked == Some(packets));
        of_size.filter(|report| report.ending != Ending::Measured).count()
    }

    /// The payload of the longest packet seen in a burst, or the MSS that is announced.
    fn packet_bytes(&self) -> u32 {
        let seen = self.reports.iter().flat_map(|report| &report.burst);
        let mss = self.found.as_ref().map_or(0, |found| self.mss_usual(found.remote));
        seen.map(|run| run.packet_bytes).max().unwrap_or(u32::from(mss))
    }

    /// The longest wait for a SYN-ACK.
    fn handshake(&self) -> Span {
        let first = match &self.stage {
            Stage::Scouting { attempts, .. } => attempts.handshake(),
            _ => None,
        };
        first.unwrap_or(self.settings.patience).min(self.settings.patience)
    }

    fn connect(&self, remote: SocketAddr, url: &Url, purpose: Purpose) -> Step {
        let Settings { user_agent, exchange, .. } = &self.settings;
        // The target was read with the same function.
        let Ok(dialogue) = Dialogue::of(url, user_agent, exchange) else { return Step::Done };
        let secure = Scheme::of(url).is_some_and(|scheme| scheme.tls) || dialogue.begins_tls();
        let tls = secure.then(|| server_name(url)).flatten();
        let (remote, purpose, dialogue) = match (&dialogue, self.opened_port) {
            (Dialogue::Ftp { .. }, None) => (remote, Purpose::Open, dialogue),
            (Dialogue::Ftp { .. }, Some(port)) => {
                let first = Dialogue::Plain(Exchange::default());
                (SocketAddr::new(remote.ip(), port), purpose, first)
            }
            _ => (remote, purpose, dialogue),
        };
        let dialogue = match purpose {
            Purpose::Identify => self.supplied(dialogue, url),
            _ => dialogue,
        };
        let order = Order {
            purpose,
            tls: tls.map(|name| Tls { config: self.tls_config(&dialogue), name }),
            acks: self.settings.acks,
            timeout: self.settings.timeout,
            handshake: self.handshake(),
            patience: self.settings.patience.max(dialogue.patience_min()),
            mss: self.mss(remote, purpose),
            window: match purpose {
                Purpose::Identify => identify::WINDOW_BYTES,
                Purpose::Burst(burst) => burst.window(),
                _ => self.window(remote),
            },
            supply: self.supply(),
            ecn: self.trial_ask(),
            path_rtt: self.path_rtt(),
            dialogue,
        };
        Step::Connect { remote, order: Box::new(order) }
    }

    /// The TLS configuration: the protocol that ALPN names is for HTTP alone.
    fn tls_config(&self, dialogue: &Dialogue) -> Arc<ClientConfig> {
        let mut config = Arc::clone(&self.settings.tls);
        if !matches!(dialogue, Dialogue::Http { .. }) && !config.alpn_protocols.is_empty() {
            Arc::make_mut(&mut config).alpn_protocols.clear();
        }
        config
    }

    /// The most packets that the ACKs of a test may provoke, those that they free among them.
    fn packets_provoked(&self, test: Test) -> u32 {
        u32::from(self.settings.acks) * (1 + u32::from(test.parts()))
    }

    /// The most packets that the ACKs of any test may provoke.
    fn packets_provoked_max(&self) -> u32 {
        let provoked = self.settings.tests.iter().map(|test| self.packets_provoked(*test));
        provoked.max().unwrap_or(0)
    }

    /// The MSS to announce, if the receive window does not limit it.
    fn mss_usual(&self, remote: SocketAddr) -> u16 {
        let ethernet = if remote.is_ipv4() { 1460 } else { 1440 };
        self.settings.mss.unwrap_or(ethernet)
    }

    /// The MSS to announce, reduced if the window is too small for the test with the usual one.
    fn mss(&self, remote: SocketAddr, purpose: Purpose) -> u16 {
        let mss = self.mss_usual(remote);
        let scout = self.found.as_ref().and_then(|found| found.scout.syn_ack);
        let scaled = scout.is_none_or(|syn_ack| syn_ack.window_scale.is_some());
        if self.settings.mss.is_some() {
            return mss;
        }
        let test = match purpose {
            Purpose::Measure(test) => test,
            Purpose::Identify => return identify::MSS,
            Purpose::Scout | Purpose::Ecn(_) | Purpose::Open | Purpose::Burst(_) => return mss,
        };
        let mss = self.mss_supplied().map_or(mss, |supplied| supplied.min(mss));
        if scaled {
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

/// The host in the form that resolvers expect: IPv6 addresses without brackets.
fn bare_host(url: &Url) -> String {
    url.host_str().unwrap_or_default().trim_matches(['[', ']']).to_owned()
}

fn server_name(url: &Url) -> Option<ServerName<'static>> {
    ServerName::try_from(bare_host(url)).ok()
}

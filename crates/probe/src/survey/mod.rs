//! The schedule of a survey of many servers, without I/O.
//!
//! A host is begun while fewer than [`Pace::under_way_max`] are under way. Each connection takes a token
//! of the rate limit, first come, first served. Hosts with the same address take turns.

mod exclude;
pub mod hosts;
pub mod journal;
mod rows;
mod turns;

pub use exclude::Exclusions;
pub use rows::{HostRow, RunRow};

use crate::session::{Outcome, Session, Settings, Step};
use crate::target::Target;
use crate::topic::{Order, Report};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use turns::Turns;
use windlass_base::{Deadlines, RateLimit, Span, Time, TokenBucket};

/// The limits on the speed of a survey.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Pace {
    /// New connections per second, to all hosts together.
    pub rate: f64,
    /// The most hosts under way at once.
    pub under_way_max: usize,
    /// The pause between two connections to a host.
    pub pause: Span,
}

/// The size of a burst of connections, as the time in which its tokens accrue.
const BURST: Span = Span::from_millis(20);

impl Pace {
    /// The limit of new connections: bursts of 20 ms, at least of one connection.
    fn limit(&self) -> RateLimit {
        let interval_ns = (1e9 / self.rate.max(1e-6)).ceil() as u64;
        let period = Span::from_nanos(interval_ns.max(1));
        let burst = (BURST.as_nanos() / period.as_nanos()).max(1);
        RateLimit { tokens: 1, period, burst }
    }
}

/// An action of the caller.
#[derive(Clone, Debug)]
pub enum Action {
    /// Resolve a name and pass the addresses to [`Survey::handle_addresses`].
    Resolve {
        /// The host's index in the list.
        host: usize,
        /// A name or an address.
        name: String,
        /// The port of the addresses to return.
        port: u16,
    },
    /// Make a connection now and pass its report to [`Survey::handle_report`].
    Connect {
        /// The host's index in the list.
        host: usize,
        /// The server's address and port.
        remote: SocketAddr,
        /// The task of the connection.
        order: Box<Order>,
    },
    /// A host is done.
    Finished {
        /// The host's index in the list.
        host: usize,
        /// Its outcome.
        outcome: Box<Outcome>,
    },
}

/// A survey under way.
#[derive(Debug)]
pub struct Survey {
    settings: Settings,
    pace: Pace,
    exclusions: Arc<Exclusions>,
    hosts: Vec<String>,
    /// Hosts that are not begun.
    waiting: VecDeque<usize>,
    under_way: BTreeMap<usize, Host>,
    turns: Turns,
    /// Hosts that wait for a token.
    ready: VecDeque<usize>,
    /// Hosts that pause between two connections, and the ends of the pauses.
    resting: Deadlines<usize>,
    limit: RateLimit,
    bucket: TokenBucket,
    /// Actions that are due at once.
    due: VecDeque<Action>,
    connections: u64,
}

#[derive(Debug)]
struct Host {
    session: Session,
    /// The address that it uses or waits for.
    address: Option<IpAddr>,
}

impl Survey {
    /// A survey of `hosts`, except those that are `done`.
    pub fn new(
        hosts: Vec<String>,
        done: &BTreeSet<&str>,
        settings: Settings,
        pace: Pace,
        exclusions: Arc<Exclusions>,
    ) -> Survey {
        let left = hosts.iter().enumerate().filter(|(_, host)| !done.contains(host.as_str()));
        Survey {
            waiting: left.map(|(index, _)| index).collect(),
            limit: pace.limit(),
            bucket: TokenBucket::default(),
            settings,
            pace,
            exclusions,
            hosts,
            under_way: BTreeMap::new(),
            turns: Turns::default(),
            ready: VecDeque::new(),
            resting: Deadlines::default(),
            due: VecDeque::new(),
            connections: 0,
        }
    }

    /// A host as the list names it.
    pub fn host(&self, index: usize) -> &str {
        self.hosts.get(index).map_or("", String::as_str)
    }

    /// Hosts that are neither done nor begun, and hosts under way.
    pub fn left(&self) -> (usize, usize) {
        (self.waiting.len(), self.under_way.len())
    }

    /// Connections begun.
    pub fn connections(&self) -> u64 {
        self.connections
    }

    /// True if there is nothing more to do, now or later.
    pub fn is_done(&self) -> bool {
        self.waiting.is_empty() && self.under_way.is_empty() && self.due.is_empty()
    }

    /// The next action. `None`: nothing to do before [`Survey::poll_timeout`] or the next answer.
    pub fn poll_action(&mut self, now: Time) -> Option<Action> {
        while let Some((_, host)) = self.resting.pop(now) {
            self.advance(now, host);
        }
        while self.under_way.len() < self.pace.under_way_max
            && let Some(host) = self.waiting.pop_front()
        {
            self.begin(now, host);
        }
        if let Some(action) = self.due.pop_front() {
            return Some(action);
        }
        if self.ready.is_empty() || !self.bucket.take(&self.limit, now, 1) {
            return None;
        }
        let host = self.ready.pop_front()?;
        match self.under_way.get(&host)?.session.step() {
            Step::Connect { remote, order } => {
                self.connections += 1;
                Some(Action::Connect { host, remote, order })
            }
            _ => None,
        }
    }

    /// The time of the next action, unless an answer arrives first.
    pub fn poll_timeout(&self) -> Option<Time> {
        let token = (!self.ready.is_empty()).then(|| self.bucket.ready_at(&self.limit, 1));
        self.resting.next().into_iter().chain(token).min()
    }

    /// The answer to [`Action::Resolve`].
    pub fn handle_addresses(
        &mut self,
        now: Time,
        host: usize,
        addresses: Result<Vec<SocketAddr>, String>,
    ) {
        let Some(Host { session, .. }) = self.under_way.get_mut(&host) else { return };
        let excluded = |address: &SocketAddr| self.exclusions.contains(address.ip());
        match addresses {
            Ok(found) if !found.is_empty() && found.iter().all(excluded) => {
                session.handle_exclusion();
            }
            Ok(mut found) => {
                found.retain(|address| !excluded(address));
                session.handle_addresses(Ok(found));
            }
            Err(why) => session.handle_addresses(Err(why)),
        }
        self.advance(now, host);
    }

    /// The answer to [`Action::Connect`].
    pub fn handle_report(&mut self, now: Time, host: usize, report: Report) {
        let Some(Host { session, .. }) = self.under_way.get_mut(&host) else { return };
        session.handle_report(report);
        let pause = self.pace.pause.max(session.pause_min());
        self.resting.insert(now + pause, host);
    }

    fn begin(&mut self, now: Time, host: usize) {
        // The list was read by the same function.
        let target = Target::parse_as(self.host(host), self.settings.scheme);
        let Ok(target) = target else { return };
        let session = Session::new(target, self.settings.clone());
        self.under_way.insert(host, Host { session, address: None });
        self.advance(now, host);
    }

    /// Starts the next step of a host, or queues it.
    fn advance(&mut self, now: Time, host: usize) {
        let Some(entry) = self.under_way.get_mut(&host) else { return };
        match entry.session.step() {
            Step::Resolve { host: name, port } => {
                self.due.push_back(Action::Resolve { host, name, port });
            }
            Step::Connect { remote, .. } if entry.address == Some(remote.ip()) => {
                self.ready.push_back(host);
            }
            Step::Connect { remote, .. } => {
                let left = entry.address.replace(remote.ip());
                self.leave(now, left, host);
                if self.turns.claim(remote.ip(), host) {
                    self.ready.push_back(host);
                }
            }
            Step::Done => {
                let Some(entry) = self.under_way.remove(&host) else { return };
                self.leave(now, entry.address, host);
                let outcome = Box::new(entry.session.outcome());
                self.due.push_back(Action::Finished { host, outcome });
            }
        }
    }

    /// Releases an address. The next host that waits for it pauses first, as this one would have.
    fn leave(&mut self, now: Time, address: Option<IpAddr>, host: usize) {
        if let Some(next) = address.and_then(|address| self.turns.leave(address, host)) {
            self.resting.insert(now + self.pace.pause, next);
        }
    }
}

#[cfg(test)]
mod tests;

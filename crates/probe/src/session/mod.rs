//! All connections to one server, one after the other, without I/O. Scouts find the port and follow
//! redirects; then the tests run in rounds. With FTP each of these connections has another one before it, which
//! opens the way.

mod attempts;
mod bursts;
mod certain;
mod object;
mod outcome;
mod plan;
mod settings;
mod spoken;

pub use bursts::BurstOutcome;
pub use outcome::{Failure, Outcome, Predicted, Stat, TestRow};
pub use settings::{Family, Runs, Settings};
pub use spoken::{Spoken, WindowAfter};

use crate::dialogue::Scheme;
use crate::http::Head;
use crate::target::Target;
use crate::topic::ReadOrder;
use crate::topic::cca::{Controller, trials};
use crate::topic::ecn::{Ask, Capability};
use crate::topic::{Ending, Order, Purpose, Report};
use attempts::Attempts;
use object::{Object, Search};
use std::net::{IpAddr, SocketAddr};
use url::Url;
use windlass_base::Span;

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
    /// Its caller ended it.
    interrupted: bool,
    /// How often a connection that measures asks for the object.
    repeats: usize,
    /// Why another object than the page is measured, or this one several times.
    object_note: Option<String>,
}

#[derive(Clone, Debug)]
enum Stage {
    Resolving(Url),
    Scouting {
        url: Url,
        attempts: Attempts,
    },
    /// The page is too small.
    Searching(Box<Search>),
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

impl Found {
    /// Whether the server has no window scaling.
    fn is_unscaled(&self) -> bool {
        self.scout.syn_ack.is_some_and(|syn_ack| syn_ack.window_scale.is_none())
    }

    /// Whether TLS comes before its dialogue, or in it.
    fn is_secured(&self) -> bool {
        Scheme::of(&self.url).is_some_and(|scheme| scheme.tls)
    }
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
            interrupted: false,
            repeats: 1,
            object_note: None,
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
                Some(remote) => self.connect(remote, url, self.scouts(remote, url)),
                None => Step::Done,
            },
            Stage::Searching(search) => match (&self.found, search.next()) {
                (Some(found), Some((url, purpose))) => self.connect(found.remote, &url, purpose),
                _ => Step::Done,
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
            Step::Connect { order, .. } => match order.purpose {
                Purpose::Identify(_) => order.dialogue.kind.pause_min.max(trials::PAUSE),
                _ => order.dialogue.kind.pause_min,
            },
            _ => Span::ZERO,
        }
    }

    /// Completed runs, and the most that there can be, for a progress bar.
    pub fn progress(&self) -> (usize, usize) {
        if self.settings.controllers.is_some() {
            return (self.reports.len(), trials::TRIALS_MAX);
        }
        (self.reports.len(), self.purposes().len() * self.settings.runs.most() as usize)
    }

    /// The answer to [`Step::Resolve`].
    pub fn handle_addresses(&mut self, addresses: Result<Vec<SocketAddr>, String>) {
        let Stage::Resolving(url) = &self.stage else { return };
        let url = url.clone();
        let mut addresses = match addresses {
            Ok(addresses) => addresses,
            Err(why) => return self.fail(Failure::NoSuchHost { host: bare_host(&url), why }),
        };
        for address in &mut addresses {
            address.set_ip(address.ip().to_canonical());
        }
        addresses.retain(|address| self.settings.takes(address));
        if addresses.is_empty() {
            let why = "no address of this family".to_owned();
            return self.fail(Failure::NoSuchHost { host: bare_host(&url), why });
        }
        let attempts = Attempts::new(&addresses, &self.unanswered);
        self.stage = Stage::Scouting { url, attempts };
    }

    /// Another answer to [`Step::Resolve`]: the host must not be probed.
    pub(crate) fn handle_exclusion(&mut self) {
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
            Stage::Searching(search) => {
                search.handle_report(report);
                self.end_search();
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
                let is_over = self.next_purpose().is_none() || self.is_certain();
                if failing && !some || is_over {
                    self.stage = Stage::Done;
                }
            }
            _ => {}
        }
    }

    /// Ends the session early. Its outcome is on what is known so far.
    pub fn interrupt(&mut self) {
        self.interrupted = !matches!(self.step(), Step::Done);
        self.stage = Stage::Done;
    }

    /// The next request for ECN, unless the server's ECN is known or not asked for.
    fn next_ask(&self) -> Option<Ask> {
        Capability::next_ask(&self.ecn_reports).filter(|_| self.settings.ecn)
    }

    /// The outcome so far; it is complete after [`Step::Done`].
    pub fn outcome(&self) -> Outcome {
        outcome::make(self)
    }

    /// The same for bursts, if the settings ask for them.
    pub fn burst_outcome(&self) -> BurstOutcome {
        bursts::make(self.outcome(), &self.settings.bursts, self.object_note.as_ref())
    }

    /// The verdict on the congestion controller; `None` before the first trial, or if it is not asked for.
    fn controller(&self) -> Option<Controller> {
        trials::verdict(&self.reports, self.settings.controllers.as_ref()?)
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
        let search = self.searches().then(|| {
            Search::new(&found, self.enough_bytes(found.remote), &self.settings.user_agent)
        });
        self.found = Some(found);
        self.stage = match search.flatten() {
            Some(search) => Stage::Searching(Box::new(search)),
            None => Stage::Measuring,
        };
        self.end_search();
    }

    /// Whether a web server's page is to be large enough. A trial of its controller asks for it again and again.
    fn searches(&self) -> bool {
        self.settings.find_object && self.settings.controllers.is_none()
    }

    /// The purpose of a connection that finds out whether a server answers.
    fn scouts(&self, remote: SocketAddr, url: &Url) -> Purpose {
        match self.searches() && matches!(url.scheme(), "http" | "https") {
            true => Purpose::Read(ReadOrder::Page { enough: self.enough_bytes(remote) }),
            false => Purpose::Scout,
        }
    }

    /// Takes the object of a search that is over.
    fn end_search(&mut self) {
        let Stage::Searching(search) = &self.stage else { return };
        if search.next().is_some() {
            return;
        }
        let search = std::mem::replace(&mut self.stage, Stage::Measuring);
        if let Stage::Searching(search) = search {
            // Packets of bursts have to be full, which those at the ends of short answers are not.
            let Object { found, repeats, why } = search.choose(self.settings.bursts.is_empty());
            self.found = Some(found);
            (self.repeats, self.object_note) = (repeats, Some(why));
        }
    }
}

/// The host in the form that resolvers expect: IPv6 addresses without brackets.
fn bare_host(url: &Url) -> String {
    url.host_str().unwrap_or_default().trim_matches(['[', ']']).to_owned()
}

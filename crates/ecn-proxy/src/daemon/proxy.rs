//! The packet path and what the daemon knows of it.

use super::RunError;
use super::counters;
use super::interfaces::Interfaces;
use super::offload;
use super::protocol::{Sizes, State, Stats, Status};
use crate::config::{Config, Source};
use crate::datapath::{Datapath, Error, Flow, FlowState, Switch};
use serde::Serialize;
use serde_json::json;
use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tracing::{error, info, warn};

/// A handshake without a packet for so long holds up no drain.
const HANDSHAKE_PATIENCE: Duration = Duration::from_secs(10);

/// All that the daemon looks after.
#[derive(Debug)]
pub(super) struct Proxy {
    source: Source,
    config: Config,
    datapath: Datapath,
    interfaces: Interfaces,
    state: State,
    state_since: SystemTime,
    started: SystemTime,
    drain_until: Option<Instant>,
    warnings: Vec<String>,
}

impl Proxy {
    /// Loads the programs and puts them at the interfaces that are there.
    pub(super) fn start(source: Source, config: Config) -> Result<Proxy, RunError> {
        let datapath = Datapath::load(&config.datapath())?;
        let now = SystemTime::now();
        let mut proxy = Proxy {
            source,
            config,
            datapath,
            interfaces: Interfaces::default(),
            state: State::On,
            state_since: now,
            started: now,
            drain_until: None,
            warnings: Vec::new(),
        };
        // What was pinned by an earlier daemon is as that one left it.
        proxy.apply()?;
        proxy.resume()?;
        match proxy.interfaces.refused() {
            Some((name, why)) => Err(RunError::Interface(name.clone(), why.clone())),
            None => Ok(proxy),
        }
    }

    /// Brings the packet path to what the configuration says.
    fn apply(&mut self) -> Result<(), Error> {
        self.datapath.set_policy(self.config.policy)?;
        self.datapath.set_lists(&self.config.lists)?;
        let wanted = self.config.interfaces().map(|(name, side)| (name.clone(), side));
        self.interfaces.want(wanted.collect());
        self.sync_interfaces();
        self.look_for_offload();
        Ok(())
    }

    /// Serves the interfaces that are there now.
    pub(super) fn sync_interfaces(&mut self) {
        self.interfaces.sync(&mut self.datapath);
    }

    /// Reads the configuration again. What is wrong with it is logged, and nothing changes then.
    pub(super) fn reload(&mut self) {
        let config = match self.source.config() {
            Ok(config) => config,
            Err(faults) => {
                error!("configuration not reloaded, the former stays in force: {faults}");
                return;
            }
        };
        for key in self.config.needs_restart(&config) {
            warn!(key, "a change of this key takes a restart");
        }
        self.config = self.config.with_changes(config);
        match self.apply() {
            Ok(()) => info!("configuration reloaded"),
            Err(error) => error!("configuration not reloaded as a whole: {error}"),
        }
    }

    /// Everything passes untouched from now on.
    pub(super) fn switch_off(&mut self) -> Result<(), Error> {
        self.datapath.set_enabled(false)?;
        self.enter(State::Off);
        Ok(())
    }

    /// What switches it off without waiting for the proxy.
    pub(super) fn switch(&self) -> Switch {
        self.datapath.switch()
    }

    /// Serves, old and new connections.
    pub(super) fn resume(&mut self) -> Result<(), Error> {
        self.datapath.set_draining(false)?;
        self.datapath.set_enabled(true)?;
        self.drain_until = None;
        self.enter(State::On);
        Ok(())
    }

    /// Takes nothing new on, for at most so long.
    pub(super) fn drain(&mut self, at_most: Duration) -> Result<(), Error> {
        self.datapath.set_draining(true)?;
        // While it is off nothing is served that could come to its end.
        let at_most = if self.state == State::Off { Duration::ZERO } else { at_most };
        self.drain_until = Instant::now().checked_add(at_most);
        self.enter(State::Draining);
        Ok(())
    }

    fn enter(&mut self, state: State) {
        if self.state != state {
            info!("state: {state:?}, was {:?}", self.state);
            self.state = state;
            self.state_since = SystemTime::now();
        }
    }

    /// What it does at present.
    pub(super) fn state(&self) -> State {
        self.state
    }

    /// A drain is over: nothing is under way any more, or the time is up.
    pub(super) fn drained(&self) -> Result<bool, Error> {
        let Some(deadline) = self.drain_until else { return Ok(false) };
        if Instant::now() >= deadline {
            return Ok(true);
        }
        // The number first: it is there without a look at each.
        if self.datapath.flow_count()? > 0 {
            return Ok(false);
        }
        let under_way =
            |flow: &Flow| flow.state != FlowState::Handshake || flow.idle < HANDSHAKE_PATIENCE;
        Ok(!self.datapath.flows()?.iter().any(under_way))
    }

    /// Forgets connections that are idle or closed, and tells the programs that someone is there.
    pub(super) fn sweep(&mut self) -> Result<u64, Error> {
        self.datapath.expire(&self.config.timeouts)
    }

    /// Looks whether packets go past the programs, or come by twice, and logs what is new.
    pub(super) fn look_for_offload(&mut self) {
        let names = self.interfaces.names();
        let mut found = match offload::flow_tables() {
            Ok(tables) => offload::warnings(&tables, names, offload::devices_below),
            Err(message) => vec![format!("flowtables not looked at: {message}")],
        };
        let names: Vec<_> = self.interfaces.names().collect();
        found.extend(offload::served_twice(&names, offload::devices_below));
        for message in found.iter().filter(|message| !self.warnings.contains(message)) {
            warn!("{message}");
        }
        self.warnings = found;
    }

    /// The connections in the table.
    pub(super) fn flows(&self) -> Result<Vec<Flow>, Error> {
        self.datapath.flows()
    }

    /// What is in force.
    pub(super) fn status(&self) -> Result<Status, Error> {
        let flows = count(self.datapath.flows()?.into_iter().map(|flow| flow.state));
        Ok(Status { flows, ..self.overview() })
    }

    /// The same without the connections, which may be many.
    pub(super) fn overview(&self) -> Status {
        let Config { flows_max, handshakes_max, hosts_max, policy, .. } = self.config;
        Status {
            windlass: env!("CARGO_PKG_VERSION"),
            pid: std::process::id(),
            state: self.state,
            state_since_s: unix_s(self.state_since),
            started_s: unix_s(self.started),
            policy,
            interfaces: self.interfaces.status(&self.datapath.attachments()),
            features: self.datapath.features().clone(),
            flows: BTreeMap::new(),
            sizes: Sizes { flows_max, handshakes_max, hosts_max },
            config_file: self.source.file.clone(),
            warnings: self.warnings.clone(),
        }
    }

    /// The counters.
    pub(super) fn stats(&self) -> Result<Stats, Error> {
        let counters = self.datapath.counters()?;
        Ok(Stats {
            counters: counters::by_name(&counters),
            reasons: counters::by_reason(&counters),
            hosts: count(self.datapath.hosts()?.into_iter().map(|host| host.ecn)),
            flows: self.datapath.flow_count()?,
        })
    }

    /// Leaves the interfaces. What is pinned stays for the next daemon, unless this is `for_good`.
    pub(super) fn end(&mut self, for_good: bool) -> Result<(), Error> {
        let pinned = self.datapath.features().pinned.clone();
        if pinned.is_some() && !for_good {
            return Ok(());
        }
        for attachment in self.datapath.attachments() {
            self.datapath.detach(&attachment.interface)?;
        }
        match pinned {
            Some(folder) => {
                std::fs::remove_dir_all(&folder).map_err(|error| Error::Io(folder, error))
            }
            None => Ok(()),
        }
    }
}

fn unix_s(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// How many of each there are, by the name that serde gives it.
fn count<T: PartialEq + Serialize>(items: impl IntoIterator<Item = T>) -> BTreeMap<String, u64> {
    let mut counts: Vec<(T, u64)> = Vec::new();
    for item in items {
        match counts.iter_mut().find(|(kind, _)| *kind == item) {
            Some((_, count)) => *count += 1,
            None => counts.push((item, 1)),
        }
    }
    let name = |kind: &T| json!(kind).as_str().unwrap_or_default().to_owned();
    counts.iter().map(|(kind, count)| (name(kind), *count)).collect()
}

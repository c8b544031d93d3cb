//! The packet path and the daemon's state of it.

use super::RunError;
use super::counters;
use super::devices::{self, Device, EcnShare};
use super::interfaces::Interfaces;
use super::leases::{self, Leases};
use super::offload;
use super::protocol::{Sizes, State, Stats, Status};
use crate::config::{Config, Source};
use crate::datapath::{Datapath, EcnUse, Error, Flow, FlowState, Switch};
use serde::Serialize;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tracing::{error, info, warn};

/// A drain does not wait for a handshake that has been idle for this long.
const HANDSHAKE_PATIENCE: Duration = Duration::from_secs(10);

/// Everything that the daemon manages.
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
    /// The counter `lists_kept` when the proxy was last switched on.
    lists_kept_before: u64,
    warnings: Vec<String>,
}

impl Proxy {
    /// Loads the programs and attaches them to the existing interfaces.
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
            lists_kept_before: 0,
            warnings: Vec::new(),
        };
        // Pinned tables keep the settings of the earlier daemon.
        proxy.apply()?;
        proxy.resume()?;
        match proxy.interfaces.refused() {
            Some((name, why)) => Err(RunError::Interface(name.clone(), why.clone())),
            None => Ok(proxy),
        }
    }

    /// Applies the configuration to the packet path.
    fn apply(&mut self) -> Result<(), Error> {
        self.datapath.set_policy(self.config.policy)?;
        self.datapath.set_lists(&self.config.lists)?;
        let wanted = self.config.interfaces().map(|(name, side)| (name.clone(), side));
        self.interfaces.want(wanted.collect());
        self.sync_interfaces();
        self.look_for_trouble();
        Ok(())
    }

    /// Attaches the programs to the interfaces that exist now.
    pub(super) fn sync_interfaces(&mut self) {
        self.interfaces.sync(&mut self.datapath);
    }

    /// Reloads the configuration. On a mistake it logs the error and changes nothing.
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

    /// Lets every packet pass untouched from now on.
    pub(super) fn switch_off(&mut self) -> Result<(), Error> {
        self.datapath.set_enabled(false)?;
        self.enter(State::Off);
        Ok(())
    }

    /// A handle of the kill switch that does not need the lock of the proxy.
    pub(super) fn switch(&self) -> Switch {
        self.datapath.switch()
    }

    /// Serves existing and new connections.
    pub(super) fn resume(&mut self) -> Result<(), Error> {
        self.datapath.set_draining(false)?;
        self.datapath.set_enabled(true)?;
        self.drain_until = None;
        self.lists_kept_before = self.datapath.counters()?.lists_kept;
        self.enter(State::On);
        Ok(())
    }

    /// Takes on no new connection, for at most the given time.
    pub(super) fn drain(&mut self, at_most: Duration) -> Result<(), Error> {
        self.datapath.set_draining(true)?;
        // While the proxy is off, it serves no connection that could end.
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

    /// The current mode.
    pub(super) fn state(&self) -> State {
        self.state
    }

    /// Whether the drain has ended: no connection is left, or the time is up.
    pub(super) fn drained(&self) -> Result<bool, Error> {
        let Some(deadline) = self.drain_until else { return Ok(false) };
        if Instant::now() >= deadline {
            return Ok(true);
        }
        // The number first: it does not need a look at each entry.
        if self.datapath.flow_count()? > 0 {
            return Ok(false);
        }
        let under_way =
            |flow: &Flow| flow.state != FlowState::Handshake || flow.idle < HANDSHAKE_PATIENCE;
        Ok(!self.datapath.flows()?.iter().any(under_way))
    }

    /// Removes idle and closed connections and renews the lease of the programs.
    pub(super) fn sweep(&mut self) -> Result<u64, Error> {
        self.datapath.expire(&self.config.timeouts)
    }

    /// Checks whether packets bypass the programs or pass them twice, and whether the file of leases
    /// can be read. Logs new findings.
    pub(super) fn look_for_trouble(&mut self) {
        let names = self.interfaces.names();
        let mut found = match offload::flow_tables() {
            Ok(tables) => offload::warnings(&tables, names, offload::devices_below),
            Err(message) => vec![format!("flowtables not looked at: {message}")],
        };
        let names: Vec<_> = self.interfaces.names().collect();
        found.extend(offload::served_twice(&names, offload::devices_below));
        found.extend(self.config.leases.as_deref().and_then(leases::trouble));
        let features = self.datapath.features();
        if !features.types {
            found.push(offload::lists_unknown(&features.kernel));
        }
        let kernel = features.kernel.clone();
        match self.datapath.counters() {
            Ok(counters) => {
                let kept = counters.lists_kept.saturating_sub(self.lists_kept_before);
                found.extend(offload::lists_kept(kept, &kernel));
                if kept > 0
                    && let Err(error) = self.datapath.set_draining(true)
                {
                    found.push(format!("still takes on connections: {error}"));
                }
            }
            Err(error) => found.push(format!("counters not read: {error}")),
        }
        for message in found.iter().filter(|message| !self.warnings.contains(message)) {
            warn!("{message}");
        }
        self.warnings = found;
    }

    /// The connections in the table.
    pub(super) fn flows(&self) -> Result<Vec<Flow>, Error> {
        self.datapath.flows()
    }

    /// The file of leases that the configuration names.
    pub(super) fn leases(&self) -> Option<PathBuf> {
        self.config.leases.clone()
    }

    /// The devices of the served hosts.
    pub(super) fn devices(&self, leases: &Leases) -> Result<Vec<Device>, Error> {
        Ok(devices::group(self.datapath.served_hosts()?, leases))
    }

    /// The same without the bytes, marks and last packets of connections in the table, which may be
    /// many.
    pub(super) fn devices_without_flows(&self, leases: &Leases) -> Result<Vec<Device>, Error> {
        Ok(devices::group(self.datapath.served_hosts_without_flows()?, leases))
    }

    /// The settings and state in force.
    pub(super) fn status(&self, leases: &Leases) -> Result<Status, Error> {
        let flows = self.datapath.flows()?;
        let withheld = count(flows.iter().filter_map(|flow| flow.withheld));
        let flows = count(flows.into_iter().map(|flow| flow.state));
        let ecn = self.devices_without_flows(leases)?.iter().collect();
        let losses_avoided = self.datapath.counters()?.losses_avoided();
        Ok(Status { flows, withheld, ecn, losses_avoided, ..self.overview() })
    }

    /// The same without the connections and devices, which may be many, and counters.
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
            withheld: BTreeMap::new(),
            ecn: EcnShare::default(),
            losses_avoided: 0,
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

    /// Detaches from the interfaces. Pinned programs stay for the next daemon unless `for_good` is set.
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
                std::fs::remove_dir_all(&folder).map_err(|error| Error::io(folder, error))
            }
            None => Ok(()),
        }
    }
}

fn unix_s(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// How often each [`EcnUse`] occurs, 0 included.
pub(super) fn by_ecn(uses: impl IntoIterator<Item = EcnUse>) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::from(EcnUse::ALL.map(|(_, name)| (name.to_owned(), 0)));
    for (name, number) in count(uses) {
        counts.insert(name, number);
    }
    counts
}

/// Counts equal values by the name that serde gives them.
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

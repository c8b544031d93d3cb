//! From arguments and configuration to a node with its peers.

use super::super::{key_file, settings};
use super::args::SessionArgs;
use super::config::{self, Config};
use super::log;
use super::names::Names;
use crate::envelope::Document;
use crate::failure::Failure;
use indicatif::ProgressBar;
use serde_json::{Value, json};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use windlass_forward::status::{self, Status, StatusSocket};
use windlass_forward::{Carrier, Peers, Registry};
use windlass_identity::{PublicKey, SecretKey};
use windlass_tou::Options;
use windlass_tou::secure::Identity;
use windlass_tou::session::{Allow, Node, NodeOptions, RendezvousAddress, Session};

/// Connections of a port that may wait to be accepted.
const BACKLOG: usize = 1024;

/// A peer without a path is given up after as long: what its programs have not acknowledged would be
/// retransmitted for a quarter of an hour otherwise.
const OUTAGE_MAX: Duration = Duration::from_secs(135);

/// Arguments and configuration together; the arguments have precedence.
pub(super) struct Setup {
    pub(super) args: SessionArgs,
    pub(super) config: Config,
    pub(super) names: Names,
    pub(super) key_file: PathBuf,
    key: SecretKey,
    via: Vec<RendezvousAddress>,
    /// Standard error is another program's too.
    quiet: bool,
}

/// The file in the arguments, or the configured one.
pub(super) fn named_key_file(argument: Option<&Path>, config: &Config) -> Option<PathBuf> {
    argument.map(Path::to_owned).or_else(|| config.key.clone())
}

impl Setup {
    /// Reads the configuration and the key, and begins to log.
    pub(super) fn new(args: &SessionArgs) -> Result<Setup, Failure> {
        Setup::with_log(args, false)
    }

    /// The same for a command that shares standard error with another program.
    pub(super) fn quiet(args: &SessionArgs) -> Result<Setup, Failure> {
        Setup::with_log(args, true)
    }

    fn with_log(args: &SessionArgs, quiet: bool) -> Result<Setup, Failure> {
        let config = config::read(args.config.as_deref()).map_err(Failure::Input)?;
        let via = if args.via.is_empty() { config.via.clone() } else { args.via.clone() };
        if via.is_empty() {
            let file = config::default_path().unwrap_or_else(|| "a configuration file".into());
            let text = "no rendezvous: name one with --via, or with via = [\"HOST\"] in";
            return Err(Failure::Input(format!("{text} {}", file.display())));
        }
        let named = named_key_file(args.key.as_deref(), &config);
        let (key_file, key) = key_file::load(named, windlass_identity::default_path())?;
        log::begin(quiet, args.verbose, args.json);
        let names = Names::new(&config.peers);
        Ok(Setup { args: args.clone(), config, names, key_file, key, via, quiet })
    }

    /// The key of a host that may connect, given by key or name.
    pub(super) fn key_of(&self, text: &str) -> Result<PublicKey, Failure> {
        config::peer_key(text, &self.config.peers).map_err(Failure::Input)
    }

    /// The key of a peer to connect to, given by key or name.
    pub(super) fn peer(&self, text: &str) -> Result<PublicKey, Failure> {
        let key = self.key_of(text)?;
        if key == self.key.public_key() {
            let text = format!("{text}: this host's own key; expected that of another host");
            return Err(Failure::Input(text));
        }
        Ok(key)
    }

    /// This host's key for TLS; `None` with --plain.
    pub(super) fn identity(&self) -> Option<Identity> {
        (!self.args.plain).then(|| Identity::new(&self.key))
    }

    /// Binds a UDP port and begins to register.
    pub(super) fn running(self, command: &'static str, allow: Allow) -> Result<Running, Failure> {
        let runtime = Runtime::new().map_err(|error| Failure::io("runtime", &error))?;
        let identity = self.identity();
        let mut options = NodeOptions::new(self.key);
        options.allow = allow;
        options.rendezvous = self.via.clone();
        options.relay_only = self.args.relay_only || self.config.relay_only;
        options.outage_max = OUTAGE_MAX;
        options.connections = Options {
            nodelay: true,
            backlog: BACKLOG,
            keep_alive: Some(settings::KEEP_ALIVE),
            qlog: settings::qlog_folder(self.args.qlog.as_deref())?,
            ..options.connections.clone()
        };
        if let Some(instance) = instance(&self.key_file) {
            options.instance = instance;
        }
        let node = Node::bind(options).map_err(|error| Failure::io("UDP port", &error))?;
        let _inside = runtime.enter();
        tokio::spawn(log::events(node.clone(), self.via.clone(), self.names.clone(), self.quiet));
        let peers = Arc::new(Peers::new(node.clone(), identity.clone()));
        Ok(Running {
            command,
            json: self.args.json,
            encrypted: !self.args.plain,
            began: Instant::now(),
            via: self.via.iter().map(ToString::to_string).collect(),
            names: self.names,
            registry: Registry::default(),
            runtime,
            node,
            identity,
            peers,
        })
    }
}

/// Identifies this installation at the rendezvous: a restarted command may register its key again at
/// once. Two hosts with copies of one key have different numbers. `None` on a system without a number.
fn instance(key_file: &Path) -> Option<[u8; 16]> {
    let machine = std::fs::read_to_string("/etc/machine-id").ok()?;
    let key_file = key_file.canonicalize().ok()?;
    let half = |number: u8| {
        let mut hasher = DefaultHasher::new();
        (number, machine.trim(), &key_file).hash(&mut hasher);
        hasher.finish().to_be_bytes()
    };
    let mut instance = [0; 16];
    instance[..8].copy_from_slice(&half(1));
    instance[8..].copy_from_slice(&half(2));
    Some(instance)
}

/// A command with its node.
pub(super) struct Running {
    command: &'static str,
    json: bool,
    encrypted: bool,
    began: Instant,
    via: Vec<String>,
    pub(super) names: Names,
    pub(super) registry: Registry,
    pub(super) runtime: Runtime,
    pub(super) node: Node,
    pub(super) identity: Option<Identity>,
    pub(super) peers: Arc<Peers>,
}

impl Running {
    /// How connections reach peers.
    pub(super) fn carrier(&self) -> Carrier {
        Carrier { dial: Arc::clone(&self.peers) as _, registry: self.registry.clone() }
    }

    /// Serves the command's status until the value is dropped. A command without it works too.
    pub(super) fn serve_status(&self, serves: Vec<String>) -> Option<StatusSocket> {
        let (node, registry, names) =
            (self.node.clone(), self.registry.clone(), self.names.clone());
        let (began, via, encrypted) = (self.began, self.via.clone(), self.encrypted);
        let (command, namespace) = (self.command, status::network_namespace());
        let status = move || Status {
            command: command.to_owned(),
            pid: std::process::id(),
            user: None,
            namespace: namespace.clone(),
            uptime_s: began.elapsed().as_secs(),
            key: node.public_key().to_string(),
            local: node.local_addr(),
            serves: serves.clone(),
            via: via.clone(),
            encrypted,
            peers: status::peers(&node, &registry, |key| names.get(key)),
        };
        let _inside = self.runtime.enter();
        let folder = status::default_folder()?;
        match status::serve(&folder, Arc::new(status)) {
            Ok(socket) => Some(socket),
            Err(error) => {
                tracing::warn!("no status at {}: {error}", folder.display());
                None
            }
        }
    }

    /// A session with the peer, with a line on a terminal meanwhile.
    pub(super) async fn session(&self, peer: PublicKey) -> Result<Session, Failure> {
        let name = self.names.of(&peer);
        let shown = !self.json && std::io::stderr().is_terminal();
        let line = if shown { ProgressBar::new_spinner() } else { ProgressBar::hidden() };
        line.set_message(format!("looking for a path to {name}"));
        line.enable_steady_tick(Duration::from_millis(100));
        let session = self.peers.session(peer).await;
        line.finish_and_clear();
        session.map_err(|error| Failure::io(name, &error))
    }

    /// The first line with --json: what runs.
    pub(super) fn start_line(&self, serves: &[String]) -> Option<String> {
        let body = json!({
            "command": self.command,
            "pid": std::process::id(),
            "key": self.node.public_key().to_string(),
            "local": self.node.local_addr().to_string(),
            "serves": serves,
            "via": self.via,
            "encrypted": self.encrypted,
        });
        self.json.then(|| Document::new("tou.started", body).line())
    }

    /// The last line with --json: what has passed.
    pub(super) fn end_line(&self) -> Option<String> {
        let peer = |(key, total): (PublicKey, windlass_forward::PeerTotals)| -> Value {
            json!({
                "key": key.to_string(),
                "name": self.names.get(&key),
                "connections": total.connections,
                "sent_bytes": total.sent,
                "received_bytes": total.received,
            })
        };
        let peers: Vec<Value> = self.registry.totals().into_iter().map(peer).collect();
        let seconds = self.began.elapsed().as_secs_f64();
        let body = json!({ "command": self.command, "seconds": seconds, "peers": peers });
        self.json.then(|| Document::new("tou.stopped", body).line())
    }

    /// Runs until Ctrl-C, between the lines of --json on standard output. Then open connections are
    /// reset, so that both programs notice.
    pub(super) fn until_interrupted(self, serves: &[String]) -> Result<(), Failure> {
        let (interrupted, wait) = tokio::sync::oneshot::channel();
        // The receiver is gone only if the command ends anyway.
        crate::interrupt::first(move || {
            let _ = interrupted.send(());
        });
        if let Some(line) = self.start_line(serves) {
            crate::stdout::line(&line)?;
        }
        let _ = self.runtime.block_on(wait);
        let end = self.end_line();
        self.close();
        end.map_or(Ok(()), |line| crate::stdout::line(&line))
    }

    /// Resets the open connections.
    pub(super) fn close(self) {
        self.registry.abort_all();
        self.runtime.shutdown_background();
    }
}

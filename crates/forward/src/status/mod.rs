//! The status of running commands. A command serves its [`Status`] at a socket in the file system,
//! and [`query`] asks all commands of the user. On Windows a file stands for the socket.

#[cfg(any(windows, test))]
mod loopback;
#[cfg(unix)]
mod unix;

use crate::registry::Registry;
#[cfg(windows)]
use loopback as system;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
#[cfg(unix)]
use unix as system;
use windlass_identity::PublicKey;
use windlass_tou::session::{Node, SessionInfo};

/// A command that does not answer within this time is left out.
const ANSWER_MAX: Duration = Duration::from_secs(2);
/// Longer answers are not read.
const ANSWER_LEN_MAX: u64 = 64 << 20;

/// A running command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// The command's name, such as `expose`.
    pub command: String,
    /// The process.
    pub pid: u32,
    /// The user whose socket it is, by name or number; [`query`] fills it in. `None` on Windows.
    #[serde(default)]
    pub user: Option<String>,
    /// The network namespace that it runs in: see [`network_namespace`].
    #[serde(default)]
    pub namespace: Option<String>,
    /// Seconds since it began.
    pub uptime_s: u64,
    /// This host's public key.
    pub key: String,
    /// The UDP address that it uses.
    pub local: SocketAddr,
    /// The services that it offers, or the ports that it forwards, in words.
    pub serves: Vec<String>,
    /// The rendezvous servers.
    pub via: Vec<String>,
    /// Whether connections are encrypted.
    pub encrypted: bool,
    /// The peers, by key.
    pub peers: Vec<PeerStatus>,
}

/// A peer of a running command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PeerStatus {
    /// The peer's public key.
    pub key: String,
    /// The peer's name in the configuration.
    pub name: Option<String>,
    /// The sessions, usually one.
    pub sessions: Vec<SessionStatus>,
    /// Connections that are open.
    pub open: u64,
    /// Connections so far, open ones included.
    pub connections: u64,
    /// Bytes sent to the peer in connections.
    pub sent_bytes: u64,
    /// Bytes received from the peer in connections.
    pub received_bytes: u64,
    /// The sum of the open connections' congestion windows, in bytes.
    pub cwnd_bytes: u64,
    /// The smallest smoothed round-trip time of the open connections, in microseconds.
    pub srtt_us: Option<u64>,
}

/// A session with a peer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionStatus {
    /// `connected`, or what the session does instead.
    pub state: String,
    /// `direct` or `relayed`; `None` without a path.
    pub path: Option<String>,
    /// This host's address on the path, that of the relay if it uses one.
    pub local: Option<SocketAddr>,
    /// The peer's address on the path.
    pub remote: Option<SocketAddr>,
    /// The round-trip time of the last check of the path, in microseconds.
    pub round_trip_us: Option<u64>,
    /// This host asked for the session.
    pub asked: bool,
}

impl SessionStatus {
    fn of(info: &SessionInfo) -> SessionStatus {
        let path = if info.relayed { "relayed" } else { "direct" };
        SessionStatus {
            state: format!("{:?}", info.state).to_lowercase(),
            path: info.path.map(|_| path.to_owned()),
            local: info.path.map(|(local, _)| local),
            remote: info.path.map(|(_, remote)| remote),
            round_trip_us: info.round_trip.map(|time| time.as_micros() as u64),
            asked: info.asked,
        }
    }
}

/// The peers of a node with their sessions and connections. `name` gives a peer's name.
pub fn peers(
    node: &Node,
    registry: &Registry,
    name: impl Fn(&PublicKey) -> Option<String>,
) -> Vec<PeerStatus> {
    let sessions = node.sessions();
    let mut totals = registry.totals();
    for session in &sessions {
        totals.entry(session.peer).or_default();
    }
    let peer = |(key, total): (PublicKey, crate::registry::PeerTotals)| PeerStatus {
        key: key.to_string(),
        name: name(&key),
        sessions: sessions.iter().filter(|one| one.peer == key).map(SessionStatus::of).collect(),
        open: total.open,
        connections: total.connections,
        sent_bytes: total.sent,
        received_bytes: total.received,
        cwnd_bytes: total.cwnd,
        srtt_us: total.srtt_us,
    };
    totals.into_iter().map(peer).collect()
}

/// The folder of this user's sockets: `/run/windlass/tou` for root, else
/// `$XDG_RUNTIME_DIR/windlass/tou`. `None` if that variable is not set. On Windows
/// `%LOCALAPPDATA%\windlass\tou\running`.
pub fn default_folder() -> Option<PathBuf> {
    system::default_folder()
}

/// The folders of all users that this user may ask: root asks everyone's, others their own.
pub fn all_folders() -> Vec<PathBuf> {
    default_folder().into_iter().chain(system::folders_of_others()).collect()
}

/// The network namespace of this process: its name among those of `ip netns`, else its number as
/// `/proc/self/ns/net` has it, such as `net:[4026531840]`. `None` where there are no namespaces.
pub fn network_namespace() -> Option<String> {
    system::network_namespace()
}

/// A socket at which a command tells its status. Dropping the value removes it.
#[derive(Debug)]
pub struct StatusSocket(PathBuf);

impl Drop for StatusSocket {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Makes a socket in `folder`, and serves what `status` returns to whoever connects. Call it in tokio's
/// runtime.
///
/// # Errors
/// The folder or the socket cannot be made, or the folder belongs to another user.
pub fn serve(
    folder: &Path,
    status: Arc<dyn Fn() -> Status + Send + Sync>,
) -> io::Result<StatusSocket> {
    system::create_folder(folder)?;
    // In containers with a folder in common, process numbers are not unique.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let name = format!("{}-{:x}.sock", std::process::id(), now.as_nanos());
    let path = folder.join(name);
    system::serve(&path, move || serde_json::to_vec(&status()).ok())?;
    Ok(StatusSocket(path))
}

/// Asks every command that has a socket in `folder`, in the order of their process numbers. Removes the
/// sockets of commands that were killed.
///
/// # Errors
/// The folder cannot be read. One that does not exist is empty.
pub fn query(folder: &Path) -> io::Result<Vec<Status>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let sockets = paths.filter(|path| path.extension().is_some_and(|end| end == "sock"));
    let mut found: Vec<Status> = sockets.filter_map(|path| ask(&path)).collect();
    found.sort_by_key(|status| status.pid);
    Ok(found)
}

fn ask(path: &Path) -> Option<Status> {
    let status: Status = serde_json::from_slice(&system::ask(path, ANSWER_LEN_MAX)?).ok()?;
    Some(Status { user: system::user_of(path), ..status })
}

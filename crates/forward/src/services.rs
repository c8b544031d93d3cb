//! Services that this host offers to its peers, and how it reaches them.

use crate::dial;
use crate::duplex::Duplex;
use crate::exit::ExitPolicy;
use crate::keep_alive::keep_alive;
use crate::protocol::{Answer, Request, Status, is_service_name, parse_host_port};
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;
#[cfg(target_os = "linux")]
use std::sync::{Mutex, OnceLock};
use std::time::Duration;
use tokio::net::lookup_host;
use tokio::time::{Instant, timeout_at};
use tracing::info;
#[cfg(target_os = "linux")]
use windlass_capture::HostResolver;

/// How long a destination may take to answer, its name resolved and all its addresses tried.
const CONNECT_MAX: Duration = Duration::from_secs(30);

/// Where a service is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// At a TCP port.
    Tcp {
        /// An address or a name.
        host: String,
        /// The TCP port.
        port: u16,
    },
    /// At a socket in the file system.
    Unix(PathBuf),
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Target::Tcp { host, port } => write!(f, "{host}:{port}"),
            Target::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// A service with its name: `NAME=HOST:PORT`, `NAME=PORT` (of this host) or `NAME=unix:PATH`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    /// The name that peers use.
    pub name: String,
    /// Where it is.
    pub target: Target,
}

/// A text describes no service.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseServiceError {
    /// There is no `=`.
    NoTarget,
    /// The name has characters that no name has.
    Name(String),
    /// The target is not HOST:PORT, PORT or unix:/PATH.
    Target(String),
}

impl fmt::Display for ParseServiceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParseServiceError::NoTarget => {
                f.write_str("expected NAME=HOST:PORT, such as ssh=127.0.0.1:22")
            }
            ParseServiceError::Name(name) => {
                write!(f, "{name:?} cannot name a service: use letters, digits, '-', '_' and '.'")
            }
            ParseServiceError::Target(text) => {
                write!(f, "{text:?}: expected HOST:PORT, PORT or unix:/PATH")
            }
        }
    }
}

impl std::error::Error for ParseServiceError {}

impl FromStr for Target {
    type Err = ParseServiceError;

    fn from_str(text: &str) -> Result<Target, ParseServiceError> {
        let wrong = || ParseServiceError::Target(text.to_owned());
        if let Some(path) = text.strip_prefix("unix:") {
            let path = PathBuf::from(path);
            return if path.is_absolute() { Ok(Target::Unix(path)) } else { Err(wrong()) };
        }
        let with_host = if text.contains(':') { text } else { &format!("127.0.0.1:{text}") };
        let (host, port) = parse_host_port(with_host).ok_or_else(wrong)?;
        Ok(Target::Tcp { host, port })
    }
}

impl FromStr for Service {
    type Err = ParseServiceError;

    fn from_str(text: &str) -> Result<Service, ParseServiceError> {
        let (name, target) = text.split_once('=').ok_or(ParseServiceError::NoTarget)?;
        if !is_service_name(name) {
            return Err(ParseServiceError::Name(name.to_owned()));
        }
        Ok(Service { name: name.to_owned(), target: target.parse()? })
    }
}

impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.target)
    }
}

/// Everything that this host offers.
#[derive(Debug, Default)]
pub struct Services {
    named: BTreeMap<String, Target>,
    exit: ExitPolicy,
    /// Made for the first peer that needs it.
    #[cfg(target_os = "linux")]
    resolver: OnceLock<Mutex<HostResolver>>,
}

impl Services {
    /// These services and these destinations. Of two services of one name the last one counts.
    pub fn new(services: impl IntoIterator<Item = Service>, exit: ExitPolicy) -> Services {
        let named = services.into_iter().map(|service| (service.name, service.target)).collect();
        Services { named, exit, ..Services::default() }
    }

    /// Whether peers may reach any network through this host; then it also resolves names for them.
    pub(crate) fn has_exit(&self) -> bool {
        !self.exit.is_empty()
    }

    /// This host's name servers.
    #[cfg(target_os = "linux")]
    pub(crate) fn resolver(&self) -> io::Result<&Mutex<HostResolver>> {
        if let Some(resolver) = self.resolver.get() {
            return Ok(resolver);
        }
        let resolver = HostResolver::new()?;
        Ok(self.resolver.get_or_init(|| Mutex::new(resolver)))
    }

    /// The services, by name.
    pub fn iter(&self) -> impl Iterator<Item = Service> {
        let service = |(name, target): (&String, &Target)| Service {
            name: name.clone(),
            target: target.clone(),
        };
        self.named.iter().map(service)
    }

    /// Connects to what a peer requests.
    ///
    /// # Errors
    /// The answer for the peer. It names no address of this host's network.
    pub(crate) async fn connect(&self, request: &Request) -> Result<Box<dyn Duplex>, Answer> {
        let deadline = Instant::now() + CONNECT_MAX;
        let failed = |error: io::Error| {
            // It names every address that was tried. The answer does not.
            info!(%request, "no connection: {error}");
            let status = Status::of_error(&error);
            Answer::new(status, format!("cannot connect to {request}: {}", error.kind()))
        };
        match request {
            Request::Service(name) => {
                let unknown =
                    || Answer::new(Status::UnknownService, format!("there is no service {name}"));
                let target = self.named.get(name).ok_or_else(unknown)?;
                connect_target(target, deadline).await.map_err(failed)
            }
            Request::Connect { host, port } => {
                let addresses = self.resolve(host, *port, deadline).await?;
                connect_tcp(addresses, deadline).await.map_err(failed)
            }
            Request::Resolve => {
                Err(Answer::new(Status::NotAllowed, "this host resolves no names for its peers"))
            }
        }
    }

    /// The addresses of `host` that peers may reach.
    async fn resolve(
        &self,
        host: &str,
        port: u16,
        deadline: Instant,
    ) -> Result<Vec<SocketAddr>, Answer> {
        let forbidden = || {
            let text = format!("peers may not reach {host} through this host");
            Answer::new(Status::NotAllowed, text)
        };
        // Without any exit, peers learn nothing from this host's resolver either.
        if self.exit.is_empty() {
            return Err(forbidden());
        }
        let unknown =
            || Answer::new(Status::NameNotFound, format!("the name {host} cannot be resolved"));
        let found = addresses_of(host, port, deadline).await.map_err(|_| unknown())?;
        if found.is_empty() {
            return Err(unknown());
        }
        // The addresses that were checked are those that are used: a name that changes meanwhile
        // opens nothing.
        let allowed = found.into_iter().filter(|address| self.exit.allows(address.ip()));
        let allowed: Vec<_> = allowed.collect();
        if allowed.is_empty() { Err(forbidden()) } else { Ok(allowed) }
    }
}

async fn connect_target(target: &Target, deadline: Instant) -> io::Result<Box<dyn Duplex>> {
    match target {
        #[cfg(unix)]
        Target::Unix(path) => Ok(Box::new(tokio::net::UnixStream::connect(path).await?)),
        // Tokio does not have the Unix sockets of Windows.
        #[cfg(not(unix))]
        Target::Unix(_) => Err(io::ErrorKind::Unsupported.into()),
        Target::Tcp { host, port } => {
            connect_tcp(addresses_of(host, *port, deadline).await?, deadline).await
        }
    }
}

async fn addresses_of(host: &str, port: u16, deadline: Instant) -> io::Result<Vec<SocketAddr>> {
    Ok(timeout_at(deadline, lookup_host((host, port))).await??.collect())
}

async fn connect_tcp(addresses: Vec<SocketAddr>, deadline: Instant) -> io::Result<Box<dyn Duplex>> {
    let stream = dial::connect(addresses, deadline).await?;
    keep_alive(&stream);
    Ok(Box::new(stream))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_are_read_and_printed() {
        for (text, printed) in [
            ("ssh=127.0.0.1:22", "ssh=127.0.0.1:22"),
            ("ssh=22", "ssh=127.0.0.1:22"),
            ("web=[::1]:80", "web=[::1]:80"),
            ("db.main=host.example:5432", "db.main=host.example:5432"),
            ("docker=unix:/run/docker.sock", "docker=unix:/run/docker.sock"),
        ] {
            assert_eq!(text.parse::<Service>().expect("a service").to_string(), printed);
        }
    }

    #[test]
    fn errors_name_the_fault() {
        let error = |text: &str| text.parse::<Service>().expect_err("no service").to_string();
        assert!(error("ssh").contains("such as ssh=127.0.0.1:22"));
        assert!(error("s sh=22").contains("cannot name a service"));
        assert!(error("=22").contains("cannot name a service"));
        for wrong in ["ssh=", "ssh=host:", "ssh=host:0", "ssh=:22", "ssh=::1:22", "ssh=host:99999"]
        {
            assert!(error(wrong).contains("expected HOST:PORT"), "{wrong}");
        }
        assert!(error("ssh=unix:relative").contains("unix:/PATH"));
    }
}

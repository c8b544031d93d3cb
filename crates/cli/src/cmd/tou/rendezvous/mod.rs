//! `windlass tou rendezvous`.

pub(crate) mod args;
mod service_manager;

use super::key_file;
use crate::envelope::Document;
use crate::failure::Failure;
use crate::value::Local;
use crate::{interrupt, stdout};
use args::{LimitArgs, Relay, TouRendezvous};
use serde_json::json;
use service_manager::{Notice, is_watching, notify};
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use windlass_base::BitRate;
use windlass_identity::SecretKey;
use windlass_rendezvous::daemon::{
    BindError, Certificate, Daemon, Options, RelayOptions, StreamLimits, serve_metrics,
};
use windlass_rendezvous::server::{Limits, PeerPolicy};

/// The server's key, beside that of the host.
const KEY_FILE: &str = "rendezvous-key";

/// Serves until a signal comes.
pub(crate) fn main(args: TouRendezvous) -> Result<(), Failure> {
    let options = options(&args)?;
    let mut daemon = Daemon::bind(options).map_err(|error| match error {
        BindError::Alternate(why) => Failure::Input(format!("--alternate: {why}")),
        error => Failure::Work(error.to_string()),
    })?;
    let serve = |address| {
        serve_metrics(address, daemon.handle())
            .map_err(|error| Failure::io(format!("--metrics {address}"), &error))
    };
    let metrics = args.metrics.map(serve).transpose()?;
    let handle = daemon.handle();
    interrupt::first(move || handle.stop());
    tell(&daemon, metrics, &args)?;
    notify(Notice::Ready);
    let watched = is_watching();
    let run = daemon.run(|| {
        if watched {
            notify(Notice::Alive);
        }
    });
    notify(Notice::Stopping);
    run.map_err(|error| Failure::io("serving", &error))
}

fn options(args: &TouRendezvous) -> Result<Options, Failure> {
    let key = key(args.key.as_deref())?;
    let mut options = Options::new(key, args.listen.iter().map(socket_address).collect());
    options.alternate = args.alternate;
    options.tcp = !args.no_tcp;
    options.tls = args.tls.iter().map(socket_address).collect();
    options.certificate = match (&args.tls_cert, &args.tls_key) {
        (Some(chain), Some(key)) => Some(certificate(chain, key)?),
        _ => None,
    };
    options.relay = relay(&args.relay)?;
    options.relay_peers = args.relay.relay_peer.clone();
    (options.limits, options.stream_limits) = limits(&args.limits);
    Ok(options)
}

fn key(file: Option<&Path>) -> Result<SecretKey, Failure> {
    let beside = |key: PathBuf| key.with_file_name(KEY_FILE);
    let default = windlass_identity::default_path().map(beside);
    Ok(key_file::load(file.map(Path::to_owned), default)?.1)
}

fn certificate(chain: &Path, key: &Path) -> Result<Certificate, Failure> {
    let read = |file: &Path| fs::read(file).map_err(|error| Failure::io(file.display(), &error));
    Certificate::from_pem(&read(chain)?, &read(key)?).map_err(|error| {
        Failure::Work(format!("{} and {}: {error}", chain.display(), key.display()))
    })
}

fn relay(args: &Relay) -> Result<Option<(RelayOptions, PeerPolicy)>, Failure> {
    if args.no_relay {
        return Ok(None);
    }
    let addresses = args.relay_address.clone();
    for (index, address) in addresses.iter().enumerate() {
        if address.is_unspecified() {
            let text = format!("--relay-address {address}: peers cannot send to it");
            return Err(Failure::Input(text));
        }
        if addresses[..index].iter().any(|other| other.is_ipv4() == address.is_ipv4()) {
            let text = format!("--relay-address {address}: one of each family is enough");
            return Err(Failure::Input(text));
        }
    }
    let options = RelayOptions { addresses, ports: args.relay_ports.clone() };
    let policy = if args.relay_private { PeerPolicy::PublicAndPrivate } else { PeerPolicy::Public };
    Ok(Some((options, policy)))
}

fn limits(args: &LimitArgs) -> (Limits, StreamLimits) {
    let mut limits = Limits::default();
    limits.registrations = args.registrations as usize;
    limits.registrations_per_network = args.registrations_per_network as usize;
    limits.introductions = args.introductions as usize;
    limits.requests_per_s = args.requests_per_second;
    limits.requests_burst = args.requests_per_second.saturating_mul(10);
    limits.allocations = args.allocations as usize;
    limits.allocations_per_network = args.allocations_per_network as usize;
    limits.allocations_per_key = args.allocations_per_key as usize;
    // At most 32 Gbit/s, as the arguments say.
    let bytes = |rate: BitRate| (rate.bits_per_sec() / 8) as u32;
    limits.relayed_bytes_per_s = args.relay_rate.map(bytes);
    let streams = StreamLimits {
        streams: args.streams as usize,
        per_network: args.streams_per_network as usize,
    };
    (limits, streams)
}

/// A port alone is at all addresses of this host.
fn socket_address(local: &Local) -> SocketAddr {
    let has_ipv6 = || UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0)).is_ok();
    let all = || match has_ipv6() {
        true => IpAddr::from(Ipv6Addr::UNSPECIFIED),
        false => IpAddr::from(Ipv4Addr::UNSPECIFIED),
    };
    SocketAddr::new(local.address.unwrap_or_else(all), local.port)
}

/// Says where the server is, and its key.
fn tell(daemon: &Daemon, metrics: Option<SocketAddr>, args: &TouRendezvous) -> Result<(), Failure> {
    let ports = &args.relay.relay_ports;
    let (first, last) = (ports.start(), ports.end());
    let (addresses, key) = (daemon.addresses(), daemon.public_key().to_string());
    let texts = |all: &[SocketAddr]| all.iter().map(ToString::to_string).collect::<Vec<_>>();
    let relay: Vec<String> = addresses.relay.iter().map(ToString::to_string).collect();
    if args.json {
        let body = json!({
            "key": key,
            "udp": texts(&addresses.udp),
            "tcp": texts(&addresses.tcp),
            "tls": texts(&addresses.tls),
            "relay": { "addresses": relay, "first_port": first, "last_port": last },
            "metrics": metrics.map(|address| address.to_string()),
        });
        return stdout::line(&Document::new("tou.rendezvous", body).line());
    }
    let mut lines = vec![format!("key      {key}")];
    for (name, served) in
        [("UDP", &addresses.udp), ("TCP", &addresses.tcp), ("TLS", &addresses.tls)]
    {
        if !served.is_empty() {
            lines.push(format!("{name}      {}", texts(served).join(", ")));
        }
    }
    if !relay.is_empty() {
        lines.push(format!("relay    {}, ports {first} to {last}", relay.join(", ")));
    } else if !args.relay.no_relay {
        let why = "no default route; --relay-address names the address";
        lines.push(format!("relay    none: {why}"));
    }
    if let Some(metrics) = metrics {
        lines.push(format!("metrics  http://{metrics}/metrics"));
    }
    lines.push(format!("hosts use --via HOST#{key}"));
    stdout::line(&lines.join("\n"))
}

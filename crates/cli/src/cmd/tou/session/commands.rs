//! `windlass tou key`, `expose`, `forward`, `pipe` and `socks`.

use super::super::key_file::no_home;
use super::args::{TouExpose, TouForward, TouKey, TouPipe, TouSocks};
use super::config;
use super::setup::{Setup, named_key_file};
use crate::envelope::Document;
use crate::failure::Failure;
use crate::{interrupt, stdout};
use serde_json::json;
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tracing::{info, warn};
use windlass_forward::{ExitPolicy, Expose, Forward, Services, Socks, pipe};
use windlass_identity::PublicKey;
use windlass_tou::{secure, session};

/// How long the last bytes of the pipe's input may take.
const FINISH_MAX: Duration = Duration::from_secs(5);

/// The same after a signal.
const INTERRUPTED_MAX: Duration = Duration::from_millis(500);

/// Prints this host's public key. This command alone makes the key in a file that the user names.
pub(crate) fn key(args: &TouKey) -> Result<(), Failure> {
    let config = config::read(args.config.as_deref()).map_err(Failure::Input)?;
    let named = named_key_file(args.file.as_deref(), &config);
    let file = named.or_else(windlass_identity::default_path).ok_or_else(no_home)?;
    let key = windlass_identity::load_or_create(&file);
    let key = key.map_err(|error| Failure::Work(error.to_string()))?;
    let public = key.public_key().to_string();
    if args.json {
        let body = json!({ "key": public, "file": file.display().to_string() });
        return stdout::line(&Document::new("tou.key", body).pretty());
    }
    stdout::line(&public)
}

/// Offers services until Ctrl-C.
pub(crate) fn expose(args: &TouExpose) -> Result<(), Failure> {
    let setup = Setup::new(&args.session)?;
    let config = &setup.config;
    let none = args.services.is_empty() && args.exit.is_empty();
    let (services, exit) = match none {
        true => (config.services.clone(), config.exit.clone()),
        false => (args.services.clone(), args.exit.clone()),
    };
    if services.is_empty() && exit.is_empty() {
        let text = "nothing to expose: name a service such as ssh=127.0.0.1:22, or --exit NETWORK";
        return Err(Failure::Input(text.to_owned()));
    }
    let allowed = allowed(args, &setup)?;
    let serves: Vec<String> = services
        .iter()
        .map(ToString::to_string)
        .chain(exit.iter().map(|one| format!("exit to {one}")))
        .collect();
    let lock = lock(&setup.key_file)?;
    let keys = secure::Allow::keys(allowed.iter().copied());
    let running = setup.running("expose", session::Allow::Keys(allowed))?;
    let expose = Arc::new(Expose {
        services: Services::new(services, ExitPolicy::new(exit)),
        identity: running.identity.clone(),
        allow: keys,
        registry: running.registry.clone(),
    });
    let status = running.serve_status(serves.clone());
    running.runtime.spawn(expose.run(running.node.clone()));
    info!(key = %running.node.public_key(), "exposing {}", serves.join(", "));
    running.until_interrupted(&serves)?;
    drop((status, lock));
    Ok(())
}

/// The keys that may connect.
fn allowed(args: &TouExpose, setup: &Setup) -> Result<BTreeSet<PublicKey>, Failure> {
    let named = args.allow.iter().map(|text| setup.key_of(text));
    let mut keys = named.collect::<Result<BTreeSet<_>, _>>()?;
    if args.allow.is_empty() {
        keys.extend(&setup.config.allow);
    }
    if keys.is_empty() {
        let text = "no host may connect: name the keys of those that may with --allow";
        return Err(Failure::Input(text.to_owned()));
    }
    Ok(keys)
}

/// Two processes that register one key would take it from each other again and again.
fn lock(key_file: &Path) -> Result<File, Failure> {
    let file = File::open(key_file).map_err(|error| Failure::io(key_file.display(), &error))?;
    file.try_lock().map_err(|error| match error {
        std::fs::TryLockError::WouldBlock => Failure::Work(format!(
            "another process exposes with the key {}: give it all services, or this one another --key",
            key_file.display()
        )),
        std::fs::TryLockError::Error(error) => Failure::io(key_file.display(), &error),
    })?;
    Ok(file)
}

/// Takes connections of ports until Ctrl-C.
pub(crate) fn forward(args: &TouForward) -> Result<(), Failure> {
    let setup = Setup::new(&args.session)?;
    let peers = args.mappings.iter().map(|mapping| setup.peer(&mapping.to.peer));
    let peers = peers.collect::<Result<Vec<_>, _>>()?;
    let running = setup.running("forward", session::Allow::NoHost)?;
    let mut serves = Vec::new();
    for (mapping, peer) in args.mappings.iter().zip(&peers) {
        let listener = running.runtime.block_on(listen(mapping.listen))?;
        let at = listener.local_addr().unwrap_or(mapping.listen);
        let request = mapping.to.request.clone();
        serves.push(format!("{at} to {request}@{}", mapping.to.peer));
        let forward = Forward { peer: *peer, request, carrier: running.carrier() };
        running.runtime.spawn(forward.run(listener));
    }
    let status = running.serve_status(serves.clone());
    for peer in peers.into_iter().collect::<BTreeSet<_>>() {
        open_session(&running, peer);
    }
    info!("forwarding {}", serves.join(", "));
    running.until_interrupted(&serves)?;
    drop(status);
    Ok(())
}

/// Opens the session before the first connection needs it.
fn open_session(running: &super::setup::Running, peer: PublicKey) {
    let (peers, name) = (Arc::clone(&running.peers), running.names.of(&peer));
    running.runtime.spawn(async move {
        if let Err(error) = peers.session(peer).await {
            warn!(peer = %name, "{error}; the next connection tries again");
        }
    });
}

async fn listen(address: SocketAddr) -> Result<TcpListener, Failure> {
    let listener = TcpListener::bind(address).await;
    listener.map_err(|error| Failure::io(format!("TCP port {address}"), &error))
}

/// A SOCKS server until Ctrl-C.
pub(crate) fn socks(args: &TouSocks) -> Result<(), Failure> {
    let setup = Setup::new(&args.session)?;
    let peer = setup.peer(&args.to)?;
    let running = setup.running("socks", session::Allow::NoHost)?;
    let listener = running.runtime.block_on(listen(args.listen))?;
    let at = listener.local_addr().unwrap_or(args.listen);
    let serves = vec![format!("SOCKS at {at} to {}", args.to)];
    let status = running.serve_status(serves.clone());
    running.runtime.spawn(Socks { peer, carrier: running.carrier() }.run(listener));
    open_session(&running, peer);
    info!("{}", serves.join(", "));
    running.until_interrupted(&serves)?;
    drop(status);
    Ok(())
}

/// Joins standard input and output to a service.
pub(crate) fn pipe_to(args: &TouPipe) -> Result<(), Failure> {
    let setup = Setup::quiet(&args.session)?;
    let peer = setup.peer(&args.target.peer)?;
    let running = setup.running("pipe", session::Allow::NoHost)?;
    let registry = running.registry.clone();
    // ssh ends its proxy command by a signal, so that this says nothing; and what ssh has written last
    // is delivered.
    interrupt::end_with(move || {
        registry.finish_all(INTERRUPTED_MAX);
        130
    });
    let request = &args.target.request;
    let serves = vec![format!("{request}@{}", args.target.peer)];
    let status = running.serve_status(serves.clone());
    // Standard output has the service's data.
    running.start_line(&serves).into_iter().for_each(|line| eprintln!("{line}"));
    let piped = running.runtime.block_on(async {
        running.session(peer).await?;
        let joined = running.carrier().join(peer, request).await;
        let far = joined.map_err(|error| Failure::Work(error.to_string()))?;
        let registered = running.registry.add(peer, &far);
        let ended = pipe(&far, io::stdin(), io::stdout(), registered.shared_counters()).await;
        ended.map_err(|error| match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::ReaderGone,
            _ => Failure::io("the connection", &error),
        })?;
        // The peer has ended its direction; what it has not read by now may not matter to it.
        tokio::task::block_in_place(|| drop(far.finish(Some(FINISH_MAX))));
        Ok(())
    });
    running.end_line().into_iter().for_each(|line| eprintln!("{line}"));
    drop(status);
    running.close();
    piped
}

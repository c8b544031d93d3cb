//! The log on standard error, and the sessions' events in it.

use super::log_format::InEnvelope;
use super::names::Names;
use super::unanswered::{ANSWER_MAX, Unanswered};
use std::collections::HashSet;
use std::fmt::Debug;
use std::future::poll_fn;
use std::io::{self, IsTerminal};
use tracing::field::Field;
use tracing::{Level, debug, error, info, warn};
use tracing_subscriber::field::MakeExt;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::FormatFields;
use tracing_subscriber::fmt::format::{Format, Json, Writer, debug_fn};
use tracing_subscriber::prelude::*;
use windlass_base::printable;
use windlass_tou::session::{CloseReason, Event, Node, RendezvousAddress, SessionInfo};

/// Begins to log, as text or as JSON objects: our own events, not those of the libraries.
///
/// `quiet` is for commands whose standard error is another program's too: then only warnings appear,
/// unless `verbose`.
pub(super) fn begin(quiet: bool, verbose: bool, json: bool) {
    let level = match (quiet, verbose) {
        (_, true) => Level::DEBUG,
        (true, false) => Level::WARN,
        (false, false) => Level::INFO,
    };
    let ours = Targets::new().with_target("windlass", level);
    let layer = tracing_subscriber::fmt::layer().with_writer(io::stderr).with_target(false);
    let registry = tracing_subscriber::registry();
    // A second subscriber is refused; the first one stays.
    let _ = match json {
        true => {
            let layer = layer.json().map_event_format(|_| InEnvelope(json_lines()));
            registry.with(layer.with_filter(ours)).try_init()
        }
        false => {
            let layer = layer.with_ansi(io::stderr().is_terminal()).fmt_fields(printable_fields());
            registry.with(layer.with_filter(ours)).try_init()
        }
    };
}

/// The message and the fields of an event as one line. They contain names that peers and programs have
/// chosen. (JSON escapes them by itself.)
fn printable_fields() -> impl for<'w> FormatFields<'w> + 'static {
    let written = |writer: &mut Writer<'_>, field: &Field, value: &dyn Debug| {
        let value = format!("{value:?}");
        match field.name() {
            "message" => write!(writer, "{}", printable(&value)),
            name => write!(writer, "{name}={}", printable(&value)),
        }
    };
    debug_fn(written).delimited(" ")
}

fn json_lines() -> Format<Json> {
    tracing_subscriber::fmt::format().json().flatten_event(true).with_target(false)
}

/// Logs the events of a node. Never returns.
pub(super) async fn events(node: Node, via: Vec<RendezvousAddress>, names: Names, quiet: bool) {
    // Sessions of this host that have not found a path. If one ends, a quiet command says why itself.
    let mut awaited = HashSet::new();
    let mut unanswered = Unanswered::new(&via);
    loop {
        let next = poll_fn(|cx| node.poll_event(cx.waker()));
        let Some(event) = unanswered.unless_due(next).await else {
            // One that answers is enough for a command that shares standard error.
            let silently = quiet && unanswered.has_other();
            for server in unanswered.take() {
                no_answer(&via[server], silently);
            }
            continue;
        };
        unanswered.note(&event);
        match &event {
            Event::Opened { tag, asked: true, .. } => {
                awaited.insert(*tag);
            }
            Event::PathFound { tag } => {
                awaited.remove(tag);
            }
            Event::Closed { tag, reason, .. } if awaited.remove(tag) && quiet => {
                debug!("session ended: {reason}");
                continue;
            }
            _ => {}
        }
        log(&event, &node, &via, &names);
    }
}

/// A rendezvous that is tried on.
fn no_answer(rendezvous: &RendezvousAddress, silently: bool) {
    let RendezvousAddress { port, tls_port, .. } = rendezvous;
    let seconds = ANSWER_MAX.as_secs();
    let text = format!(
        "no answer after {seconds} s, by UDP port {port} or TCP port {tls_port}; trying on. Is the address \
         right, does the rendezvous run, and does a firewall let one of the ports through?"
    );
    match silently {
        true => debug!(%rendezvous, "{text}"),
        false => warn!(%rendezvous, "{text}"),
    }
}

fn log(event: &Event, node: &Node, via: &[RendezvousAddress], names: &Names) {
    let server = |number: usize| via.get(number).map(ToString::to_string).unwrap_or_default();
    let session = |tag: u32| node.sessions().into_iter().find(|session| session.tag == tag);
    match event {
        Event::Opened { peer, asked, .. } => {
            let by = if *asked { "this host" } else { "the peer" };
            debug!(peer = %names.of(peer), "session asked for by {by}");
        }
        Event::PathFound { tag } | Event::PathChanged { tag } => {
            if let Some(info) = session(*tag) {
                path(&info, names);
            }
        }
        Event::PathLost { tag } => {
            let peer = session(*tag).map(|info| names.of(&info.peer)).unwrap_or_default();
            warn!(%peer, "path lost, looking for another one");
        }
        Event::Closed { reason: CloseReason::Closed, .. } => debug!("session closed"),
        Event::Closed { reason, .. } => warn!("session ended: {reason}"),
        Event::Registered { server: number, mapped } => {
            info!(rendezvous = %server(*number), seen_as = %mapped, "registered");
        }
        Event::RegistrationRefused { server: number, code: 409 } => {
            warn!(
                rendezvous = %server(*number),
                "registration refused: another host has registered this key"
            );
        }
        Event::RegistrationRefused { server: number, code } => {
            warn!(rendezvous = %server(*number), "registration refused with error {code}");
        }
        Event::WrongKey { server: number, expected, found } => {
            error!(
                rendezvous = %server(*number),
                "the rendezvous has the key {found}, expected {expected}; not using it"
            );
        }
        Event::Silent { server: number } => {
            debug!(rendezvous = %server(*number), "no answer by UDP, trying TLS");
        }
        Event::NotAllowed { peer } => {
            warn!(peer = %names.of(peer), "refused a session: this key is not allowed");
        }
        other => debug!("{other:?}"),
    }
}

fn path(info: &SessionInfo, names: &Names) {
    let Some((local, remote)) = info.path else { return };
    let how = if info.relayed { "relayed" } else { "direct" };
    info!(peer = %names.of(&info.peer), %local, %remote, "{how} path");
}

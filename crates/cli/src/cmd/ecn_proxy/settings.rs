//! Options as settings.

use super::args::EcnProxyRun;
use crate::failure::Failure;
use crate::value::with_seconds;
use windlass_ecn_proxy::config::{
    PIN_FOLDER, Pin, Settings, Source, parse_interface, parse_log, parse_log_format,
    parse_mark_bit, parse_metrics, parse_policy, parse_ports, parse_prefix, parse_size,
    parse_timeout,
};

/// Where the configuration comes from.
pub(super) fn source(args: EcnProxyRun) -> Result<Source, Failure> {
    let EcnProxyRun {
        client_side,
        network_side,
        policy,
        no_fallback,
        config,
        lists,
        table,
        daemon,
    } = args;
    let options = Settings {
        client_side: all("--client-side", client_side, parse_interface)?,
        network_side: all("--network-side", network_side, parse_interface)?,
        policy: one("--policy", policy, parse_policy)?,
        fallback: no_fallback.then_some(false),
        allow: all("--allow", lists.allow, parse_prefix)?,
        deny: all("--deny", lists.deny, parse_prefix)?,
        ports: all("--ports", lists.ports, parse_ports)?,
        deny_ports: all("--deny-ports", lists.deny_ports, parse_ports)?,
        flows_max: one("--flows-max", table.flows_max, parse_size)?,
        handshakes_max: one("--handshakes-max", table.handshakes_max, parse_size)?,
        hosts_max: one("--hosts-max", table.hosts_max, parse_size)?,
        idle_timeout: one("--idle-timeout", table.idle_timeout, timeout)?,
        closing_timeout: one("--closing-timeout", table.closing_timeout, timeout)?,
        mark_bit: one("--mark-bit", table.mark_bit, parse_mark_bit)?,
        metrics: one("--metrics", daemon.metrics, parse_metrics)?,
        pin: daemon.pin.map(|folder| Pin(Some(folder.unwrap_or_else(|| PIN_FOLDER.into())))),
        socket: daemon.socket,
        log: one("--log", daemon.log, parse_log)?,
        log_format: one("--log-format", daemon.log_format, parse_log_format)?,
    };
    Ok(Source { options, file: config })
}

/// A time of an option; a bare number is seconds.
pub(super) fn timeout(text: &str) -> Result<std::time::Duration, String> {
    parse_timeout(&with_seconds(text))
}

fn one<T>(
    option: &str,
    text: Option<String>,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<Option<T>, Failure> {
    let value = text.map(|text| parse(&text)).transpose();
    value.map_err(|message| Failure::Input(format!("{option}: {message}")))
}

/// An option that was not given leaves the file's list in force.
fn all<T>(
    option: &str,
    texts: Vec<String>,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<Option<Vec<T>>, Failure> {
    let values: Result<Vec<T>, String> = texts.iter().map(|text| parse(text)).collect();
    let values = values.map_err(|message| Failure::Input(format!("{option}: {message}")))?;
    Ok(if values.is_empty() { None } else { Some(values) })
}

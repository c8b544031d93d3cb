//! Properties of this machine that keep the proxy from starting, or packets from reaching it.

use super::{Finding, Severity, Subject};
use crate::config::Config;
use crate::daemon::client::{AskError, ask};
use crate::daemon::interfaces::interface_names;
use crate::daemon::leases;
use crate::daemon::offload;
use crate::daemon::protocol::Command;
use crate::datapath::check_pin;
use nix::unistd::{AccessFlags, access};
use std::fs::File;
use std::net::TcpListener;
use std::path::Path;
use windlass_base::suggest::did_you_mean;
use windlass_bpf::capabilities::{self, BPF, NET_ADMIN, PERFMON};
use windlass_bpf::{older, release};

const BTF: &str = "/sys/kernel/btf/vmlinux";

/// All findings about this machine.
pub(super) fn check(config: &Config) -> Vec<Finding> {
    let mut findings = kernel();
    findings.extend(rights());
    findings.extend(interfaces(config));
    findings.extend(past_the_proxy(config));
    findings.extend(socket(config));
    findings.extend(config.pin.as_deref().and_then(pin));
    findings.extend(config.leases.as_deref().and_then(leases_file));
    findings
}

fn error(place: &str, what: &str, expected: &str) -> Finding {
    Finding::new(Severity::Error, Subject::Machine, place, what, expected)
}

fn warning(place: &str, what: &str, expected: &str) -> Finding {
    Finding::new(Severity::Warning, Subject::Machine, place, what, expected)
}

fn kernel() -> Vec<Finding> {
    let mut findings = Vec::new();
    let release = release();
    if older(&release, (6, 1)) {
        findings.push(error("kernel", &format!("Linux {release}"), "Linux 6.1 or newer"));
    } else if older(&release, (6, 6)) {
        let what = format!("Linux {release} has no TCX: filters stay after kill -9");
        findings.push(warning("kernel", &what, "Linux 6.6 or newer"));
    }
    if let Err(reason) = File::open(BTF) {
        let what = format!("{reason}: lists of GRO (rx-gro-list) are not recognised");
        findings.push(warning(BTF, &what, "a kernel with CONFIG_DEBUG_INFO_BTF, or no such lists"));
    }
    findings
}

fn rights() -> Option<Finding> {
    let missing = capabilities::missing(&[NET_ADMIN, PERFMON, BPF]);
    let what = format!("without {}", missing.join(" and "));
    (!missing.is_empty()).then(|| error("this user", &what, "root, or these capabilities"))
}

fn interfaces(config: &Config) -> Vec<Finding> {
    let there = interface_names();
    let missing = config.interfaces().filter(|(name, _)| !there.contains(name));
    let finding = |(name, _): (&String, _)| {
        let hint = did_you_mean(name, &there);
        let expected =
            format!("an interface of this network namespace: {}{hint}", there.join(", "));
        error(name, "no such interface; it is served as soon as it appears", &expected)
    };
    missing.map(finding).collect()
}

/// Ways past the proxy, of which the daemon warns too.
fn past_the_proxy(config: &Config) -> Vec<Finding> {
    let names: Vec<&String> = config.interfaces().map(|(name, _)| name).collect();
    let mut messages = match offload::flow_tables() {
        Ok(tables) => offload::warnings(&tables, names.iter().copied(), offload::devices_below),
        Err(message) => vec![format!("flowtables not looked at: {message}")],
    };
    messages.extend(offload::served_twice(&names, offload::devices_below));
    let expected = "each packet passes the proxy once (the guide's section Placement)";
    messages.iter().map(|message| warning("packet path", message, expected)).collect()
}

/// The socket and the address of the metrics, which a running proxy has already.
fn socket(config: &Config) -> Vec<Finding> {
    let place = config.socket.display().to_string();
    let answer = ask(&config.socket, Command::Status).and_then(|mut answers| answers.result());
    match answer {
        Ok(status) => {
            let what = format!("an ECN proxy runs there (process {})", status["pid"]);
            let expected = "no proxy, before another run; a reload (SIGHUP) is possible";
            return vec![warning(&place, &what, expected)];
        }
        Err(AskError::NoDaemon(_)) => {}
        Err(reason) => return vec![error(&place, &reason.to_string(), "a free path of a socket")],
    }
    let mut findings: Vec<Finding> = folder(&config.socket).into_iter().collect();
    if let Some(address) = config.metrics {
        // For an instant; the listener accepts no connection.
        if let Err(reason) = TcpListener::bind(address) {
            let expected = "a free address and port of this machine";
            findings.push(error(&format!("metrics {address}"), &reason.to_string(), expected));
        }
        if !address.ip().is_loopback() {
            let expected = "an address that only authorised clients can reach";
            let what = "not a loopback address, and there is no password";
            findings.push(warning(&format!("metrics {address}"), what, expected));
        }
    }
    findings
}

/// The nearest folder above that exists must be writable: the daemon makes the rest.
fn folder(socket: &Path) -> Option<Finding> {
    let existing = socket.ancestors().skip(1).find(|folder| folder.exists())?;
    let reason = access(existing, AccessFlags::W_OK | AccessFlags::X_OK).err()?;
    let place = existing.display().to_string();
    Some(error(&place, reason.desc(), "a folder in which this user can make the socket"))
}

fn leases_file(path: &Path) -> Option<Finding> {
    let what = leases::trouble(path)?;
    let expected = "dnsmasq's file of leases; without it devices have no names";
    Some(warning(&path.display().to_string(), &what, expected))
}

fn pin(folder: &Path) -> Option<Finding> {
    let reason = check_pin(folder).err()?;
    let expected = "a folder in a BPF file system, such as /sys/fs/bpf/windlass/ecn-proxy";
    Some(error(&folder.display().to_string(), &reason.to_string(), expected))
}

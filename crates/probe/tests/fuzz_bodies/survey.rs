//! The inputs of a survey: its list of hosts, its exclusions, and the tables of an interrupted survey. The
//! parsers must accept every input or return an error.

use std::net::{IpAddr, Ipv4Addr};
use windlass_probe::Target;
use windlass_probe::survey::{Exclusions, HostRow, RunRow, hosts, journal};

/// The first byte selects the kind of the other bytes.
pub(crate) fn run(bytes: &[u8]) {
    let Some((which, bytes)) = bytes.split_first() else { return };
    let text = String::from_utf8_lossy(bytes);
    match which % 3 {
        0 => {
            for host in hosts::parse(&text, None).unwrap_or_default() {
                let target = Target::parse(&host).expect("it was read before");
                assert!(!host.contains(char::is_whitespace));
                for url in &target.candidates {
                    // An address is written as such, in decimal numbers without leading zeros.
                    let text = url.host_str().unwrap_or_default();
                    assert!(
                        text.parse::<Ipv4Addr>().is_err() || host.contains(text),
                        "{host}: {url}"
                    );
                }
            }
        }
        1 => {
            let Ok(list) = Exclusions::parse(&text) else { return };
            let first = text.split(['/', '\n', ' ', '#', ';']).next().unwrap_or_default();
            if let Ok(address) = first.parse::<IpAddr>() {
                assert!(list.contains(address), "{address} begins the list");
            }
        }
        _ => recover(bytes),
    }
}

/// The two tables, with their headers, may end anywhere.
fn recover(bytes: &[u8]) {
    let Some((cut, rest)) = bytes.split_first() else { return };
    let (hosts, runs) = rest.split_at(usize::from(*cut).min(rest.len()));
    let hosts = [&journal::header::<HostRow>()[..], hosts].concat();
    let runs = [&journal::header::<RunRow>()[..], runs].concat();
    let Ok(left) = journal::recover(&hosts, &runs) else { return };
    let (hosts, runs) = (&hosts[..left.hosts_len], &runs[..left.runs_len]);
    let again = journal::recover(hosts, runs).expect("repaired");
    assert_eq!((again.hosts_len, again.runs_len), (left.hosts_len, left.runs_len));
}

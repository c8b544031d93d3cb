//! The connections that use New-ECN: the lines that the pinned iterator of new_ecn.bpf.c prints.

use crate::{Error, Name, Pins, bpffs};
use serde::Serialize;
use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

/// The kernel's "no ssthresh yet".
const NO_SSTHRESH: u32 = 0x7fff_ffff;

/// The sender state of a connection that uses New-ECN.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Flow {
    /// The network namespace, as the inode number in /proc/PID/ns/net.
    pub netns: u32,
    /// This end.
    pub local: SocketAddr,
    /// The other end.
    pub peer: SocketAddr,
    /// Whether ECN was negotiated. If not, the kernel's Reno controls the connection.
    pub ecn: bool,
    /// cwnd in segments.
    pub cwnd: u32,
    /// ssthresh in segments; `None` before the first cut. In the round trip after a mark it is the
    /// target to which PRR reduces cwnd.
    pub ssthresh: Option<u32>,
    /// Smoothed round-trip time in microseconds.
    pub srtt_us: u32,
    /// The window slope in segments per round trip.
    pub slope: f64,
    /// ACKs with ECN echo. The receiver echoes a mark in every ACK until CWR reaches it.
    pub echoes: u32,
    /// Cuts for a mark, at most one in a round trip: the marks that New-ECN counts.
    pub mark_cuts: u32,
    /// Cuts for a loss, timeouts among them.
    pub loss_cuts: u32,
    /// Cuts by the retransmission timer.
    pub timeouts: u32,
}

/// The connections that use the controller `name`, in all network namespaces.
///
/// # Errors
///
/// Windlass has not loaded `name`, or the process lacks a capability.
pub fn flows(name: &Name) -> Result<Vec<Flow>, Error> {
    let path = Pins::of(name).flows();
    if !bpffs::is_mounted()? || !path.exists() {
        return Err(Error::NotLoaded(name.clone()));
    }
    let text = fs::read_to_string(&path).map_err(|error| Error::io(path, error))?;
    let rows = text.lines().skip(1);
    rows.map(|row| parse(row).ok_or_else(|| Error::Unreadable(row.to_owned()))).collect()
}

/// One line of the program's CSV.
fn parse(row: &str) -> Option<Flow> {
    fn next<'a, T: FromStr>(fields: &mut impl Iterator<Item = &'a str>) -> Option<T> {
        fields.next()?.parse().ok()
    }
    let fields = &mut row.split(',');
    let netns = next(fields)?;
    let mut end = || Some(SocketAddr::new(next::<IpAddr>(fields)?.to_canonical(), next(fields)?));
    let (local, peer) = (end()?, end()?);
    Some(Flow {
        netns,
        local,
        peer,
        ecn: next::<u32>(fields)? != 0,
        cwnd: next(fields)?,
        ssthresh: Some(next(fields)?).filter(|ssthresh| *ssthresh < NO_SSTHRESH),
        srtt_us: next(fields)?,
        slope: next::<u64>(fields)? as f64 / 2f64.powi(32),
        echoes: next(fields)?,
        mark_cuts: next(fields)?,
        loss_cuts: next(fields)?,
        timeouts: next(fields)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_kernel_is_a_flow() {
        let row =
            "4026531840,10.0.0.1,40000,10.0.0.2,5201,1,12,2147483647,190000,6442450944,7,3,1,0";
        let flow = parse(row).expect("complete");
        assert_eq!(flow.peer.to_string(), "10.0.0.2:5201");
        assert_eq!((flow.ecn, flow.cwnd, flow.ssthresh, flow.srtt_us), (true, 12, None, 190_000));
        assert_eq!((flow.slope, flow.echoes, flow.mark_cuts, flow.loss_cuts), (1.5, 7, 3, 1));
    }

    #[test]
    fn an_ipv4_address_in_an_ipv6_socket_is_an_ipv4_address() {
        let mapped = "0000:0000:0000:0000:0000:ffff:0a00:0001";
        let row = format!("1,{mapped},1,{mapped},2,0,2,2,1,1,0,0,0,0");
        assert_eq!(parse(&row).expect("complete").local.to_string(), "10.0.0.1:1");
    }

    #[test]
    fn a_short_line_is_none() {
        assert_eq!(parse("1,10.0.0.1,1,10.0.0.2,2,1,12"), None);
    }
}

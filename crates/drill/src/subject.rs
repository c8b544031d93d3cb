//! A TCP implementation under test.

use crate::call::{Call, Fd, Return};
use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use windlass_base::Time;

/// Starts a host for each script.
pub trait Subject {
    /// Its name in reports, as `engine (linux)` or `Linux 7.3`.
    fn name(&self) -> String;

    /// Starts a host with nothing left of an earlier one.
    ///
    /// # Errors
    ///
    /// It cannot have these settings.
    fn start(&self, setup: &Setup) -> Result<Box<dyn Host>, Unsupported>;
}

/// The network of a script, by its options (`--ip_version`, `--mtu`, ...).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setup {
    /// The subject's address.
    pub local: IpAddr,
    /// The bits of the network that it is in.
    pub prefix_len: u8,
    /// The other end's address, outside that network.
    pub remote: IpAddr,
    /// The port to which `bind` binds, and to which the script's packets go.
    pub local_port: u16,
    /// The port to which `connect` connects.
    pub remote_port: u16,
    /// The program opens IPv6 sockets for IPv4 addresses (`ipv4-mapped-ipv6`).
    pub mapped: bool,
    /// The largest IP packet of the link, in bytes.
    pub mtu: u32,
}

/// Something that a subject does not have: the script is skipped for this reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported(pub String);

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unsupported {}

/// A host with one link, on whose other end is the script.
///
/// The runner calls in turn: [`receive`](Host::receive) or [`receive_coalesced`](Host::receive_coalesced), [`begin`](Host::begin) or [`set`](Host::set); then
/// [`transmit`](Host::transmit) and [`returned`](Host::returned) until they return `None`; then [`wait`](Host::wait).
pub trait Host: fmt::Debug {
    /// The time since the start.
    fn now(&self) -> Time;

    /// Lets time pass until `until`, or until a packet leaves or the blocked call returns; returns the time of then.
    fn wait(&mut self, until: Time) -> Time;

    /// Takes an IP packet from the link.
    fn receive(&mut self, packet: &[u8]);

    /// Takes an IP packet that a device has put together from segments with at most `mss` bytes of payload (the option
    /// `--mss` of scripts). A host without such devices takes it as any other.
    fn receive_coalesced(&mut self, packet: &[u8], mss: u16) {
        let _ = mss;
        self.receive(packet);
    }

    /// The next IP packet that left, with its time.
    fn transmit(&mut self) -> Option<(Time, Vec<u8>)>;

    /// Begins a call. At most one is open.
    ///
    /// # Errors
    ///
    /// It lacks this call.
    fn begin(&mut self, call: &Call) -> Result<(), Unsupported>;

    /// The end of the call that was begun, with its time; `None` while it blocks.
    fn returned(&mut self) -> Option<(Time, Return)>;

    /// Sets a variable of the host, as `net.ipv4.tcp_ecn`.
    ///
    /// # Errors
    ///
    /// It lacks the variable, or does not have this value.
    fn set(&mut self, sysctl: &str, value: &str) -> Result<(), Unsupported>;

    /// Runs shell commands of the script that are none of [`set`](Host::set), and returns their exit status; 0 is
    /// success.
    ///
    /// # Errors
    ///
    /// It has no shell.
    fn shell(&mut self, commands: &str) -> Result<i32, Unsupported> {
        Err(Unsupported(format!("it has no shell for `{commands}`")))
    }

    /// The fields of `struct tcp_info` by their names (`tcpi_snd_cwnd`), as Linux counts them, and those of the
    /// controller. A field that is missing is one that the subject lacks.
    ///
    /// # Errors
    ///
    /// The descriptor is no TCP socket.
    fn info(&mut self, fd: Fd) -> Result<BTreeMap<String, i64>, Unsupported>;
}

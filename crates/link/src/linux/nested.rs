//! A command behind a link, in its own network namespace, like mahimahi's shells.

use super::addresses::{Block, INSIDE_DEVICE};
use super::carrier::{Attendant, Carrier};
use super::reach;
use crate::{LinkConfig, Network};
use ipnet::{IpNet, Ipv4Net};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use windlass_base::Span;
use windlass_namespace::{
    Device, DeviceConfig, Guarded, Namespace, Signals, Streams, enter_new_network, exit_code,
};

/// A command, and the link between it and the outside.
#[derive(Clone, Debug)]
pub struct Nested {
    /// A link of two ports: the outside, and the inside where the command runs. The command's packets
    /// take the up path of the inside.
    pub link: LinkConfig,
    /// The command and its arguments.
    pub command: Vec<OsString>,
    /// A shell command that runs at the outside for as long as the command runs.
    pub outside: Option<OsString>,
    /// The addresses of the link and of those in it; `None`: a free block of 100.64.0.0/10, or in a link
    /// a part of its block.
    pub block: Option<Ipv4Net>,
    /// The largest IP packet, in bytes.
    pub mtu: u32,
    /// The spin time; see [`Carrier::new`].
    pub spin: Span,
    /// Where both commands write. Their standard input is empty then. `None`: they have the streams of
    /// this process, `outside` its standard error alone.
    pub output: Option<Arc<File>>,
}

/// A message from the thread that holds the inner namespace.
enum Report {
    /// The inside's device is up.
    Device(Device),
    /// The guard of the command has started, with this PID.
    Started(u32),
    /// The command has ended with this exit status, or could not be started.
    Ended(io::Result<u8>),
}

impl Nested {
    /// Runs the command; returns its exit status, or 128 and the number of the signal that ended
    /// it.
    ///
    /// # Errors
    ///
    /// A device or namespace cannot be made, the block is in use, another program has a route or a
    /// firewall for its addresses, or the carrier fails. A running command is killed.
    pub fn run(self, attendant: &mut dyn Attendant) -> io::Result<(u8, Carrier)> {
        let network = Network::new(&self.link)
            .map_err(|error| io::Error::new(ErrorKind::InvalidInput, error.to_string()))?;
        let signals = Signals::block()?;
        let block = Block::claim(self.block)?;
        let outside = Device::create(&outside_device(&block, self.mtu)?)?;
        reach::check(&outside, &block)?;
        let environment = environment(block.outside());
        if let Some(command) = &self.outside {
            run_outside(command, &environment, self.output.clone())?;
        }

        let (stop, stopper) = UnixStream::pair()?;
        let (reports, received) = channel();
        let inside = inside_device(&block, self.mtu)?;
        let inner =
            Inner { device: inside, command: self.command, environment, output: self.output };
        hold(inner, reports, stopper);
        let Report::Device(inside) = next(&received)? else { return Err(gone()) };
        let Report::Started(guard) = next(&received)? else { return Err(gone()) };
        // The thread ends with the process.
        thread::spawn(move || forward(&signals, guard));
        let mut carrier = Carrier::new(network, vec![outside, inside], self.spin);
        carrier.run(stop.as_fd(), attendant)?;
        match next(&received)? {
            Report::Ended(Ok(code)) => Ok((code, carrier)),
            _ => Err(gone()),
        }
    }
}

/// The next message of the thread that holds the inner namespace, or the error that ended it.
fn next(received: &Receiver<Report>) -> io::Result<Report> {
    match received.recv().map_err(|_| gone())? {
        Report::Ended(Err(error)) => Err(error),
        report => Ok(report),
    }
}

fn gone() -> io::Error {
    io::Error::other("the thread of the namespace ended early")
}

/// The variables by which the processes at both ends find the address of the link's outside.
fn environment(outside: Ipv4Addr) -> Vec<(&'static str, String)> {
    let mut environment = vec![("WINDLASS_OUTSIDE", outside.to_string())];
    // Of nested links, this variable names the outermost one.
    if std::env::var_os("WINDLASS_BASE").is_none() {
        environment.push(("WINDLASS_BASE", outside.to_string()));
    }
    environment
}

fn outside_device(block: &Block, mtu: u32) -> io::Result<DeviceConfig> {
    let address = with_prefix(block.outside(), block.network.prefix_len())?;
    Ok(DeviceConfig {
        name: "wlink%d".to_owned(),
        namespace: Namespace::Current,
        addresses: vec![address],
        routes: vec![],
        mtu,
    })
}

fn inside_device(block: &Block, mtu: u32) -> io::Result<DeviceConfig> {
    let address = with_prefix(block.inside(), block.network.prefix_len())?;
    Ok(DeviceConfig {
        name: INSIDE_DEVICE.to_owned(),
        namespace: Namespace::Current,
        addresses: vec![address],
        routes: vec![with_prefix(Ipv4Addr::UNSPECIFIED, 0)?],
        mtu,
    })
}

fn with_prefix(address: Ipv4Addr, prefix: u8) -> io::Result<IpNet> {
    Ipv4Net::new(address, prefix).map(IpNet::V4).map_err(io::Error::other)
}

/// Starts the thread that holds the inner namespace. It lives as long as the command, and drops
/// `stopper` when it ends.
fn hold(inner: Inner, reports: Sender<Report>, stopper: UnixStream) {
    thread::spawn(move || {
        let result = inner.live(&reports);
        // The send fails only if the receiver has ended, with an error of its own.
        let _ = reports.send(Report::Ended(result));
        drop(stopper);
    });
}

/// The device and the command of the inner namespace.
struct Inner {
    device: DeviceConfig,
    command: Vec<OsString>,
    environment: Vec<(&'static str, String)>,
    output: Option<Arc<File>>,
}

impl Inner {
    fn live(&self, reports: &Sender<Report>) -> io::Result<u8> {
        enter_new_network()?;
        let device = Device::create(&self.device)?;
        // Forwarding, for links nested in this one. If /proc/sys is read-only, they cannot reach the
        // outside.
        let _ = fs::write("/proc/sys/net/ipv4/ip_forward", "1");
        let _ = reports.send(Report::Device(device));
        let streams = self.output.as_deref().map_or(Streams::All, Streams::To);
        let mut child = guarded(&self.command, &self.environment, streams).spawn()?;
        let _ = reports.send(Report::Started(child.id()));
        child.wait().map(exit_code)
    }
}

fn guarded<'a>(
    command: &'a [OsString],
    environment: &'a [(&'a str, String)],
    streams: Streams<'a>,
) -> Guarded<'a> {
    Guarded { tool: "link", command, environment, streams, user: None }
}

/// Forwards signals to the guard for as long as the process lives.
fn forward(signals: &Signals, guard: u32) -> io::Result<()> {
    loop {
        match poll(&mut [PollFd::new(signals.as_fd(), PollFlags::POLLIN)], PollTimeout::NONE) {
            Ok(_) | Err(Errno::EINTR) => signals.forward(guard)?,
            Err(error) => return Err(error.into()),
        };
    }
}

/// Starts a shell command in the current namespace. The thread that started it lives until the command
/// or the process ends.
fn run_outside(
    command: &OsString,
    environment: &[(&'static str, String)],
    output: Option<Arc<File>>,
) -> io::Result<()> {
    let (started, has_started) = channel();
    let command = ["sh".into(), "-c".into(), command.clone()];
    let environment = environment.to_vec();
    thread::spawn(move || {
        let streams = output.as_deref().map_or(Streams::ErrorOnly, Streams::To);
        match guarded(&command, &environment, streams).spawn() {
            Ok(mut child) => {
                let _ = started.send(Ok(()));
                let _ = child.wait();
            }
            Err(error) => drop(started.send(Err(error))),
        }
    });
    has_started.recv().map_err(|_| gone())?
}

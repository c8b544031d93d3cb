//! A command behind a link, in a network namespace of its own, in the manner of mahimahi's shells.

use super::addresses::{Block, INSIDE_DEVICE};
use super::carrier::{Attendant, Carrier};
use super::device::{Device, DeviceConfig};
use super::guard::{self, Streams};
use super::namespace::{self, Namespace};
use crate::{LinkConfig, Network};
use ipnet::{IpNet, Ipv4Net};
use nix::unistd::Pid;
use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind};
use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use windlass_base::Span;

/// A command, and the link that it is to be behind.
#[derive(Clone, Debug)]
pub struct Nested {
    /// Two ports: the outside, and the inside where the command runs. The up path of the inside is
    /// what the command sends.
    pub link: LinkConfig,
    /// The command and its arguments.
    pub command: Vec<OsString>,
    /// A command for the shell, to be run at the outside as long as the command runs.
    pub outside: Option<OsString>,
    /// The largest IP packet, in bytes.
    pub mtu: u32,
    /// As for [`Carrier::new`].
    pub spin: Span,
}

/// The addresses of the link's ends, which the processes at both ends find in their environment.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// The address of the outside.
    pub outside: Ipv4Addr,
    /// The address of the inside.
    pub inside: Ipv4Addr,
}

/// What a thread that holds a namespace has to say.
enum Word {
    /// The device inside.
    Device(Device),
    /// The command runs.
    Started(Pid),
    /// The command, or the attempt to start it, has ended.
    Ended(io::Result<u8>),
}

impl Nested {
    /// Runs the command; returns its exit status, or 128 and the number of the signal that ended
    /// it.
    ///
    /// # Errors
    ///
    /// What could not be made. The command is killed then, if it ran.
    pub fn run(self, attendant: &mut dyn Attendant) -> io::Result<(u8, Carrier)> {
        let network = Network::new(&self.link)
            .map_err(|error| io::Error::new(ErrorKind::InvalidInput, error.to_string()))?;
        let signals = guard::block_signals()?;
        let block = Block::claim()?;
        let surroundings = Surroundings { outside: block.outside(), inside: block.inside() };
        let outside = Device::create(&outside_device(&block, self.mtu)?)?;
        let environment = surroundings.environment();
        if let Some(command) = &self.outside {
            run_outside(command, &environment)?;
        }

        let (stop, stopper) = UnixStream::pair()?;
        let (words, heard) = channel();
        let inside = inside_device(&block, self.mtu)?;
        hold(inside, self.command, environment, words, stopper);
        let Word::Device(inside) = next(&heard)? else { return Err(gone()) };
        let Word::Started(guard) = next(&heard)? else { return Err(gone()) };
        // Ends with the process: it has nothing else to wait for.
        thread::spawn(move || guard::pass_on(&signals, guard));
        let mut carrier = Carrier::new(network, vec![outside, inside], self.spin);
        carrier.run(stop.as_fd(), attendant)?;
        match next(&heard)? {
            Word::Ended(Ok(code)) => Ok((code, carrier)),
            _ => Err(gone()),
        }
    }
}

/// The next word of the thread that holds the inside; why it ended, if it failed.
fn next(heard: &Receiver<Word>) -> io::Result<Word> {
    match heard.recv().map_err(|_| gone())? {
        Word::Ended(Err(error)) => Err(error),
        word => Ok(word),
    }
}

fn gone() -> io::Error {
    io::Error::other("the thread of the namespace ended early")
}

impl Surroundings {
    fn environment(&self) -> Vec<(&'static str, String)> {
        let mut environment = vec![("WINDLASS_OUTSIDE", self.outside.to_string())];
        // Links may be nested: the outermost side stays known by this name.
        if std::env::var_os("WINDLASS_BASE").is_none() {
            environment.push(("WINDLASS_BASE", self.outside.to_string()));
        }
        environment
    }
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

/// Starts the thread whose namespace is the inside. It lives as long as the command; `stopper` is
/// closed when it ends.
fn hold(
    device: DeviceConfig,
    command: Vec<OsString>,
    environment: Vec<(&'static str, String)>,
    words: Sender<Word>,
    stopper: UnixStream,
) {
    thread::spawn(move || {
        let result = live_inside(&device, &command, &environment, &words);
        // The send fails only if the receiver has ended, with an error of its own.
        let _ = words.send(Word::Ended(result));
        drop(stopper);
    });
}

fn live_inside(
    device: &DeviceConfig,
    command: &[OsString],
    environment: &[(&'static str, String)],
    words: &Sender<Word>,
) -> io::Result<u8> {
    namespace::enter_new()?;
    let device = Device::create(device)?;
    // For links nested in this one. Where /proc/sys cannot be written they have no way out.
    let _ = fs::write("/proc/sys/net/ipv4/ip_forward", "1");
    let _ = words.send(Word::Device(device));
    let mut child = guard::spawn(command, environment, Streams::All)?;
    let _ = words.send(Word::Started(Pid::from_raw(child.id().cast_signed())));
    child.wait().map(guard::exit_code)
}

/// Starts a command for the shell in the present namespace. The thread that it hangs on lives as
/// long as it or the process.
fn run_outside(command: &OsString, environment: &[(&'static str, String)]) -> io::Result<()> {
    let (started, has_started) = channel();
    let command = ["sh".into(), "-c".into(), command.clone()];
    let environment = environment.to_vec();
    thread::spawn(move || match guard::spawn(&command, &environment, Streams::ErrorOnly) {
        Ok(mut child) => {
            let _ = started.send(Ok(()));
            let _ = child.wait();
        }
        Err(error) => drop(started.send(Err(error))),
    });
    has_started.recv().map_err(|_| gone())?
}

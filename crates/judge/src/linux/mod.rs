//! The kernel that runs the judge, as a subject: in real time, or in an emulated machine in its virtual time.

mod counters;
mod diagnosis;
mod options;
mod sender;

use crate::packets::{HOST, PEER, PEER_PORT};
use crate::subject::{Sender, Setup, Subject};
use crate::suites::known;
use counters::Counters;
use diagnosis::Diagnosis;
use ipnet::{IpNet, Ipv4Net};
use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrIn, connect, setsockopt, socket, sockopt,
};
use sender::{Clock, KernelSender};
use std::cell::Cell;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::net::{SocketAddrV4, TcpStream};
use std::os::fd::AsRawFd;
use std::thread;
use windlass_base::Time;
use windlass_namespace::{Device, DeviceConfig, MTU_DEFAULT, Namespace, enter_new_network};

/// The running kernel with one of its controllers. Each connection has a network namespace of its own, in which the
/// judge is the network and the receiver.
#[derive(Clone, Debug)]
pub struct Kernel {
    controller: String,
    release: String,
}

impl Kernel {
    /// The kernel with this controller, by its name in `net.ipv4.tcp_available_congestion_control`. A module is loaded.
    ///
    /// # Errors
    ///
    /// The process may not make namespaces or TUN devices (it is not root), or the kernel lacks the controller.
    pub fn new(controller: &str) -> io::Result<Kernel> {
        let release = fs::read_to_string("/proc/sys/kernel/osrelease")?;
        let kernel = Kernel { controller: controller.to_owned(), release: version(&release) };
        kernel.open(&Setup::DEFAULT, Time::ZERO).map_err(io::Error::other)?;
        Ok(kernel)
    }

    /// Opens a connection in a new namespace, which the calling thread enters.
    fn open_here(&self, setup: &Setup, now: Time) -> Result<KernelSender, String> {
        let settings = options::settings(setup)?;
        enter_new_network().map_err(|error| error.to_string())?;
        for (key, value) in settings {
            fs::write(format!("/proc/sys/net/ipv4/{key}"), value).map_err(|error| {
                format!("{} refuses {key} = {value}: {}", self.name(), in_words(&error))
            })?;
        }
        let device = Device::create(&device_config()).map_err(|error| error.to_string())?;
        let counters = Counters::open().map_err(|error| error.to_string())?;
        let socket = self.socket()?;
        let clock = Clock::starting(now);
        let port = dial(&socket).map_err(|error| format!("connect: {error}"))?;
        let diagnosis = Diagnosis::open(port).map_err(|error| format!("sock_diag: {error}"))?;
        Ok(KernelSender {
            socket,
            port,
            device,
            diagnosis,
            counters,
            clock,
            pending: 0,
            closes: false,
            state: Cell::new(None),
        })
    }

    fn socket(&self) -> Result<TcpStream, String> {
        let socket = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_NONBLOCK, None)
            .map_err(|error| format!("socket: {error}"))?;
        setsockopt(&socket, sockopt::TcpCongestion, &OsString::from(&self.controller)).map_err(
            |error| {
                let (release, name) = (&self.release, &self.controller);
                format!("Linux {release} has no controller {name:?}: {}", error.desc())
            },
        )?;
        // Reset at the end: an orphan would keep its namespace for minutes.
        let linger = nix::libc::linger { l_onoff: 1, l_linger: 0 };
        setsockopt(&socket, sockopt::Linger, &linger).map_err(|error| error.to_string())?;
        let socket = TcpStream::from(socket);
        // Whatever the application writes leaves at once.
        socket.set_nodelay(true).map_err(|error| error.to_string())?;
        Ok(socket)
    }
}

impl Subject for Kernel {
    fn name(&self) -> String {
        format!("Linux {} {}", self.release, self.controller)
    }

    fn controller(&self) -> String {
        self.controller.clone()
    }

    fn explains(&self, case: &str) -> Option<&'static str> {
        known::of_the_kernel(case)
    }

    fn open(&self, setup: &Setup, now: Time) -> Result<Box<dyn Sender>, String> {
        // A namespace is a thread's; sockets and devices stay in theirs when it ends.
        let opened = thread::scope(|scope| scope.spawn(|| self.open_here(setup, now)).join());
        let sender = opened.unwrap_or_else(|_| Err("a thread panicked".into()))?;
        Ok(Box::new(sender))
    }
}

/// Without the number that the standard library adds.
fn in_words(error: &io::Error) -> String {
    let known = error.raw_os_error().map(|number| Errno::from_raw(number).desc().to_owned());
    known.unwrap_or_else(|| error.to_string())
}

/// `6.18` of `6.18.44-fc`.
fn version(release: &str) -> String {
    release.trim().split('.').take(2).collect::<Vec<_>>().join(".")
}

fn device_config() -> DeviceConfig {
    let network = Ipv4Net::new_assert(HOST, 24);
    DeviceConfig {
        name: "judge".into(),
        namespace: Namespace::Current,
        addresses: vec![IpNet::V4(network)],
        routes: Vec::new(),
        mtu: MTU_DEFAULT,
    }
}

/// Begins the handshake; returns the kernel's port.
fn dial(socket: &TcpStream) -> io::Result<u16> {
    match connect(socket.as_raw_fd(), &SockaddrIn::from(SocketAddrV4::new(PEER, PEER_PORT))) {
        Ok(()) | Err(Errno::EINPROGRESS) => Ok(socket.local_addr()?.port()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests;

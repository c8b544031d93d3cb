//! A host: an interface, its sockets, and the clock of its timestamps.

use crate::device::Queues;
use serde::Deserialize;
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::socket::tcp::{CongestionControl, Socket, SocketBuffer};
use smoltcp::time::{Duration, Instant};
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr};
use std::cell::Cell;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use windlass_base::{Span, Time};

thread_local! {
    /// The milliseconds of the host that is being polled: smoltcp asks a plain function for its timestamps.
    static MILLISECONDS: Cell<u32> = const { Cell::new(0) };
}

fn milliseconds() -> u32 {
    MILLISECONDS.get()
}

/// A congestion controller of smoltcp.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Control {
    /// Without control, as smoltcp has it by default.
    None,
    /// Reno (RFC 5681).
    Reno,
    /// CUBIC (RFC 9438).
    Cubic,
}

impl Control {
    /// Those that there are.
    pub const ALL: [Control; 3] = [Control::None, Control::Reno, Control::Cubic];

    /// `none`, `reno`, `cubic`.
    pub fn name(self) -> &'static str {
        match self {
            Control::None => "none",
            Control::Reno => "reno",
            Control::Cubic => "cubic",
        }
    }
}

impl fmt::Display for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Control {
    type Err = String;

    fn from_str(text: &str) -> Result<Control, String> {
        let found = Control::ALL.into_iter().find(|control| control.name() == text);
        found.ok_or_else(|| "smoltcp has the controllers none, reno and cubic".to_owned())
    }
}

/// The addresses of a host.
#[derive(Copy, Clone, Debug)]
pub struct Host {
    /// Its own address.
    pub address: IpAddr,
    /// The bits of its network.
    pub prefix_len: u8,
    /// The largest IP packet, in bytes.
    pub mtu: usize,
}

/// The options of a socket.
#[derive(Copy, Clone, Debug)]
pub struct SocketOptions {
    /// Its congestion controller.
    pub control: Control,
    /// Timestamps (RFC 7323).
    pub timestamps: bool,
    /// Nagle's algorithm.
    pub nagle: bool,
    /// How long an ACK may be delayed; `None`: never.
    pub ack_delay: Option<Span>,
    /// Room for data that arrives, in bytes.
    pub receive_buffer: usize,
    /// Room for data that the application writes, in bytes.
    pub send_buffer: usize,
}

/// A host with one interface.
pub struct Stack {
    interface: Interface,
    queues: Queues,
    sockets: SocketSet<'static>,
    polled_at: Time,
    wakes_at: Option<Time>,
}

impl fmt::Debug for Stack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stack").field("polled_at", &self.polled_at).finish_non_exhaustive()
    }
}

impl Stack {
    /// A host without sockets. The seed decides its initial sequence numbers.
    pub fn new(host: &Host, seed: u64, now: Time) -> Stack {
        let mut queues =
            Queues { arriving: Default::default(), leaving: Default::default(), mtu: host.mtu };
        let mut config = Config::new(HardwareAddress::Ip);
        config.random_seed = seed;
        let mut interface = Interface::new(config, &mut queues, instant(now));
        let address = IpAddress::from(host.address);
        interface.update_ip_addrs(|addresses| {
            // An empty list has room for one.
            let _ = addresses.push(IpCidr::new(address, host.prefix_len));
        });
        // A table with no route has room for one. Its gateway is of no account: the link has two ends.
        let _ = match host.address {
            IpAddr::V4(own) => interface.routes_mut().add_default_ipv4_route(own),
            IpAddr::V6(own) => interface.routes_mut().add_default_ipv6_route(own),
        };
        Stack {
            interface,
            queues,
            sockets: SocketSet::new(Vec::new()),
            polled_at: now,
            wakes_at: None,
        }
    }

    /// Adds a closed socket.
    pub fn socket(&mut self, options: &SocketOptions) -> SocketHandle {
        let buffer = |bytes: usize| SocketBuffer::new(vec![0; bytes]);
        let mut socket = Socket::new(buffer(options.receive_buffer), buffer(options.send_buffer));
        socket.set_congestion_control(match options.control {
            Control::None => CongestionControl::None,
            Control::Reno => CongestionControl::Reno,
            Control::Cubic => CongestionControl::Cubic,
        });
        if options.timestamps {
            socket.set_tsval_generator(Some(milliseconds));
        }
        socket.set_nagle_enabled(options.nagle);
        socket.set_ack_delay(
            options.ack_delay.map(|delay| Duration::from_micros(delay.as_nanos() / 1000)),
        );
        self.sockets.add(socket)
    }

    /// A socket of the host.
    pub fn get(&mut self, handle: SocketHandle) -> &mut Socket<'static> {
        self.sockets.get_mut(handle)
    }

    /// Takes a socket away.
    pub fn remove(&mut self, handle: SocketHandle) {
        self.sockets.remove(handle);
    }

    /// Opens a connection from `local_port`: the SYN leaves with the next [`Stack::poll`].
    ///
    /// # Errors
    ///
    /// The socket is open, or a port is 0.
    pub fn connect(
        &mut self,
        handle: SocketHandle,
        remote: (IpAddr, u16),
        local_port: u16,
    ) -> Result<(), String> {
        let remote = (IpAddress::from(remote.0), remote.1);
        let socket = self.sockets.get_mut::<Socket<'_>>(handle);
        let connected = socket.connect(self.interface.context(), remote, local_port);
        connected.map_err(|error| error.to_string())
    }

    /// Takes an IP packet from the link.
    pub fn receive(&mut self, packet: Vec<u8>) {
        self.queues.arriving.push_back(packet);
    }

    /// Does what is due, until nothing more leaves.
    pub fn poll(&mut self, now: Time) {
        MILLISECONDS.set((now.as_nanos() / 1_000_000) as u32);
        self.polled_at = now;
        loop {
            let before = self.queues.leaving.len();
            self.interface.poll(instant(now), &mut self.queues, &mut self.sockets);
            if self.queues.arriving.is_empty() && self.queues.leaving.len() == before {
                break;
            }
        }
        let at = self.interface.poll_at(instant(now), &self.sockets);
        self.wakes_at = at.map(|at| {
            let at = Time::from_nanos(u64::try_from(at.total_micros()).unwrap_or(0) * 1000);
            // A socket that asks for now although a poll has just passed has something that it cannot send yet.
            if at > now { at } else { now + Span::from_millis(1) }
        });
    }

    /// When [`Stack::poll`] is to be called again, if nothing happens before; later than its last call.
    pub fn wakes_at(&self) -> Option<Time> {
        self.wakes_at
    }

    /// The next packet that left.
    pub fn transmit(&mut self) -> Option<Vec<u8>> {
        self.queues.leaving.pop_front()
    }
}

/// In microseconds, as smoltcp counts.
fn instant(at: Time) -> Instant {
    Instant::from_micros(i64::try_from(at.as_nanos() / 1000).unwrap_or(i64::MAX))
}

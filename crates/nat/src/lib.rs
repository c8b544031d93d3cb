//! A network address translator without I/O, with the behaviours of RFC 4787 as options.
//!
//! Windlass tests the traversal of NATs with it: the simulator in virtual time, and real hosts
//! through a pair of TUN devices (`driver`). It translates UDP, TCP, ICMP queries, and ICMP errors
//! about these (RFC 5508), over IPv4 and IPv6. Fragments are dropped: ToU and STUN send none.
//!
//! [`Nat::translate`] takes endpoints, [`Nat::handle_packet`] takes bytes. Time is an argument and
//! never decreases from call to call; the seed decides each random choice.
//!
//! ```
//! use windlass_base::Time;
//! use windlass_nat::{Config, Dependence, Flow, Nat, Protocol, Side};
//!
//! let config = Config::new(vec!["192.0.2.1".parse()?])
//!     .behaving(Dependence::AddressAndPort, Dependence::AddressAndPort);
//! let mut nat = Nat::new(config, 1);
//! let mut external = |destination: &str| {
//!     let source = "10.0.0.2:5000".parse().expect("an endpoint");
//!     let destination = destination.parse().expect("an endpoint");
//!     let flow = Flow { protocol: Protocol::Udp, source, destination };
//!     nat.translate(Time::ZERO, Side::Inside, flow).expect("a free port").1.source
//! };
//! // A symmetric NAT has a port of its own for each remote endpoint.
//! assert_ne!(external("198.51.100.1:1"), external("198.51.100.1:2"));
//! # Ok::<(), std::net::AddrParseError>(())
//! ```

mod config;
#[cfg(all(target_os = "linux", feature = "driver"))]
pub mod driver;
mod flow;
mod nat;
mod packet;
mod table;
pub mod theory;
mod translator;

pub use config::{Config, Dependence, Pooling, PortAllocation};
pub use flow::{Flow, Protocol, Side};
pub use nat::{Dropped, Nat, Stats};

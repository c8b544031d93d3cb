//! Carries the TCP connections of ordinary programs between hosts behind NATs.
//!
//! Each TCP connection becomes one ToU connection in the session of the two hosts, encrypted unless
//! the user decides otherwise. One side offers services ([`Expose`]); the other takes connections at
//! a TCP port ([`Forward`]), by SOCKS 5 ([`Socks`]), or joins one to its standard streams ([`pipe()`]).
//! Ends and resets of each TCP connection reach the other side as such.
//!
//! Everything runs in tokio's runtime. [`protocol`] and [`socks::message`] do no I/O.
//!
//! # Example
//!
//! A host that offers its SSH server by name, and one private network as an exit:
//!
//! ```
//! use windlass_forward::protocol::{REQUEST_HEADER, Request};
//! use windlass_forward::{ExitNetworks, ExitPolicy, Service, Services};
//!
//! let exit = ExitPolicy::new(["192.168.1.0/24".parse::<ExitNetworks>()?]);
//! assert!(exit.allows("192.168.1.7".parse()?));
//! assert!(!exit.allows("127.0.0.1".parse()?));
//!
//! let services = Services::new(["ssh=127.0.0.1:22".parse::<Service>()?], exit);
//! assert_eq!(services.iter().map(|service| service.name).collect::<Vec<_>>(), ["ssh"]);
//!
//! // The first bytes of a connection for that service.
//! let bytes = Request::Service("ssh".to_owned()).encode()?;
//! assert_eq!(&bytes[REQUEST_HEADER..], b"ssh");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod copy;
mod dial;
#[cfg(target_os = "linux")]
mod dialer;
mod duplex;
mod exit;
mod expose;
mod far;
mod forward;
mod keep_alive;
mod peers;
mod pipe;
pub mod protocol;
mod registry;
#[cfg(target_os = "linux")]
mod resolver;
mod services;
pub mod socks;
pub mod status;

pub use copy::Counters;
#[cfg(target_os = "linux")]
pub use dialer::FarDialer;
pub use duplex::BoxFuture;
pub use exit::{ExitNetworks, ExitPolicy, ParseExitError};
pub use expose::Expose;
pub use forward::{Carrier, Forward};
pub use peers::{Dial, Peers};
pub use pipe::pipe;
pub use registry::{PeerTotals, Registered, Registry};
#[cfg(target_os = "linux")]
pub use resolver::FarResolver;
pub use services::{ParseServiceError, Service, Services, Target};
pub use socks::Socks;

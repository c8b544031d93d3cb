//! TCP over UDP (Lee 2009): a byte stream with TCP's reliability and congestion control, for hosts
//! that can exchange only UDP datagrams. `docs/reference/tou-protocol.md` describes the wire format.
//!
//! [`TouListener`] and [`TouStream`] work like std's `TcpListener` and `TcpStream`. A complete
//! example, with an echo server and its client on one host:
//!
//! ```
//! use std::io::{Read, Write};
//! use std::net::Shutdown;
//! use std::thread;
//! use std::time::Duration;
//! use windlass_tou::{Options, TouListener, TouStream, congestion};
//!
//! // Port 0 lets the system choose a UDP port.
//! let listener = TouListener::bind("127.0.0.1:0")?;
//! let address = listener.local_addr()?;
//!
//! let server = thread::spawn(move || -> std::io::Result<()> {
//!     let (mut stream, _peer) = listener.accept()?;
//!     let mut request = Vec::new();
//!     // Reads until the client shuts down its side.
//!     stream.read_to_end(&mut request)?;
//!     stream.write_all(&request)?;
//!     // Without this, the process could end before the answer has arrived.
//!     stream.finish(Some(Duration::from_secs(10)))
//! });
//!
//! let options = Options { congestion: congestion("newreno")?, ..Options::default() };
//! let mut client = TouStream::connect_with(address, &options)?;
//! client.write_all(b"hello")?;
//! client.shutdown(Shutdown::Write)?;
//! let mut answer = String::new();
//! client.read_to_string(&mut answer)?;
//! assert_eq!(answer, "hello");
//! assert_eq!(client.info()?.bytes_received, 5);
//!
//! server.join().expect("the server does not panic")?;
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! | to | use |
//! |---|---|
//! | connect, or accept connections, with blocking or nonblocking calls | [`TouStream`], [`TouListener`] |
//! | share a port with STUN, or connect through NATs | [`TouSocket`] |
//! | choose a congestion controller, ECN, buffers, limits | [`Options`] |
//! | use tokio's `AsyncRead` and `AsyncWrite` | the module `tokio` (feature `tokio`) |
//! | encrypt a stream, and know its ends by their keys | the module `secure` (feature `secure`) |
//! | deliver pending data before the process ends | [`TouStream::finish`], [`drain`] |
//! | connect hosts behind NATs by their keys | the module `session` (feature `session`) |
//! | run the protocol without sockets, threads or clocks | [`endpoint`] |
//! | read and write headers | [`wire`] |
//!
//! All types of other Windlass crates in this API are re-exported: in the crate root those of
//! [`Options`] and [`Info`], in [`endpoint`] and [`wire`] those of these modules. The modules [`cc`]
//! and [`config`] are those of the TCP engine, `windlass_tcp`.

mod dialing;
mod driver;
pub mod endpoint;
mod handle;
mod info;
mod listener;
#[cfg(windows)]
mod loopback;
mod options;
#[cfg(feature = "secure")]
pub mod secure;
#[cfg(feature = "session")]
pub mod session;
mod socket;
mod stream;
#[cfg(feature = "tokio")]
pub mod tokio;

pub use driver::drain;
pub use endpoint::Endpoint;
pub use info::{Info, Ready};
pub use listener::TouListener;
pub use options::{Options, congestion};
pub use socket::TouSocket;
pub use stream::TouStream;

pub use windlass_base::{Distribution, Span, Time};
pub use windlass_qlog as qlog;
pub use windlass_tcp::cc::ControllerFactory;
pub use windlass_tcp::config::{EcnEcho, KeepAlive};
pub use windlass_tcp::conn::Stats;
pub use windlass_tcp::{Profile, State, cc, config};
pub use windlass_tou_wire as wire;

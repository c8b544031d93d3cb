//! TCP over UDP: a byte stream with TCP's reliability and congestion control between hosts that
//! have only UDP between them (Lee 2009). The format on the wire is docs/reference/tou-protocol.md.
//!
//! [`TouListener`] and [`TouStream`] are used as std's `TcpListener` and `TcpStream`:
//!
//! ```
//! use std::io::{Read, Write};
//! use windlass_tou::{TouListener, TouStream};
//!
//! let listener = TouListener::bind("127.0.0.1:0")?;
//! let mut client = TouStream::connect(listener.local_addr()?)?;
//! let (mut server, _) = listener.accept()?;
//! client.write_all(b"hello")?;
//! client.shutdown(std::net::Shutdown::Write)?;
//! let mut text = String::new();
//! server.read_to_string(&mut text)?;
//! assert_eq!(text, "hello");
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! [`endpoint`] is the same without sockets, threads and clocks.

mod driver;
pub mod endpoint;
mod handle;
mod info;
mod listener;
mod options;
mod socket;
mod stream;
#[cfg(feature = "tokio")]
pub mod tokio;
pub mod wire;

pub use driver::drain;
pub use endpoint::Endpoint;
pub use info::{Info, Ready};
pub use listener::TouListener;
pub use options::{Options, congestion};
pub use socket::TouSocket;
pub use stream::TouStream;

//! Runs an unmodified command and hands every TCP connection that it makes to a [`Dialer`], and every
//! DNS query to a [`Resolver`].
//!
//! The command runs in a network namespace of its own, whose only way out is a TUN device. A
//! [`stack::Stack`] ends its TCP connections, and a loop copies their bytes to and from the
//! [`FarEnd`]s that the dialer opens. So static binaries, Go programs and JVMs are captured like any
//! other, and nothing that the command sends leaves by another way.
//!
//! - A connection is accepted only after the far end has accepted it, and refused as the far end
//!   refuses it. Ends and resets pass in both directions. A slow reader stops the writer at the other
//!   side.
//! - Names are resolved by the [`Resolver`]: the command's `/etc/resolv.conf` names a forwarder.
//! - UDP other than DNS is refused at once by ICMP, so that a program falls back to TCP. Echo requests
//!   to other hosts than the forwarder are answered as prohibited.
//! - The command runs as its own user. Without the privileges to make namespaces, it runs in a user
//!   namespace. It is the first process of its PID namespace after a guard: whatever is killed, no
//!   process and no namespace is left.
//!
//! # Example
//!
//! Every connection becomes an ordinary one of this process, and is printed:
//!
//! ```no_run
//! # #[cfg(target_os = "linux")]
//! # mod example {
//! use std::io;
//! use std::net::SocketAddr;
//! use std::process::ExitCode;
//! use windlass_capture::{Capture, Dialer, DirectDialer, FarEnd, HostResolver, Signals, child_main};
//!
//! struct Printing(DirectDialer);
//!
//! impl Dialer for Printing {
//!     fn dial(&mut self, to: SocketAddr) -> io::Result<Box<dyn FarEnd>> {
//!         eprintln!("{to}");
//!         self.0.dial(to)
//!     }
//! }
//!
//! pub fn main() -> ExitCode {
//!     // The capture starts this program again for its helpers.
//!     if let Some(code) = child_main() {
//!         return code;
//!     }
//!     let capture = || {
//!         let signals = Signals::block()?;
//!         let mut resolver = HostResolver::new()?;
//!         let command = std::env::args_os().skip(1);
//!         Capture::new(command).run(&signals, &mut Printing(DirectDialer), &mut resolver)
//!     };
//!     match capture() {
//!         Ok(outcome) => ExitCode::from(outcome.exit_code),
//!         Err(error) => {
//!             eprintln!("error: {error}");
//!             ExitCode::FAILURE
//!         }
//!     }
//! }
//! # }
//! # fn main() {}
//! ```
//!
//! # How it fits together
//!
//! Everything runs on the thread that calls [`Capture::run`]. Far ends are polled: each method does
//! what it can and leaves a waker, or the far end names a socket to watch. A far end that copies in a
//! thread of its own can be a [`std::os::unix::net::UnixStream`] pair behind these methods.
//!
//! The [`stack`] does no I/O: packets, decisions and the time are arguments, packets and events are
//! results. It works on every system; the rest is for Linux.

mod dns;
#[cfg(unix)]
mod far;
mod icmp;
#[cfg(target_os = "linux")]
mod linux;
mod packet;
pub mod stack;

#[cfg(unix)]
pub use far::{Dialer, FarEnd, Reply, Resolver};
#[cfg(target_os = "linux")]
pub use linux::{Capture, Counters, DirectDialer, HostResolver, Outcome, Signals, ask, child_main};

//! Simulated web servers for tests of the probe, without I/O: the engine with the slow start of a named
//! stack, hosts that do not answer, and a network of any number of them. On Linux `serve` puts the network behind a
//! TUN device.

mod answer;
mod ended;
mod engine;
mod network;
mod page;
mod population;
mod raw;
mod server;
mod stack;
#[cfg(target_os = "linux")]
mod tun;

pub use answer::{Answer, Outgoing};
pub use ended::{Counts, Ended, Marked};
pub use engine::EngineServer;
pub use network::Network;
pub use page::{Says, Speaker, page, says};
pub use population::{Spec, draw_controllers, generate, read, write};
pub use raw::Raw;
pub use server::Server;
pub use stack::Stack;
#[cfg(target_os = "linux")]
pub use tun::serve;

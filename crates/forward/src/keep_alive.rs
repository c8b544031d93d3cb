//! Options of the TCP connections with programs, on both sides.

use std::time::Duration;
use tokio::net::TcpStream;

/// After this long without data, the kernel asks whether the other program is still there.
const IDLE: Duration = Duration::from_secs(60);

/// Sets what all TCP connections of ours have: probes when idle, and no delay of small segments.
pub(crate) fn keep_alive(stream: &TcpStream) {
    let socket = socket2::SockRef::from(stream);
    // A connection without them works too.
    let _ = socket.set_tcp_keepalive(&socket2::TcpKeepalive::new().with_time(IDLE));
    let _ = socket.set_tcp_nodelay(true);
}

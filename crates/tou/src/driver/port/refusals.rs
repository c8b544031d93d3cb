//! Datagrams that the system refuses to send, or that the network reports as undelivered.

use super::PortState;
use crate::endpoint::{Addresses, Datagrams};
use std::io::{self, ErrorKind};
use windlass_base::Time;
use windlass_tcp::Error;

impl PortState {
    /// The system refused to send these datagrams. Without a route, the opening of a connection fails.
    /// Segments that do not fit the link become smaller.
    pub(super) fn note_refusal(&mut self, now: Time, datagrams: &Datagrams, error: &io::Error) {
        let addresses = Addresses { local: datagrams.local, peer: datagrams.peer };
        if is_too_big(error) {
            self.endpoint.handle_oversized(now, addresses, datagrams.size);
        } else if is_no_route(error)
            && let Some(errno) = error.raw_os_error()
        {
            self.fail_opening(addresses, (Error::Unreachable, errno), &[]);
        }
    }

    /// Datagrams do not reach the peer: the connection fails if it is being opened.
    pub(super) fn fail_opening(
        &mut self,
        addresses: Addresses,
        (error, errno): (Error, i32),
        quoted: &[u8],
    ) {
        let failed = self.endpoint.handle_unreachable(addresses, error, quoted);
        if let Some(waiters) = failed.and_then(|id| self.endpoint.data_mut(id)) {
            waiters.icmp_errno = Some(errno);
        }
    }
}

/// The datagram does not fit the link, since the socket forbids fragments.
pub(super) fn is_too_big(error: &io::Error) -> bool {
    #[cfg(unix)]
    let number = nix::errno::Errno::EMSGSIZE as i32;
    // WSAEMSGSIZE.
    #[cfg(not(unix))]
    let number = 10_040;
    error.raw_os_error() == Some(number)
}

/// The system has no route to the destination. TCP's connect(2) fails with such an error at once; a
/// firewall's EPERM it takes for a loss.
fn is_no_route(error: &io::Error) -> bool {
    #[cfg(unix)]
    let prohibited = error.raw_os_error() == Some(nix::errno::Errno::EACCES as i32);
    #[cfg(not(unix))]
    let prohibited = false;
    prohibited
        || matches!(
            error.kind(),
            ErrorKind::AddrNotAvailable
                | ErrorKind::HostUnreachable
                | ErrorKind::InvalidInput
                | ErrorKind::NetworkDown
                | ErrorKind::NetworkUnreachable
        )
}

/// An ICMP report about an earlier datagram makes one call fail (SO_ERROR), whatever its peer. The
/// datagram of that call has not left: it is sent again. Two reports may wait, of two peers.
pub(super) fn despite_pending_errors<T>(send: impl Fn() -> io::Result<T>) -> io::Result<T> {
    let again = |error| if is_blocked(&error) { Err(error) } else { send() };
    send().or_else(again).or_else(again)
}

pub(super) fn is_blocked(error: &io::Error) -> bool {
    error.kind() == ErrorKind::WouldBlock
}

//! Windows: what wakes a thread that waits with poll.

use std::io;
use std::net::{Ipv4Addr, UdpSocket};

/// Two sockets that receive from each other alone.
pub(crate) fn pair() -> io::Result<(UdpSocket, UdpSocket)> {
    let bind = || UdpSocket::bind((Ipv4Addr::LOCALHOST, 0));
    let (sender, receiver) = (bind()?, bind()?);
    sender.connect(receiver.local_addr()?)?;
    receiver.connect(sender.local_addr()?)?;
    sender.set_nonblocking(true)?;
    receiver.set_nonblocking(true)?;
    Ok((sender, receiver))
}

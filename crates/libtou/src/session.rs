//! Sessions with hosts behind NATs: a node is a socket of its own kind, whose descriptor is readable
//! when a connection waits to be accepted.

use crate::address::Family;
use crate::descriptor::Descriptor;
use crate::errno::{Errno, Result};
use crate::settings::Settings;
use crate::socket::{Phase, Socket};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use windlass_identity::PublicKey;
use windlass_tou::TouStream;
use windlass_tou::secure::MaybeSecureStream;
use windlass_tou::session::{Node, NodeOptions, SessionInfo};

impl Socket {
    /// A node, bound to a UDP port, which registers at its rendezvous servers if hosts may connect.
    pub(crate) fn node(options: NodeOptions) -> Result<Arc<Socket>> {
        let descriptor = Descriptor::new(false)?;
        let phase = Phase::Node(Node::bind(options)?);
        let socket = Socket::with(Family::V6, descriptor, phase, Settings::default());
        socket.sync();
        Ok(socket)
    }

    fn as_node(&self) -> Result<Node> {
        match self.phase() {
            Phase::Node(node) => Ok(node),
            Phase::Closed => Err(Errno(libc::EBADF)),
            _ => Err(Errno(libc::EOPNOTSUPP)),
        }
    }

    /// Begins a connection with another host without waiting.
    pub(crate) fn begin_open(&self, peer: PublicKey) -> Result<Arc<Socket>> {
        let session = self.as_node()?.begin(peer)?;
        let descriptor = Descriptor::new(false)?;
        let phase = Phase::Finding(session);
        let socket = Socket::with(Family::V6, descriptor, phase, Settings::default());
        socket.sync();
        Ok(socket)
    }

    /// Opens a connection with another host, in the session that the node has with it or in a new
    /// one.
    pub(crate) fn open(&self, peer: PublicKey, timeout: Option<Duration>) -> Result<Arc<Socket>> {
        let node = self.as_node()?;
        let descriptor = Descriptor::new(false)?;
        let stream = node.connect(peer, timeout)?.open()?;
        Ok(connected(descriptor, stream))
    }

    /// Accepts the next connection of any session, with the key of the host that opened it.
    pub(crate) fn accept_of_session(self: &Arc<Self>) -> Result<(Arc<Socket>, PublicKey)> {
        self.as_node()?;
        let descriptor = Descriptor::new(false)?;
        let accepted = self.block_on(true, None, |waker| match self.as_node() {
            Ok(node) => node.poll_accept(waker).map_err(Errno::from),
            Err(error) => Poll::Ready(Err(error)),
        });
        self.sync();
        let (stream, peer) = accepted.unwrap_or(Err(Errno(libc::EAGAIN)))?;
        Ok((connected(descriptor, stream), peer))
    }

    /// The node's sessions.
    pub(crate) fn sessions(&self) -> Result<Vec<SessionInfo>> {
        Ok(self.as_node()?.sessions())
    }
}

fn connected(descriptor: Descriptor, stream: TouStream) -> Arc<Socket> {
    let phase = Phase::Connected(MaybeSecureStream::Plain(stream), true);
    let socket = Socket::with(Family::V6, descriptor, phase, Settings::default());
    socket.sync();
    socket
}

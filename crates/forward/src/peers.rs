//! One session with each peer, opened on demand.

use crate::duplex::BoxFuture;
use crate::far::{read_answer, secured, send_request};
use crate::protocol::Request;
use std::collections::HashMap;
use std::fmt;
use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Mutex as AsyncMutex;
use windlass_identity::PublicKey;
use windlass_tou::TouStream;
use windlass_tou::secure::{Identity, MaybeSecureStream};
use windlass_tou::session::{Node, Session};

/// The longest search for a path: a little longer than the session's own, whose end has a reason.
const PATH_MAX: Duration = Duration::from_secs(35);
/// The longest that a connection in a session may take: the time of a few lost SYNs.
const OPEN_MAX: Duration = Duration::from_secs(20);
/// The longest wait for a peer's answer: its own limit for a destination, and some more.
const ANSWER_MAX: Duration = Duration::from_secs(45);

/// Opens connections to peers.
pub trait Dial: Send + Sync {
    /// Opens a connection to the host with this key.
    fn dial(&self, peer: PublicKey) -> BoxFuture<'_, io::Result<MaybeSecureStream>>;
}

/// Opens a connection and sends the request. The answer is still to be read: data may be sent before.
///
/// # Errors
/// Those of the session, the connection and TLS.
pub(crate) async fn open(
    dial: &dyn Dial,
    peer: PublicKey,
    request: &Request,
) -> io::Result<MaybeSecureStream> {
    let far = dial.dial(peer).await?;
    send_request(&far, request).await?;
    Ok(far)
}

/// Waits for the peer's answer.
///
/// # Errors
/// The peer refuses: then the error contains a [`Refusal`](crate::protocol::Refusal). Or it does not
/// answer in time, or the connection has failed.
pub(crate) async fn answered(far: &MaybeSecureStream) -> io::Result<()> {
    let answer = tokio::time::timeout(ANSWER_MAX, read_answer(far)).await;
    let silent = |_| io::Error::new(ErrorKind::TimedOut, "the peer does not answer the request");
    answer.map_err(silent)?.map_err(|error| explained(error, far))?.into_result()
}

/// The likely cause of a connection that ends without an answer.
fn explained(error: io::Error, far: &MaybeSecureStream) -> io::Error {
    let ended = matches!(error.kind(), ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset);
    // An error of TLS has a text of its own.
    if !ended || error.get_ref().is_some() {
        return error;
    }
    let hint = match far {
        MaybeSecureStream::Plain(_) => "; it may expect encryption, which --plain turns off",
        MaybeSecureStream::Secure(_) => "",
    };
    io::Error::new(error.kind(), format!("the peer ended the connection without an answer{hint}"))
}

type SharedSession = Arc<AsyncMutex<Option<Session>>>;

/// The peers of a node. A session stays open for the next connection, and is opened again after it
/// was lost.
pub struct Peers {
    node: Node,
    identity: Option<Identity>,
    sessions: Mutex<HashMap<PublicKey, SharedSession>>,
}

impl fmt::Debug for Peers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Peers").field("node", &self.node).finish_non_exhaustive()
    }
}

impl Peers {
    /// The peers of a node. With an identity, connections are encrypted.
    pub fn new(node: Node, identity: Option<Identity>) -> Peers {
        Peers { node, identity, sessions: Mutex::default() }
    }

    /// A session with the peer that has a path: the one that is open, or a new one.
    ///
    /// # Errors
    /// As [`Node::connect`].
    pub async fn session(&self, peer: PublicKey) -> io::Result<Session> {
        let entry = {
            let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(sessions.entry(peer).or_default())
        };
        // One task searches, the others wait for its session.
        let mut entry = entry.lock().await;
        if let Some(session) = entry.as_ref().filter(|session| session.info().is_some()) {
            return Ok(session.clone());
        }
        let session = self.node.begin(peer)?;
        let connected = poll_fn(|cx| session.poll_connected(cx.waker()));
        match tokio::time::timeout(PATH_MAX, connected).await {
            Ok(connected) => connected?,
            Err(_) => {
                session.close();
                let text = format!("no path to the peer within {} s", PATH_MAX.as_secs());
                return Err(io::Error::new(ErrorKind::TimedOut, text));
            }
        }
        *entry = Some(session.clone());
        Ok(session)
    }

    async fn connect(&self, peer: PublicKey) -> io::Result<MaybeSecureStream> {
        let session = self.session(peer).await?;
        let stream = match connected(session.begin_open()).await {
            // The session ended between two connections.
            Err(_) if session.info().is_none() => {
                connected(self.session(peer).await?.begin_open()).await?
            }
            result => result?,
        };
        let begun = MaybeSecureStream::begin_connect(stream, self.identity.as_ref(), peer);
        secured(begun).await.map(|(stream, _)| stream)
    }
}

async fn connected(begun: io::Result<TouStream>) -> io::Result<TouStream> {
    let stream = begun?;
    let connected = poll_fn(|cx| stream.poll_connected(cx.waker()));
    match tokio::time::timeout(OPEN_MAX, connected).await {
        Ok(connected) => connected.map(|()| stream),
        Err(_) => {
            stream.abort();
            Err(io::Error::new(ErrorKind::TimedOut, "the peer does not answer in the session"))
        }
    }
}

impl Dial for Peers {
    fn dial(&self, peer: PublicKey) -> BoxFuture<'_, io::Result<MaybeSecureStream>> {
        Box::pin(self.connect(peer))
    }
}

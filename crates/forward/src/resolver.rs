//! DNS through a peer: its side, which asks the peer's own name servers, and this side.
//!
//! Messages travel as over TCP: each after its length in two bytes (RFC 1035 section 4.2.2). A connection
//! has one query at a time and stays open for the next one.

use crate::duplex::{read_exact, write_all};
use crate::peers::{Dial, answered, open};
use crate::protocol::Request;
use std::io::{self, ErrorKind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, oneshot};
use windlass_capture::{HostResolver, Reply, Resolver};
use windlass_identity::PublicKey;
use windlass_tou::secure::MaybeSecureStream;

/// A connection without a query for longer is closed.
const IDLE_MAX: Duration = Duration::from_secs(600);
/// The longest that a peer may take for an answer: its name servers get 10 s each.
const ANSWER_MAX: Duration = Duration::from_secs(30);
/// Queries under way at once. Further ones wait.
const QUERIES_MAX: usize = 64;
/// Idle connections that are kept.
const KEPT_MAX: usize = 8;
/// The header of a DNS message (RFC 1035 section 4.1.1). Shorter messages are invalid.
const HEADER_LEN: usize = 12;

/// Answers the queries of one connection with this host's name servers, until the peer ends it.
pub(crate) async fn serve(
    far: &MaybeSecureStream,
    resolver: &Mutex<HostResolver>,
) -> io::Result<()> {
    loop {
        let query = tokio::time::timeout(IDLE_MAX, read_message(far)).await??;
        let (sender, answer) = oneshot::channel();
        let reply = Reply::new(move |answer| {
            // The connection may be gone.
            let _ = sender.send(answer);
        });
        resolver.lock().unwrap_or_else(PoisonError::into_inner).resolve(&query, reply);
        // Without an answer the connection ends: the other side reports a server failure.
        let answer = answer.await.ok().flatten().ok_or(ErrorKind::TimedOut)?;
        write_message(far, &answer).await?;
    }
}

async fn read_message(far: &MaybeSecureStream) -> io::Result<Vec<u8>> {
    let mut len = [0; 2];
    read_exact(far, &mut len).await?;
    let mut message = vec![0; usize::from(u16::from_be_bytes(len))];
    read_exact(far, &mut message).await?;
    if message.len() < HEADER_LEN { Err(ErrorKind::InvalidData.into()) } else { Ok(message) }
}

async fn write_message(far: &MaybeSecureStream, message: &[u8]) -> io::Result<()> {
    let len = u16::try_from(message.len()).map_err(|_| ErrorKind::InvalidInput)?;
    write_all(far, &[&len.to_be_bytes()[..], message].concat()).await
}

/// Sends queries to a peer's resolver.
pub struct FarResolver {
    runtime: Handle,
    shared: Arc<Shared>,
}

struct Shared {
    dial: Arc<dyn Dial>,
    peer: PublicKey,
    idle: Mutex<Vec<MaybeSecureStream>>,
    limit: Semaphore,
}

impl std::fmt::Debug for FarResolver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FarResolver").field("peer", &self.shared.peer).finish_non_exhaustive()
    }
}

impl FarResolver {
    /// A resolver whose tasks run in `runtime`.
    pub fn new(runtime: Handle, dial: Arc<dyn Dial>, peer: PublicKey) -> FarResolver {
        let (idle, limit) = (Mutex::default(), Semaphore::new(QUERIES_MAX));
        FarResolver { runtime, shared: Arc::new(Shared { dial, peer, idle, limit }) }
    }
}

impl Resolver for FarResolver {
    fn resolve(&mut self, query: &[u8], reply: Reply) {
        let (shared, query) = (Arc::clone(&self.shared), query.to_vec());
        self.runtime.spawn(async move {
            let answer = tokio::time::timeout(ANSWER_MAX, shared.ask(&query)).await;
            match answer.unwrap_or_else(|_| Err(ErrorKind::TimedOut.into())) {
                Ok(answer) => reply.send(answer),
                // Dropping the reply reports a server failure.
                Err(error) => tracing::warn!("a name was not resolved: {error}"),
            }
        });
    }
}

impl Shared {
    async fn ask(&self, query: &[u8]) -> io::Result<Vec<u8>> {
        // The semaphore is never closed.
        let _permit = self.limit.acquire().await.map_err(io::Error::other)?;
        let kept = self.idle().pop();
        if let Some(far) = kept
            && let Ok(answer) = self.ask_over(far, query).await
        {
            return Ok(answer);
        }
        // The kept connection was closed, or there was none.
        let far = open(&*self.dial, self.peer, &Request::Resolve).await?;
        answered(&far).await?;
        self.ask_over(far, query).await
    }

    async fn ask_over(&self, far: MaybeSecureStream, query: &[u8]) -> io::Result<Vec<u8>> {
        write_message(&far, query).await?;
        let answer = read_message(&far).await?;
        let mut idle = self.idle();
        if idle.len() < KEPT_MAX {
            idle.push(far);
        }
        Ok(answer)
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<MaybeSecureStream>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

//! The side that offers services: answers requests of peers.

use crate::copy::copy;
use crate::duplex::{Duplex, drain};
use crate::far::{read_request, secured, send_answer};
use crate::protocol::{Answer, Malformed, Request, Status};
use crate::registry::Registry;
use crate::services::Services;
use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tracing::{debug, info, warn};
use windlass_identity::PublicKey;
use windlass_tou::TouStream;
use windlass_tou::secure::{Allow, Identity, MaybeSecureStream};
use windlass_tou::session::Node;

/// A client that is silent for longer after the handshake is given up.
const REQUEST_MAX: Duration = Duration::from_secs(10);
/// How long a refused client may take to read the answer.
const REFUSED_MAX: Duration = Duration::from_secs(5);
/// Connections at once. Further ones are reset.
const CONNECTIONS_MAX: usize = 4096;

/// Offers services to the peers of a node.
#[derive(Debug)]
pub struct Expose {
    /// The services that peers can reach.
    pub services: Services,
    /// This host's key, for TLS; `None` for connections that are not encrypted.
    pub identity: Option<Identity>,
    /// Which peers may connect. The node has allowed their sessions; this judges the key that TLS
    /// has proved.
    pub allow: Allow,
    /// Where the connections are counted.
    pub registry: Registry,
}

impl Expose {
    /// Serves the connections of all sessions. Never returns.
    pub async fn run(self: Arc<Self>, node: Node) {
        let limit = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        loop {
            let accepted = poll_fn(|cx| node.poll_accept(cx.waker())).await;
            // The session of this connection is gone.
            let Ok((stream, peer)) = accepted else { continue };
            let Ok(permit) = Arc::clone(&limit).try_acquire_owned() else {
                warn!(%peer, "refused a connection: {CONNECTIONS_MAX} are open");
                stream.abort();
                continue;
            };
            let expose = Arc::clone(&self);
            tokio::spawn(async move {
                expose.serve(stream, peer).await;
                drop(permit);
            });
        }
    }

    /// Serves one connection to its end. `peer` is the host whose session it came in.
    pub async fn serve(&self, stream: TouStream, peer: PublicKey) {
        let begun = MaybeSecureStream::begin_accept(stream, self.identity.as_ref(), &self.allow);
        let (far, proved) = match secured(begun).await {
            Ok(secured) => secured,
            Err(error) => return warn!(%peer, "{error}"),
        };
        // TLS has proved the key; the session has it from signed messages.
        let peer = proved.unwrap_or(peer);
        let request = match self.request(&far, peer).await {
            Ok(request) => request,
            Err(error) => return debug!(%peer, "no request: {error}"),
        };
        if request == Request::Resolve && self.services.has_exit() {
            return self.resolve(&far, peer).await;
        }
        let near = match self.services.connect(&request).await {
            Ok(near) => near,
            Err(answer) => {
                info!(%peer, %request, "refused: {}", answer.text);
                return refuse(&far, &answer).await;
            }
        };
        if send_answer(&far, &Answer::new(Status::Connected, "")).await.is_err() {
            return near.abort();
        }
        debug!(%peer, %request, "connected");
        let registered = self.registry.add(peer, &far);
        let result = copy(&*near, &far, registered.counters()).await;
        let counters = registered.counters();
        debug!(%peer, %request, ?counters, "ended: {result:?}");
    }

    /// Answers DNS queries with this host's name servers.
    #[cfg(target_os = "linux")]
    async fn resolve(&self, far: &MaybeSecureStream, peer: PublicKey) {
        let resolver = match self.services.resolver() {
            Ok(resolver) => resolver,
            Err(error) => {
                warn!(%peer, "no resolver: {error}");
                let text = "this host has no name servers";
                return refuse(far, &Answer::new(Status::Failed, text)).await;
            }
        };
        if send_answer(far, &Answer::new(Status::Connected, "")).await.is_ok() {
            let ended = crate::resolver::serve(far, resolver).await;
            debug!(%peer, "name resolution ended: {ended:?}");
        }
    }

    #[cfg(not(target_os = "linux"))]
    async fn resolve(&self, far: &MaybeSecureStream, _peer: PublicKey) {
        let text = "this host resolves no names for its peers";
        refuse(far, &Answer::new(Status::NotAllowed, text)).await;
    }

    async fn request(&self, far: &MaybeSecureStream, peer: PublicKey) -> io::Result<Request> {
        let request = tokio::time::timeout(REQUEST_MAX, read_request(far)).await;
        let request = request.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
        if let Err(error) = &request
            && let Some(malformed) = error.get_ref().and_then(|e| e.downcast_ref::<Malformed>())
        {
            warn!(%peer, "{malformed}");
            refuse(far, &Answer::new(Status::BadRequest, malformed.to_string())).await;
        }
        request
    }
}

/// Sends the answer, and waits until the client has read it: a connection that is dropped with unread
/// data is reset, and the answer may be lost.
async fn refuse(far: &MaybeSecureStream, answer: &Answer) {
    if send_answer(far, answer).await.is_ok() && far.close().is_ok() {
        drain(far, REFUSED_MAX).await;
    }
}

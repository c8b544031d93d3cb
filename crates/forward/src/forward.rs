//! The side of the program: takes its TCP connections and carries each to a peer.

use crate::copy::{CopyError, Counters, copy};
use crate::duplex::{Duplex, write_all};
use crate::keep_alive::keep_alive;
use crate::peers::{Dial, answered, open};
use crate::protocol::{Refusal, Request};
use crate::registry::Registry;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tracing::{debug, warn};
use windlass_identity::PublicKey;
use windlass_tou::secure::MaybeSecureStream;

/// After a failed accept: the process has no descriptor left, until a connection ends.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// How connections reach a peer, and where they are counted.
#[derive(Clone)]
pub struct Carrier {
    /// Opens connections.
    pub dial: Arc<dyn Dial>,
    /// Where they are counted.
    pub registry: Registry,
}

impl fmt::Debug for Carrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Carrier").field("registry", &self.registry).finish_non_exhaustive()
    }
}

impl Carrier {
    /// Opens a connection and waits until the peer has joined it.
    ///
    /// # Errors
    /// - Those of the session, the connection and TLS;
    /// - the peer refuses: the error contains a [`Refusal`];
    /// - the peer does not answer in time.
    pub async fn join(&self, peer: PublicKey, request: &Request) -> io::Result<MaybeSecureStream> {
        let far = open(&*self.dial, peer, request).await?;
        answered(&far).await?;
        Ok(far)
    }

    /// Carries a connection of a program whose far end is joined.
    ///
    /// # Errors
    /// Either end failed, and the other was reset.
    pub(crate) async fn carry(
        &self,
        near: &dyn Duplex,
        peer: PublicKey,
        far: &MaybeSecureStream,
    ) -> Result<(), CopyError> {
        let registered = self.registry.add(peer, far);
        copy(near, far, registered.counters()).await
    }

    /// Carries a connection of a program: opens the far end and sends data before the answer.
    ///
    /// # Errors
    /// The far end could not be joined, or either end failed. Then the program's connection is reset.
    pub(crate) async fn carry_to(
        &self,
        near: &dyn Duplex,
        peer: PublicKey,
        request: &Request,
    ) -> io::Result<()> {
        let carried = async {
            let far = open(&*self.dial, peer, request).await?;
            let registered = self.registry.add(peer, &far);
            send_before_answer(near, &far, registered.counters()).await?;
            copy(near, &far, registered.counters()).await.map_err(|error| match error {
                CopyError::Near(error) | CopyError::Far(error) => error,
            })
        };
        let carried = carried.await;
        if carried.is_err() {
            near.abort();
        }
        carried
    }
}

/// Sends what the program sends first, until the answer is there. Most programs send one message
/// and wait, so that one read is enough.
async fn send_before_answer(
    near: &dyn Duplex,
    far: &MaybeSecureStream,
    counters: &Counters,
) -> io::Result<()> {
    let mut first = vec![0; 16 * 1024];
    let answer = answered(far);
    tokio::pin!(answer);
    let taken = tokio::select! {
        biased;
        answered = &mut answer => return answered,
        taken = std::future::poll_fn(|cx| near.poll_read(cx, &mut first)) => taken?,
    };
    if taken > 0 {
        write_all(far, &first[..taken]).await?;
        counters.sent.fetch_add(taken as u64, std::sync::atomic::Ordering::Relaxed);
    }
    // An end stays to be read again: `copy` finds it.
    answer.await
}

/// Takes the connections of a TCP port to a service of a peer.
#[derive(Clone, Debug)]
pub struct Forward {
    /// The peer.
    pub peer: PublicKey,
    /// The service or host that the peer joins each connection to.
    pub request: Request,
    /// How connections reach the peer.
    pub carrier: Carrier,
}

impl Forward {
    /// Takes connections. Never returns.
    pub async fn run(self, listener: TcpListener) {
        accept(listener, move |near, from| {
            let Forward { peer, request, carrier } = self.clone();
            async move {
                debug!(%from, %request, "connection");
                if let Err(error) = carrier.carry_to(&near, peer, &request).await {
                    report(&error, from, &request);
                }
            }
        })
        .await;
    }
}

/// Refusals are worth a warning; that a program or its service breaks a connection off is not.
pub(crate) fn report(error: &io::Error, from: SocketAddr, request: &Request) {
    let broken = matches!(
        error.kind(),
        io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::NotConnected
    );
    if broken && Refusal::status_in(error).is_none() {
        debug!(%from, %request, "{error}");
    } else {
        warn!(%from, %request, "{error}");
    }
}

/// Accepts connections and gives each to a task.
pub(crate) async fn accept<F>(
    listener: TcpListener,
    mut serve: impl FnMut(TcpStream, SocketAddr) -> F,
) where
    F: Future<Output = ()> + Send + 'static,
{
    loop {
        match listener.accept().await {
            Ok((near, from)) => {
                keep_alive(&near);
                tokio::spawn(serve(near, from));
            }
            Err(error) => {
                warn!("cannot accept a connection: {error}");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

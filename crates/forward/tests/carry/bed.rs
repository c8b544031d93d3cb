//! Two hosts in one process: ToU connections over the loopback interface, without sessions.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::net::TcpListener;
use windlass_base::Span;
use windlass_forward::{
    BoxFuture, Carrier, Dial, ExitPolicy, Expose, Forward, Registry, Services, Socks,
};
use windlass_identity::{PublicKey, SecretKey};
use windlass_tcp::config::KeepAlive;
use windlass_tou::secure::{Allow, Identity, MaybeSecureStream};
use windlass_tou::tokio::AsyncTouStream;
use windlass_tou::{Options, TouListener};

/// The exposing host of the tests, and one that connects to it.
pub(crate) struct Bed {
    pub(crate) peer: PublicKey,
    pub(crate) carrier: Carrier,
    pub(crate) exposed: Registry,
    pub(crate) dials: Arc<AtomicUsize>,
}

struct Direct {
    to: SocketAddr,
    identity: Option<Identity>,
    dials: Arc<AtomicUsize>,
}

impl Dial for Direct {
    fn dial(&self, peer: PublicKey) -> BoxFuture<'_, io::Result<MaybeSecureStream>> {
        self.dials.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move {
            let stream = AsyncTouStream::connect_with(self.to, &options()).await?;
            let identity = self.identity.as_ref();
            let stream = MaybeSecureStream::begin_connect(stream.into_std(), identity, peer)?;
            std::future::poll_fn(|cx| stream.poll_secured(cx.waker())).await?;
            Ok(stream)
        })
    }
}

/// Whether connections are encrypted, and whether the exposing host allows the other's key.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(crate) enum Trust {
    Plain,
    Encrypted,
    Refused,
}

impl Bed {
    pub(crate) fn new(services: &[String], exit: &[&str], trust: Trust) -> Bed {
        let (server, client) = (SecretKey::from_seed([1; 32]), SecretKey::from_seed([2; 32]));
        let encrypted = |key: &SecretKey| (trust != Trust::Plain).then(|| Identity::new(key));
        let listener = TouListener::bind_with("127.0.0.1:0", &options()).expect("a port");
        let services = services.iter().map(|text| text.parse().expect("a service"));
        let exit = ExitPolicy::new(exit.iter().map(|text| text.parse().expect("networks")));
        let exposed = Registry::default();
        let allowed = Some(client.public_key()).filter(|_| trust != Trust::Refused);
        let expose = Arc::new(Expose {
            services: Services::new(services, exit),
            identity: encrypted(&server),
            allow: Allow::keys(allowed),
            registry: exposed.clone(),
        });
        let dials = Arc::new(AtomicUsize::new(0));
        let dial = Arc::new(Direct {
            to: listener.local_addr().expect("an address"),
            identity: encrypted(&client),
            dials: Arc::clone(&dials),
        });
        let carrier = Carrier { dial, registry: Registry::default() };
        tokio::spawn(serve(expose, listener, client.public_key()));
        Bed { peer: server.public_key(), carrier, exposed, dials }
    }

    /// Forwards a TCP port to a service. Returns the port's address.
    pub(crate) async fn forward(&self, service: &str) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let request = windlass_forward::protocol::Request::Service(service.into());
        let forward = Forward { peer: self.peer, request, carrier: self.carrier.clone() };
        tokio::spawn(forward.run(listener));
        address
    }

    /// Serves SOCKS. Returns the port's address.
    pub(crate) async fn socks(&self) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let socks = Socks { peer: self.peer, carrier: self.carrier.clone() };
        tokio::spawn(socks.run(listener));
        address
    }
}

fn options() -> Options {
    // A reset that is lost is noticed by the keep-alive.
    let second = Span::from_secs(1);
    let keep_alive = KeepAlive { idle: second, interval: second, probes: 8 };
    Options { nodelay: true, backlog: 1024, keep_alive: Some(keep_alive), ..Options::default() }
}

async fn serve(expose: Arc<Expose>, listener: TouListener, client: PublicKey) {
    let listener = windlass_tou::tokio::AsyncTouListener::from(listener);
    while let Ok((stream, _)) = listener.accept().await {
        let expose = Arc::clone(&expose);
        tokio::spawn(async move { expose.serve(stream.into_std(), client).await });
    }
}

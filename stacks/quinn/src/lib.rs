//! quinn-proto on simulated hosts, as the kind `quinn` of scenario files.
//!
//! Connection IDs, keys and the generator of each endpoint come from [`EndpointParams::rng`]. quinn's BBR draws from
//! `rand::rng()`, for which a run takes place on a thread of `windlass_stacks_seeded::on_seeded_thread`.

mod session;
mod settings;

pub use settings::{Controller, Quinn};

use session::QuinnSession;
use windlass_sim::endpoint::{Endpoint, EndpointFactory, EndpointParams};
use windlass_stacks_quic::QuicEndpoint;

/// The version of quinn-proto that this crate is pinned to.
pub const VERSION: &str = "0.11.19";

impl EndpointFactory for Quinn {
    fn name(&self) -> &'static str {
        "quinn"
    }

    fn controller(&self) -> &str {
        self.controller.name()
    }

    fn build(&self, mut params: EndpointParams) -> Box<dyn Endpoint> {
        let session = QuinnSession::new(self, &mut params.rng);
        Box::new(QuicEndpoint::new(&params, session))
    }
}

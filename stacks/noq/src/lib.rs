//! noq-proto, n0's fork of quinn-proto, on simulated hosts, as the kind `noq` of scenario files.
//!
//! Connection IDs, keys and the generator of each endpoint come from [`EndpointParams::rng`]. noq's BBR and the key of its
//! tokens draw from `rand::rng()`, for which a run takes place on a thread of `windlass_stacks_seeded::on_seeded_thread`.

mod session;
mod settings;

pub use settings::{Controller, Noq};

use session::NoqSession;
use windlass_sim::endpoint::{Endpoint, EndpointFactory, EndpointParams};
use windlass_stacks_quic::QuicEndpoint;

/// The version of noq-proto that this crate is pinned to.
pub const VERSION: &str = "1.4.0";

impl EndpointFactory for Noq {
    fn name(&self) -> &'static str {
        "noq"
    }

    fn controller(&self) -> &str {
        self.controller.name()
    }

    fn build(&self, mut params: EndpointParams) -> Box<dyn Endpoint> {
        let session = NoqSession::new(self, &mut params.rng);
        Box::new(QuicEndpoint::new(&params, session))
    }
}

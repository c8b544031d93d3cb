//! The packet path in this kernel: whole frames through the programs, and real connections between
//! network namespaces of the tests' own. Needs root and iproute2; where one is missing, each test
//! says so in a line and skips.

mod connection;
mod dctcp;
mod ends;
mod fallback;
mod flood;
mod frames;
mod hosts;
mod life;
mod lists;
mod marks;
mod masquerade;
mod negotiation;
mod pages;
mod races;
mod replay;
mod resets;
mod robust;
mod senders;
mod steady;
mod testbed;
mod variants;
mod whole;

use windlass_testbed::{Need, skip_unless};

/// True, after a line that says why, where the test cannot run.
fn skip() -> bool {
    skip_unless(&[Need::Root, Need::Program("ip"), Need::Program("ss")])
}

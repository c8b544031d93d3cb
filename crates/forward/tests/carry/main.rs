//! TCP connections of programs, carried over ToU connections: bytes, ends, resets and refusals.

mod bed;
mod ends;
mod far;
mod socks;

use std::future::Future;
use std::time::Duration;

/// Runs a test, which fails if it takes too long.
fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    let finished =
        runtime.block_on(async { tokio::time::timeout(Duration::from_secs(60), test).await });
    runtime.shutdown_background();
    finished.expect("the test ends in time");
}

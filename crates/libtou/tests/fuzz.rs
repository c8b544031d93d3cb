//! The body of the fuzz target, with random bytes and with the inputs that once found a fault
//! (`fuzz/regressions`). The target itself is in `fuzz/`.

#[path = "fuzz_bodies/tou_c_abi.rs"]
mod tou_c_abi;

use proptest::prelude::*;
use std::sync::{Mutex, PoisonError};
use windlass_testbed::replay;

/// Cases must not overlap: each closes all sockets of the process.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn run(bytes: &[u8]) {
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    tou_c_abi::run(bytes);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: windlass_testbed::cases(200), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn tou_c_abi_takes_any_calls(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        run(&bytes);
    }
}

#[test]
fn tou_c_abi_passes_its_regressions() {
    replay("tou_c_abi", run);
}

#[test]
fn the_manual_page_lists_every_errno() {
    let page = include_str!("../man/tou.3");
    let (_, errors) = page.split_once(".SH ERRORS").expect("a section");
    for (name, _) in tou_c_abi::ERRNOS {
        assert!(errors.contains(&format!(".B {name}\n")), "tou(3) has no {name}");
    }
}

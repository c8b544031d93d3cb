//! Prints signatures of the engine's controllers for the library, one a line: `engine_signatures SEED`. They are
//! named apart from those of kernels. In virtual time, so the same seed gives the same bytes.

#[expect(dead_code, reason = "the tests use the rest")]
#[path = "../tests/common/mod.rs"]
mod common;

use common::Path;
use std::env;
use std::process::ExitCode;
use windlass_base::{Rng, Span};
use windlass_probe::cca::Library;

/// Those that no kernel has. The signatures of the others coincide with those of Linux's controllers of the same
/// name (`tests/controllers.rs`), so that one sample more would only make two names of one.
const NAMES: [&str; 2] = ["tahoe", "vegas"];
/// Paths for scripts of 160 ms, and of 320 ms.
const PATHS: [(usize, u64, u64); 2] = [(3, 1, 65), (2, 78, 150)];

fn main() -> ExitCode {
    let Some(seed) = env::args().nth(1).and_then(|seed| seed.parse().ok()) else {
        eprintln!("usage: engine_signatures SEED");
        return ExitCode::from(2);
    };
    let mut rng = Rng::new(seed);
    for (count, least_ms, most_ms) in PATHS {
        for _ in 0..count {
            let delay_ms = least_ms + rng.below(most_ms - least_ms + 1);
            let path = Path { delay: Span::from_millis(delay_ms), loss: 0.0 };
            for name in NAMES {
                let (_, traces) = common::engine::measure(name, path, Library::default());
                let source = format!("the engine, seed {seed}, {} ms", 2 * delay_ms);
                match serde_json::to_string(&common::engine::sample(name, &traces[0], source)) {
                    Ok(line) => println!("{line}"),
                    Err(error) => {
                        eprintln!("engine_signatures: {error}");
                        return ExitCode::FAILURE;
                    }
                }
            }
        }
    }
    ExitCode::SUCCESS
}

//! A program without an operating system that uses the engine.
//!
//! Nobody runs it: that it builds is the test. Its panic handler collides with that of `std`, so
//! no crate below it can use `std`; and it links against nothing, so no code that it reaches can
//! call a C library for a clock, a socket, a thread or the environment.

#![no_std]
#![no_main]

extern crate alloc;

mod runtime;

use alloc::vec::Vec;
use core::hint::black_box;
use windlass_base::{BitRate, Ecn, Rng, Span, Time};
use windlass_tcp as _;

/// Where the linker starts the program.
// SAFETY: no other symbol of this program bears the name.
#[unsafe(no_mangle)]
pub extern "C" fn _start() -> ! {
    black_box(use_base(black_box(1)));
    // The program has no way to end: it has no operating system to tell.
    loop {
        core::hint::spin_loop();
    }
}

/// Time, rates, codepoints and the random stream, with a vector to reach the allocator.
fn use_base(seed: u64) -> Time {
    let mut rng = Rng::fork(seed, 2);
    let rate = BitRate::from_bits_per_sec(rng.between(1, 10_000_000));
    let mut gaps: Vec<Span> = Vec::new();
    for _ in 0..rng.below(10) {
        let bytes = if rng.chance(0.5) { 40 } else { 512 };
        gaps.push(rate.map_or(Span::ZERO, |rate| rate.transmission_time(bytes)));
        gaps.push(Span::from_secs_f64(rng.exponential(0.01)));
    }
    let mut now = Time::ZERO;
    for gap in gaps {
        now += gap;
    }
    let ecn = Ecn::from_bits(now.as_nanos() as u8);
    if ecn.is_capable() { now } else { Time::MAX }
}

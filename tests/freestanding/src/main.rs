//! A program without an operating system that uses the engine and the queues.
//!
//! The test is that it builds; it never runs. Its panic handler collides with that of `std`, so no
//! crate that it depends on can use `std`. It links against no library, so no code in these crates
//! can call a C library for a clock, a socket, a thread or the environment.

#![no_std]
#![no_main]

extern crate alloc;

mod runtime;
mod transfer;

use core::hint::black_box;

/// Where the linker starts the program.
// SAFETY: no other symbol of this program bears the name.
#[unsafe(no_mangle)]
pub extern "C" fn _start() -> ! {
    black_box(transfer::transfer_with_everything(black_box(1)));
    // The program cannot exit: there is no operating system to return to.
    loop {
        core::hint::spin_loop();
    }
}

//! A program without an operating system that uses the engine and the queues.
//!
//! Nobody runs it: that it builds is the test. Its panic handler collides with that of `std`, so
//! no crate below it can use `std`; and it links against nothing, so no code in them can call a
//! C library for a clock, a socket, a thread or the environment.

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
    // The program has no way to end: it has no operating system to tell.
    loop {
        core::hint::spin_loop();
    }
}

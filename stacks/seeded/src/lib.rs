//! Randomness of the crate getrandom, in versions 0.3 and 0.4, from a seed.
//!
//! Transports draw from `rand::rng()` in places where no seed can be set. That generator is one of the thread, and
//! its seed comes from getrandom. [`on_seeded_thread`] runs work on a thread of its own, on which getrandom draws
//! from a seed: the same work on the same seed draws the same numbers, whatever ran before in the process.
//!
//! On every other thread the bytes are the system's. The crate ring, which has its own source, draws from the system
//! everywhere: the keys of a key exchange differ from run to run, but neither sizes nor times.

#[cfg(not(getrandom_backend = "custom"))]
compile_error!(
    "build in the folder stacks/: its .cargo/config.toml selects this backend of getrandom"
);

use getrandom::Error;
use std::cell::RefCell;
use std::fs::File;
use std::io::Read;
use std::panic::resume_unwind;
use std::thread;
use windlass_base::Rng;

thread_local! {
    /// The stream of this thread; `None`: the system's randomness.
    static STREAM: RefCell<Option<Rng>> = const { RefCell::new(None) };
}

/// Keeps the draws of this stream from those of other users of the same seed.
const PART: u64 = 0x6765_7472_616e_646f;

/// Runs `work` on a thread of its own, whose randomness comes from `seed`. A panic of the work goes on in the caller.
pub fn on_seeded_thread<T: Send>(seed: u64, work: impl FnOnce() -> T + Send) -> T {
    let seeded = move || {
        STREAM.set(Some(Rng::fork(seed, PART)));
        work()
    };
    thread::scope(|scope| scope.spawn(seeded).join().unwrap_or_else(|panic| resume_unwind(panic)))
}

/// True on a thread of [`on_seeded_thread`].
pub fn is_seeded() -> bool {
    STREAM.with_borrow(Option::is_some)
}

/// Fills a buffer as getrandom does: from the seed, or from the system.
///
/// # Errors
///
/// The system has no randomness.
pub fn fill(buffer: &mut [u8]) -> Result<(), Error> {
    let drawn = STREAM.with_borrow_mut(|stream| {
        let Some(rng) = stream else { return false };
        for chunk in buffer.chunks_mut(8) {
            chunk.copy_from_slice(&rng.bits().to_le_bytes()[..chunk.len()]);
        }
        true
    });
    if drawn {
        return Ok(());
    }
    let read = File::open("/dev/urandom").and_then(|mut file| file.read_exact(buffer));
    read.map_err(|_| Error::UNEXPECTED)
}

/// The backend of getrandom.
///
/// # Safety
///
/// `dest` is valid for writes of `len` bytes, as getrandom promises.
#[unsafe(no_mangle)]
unsafe extern "Rust" fn __getrandom_v03_custom(dest: *mut u8, len: usize) -> Result<(), Error> {
    // SAFETY: getrandom passes a buffer of its caller. It may be uninitialised, and is written before it is read.
    let buffer = unsafe {
        std::ptr::write_bytes(dest, 0, len);
        std::slice::from_raw_parts_mut(dest, len)
    };
    fill(buffer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng as _;

    fn draw() -> u64 {
        rand::rng().next_u64()
    }

    #[test]
    fn the_same_seed_draws_the_same_numbers_again() {
        let twice = || on_seeded_thread(7, || [draw(), draw()]);
        let first = twice();
        draw();
        assert_eq!(first, twice());
        assert_ne!(first, on_seeded_thread(8, || [draw(), draw()]));
    }

    #[test]
    fn other_threads_draw_from_the_system() {
        assert!(!is_seeded());
        assert_ne!(draw(), draw());
        assert!(on_seeded_thread(7, is_seeded));
    }
}

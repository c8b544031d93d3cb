//! The BPF object in the binary, and the release of the running kernel.

use flate2::read::GzDecoder;
use libbpf_rs::{ErrorKind, Object, ObjectBuilder, OpenObject};
use std::io::Read;
use std::thread;
use std::time::Duration;

/// A BPF object in the binary: the bytes of `NAME.o.gz` that windlass-bpf-build wrote.
#[derive(Clone, Copy, Debug)]
pub struct Packed(pub &'static [u8]);

impl Packed {
    /// Opens the object under `name`, by which the kernel lists its tables.
    ///
    /// # Errors
    ///
    /// The bytes are no gzip or no BPF object, or `name` has a zero byte.
    pub fn open(self, name: &str) -> libbpf_rs::Result<OpenObject> {
        // libbpf copies what it needs. It reads the ELF structures in place, for which the allocator's
        // alignment suffices.
        let mut object = Vec::new();
        GzDecoder::new(self.0).read_to_end(&mut object)?;
        ObjectBuilder::default().name(name)?.open_memory(&object)
    }
}

/// How often [`load`] tries, beyond the five times of libbpf.
const ATTEMPTS: u32 = 20;
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(50);

/// Loads what `open` opens. The verifier gives up with EAGAIN while a signal is pending for the thread, which on
/// a busy machine has happened several times in a row; then all is opened and loaded again.
///
/// # Errors
///
/// As of opening and of loading.
pub fn load(open: impl Fn() -> libbpf_rs::Result<OpenObject>) -> libbpf_rs::Result<Object> {
    let mut attempts = 1;
    loop {
        match open()?.load() {
            Err(error) if error.kind() == ErrorKind::WouldBlock && attempts < ATTEMPTS => {
                attempts += 1;
                thread::sleep(BETWEEN_ATTEMPTS);
            }
            result => return result,
        }
    }
}

/// The kernel's release, as `uname -r` prints it.
pub fn release() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}

/// Whether `release`, in the form of `uname -r`, is older than version `than` (major, minor).
pub fn older(release: &str, than: (u32, u32)) -> bool {
    let mut numbers = release.split(['.', '-', '+']).map_while(|word| word.parse::<u32>().ok());
    let version = (numbers.next().unwrap_or(u32::MAX), numbers.next().unwrap_or(0));
    version < than
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_compared_as_numbers() {
        assert!(older("5.15.0-91-generic", (6, 1)));
        assert!(older("6.1.0", (6, 6)) && !older("6.10.3+", (6, 6)) && !older("6.6", (6, 6)));
    }
}

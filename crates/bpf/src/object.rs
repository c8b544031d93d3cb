//! The BPF object in the binary, and the release of the running kernel.

/// Aligns the bytes of a BPF object: libbpf reads the ELF structures in place.
#[derive(Debug)]
#[repr(C, align(8))]
pub struct Aligned<Bytes: ?Sized>(pub Bytes);

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

//! Places in the file system of the kernel's objects.

/// The conventional mount point of the BPF file system.
pub(crate) const MOUNT_POINT: &str = "/sys/fs/bpf";
/// Has one folder for each loaded controller.
pub(crate) const PINS: &str = "/sys/fs/bpf/windlass/cc";

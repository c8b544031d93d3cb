//! Capabilities of a process.

/// The capabilities (capabilities(7)) that tools need.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Capability {
    NetAdmin = 12,
    NetRaw = 13,
    SysAdmin = 21,
    Perfmon = 38,
    Bpf = 39,
}

impl Capability {
    pub(super) fn name(self) -> &'static str {
        match self {
            Capability::NetAdmin => "CAP_NET_ADMIN",
            Capability::NetRaw => "CAP_NET_RAW",
            Capability::SysAdmin => "CAP_SYS_ADMIN",
            Capability::Perfmon => "CAP_PERFMON",
            Capability::Bpf => "CAP_BPF",
        }
    }

    /// True if the set holds it. CAP_SYS_ADMIN stands for those that were split off from it in
    /// Linux 5.8.
    pub(super) fn is_in(self, set: u64) -> bool {
        let has = |capability: Capability| set >> (capability as u32) & 1 == 1;
        let split_off = matches!(self, Capability::Bpf | Capability::Perfmon);
        has(self) || split_off && has(Capability::SysAdmin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_are_bits_of_the_set() {
        use Capability::*;
        for (set, held, lacking) in [
            (0, &[][..], &[NetAdmin, NetRaw, SysAdmin, Perfmon, Bpf][..]),
            (1 << 12, &[NetAdmin], &[NetRaw, SysAdmin, Perfmon, Bpf]),
            (1 << 13, &[NetRaw], &[NetAdmin, SysAdmin, Perfmon, Bpf]),
            (1 << 39 | 1 << 12, &[Bpf, NetAdmin], &[SysAdmin, Perfmon]),
            (1 << 21, &[SysAdmin, Bpf, Perfmon], &[NetAdmin]),
            (0x1ff_ffff_ffff, &[NetAdmin, NetRaw, SysAdmin, Perfmon, Bpf], &[]),
        ] {
            assert!(held.iter().all(|capability| capability.is_in(set)), "{set:x}");
            assert!(!lacking.iter().any(|capability| capability.is_in(set)), "{set:x}");
        }
    }
}

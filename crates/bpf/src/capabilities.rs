//! Capabilities of this process. The kernel's errors do not name a missing one: without CAP_PERFMON,
//! for example, the verifier rejects programs as too complex.

use std::fs;

/// capabilities(7): number and name.
pub type Capability = (u32, &'static str);

/// Permits changes to interfaces, and programs at a cgroup.
pub const NET_ADMIN: Capability = (12, "CAP_NET_ADMIN");
/// Permits programs that read kernel memory.
pub const PERFMON: Capability = (38, "CAP_PERFMON");
/// Permits loading programs and making maps.
pub const BPF: Capability = (39, "CAP_BPF");

/// CAP_SYS_ADMIN, which includes CAP_PERFMON and CAP_BPF: Linux 5.8 split them off from it.
const SYS_ADMIN: u32 = 21;
const SPLIT_OFF_FROM: u32 = 38;

/// The names of those of `needed` that this process lacks.
pub fn missing(needed: &[Capability]) -> Vec<&'static str> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    effective(&status).map(|set| missing_in(set, needed)).unwrap_or_default()
}

fn effective(status: &str) -> Option<u64> {
    let hex = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    u64::from_str_radix(hex.trim(), 16).ok()
}

fn missing_in(set: u64, needed: &[Capability]) -> Vec<&'static str> {
    let has = |number: u32| {
        set >> number & 1 == 1 || number >= SPLIT_OFF_FROM && set >> SYS_ADMIN & 1 == 1
    };
    needed.iter().filter(|(number, _)| !has(*number)).map(|(_, name)| *name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_outside_of_the_set_are_missing() {
        let missing_in = |set| missing_in(set, &[NET_ADMIN, PERFMON, BPF]);
        let set = effective("Name:\twindlass\nCapEff:\t000000c000001000\n").expect("a set");
        assert!(missing_in(set).is_empty());
        assert_eq!(missing_in(0), ["CAP_NET_ADMIN", "CAP_PERFMON", "CAP_BPF"]);
        assert_eq!(missing_in(1 << 39 | 1 << 12), ["CAP_PERFMON"]);
        assert_eq!(missing_in(1 << 21), ["CAP_NET_ADMIN"]);
        assert_eq!(effective("CapEff: x"), None);
    }
}

//! The options of a case as the kernel's: keys of `net.ipv4` in a namespace.

use crate::subject::{Ecn, Repair, Setup};

/// A key and its value.
pub(super) type Setting = (&'static str, &'static str);

/// Those of each case: no memory of earlier connections, and nothing that delays small writes.
const ALWAYS: [Setting; 4] = [
    ("tcp_no_metrics_save", "1"),
    ("tcp_autocorking", "0"),
    ("tcp_fastopen", "0"),
    // A send buffer of the largest size from the beginning: the application never limits the sender.
    ("tcp_wmem", "4096 67108864 67108864"),
];

/// The settings for a case.
///
/// Without a key in Linux are PRR, which it always has, and the undo of reductions by timestamps and DSACK.
///
/// # Errors
///
/// The option that Linux lacks.
pub(super) fn settings(setup: &Setup) -> Result<Vec<Setting>, String> {
    if setup.abe {
        return Err("Linux has no ABE (RFC 8511)".into());
    }
    if setup.rate_limited {
        return Err("Linux has no growth by draft-ietf-ccwg-ratelimited-increase".into());
    }
    let ecn = match setup.ecn {
        Ecn::Off => "0",
        Ecn::Classic => "1",
        Ecn::Accurate => "3",
    };
    let is_rack = setup.repair == Repair::Rack;
    let mut settings = ALWAYS.to_vec();
    settings.extend([
        ("tcp_ecn", ecn),
        ("tcp_sack", switch(setup.repair != Repair::NewReno)),
        ("tcp_timestamps", switch(setup.timestamps)),
        // Linux from 6.17 on ignores it: it has RACK alone.
        ("tcp_recovery", switch(is_rack)),
        // Tail loss probes.
        ("tcp_early_retrans", if is_rack { "3" } else { "0" }),
        ("tcp_frto", if setup.undo { "2" } else { "0" }),
    ]);
    Ok(settings)
}

fn switch(is_on: bool) -> &'static str {
    if is_on { "1" } else { "0" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(setup: &Setup, key: &str) -> &'static str {
        let settings = settings(setup).expect("options that Linux has");
        settings.into_iter().find(|(name, _)| *name == key).map(|(_, value)| value).expect(key)
    }

    #[test]
    fn a_repair_by_duplicate_acks_alone_has_neither_sack_nor_probes() {
        let setup = Setup { repair: Repair::NewReno, ..Setup::DEFAULT };
        for key in ["tcp_sack", "tcp_recovery", "tcp_early_retrans"] {
            assert_eq!(value(&setup, key), "0", "{key}");
        }
        assert_eq!(value(&setup, "tcp_timestamps"), "1");
    }

    #[test]
    fn accurate_ecn_is_asked_for_by_its_own_value() {
        let asked = [Ecn::Off, Ecn::Classic, Ecn::Accurate]
            .map(|ecn| value(&Setup { ecn, ..Setup::DEFAULT }, "tcp_ecn"));
        assert_eq!(asked, ["0", "1", "3"]);
    }

    #[test]
    fn what_linux_lacks_has_a_reason() {
        let abe = settings(&Setup { abe: true, ..Setup::DEFAULT });
        assert!(abe.expect_err("no ABE").contains("8511"));
        let limited = settings(&Setup { rate_limited: true, ..Setup::DEFAULT });
        assert!(limited.expect_err("no such growth").contains("ratelimited"));
    }
}

//! Paths, options and subjects of the suites about the transport itself.

use crate::bed::{Path, Traffic};
use crate::case::{Case, Clause, Concerns, Level};
use crate::subject::{Repair, Setup};

/// Its bandwidth-delay product is 83 segments: windows of less have no queue. A packet takes 0.6 ms.
pub(super) const LINK: Path = Path { mbit_per_s: 20.0, rtt_ms: 50, queue_bdp: 4.0 };

/// Losses are found by duplicate ACKs, without SACK.
pub(super) const PLAIN: Setup =
    Setup { repair: Repair::NewReno, receive_buffer: 1 << 18, ..Setup::DEFAULT };

/// Those whose window shrinks after a loss and limits them. Not BBR, whose model does, and not a sender without
/// control.
pub(super) const WINDOWS: Concerns = Concerns::Except(&["bbr", "bbr3", "none"]);

/// Those with the window of RFC 5681 itself.
pub(super) const RENO: Concerns = Concerns::Controllers(&["reno", "newreno"]);

/// Those whose window doubles in slow start.
pub(super) const DOUBLES: Concerns =
    Concerns::Controllers(&["reno", "newreno", "tahoe", "cubic", "dctcp", "new-ecn"]);

/// The fields in which most cases agree.
pub(super) const CASE: Case = Case {
    name: "",
    clause: Clause { document: "", section: "", level: Level::Rule },
    concerns: Concerns::All,
    setup: PLAIN,
    path: LINK,
    traffic: Traffic::Pause,
    observed: &[],
    demanded: "",
    tolerance: 0.0,
    program: |_, _| Ok(()),
};

#[cfg(test)]
pub(super) mod tests {
    use crate::Engine;
    use windlass_tcp::{Profile, cc};

    /// The engine with each of its controllers, as the standards have it.
    pub(crate) fn engines() -> impl Iterator<Item = Engine> {
        engines_of(Profile::Rfc5681)
    }

    pub(crate) fn engines_of(profile: Profile) -> impl Iterator<Item = Engine> {
        let controllers = cc::NAMES.into_iter().filter_map(move |name| profile.controller(name));
        controllers.map(move |controller| Engine::new(controller).with_profile(profile))
    }
}

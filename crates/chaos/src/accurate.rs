//! AccECN (RFC 9768) at the end of a run: the sender's counters beside those of its receiver.

use crate::ensure::ensure;
use crate::report::Ending;
use crate::setup::{PathSetup, Setup};
use windlass_tcp::{AccurateEcn, Connection};

/// Checks the counters of both directions. No byte is reported that the receiver did not count. On a path that
/// loses nothing, every packet with CE is known at the end.
pub(crate) fn check(
    setup: &Setup,
    connections: [&Connection; 2],
    endings: &[Ending; 2],
) -> Result<(), String> {
    let [Some(a), Some(b)] = connections.map(Connection::accurate_ecn) else { return Ok(()) };
    let orderly = *endings == [Ending::Closed; 2];
    let whole = orderly && setup.paths().all(PathSetup::is_faithful);
    // Several packets that go up as one are counted by their size.
    let single = setup.ends.iter().all(|end| end.coalesce.is_none());
    // The ACK of data that came twice may say nothing new, and is no news then.
    let resent = connections.iter().any(|end| end.stats().retransmitted_segments > 0);
    for (sender, receiver) in [(a, b), (b, a)] {
        check_bytes(&sender, &receiver)?;
        ensure!(
            !whole
                || !single
                || resent
                || sender.reported.ce_packets == receiver.received.ce_packets,
            "{} packets with CE are known, {} were counted",
            sender.reported.ce_packets,
            receiver.received.ce_packets
        );
    }
    Ok(())
}

fn check_bytes(sender: &AccurateEcn, receiver: &AccurateEcn) -> Result<(), String> {
    let (reported, received) = (&sender.reported, &receiver.received);
    let plausible = reported.ce_bytes <= received.ce_bytes
        && reported.ect0_bytes <= received.ect0_bytes
        && reported.ect1_bytes <= received.ect1_bytes;
    ensure!(plausible, "bytes were made up: {reported:?} of {received:?}");
    Ok(())
}

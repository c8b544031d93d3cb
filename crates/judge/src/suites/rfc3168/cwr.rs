//! Congestion Window Reduced.

use super::*;

/// The index of the first packet from `from` on that the condition holds for.
fn position(bed: &Bed, from: usize, holds: impl Fn(&Event) -> bool) -> Option<usize> {
    bed.wire().events()[from..].iter().position(holds).map(|index| from + index)
}

fn is_echo(event: &Event) -> bool {
    event.kind == EventKind::Arrived && has(event, Flags::ECE)
}

fn is_new(event: &Event) -> bool {
    is_data(event) && event.kind == EventKind::Sent
}

fn with_cwr(bed: &Bed, from: usize) -> usize {
    bed.wire().events()[from..]
        .iter()
        .filter(|event| is_data(event) && has(event, Flags::CWR))
        .count()
}

pub(crate) const FIRST_NEW: Case = Case {
    name: "the-first-new-data-after-an-echo-has-cwr",
    clause: clause("6.1.2", Level::Should),
    demanded: "the first new data after the reduction has CWR, and no other",
    program: |_, bed| {
        settle(bed)?;
        let from = bed.wire().events().len();
        bed.mark(1)?;
        bed.round_trip()?;
        let Some(echo) = position(bed, from, is_echo) else {
            return Err(Fault::Failed("no echo arrives".to_owned()));
        };
        demand!(
            bed.wire().events()[from..echo]
                .iter()
                .all(|event| !is_data(event) || !has(event, Flags::CWR)),
            "CWR before the echo"
        );
        let next = position(bed, echo, is_new);
        let first = next.is_some_and(|index| has(&bed.wire().events()[index], Flags::CWR));
        demand!(first, "the first new data has no CWR");
        let all = with_cwr(bed, echo);
        demand!(all == 1, "{all} packets have CWR");
        Ok(())
    },
    ..BASE
};

/// The second packet of a flight is lost, the first has a mark: the retransmission is the next to leave.
pub(crate) const NOT_AGAIN: Case = Case {
    name: "retransmissions-have-no-cwr",
    clause: clause("6.1.2", Level::Should),
    demanded: "data that is sent again has no CWR",
    program: |_, bed| {
        settle(bed)?;
        let from = bed.wire().events().len();
        let mut packets = 0;
        bed.on_data(move |_, _| {
            packets += 1;
            match packets {
                1 => Fate::Mark,
                2 | 3 => Fate::Drop,
                _ => Fate::Pass,
            }
        });
        bed.repair()?;
        demand!(position(bed, from, is_echo).is_some(), "no echo arrives");
        let again = |event: &Event| event.kind == EventKind::Resent && has(event, Flags::CWR);
        demand!(position(bed, from, again).is_none(), "a retransmission has CWR");
        demand!(with_cwr(bed, from) > 0, "no data has CWR");
        Ok(())
    },
    ..BASE
};

/// The first new data after the first packet that is sent again, from `from` on.
fn first_new_after_repair(bed: &Bed, from: usize) -> Option<&Event> {
    let resent = position(bed, from, |event| event.kind == EventKind::Resent)?;
    position(bed, resent, is_new).map(|index| &bed.wire().events()[index])
}

pub(crate) const AFTER_LOSS: Case = Case {
    name: "cwr-follows-a-fast-retransmit",
    clause: clause("6.1.2", Level::Rule),
    demanded: "the first new data after a fast retransmit has CWR",
    program: |_, bed| {
        settle(bed)?;
        let from = bed.wire().events().len();
        bed.lose_next()?;
        let new = first_new_after_repair(bed, from);
        demand!(new.is_some_and(|event| has(event, Flags::CWR)), "it has no CWR");
        let all = with_cwr(bed, from);
        demand!(all == 1, "{all} packets have CWR");
        Ok(())
    },
    ..BASE
};

pub(crate) const AFTER_TIMEOUT: Case = Case {
    name: "cwr-follows-a-timeout",
    clause: clause("6.1.2", Level::Rule),
    demanded: "the first new data after a timeout has CWR",
    program: |_, bed| {
        settle(bed)?;
        bed.time_out()?;
        let (from, sent) = (bed.wire().events().len(), bed.wire().sent());
        bed.run_until_acked(sent + 1)?;
        let new = position(bed, from, is_new).map(|index| &bed.wire().events()[index]);
        demand!(new.is_some_and(|event| has(event, Flags::CWR)), "it has no CWR");
        Ok(())
    },
    ..BASE
};

pub(crate) const LOST: Case = Case {
    name: "a-lost-cwr-is-sent-with-other-data",
    clause: clause("6.1.2", Level::Rule),
    demanded: "after the loss of data with CWR the window is reduced again, and other new data has CWR",
    program: |_, bed| {
        settle(bed)?;
        let from = bed.wire().events().len();
        let (mut marked, mut lost) = (false, false);
        bed.on_data(move |packet, again| {
            if !core::mem::replace(&mut marked, true) {
                return Fate::Mark;
            }
            let drops = !lost && !again && packet.segment.flags.contains(Flags::CWR);
            lost |= drops;
            if drops { Fate::Drop } else { Fate::Pass }
        });
        let before = bed.window();
        let cut = bed.repair()?;
        bed.round_trip()?;
        let all = with_cwr(bed, from);
        demand!(all == 2, "{all} packets have CWR");
        let after = bed.window();
        demand!(after < 0.9 * before, "a window of {after} segments after {before}");
        demand!(cut.after < before, "the window is not reduced");
        let last = bed.wire().events().iter().rev().find(|event| event.kind == EventKind::Arrived);
        demand!(last.is_some_and(|event| !has(event, Flags::ECE)), "the echo does not end");
        Ok(())
    },
    ..BASE
};

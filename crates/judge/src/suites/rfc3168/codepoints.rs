//! The packets that are ECT, and those that are not.

use super::*;
use crate::Packet;
use windlass_tcp::Segment;

pub(crate) const DATA: Case = Case {
    name: "new-data-is-ect0",
    clause: clause("6.1.2", Level::Should),
    // RFC 9331 section 4.1: those of low latency have ECT(1).
    concerns: Concerns::Controllers(&[
        "tahoe", "reno", "newreno", "vegas", "cubic", "new-ecn", "dctcp",
    ]),
    demanded: "new data is ECT(0)",
    program: |_, bed| {
        bed.grow_to(40.0)?;
        let new = |event: &&Event| is_data(event) && event.kind == EventKind::Sent;
        let mut data = bed.wire().events().iter().filter(new);
        let others = data.find(|event| event.packet.ecn != Codepoint::Ect0);
        demand!(others.is_none(), "data is {:?}", others.map(|event| event.packet.ecn));
        Ok(())
    },
    ..BASE
};

/// Data out of order, to which an ACK is the answer.
fn stray(bed: &Bed) -> Option<Packet> {
    let arrived = bed.wire().events().iter().rev();
    let last = arrived.into_iter().find(|event| event.kind == EventKind::Arrived)?.packet;
    let segment = Segment { seq: last.segment.seq.at(3000), payload_len: 100, ..last.segment };
    Some(Packet { segment, ..last })
}

pub(crate) const PURE_ACKS: Case = Case {
    name: "pure-acks-are-not-ect",
    clause: clause("6.1.4", Level::Must),
    traffic: Traffic::Pause,
    demanded: "packets without data are Not-ECT, a FIN too",
    program: |_, bed| {
        bed.write(10_000);
        bed.run_for(Span::from_millis(200));
        bed.demand_ect()?;
        let before = bed.wire().events().len();
        if let Some(packet) = stray(bed) {
            bed.inject(packet);
        }
        bed.run_for(Span::from_millis(200));
        bed.close();
        bed.run_for(Span::from_millis(200));
        let bare = |event: &&Event| event.kind != EventKind::Arrived && !is_data(event);
        let after = bed.wire().events()[before..].iter().filter(bare).count();
        demand!(after > 0, "data out of order gets no ACK");
        let ect = bed
            .wire()
            .events()
            .iter()
            .filter(bare)
            .any(|event| event.packet.ecn != Codepoint::NotEct);
        demand!(!ect, "a pure ACK is ECT");
        Ok(())
    },
    ..BASE
};

fn resent_as_ect(bed: &Bed) -> usize {
    let ect = |event: &&Event| event.packet.ecn != Codepoint::NotEct;
    let resent = bed.wire().events().iter().filter(|event| event.kind == EventKind::Resent);
    resent.filter(ect).count()
}

pub(crate) const RETRANSMISSIONS: Case = Case {
    name: "retransmissions-are-not-ect",
    clause: clause("6.1.5", Level::Must),
    demanded: "data that is sent again is Not-ECT",
    program: |_, bed| {
        settle(bed)?;
        let mut packets = 0;
        bed.on_data(move |_, _| {
            packets += 1;
            if [1, 4, 5].contains(&packets) { Fate::Drop } else { Fate::Pass }
        });
        bed.repair()?;
        let resent = bed.wire().resent();
        demand!(resent >= 4, "{resent} packets sent again for four losses");
        let ect = resent_as_ect(bed);
        demand!(ect == 0, "{ect} of {resent} retransmissions are ECT");
        bed.demand_ect()
    },
    ..BASE
};

pub(crate) const AFTER_TIMEOUT: Case = Case {
    name: "retransmissions-after-a-timeout-are-not-ect",
    clause: clause("6.1.5", Level::Must),
    demanded: "data that is sent again after a timeout is Not-ECT",
    program: |_, bed| {
        settle(bed)?;
        bed.time_out()?;
        bed.run_until_acked(bed.wire().sent())?;
        let (resent, ect) = (bed.wire().resent(), resent_as_ect(bed));
        demand!(resent > 5, "{resent} packets sent again");
        demand!(ect == 0, "{ect} of {resent} retransmissions are ECT");
        Ok(())
    },
    ..BASE
};

/// The window closes over the data in flight.
pub(crate) const PROBES: Case = Case {
    name: "window-probes-are-not-ect",
    clause: clause("6.1.6", Level::Must),
    demanded: "a window probe is Not-ECT and has no CWR",
    program: |_, bed| {
        settle(bed)?;
        bed.on_acks(|packet| {
            packet.segment.window = 0;
            Fate::Pass
        });
        bed.run_until_acked(bed.wire().sent())?;
        let before = bed.wire().events().len();
        bed.run_for(Span::from_secs(5));
        let sent = |event: &&Event| event.kind != EventKind::Arrived;
        let probes: Vec<&Event> = bed.wire().events()[before..].iter().filter(sent).collect();
        demand!(!probes.is_empty(), "no window probe in five seconds");
        let wrong =
            |event: &&&Event| event.packet.ecn != Codepoint::NotEct || has(event, Flags::CWR);
        let wrong = probes.iter().filter(wrong).count();
        demand!(wrong == 0, "{wrong} of {} probes are ECT or have CWR", probes.len());
        Ok(())
    },
    ..BASE
};

//! The codepoint, and the feedback that it needs.

use super::*;

/// Answers the SYN with these of the flags AE, CWR and ECE, and clears them on later packets.
fn answer_with(bed: &mut Bed, flags: Flags) {
    let all = Flags::AE | Flags::CWR | Flags::ECE;
    bed.on_acks(move |packet| {
        let is_syn = packet.segment.flags.contains(Flags::SYN);
        let set = if is_syn { flags } else { Flags::empty() };
        packet.segment.flags = (packet.segment.flags - all) | set;
        packet.segment.options.accecn = None;
        Fate::Pass
    });
}

fn codepoints(bed: &Bed) -> Vec<Codepoint> {
    let data = bed
        .wire()
        .events()
        .iter()
        .filter(|event| event.kind == EventKind::Sent && event.packet.segment.payload_len > 0);
    let mut found: Vec<_> = data.map(|event| event.packet.ecn).collect();
    found.dedup();
    found
}

pub(crate) const ECT1: Case = Case {
    name: "data-is-ect1",
    clause: clause("2.2", Level::Must),
    demanded: "data is ECT(1), the identifier of RFC 9331",
    program: |_, bed| {
        bed.grow_to(30.0)?;
        let found = codepoints(bed);
        demand!(found == [Codepoint::Ect1], "data is {found:?}");
        Ok(())
    },
    ..BASE
};

pub(crate) const ASKS: Case = Case {
    name: "a-syn-asks-for-accurate-ecn",
    clause: clause("2.3.1", Level::Must),
    demanded: "the SYN asks for AccECN",
    program: |_, bed| {
        bed.grow_to(1.0)?;
        let asks = Flags::AE | Flags::CWR | Flags::ECE;
        let syn = bed.wire().events().first().map(|event| event.packet.segment.flags);
        demand!(syn.is_some_and(|flags| flags.contains(asks)), "the SYN has {syn:?}");
        Ok(())
    },
    ..BASE
};

pub(crate) const NO_ECN: Case = Case {
    name: "without-ecn-data-is-not-ect",
    clause: clause("2.3.1", Level::Must),
    demanded: "where the peer has no ECN, data is Not-ECT",
    program: |_, bed| {
        answer_with(bed, Flags::empty());
        bed.grow_to(20.0)?;
        let found = codepoints(bed);
        demand!(found == [Codepoint::NotEct], "data is {found:?}");
        Ok(())
    },
    ..BASE
};

/// RFC 9331 section 4.2: ECT(1) implies accurate feedback.
pub(crate) const CLASSIC: Case = Case {
    name: "with-classic-ecn-data-is-not-ect1",
    clause: clause("2.3.1", Level::Must),
    demanded: "where the peer has classic ECN alone, no data is ECT(1)",
    program: |_, bed| {
        answer_with(bed, Flags::ECE);
        bed.grow_to(20.0)?;
        let found = codepoints(bed);
        demand!(!found.contains(&Codepoint::Ect1), "data is {found:?}");
        Ok(())
    },
    ..BASE
};

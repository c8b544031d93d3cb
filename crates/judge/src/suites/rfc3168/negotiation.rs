//! The flags of the handshake (section 6.1.1).

use super::*;

const SETUP_FLAGS: Flags = Flags::ECE.union(Flags::CWR);

/// The SYNs so far.
fn syns(bed: &Bed) -> impl Iterator<Item = &Event> {
    bed.wire()
        .events()
        .iter()
        .filter(|event| event.kind != EventKind::Arrived && has(event, Flags::SYN))
}

/// Sets the ECN flags of the SYN-ACK.
fn answer_with(bed: &mut Bed, flags: Flags) {
    bed.on_acks(move |packet| {
        if packet.segment.flags.contains(Flags::SYN) {
            packet.segment.flags = (packet.segment.flags - SETUP_FLAGS) | flags;
        }
        Fate::Pass
    });
}

/// Whether some data was ECT.
fn is_ect(bed: &Bed) -> bool {
    let ect = |event: &Event| event.packet.ecn != Codepoint::NotEct;
    bed.wire().events().iter().any(|event| event.kind != EventKind::Arrived && ect(event))
}

pub(crate) const ASKS: Case = Case {
    name: "a-syn-asks-by-two-flags",
    clause: clause("6.1.1", Level::Rule),
    demanded: "a SYN asks for ECN by ECE and CWR",
    program: |_, bed| {
        bed.grow_to(1.0)?;
        let asks = syns(bed).next().is_some_and(|syn| has(syn, SETUP_FLAGS));
        demand!(asks, "the SYN does not have both flags");
        Ok(())
    },
    ..BASE
};

pub(crate) const SYN_NOT_ECT: Case = Case {
    name: "a-syn-is-not-ect",
    clause: clause("6.1.1", Level::Must),
    demanded: "a SYN is Not-ECT",
    program: |_, bed| {
        bed.grow_to(1.0)?;
        let marked = syns(bed).any(|syn| syn.packet.ecn != Codepoint::NotEct);
        demand!(!marked, "a SYN is ECT");
        Ok(())
    },
    ..BASE
};

pub(crate) const NO_ANSWER: Case = Case {
    name: "without-an-answer-data-is-not-ect",
    clause: clause("6.1.1", Level::Must),
    demanded: "a SYN-ACK without ECE means no ECN: no packet is ECT",
    program: |_, bed| {
        answer_with(bed, Flags::empty());
        bed.grow_to(20.0)?;
        demand!(!is_ect(bed), "a packet is ECT");
        Ok(())
    },
    ..BASE
};

/// Some hosts reflect the flags of a SYN that they do not know.
pub(crate) const REFLECTED: Case = Case {
    name: "reflected-flags-are-no-answer",
    clause: clause("6.1.1", Level::Must),
    demanded: "a SYN-ACK with ECE and CWR means no ECN: no packet is ECT",
    program: |_, bed| {
        answer_with(bed, SETUP_FLAGS);
        bed.grow_to(20.0)?;
        demand!(!is_ect(bed), "a packet is ECT");
        Ok(())
    },
    ..BASE
};

/// The SYN-ACK is lost; the one that answers the second SYN still agrees. A second SYN may ask again.
pub(crate) const FALLBACK: Case = Case {
    name: "after-a-syn-without-ecn-data-is-not-ect",
    clause: clause("6.1.1", Level::Must),
    demanded: "a sender that has sent a SYN without ECN sends no ECT, whatever the answer",
    program: |_, bed| {
        let mut answers = 0;
        bed.on_acks(move |_| {
            answers += 1;
            if answers == 1 { Fate::Drop } else { Fate::Pass }
        });
        bed.grow_to(4.0)?;
        demand!(syns(bed).count() > 1, "no second SYN");
        if syns(bed).all(|syn| has(syn, SETUP_FLAGS)) {
            return Err(Fault::NotObservable("its second SYN asks for ECN, as it may".to_owned()));
        }
        demand!(!is_ect(bed), "a packet is ECT");
        Ok(())
    },
    ..BASE
};

pub(crate) const NOT_AGREED: Case = Case {
    name: "echoes-without-ecn-have-no-effect",
    clause: clause("6.1.2", Level::Rule),
    setup: Setup::DEFAULT,
    demanded: "where ECN is not agreed, ECE does not reduce the window",
    program: |_, bed| {
        bed.grow_to(20.0)?;
        bed.on_acks(|packet| {
            packet.segment.flags |= Flags::ECE;
            Fate::Pass
        });
        let before = bed.round_trip()?;
        let after = (0..4).try_fold(0.0_f64, |most, _| Ok(most.max(bed.round_trip()?)))?;
        bed.expect("the window after four round trips", after, before..=f64::INFINITY)?;
        let answers =
            bed.wire().events().iter().any(|event| is_data(event) && has(event, Flags::CWR));
        demand!(!answers, "data has CWR");
        Ok(())
    },
    ..BASE
};

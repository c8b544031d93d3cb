//! Paths that change the flags, the codepoint or the option.

use super::*;

/// The SYN-ACK says that the SYN, which was Not-ECT, had CE.
pub(crate) const CE_ON_SYN: Case = Case {
    name: "ce-on-the-syn-counts-no-mark",
    clause: clause("3.2.2.2", Level::Must),
    concerns: Concerns::Controllers(&["tahoe", "reno", "newreno", "cubic"]),
    demanded: "CE that a SYN-ACK reports for the SYN is not in the sender's count",
    program: |_, bed| {
        answer_with(bed, 6);
        bed.grow_to(1.0)?;
        let mut before = bed.round_trip()?;
        for _ in 0..3 {
            let window = bed.round_trip()?;
            bed.expect("growth in a round trip", window / before, 1.7..=2.3)?;
            before = window;
        }
        Ok(())
    },
    ..BASE
};

fn clear_ace(bed: &mut Bed) {
    bed.on_acks(|packet| {
        if !is_syn(packet) {
            set_ace(packet, 0);
            packet.segment.options.accecn = None;
        }
        Fate::Pass
    });
}

/// From 5 to 0 are three marks at most.
pub(crate) const ZEROED: Case = Case {
    name: "a-zeroed-count-is-no-row-of-marks",
    clause: clause("3.2.2.4", Level::Rule),
    concerns: Concerns::Controllers(&["reno", "newreno", "vegas", "cubic"]),
    demanded: "a path that clears ACE causes one reduction at most",
    program: |_, bed| {
        clear_ace(bed);
        bed.grow_to(8.0)?;
        for _ in 0..2 {
            bed.round_trip()?;
        }
        bed.grow_to(20.0)?;
        bed.lose_next()?;
        demand_no_reduction(bed, 8)
    },
    ..BASE
};

/// The test is one that a sender may make.
pub(crate) const ZEROED_ENDS_ECT: Case = Case {
    name: "a-zeroed-count-ends-ect",
    clause: clause("3.2.2.4", Level::May),
    demanded: "after a first count of zero, data is Not-ECT",
    program: |_, bed| {
        clear_ace(bed);
        bed.grow_to(15.0)?;
        bed.lose_next()?;
        if bed.wire().codepoint() != Some(Codepoint::NotEct) {
            return Err(Fault::NotObservable("it does not test the count, as it may".to_owned()));
        }
        demand_no_reduction(bed, 3)
    },
    ..BASE
};

pub(crate) const MANGLED_SYN: Case = Case {
    name: "a-changed-syn-keeps-the-mode",
    clause: clause("3.2.2.3", Level::Must),
    demanded: "a sender whose SYN arrived with another codepoint stays in AccECN mode",
    program: |_, bed| {
        answer_with(bed, 4);
        bed.grow_to(20.0)?;
        let data = sent(bed).filter(|event| event.packet.segment.payload_len > 0);
        let other = data.map(|event| ace(&event.packet)).find(|count| *count != FIRST_COUNT);
        demand!(other.is_none(), "data has the count {other:?}");
        Ok(())
    },
    ..BASE
};

/// Its SYN was changed, so its data may be Not-ECT. The count rises all the same.
pub(crate) const NOT_ECT_RESPONDS: Case = Case {
    name: "counts-reduce-although-data-is-not-ect",
    clause: clause("3.1.5", Level::Must),
    concerns: Concerns::Controllers(&["reno", "newreno", "vegas", "cubic"]),
    demanded: "a sender of Not-ECT data reacts to marks that the peer counts",
    program: |_, bed| {
        answer_with(bed, 4);
        bed.grow_to(30.0)?;
        bed.lose_next()?;
        for _ in 0..3 {
            bed.round_trip()?;
        }
        let before = bed.window();
        bed.on_acks(|packet| {
            let count = ace(packet);
            set_ace(packet, (count + 1) % 8);
            packet.segment.options.accecn = None;
            Fate::Pass
        });
        bed.round_trip()?;
        bed.round_trip()?;
        let after = bed.round_trip()?;
        bed.expect("the part left by a mark", after / before, 0.4..=0.95)?;
        demand_no_reduction(bed, 3)
    },
    ..BASE
};

/// The option of each ACK with a marked byte count, and ACE without.
pub(crate) const CONTRADICTION: Case = Case {
    name: "a-contradiction-of-the-counts-ends-ect",
    clause: clause("3.2.3.2.5", Level::Must),
    demanded: "where the option counts marked bytes and ACE no packet, all later data is Not-ECT",
    program: |_, bed| {
        settle(bed)?;
        bed.on_acks(|packet| {
            if let Some(option) = packet.segment.options.accecn {
                let ect0 = option.ect0().unwrap_or(1);
                let ect1 = option.ect1().unwrap_or(1);
                let ce = option.ce().unwrap_or(0) + 1448;
                let values = match option.order() {
                    windlass_tcp::AccEcnOrder::Ect0First => [ect0, ce, ect1],
                    windlass_tcp::AccEcnOrder::Ect1First => [ect1, ce, ect0],
                };
                let fields = if option.ect1().is_some() && option.ect0().is_some() { 3 } else { 2 };
                let values = values.map(u64::from);
                let forged = AccEcnOption::new(option.order(), &values[..fields]);
                packet.segment.options.accecn = Some(forged);
            }
            Fate::Pass
        });
        for _ in 0..3 {
            bed.round_trip()?;
        }
        let codepoint = bed.wire().codepoint();
        demand!(codepoint == Some(Codepoint::NotEct), "data is {codepoint:?}");
        Ok(())
    },
    ..BASE
};

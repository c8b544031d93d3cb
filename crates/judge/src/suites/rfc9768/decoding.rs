//! The counts that the peer feeds back.

use super::*;

pub(crate) const ECT: Case = Case {
    name: "data-is-ect",
    clause: clause("3.1.5", Level::Should),
    demanded: "data is ECT, and data that is sent again is not",
    program: |_, bed| {
        settle(bed)?;
        let resent = sent(bed).filter(|event| event.kind == EventKind::Resent);
        let ect = resent.filter(|event| event.packet.ecn != Codepoint::NotEct).count();
        // RFC 3168 section 6.1.5.
        demand!(ect == 0, "{ect} retransmissions are ECT");
        Ok(())
    },
    ..BASE
};

pub(crate) const REDUCES: Case = Case {
    name: "a-mark-reduces-the-window",
    clause: clause("3.1.5", Level::Must),
    concerns: REDUCING,
    demanded: "a packet with CE reduces the window",
    program: |_, bed| {
        settle(bed)?;
        let cut = bed.mark(1)?;
        bed.expect("the part left by a mark", cut.factor(), 0.4..=0.92)?;
        demand_no_reduction(bed, 3)
    },
    ..BASE
};

/// Those that reduce by a constant factor, large enough to be seen.
const REDUCING: Concerns = Concerns::Controllers(&["reno", "newreno", "vegas", "cubic"]);

/// The count 7 has the flags ECE and CWR, which would be a lasting echo of classic ECN.
pub(crate) const STAYS: Case = Case {
    name: "a-count-that-stays-reduces-no-more",
    clause: clause("3.2.2.2", Level::Rule),
    concerns: REDUCING,
    demanded: "two marks count once: while ACE stays at 7, the window is not reduced",
    program: |_, bed| {
        settle(bed)?;
        let cut = bed.mark(2)?;
        bed.expect("the part left by two marks", cut.factor(), 0.4..=0.92)?;
        demand_no_reduction(bed, 8)
    },
    ..BASE
};

/// One mark for each value of ACE.
pub(crate) const WRAPS: Case = Case {
    name: "the-count-wraps",
    clause: clause("3.2.2.2", Level::Rule),
    concerns: REDUCING,
    demanded: "each of ten marks in windows of their own reduces, also where ACE wraps from 7 to 0",
    program: |_, bed| {
        bed.grow_to(60.0)?;
        bed.lose_and_repair()?;
        bed.demand_ect()?;
        for _ in 0..10 {
            let cut = bed.mark(1)?;
            bed.expect("the part left by a mark", cut.factor(), 0.4..=0.95)?;
            while bed.round_trip()? < 20.0 {}
        }
        Ok(())
    },
    ..BASE
};

pub(crate) const ONCE: Case = Case {
    name: "marks-of-a-window-reduce-once",
    clause: clause("3.1.5", Level::Rule),
    concerns: REDUCING,
    demanded: "ten marks in a window reduce it as one mark does (RFC 3168 section 6.1.2)",
    program: |_, bed| {
        settle(bed)?;
        let one = bed.mark(1)?.factor();
        for _ in 0..12 {
            bed.round_trip()?;
        }
        let ten = bed.mark(10)?.factor();
        bed.expect("the part left by ten marks", ten, one - 0.15..=one + 0.15)
    },
    ..BASE
};

fn strip_option(packet: &mut Packet) -> Fate {
    packet.segment.options.accecn = None;
    Fate::Pass
}

pub(crate) const NO_OPTION: Case = Case {
    name: "without-the-option-ace-counts",
    clause: clause("3.2.3.2.3", Level::Must),
    concerns: REDUCING,
    demanded: "on a path that removes the option, ACE alone reports a mark, once",
    program: |_, bed| {
        bed.on_acks(strip_option);
        settle(bed)?;
        let cut = bed.mark(1)?;
        bed.expect("the part left by a mark", cut.factor(), 0.4..=0.92)?;
        demand_no_reduction(bed, 4)?;
        let cut = bed.mark(3)?;
        bed.expect("the part left by three marks", cut.factor(), 0.4..=0.92)
    },
    ..BASE
};

/// Eight packets of a row have CE, and the ACKs between are lost: ACE is what it was.
pub(crate) const CYCLED: Case = Case {
    name: "a-count-that-may-have-wrapped-is-taken-for-marks",
    clause: clause("3.2.2.5.2", Level::Should),
    concerns: REDUCING,
    demanded: "without the option, an ACK of many packets with the same ACE stands for eight marks",
    program: |_, bed| {
        bed.on_acks(strip_option);
        bed.grow_to(50.0)?;
        bed.lose_and_repair()?;
        for _ in 0..3 {
            bed.round_trip()?;
        }
        bed.demand_ect()?;
        let before = bed.window();
        // Nine marks, of whose ACKs the last one arrives, with the count of eight.
        let mut packets = 0;
        bed.on_data(move |_, _| {
            packets += 1;
            if packets <= 8 { Fate::Mark } else { Fate::Pass }
        });
        let begin = bed.wire().sent();
        let (mut base, mut lost) = (None, 0);
        bed.on_acks(move |packet| {
            let count = ace(packet);
            strip_option(packet);
            let base = *base.get_or_insert(count);
            let hides = lost < 9 && (count != base || lost > 0);
            lost += u32::from(hides);
            if hides { Fate::Drop } else { Fate::Pass }
        });
        bed.run_until_acked(begin + 12 * crate::bed::PAYLOAD)?;
        bed.run_until_acked(bed.wire().sent())?;
        let after = bed.round_trip()?;
        bed.expect("the part left by the marks", after / before, 0.3..=0.92)
    },
    ..BASE
};

/// ACKs of before a mark arrive after those behind it. Their count is one less, which would be seven more.
pub(crate) const OVERTAKEN: Case = Case {
    name: "overtaken-acks-are-ignored",
    clause: clause("3.2.2.2", Level::Rule),
    concerns: REDUCING,
    // With them, the test of RFC 7323 section 5 would drop the ACK.
    setup: Setup { timestamps: false, ..SETUP },
    demanded: "the count of an ACK that later ones have overtaken has no effect",
    program: |_, bed| {
        settle(bed)?;
        bed.next_data(1, Fate::Mark);
        let mut acks = 0;
        bed.on_acks(move |packet| {
            // Its counts would show the age of the ACK.
            strip_option(packet);
            acks += 1;
            if acks == 3 { Fate::Late(Span::from_millis(150)) } else { Fate::Pass }
        });
        bed.round_trip()?;
        bed.round_trip()?;
        // The late ACK comes in these.
        demand_no_reduction(bed, 10)
    },
    ..BASE
};

//! The feedback of this end.

use super::*;

/// Gives the SYN-ACK a codepoint, and compares the final ACK of the handshake.
fn final_ack_after(bed: &mut Bed, codepoint: Codepoint, number: u8) -> Result<(), Fault> {
    bed.on_acks(move |packet| {
        if is_syn(packet) {
            packet.ecn = codepoint;
        }
        Fate::Pass
    });
    bed.grow_to(1.0)?;
    let Some(ack) = final_ack(bed).copied() else {
        return Err(Fault::Failed("no ACK of the SYN-ACK".to_owned()));
    };
    let segment = &ack.packet.segment;
    demand!(segment.payload_len == 0, "the ACK of the SYN-ACK has data");
    demand!(segment.options.sack.is_empty(), "the ACK of the SYN-ACK has SACK blocks");
    let found = ace(&ack.packet);
    demand!(found == number, "the ACK of the SYN-ACK has {found} for {number}");
    Ok(())
}

pub(crate) const FINAL_NOT_ECT: Case = Case {
    name: "the-final-ack-feeds-not-ect-back",
    clause: clause("3.2.2.1", Level::Must),
    demanded: "a pure ACK feeds back by 010 that the SYN-ACK was Not-ECT",
    program: |_, bed| final_ack_after(bed, Codepoint::NotEct, 2),
    ..BASE
};

pub(crate) const FINAL_ECT0: Case = Case {
    name: "the-final-ack-feeds-ect0-back",
    clause: clause("3.2.2.1", Level::Must),
    demanded: "a pure ACK feeds back by 100 that the SYN-ACK was ECT(0)",
    program: |_, bed| final_ack_after(bed, Codepoint::Ect0, 4),
    ..BASE
};

pub(crate) const FINAL_ECT1: Case = Case {
    name: "the-final-ack-feeds-ect1-back",
    clause: clause("3.2.2.1", Level::Must),
    demanded: "a pure ACK feeds back by 011 that the SYN-ACK was ECT(1)",
    program: |_, bed| final_ack_after(bed, Codepoint::Ect1, 3),
    ..BASE
};

pub(crate) const FINAL_CE: Case = Case {
    name: "the-final-ack-feeds-ce-back",
    clause: clause("3.2.2.1", Level::Must),
    demanded: "a pure ACK feeds back by 110 that the SYN-ACK had CE; the next count is 6",
    program: |_, bed| {
        final_ack_after(bed, Codepoint::Ce, 6)?;
        bed.grow_to(5.0)?;
        let data = sent(bed).find(|event| event.packet.segment.payload_len > 0);
        let count = data.map(|event| ace(&event.packet));
        // Section 3.2.2.2: CE on a SYN-ACK counts once.
        demand!(count == Some(6), "data has the count {count:?}");
        Ok(())
    },
    ..BASE
};

pub(crate) const REPEATED: Case = Case {
    name: "a-repeated-syn-ack-is-fed-back-again",
    clause: clause("3.2.2.1", Level::Must),
    traffic: Traffic::Pause,
    demanded: "the ACK of a SYN-ACK that comes again feeds back the codepoint of the last one",
    program: |_, bed| {
        bed.on_acks(|packet| if is_syn(packet) { Fate::Twice } else { Fate::Pass });
        bed.run_for(Span::from_millis(100));
        let acks = sent(bed).filter(|event| !is_syn(&event.packet));
        let numbers: Vec<u8> = acks.map(|event| ace(&event.packet)).collect();
        demand!(numbers == [2, 2], "the ACKs have {numbers:?} for 010 twice");
        Ok(())
    },
    ..BASE
};

pub(crate) const FIRST_OPTIONS: Case = Case {
    name: "the-first-packets-have-the-option",
    clause: clause("3.2.3.2.1", Level::Should),
    demanded: "the final ACK of the handshake and the first data have an AccECN option",
    program: |_, bed| {
        bed.grow_to(5.0)?;
        let has = |event: &Event| event.packet.segment.options.accecn.is_some();
        demand!(final_ack(bed).is_some_and(has), "the final ACK has none");
        let data = sent(bed).find(|event| event.packet.segment.payload_len > 0);
        demand!(data.is_some_and(has), "the first data has none");
        Ok(())
    },
    ..BASE
};

/// Packets of the peer with and without CE. They are out of order, so that the bed's receiver keeps its numbers.
pub(crate) const COUNT: Case = Case {
    name: "ace-is-the-count-of-marked-packets",
    clause: clause("3.2.2.2", Level::Must),
    demanded: "after three packets with CE, ACE is 0: the low bits of 8",
    program: |_, bed| {
        bed.grow_to(20.0)?;
        let arrived = bed.wire().events().iter().rev();
        let last = arrived.into_iter().find(|event| event.kind == EventKind::Arrived);
        let Some(last) = last.map(|event| event.packet) else {
            return Err(Fault::Failed("nothing arrived".to_owned()));
        };
        for (place, ecn) in
            [Codepoint::Ce, Codepoint::Ect0, Codepoint::Ce, Codepoint::Ce].into_iter().enumerate()
        {
            let mut packet = Packet { ecn, ..last };
            packet.segment.seq = packet.segment.seq.at(3000 + 200 * place as u64);
            packet.segment.payload_len = 100;
            bed.inject(packet);
        }
        bed.round_trip()?;
        let data = sent(bed).filter(|event| event.packet.segment.payload_len > 0).last();
        let count = data.map(|event| ace(&event.packet));
        demand!(count == Some((FIRST_COUNT + 3) % 8), "data has the count {count:?}");
        Ok(())
    },
    ..BASE
};

pub(crate) const NO_CWR: Case = Case {
    name: "there-is-no-cwr",
    clause: clause("3.1.5", Level::Must),
    demanded: "after a reduction the three flags of data are still the count",
    program: |_, bed| {
        settle(bed)?;
        bed.mark(1)?;
        bed.lose_next()?;
        let data = sent(bed).filter(|event| event.packet.segment.payload_len > 0);
        let other = data.map(|event| ace(&event.packet)).find(|count| *count != FIRST_COUNT);
        demand!(other.is_none(), "data has the count {other:?}");
        Ok(())
    },
    ..BASE
};

//! The handshake (section 3.1).

use super::*;

pub(crate) const ASKS: Case = Case {
    name: "a-syn-asks-by-three-flags",
    clause: clause("3.1.1", Level::Must),
    demanded: "a SYN asks for AccECN by AE, CWR and ECE",
    program: |_, bed| {
        bed.grow_to(1.0)?;
        let flags = syns(bed).next().map(|syn| ace(&syn.packet));
        demand!(flags == Some(7), "the SYN has {flags:?}");
        Ok(())
    },
    ..BASE
};

pub(crate) const NO_OPTION_ON_SYN: Case = Case {
    name: "a-syn-has-no-option",
    clause: clause("3.2.3.2.1", Level::Must),
    demanded: "a SYN has no AccECN option, and is Not-ECT",
    program: |_, bed| {
        bed.grow_to(1.0)?;
        let option = syns(bed).any(|syn| syn.packet.segment.options.accecn.is_some());
        demand!(!option, "the SYN has the option");
        let ect = syns(bed).any(|syn| syn.packet.ecn != Codepoint::NotEct);
        demand!(!ect, "the SYN is ECT");
        Ok(())
    },
    ..BASE
};

/// Loses so many SYN-ACKs, and returns the flags of the SYNs.
fn flags_of_syns(bed: &mut Bed, lost: usize) -> Result<Vec<u8>, Fault> {
    let mut answers = 0;
    bed.on_acks(move |packet| {
        answers += usize::from(is_syn(packet));
        if answers <= lost { Fate::Drop } else { Fate::Pass }
    });
    bed.grow_to(1.0)?;
    let isns: Vec<_> = syns(bed).map(|syn| syn.packet.segment.seq).collect();
    demand!(isns.windows(2).all(|two| two[0] == two[1]), "SYNs with other sequence numbers");
    Ok(syns(bed).map(|syn| ace(&syn.packet)).collect())
}

pub(crate) const SECOND_SYN: Case = Case {
    name: "the-first-retransmitted-syn-still-asks",
    clause: clause("3.1.4.1", Level::Should),
    demanded: "the first SYN that is sent again asks for AccECN",
    program: |_, bed| {
        let flags = flags_of_syns(bed, 1)?;
        demand!(flags.get(1) == Some(&7), "the flags of the SYNs are {flags:?}");
        Ok(())
    },
    ..BASE
};

pub(crate) const THIRD_SYN: Case = Case {
    name: "later-syns-do-not-ask",
    clause: clause("3.1.4.1", Level::Should),
    demanded: "SYNs after the first retransmission have none of the three flags",
    program: |_, bed| {
        let flags = flags_of_syns(bed, 3)?;
        demand!(flags.len() > 2, "the flags of the SYNs are {flags:?}");
        demand!(flags[2..].iter().all(|flags| *flags == 0), "the flags of the SYNs are {flags:?}");
        Ok(())
    },
    ..BASE
};

pub(crate) const NEVER_CLASSIC: Case = Case {
    name: "no-syn-asks-for-classic-ecn",
    clause: clause("3.1.5", Level::Must),
    demanded: "after a SYN that asks for AccECN, none asks for classic ECN",
    program: |_, bed| {
        let flags = flags_of_syns(bed, 4)?;
        demand!(!flags.contains(&3), "the flags of the SYNs are {flags:?}");
        demand!(flags.iter().all(|flags| [0, 7].contains(flags)), "the flags are {flags:?}");
        Ok(())
    },
    ..BASE
};

/// Bytes delivered in four round trips.
fn delivered(bed: &mut Bed) -> Result<f64, Fault> {
    let before = bed.delivered();
    for _ in 0..4 {
        bed.round_trip()?;
    }
    Ok(bed.delivered() - before)
}

/// Runs without ECN: nothing is ECT, and the three flags of ACKs have no effect.
fn demand_no_ecn(bed: &mut Bed) -> Result<(), Fault> {
    bed.grow_to(10.0)?;
    // By deliveries in several round trips, since the flight of a sender that paces changes within one.
    let (first, second) = (delivered(bed)?, delivered(bed)?);
    bed.expect("bytes delivered afterwards", second, 0.75 * first..=f64::INFINITY)?;
    demand!(!sends_ect(bed), "a packet is ECT");
    let flags = sent(bed).filter(|event| !is_syn(&event.packet)).map(|event| ace(&event.packet));
    let flags = flags.max();
    demand!(flags == Some(0), "packets have the flags {flags:?}");
    Ok(())
}

pub(crate) const NO_ANSWER: Case = Case {
    name: "without-an-answer-nothing-is-ect",
    clause: clause("3.1.5", Level::Must),
    demanded: "a SYN-ACK without the flags means no ECN: no ECT, no reaction, no flags",
    program: |_, bed| {
        answer_with(bed, 0);
        demand_no_ecn(bed)
    },
    ..BASE
};

pub(crate) const REFLECTED: Case = Case {
    name: "reflected-flags-mean-no-ecn",
    clause: clause("3.1.2", Level::Must),
    demanded: "a SYN-ACK with all three flags means no ECN",
    program: |_, bed| {
        answer_with(bed, 7);
        demand_no_ecn(bed)
    },
    ..BASE
};

/// The receiver of the bed counts; here its packets get the echo of classic ECN, from a mark to CWR.
pub(crate) const CLASSIC: Case = Case {
    name: "a-classic-answer-means-classic-ecn",
    clause: clause("3.1.2", Level::Must),
    concerns: Concerns::Controllers(&["tahoe", "reno", "newreno", "vegas", "cubic", "new-ecn"]),
    demanded: "a SYN-ACK with ECE alone means classic ECN: ECT, one reduction per echo, CWR",
    program: |_, bed| {
        bed.on_acks(|packet| {
            let flags = if is_syn(packet) { 1 } else { 0 };
            set_ace(packet, flags);
            Fate::Pass
        });
        settle(bed)?;
        let before = bed.window();
        bed.on_acks(|packet| {
            set_ace(packet, 1);
            Fate::Pass
        });
        bed.run_for(Span::from_millis(24));
        bed.on_acks(|packet| {
            set_ace(packet, 0);
            Fate::Pass
        });
        bed.round_trip()?;
        let after = bed.round_trip()?;
        // New-ECN's part is near to 1; without a reduction the window grows.
        bed.expect("the part left by echoes of a round trip", after / before, 0.4..=0.98)?;
        let cwr = sent(bed).filter(|event| ace(&event.packet) & 2 != 0 && !is_syn(&event.packet));
        let cwr = cwr.filter(|event| event.packet.segment.payload_len > 0).count();
        demand!(cwr > 0, "no data has CWR");
        Ok(())
    },
    ..BASE
};

pub(crate) const RESERVED: Case = Case {
    name: "the-reserved-answer-means-agreement",
    clause: clause("3.1.3", Level::Must),
    demanded: "a SYN-ACK with AE and ECE agrees to AccECN",
    program: |_, bed| {
        answer_with(bed, 5);
        bed.grow_to(20.0)?;
        let counts = sent(bed).rev_data().map(|event| ace(&event.packet));
        demand!(counts == Some(FIRST_COUNT), "data has the count {counts:?}");
        bed.demand_ect()
    },
    ..BASE
};

/// The newest packet with data.
trait RevData<'a> {
    fn rev_data(self) -> Option<&'a Event>;
}

impl<'a, I: Iterator<Item = &'a Event>> RevData<'a> for I {
    fn rev_data(self) -> Option<&'a Event> {
        self.filter(|event| event.packet.segment.payload_len > 0).last()
    }
}

/// A SYN-ACK that agrees to classic ECN arrives in the established state.
pub(crate) const SECOND_ANSWER: Case = Case {
    name: "a-later-syn-ack-changes-no-mode",
    clause: clause("3.1.5", Level::Must),
    demanded: "whatever a second SYN-ACK says, the mode of the first one stays",
    program: |_, bed| {
        bed.grow_to(20.0)?;
        let arrived = |event: &&Event| event.kind == EventKind::Arrived && is_syn(&event.packet);
        let answer = bed.wire().events().iter().find(arrived).map(|event| event.packet);
        let Some(mut answer) = answer else {
            return Err(Fault::Failed("no SYN-ACK arrived".to_owned()));
        };
        set_ace(&mut answer, 1);
        bed.inject(answer);
        bed.round_trip()?;
        bed.round_trip()?;
        let count = sent(bed).rev_data().map(|event| ace(&event.packet));
        demand!(count == Some(FIRST_COUNT), "data has the count {count:?}");
        Ok(())
    },
    ..BASE
};

//! A connection that checks, at every packet, what the proxy promises.

use windlass_ecn_proxy_core::{
    Actions, Answer, Edit, Events, Flags, Flow, Options, Outcome, Packet, Phase, Policy, Reason,
    SenderPolicy, Side,
};

/// `a` comes before `b`, modulo 2^32.
pub(crate) fn before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

fn later(a: u32, b: u32) -> u32 {
    if before(a, b) { b } else { a }
}

/// Numbers further away belong to no connection: RFC 7323 section 2.3 bounds windows.
fn is_near(flow: &Flow, number: u32) -> bool {
    (number.wrapping_sub(flow.far_ack()) as i32).unsigned_abs() <= 1 << 30
}

/// A flow under watch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watch {
    pub(crate) flow: Flow,
    pub(crate) policy: Policy,
    /// The host's first SYN, and its end.
    syn: u32,
    syn_end: u32,
    /// While the connection is served: the highest number that the host sent.
    sent: u32,
    /// CE came, and no CWR since.
    ce: bool,
    /// The far host has failed, as a caller remembers it who believes the first time.
    pub(crate) destination_fails: bool,
    episode_open: bool,
    episodes: u64,
    cwrs: u64,
    /// All events so far.
    pub(crate) events: Events,
}

impl Watch {
    /// Nothing is known of a connection yet.
    pub(crate) fn new(policy: Policy) -> Watch {
        Watch { policy, ..Watch::default() }
    }

    /// Passes a packet and returns what came out.
    pub(crate) fn pass(&mut self, packet: &Packet, from: Side) -> (Edit, Outcome) {
        let before = self.flow;
        let syn = packet.flags & (Flags::SYN | Flags::ACK) == Flags::SYN;
        let edit = if syn {
            self.flow.handle_syn(&self.policy, packet, from, self.destination_fails).1
        } else {
            self.flow.handle_packet(&self.policy, packet, from)
        };
        self.check(&before, packet, &edit, from);
        let fails = Events::DESTINATION_FAILED | Events::REFUSED;
        self.destination_fails |= edit.events.intersects(fails);
        self.destination_fails &= !edit.events.contains(Events::PLAIN_REFUSED);
        self.events |= edit.events;
        (edit, Outcome::new(packet, &edit))
    }

    fn check(&mut self, was: &Flow, packet: &Packet, edit: &Edit, from: Side) {
        let context = (was, packet, edit, from);
        assert!(edit.events.intersection(Events::ENDS).bits().count_ones() <= 1, "{context:?}");
        let wants_reason = Events::BYPASS | Events::PASSED_OVER | Events::ECT_WITHDRAWN;
        if edit.events.intersects(wants_reason) {
            assert_ne!(edit.reason(), Reason::None, "{context:?}");
        }
        if self.policy.off {
            assert!(edit.actions.is_empty(), "{context:?}");
        }
        assert!(!(self.destination_fails && edit.events.contains(Events::UPGRADED)), "{context:?}");
        self.account(edit);
        match was.phase() {
            Phase::None | Phase::Bypass if !packet.flags.contains(Flags::SYN) => {
                assert_eq!(*edit, Edit::default(), "{context:?}");
            }
            Phase::Proxied if !packet.flags.contains(Flags::SYN) => match from {
                Side::Host => self.check_from_host(was, packet, edit),
                Side::Far => self.check_to_host(was, packet, edit),
            },
            phase => {
                let bits = Actions::FLAGS | Actions::CODEPOINT;
                assert!(bits.contains(edit.actions), "{context:?}");
                let syn_ack = packet.flags.contains(Flags::SYN | Flags::ACK);
                if phase == Phase::Proxied && from == Side::Far && syn_ack {
                    self.note_ce(packet);
                }
            }
        }
        if edit.events.contains(Events::PROXIED) {
            self.sent = if from == Side::Far { self.syn_end } else { packet.end() };
            self.ce = from == Side::Far && packet.codepoint == 3;
        } else if packet.flags & (Flags::SYN | Flags::ACK | Flags::FIN | Flags::RST) == Flags::SYN
            && from == Side::Host
        {
            self.note_syn(was, packet);
        }
    }

    /// The end of the SYN that began the connection, its data included (RFC 7413).
    fn note_syn(&mut self, was: &Flow, packet: &Packet) {
        let again = was.phase() == Phase::HostOpens && self.syn == packet.seq;
        if self.flow.phase() == Phase::HostOpens && !again {
            (self.syn, self.syn_end) = (packet.seq, packet.end());
        }
    }

    /// Every episode is answered or passed over, once.
    fn account(&mut self, edit: &Edit) {
        if edit.events.contains(Events::EPISODE) {
            assert!(!self.episode_open, "{edit:?}");
            self.episode_open = true;
            self.episodes += 1;
        }
        if edit.events.intersects(Events::ENDS) {
            assert!(self.episode_open, "{edit:?}");
            self.episode_open = false;
        }
        if edit.events.contains(Events::CWR) {
            self.cwrs += 1;
            assert!(self.cwrs <= self.episodes, "{edit:?}");
        }
        let waits =
            matches!(self.flow.answer(), Answer::Armed | Answer::VirtualLoss | Answer::Dropped);
        assert_eq!(waits, self.episode_open, "{:?} {edit:?}", self.flow);
    }

    fn check_from_host(&mut self, was: &Flow, packet: &Packet, edit: &Edit) {
        let context = (was, packet, edit);
        let new = packet.payload_bytes > 0 && !before(packet.seq, self.sent);
        let does = |action| edit.actions.contains(action);
        assert!(!does(Actions::ACK) && !does(Actions::BLOCKS) && !does(Actions::CLONES));
        if does(Actions::CODEPOINT) {
            assert_eq!(edit.codepoint, 2, "ECT(0) and nothing else: {context:?}");
            assert_eq!(packet.codepoint, 0, "{context:?}");
            assert!(new && !packet.flags.intersects(Flags::SYN | Flags::RST), "{context:?}");
            assert_ne!(self.policy.sender, SenderPolicy::NoEct);
        }
        if edit.flags_set.contains(Flags::CWR) {
            assert!(new, "{context:?}");
        }
        if edit.flags_set.contains(Flags::ECE) {
            assert!(self.ce, "{context:?}");
        }
        if does(Actions::DROP) && new {
            assert!(self.policy.sender == SenderPolicy::Drop, "{context:?}");
        } else if does(Actions::DROP) {
            // The far host has it, and the sender has not been shown that yet.
            assert!(!before(was.far_ack(), packet.end()), "{context:?}");
            let waits = self.flow.answer() == Answer::Retransmitted;
            assert_eq!(edit.events.contains(Events::KEPT_BACK), !does(Actions::REPLY));
            assert!(does(Actions::REPLY) || waits, "{context:?}");
        }
        if edit.events.contains(Events::KEPT_BACK) {
            assert!(does(Actions::DROP) && !new, "{context:?}");
        }
        assert_eq!(does(Actions::REPLY), edit.events.contains(Events::SELF_ANSWER), "{context:?}");
        if does(Actions::REPLY) {
            assert!(does(Actions::DROP) && before(packet.seq, self.sent), "{context:?}");
            // The reply acknowledges exactly the data that the far host has.
            assert_eq!(edit.reply.ack, was.far_ack(), "{context:?}");
            assert_eq!(edit.reply.tsecr, 0, "a time would be that to the proxy: {context:?}");
        }
        let counts = !packet.options.contains(Options::BROKEN)
            && !packet.flags.contains(Flags::RST)
            && self.flow.phase() != Phase::Bypass
            && is_near(was, packet.seq)
            && is_near(was, packet.end());
        if counts && packet.end() != packet.seq {
            self.sent = later(self.sent, packet.end());
        }
    }

    fn check_to_host(&mut self, was: &Flow, packet: &Packet, edit: &Edit) {
        let context = (was, packet, edit);
        let does = |action| edit.actions.contains(action);
        let left_alone = packet.options.contains(Options::BROKEN)
            || self.flow.phase() == Phase::Bypass
            || self.policy.off;
        let outcome = Outcome::new(packet, edit);
        assert!(outcome.back.is_none(), "{context:?}");
        for shown in &outcome.forward {
            if !left_alone {
                assert_eq!(shown.codepoint, 0, "{context:?}");
                assert!(!shown.flags.intersects(Flags::ECE | Flags::CWR), "{context:?}");
            }
            assert!(!before(packet.ack, shown.ack), "ahead of the truth: {context:?}");
            // Any other time would be a sample of an RTT that no packet has taken.
            assert!([packet.tsecr, 0].contains(&shown.tsecr), "{context:?}");
        }
        if edit.flags_set.contains(Flags::PSH) {
            let hidden = packet.codepoint == 3 || packet.flags.contains(Flags::CWR);
            assert!(hidden && packet.payload_bytes > 0, "{context:?}");
        }
        assert!(edit.clones <= 3, "{context:?}");
        if does(Actions::DROP) {
            assert_eq!(packet.payload_bytes, 0, "data are never dropped: {context:?}");
        }
        if does(Actions::ACK) {
            assert_eq!(edit.ack, self.flow.shown_ack(), "further back than shown: {context:?}");
            let room = if packet.options.contains(Options::TIMESTAMPS) { 3 } else { 4 };
            assert!(edit.block_count <= room, "{context:?}");
            for block in edit.blocks() {
                assert!(before(edit.ack, block.start), "{context:?}");
                assert!(before(block.start, block.end), "{context:?}");
                assert!(!before(self.sent, block.end), "{context:?}");
            }
        }
        self.note_ce(packet);
    }

    /// RFC 3168 section 6.1.3: CE until CWR.
    fn note_ce(&mut self, packet: &Packet) {
        if !packet.options.contains(Options::BROKEN) && self.flow.phase() != Phase::Bypass {
            self.ce &= !packet.flags.contains(Flags::CWR);
            self.ce |= packet.codepoint == 3;
        }
    }
}

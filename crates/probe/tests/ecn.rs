//! Which ECN a server speaks: servers by a script, with each answer that a SYN-ACK can have.

#[expect(dead_code, reason = "each test uses a part")]
mod common;

use common::server::config;
use common::{PATH, World, order, settings};
use std::cell::RefCell;
use std::rc::Rc;
use windlass_base::{Ecn, Span, Time};
use windlass_probe::ecn::{Answer, Ask, Capability, Echo, Mode, Trial};
use windlass_probe::session::Outcome;
use windlass_probe::survey::HostRow;
use windlass_probe::wire::{self, Flow, Received};
use windlass_probe::{Ending, Order, Purpose, Report, Session, Settings, Target, Test};
use windlass_probe_serve::{EngineServer, Raw, Server, page, says};
use windlass_tcp::accecn::negotiation::{ace, flags_of};
use windlass_tcp::config::EcnEcho;
use windlass_tcp::{AccEcnOption, AccEcnOrder, Flags, Options, Profile, Segment, SeqNumber};

const ADDRESS: &str = "192.0.2.1:80";
const ISN: u32 = 7000;
const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc";

/// A server by a script, and what it has seen.
#[derive(Clone, Default)]
struct Script {
    /// AE, CWR and ECE of its SYN-ACK, to a SYN that asks for AccECN and to one that asks for classic ECN.
    accurate: u8,
    classic: u8,
    /// The codepoint of its SYN-ACK, and of its data.
    syn_ack: Ecn,
    data: Ecn,
    /// Marks beyond the right number that it counts.
    miscounts: u8,
    /// Its packets after the SYN-ACK have zero in ACE.
    zeroes: bool,
    /// It echoes marks as RFC 3168 has it.
    echoes: bool,
    /// SYNs that ask, and that it does not answer.
    deaf: u32,
    /// It resets a SYN with AE.
    refuses: bool,
}

/// A packet of the probe.
#[derive(Copy, Clone, Debug, PartialEq)]
struct Seen {
    ace: u8,
    ip: Ecn,
    payload_len: u32,
    option: Option<AccEcnOption>,
    /// SYN or RST.
    control: bool,
    acked: u32,
}

type Log = Rc<RefCell<Vec<Seen>>>;

/// A scripted server, and the log of the packets that it gets.
struct Scripted {
    script: Script,
    log: Log,
    ce_packets: u32,
    marked: bool,
    request: Vec<u8>,
    next: u32,
    syns: u32,
}

impl Scripted {
    fn react(&mut self, flow: &Flow, received: &Received<'_>) -> Vec<(Span, Vec<u8>)> {
        let segment = &received.segment;
        let ace = ace(segment.flags);
        let control = segment.flags.intersects(Flags::SYN | Flags::RST);
        self.log.borrow_mut().push(Seen {
            ace,
            ip: received.ecn,
            payload_len: segment.payload_len,
            option: segment.options.accecn,
            control,
            acked: segment.ack.0.wrapping_sub(ISN),
        });
        if segment.flags.contains(Flags::SYN) {
            return self
                .answer_syn(flow, segment, ace)
                .map(|packet| (Span::ZERO, packet))
                .into_iter()
                .collect();
        }
        if received.ecn == Ecn::Ce {
            self.ce_packets += 1;
            self.marked = true;
        }
        self.next = segment.seq.at(u64::from(segment.payload_len)).0;
        self.request.extend(received.payload);
        if segment.payload_len == 0 {
            return Vec::new();
        }
        let whole = self.request.ends_with(b"\r\n\r\n");
        let payload: &[u8] = if whole { ANSWER } else { b"" };
        vec![(Span::ZERO, self.packet(flow, ISN + 1, payload))]
    }

    fn answer_syn(&mut self, flow: &Flow, syn: &Segment, ace: u8) -> Option<Vec<u8>> {
        self.syns += 1;
        (self.ce_packets, self.marked, self.request) = (0, false, Vec::new());
        if self.script.refuses && ace == 0b111 {
            let reset = syn.reset_reply()?;
            return Some(emit(flow, reset, Ecn::NotEct, &[]));
        }
        let answer = match ace {
            0b111 => self.script.accurate,
            0b011 => self.script.classic,
            _ => 0,
        };
        let options = Options { mss: Some(1460), ..Options::default() };
        let segment = Segment {
            seq: SeqNumber(ISN),
            ack: syn.seq.at(1),
            flags: Flags::SYN | Flags::ACK | flags_of(answer),
            window: 60_000,
            options,
            ..Segment::default()
        };
        (self.syns > self.script.deaf).then(|| emit(flow, segment, self.script.syn_ack, &[]))
    }

    fn packet(&self, flow: &Flow, seq: u32, payload: &[u8]) -> Vec<u8> {
        let mut flags = Flags::ACK;
        let ecn = if payload.is_empty() { Ecn::NotEct } else { self.script.data };
        match self.script {
            Script { echoes: true, .. } if self.marked => flags |= Flags::ECE,
            Script { echoes: true, .. } | Script { zeroes: true, .. } => {}
            Script { miscounts, .. } => {
                let counter = 5 + self.ce_packets as u8 + miscounts;
                flags |= flags_of(counter);
            }
        }
        let segment = Segment {
            seq: SeqNumber(seq),
            ack: SeqNumber(self.next),
            flags,
            window: 60_000,
            ..Segment::default()
        };
        emit(flow, segment, ecn, payload)
    }
}

fn emit(flow: &Flow, segment: Segment, ecn: Ecn, payload: &[u8]) -> Vec<u8> {
    let segment = Segment { payload_len: payload.len() as u32, ..segment };
    let mut packet = Vec::new();
    wire::emit_with_ecn(flow, &segment, ecn, &[payload], 0, &mut packet);
    packet
}

fn server(script: &Script) -> (impl Server + use<>, Log) {
    let log = Log::default();
    let mut scripted = Scripted {
        script: script.clone(),
        log: Rc::clone(&log),
        ce_packets: 0,
        marked: false,
        request: Vec::new(),
        next: 0,
        syns: 0,
    };
    (Raw::new(move |flow: &Flow, received: &Received<'_>| scripted.react(flow, received)), log)
}

/// One connection that asks for AccECN.
fn connect(script: &Script) -> (Report, Vec<Seen>) {
    let (server, log) = server(script);
    let order = Order { purpose: Purpose::Ecn(Ask::Accurate), ..order(Test::BASELINE) };
    let mut world = World::new(PATH, 5).with(ADDRESS, server);
    let report = world.connect(ADDRESS.parse().expect("an address"), order);
    let seen = log.borrow().clone();
    (report, seen)
}

fn trial(script: &Script) -> (Trial, Vec<Seen>) {
    let (report, seen) = connect(script);
    assert_eq!(report.ending, Ending::HeadRead);
    (report.ecn.expect("answered"), seen)
}

/// A session that asks for ECN before its tests.
fn ask(server: impl Server) -> Outcome {
    let settings = Settings {
        ecn: true,
        patience: Span::from_secs(8),
        timeout: Span::from_millis(100),
        ..settings(&[Test::BASELINE], 1)
    };
    let target = Target::parse("http://192.0.2.1/").expect("a target");
    let mut session = Session::new(target, settings);
    World::new(PATH, 1).with(ADDRESS, server).run(&mut session, &[]);
    session.outcome()
}

/// The server's ECN as a session finds it.
fn capability(script: &Script) -> Capability {
    ask(server(script).0).ecn.expect("asked")
}

fn accurate() -> Script {
    Script { accurate: 0b010, data: Ecn::Ect0, ..Script::default() }
}

fn classic() -> Script {
    Script { accurate: 0b001, classic: 0b001, data: Ecn::Ect0, echoes: true, ..Script::default() }
}

/// The packets after the SYN.
fn later(seen: &[Seen]) -> impl Iterator<Item = &Seen> {
    seen.iter().filter(|packet| !packet.control)
}

#[test]
fn the_client_does_after_each_answer_what_table_2_says() {
    use Answer::{Accurate, Classic, None as No, Reflected, Reserved};
    let table = [
        (0b000, No, Mode::None, None),
        (0b001, Classic, Mode::Classic, None),
        (0b010, Accurate, Mode::Accurate, Some(Ecn::NotEct)),
        (0b011, Accurate, Mode::Accurate, Some(Ecn::Ect1)),
        (0b100, Accurate, Mode::Accurate, Some(Ecn::Ect0)),
        (0b101, Reserved, Mode::Accurate, None),
        (0b110, Accurate, Mode::Accurate, Some(Ecn::Ce)),
        (0b111, Reflected, Mode::None, None),
    ];
    for (ace, answer, mode, syn) in table {
        let (trial, seen) = trial(&Script { accurate: ace, ..accurate() });
        let negotiation = trial.negotiation;
        assert_eq!((negotiation.answer, negotiation.mode()), (answer, mode), "{ace}");
        assert_eq!(negotiation.syn_arrived, syn, "{ace}");
        assert_eq!((seen[0].ace, seen[0].ip, seen[0].option), (0b111, Ecn::NotEct, None));
        let data: Vec<Ecn> =
            later(&seen).filter(|packet| packet.payload_len > 0).map(|packet| packet.ip).collect();
        // A SYN that arrived as another one than it was sent is a path that changes codepoints.
        let mangled = syn.is_some_and(|syn| syn != Ecn::NotEct);
        match mode == Mode::None || mangled {
            true => assert!(data.iter().all(|ip| *ip == Ecn::NotEct), "{ace}: {data:?}"),
            false => assert_eq!(data, [Ecn::Ect0, Ecn::Ce, Ecn::Ce], "{ace}"),
        }
        // No ACE without AccECN. With it, every counter is 5: the server marks nothing.
        let expected = if mode == Mode::Accurate { 5 } else { 0 };
        let counters: Vec<u8> = later(&seen).map(|packet| packet.ace).collect();
        let counters = &counters[usize::from(mode == Mode::Accurate)..];
        assert!(!counters.is_empty() && counters.iter().all(|ace| *ace == expected), "{seen:?}");
    }
}

#[test]
fn the_first_ack_is_pure_and_feeds_back_the_codepoint_of_the_syn_ack() {
    let table = [
        (Ecn::NotEct, 0b010, 5),
        (Ecn::Ect1, 0b011, 5),
        (Ecn::Ect0, 0b100, 5),
        (Ecn::Ce, 0b110, 6),
    ];
    for (syn_ack, ace, counter) in table {
        let (trial, seen) = trial(&Script { syn_ack, ..accurate() });
        let later: Vec<&Seen> = later(&seen).collect();
        assert_eq!((later[0].payload_len, later[0].ace), (0, ace), "{syn_ack:?}");
        assert_eq!((later[1].payload_len, later[1].ace), (8, counter), "{syn_ack:?}");
        let initial = AccEcnOption::new(AccEcnOrder::Ect0First, &[1, 0, 1]);
        // On the first ACK and the first data, for the server to see whether options pass.
        assert_eq!([later[0].option, later[1].option], [Some(initial); 2]);
        assert_eq!(later[2].option, None);
        assert_eq!(trial.negotiation.syn_ack, syn_ack);
    }
}

#[test]
fn a_server_that_counts_and_others_that_do_not_are_distinguished() {
    let echo = |script: &Script| {
        let capability = capability(script);
        (capability.mode, capability.feedback)
    };
    let right = capability(&accurate());
    assert_eq!((right.feedback, right.runs.len()), (Some(Echo::Counts), 1));
    let trial = right.trial().expect("answered");
    assert_eq!((trial.sent.ect_0, trial.sent.ce, trial.counted()), (1, 2, Some(2)));
    assert_eq!((trial.arrived.ect_0, trial.arrived.not_ect), (1, 0));
    let miscounts = Script { miscounts: 1, ..accurate() };
    assert_eq!(echo(&miscounts), (Mode::Accurate, Some(Echo::Miscounts)));
    let zeroes = Script { zeroes: true, ..accurate() };
    assert_eq!(echo(&zeroes), (Mode::Accurate, Some(Echo::Zeroed)));
    assert_eq!(echo(&classic()), (Mode::Classic, Some(Echo::Echoes)));
    let silent = Script { echoes: false, zeroes: true, ..classic() };
    assert_eq!(echo(&silent), (Mode::Classic, Some(Echo::Silent)));
    // Codepoints change on the way, so nothing was marked.
    let mangled = Script { accurate: 0b100, ..accurate() };
    assert_eq!(echo(&mangled), (Mode::Accurate, None));
}

#[test]
fn marks_on_the_servers_packets_are_counted_and_fed_back() {
    let (trial, seen) = trial(&Script { data: Ecn::Ce, ..accurate() });
    assert_eq!(trial.arrived.ce, 1);
    let answered = 1 + ANSWER.len() as u32;
    let acks: Vec<&Seen> =
        seen.iter().filter(|packet| packet.acked == answered && packet.payload_len == 0).collect();
    assert!(!acks.is_empty(), "{seen:?}");
    for ack in acks {
        assert_eq!(ack.ace, 6, "{seen:?}");
    }
}

#[test]
fn what_agrees_on_nothing_is_asked_for_classic_ecn() {
    let asks = |script: &Script| {
        let capability = capability(script);
        let trials: Vec<Option<Ask>> = capability
            .runs
            .iter()
            .map(|run| run.ecn.as_ref().map(|trial| trial.negotiation.ask))
            .collect();
        (capability.answer, trials)
    };
    let (accurate, classic) = (Some(Ask::Accurate), Some(Ask::Classic));
    let nothing = Script::default();
    assert_eq!(asks(&nothing), (Some(Answer::None), vec![accurate, classic]));
    let reflects = Script { accurate: 0b111, classic: 0b011, ..Script::default() };
    assert_eq!(asks(&reflects), (Some(Answer::Reflected), vec![accurate, classic]));
    let only_classic = Script { accurate: 0, ..self::classic() };
    assert_eq!(asks(&only_classic), (Some(Answer::Classic), vec![accurate, classic]));
    let refuses = Script { refuses: true, ..self::classic() };
    assert_eq!(asks(&refuses), (Some(Answer::Classic), vec![None, classic]));
    assert_eq!(asks(&self::classic()), (Some(Answer::Classic), vec![accurate]));
}

#[test]
fn a_third_syn_asks_for_nothing_in_case_the_path_drops_those_that_do() {
    let (report, seen) = {
        let (server, log) = server(&Script { deaf: 2, ..accurate() });
        let patience = Span::from_secs(8);
        let purpose = Purpose::Ecn(Ask::Accurate);
        let order = Order { purpose, patience, ..order(Test::BASELINE) };
        let mut world = World::new(PATH, 5).with(ADDRESS, server);
        let report = world.connect(ADDRESS.parse().expect("an address"), order);
        assert!(world.now > Time::ZERO + Span::from_secs(2));
        (report, log.borrow().clone())
    };
    let syns: Vec<u8> = seen.iter().take(3).map(|packet| packet.ace).collect();
    assert_eq!(syns, [0b111, 0b111, 0]);
    let negotiation = report.ecn.expect("answered").negotiation;
    assert_eq!((negotiation.syns, negotiation.mode()), (3, Mode::None), "{negotiation:?}");
    assert!(later(&seen).all(|packet| packet.ip == Ecn::NotEct && packet.ace == 0), "{seen:?}");
}

#[test]
fn the_engine_feeds_marks_back_if_it_has_ecn() {
    let capability = |enabled: bool, echo: EcnEcho| {
        let config = config(Profile::Linux, 10).with(|c| {
            c.ecn.enabled = enabled;
            c.ecn.echo = echo;
        });
        let server = EngineServer::new(config, says(page(50_000)));
        ask(server).ecn.expect("asked")
    };
    let counts = capability(true, EcnEcho::Accurate);
    assert_eq!((counts.answer, counts.feedback), (Some(Answer::Accurate), Some(Echo::Counts)));
    let trial = counts.trial().expect("answered");
    assert!(trial.arrived.ect_0 > 0 && trial.arrived.not_ect == 0, "{trial:?}");
    assert!(trial.feedback.option_on_syn_ack, "{trial:?}");
    // EE0B begins with 1. The first 8 bytes of the request were ECT(0), and the rest was marked.
    let option = trial.feedback.option.expect("an option");
    assert!(option[0] == Some(9) && option[1] > Some(8), "{option:?}");
    let on = capability(true, EcnEcho::UntilCwr);
    assert_eq!((on.answer, on.feedback), (Some(Answer::Classic), Some(Echo::Echoes)), "{on:?}");
    let trial = on.trial().expect("answered");
    assert!(trial.arrived.ect_0 > 0 && trial.arrived.not_ect == 0, "{trial:?}");
    let off = capability(false, EcnEcho::UntilCwr);
    assert_eq!((off.answer, off.runs.len()), (Some(Answer::None), 2), "{off:?}");
}

#[test]
fn surveys_have_the_ecn_of_a_host_in_its_row() {
    let row = |script: &Script| {
        let row = HostRow::of("a.example", &ask(server(script).0));
        (row.ecn, row.ecn_feedback, row.ecn_data)
    };
    let expected = |texts: [&str; 3]| texts.map(str::to_owned).into();
    assert_eq!(row(&accurate()), expected(["accurate", "counts", "ect-0"]));
    assert_eq!(row(&Script::default()), expected(["none", "", "not-ect"]));
    let deaf = Script { deaf: u32::MAX, ..accurate() };
    assert_eq!(row(&deaf), expected(["", "", ""]), "no server was found");
}

#[test]
fn the_result_is_said_in_words() {
    let says = |script: &Script| capability(script).to_string();
    assert_eq!(
        says(&accurate()),
        "AccECN (RFC 9768); its SYN-ACK: not-ect; it counts 2 of 2 marked packets; its data packets: 1 ect-0"
    );
    assert_eq!(
        says(&Script { accurate: 0b110, ..accurate() }),
        "AccECN (RFC 9768); the SYN, sent as not-ect, arrived as ce; its SYN-ACK: not-ect; its data \
         packets: 1 ect-0"
    );
    assert_eq!(
        says(&classic()),
        "classic ECN (RFC 3168); its SYN-ACK: not-ect; it echoes marks; its data packets: 1 ect-0"
    );
    assert_eq!(
        says(&Script { accurate: 0b111, ..Script::default() }),
        "no ECN: the server reflects the flags of the SYN; its SYN-ACK: not-ect; its data packets: 1 \
         not-ect"
    );
}

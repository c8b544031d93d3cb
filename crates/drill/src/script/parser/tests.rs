use super::parse;
use crate::packet::{TcpOption, flags};
use crate::script::tree::{
    Action, Body, CallSpec, Direction, Echoed, Expression, IcmpSpec, PacketSpec, Script, TcpSpec,
    Tos, When,
};
use std::collections::BTreeMap;
use windlass_base::Span;

fn script(source: &str) -> Script {
    parse(source, &BTreeMap::new()).unwrap_or_else(|error| panic!("{source}: {error}"))
}

fn error(source: &str) -> String {
    parse(source, &BTreeMap::new()).expect_err(source).to_string()
}

fn packet(source: &str) -> PacketSpec {
    match script(source).events.remove(0).action {
        Action::Packet(packet) => packet,
        other => panic!("{other:?}"),
    }
}

fn tcp(source: &str) -> TcpSpec {
    match packet(source).body {
        Body::Tcp(tcp) => tcp,
        other => panic!("{other:?}"),
    }
}

fn call(source: &str) -> CallSpec {
    match script(source).events.remove(0).action {
        Action::Call(call) => call,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_script_has_options_commands_and_events() {
    let text = "--mss=1000 // bytes\n--define=CC=\"reno\"\n`./defaults.sh\nsysctl -q net.ipv4.tcp_ecn=3`\n\
                0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 `true`\n`end`\n";
    let script = script(text);
    assert_eq!(script.options.len(), 2);
    assert_eq!(script.init.expect("commands").text, "./defaults.sh\nsysctl -q net.ipv4.tcp_ecn=3");
    assert_eq!(script.events.len(), 2);
    assert_eq!(script.events[0].source, "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3");
    assert_eq!(script.cleanup.expect("commands").text, "end");
}

#[test]
fn times_are_absolute_relative_ranges_and_any() {
    let ms = Span::from_millis;
    let cases = [
        ("0.1", When::At(ms(100))),
        ("+.2", When::After(ms(200))),
        ("*", When::Any),
        (".2~.3", When::Between(ms(200), ms(300))),
        ("+0~+1", When::AfterBetween(Span::ZERO, Span::from_secs(1))),
    ];
    for (time, when) in cases {
        let script = script(&format!("0 > . 1:1(0)\n{time} > . 1:1(0) ack 1"));
        assert_eq!(script.events[1].when, when, "{time}");
    }
    assert_eq!(error("* < . 1:1(0) ack 1 win 5"), "1:1: the time * is for outbound packets only");
    assert_eq!(error("1~.5 > . 1:1(0)"), "1:1: this range of times ends before it begins");
    assert!(error("-1 > . 1:1(0)").starts_with("1:1: expected a time in seconds"));
}

#[test]
fn packets_have_all_their_fields() {
    let parsed = packet("0 < [ce] 5 > 80 PU.5 1:11(10) ack 7 win 8 urg 9 <mss 1460,nop,wscale 7>");
    assert_eq!(parsed.direction, Direction::Inbound);
    assert_eq!((parsed.ip.tos, parsed.ports), (Tos::Ecn(3), Some((5, 80))));
    let expected = TcpSpec {
        flags: flags::PSH | flags::URG | flags::ACK | flags::AE | flags::ECE,
        ace: true,
        seq: 1,
        len: 10,
        ack: 7,
        window: Some(8),
        urgent: 9,
        options: Some(vec![TcpOption::Mss(1460), TcpOption::Nop, TcpOption::WindowScale(7)]),
    };
    assert_eq!(parsed.body, Body::Tcp(expected));
    let ip = packet("0 > (tos 0x12, flowlabel 0x7) - 0:0(0) <...>").ip;
    assert_eq!((ip.tos, ip.flow_label), (Tos::Octet(0x12), Some(7)));
    assert_eq!(tcp("0 > - 0:0(0) <...>").options, None);
}

#[test]
fn options_have_their_parts() {
    let options = tcp("0 > . 1:1(0) <ECN e1b 1 ceb 0 e0b 5 ,nop, sack 1:2 3:4, nop,nop>").options;
    let expected = [
        TcpOption::AccEcn { ect1_first: true, counters: vec![1, 0, 5] },
        TcpOption::Nop,
        TcpOption::Sack(vec![(1, 2), (3, 4)]),
    ];
    assert_eq!(options.expect("options")[..3], expected);
    let cookie = TcpOption::FastOpen { cookie: vec![0x12, 0x34], experimental: false };
    assert_eq!(tcp("0 > S 0:0(0) <FO 1234>").options, Some(vec![cookie]));
    let timestamps = TcpOption::Timestamps { value: 100, echo: 0 };
    assert_eq!(
        tcp("0 > . 1:1(0) <nop,nop,TS val 100 ecr 0>").options.expect("options")[2],
        timestamps
    );
}

#[test]
fn icmp_messages_echo_a_packet() {
    let expected = IcmpSpec {
        kind: "unreachable".to_owned(),
        code: Some("frag_needed".to_owned()),
        mtu: Some(1200),
        id: 0,
        echoed: Echoed::Tcp(1, 1460),
    };
    let parsed = packet("0 < icmp unreachable frag_needed mtu 1200 [1:1461(1460)]").body;
    assert_eq!(parsed, Body::Icmp(expected));
    assert_eq!(
        error("0 < icmp unreachable frag_neded"),
        "1:10: the ICMP message `unreachable` has no code `frag_neded`; did you mean \"frag_needed\"?"
    );
}

#[test]
fn calls_have_structures_and_results() {
    let parsed = call(
        "0 ... 0.1 recvmsg(4, {msg_name(...)=..., msg_iov(1)=[{...,10}], msg_flags=MSG_EOR|MSG_OOB}, 0) \
         = -1 EAGAIN (Resource unavailable)",
    );
    assert_eq!(parsed.end, Some(Span::from_millis(100)));
    assert_eq!(parsed.result, Expression::Integer(-1));
    assert_eq!(
        (parsed.errno.as_deref(), parsed.note.as_deref()),
        (Some("EAGAIN"), Some("Resource unavailable"))
    );
    let Expression::Struct(fields) = &parsed.arguments[1] else { panic!("{parsed:?}") };
    assert_eq!(fields[1].name.as_deref(), Some("msg_iov"));
    assert_eq!(fields[1].len, Some(Expression::Integer(1)));
    assert_eq!(call("0 f(\"a\" \"b\"...) = 0").arguments, [Expression::Text(b"ab".to_vec())]);
}

#[test]
fn definitions_stand_for_words() {
    let text = "--define=COOKIE=12ab\n0 > S 0:0(0) <FO COOKIE>";
    let own = TcpOption::FastOpen { cookie: vec![0x12, 0xab], experimental: false };
    assert_eq!(tcp(text).options, Some(vec![own]));
    let given = BTreeMap::from([("COOKIE".to_owned(), "ffff".to_owned())]);
    let parsed = parse(text, &given).expect("a script");
    assert!(format!("{parsed:?}").contains("cookie: [255, 255]"), "{parsed:?}");
}

#[test]
fn errors_say_what_is_expected() {
    let cases = [
        (".1 f() = 0", "1:1: expected the first event at time 0"),
        (
            "0 f() = 0\n1 f() = 0\n.5 f() = 0",
            "3:1: expected a time not before that of the event before",
        ),
        ("", "1:1: expected an event, found the end of the script"),
        ("0 > S 0:1(0)", "1:7: 0:1 is not 0 bytes: expected 0:0(0)"),
        ("0 < S 0:0(0)", "1:13: expected `win` and a window: an inbound packet has one"),
        (
            "0 > S 0:0(0) <mss 1460,nop>",
            "1:14: these options take 5 bytes; expected a multiple of 4, filled with nop",
        ),
        (
            "0 > S 0:0(0) <sakOK>",
            "1:15: expected a TCP option, found `sakOK`; did you mean \"sackOK\"?",
        ),
        (
            "0 > X 0:0(0)",
            "1:5: `X` in the TCP flags `X`: expected F, S, R, P, U, E, W, A, a point, or one digit of ACE from 0 to 7",
        ),
        ("0 f(1", "1:6: expected `,` or `)`, found the end of the script"),
        ("0 f(1)\n+0 > . 1:1(0)", "2:1: expected `=` and the call's result, found `+`"),
        ("0 %{ assert }%", "1:6: expected a value in code, found the end of the statement"),
    ];
    for (source, message) in cases {
        assert_eq!(error(source), message, "{source}");
    }
    assert!(error(&format!("0 f({}", "[".repeat(500))).contains("nested too deep"));
}

use super::*;
use windlass_keys::{parse_rate, parse_size, parse_time};

/// The messages for [`GOOD`] with `from` replaced by `to`.
fn messages(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from:?} is not in the good scenario");
    match from_toml("x.toml", &GOOD.replacen(from, to, 1), &[]) {
        Ok(_) => format!("no fault found with {to:?}"),
        Err(problems) => problems.to_string(),
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn one_clear_message_for_each_mistake() {
    let cases: &[(&str, &str, &str)] = &[
        // Keys.
        (
            "duration",
            "duraton",
            "x.toml:1:1: duration: missing: expected a time such as \"94ms\" (ns, us, ms, s, min, \
             h)\nx.toml:3:1: duraton: unknown key; did you mean \"duration\"?",
        ),
        (
            "name = \"good\"",
            "",
            "x.toml:1:1: name: missing: expected a name of letters, digits and . _ - + \
 that begins with a letter or digit",
        ),
        (
            "start = ",
            "strat = ",
            "x.toml:4:39: flows.0.strat: unknown key; did you mean \"start\"?",
        ),
        ("[defaults]", "[defaults]\nfoo = 1", "x.toml:6:1: defaults.foo: unknown key"),
        (
            "kind = \"red\"",
            "kind = \"red\"\npmax = 0.1",
            "x.toml:9:1: queues.marking.pmax: unknown key; did you mean \"p_max\"?",
        ),
        // Types and units.
        (
            "\"10s\"",
            "10",
            "x.toml:3:12: duration: expected a time such as \"94ms\" (ns, us, ms, s, min, h), \
             found the bare number 10 (no unit)",
        ),
        (
            "\"1s\"",
            "\"-1s\"",
            "x.toml:4:47: flows.0.start: expected a time such as \"94ms\" (ns, us, ms, s, min, h), \
             found \"-1s\" (negative)",
        ),
        (
            "\"10Mbit/s\"",
            "\"10Mb\"",
            "x.toml:11:23: dumbbell.bottleneck.rate: expected a rate above zero such as \
             \"10Mbit/s\" (bit/s, kbit/s, Mbit/s, Gbit/s), found \"10Mb\"; did you mean \
             \"10Mbit/s\"?",
        ),
        (
            "\"10Mbit/s\"",
            "\"0bit/s\"",
            "x.toml:11:23: dumbbell.bottleneck.rate: expected a rate above zero such as \
             \"10Mbit/s\" (bit/s, kbit/s, Mbit/s, Gbit/s), found \"0bit/s\"",
        ),
        (
            "profile = \"rfc5681\"",
            "mss = 70000",
            "x.toml:6:7: defaults.mss: expected a number of bytes from 48 (40 of options, 8 of data) to 65495, found the bare \
             number 70000",
        ),
        (
            "profile = \"rfc5681\"",
            "mss = 47",
            "x.toml:6:7: defaults.mss: expected a number of bytes from 48 (40 of options, 8 of data) to 65495, found the bare \
             number 47",
        ),
        (
            "profile = \"rfc5681\"",
            "window_limit = 128",
            "x.toml:6:16: defaults.window_limit: expected a window such as \"128 segments\" or \
             \"64KiB\", found the bare number 128 (no unit)",
        ),
        (
            "profile = \"rfc5681\"",
            "max_ssthresh = \"0 segments\"",
            "x.toml:6:16: flows.0.max_ssthresh: expected from 1 to 4294967295 segments",
        ),
        (
            "profile = \"rfc5681\"",
            "ecn = \"yes\"",
            "x.toml:6:7: defaults.ecn: expected true or false, found \"yes\"",
        ),
        (
            "[defaults]",
            "udp = [{ from = \"s1\", packet_bytes = 1000, rate = \"1Mbit/s\", ecn = \"ect-1\" }]\n[defaults]",
            "x.toml:5:68: udp.0.ecn: expected an ECN codepoint, found \"ect-1\"; did you mean \
             \"ect1\"?",
        ),
        (
            "[defaults]",
            "udp = [{ from = \"s1\", packet_bytes = 1000, rate = \"1Mbit/s\", ecn = true }]\n[defaults]",
            "x.toml:5:68: udp.0.ecn: expected an ECN codepoint (\"not-ect\", \"ect0\", \"ect1\"), \
             found true",
        ),
        (
            "delay = \"5ms\"",
            "delay = \"5ms\", bleach_ect = true",
            "x.toml:11:50: dumbbell.bottleneck.bleach_ect: unknown key; did you mean \"bleach_ecn\"?",
        ),
        (
            "[queues.marking]\nkind",
            "[queues.marking]\np_max = 1.5\nkind",
            "x.toml:8:9: queues.marking.p_max: expected a probability from 0 to 1, found the bare \
             number 1.5",
        ),
        (
            "flows = [{",
            "flows = 3 #",
            "x.toml:4:9: flows: expected a list, found the bare number 3",
        ),
        // Names.
        (
            "\"rfc5681\"",
            "\"rfc5861\"",
            "x.toml:6:11: defaults.profile: expected a profile, found \"rfc5861\"; did you mean \"rfc5681\"?",
        ),
        (
            "profile = \"rfc5681\"",
            "controller = \"cubik\"",
            "x.toml:6:14: defaults.controller: expected a congestion controller, found \"cubik\"; \
             did you mean \"cubic\"?",
        ),
        (
            "profile = \"rfc5681\"",
            "controller = { beta = 16 }",
            "x.toml:6:14: defaults.controller.kind: missing: expected the kind of a congestion \
             controller (tahoe, reno, newreno, vegas, cubic, dctcp, prague, bbr, bbr3, new-ecn, constant-increase, none)",
        ),
        (
            "profile = \"rfc5681\"",
            "controller = { kind = \"bbr3\", probe_rtt_interval = \"20s\" }",
            "x.toml:6:52: flows.0.controller.probe_rtt_interval: min_rtt_filter_len must not be shorter than \
             probe_rtt_interval",
        ),
        (
            "profile = \"rfc5681\"",
            "controller = { kind = \"bbr3\", probe_rtt_interval = \"0s\" }",
            "x.toml:6:52: flows.0.controller.probe_rtt_interval: expected a time above zero",
        ),
        (
            "queue = \"marking\"",
            "queue = \"markin\"",
            "x.toml:11:58: dumbbell.bottleneck.queue: expected the name of a queue, found \"markin\"; \
             did you mean \"marking\"?",
        ),
        (
            "\"s1\"",
            "\"s2\"",
            "x.toml:4:33: flows.0.from: expected the name of a node, found \"s2\"; did you \
             mean \"s1\"?",
        ),
        (
            "[queues.marking]",
            "[queues.red]",
            "x.toml:7:1: queues.red: \"red\" is the name of a kind; choose another name\n\
             x.toml:11:58: dumbbell.bottleneck.queue: expected the name of a queue (droptail, red, \
             adaptive-red, self-configuring-red, sred, fixed-probability, codel, fq-codel, pie, \
             dualpi2, tc-red), found \"marking\"",
        ),
        (
            "start = \"1s\" }",
            "receiver = { echo_acks = 256 } }",
            "x.toml:4:64: flows.0.receiver.echo_acks: expected at most 255 ACKs",
        ),
        (
            "from = \"s1\"",
            "from = \"s1\", to = \"s1\"",
            "x.toml:4:44: flows.0.to: expected another host than the sender",
        ),
        (
            "from = \"s1\"",
            "from = \"r1\"",
            "x.toml:4:33: flows.0.from: `to` is missing: no receiver faces \"r1\" by itself",
        ),
        (
            "start = \"1s\" }",
            "start = \"1s\" }, { name = \"one\", from = \"s1\" }",
            "x.toml:4:64: flows.1.name: there is a flow \"one\" already",
        ),
        (
            "start = \"1s\" }",
            "count = 2 }, { name = \"one.2\", from = \"s1\" }",
            "x.toml:4:61: flows.1.name: there is a flow \"one.2\" already",
        ),
        (
            "name = \"good\"",
            "name = \"../good\"",
            "x.toml:2:8: name: expected a name of letters, digits and . _ - + that begins with a \
             letter or digit, found \"../good\"",
        ),
        // Times.
        (
            "duration = \"10s\"",
            "duration = \"10s\"\nsteady_from = \"10s\"",
            "x.toml:4:15: steady_from: expected a time before the end (10s), found 10s",
        ),
        (
            "\"10s\"",
            "\"0s\"",
            "x.toml:3:12: duration: expected a time above zero\n\
            x.toml:4:47: flows.0.start: expected a time before the end (0s), found 1s",
        ),
        (
            "\"1s\"",
            "\"1s\", stop = \"500ms\"",
            "x.toml:4:60: flows.0.stop: expected a time after the start (1s), found 500ms",
        ),
        (
            "\"1s\"",
            "\"10s\"",
            "x.toml:4:47: flows.0.start: expected a time before the end (10s), found 10s",
        ),
        // Settings that contradict each other.
        (
            "min = \"5 packets\"",
            "min = \"5 packets\"\nmax = \"3 packets\"",
            "x.toml:7:1: queues.marking: thresholds must satisfy 0 <= min < max",
        ),
        (
            "min = \"5 packets\"",
            "min = \"5 packets\"\nmax = \"30kB\"",
            "x.toml:10:7: queues.marking.max: expected a threshold in the unit of `min`",
        ),
        (
            "profile = \"rfc5681\"",
            "min_rto = \"61s\"",
            "x.toml:6:11: flows.0.min_rto: expected a minimum RTO not above the maximum, found 61s \
             and 60s",
        ),
        (
            "profile = \"rfc5681\"",
            "clock_tick = \"10ms\"\nclock_phase = \"10ms\"",
            "x.toml:7:15: flows.0.clock_phase: expected less than a tick (10ms), found 10ms",
        ),
        (
            "profile = \"rfc5681\"",
            "window_limit = \"1000B\"",
            "x.toml:6:16: flows.0.window_limit: expected at least one segment (1460 bytes)",
        ),
        (
            "[{ name = \"one\", from = \"s1\", start = \"1s\" }]",
            "[]",
            "x.toml:3:12: flows: missing: expected at least one flow",
        ),
        ("schema = 1", "schema = 3", "x.toml:1:10: schema: expected 1 or 2, found 3"),
        (
            "[dumbbell]",
            "[parking_lot]",
            "x.toml:10:1: parking_lot.hops: missing: expected a whole number from 1 to 4294967295\n\
             x.toml:12:10: parking_lot.access: expected a table, found a list",
        ),
        (
            "access = ",
            "receivers = ",
            "x.toml:10:1: dumbbell: `access` is missing: expected a link \
            for each sender",
        ),
        // Syntax.
        (
            "name = \"good\"",
            "name = good",
            "x.toml:2:8: string values must be quoted, expected \
            literal string",
        ),
        ("name = \"good\"", "schema = 1", "x.toml:2:1: schema is there already"),
    ];
    let differing: Vec<String> = cases
        .iter()
        .map(|(from, to, expected)| (messages(from, to), expected))
        .filter(|(found, expected)| found != *expected)
        .map(|(found, expected)| format!("found:    {found}\nexpected: {expected}"))
        .collect();
    assert!(differing.is_empty(), "{}", differing.join("\n\n"));
}

/// One problem, with the whole message, for each.
#[test]
fn frequent_mistakes_get_one_message_with_a_remedy() {
    let cases: &[(&str, &str, &str)] = &[
        // A key of the document behind a table header belongs to that table.
        (
            "profile = \"rfc5681\"",
            "flows = []",
            "x.toml:6:1: defaults.flows: `flows` is not a key of `defaults`: move it above the first \
             [table] of the file",
        ),
        (
            "duration = \"10s\"\nflows = [{ name = \"one\", from = \"s1\", start = \"1s\" }]\n[defaults]",
            "flows = [{ from = \"s1\" }]\n[defaults]\nduration = \"10s\"",
            "x.toml:5:1: defaults.duration: `duration` is not a key of `defaults`: move it above the \
             first [table] of the file",
        ),
        (
            "schema = 1\n",
            "",
            "x.toml:1:1: schema: missing: expected `schema = 2`, the version of the format",
        ),
        (
            "schema = 1",
            "schema = \"1\"",
            "x.toml:1:10: schema: expected `schema = 2`, the version of the format, found \"1\"",
        ),
        // A name that is suggested is not listed as well.
        (
            "from = \"s1\"",
            "from = \"S1\"",
            "x.toml:4:33: flows.0.from: expected the name of a node, found \"S1\"; did you mean \
             \"s1\"?",
        ),
        (
            "from = \"s1\"",
            "from = \"nowhere\"",
            "x.toml:4:33: flows.0.from: expected the name of a node (r1, d, s1), found \"nowhere\"",
        ),
        (
            "[dumbbell]\nbottleneck = { rate = \"10Mbit/s\", delay = \"5ms\", queue = \"marking\" }\n\
             access = [{ rate = \"100Mbit/s\", delay = \"1ms\" }]",
            "",
            "x.toml:1:10: no topology: expected `dumbbell`, `parking_lot`, `leaf_spine`, `fat_tree`, or \
             `nodes` and `links`",
        ),
        // Near misses of keys, kinds and controllers, in capitals too.
        (
            "[dumbbell]",
            "[dumbell]",
            "x.toml:10:2: dumbell: unknown key; did you mean \"dumbbell\"?",
        ),
        ("[queues.", "[queue.", "x.toml:7:2: queue: unknown key; did you mean \"queues\"?"),
        (
            "start = ",
            "Start = ",
            "x.toml:4:39: flows.0.Start: unknown key; did you mean \"start\"?",
        ),
        (
            "kind = \"red\"",
            "kind = \"rde\"",
            "x.toml:8:8: queues.marking.kind: expected a queue discipline, found \"rde\"; did you mean \
             \"red\"?",
        ),
        (
            "profile = \"rfc5681\"",
            "controller = \"CUBIC\"",
            "x.toml:6:14: defaults.controller: expected a congestion controller, found \"CUBIC\"; did \
             you mean \"cubic\"?",
        ),
    ];
    for (from, to, expected) in cases {
        assert_eq!(messages(from, to), *expected);
    }
}

#[test]
fn names_that_stand_twice_are_listed_once() {
    let text = "schema = 1\nname = \"x\"\nduration = \"1s\"\nnodes = [\"a\", \"b\", \"a\"]\n\
                links = [{ a = \"a\", b = \"there\", delay = \"1ms\" }]\n\
                flows = [{ from = \"a\", to = \"b\" }]";
    let problems = from_toml("x.toml", text, &[]).expect_err("two mistakes").to_string();
    assert!(problems.contains("the name of a node (a, b), found \"there\""), "{problems}");
}

#[test]
fn a_wrong_unit_gets_the_right_one_suggested() {
    let hint = |result: Result<(), String>| {
        let message = result.expect_err("a wrong unit");
        message.split_once("; did you mean ").map(|(_, hint)| hint.to_owned())
    };
    let rate = |text| hint(parse_rate(text).map(|_| ()));
    let time = |text| hint(parse_time(text).map(|_| ()));
    let size = |text| hint(parse_size(text).map(|_| ()));
    let some = |text: &str| Some(format!("{text:?}?"));
    for text in ["10Mbps", "10mbps", "10 Mb/s", "10Mbit", "10Mbits/s", "10mbit/s", "10M"] {
        assert_eq!(rate(text), some("10Mbit/s"), "{text}");
    }
    assert_eq!(rate("2.5gbps"), some("2.5Gbit/s"));
    assert_eq!(time("1 sec"), some("1s"));
    assert_eq!(time("20MS"), some("20ms"));
    assert_eq!(size("64KIB"), some("64KiB"));
    assert_eq!(size("64 bytes"), some("64B"));
    // Bytes are not bits, and what is no number has no unit.
    for text in ["10MBps", "10MB/s", "10", "fast", ".Mbps", "1.Mbps"] {
        assert_eq!(rate(text), None, "{text}");
    }
}

#[test]
fn several_mistakes_are_reported_at_once_in_the_order_of_the_file() {
    let text = GOOD.replace("10s", "10").replace("rfc5681", "rfc").replace("5ms", "5");
    let problems = from_toml("x.toml", &text, &[]).expect_err("three mistakes");
    let keys: Vec<_> = problems.list().iter().map(|problem| problem.key.as_str()).collect();
    assert_eq!(keys, ["duration", "defaults.profile", "dumbbell.bottleneck.delay"]);
}

#[test]
fn a_mistake_in_the_defaults_is_reported_once_for_all_flows() {
    let text = GOOD
        .replace("profile = \"rfc5681\"", "min_rto = \"61s\"")
        .replace("start = \"1s\" }", "start = \"1s\" }, { from = \"s1\" }");
    let problems = from_toml("x.toml", &text, &[]).expect_err("one mistake");
    assert_eq!(problems.list().len(), 1, "{problems}");
}

#[test]
fn overrides_that_are_wrong_are_named() {
    let cases: &[(&str, &str)] = &[
        (
            "flows.0.start=10",
            "--set flows.0.start=10: flows.0.start: expected a time such as \"94ms\" (ns, us, ms, \
             s, min, h), found the bare number 10 (no unit)",
        ),
        (
            "flows.1.start=1s",
            "--set flows.1.start=1s: flows.1.start: expected the index of an item, from 0 to 0, \
             found \"1\"",
        ),
        ("duration", "--set duration: expected key=value"),
        ("durtion=1s", "--set durtion=1s: durtion: unknown key; did you mean \"duration\"?"),
        ("name='x", "--set name='x: name: 'x is not a TOML value"),
        (
            "schema.x=1",
            "--set schema.x=1: schema.x: \"x\" asks for a table or a list, found the bare number 1",
        ),
    ];
    for (argument, expected) in cases {
        let problems = from_toml("x.toml", GOOD, &[(*argument).to_owned()]);
        assert_eq!(problems.expect_err(argument).to_string(), *expected);
    }
}

#[test]
fn explicit_topologies_are_checked() {
    let text = r#"schema = 1
name = "explicit"
duration = "1s"
nodes = ["a", "b", "c", "d"]
links = [
  { a = "a", b = "b", delay = "1ms" },
  { a = "c", b = "d", delay = "1ms" },
]
flows = [{ from = "a", to = "b" }]
"#;
    let cases: &[(&str, &str, &str)] = &[
        ("to = \"b\"", "to = \"c\"", "x.toml:9:29: flows.0.to: no links lead from \"a\" to \"c\""),
        (
            "b = \"d\"",
            "b = \"e\"",
            "x.toml:7:18: links.1.b: expected the name of a node (a, b, c, d), found \"e\"",
        ),
        ("b = \"b\"", "b = \"a\"", "x.toml:6:18: links.0.b: a link needs two different ends"),
        ("\"d\"]", "\"a\"]", "x.toml:4:25: nodes.3: there is a node \"a\" already"),
        (
            "a = \"c\", b = \"d\"",
            "a = \"a\", b = \"b\"",
            "x.toml:7:3: links.1: there is a link \"a-b\" already",
        ),
        (
            "duration",
            "bottleneck = \"a-c\"\nduration",
            "x.toml:3:14: bottleneck: expected the name of a link, found \"a-c\"; did you \
             mean \"a-b\"?",
        ),
        (
            "flows",
            "dumbbell = { bottleneck = { delay = \"1ms\" }, access = [{ delay = \"1ms\" }] }\nflows",
            "x.toml:6:3: links.0: a second topology: expected one of `dumbbell`, `parking_lot`, \
             `leaf_spine`, `fat_tree` and `links`",
        ),
    ];
    for (from, to, expected) in cases {
        let problems = from_toml("x.toml", &text.replacen(from, to, 1), &[]).expect_err(to);
        let first = problems.list()[0].to_string();
        assert_eq!(first, *expected, "{problems}");
    }
}

#[test]
fn json_faults_have_a_key_but_no_line() {
    let json = serde_json::json!({ "schema": 1, "name": "x", "duration": null, "flows": [] });
    let problems = Registry::default().read_json("line 7", &json, &[]).expect_err("no duration");
    let expected = "line 7: duration: expected a time such as \"94ms\" (ns, us, ms, s, min, h), \
                    found null";
    assert_eq!(problems.to_string(), expected);
}

#[test]
fn a_proxy_needs_a_node_and_other_hosts_to_serve() {
    let read = |keys: &str| {
        let proxy = format!("[[middleboxes]]\nkind = \"ecn-proxy\"\n{keys}");
        from_toml("x.toml", &format!("{GOOD}\n{proxy}"), &[]).map_err(|p| p.to_string())
    };
    let message = |keys: &str| read(keys).map(|_| ()).expect_err("a fault");
    assert!(message("node = \"nowhere\"\nserved = [\"s1\"]").contains("found \"nowhere\""));
    assert!(message("node = \"r1\"\nserved = []").contains("at least one host"));
    assert!(message("node = \"r1\"\nserved = [\"r1\"]").contains("behind the proxy"));
    let wrong = message("node = \"r1\"\nserved = [\"s1\"]\npolicy = \"no-etc\"");
    assert!(wrong.contains("did you mean \"no-ect\"?"), "{wrong}");
    for key in ["without_sack", "fallback"] {
        let paper =
            format!("node = \"r1\"\nserved = [\"s1\"]\npolicy = \"duplicate-acks\"\n{key} = true");
        let wrong = message(&paper);
        assert!(wrong.contains(&format!("{key}: the paper's proxy has no such")), "{wrong}");
    }
    let scenario = read("node = \"r1\"\nserved = [\"s1\"]").expect("no fault").scenario;
    assert_eq!(scenario.middleboxes.len(), 1);
}

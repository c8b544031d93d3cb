"""The testbed's data: what needs neither root nor a network."""

import dataclasses
import json
import time

import pytest

from windlass_lab.cli import main
from windlass_lab.core.binary.windlass import read_series
from windlass_lab.core.errors import LabError, RunError
from windlass_lab.testbed import flows, link_log, load, names, remove, results, tou, trace, units
from windlass_lab.testbed import run as testbed_run
from windlass_lab.testbed.dumbbell import dumbbell, emulated_dumbbell
from windlass_lab.testbed.sample import Sample, parse_line
from windlass_lab.testbed.validate import validate

FILE = """
schema = 1
name = "pair"
duration = "4s"
steady_from = "1s"
nodes = ["s", { name = "r", sysctls = { "net.ipv4.tcp_ecn" = 1 } }]

[[links]]
a = { node = "s", addresses = ["10.0.0.1/24"], shaper = { rate = "10Mbit/s", limit = "30kB" } }
b = { node = "r", addresses = ["10.0.0.2/24"], offloads = { gro = false } }

[[flows]]
name = "one"
from = "s"
to = "r"
controller = "reno"
start = "500ms"
"""

TOU_FILE = FILE.replace(
    'controller = "reno"',
    """controller = "new-ecn"
app = "tou"
mss = 468
rtt_min_ms = 4
client_options = ["--ecn"]
server_options = ["--ecn-echo", "once-per-ce"]""",
)


def planned(experiment, folder):
    """The first flow's programs."""
    flow = dataclasses.replace(experiment.flows[0], stop_s=experiment.duration_s)
    return flows.plan(flow, 0, "wlab-1-1-00abcd", experiment.topology, folder / "flow-0")


def sample(**changed) -> Sample:
    plain = Sample(0, 10_000, 1, "reno", 8, 1000, 20_000, 10, 5, 0, 0, 15_000, 0, 0, 0)
    return plain._replace(**changed)


class TestFile:
    def test_every_key_arrives(self):
        experiment = load.parse(FILE)
        link = experiment.topology.links[0]
        assert (experiment.duration_s, experiment.steady_from_s) == (4.0, 1.0)
        assert link.a.shaper.rate_bps == 10e6
        assert link.a.shaper.limit_bytes == 30_000
        assert link.b.offloads == {"gro": False}
        assert experiment.topology.nodes[1].sysctls == {"net.ipv4.tcp_ecn": 1}
        assert (experiment.flows[0].source, experiment.flows[0].start_s) == ("s", 0.5)

    @pytest.mark.parametrize(
        ("old", "new", "complaint"),
        [
            ("schema = 1", "schema = 2", "schema: expected 1"),
            ('to = "r"', 'to = "x"', "flow one: to: there is no node x"),
            ('controller = "reno"', "", r"flows\[0\].controller: is missing"),
            ('start = "500ms"', "start = 5", r"flows\[0\].start: expected a time"),
            ('start = "500ms"', 'start = "9s"', "flow one: start"),
            ("gro = false", "gro = 0", r"links\[0\].b.offloads.gro: expected true or false"),
            ("limit =", "limits =", r"links\[0\].a.shaper.limits: no such key"),
            ("net.ipv4.tcp_ecn", "net.core.rmem_max", "use net.ipv4.tcp_rmem"),
            ("net.ipv4.tcp_ecn", "kernel.panic", "only net"),
            ("net.ipv4.tcp_ecn", "net/../kernel/panic", "only net|no such name"),
            ('"10Mbit/s"', '"10Mbit"', "expected a rate"),
            ('name = "r"', 'name = "../r"', "a name has"),
        ],
    )
    def test_a_fault_names_its_place(self, old, new, complaint):
        with pytest.raises(ValueError, match=complaint):
            load.parse(FILE.replace(old, new))

    def test_a_file_that_is_not_there(self, tmp_path):
        with pytest.raises(LabError, match="cannot read"):
            load.load(tmp_path / "none.toml")

    def test_the_files_of_the_repository_can_be_read(self, repository):
        files = list((repository / "lab/testbeds").glob("*.toml"))
        assert files
        for file in files:
            assert load.load(file).flows

    def test_quantities(self):
        assert units.seconds("2.5ms") == 0.0025
        assert units.octets("64KiB") == 65_536
        with pytest.raises(ValueError, match="expected a time"):
            units.seconds(5)


class TestDumbbell:
    def test_is_the_papers(self):
        experiment = emulated_dumbbell("new_ecn", ecn=True)
        validate(experiment)
        assert [flow.rtt_min_ms for flow in experiment.flows] == [190, 70, 30, 4]
        assert {flow.controller for flow in experiment.flows} == {"new_ecn"}
        assert all(node.sysctls["net.ipv4.tcp_ecn"] == 1 for node in experiment.topology.nodes)
        # The sum of the delays of a path and back is the flow's RTT.
        link = experiment.programs[0].files["link.toml"]
        assert link.count('up = { delay = "94ms" }') == 1

    def test_without_a_link_program(self):
        experiment = dumbbell("reno", flows=3, rate_bps=20e6)
        validate(experiment)
        shapers = [link.a.shaper for link in experiment.topology.links if link.a.shaper]
        assert [shaper.rate_bps for shaper in shapers] == [20e6]
        assert len(experiment.flows) == 3


class TestNames:
    def test_a_living_process_is_not_stale(self):
        run = names.new_run()
        assert not names.is_stale(names.namespace(run, "s1"))
        assert run != names.new_run()

    def test_a_process_id_that_another_has_now_is(self):
        prefix, pid, start, token = names.new_run().split("-")
        assert names.is_stale("-".join((prefix, pid, str(int(start) + 1), token, "s1")))

    def test_what_others_made_never_is(self):
        for name in ("blue", "wlab", "wlab-x-1-abcdef-s1", "wlab-1-1"):
            assert not names.is_stale(name)

    def test_a_mark_in_the_environment_of_processes_is_read(self, monkeypatch, tmp_path):
        (tmp_path / "environ").write_bytes(b"A=1\0WINDLASS_TESTBED=run-7\0B=2\0")
        assert remove._run_of(tmp_path) == "run-7"
        assert remove._run_of(tmp_path / "gone") == ""


class TestSeries:
    def test_is_read_like_the_simulators(self, tmp_path):
        experiment = load.parse(FILE)
        samples = [
            sample(time_ns=1_000_000_000, ssthresh=0x7FFFFFFF, srtt_us=0),
            sample(time_ns=1_010_000_000, bytes_acked=2500, cwnd=7),
            sample(time_ns=1_020_000_000, bytes_acked=2500, cwnd=7),
        ]
        rows = results.rows_of_samples(samples, 500_000_000)
        flow = results.flow_summary(
            dataclasses.replace(experiment.flows[0], stop_s=4.0), samples, rows, experiment
        )
        (tmp_path / "flow-one.csv").write_text(results.as_csv(rows))
        summary = results.summary(experiment, [flow], {})
        (tmp_path / "summary.json").write_text(json.dumps(summary))
        columns = results.COLUMNS[1:]
        (series,) = read_series(tmp_path, columns)
        assert (series.name, series.controller, series.rtt_min_ms) == ("one", "reno", 15.0)
        # A sample without a change makes no row.
        assert series.time_s == [0.5, 0.51]
        assert series.columns == {
            "cwnd_packets": [5, 7],
            "ssthresh_packets": [None, 10],
            "srtt_ms": [None, 20],
            "slope": [None, None],
            "acked_packets": [0, 2.5],
        }

    def test_rates_and_means(self):
        experiment = load.parse(FILE)
        samples = [
            sample(time_ns=0, cwnd=10),
            sample(time_ns=1_000_000_000, cwnd=20, bytes_acked=1_000_000),
            sample(time_ns=2_000_000_000, cwnd=40, bytes_acked=4_000_000),
            # After the end, while the connection closes.
            sample(time_ns=4_500_000_000, cwnd=99, bytes_acked=9_000_000),
        ]
        rows = results.rows_of_samples(samples, 0)
        flow = results.flow_summary(experiment.flows[0], samples, rows, experiment)
        assert flow["packets_per_s"] == {"whole_run": 1000, "steady": 1000}
        assert flow["cwnd_packets"]["time_mean"] == (10 + 20 + 2 * 40) / 4
        assert flow["cwnd_packets"]["time_mean_steady"] == (20 + 2 * 40) / 3
        assert flow["ecn"] is True

    def test_fairness(self):
        experiment = load.parse(FILE)
        rates = [{"packets_per_s": {"whole_run": r, "steady": 1.0}} for r in (3.0, 1.0)]
        summary = results.summary(experiment, rates, {})
        assert summary["fairness_index"] == {"whole_run": 16 / 20, "steady": 1.0}
        assert summary["total_packets_per_s"]["whole_run"] == 4

    def test_of_two_connections_the_one_that_moved_data_counts(self):
        found = [sample(cookie=1, bytes_acked=100), sample(cookie=2, bytes_acked=900)]
        assert [s.cookie for s in results.of_flow(found, 10_000)] == [2]
        assert results.of_flow(found, 10_001) == []

    def test_a_sample_survives_its_line(self):
        written = sample(bytes_acked=1 << 40)
        assert parse_line(" ".join(map(str, written))) == written
        with pytest.raises((ValueError, TypeError)):
            parse_line("1 2 3 reno 4")


class TestSlope:
    def test_the_series_has_it_where_there_is_one(self):
        rows = results.rows_of_samples([sample(slope_32=3 << 31), sample(time_ns=5, cwnd=6)], 0)
        lines = results.as_csv(rows).splitlines()
        assert [line.split(",")[4] for line in lines] == ["slope", "1.5", ""]

    def test_a_sample_brings_it_along(self):
        written = sample(slope_32=3 << 31)
        assert parse_line(" ".join(map(str, written))) == written


class TestLinkLog:
    LOG = (
        "time_s,port,direction,queue_packets,average_queue,queue_bytes,arrived,marked,dropped,lost,"
        "duplicated,corrupted,delivered,delivered_bytes\n"
        "10.0,r,down,0,0.5,0,5,0,0,0,0,0,5,500\n"
        "10.0,r,up,0,,0,0,0,0,0,0,0,0,0\n"
        "12.0,r,down,4,1.5,400,105,7,2,0,0,0,95,9500\n"
        "12.0,r,up,0,,0,0,0,0,0,0,0,0,0\n"
        "14.0,r,down,2,2.5,200,205,9,2,0,0,0,195,19500\n"
        "14.0,r,up,0,,0,0,0,0,0,0,0,0,0\n"
    )

    def test_is_a_queue_of_the_simulator(self, tmp_path):
        log = tmp_path / "link.csv"
        log.write_text(self.LOG)
        # It ended 3 s after the experiment began: its time 11 is the experiment's 0.
        states = link_log.read(log, "r", "down", 3.0)
        queue = link_log.summary("r", "down", states, 3.0, 2.0)
        assert [state.time_s for state in states] == [-1, 1, 3]
        assert (queue["arrived"], queue["sent"], queue["sent_bytes"]) == (200, 190, 19_000)
        assert (queue["marks"], queue["drops"], queue["max_packets"]) == (9, 2, 4)
        assert queue["mean_packets"] == {"whole_run": 4.0, "steady": 4.0}
        assert link_log.as_csv(states).splitlines() == [
            "time_s,queue_packets,average_queue",
            "1.000000000,4,1.5",
            "3.000000000,2,2.5",
        ]
        assert results.summary(load.parse(FILE), [], {}, [queue])["marks"] == 9

    def test_a_path_that_is_not_in_it(self, tmp_path):
        log = tmp_path / "link.csv"
        log.write_text(self.LOG)
        with pytest.raises(RunError, match="no path s1/down"):
            link_log.read(log, "s1", "down", 3.0)
        with pytest.raises(RunError, match="cannot read"):
            link_log.read(tmp_path / "none.csv", "r", "down", 3.0)


class TestProbe:
    LINE = (
        "          <idle>-0       [001] ..s2. 71522.014216: tcp_probe: family=AF_INET "
        "src=10.0.1.1:14321 dest=10.0.3.2:5201 mark=0x0 data_len=0 snd_nxt=0xf0 "
        "snd_una={una:#x} snd_cwnd=12 ssthresh=2147483647 snd_wnd=65536 srtt=1500 "
        "rcv_wnd=64256 sock_cookie=1a skbaddr=0000000000000000 skaddr=0000000000000000\n"
    )

    def test_a_line_of_the_trace(self):
        probe = trace.parse_line(self.LINE.format(una=0x10))
        assert probe == trace.Probe(71_522_014_216_000, 26, 0x10, 12, 2147483647, 1500)
        assert trace.parse_line("CPU:0 [LOST 12 EVENTS]\n") is None

    def test_sequence_numbers_wrap(self):
        unas = (0xFFFFFF00, 0x0000_0100)
        probes = [trace.parse_line(self.LINE.format(una=una)) for una in unas]
        first, second = results.rows_of_probes(probes, 512, 71_522_000_000_000)
        assert (first.acked_packets, second.acked_packets) == (0, 1)
        assert first.time_s == pytest.approx(0.014216)
        assert first.ssthresh_packets is None


class TestFlows:
    def test_the_controller_and_the_ports_are_the_flows_own(self, tmp_path):
        experiment = load.parse(FILE)
        flow = dataclasses.replace(experiment.flows[0], stop_s=2.5, mss=472)
        plan = flows.plan(flow, 3, "wlab-1-1-00abcd", experiment.topology, tmp_path)
        words = " ".join(plan.client.command)
        assert f"--cport {plan.port}" in words
        assert "--client 10.0.0.2" in words
        assert "--congestion reno --time 2 " in words
        assert words.endswith("--set-mss 472")

    def test_a_flow_of_tou_has_the_options_of_both_ends(self, tmp_path):
        experiment = load.parse(TOU_FILE)
        plan = planned(experiment, tmp_path)
        server, client = (" ".join(job.command) for job in (plan.server, plan.client))
        assert server.startswith("{windlass} tou perf server --port 5201 --one-off")
        assert server.endswith("--ecn-echo once-per-ce")
        assert "tou perf client 10.0.0.2:5201 --time 3.5 --json --cc new-ecn" in client
        assert client.endswith("--mss 468 --ecn")
        assert not plan.is_kernels

    def test_options_of_tou_are_for_tou_alone(self):
        with pytest.raises(ValueError, match="go with app = 'tou' alone"):
            load.parse(TOU_FILE.replace('"tou"', '"iperf3"'))

    def test_what_iperf3_complains_of_is_reported(self, tmp_path):
        experiment = load.parse(FILE)
        flow = dataclasses.replace(experiment.flows[0], stop_s=2.0)
        plan = flows.plan(flow, 0, "wlab-1-1-00abcd", experiment.topology, tmp_path)
        assert flows.complaint(plan, '{"error": "unable to connect"}') == "unable to connect"
        assert flows.complaint(plan, "") == "no message"


class TestTou:
    TRACE = (
        "time_s,stream,cwnd_bytes,ssthresh_bytes,srtt_ms,in_flight_bytes,acked_bytes,"
        "retransmitted_segments\n"
        "0.000000000,0,4560,,,0,0,0\n"
        "1.000000000,0,4560,9120,20.5,456,45600,0\n"
        "3.000000000,0,9120,9120,21,456,137256,1\n"
    )

    def read(self, folder, report: dict) -> tuple:
        experiment = load.parse(TOU_FILE)
        plan = planned(experiment, folder)
        flows.trace_of(plan.folder).write_text(self.TRACE)
        start_ns = time.monotonic_ns() - 4_000_000_000
        return tou.read(plan, json.dumps(report), start_ns, experiment)

    def test_the_report_and_the_trace_are_a_flow_of_the_simulator(self, tmp_path):
        sender = {
            **dict.fromkeys(("timeouts", "fast_retransmits"), 0),
            **{"mss": 456, "bytes": 137256, "ecn": True, "ecn_cuts": 2},
            "retransmitted_segments": 1,
        }
        ends = {"sender": {"streams": [sender]}, "receiver": {"streams": [{"ce_received": 7}]}}
        rows, summary = self.read(tmp_path, {"test": {"controller": "new-ecn"}, **ends})
        # The last sample was written now, four seconds after the start.
        first, second, last = rows
        assert first.time_s == pytest.approx(1.0, abs=0.5)
        assert (second.cwnd_packets, second.ssthresh_packets, second.srtt_ms) == (10, 20, 20.5)
        assert (first.ssthresh_packets, first.srtt_ms, last.acked_packets) == (None, None, 301)
        assert (summary["ecn"], summary["marks"], summary["packet_bytes"]) == (True, 7, 456)
        assert summary["packets_per_s"]["whole_run"] > 0
        assert summary["rtt_min_ms"] == 4

    def test_a_client_that_reported_nothing_is_an_error_of_the_run(self, tmp_path):
        with pytest.raises(RunError, match="flow one: no report of ToU"):
            self.read(tmp_path, {})


class TestCommand:
    def test_help_has_examples(self, capsys):
        for arguments in (["testbed", "--help"], ["testbed", "run", "--help"]):
            with pytest.raises(SystemExit):
                main(arguments)
            assert "windlass-lab testbed run FILE" in capsys.readouterr().out

    def test_a_fault_in_the_file_is_one_line(self, tmp_path, capsys):
        file = tmp_path / "bad.toml"
        file.write_text("schema = 1\n")
        assert main(["testbed", "run", str(file), "--out", str(tmp_path / "out")]) == 2
        assert capsys.readouterr().err.count("\n") == 1
        assert not (tmp_path / "out").exists()

    def test_without_root_it_says_so_in_one_line(self, tmp_path, capsys, monkeypatch):
        monkeypatch.setattr("windlass_lab.testbed.check.is_root", lambda: False)
        file = tmp_path / "pair.toml"
        file.write_text(FILE)
        assert main(["testbed", "run", str(file), "--out", str(tmp_path / "out")]) == 2
        error = capsys.readouterr().err
        assert "needs root" in error
        assert error.count("\n") == 1
        assert main(["testbed", "check"]) == 1
        assert "root (CAP_NET_ADMIN" in capsys.readouterr().out

    def test_resume_leaves_out_whole_runs_of_this_experiment(self, tmp_path, monkeypatch, capsys):
        file = tmp_path / "pair.toml"
        file.write_text(FILE)
        ran = []

        def fake(experiment, out, _progress, _windlass, digest):
            ran.append(out)
            out.mkdir(exist_ok=True)
            summary = results.summary(experiment, [], {"experiment_sha256": digest})
            (out / testbed_run.SUMMARY).write_text(json.dumps(summary))

        monkeypatch.setattr(testbed_run, "run", fake)
        command = ["testbed", "run", str(file), "--out", str(tmp_path / "out"), "--resume"]
        assert [main(command), main(command)] == [0, 0]
        assert len(ran) == 1
        # Of another length it is another experiment.
        assert main([*command, "--time", "3"]) == 0
        assert len(ran) == 2

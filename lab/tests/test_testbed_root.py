"""The testbed on this machine's kernel. Needs root and iperf3; otherwise each test skips."""

import contextlib
import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from windlass_lab.core.binary.locate import find_windlass
from windlass_lab.core.binary.windlass import read_series
from windlass_lab.core.errors import LabError, RunError
from windlass_lab.testbed import check, remove, results, run
from windlass_lab.testbed.bed import Testbed
from windlass_lab.testbed.dumbbell import dumbbell, emulated_dumbbell
from windlass_lab.testbed.topology import End, Flow, Link, Node, Program, Route, Topology, Tun

_MISSING = [line for needed, line in check.missing() if needed]
_MISSING += [] if shutil.which("ip") else ["ip (iproute2) is missing"]
pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(bool(_MISSING), reason=f"testbed: {'; '.join(_MISSING)}"),
]
needs_iperf3 = pytest.mark.skipif(not shutil.which("iperf3"), reason="iperf3 is missing")

PAIR = Topology(
    nodes=[Node("a", {"net.ipv4.tcp_rmem": "4096 65536 65536"}), Node("b")],
    links=[
        Link(
            End("a", ["10.0.0.1/24", "fd00::1/64"], offloads={"tso": False, "gro": True}),
            End("b", ["10.0.0.2/24", "fd00::2/64"], device="up"),
            mtu=1400,
        )
    ],
    tuns=[Tun("b", "tun0", ["10.9.0.1/24"])],
    routes=[
        Route("a", to="10.9.0.0/24", via="10.0.0.2", controller="cubic"),
        Route("a", to="fd01::/64", via="fd00::2"),
        Route("b", to="10.8.0.0/16", device="tun0"),
    ],
)
# A run in a process of its own, which a signal ends.
HOLDING = """
import sys, time
from pathlib import Path
from windlass_lab.cli import _terminate
from windlass_lab.testbed.bed import Testbed
from windlass_lab.testbed.topology import *
import signal
signal.signal(signal.SIGTERM, _terminate)
outside = Program("outside", ["sh", "-c", "sleep 600 & sleep 600"])
with Testbed(Topology([Node("a"), Node("b")], [Link(End("a"), End("b"))]), [outside]) as bed:
    bed.start("inside", "a", ["sleep", "600"])
    print(bed.run, flush=True)
    time.sleep(600)
"""


def printed(bed: Testbed, node: str, *command: str) -> str:
    """The output of a command in a node, which must succeed."""
    with bed.log("printed").open("w") as out:
        status = bed.start("printed", node, command, stdout=out, stderr=out).wait(10)
    text = bed.log("printed").read_text()
    assert status == 0, text
    return text


def left_of(run_: str) -> list[str]:
    """Namespaces, scratch directory and processes of a run."""
    names = [path.name for path in remove._listed(remove.NETNS) if path.name.startswith(run_)]
    names += [str(remove.scratch(run_))] if remove.scratch(run_).exists() else []
    return names + [str(p) for p in remove._processes(lambda name: name == run_, set())]


@contextlib.contextmanager
def holding():
    """A run that stands, in a process of its own: the process and the run's name."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDING], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        name = process.stdout.readline().strip()
        assert name, process.stderr.read()
        yield process, name
    finally:
        process.kill()
        process.communicate()
        remove.sweep()


def test_a_topology_is_built_as_described_and_removed():
    with Testbed(PAIR) as bed:
        link = json.loads(printed(bed, "a", "ip", "-json", "addr", "show", "dev", "b"))[0]
        assert link["mtu"] == 1400
        assert {a["local"] for a in link["addr_info"]} >= {"10.0.0.1", "fd00::1"}
        printed(bed, "a", "ping", "-c", "1", "-W", "5", "10.9.0.1") if shutil.which(
            "ping"
        ) else None
        assert "congctl cubic" in printed(bed, "a", "ip", "route", "show", "10.9.0.0/24")
        assert "dev tun0" in printed(bed, "b", "ip", "route", "show", "10.8.0.0/16")
        assert printed(bed, "a", "cat", "/proc/sys/net/ipv4/tcp_rmem").split()[2] == "65536"
        # Not the machine's: BBR, say, whose pacing stays when a program asks for another one.
        assert printed(bed, "b", "cat", "/proc/sys/net/ipv4/tcp_congestion_control") == "reno\n"
        name = bed.run
        assert left_of(name)
    assert left_of(name) == []


def test_two_side_by_side_do_not_meet():
    with Testbed(PAIR) as one, Testbed(PAIR) as other:
        printed(one, "b", "ip", "link", "set", "dev", "up", "down")
        link = json.loads(printed(other, "b", "ip", "-json", "link", "show", "dev", "up"))[0]
        assert "UP" in link["flags"]
        one.close()
        assert left_of(one.run) == []
        assert len(left_of(other.run)) >= 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_leaves_nothing(number):
    with holding() as (process, name):
        process.send_signal(number)
        process.wait(20)
        assert left_of(name) == []


def test_what_a_killed_run_left_the_next_one_removes():
    with holding() as (process, name):
        process.kill()
        process.wait()
        assert left_of(name)
        with Testbed(Topology([Node("a")])):
            assert left_of(name) == []


def test_a_run_that_lives_is_left_alone():
    with holding() as (process, name):
        remove.sweep()
        assert process.poll() is None
        assert len(left_of(name)) >= 4


@pytest.mark.parametrize(
    ("topology", "complaint"),
    [
        (
            Topology([Node("a", {"net.ipv4.no_such": 1})]),
            "node a: sysctl net.ipv4.no_such: No such file",
        ),
        (
            Topology([Node("a"), Node("b")], [Link(End("a", ["10.0.0.1"]), End("b"))]),
            "node a: device b: address 10.0.0.1: expected a prefix length",
        ),
        (
            Topology([Node("a"), Node("b")], [Link(End("a", offloads={"warp": True}), End("b"))]),
            "no feature warp",
        ),
        (Topology([Node("a")], routes=[Route("a", via="10.0.0.9")]), "node a: route to default"),
    ],
)
def test_what_cannot_be_built_is_one_line_and_leaves_nothing(topology, complaint):
    bed = Testbed(topology)
    with pytest.raises(RunError, match=complaint) as raised, bed:
        pass
    assert "\n" not in str(raised.value)
    assert left_of(bed.run) == []


def test_a_program_that_ends_early_is_reported_with_its_last_words():
    failing = Program("link", ["sh", "-c", "echo no luck >&2; exit 3"], ready=["a/tun9"])
    bed = Testbed(Topology([Node("a")]), [failing])
    with pytest.raises(RunError, match="link ended with status 3: no luck"), bed:
        pass
    assert left_of(bed.run) == []


def test_a_program_knows_the_names_of_namespaces_and_files():
    words = ["sh", "-c", "cat {file:x.toml} && sleep 600"]
    program = Program("link", words, files={"x.toml": "at {node:a}"})
    with Testbed(Topology([Node("a")]), [program]) as bed:
        until = time.monotonic() + 10
        while not bed.log("link").read_text() and time.monotonic() < until:
            time.sleep(0.01)
        assert bed.log("link").read_text() == f"at {bed.namespace('a')}"


@pytest.fixture(scope="module")
def reno_run(tmp_path_factory) -> Path:
    """Two seconds of Reno through 20 Mbit/s. Not to be changed."""
    out = tmp_path_factory.mktemp("reno")
    experiment = dumbbell("reno", flows=1, rate_bps=20e6, duration_s=2.0)
    run.run(experiment, out, print)
    return out


@needs_iperf3
def test_what_is_acknowledged_is_what_iperf3_received(reno_run):
    received = json.loads((reno_run / "iperf3-reno-s1.json").read_text())
    received_bytes = received["end"]["sum_received"]["bytes"]
    (series,) = read_series(reno_run, results.COLUMNS[1:])
    summary = json.loads((reno_run / "summary.json").read_text())
    acked_bytes = series.columns["acked_packets"][-1] * summary["flows"][0]["packet_bytes"]
    assert acked_bytes == pytest.approx(received_bytes, rel=0.02)
    assert series.controller == "reno"
    assert max(series.columns["cwnd_packets"]) > 10


@needs_iperf3
def test_tcp_probe_saw_the_same_connection(reno_run):
    if not (reno_run / "probe-reno-s1.csv").exists():
        pytest.skip(f"tcp_probe: {check._no_trace()}")
    lines = (reno_run / "probe-reno-s1.csv").read_text().splitlines()
    sampled = (reno_run / "flow-reno-s1.csv").read_text().splitlines()
    assert lines[0] == sampled[0]
    acked, by_samples = (float(each[-1].rpartition(",")[2]) for each in (lines, sampled))
    assert acked == pytest.approx(by_samples, rel=0.02)
    # Each ACK, not each 10 ms.
    assert len(lines) > len(sampled)


@needs_iperf3
def test_a_controller_other_than_the_one_named_is_an_error(tmp_path):
    experiment = dumbbell("reno", flows=1, duration_s=1.0)
    script = (
        "import socket, time; s = socket.create_connection(('10.1.0.2', 5201), 5, ('', {port}));"
        "time.sleep(1)"
    )
    command = [sys.executable, "-c", script]
    flow = Flow("x", "s1", "r", "cubic", app="command", command=command)
    server = Program("server", ["iperf3", "-s", "-p", "5201"], node="r")
    topology = experiment.topology
    wrong = {"topology": topology, "flows": [flow], "programs": [server], "duration_s": 1.0}
    if "cubic" not in check.controllers():
        pytest.skip("this kernel has no cubic")
    # A node's default.
    with pytest.raises(RunError, match="flow x: ran reno, not cubic"):
        run.run(type(experiment)("wrong", **wrong), tmp_path, print)
    assert not (tmp_path / "summary.json").exists()
    routes = [Route(r.node, via=r.via, controller="cubic") for r in topology.routes]
    wrong["topology"] = Topology(topology.nodes, topology.links, routes=routes)
    right = run.run(type(experiment)("right", **wrong), tmp_path, print)
    assert right["flows"][0]["controller"] == "cubic"


@pytest.mark.skipif(
    not (shutil.which("nginx") and shutil.which("curl")), reason="nginx or curl is missing"
)
def test_curl_fetches_from_nginx(tmp_path):
    experiment = dumbbell("reno", flows=1, duration_s=1.0)
    topology = experiment.topology
    routes = [Route(r.node, via=r.via, controller="reno") for r in topology.routes]
    topology = Topology(topology.nodes, topology.links, routes=routes)
    flow = Flow("web", "s1", "r", "reno", app="http")
    summary = run.run(type(experiment)("web", topology, [flow], duration_s=1.0), tmp_path, print)
    assert summary["flows"][0]["acked_bytes"] > 500_000


@needs_iperf3
def test_several_runs_at_once_and_resumed(tmp_path):
    file = Path(__file__).parents[2] / "lab/testbeds/two_reno.toml"
    out = tmp_path / "runs"
    command = [sys.executable, "-m", "windlass_lab", "testbed", "run", str(file)]
    command += ["--time", "5", "--runs", "2", "--jobs", "2", "--out", str(out), "--resume"]
    first = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert first.returncode == 0, first.stderr
    shutil.rmtree(out / "run-2")
    written = (out / "run-1/summary.json").stat().st_mtime_ns
    again = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert again.returncode == 0, again.stderr
    assert (out / "run-1/summary.json").stat().st_mtime_ns == written
    assert (out / "run-2/summary.json").exists()


@needs_iperf3
def test_windlass_link_in_the_middle(tmp_path):
    try:
        windlass = find_windlass(None)
    except LabError:
        pytest.skip("no binary windlass: not built")
    if subprocess.run([windlass, "link", "--help"], capture_output=True).returncode != 0:
        pytest.skip("this binary windlass has no link")
    experiment = emulated_dumbbell("reno", ecn=True, rtts_ms=(40, 10), duration_s=3.0)
    run.run(experiment, tmp_path, print, windlass)
    columns = ("srtt_ms", "queue_packets")
    far, near, queue = read_series(tmp_path, columns)
    for flow, rtt_min_ms in ((far, 40), (near, 10)):
        srtt_ms = [each for each in flow.columns["srtt_ms"] if each is not None]
        assert rtt_min_ms <= min(srtt_ms)
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert [flow["ecn"] for flow in summary["flows"]] == [True, True]
    assert summary["marks"] > 0
    assert max(queue.columns["queue_packets"]) == summary["queues"][0]["max_packets"]
    # 10 Mbit/s are 2441 packets of 512 bytes on the wire.
    assert summary["queues"][0]["sent"] <= 2441 * experiment.duration_s * 1.02

"""A scenario as an experiment on a kernel: what is translated, and what is said of the rest."""

import shlex
import tomllib
from pathlib import Path

import polars as pl
import pytest

from windlass_lab.cli import main
from windlass_lab.core.errors import LabError
from windlass_lab.runs import stored
from windlass_lab.runs.run import Run
from windlass_lab.testbed import load
from windlass_lab.worlds import experiment, figures, judge, outline, tou
from windlass_lab.worlds.figures import Figures, FlowFigures
from windlass_lab.worlds.names import KERNEL, TOU
from windlass_lab.worlds.plan import plan

KERNELS = ("reno", "cubic", "new_ecn")
GOOD = """\
schema = 1
name = "good"
duration = "10s"
steady_from = "2s"
flows = [
  { name = "one", from = "s1" },
  { name = "two", from = "s2", start = "1s", controller = "cubic" },
]

[defaults]
profile = "linux"
controller = "reno"

[dumbbell]
bottleneck = { rate = "10Mbit/s", delay = "5ms", queue = "short", back = { rate = "1Gbit/s" } }
access = [{ delay = "1ms", count = 2, delay_to = "3ms" }]

[queues.short]
kind = "droptail"
limit = "20 packets"
"""
CHAIN = """\
schema = 1
name = "chain"
duration = "10s"
flows = [{ from = "s0" }, { from = "s1" }, { from = "s2" }]
defaults = { profile = "linux", controller = "reno" }

[parking_lot]
hops = 2
bottleneck = { rate = "10Mbit/s", delay = "5ms" }
access = { delay = "1ms" }
"""


def planned(text: str, world: str = KERNEL, *overrides: str, folder: Path = Path()):
    there = KERNELS if world == KERNEL else tou.CONTROLLERS
    return plan(outline.parse("my.toml", text, overrides), folder, world, there)


def link_file(program) -> dict:
    return tomllib.loads(program.files["link.toml"])


def problems(text: str, world: str = KERNEL, *overrides: str) -> list[str]:
    with pytest.raises(LabError) as raised:
        planned(text, world, *overrides)
    return str(raised.value).splitlines()


def test_a_dumbbell_is_one_link_with_a_port_for_each_host():
    found = planned(GOOD)
    (program,) = found.experiment.programs
    file = link_file(program)
    ports = {port["name"]: port for port in file["ports"]}
    assert ports.keys() == {"s1", "s2", "d"}
    assert ports["s1"]["up"] == ports["s1"]["down"] == {"delay": "1000000ns"}
    assert ports["s2"]["up"] == {"delay": "3000000ns"}
    assert ports["d"]["down"] == {"rate": "10Mbit/s", "queue": "short", "delay": "5000000ns"}
    # The way back has the queue of the way there, unless it says otherwise.
    assert ports["d"]["up"] == {"rate": "1Gbit/s", "queue": "short", "delay": "5000000ns"}
    assert file["queues"] == {"short": {"kind": "droptail", "limit": "20 packets"}}
    assert program.queues == ["d/down"] == [found.bottleneck]
    assert program.ready == ["d/d", "s1/s1", "s2/s2"]


def test_bursts_of_losses_and_jitter_of_wifi_are_the_links_too():
    bursts = "dumbbell.bottleneck.loss={good_to_bad=0.01,bad_to_good=0.2}"
    jitter = 'dumbbell.bottleneck.wifi_jitter="7ms"'
    (program,) = planned(GOOD, KERNEL, bursts, jitter).experiment.programs
    (receiver,) = (port for port in link_file(program)["ports"] if port["name"] == "d")
    assert receiver["down"]["loss"] == {"good_to_bad": 0.01, "bad_to_good": 0.2}
    assert receiver["down"]["wifi_jitter"] == "7ms"
    assert receiver["up"].keys().isdisjoint({"loss", "wifi_jitter"})


def test_a_data_centre_has_more_than_one_way_for_a_packet():
    text = GOOD[: GOOD.index("[dumbbell]")].replace("s1", "h1").replace("s2", "h2")
    paths = 'access = { delay = "1ms" }\nfabric = { delay = "1ms" }\n'
    fabric = f"[leaf_spine]\nleaves = 2\nspines = 2\nhosts_per_leaf = 1\n{paths}"
    assert "leaf_spine: simulator only: there is a loop" in problems(text + fabric)[0]


def test_flows_have_their_controllers_times_and_round_trips():
    one, two = planned(GOOD).experiment.flows
    assert (one.controller, one.source, one.to, one.start_s) == ("reno", "s1", "d", 0.0)
    assert (two.controller, two.start_s, two.mss) == ("cubic", 1.0, 1460)
    assert (one.rtt_min_ms, two.rtt_min_ms) == (12.0, 16.0)
    assert planned(GOOD).notes == []


def test_routers_in_a_row_are_joined_by_namespaces_that_forward():
    found = planned(CHAIN)
    nodes = {node.name: node.sysctls for node in found.experiment.topology.nodes}
    assert nodes["r1-r2"] == {"net.ipv4.ip_forward": 1}
    assert {"s0", "d0", "s1", "d1", "s2", "d2", "r1-r2", "r2-r3"} == nodes.keys()
    programs = {program.name: program for program in found.experiment.programs}
    assert programs.keys() == {"link-r1", "link-r2", "link-r3"}
    # The bottleneck is the first hop; its program is the first, as its queue is of the results.
    assert next(iter(programs)) == "link-r1"
    assert programs["link-r1"].queues == ["r2/down"] == [found.bottleneck]
    joint = next(p for p in link_file(programs["link-r1"])["ports"] if p["name"] == "r2")
    assert joint["namespace"] == "{node:r1-r2}"
    assert joint["down"] == {"rate": "10Mbit/s", "delay": "5000000ns"}
    middle = [port["name"] for port in link_file(programs["link-r2"])["ports"]]
    assert sorted(middle) == ["d1", "r1", "r3", "s2"]
    hosts = {flow.to: flow.address for flow in found.experiment.flows}
    # Behind r2 are d0, d1, s2 and d2; before it s0 and s1.
    assert len(joint["networks"]) == 4
    assert {f"{hosts[host]}/32" for host in ("d0", "d1", "d2")} <= set(joint["networks"])
    assert len(joint["routes"]) == 2
    assert "addresses" not in joint


def test_two_hosts_without_a_router_are_a_link_of_two_ports():
    text = GOOD[: GOOD.index("[dumbbell]")].replace('"s1"', '"s1", to = "s2"')
    text = text.replace('from = "s2"', 'from = "s2", to = "s1"')
    text += '[[links]]\na = "s1"\nb = "s2"\nrate = "5Mbit/s"\ndelay = "2ms"\n'
    text = text.replace("flows", 'nodes = ["s1", "s2"]\nflows', 1)
    (program,) = planned(text).experiment.programs
    up = {"rate": "5Mbit/s", "delay": "2000000ns"}
    assert [port["up"] for port in link_file(program)["ports"]] == [up, up]
    assert program.queues == ["s1/up"]


def test_a_trace_is_found_from_where_the_scenario_is(tmp_path):
    (tmp_path / "slow.trace").write_text("1\n2\n3\n")
    text = GOOD.replace('rate = "10Mbit/s"', 'rate = { trace = "slow.trace" }')
    scenario = outline.parse(str(tmp_path / "my.toml"), text)
    (program,) = plan(scenario, tmp_path, KERNEL, KERNELS).experiment.programs
    (port,) = (port for port in link_file(program)["ports"] if port["name"] == "d")
    assert port["down"]["rate"] == {"trace": str(tmp_path / "slow.trace")}


def test_hosts_get_the_options_of_their_flows():
    nodes = planned(
        GOOD, KERNEL, "flows.0.ecn=true", "flows.1.sack=false", "flows.1.timestamps=false"
    ).experiment.topology.nodes
    of = {node.name: node.sysctls for node in nodes}
    assert [of[host]["net.ipv4.tcp_ecn"] for host in ("s1", "s2", "d")] == [1, 0, 2]
    assert [of[host]["net.ipv4.tcp_sack"] for host in ("s1", "s2", "d")] == [1, 0, 1]
    assert [of[host]["net.ipv4.tcp_timestamps"] for host in ("s1", "s2", "d")] == [1, 0, 1]


def test_flows_of_a_host_cannot_differ_in_what_a_kernel_has_for_a_host():
    text = GOOD.replace('from = "s2", ', 'from = "s1", ecn = true, ')
    assert problems(text) == [
        "my.toml:7:32: flows.1.ecn: a kernel has it for a host: s1's flow one has another"
    ]


def test_an_initial_window_that_linux_does_not_have_is_that_of_a_route():
    topology = planned(GOOD, KERNEL, 'flows.0.initial_window="4 segments"').experiment.topology
    (route,) = topology.routes
    assert (route.node, route.device, route.initial_window) == ("s1", "s1", 4)


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        (
            'flows.0.controller="vegas"',
            "this kernel has no controller vegas; it has cubic, new_ecn",
        ),
        ('flows.0.controller="none"', "this kernel has no controller none"),
        ('flows.0.controller={kind="new-ecn",beta=8}', "flows.0.controller.beta: simulator only"),
        ('flows.0.app={kind="transfer",size="1MB"}', "flows.0.app: simulator only"),
        ('udp=[{from="s1",packet_bytes=100,rate="1Mbit/s"}]', "udp: simulator only"),
        (
            'middleboxes=[{kind="ecn-proxy",node="r1",served=["s1"]}]',
            "middleboxes: simulator only",
        ),
        ("dumbbell.bottleneck.loss={packets=[3]}", "dumbbell.bottleneck.loss: simulator only"),
        (
            'dumbbell.bottleneck.back.reorder={probability=0.1,max_extra_delay="1ms"}',
            "dumbbell.bottleneck.back.reorder: simulator only",
        ),
        (
            'dumbbell.bottleneck.handovers=[{at="1s",delay="9ms"}]',
            "dumbbell.bottleneck.handovers: simulator only",
        ),
        ("dumbbell.bottleneck.bleach_ecn=true", "dumbbell.bottleneck.bleach_ecn: simulator only"),
    ],
)
def test_a_key_that_a_kernel_cannot_follow_is_a_problem(override, expected):
    (line,) = problems(GOOD, KERNEL, override)
    assert expected in line
    assert line.startswith(f"--set {override.split('=')[0]}")


def test_a_controller_that_the_kernel_lacks_is_named_with_its_line():
    (line,) = problems(GOOD.replace('controller = "cubic"', 'controller = "vegas"'))
    assert line.startswith("my.toml:7:46: flows.1.controller: this kernel has no controller vegas")


def test_a_flow_that_ends_at_a_router_and_a_loop_are_problems():
    text = GOOD.replace('from = "s1"', 'from = "s1", to = "r1"')
    assert (
        "flows.0.to: simulator only: a flow's end has one link, and r1 is a router"
        in (problems(text)[0])
    )
    text = GOOD[: GOOD.index("[dumbbell]")].replace('"s1"', '"s1", to = "s2"')
    text = text.replace('from = "s2"', 'from = "s2", to = "s1"')
    for a, b in (("s1", "x"), ("x", "y"), ("y", "z"), ("z", "x"), ("z", "s2")):
        text += f'[[links]]\na = "{a}"\nb = "{b}"\ndelay = "1ms"\n'
    text = text.replace("flows", 'nodes = ["s1", "s2", "x", "y", "z"]\nflows', 1)
    assert "links: simulator only: there is a loop" in problems(text)[0]


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ('flows.0.profile="rfc5681"', 'flows.0.profile: simulator only: the kernel is as "linux"'),
        ("flows.0.pacing=true", "flows.0.pacing: simulator only: the kernel is as false"),
        ("flows.0.hystart=false", "flows.0.hystart: simulator only: the kernel is as true"),
        ('flows.0.min_rto="1s"', "flows.0.min_rto: simulator only: the kernel has its own"),
        ("flows.0.limited_transmit=true", "flows.0.limited_transmit: simulator only"),
        ('flows.0.receiver={ack="immediate"}', "flows.0.receiver.ack: simulator only"),
        ('flows.0.receiver={buffer="64KiB"}', "flows.0.receiver.buffer: simulator only"),
        ("until_done=true", "until_done: simulator only: bulk flows last to the end"),
    ],
)
def test_a_rule_that_a_kernel_has_of_its_own_is_a_note(override, expected):
    (note,) = planned(GOOD, KERNEL, override).notes
    assert expected in note


def test_settings_that_make_the_simulator_as_linux_need_no_note():
    settings = [f"defaults.{key}=true" for key in ("cubic_as_linux", "hystart_trains", "rack")]
    assert planned(GOOD, KERNEL, *settings).notes == []


def test_a_scenario_without_a_profile_is_noted_at_its_flow():
    notes = planned(GOOD.replace('profile = "linux"\n', "")).notes
    # Version 1 of the format means rfc5681 then.
    assert notes[0] == 'my.toml:6:3: flows.0.profile: simulator only: the kernel is as "linux"'


def test_over_tou_segments_have_the_same_size_on_the_wire():
    found = planned(
        GOOD, TOU, "flows.0.ecn=true", "flows.0.rack=true", 'flows.1.receiver={buffer="64KiB"}'
    )
    one, two = found.experiment.flows
    assert (one.app, one.controller, one.mss) == ("tou", "reno", 1456)
    assert one.client_options == ["--profile", "linux", "--ecn"]
    assert two.server_options == ["--profile", "linux", "--receive-buffer", "64KiB"]
    assert [note.partition(": ")[2] for note in found.notes] == [
        "flows.0.rack: simulator only: `windlass tou perf` has no such flag"
    ]


def test_jitter_moves_the_starts_of_each_run_by_another_time():
    scenario = outline.parse("my.toml", GOOD, ['jitter="100ms"'])
    starts = [
        [flow.start_s for flow in plan(scenario, Path(), KERNEL, KERNELS, run).experiment.flows]
        for run in (0, 0, 1)
    ]
    assert starts[0] == starts[1] != starts[2]
    assert all(0 <= one <= 0.1 and 1 <= two <= 1.1 for one, two in starts)


def test_delays_are_weighted_by_time():
    scenario = outline.parse("my.toml", GOOD)
    queues = [{"sent": 100, "sent_bytes": 125_000, "marks": 0, "drops": 3}]
    flows = [
        {
            "packets_per_s": {"steady": 100.0},
            "cwnd_packets": {"time_mean_steady": 5.0},
            "srtt_ms": {"time_mean": 20.0},
            "retransmitted_segments": 1,
        }
    ] * 2
    # From 2 s to 10 s: 4 s with 1 packet, 4 s with 3; a packet takes 1 ms.
    table = pl.DataFrame({"time_s": [0.0, 1.0, 6.0], "queue_packets": [9.0, 1.0, 3.0]})
    run = Run({"flows": flows, "queues": queues}, {"queue": table})
    found = figures.of_run(run, scenario, "queue", [1250, 1250])
    assert found.flows[0].rate_mbit_per_s == pytest.approx(1.0)
    assert found.queue.delay_ms["mean"] == pytest.approx(2.0)
    assert found.queue.delay_ms["p50"] == pytest.approx(1.0)
    assert found.queue.delay_ms["p90"] == found.queue.delay_ms["max"] == pytest.approx(3.0)


def test_a_world_is_judged_by_rates_and_delay():
    scenario = outline.parse("my.toml", GOOD, ['flows.1.controller="new-ecn"'])

    def world(rate: float) -> Figures:
        return Figures([FlowFigures(rate, None, None, None)] * 2, None)

    verdicts = list(judge.verdicts(scenario, world(5.0), world(5.6)))
    # 12 % more: too much for Reno, and not for New-ECN.
    assert [verdict.holds for verdict in verdicts] == [False, True]


def test_the_simulator_alone_needs_no_root_and_no_binary(tmp_path, capsys):
    file = tmp_path / "my.toml"
    file.write_text(GOOD)
    out = tmp_path / "out"
    status = main(["run", str(file), "--on", "sim", "--set", 'duration="3s"', "--out", str(out)])
    assert status == 0
    assert "simulator" in capsys.readouterr().out
    page = (out / "worlds.html").read_text()
    assert "Queueing delay at the bottleneck" in page
    assert "Beside the simulator" not in page
    assert (out / "sim/summary.json").is_file()
    assert (out / "sim/flow-one.csv").is_file()


def test_the_readmes_four_commands_end_with_a_plot_of_both_controllers(
    repository, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    text = (repository / "README.md").read_text()
    block = text[text.index("    git clone URL") :].split("\n\n")[0]
    commands = [shlex.split(line, comments=True) for line in block.splitlines()]
    assert len(commands) == 4
    assert commands[1] == ["make", "python"]
    (tmp_path / "examples").symlink_to(repository / "examples")
    for program, *arguments in commands[2:]:
        assert program == ".venv/bin/windlass-lab"
        assert main(arguments) == 0
    page = Path(capsys.readouterr().out.splitlines()[-1])
    assert page.is_file()
    names = [flow["controller"] for flow in stored.read(page.parent).summary["flows"]]
    assert names == ["cubic", "vegas"]


@pytest.mark.parametrize(
    "name",
    ["four_rtts_newecn", "four_rtts_reno", "mix_3new_3ecn", "mix_3new_3reno", "single_newecn"],
)
def test_a_scenario_gives_the_experiment_that_a_testbed_has_by_hand(repository, name):
    file = repository / f"experiments/new-ecn/kernel/{name}.toml"
    by_hand = load.load(repository / f"lab/testbeds/{name}.toml")
    found = plan(outline.read(file), file.parent, KERNEL, KERNELS).experiment
    for one, two in zip(found.flows, by_hand.flows, strict=True):
        assert (one.name, one.controller, one.mss) == (two.name, two.controller, two.mss)
        assert one.start_s == pytest.approx(two.start_s)
        assert one.rtt_min_ms == pytest.approx(two.rtt_min_ms)
    assert (found.duration_s, found.steady_from_s) == (by_hand.duration_s, by_hand.steady_from_s)
    down = [
        next(
            port["down"] for port in link_file(each.programs[0])["ports"] if "rate" in port["down"]
        )
        for each in (found, by_hand)
    ]
    assert {key: value for key, value in down[0].items() if key != "delay"} == {
        key: value for key, value in down[1].items() if key != "delay"
    }
    for node in by_hand.topology.nodes[:-1]:
        same = next(each for each in found.topology.nodes if each.name == node.name)
        ecn = "net.ipv4.tcp_ecn"
        assert same.sysctls[ecn] == int(node.sysctls[ecn])
        assert same.sysctls["net.ipv4.tcp_timestamps"] == 0


def test_the_testbed_takes_files_of_both_formats(repository, monkeypatch):
    monkeypatch.setattr(experiment.check, "controllers", lambda: list(KERNELS))
    notes: list[str] = []
    scenario = repository / "experiments/worlds/two_rtts.toml"
    found = experiment.read(scenario, 12.0, notes.append)
    same = plan(outline.read(scenario, ['duration="12s"']), scenario.parent, KERNEL, KERNELS)
    assert found == same.experiment
    assert found.duration_s == 12
    testbed = repository / "lab/testbeds/two_reno.toml"
    assert experiment.read(testbed, None, notes.append) == load.load(testbed)
    assert notes == []


def test_the_testbed_says_which_keys_of_a_scenario_hold_in_the_simulator_alone(tmp_path):
    file = tmp_path / "my.toml"
    file.write_text(GOOD.replace('profile = "linux"', 'profile = "rfc5681"'))
    notes: list[str] = []
    experiment.read(file, None, notes.append)
    assert any("profile" in note for note in notes)


@pytest.mark.parametrize(
    ("text", "is_scenario"),
    [
        (GOOD, True),
        (CHAIN, True),
        ('schema = 2\nname = "x"\n', True),
        ('schema = 1\nlinks = [{ name = "l", a = "s", b = "r" }]\n', True),
        ('schema = 1\nlinks = [{ a = { node = "s" }, b = { node = "r" } }]\n', False),
        ('schema = 7\nname = "x"\n', False),
        ("schema = \n", False),
    ],
)
def test_a_file_is_a_scenario_or_a_testbed(text, is_scenario, tmp_path):
    file = tmp_path / "my.toml"
    file.write_text(text)
    assert experiment.is_scenario(file) == is_scenario


def test_every_testbed_and_scenario_of_the_repository_is_recognised(repository):
    for file in (repository / "lab/testbeds").glob("*.toml"):
        assert not experiment.is_scenario(file), file
    for file in (repository / "experiments/worlds").glob("*.toml"):
        assert experiment.is_scenario(file), file


def test_a_fault_in_a_scenario_for_the_testbed_has_its_line(tmp_path, capsys):
    file = tmp_path / "my.toml"
    file.write_text(GOOD.replace('from = "s2"', 'from = "s7"'))
    assert main(["testbed", "run", str(file), "--out", str(tmp_path / "out")]) == 2
    assert f"{file}:" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_the_scenarios_of_the_two_worlds_run_on_a_kernel(repository):
    files = sorted((repository / "experiments/worlds").glob("*.toml"))
    assert len(files) == 6
    for file in files:
        found = plan(outline.read(file), file.parent, KERNEL, KERNELS)
        assert found.notes == []

import json

import pytest

from windlass_lab.cli import main
from windlass_lab.core.binary.windlass import Windlass
from windlass_lab.core.errors import LabError
from windlass_lab.core.experiments.servers import SPLITS, EngineServer, KernelServer, ServerCase
from windlass_lab.core.pipeline.request import Request
from windlass_lab.core.report.report import server_tables
from windlass_lab.papers.registry import find
from windlass_lab.papers.split_ack import (
    in_short,
    measure,
    plan,
    programs,
    reproduce,
    summary,
    topology,
)
from windlass_lab.testbed.topology import Experiment
from windlass_lab.testbed.validate import validate


def run(test, data, again=1, ending="measured", bytes_=None):
    observation = {
        "test": test,
        "first_flight": {"packets": 3, "missing": 0},
        "acks_sent": 3 * SPLITS.get(test, 1),
        "data_packets": data,
        "retransmissions": again,
        "data_bytes": bytes_ or data * 1460,
        "mss_seen": 1460,
    }
    return {"ending": {"kind": ending}, "rtt_ms": 80.2, "observation": observation}


def outcome(packets, reaction="counts-acks", exact=True, runs=3):
    verdict = {
        "reaction": {"kind": reaction, "limit": "two"},
        "confidence": 0.9,
        "initial_window": {"packets": 3, "segments": 3, "bytes": 4380, "exact": exact},
        "notes": [],
    }
    made = [run(test, count) for _ in range(runs) for test, count in packets.items()]
    return {"verdict": verdict, "runs": made}


COUNTER = outcome({"A": 9, "B": 12, "C": 18, "D": 30, "E": 42, "S": 7})


def test_a_server_has_the_median_of_its_runs_and_what_they_are_beside_the_baseline():
    runs = [run("A", 9), run("C", 18), run("A", 9), run("C", 17), run("A", 9), run("C", 18)]
    broken = {"ending": {"kind": "reset"}, "rtt_ms": None, "observation": None}
    found = summary.of_server({"verdict": COUNTER["verdict"], "runs": [*runs, broken]})
    assert found["a"]["data_packets"] == 9
    assert found["c"]["data_packets"] == {"median": 18, "sd": pytest.approx(0.577, abs=0.001)}
    assert (found["c"]["gain"], found["c"]["gain_bytes"]) == (2.0, 2.0)
    # One of 18 is sent again, after one of 9.
    assert found["c"]["resent_points"] == -5.6
    assert found["verdict"]["counts-acks"] == 1
    assert found["verdict"]["counts-bytes"] == 0
    assert found["limit"]["two"] == 1
    window = {"packets": 3, "segments": 3, "bytes": 4380, "exact": 1}
    assert found["initial_window"] == window
    assert found["replicates"] == 3
    assert found["runs"][-1]["ending"] == "reset"


def test_smaller_packets_and_more_sent_again_are_counted():
    runs = [run("A", 9, 1, bytes_=13140), run("C", 18, 10, bytes_=13140)]
    found = summary.of_server({"verdict": None, "runs": runs})
    assert found["c"]["shrinks_percent"] == 50.0
    assert found["c"]["gain_bytes"] == 1.0
    assert (found["retransmissions_rise"], found["bytes_fall"]) == (1, 0)
    assert "initial_window" not in found


def test_a_server_that_could_not_be_measured_has_no_figures():
    found = summary.of_server({"verdict": None, "runs": []})
    assert "a" not in found
    assert found["reaction"] == "not measured"


def population():
    servers = [
        {"address": address, "stack": stack, "initial_window": "3", "mss": "1460"}
        | {"rtt_ms": "20", "loss": "0"}
        for address, stack in (
            ("10.99.0.2", "rfc2581"),
            ("fd99::3", "linux"),
            ("10.99.0.4", "linux"),
            ("10.99.0.5", "silent"),
        )
    ]
    said = {
        "http://10.99.0.2/": ("counts-acks", "3"),
        "http://[fd99::3]/": ("counts-bytes", "3"),
        "http://10.99.0.4/": ("counts-bytes", "2"),
        "http://10.99.0.5/": ("", ""),
    }
    hosts = [
        {"host": host, "outcome": "measured", "reaction": reaction}
        | {"initial_window_packets": window}
        for host, (reaction, window) in said.items()
    ]
    packets = {"http://10.99.0.2/": (9, 18), "http://[fd99::3]/": (9, 9)}
    runs = [
        {"host": host, "test": test, "ending": "measured", "data_packets": str(count)}
        | {"retransmissions": "2"}
        for host, counts in packets.items()
        for test, count in zip("AC", counts, strict=True)
    ]
    return summary.of_population(servers, hosts, runs)


def test_of_a_population_those_that_answer_are_right_by_reaction_and_initial_window():
    found = population()
    assert (found["hosts"], found["answering"], found["right"]) == (4, 3, 2)
    assert found["a"]["hosts_by_data_packets"] == {"9": 2}
    assert found["c"]["hosts_by_data_packets"] == {"9": 1, "18": 1}
    assert found["c"]["hosts_by_total"] == {"11": 1, "20": 1}
    assert found["counts-acks"]["c"]["data_packets"] == 18


def test_the_runs_and_the_population_are_written_as_csv():
    files = server_tables.as_csv(
        {"x": summary.of_server(COUNTER), "population": population(), "sim": {}}
    )
    assert sorted(files) == ["population", "servers"]
    heading, first, *rest = files["servers"].splitlines()
    assert heading.startswith("server,run,test,ending,rtt_ms,initial_window,acks,data_packets")
    assert first.startswith("x,1,A,measured,80.2,3,3,9,1,10,")
    assert len(rest) == len(COUNTER["runs"]) - 1
    assert len(files["population"].splitlines()) == 5


def test_kernels_have_a_node_each_with_the_window_of_its_route_and_stacks_a_device(tmp_path):
    cases = [
        ServerCase("k", "kernel", KernelServer(4, "reno")),
        ServerCase("e", "engine", EngineServer("rfc2581", 3)),
    ]
    net = topology.build(cases, tmp_path)
    validate(Experiment("servers", net.topology, [], net.programs))
    assert [node.name for node in net.topology.nodes] == ["client", "host1"]
    [route] = net.topology.routes
    assert (route.initial_window, route.controller, route.to) == (4, "reno", "10.97.1.1/32")
    assert [tun.device for tun in net.topology.tuns] == ["stack2"]
    assert [place.url for place in net.places] == ["http://10.97.1.2/page", "http://10.98.2.2/"]
    assert "--stack" in net.programs[1].command
    assert (tmp_path / "host1/www/page").stat().st_size == 200_000


def test_the_same_packets_with_fewer_bytes_are_counted():
    runs = [
        run("A", 9, 1, bytes_=13140),
        run("B", 9, 4, bytes_=10950),
        run("C", 9, 10, bytes_=9855),
    ]
    found = summary.of_server({"verdict": None, "runs": runs})
    assert (found["c"]["gain"], found["c"]["gain_bytes"]) == (1.0, 0.75)
    assert (found["retransmissions_rise"], found["bytes_fall"]) == (1, 1)


def test_stacks_of_other_people_are_built_before_they_serve(tmp_path, monkeypatch):
    monkeypatch.setattr(programs, "build_smoltcp", lambda: tmp_path / "smoltcp_server")
    net = topology.build([plan.SMOLTCP, plan.SMOLTCP_BEFORE], tmp_path)
    validate(Experiment("servers", net.topology, [], net.programs))
    assert [program.command[3] for program in net.programs] == ["0.14", "0.12"]
    assert [tun.mode for tun in net.topology.tuns] == ["tun", "tun"]


def test_the_whole_paper_has_the_servers_but_the_short_form_of_them():
    def ids(**how):
        return {experiment.id for experiment in find("split-ack", **{"quick": False, **how})[1]}

    assert {"2.1", "4.2.2", "4.3", "4.4", "4.5", "https", "lwip", "smoltcp", "stacks"} <= ids()
    assert "4.2.2-short" not in ids()
    assert ids(sim=True) == {"2.7", "2.8", "2.4.1", "2.4.3", "2.5", "2.1"}
    assert ids(quick=True) == {"2.7", "2.8", "2.4.1", "2.4.3", "2.5", "4.2.2-short"}


def test_without_root_the_rest_runs_and_one_line_says_so(monkeypatch, tmp_path):
    monkeypatch.setattr(reproduce, "missing_requirement", lambda _: "needs root")
    lines: list[str] = []
    paper, experiments = find("split-ack", quick=False)
    windlass = Windlass(tmp_path / "windlass")
    request = Request("split-ack", paper, experiments, windlass, tmp_path, lines.append)
    rest = reproduce.possible(request)
    assert [experiment.id for experiment in rest] == ["2.7", "2.8", "2.4.1", "2.4.3", "2.5", "2.1"]
    [line] = lines
    assert "4.2.2, 4.3, 4.4" in line
    assert line.endswith("needs root")


def test_in_a_line_a_server_that_counts_acks_stands_beside_nginx_or_theory_where_none_was_probed():
    def figure(case, key, mean):
        return {"case": case, "key": key, "measured": {"mean": mean}, "flow": None}

    theory = [figure("slow_start-split", "completion_s", 0.692)]
    servers = [
        figure(f"{name}-short", f"{test}.data_packets", mean)
        for name, packets in ((plan.COUNTER.name, (9, 18)), (plan.GOOGLE.name, (16, 16)))
        for test, mean in zip("ac", packets, strict=True)
    ]
    found = in_short.finding({"experiments": [{"comparisons": theory + servers}]})
    assert found == (
        "packets, split in 4 and whole: 18 and 9 where ACKs are counted; 16 and 16 from nginx"
    )
    assert in_short.finding({"experiments": [{"comparisons": theory}]}) == (
        "simulated: a split of two takes 0.69 of the time"
    )


def test_servers_that_were_asked_for_by_name_need_root(lab, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(reproduce, "missing_requirement", lambda _: "needs root")
    assert lab(out=tmp_path / "out", target="split-ack/4.4") == 2
    assert "split-ack/4.4: needs root" in capsys.readouterr().err


@pytest.fixture
def canned(monkeypatch):
    """Servers that all give these runs."""

    def use(found):
        def gather(servers, cases, _progress):
            for case in cases:
                servers.probe(case, "http://10.98.1.2/")
            return {case.name: summary.of_server(found) for case in cases}

        monkeypatch.setattr(reproduce, "missing_requirement", lambda _: "")
        monkeypatch.setattr(measure, "gather", gather)

    return use


def test_the_report_has_the_paper_beside_what_was_measured(lab, canned, tmp_path):
    canned(COUNTER)
    out = tmp_path / "out"
    assert lab(out=out, target="split-ack/4.2.2") == 0
    results = json.loads((out / "results.json").read_text())
    assert results["commands"] == [
        "windlass probe http://10.98.1.2/ --tests A,B,C,D,E,S --runs 10 --timeout 3s --json"
    ]
    page = (out / "report.html").read_text()
    assert "Table 4.2: the prediction, and what comes" in page
    assert "27 | 18" in page
    assert len((out / "data/servers.csv").read_text().splitlines()) == 19
    # And again from what was stored.
    before = {file.name: file.read_text() for file in out.rglob("*") if file.is_file()}
    assert main(["report", str(out)]) == 0
    assert {file.name: file.read_text() for file in out.rglob("*") if file.is_file()} == before


def test_other_counts_than_the_arithmetic_says_are_detected(lab, canned, tmp_path, capsys):
    canned(outcome({"A": 9, "B": 12, "C": 27, "D": 30, "E": 42, "S": 7}))
    assert lab(out=tmp_path / "out", target="split-ack/4.2.2") == 1
    assert "figures 11 of 12 met" in capsys.readouterr().out


def test_every_stack_that_is_served_is_one_of_the_binarys(repository):
    source = (repository / "crates/probe-serve/src/stack.rs").read_text()
    every = [*plan.SYSTEMS, *plan.OTHERS, plan.COUNTER]
    for case in every:
        if isinstance(case.server, EngineServer):
            assert f'=> "{case.server.stack}"' in source


def test_a_population_that_the_binary_does_not_print_is_an_error(tmp_path):
    servers = measure.Servers(tmp_path / "windlass")
    servers.windlass.write_text("#!/bin/sh\necho no >&2\nexit 1\n")
    servers.windlass.chmod(0o755)
    with pytest.raises(LabError, match=r"population 600.*no"):
        measure._population(servers, plan.POPULATION.server)

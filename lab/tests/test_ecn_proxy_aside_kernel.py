"""Cells kept aside on kernels: which they are, their testbed, and their verdicts."""

import csv
import io
import json
import tomllib
from collections import Counter
from dataclasses import asdict, replace
from types import SimpleNamespace

import pytest

from windlass_lab.core.pipeline.campaign import Campaign
from windlass_lab.core.verdicts.verdict import NOT_ENOUGH_RUNS
from windlass_lab.papers.ecn_proxy import aside, aside_kernel, reproduce, transfer
from windlass_lab.papers.ecn_proxy.aside_kernel import (
    WORST,
    KernelCell,
    SimulatedCell,
    both,
    sample,
)
from windlass_lab.papers.ecn_proxy.aside_kernel_figures import files, judge, tables
from windlass_lab.papers.ecn_proxy.plan import DIRECTIONS
from windlass_lab.papers.ecn_proxy.runs import Run
from windlass_lab.papers.ecn_proxy.topology import experiment
from windlass_lab.testbed.validate import validate

UPLOAD = next(cell for cell in sample() if cell.direction == "upload" and cell.cross)


def times(kernel, simulated=1.0, runs=3):
    """Runs a hundredth of a second apart; `kernel` and `simulated` are ratios, or functions of a
    cell.
    """

    def seconds(test):
        factor = kernel if isinstance(test, KernelCell) else simulated
        ratio = factor(test) if callable(factor) else factor
        return 100.0 * (1.0 if test.native else ratio)

    return {
        test.name: [Run(seconds(test) + n / 100) for n in range(runs)]
        for test in aside_kernel.tests()
    }


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_the_sample_has_each_level_equally_often_in_each_direction(direction):
    chosen = [cell for cell in sample() if cell.direction == direction]
    for levels, of in (
        (aside.RATES_MBIT, [cell.rate_mbit for cell in chosen]),
        (aside.RTTS_MS, [cell.rtt_ms for cell in chosen]),
        (aside.QUEUES, [cell.queue for cell in chosen]),
        (aside.CONNECTIONS, [cell.connections for cell in chosen]),
        (aside.CROSS, [cell.cross for cell in chosen]),
    ):
        assert Counter(of) == dict.fromkeys(levels, 12 // len(levels))
    pairs = {(cell.queue, cell.connections) for cell in chosen}
    assert len(pairs) == len(chosen) == 12


def test_the_sample_is_the_same_each_time_and_without_the_worst_cell():
    assert sample() == sample()
    assert sample()[0].place == "aside-download-20M-100ms-red-1-udp0.5"
    assert sample()[-1].place == "aside-upload-50M-10ms-pie-8-udp0.5"
    known = set(aside.cells())
    assert known.issuperset([*sample(), WORST])
    assert WORST not in sample()


def test_each_cell_is_run_on_kernels_and_simulated_under_names_of_their_own():
    names = [test.name for test in aside_kernel.tests()]
    assert len(set(names)) == len(names) == 4 * 25
    # The experiment `aside` would judge those with a name of its cells.
    assert not {cell.name for cell in aside.cells()}.intersection(names)


@pytest.mark.parametrize("cell", [*both(UPLOAD), *both(WORST)], ids=lambda cell: cell.name)
def test_a_testbed_has_the_rate_delay_and_queue_of_the_scenario(cell):
    found = experiment(KernelCell.of(cell))
    validate(found)
    ports = tomllib.loads(found.programs[0].files["link.toml"])["ports"]
    keys = SimulatedCell.of(cell).keys(1.0)
    for port in ports:
        assert port["down"] == {key: keys[f"links.0.{key}"] for key in ("rate", "delay", "queue")}
    hosts = {node.name: node.sysctls for node in found.topology.nodes}
    assert hosts["client"]["net.ipv4.tcp_ecn"] == int(cell.native)
    assert hosts["server"]["net.ipv4.tcp_ecn"] == 1
    # As in the scenario, whose hosts go on without ECN after a lost SYN.
    assert hosts["client"]["net.ipv4.tcp_ecn_fallback"] == 1
    proxies = [program.command for program in found.programs[1:]]
    assert len(proxies) == (0 if cell.native else 1)
    assert not any("--no-fallback" in command for command in proxies)


def test_a_transfer_on_kernels_has_the_size_of_the_simulated_one():
    for cell in sample():
        size = cell.keys(0.5)["flows.0.app"]["size"]
        assert f"{round(KernelCell.of(cell).megabytes(0.5) * 1e6)}B" == size


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_udp_goes_where_the_data_go_at_a_rate_that_counts_headers(monkeypatch, direction):
    started = {}
    monkeypatch.setattr(transfer, "_serve", lambda _bed, _name, node, _command: None)
    monkeypatch.setattr(transfer.time, "sleep", lambda _: None)
    bed = SimpleNamespace(start_logged=lambda _name, node, command: started.update({node: command}))
    cell = replace(UPLOAD, direction=direction, rate_mbit=20, cross=0.5)
    transfer._cross_traffic(bed, KernelCell.of(cell))
    [(node, command)] = started.items()
    assert node == ("udpl" if direction == "upload" else "udpr")
    payload, rate = (int(command[command.index(o) + 1]) for o in ("--length", "--bitrate"))
    assert rate * (payload + 28) / payload == pytest.approx(10e6, abs=10)
    started.clear()
    transfer._cross_traffic(bed, KernelCell.of(replace(cell, cross=0.0)))
    assert not started


def test_a_cell_is_the_same_for_the_process_that_runs_it(monkeypatch):
    monkeypatch.setattr(transfer, "measure", lambda test, *_: test)
    order = {"test": asdict(KernelCell.of(UPLOAD)), "scale": 1.0, "windlass": "windlass"}
    assert transfer._obey(json.loads(json.dumps(order))) == KernelCell.of(UPLOAD)


@pytest.mark.parametrize(("ratio", "verdict"), [(1.04, "pass"), (1.06, "fail"), (0.89, "fail")])
def test_the_median_by_direction_is_judged_beside_the_simulators(ratio, verdict):
    found = judge(times(ratio, simulated=1.01))
    judged = [c for c in found if c.headline]
    assert [c.verdict for c in judged] == 2 * [verdict]
    assert all(c.measured.mean == pytest.approx(ratio, abs=1e-3) for c in judged)
    assert all(c.reference.mean == pytest.approx(1.01, abs=1e-3) for c in judged)
    assert all(c.measured.count == 3 and "12 of 12 cells" in c.why for c in judged)


def test_the_worst_cell_stands_beside_the_sample_and_is_not_judged():
    runs = times(
        lambda cell: 1.5 if cell.place == WORST.place else 1.0,
        simulated=lambda cell: 1.27 if cell.place == WORST.place else 1.0,
    )
    *of_sample, worst = judge(runs)
    assert {c.verdict for c in of_sample if c.headline} == {"pass"}
    assert max(c.measured.mean for c in of_sample) == pytest.approx(1.0)
    assert worst.verdict == "informative"
    assert worst.measured.mean == pytest.approx(1.5, abs=1e-3)
    assert worst.reference.mean == pytest.approx(1.27, abs=1e-3)


def test_single_runs_and_part_of_the_sample_decide_nothing():
    single = [c for c in judge(times(1.2, runs=1)) if c.headline]
    part = times(1.2)
    part.pop(KernelCell.of(sample()[0]).name)
    [download, upload] = [c for c in judge(part) if c.headline]
    for found in (*single, download):
        assert found.verdict == "undecided"
        assert found.why.startswith(NOT_ENOUGH_RUNS)
    assert "11 of 12 cells" in download.why
    assert upload.verdict == "fail"


def test_runs_that_are_too_far_apart_decide_nothing():
    runs = times(1.0)
    for test in aside_kernel.tests():
        runs[test.name] = [Run(50.0), Run(150.0)]
    assert {c.verdict for c in judge(runs) if c.headline} == {"undecided"}


def test_the_slowest_cell_comes_first_and_the_csv_has_both_ratios():
    slow = sample()[5]
    runs = times(lambda cell: 1.1 if cell.place == slow.place else 1.0, simulated=0.99)
    rows = tables(runs)[0]["rows"]
    assert rows[0][:2] == (slow.direction, str(slow.rate_mbit))
    assert (rows[0][8], rows[0][10]) == ("1.100", "0.990")
    [text] = files(runs).values()
    lines = list(csv.DictReader(io.StringIO(text)))
    assert len(lines) == 25
    assert lines[5]["ratio"] == "1.1000" and lines[5]["simulated_ratio"] == "0.9900"
    assert {line["runs"] for line in lines} == {"3"}


def kernels_that_take(seconds_of, made):
    """Testbeds that need no root."""

    def measured(_campaign, wanted, _request, store):
        for test, number in wanted:
            made.append((test.name, number))
            store.add(test, number, Run(seconds_of(test)))

    return measured


def test_a_result_holds_kernels_and_simulator_and_goes_on_where_it_was(lab, tmp_path, monkeypatch):
    made = []
    take = kernels_that_take(lambda cell: 100.0 if cell.native else 102.0, made)
    monkeypatch.setattr(Campaign, "run_processes", take)
    monkeypatch.setattr(
        reproduce, "possible_on_kernels", lambda _windlass, wanted, _progress: wanted
    )
    out = tmp_path / "out"
    options = ["--real", "--replicates", "2"]
    assert lab(*options, out=out, target="ecn-proxy/aside-kernel") == 0
    results = json.loads((out / "results.json").read_text())
    assert set(results["summaries"]) == {test.name for test in aside_kernel.tests()}
    [document] = results["experiments"]
    assert document["id"] == "aside-kernel"
    judged = [c for c in document["comparisons"] if c["verdict"] == "pass"]
    assert [c["measured"]["mean"] for c in judged] == 2 * [1.02]
    assert [c["reference"]["mean"] for c in judged] == 2 * [pytest.approx(1.0, abs=1e-3)]
    page = (out / "report.html").read_text()
    assert "The sample on kernels" in page and "Reference" in page
    assert len(made) == 2 * 50
    assert lab(*options, "--resume", out=out, target="ecn-proxy/aside-kernel") == 0
    assert len(made) == 2 * 50

import json
import subprocess
import tomllib
from dataclasses import replace
from types import SimpleNamespace

import jsonschema
import pytest
from plotly import graph_objects

from windlass_lab.core import provenance
from windlass_lab.core.pipeline.campaign import Campaign
from windlass_lab.core.pipeline.run_lines import RunLines
from windlass_lab.core.verdicts.verdict import FAIL, INFORMATIVE, PASS, UNDECIDED
from windlass_lab.papers.tou import in_short, losses, measure, report, reproduce, topology
from windlass_lab.papers.tou.catalogue import TOU, cells_of
from windlass_lab.papers.tou.judge import SEEDS, judge
from windlass_lab.papers.tou.plan import (
    CELLS,
    KERNEL_CUBIC,
    KERNEL_RENO,
    PACED_CUBIC,
    TOU_CLASSIC,
    TOU_CUBIC,
    TOU_NEWRENO,
    TOU_NONE,
    TOU_PAPER_RTO,
    TUNED_RENO,
    UNPACED_TOU,
    Test,
    all_tests,
    sysctls,
)
from windlass_lab.papers.tou.runs import Curve, Run, read_run
from windlass_lab.papers.tou.transfer import mean_window
from windlass_lab.papers.tou.window import WindowFigures
from windlass_lab.testbed.validate import validate

BAD = next(cell for cell in CELLS if (cell.loss, cell.rtt_ms) == (0.01, 100))
CURVE = Curve([0.0, 1.0, 2.0], [10.0, 20.0, 12.5], [0.0, 1.0, 3.0])
COURSE = WindowFigures(None, None, 0, 0)
RUN = Run(10.0, 30.0, 12.0, 13.0, 6, 0, 6, 0, 1.0, 1456, COURSE)


def test_the_plan_has_the_papers_nine_cells():
    assert {(cell.megabytes, cell.loss, cell.rtt_ms) for cell in CELLS} == {
        (size, loss, rtt)
        for size, loss in ((100, 0), (100, 0.0001), (30, 0.01))
        for rtt in (0, 100, 300)
    }
    tests = all_tests()
    assert len({test.name for test in tests}) == len(tests)
    for cell in CELLS:
        with_none = [test.contender for test in tests if test.cell == cell]
        assert (TOU_NONE in with_none) == (cell.loss == 0)
        assert (TOU_PAPER_RTO in with_none) == (cell.loss == 0.01)


def test_a_seed_is_one_list_of_losses_and_another_seed_another():
    assert losses.draw(BAD, 3) == losses.draw(BAD, 3)
    assert losses.draw(BAD, 3) != losses.draw(BAD, 4)
    assert losses.draw(CELLS[0], 3) == losses.Losses((), ())
    # 21,429 segments of 1,400 bytes or fewer: 214 of them, and a standard deviation of 15.
    assert all(150 < len(losses.draw(BAD, seed).first) < 280 for seed in range(20))
    assert len(losses.draw(BAD, 3, 0.1).first) < 40


@pytest.mark.parametrize("test", all_tests(), ids=lambda test: test.name)
def test_every_testbed_is_one_that_can_be_built(test):
    found = topology.experiment(test, losses.draw(test.cell, 1))
    validate(replace(found, flows=[]))
    link = tomllib.loads(found.programs[0].files["link.toml"])
    client, server = (port["up"] for port in link["ports"])
    assert client["delay"] == server["delay"] == f"{test.cell.rtt_ms / 2:g}ms"
    assert "loss" not in server
    assert (client["loss"] == 0) == (test.cell.loss == 0)


def test_the_papers_settings_are_those_of_its_figure_12_and_the_window_is_everybodys():
    plain, tuned = sysctls(KERNEL_RENO), sysctls(TUNED_RENO)
    assert "net.ipv4.tcp_sack" not in plain
    assert [tuned[f"net.ipv4.tcp_{key}"] for key in ("sack", "dsack", "timestamps")] == [0, 0, 0]
    assert tuned["net.ipv4.tcp_rmem"].split()[2] == plain["net.ipv4.tcp_rmem"].split()[2]


def test_a_mean_window_is_over_time_and_not_more_than_acts():
    rows = [[0.0, 10.0], [1.0, 40.0], [4.0, 99.0]]
    assert mean_window(rows) == pytest.approx((10 + 3 * 40) / 4)
    assert mean_window(rows, 20.0) == pytest.approx((10 + 3 * 20) / 4)


def runs(ratios, cwnd=1.0, dropped=0):
    """Runs in the bad cell: ToU's times over the kernel's are `ratios`."""
    kernel = {seed: replace(RUN, seconds=10.0 + seed) for seed in range(len(ratios))}
    tou = {
        seed: replace(RUN, seconds=(10.0 + seed) * ratio, cwnd=RUN.cwnd * cwnd, dropped=dropped)
        for seed, ratio in enumerate(ratios)
    }
    kernels = (KERNEL_RENO, KERNEL_CUBIC, PACED_CUBIC)
    ours = (TOU_NEWRENO, TOU_CUBIC, TOU_CLASSIC, UNPACED_TOU)
    named = {Test(BAD, contender).name: kernel for contender in kernels}
    return named | {Test(BAD, contender).name: tou for contender in ours}


def verdicts(found, key):
    return {c.verdict for c in judge([BAD], found, whole=True) if c.key.startswith(key)}


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [(0.9, 1.05, PASS), (1.051, 1.2, FAIL), (0.7, 0.7, PASS), (0.9, 1.06, UNDECIDED)],
)
def test_tou_may_take_a_twentieth_longer_by_the_median_of_the_pairs(low, high, verdict):
    # The interval of the median of 11 is from the second to the tenth.
    found = runs([0.5] + [low] * 5 + [high] * 4 + [3.0])
    assert verdicts(found, "time.tou-newreno.kernel-reno") == {verdict}
    # The paper's own TCP is shown.
    assert verdicts(found, "time.tou-classic") == {INFORMATIVE}


@pytest.mark.parametrize(
    ("cwnd", "verdict"), [(0.86, PASS), (1.14, PASS), (0.84, FAIL), (1.2, FAIL)]
)
def test_the_windows_are_within_fifteen_percent(cwnd, verdict):
    found = runs([1.0] * SEEDS, cwnd)
    assert verdicts(found, "mean cwnd.tou-cubic.kernel-cubic") == {verdict}
    # Pacing at both, and at neither.
    assert verdicts(found, "mean cwnd.tou-cubic.paced-cubic") == {verdict}
    assert verdicts(found, "mean cwnd.tou-unpaced.kernel-cubic") == {verdict}


def test_fewer_seeds_or_bytes_decide_nothing():
    few = runs([3.0] * (SEEDS - 1))
    assert verdicts(few, "time") == {INFORMATIVE, UNDECIDED}
    found = judge([BAD], few, whole=True)
    # Nothing at all is decided, and the page says why.
    assert {c.verdict for c in found} == {INFORMATIVE, UNDECIDED}
    assert any(c.why == f"not enough runs: {SEEDS - 1} of {SEEDS}" for c in found)
    small = judge([BAD], runs([3.0] * SEEDS), whole=False)
    assert {c.verdict for c in small if c.key.startswith("time")} == {INFORMATIVE, UNDECIDED}


def test_the_kernels_tcp_stands_beside_tou_in_the_bars_and_in_the_line():
    seconds = {KERNEL_RENO: 1.02, TOU_NEWRENO: 0.86, KERNEL_CUBIC: 0.85, TOU_CUBIC: 0.93}
    runs = {Test(BAD, each).name: {"runs": {"1": {"seconds": s}}} for each, s in seconds.items()}
    results = {"experiments": [], "summaries": runs}
    reno, cubic = in_short.bars(TOU, results)
    assert [(bar.name, bar.value) for bar in reno.bars] == [
        ("kernel reno", 1.02),
        ("ToU newreno", 0.86),
    ]
    assert [bar.name for bar in cubic.bars] == ["kernel cubic", "ToU cubic"]
    assert in_short.finding(results) == (
        "reno: ToU 0.86 s, kernel 1.02 s; cubic: ToU 0.93 s, kernel 0.85 s (100 ms, 1 % loss)"
    )


def test_a_queue_that_loses_is_detected():
    assert verdicts(runs([1.0] * SEEDS, dropped=1), "dropped") == {FAIL}


def test_fast_and_slow_tests_do_not_wait_for_each_other():
    slow = [(test, seed) for seed in (1, 2) for test in all_tests() if test.cost < 0.2]
    fast = [(test, 1) for test in all_tests() if test.cost == 1]
    chosen = measure.to_start([*slow, *fast], [], 2)
    assert sum(test.cost == 1 for test, _ in chosen) == 2
    assert sum(test.cost < 0.2 for test, _ in chosen) > 10
    assert measure.to_start(fast[2:], fast[:2], 2) == []


@pytest.fixture
def no_testbeds(monkeypatch):
    """Runs that take no time, in the place of testbeds; their number."""
    made = []

    def pretend(_campaign, missing, request, store):
        for test, seed in missing:
            made.append(test.name)
            curve = CURVE if seed == request.seed else None
            store.add(test, seed, replace(RUN, seconds=10.0 + seed, curve=curve))

    monkeypatch.setattr(Campaign, "run_processes", pretend)
    monkeypatch.setattr(reproduce, "require", lambda _tests: None)
    return made


def test_a_result_follows_the_schema_and_its_report_has_every_figure(
    lab, no_testbeds, repository, tmp_path
):
    out = tmp_path / "out"
    assert lab("--runs", "11", out=out, target="tou") == 0
    results = json.loads((out / "results.json").read_text())
    schema = repository / "lab/src/windlass_lab/data/results.schema.json"
    jsonschema.validate(results, json.loads(schema.read_text()))
    assert [e["id"] for e in results["experiments"]] == [*("nice", "regular", "bad", "emulation")]
    assert results["machine"] == provenance.machine()
    assert results["commit"] == provenance.commit()
    page = (out / "report.html").read_text()
    for figure in ("Figure 15", "Figure 16", "Figure 17", "Figure 18", "Table 2: throughput"):
        assert figure in page
    names = {file.stem for file in (out / "data").glob("*.csv")}
    assert names >= {f"figure-{n}-{axis}" for n in (16, 17, 18) for axis in ("time", "sequence")}
    curve = (out / "data/figure-18-sequence.csv").read_text().splitlines()
    assert curve[1] == '"30 MB, loss 1 %, RTT 0 ms, reno",kernel reno,0.0,10.0,'
    before = len(no_testbeds)
    lab("--runs", "11", "--resume", out=out, target="tou")
    assert len(no_testbeds) == before


def test_every_panel_is_a_plot_that_plotly_accepts(lab, no_testbeds, tmp_path):
    out = tmp_path / "out"
    lab("--runs", "1", "--tests", "loss0-*", out=out, target="tou/nice")
    results = json.loads((out / "results.json").read_text())
    for document in results["experiments"]:
        assert report.content(document["id"], {}, 1.0).plots == []
    drawn = report._drawn("nice", cells_of("nice"), {n: {1: RUN} for n in results["summaries"]})
    assert drawn == []
    with_curves = {n: {1: replace(RUN, curve=CURVE)} for n in results["summaries"]}
    for panel in (
        panel
        for each in report._drawn("nice", cells_of("nice"), with_curves)
        for panel in each.panels
    ):
        graph_objects.Figure(panel.spec["data"], panel.spec["layout"])


def test_a_store_gives_back_curves(tmp_path):
    test = Test(BAD, TOU_CUBIC)
    store = RunLines(tmp_path / "runs.jsonl", {}, False, read_run)
    store.add(test, 1, replace(RUN, curve=CURVE))
    store.close()
    again = RunLines(tmp_path / "runs.jsonl", {}, True, read_run)
    assert again.of(test) == [replace(RUN, curve=CURVE)]
    again.close()


def test_a_binary_without_the_controller_none_is_reported_in_one_line(monkeypatch):
    tests = [Test(CELLS[0], contender) for contender in (TOU_NEWRENO, TOU_NONE)]
    printed, lines = SimpleNamespace(stdout="cubic, newreno, reno"), []
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: printed)
    monkeypatch.setattr(reproduce, "require", lambda _tests: None)
    request = SimpleNamespace(windlass=SimpleNamespace(path="windlass"), progress=lines.append)
    assert reproduce.CELLS.possible(tests, request) == tests[:1]
    assert len(lines) == 1
    printed.stdout += "; none: for experiments"
    assert reproduce.CELLS.possible(tests, request) == tests

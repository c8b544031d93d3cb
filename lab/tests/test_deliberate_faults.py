"""Verdicts mean what they say: each deliberate fault turns its paper's page red, and a change that
does no harm leaves it green.
"""

from dataclasses import replace

import pytest

from windlass_lab.core.errors import LabError
from windlass_lab.core.judge import evidence_in
from windlass_lab.core.judge import judge as judge_experiment
from windlass_lab.core.locate import find_experiments, find_windlass
from windlass_lab.core.output import REPORT
from windlass_lab.core.registry import ENTRIES, find
from windlass_lab.core.reproduce import reproduce
from windlass_lab.core.text import counts, tally
from windlass_lab.core.windlass import Sampling, Windlass
from windlass_lab.papers.ecn_proxy import judge as ecn_proxy
from windlass_lab.papers.ecn_proxy.plan import NATIVE, PROXY
from windlass_lab.papers.ecn_proxy.plan import Test as ProxyTest
from windlass_lab.papers.ecn_proxy.runs import Run as ProxyRun
from windlass_lab.papers.split_ack import plan, population, summary
from windlass_lab.papers.tou import judge as tou
from windlass_lab.papers.tou.course import Course
from windlass_lab.papers.tou.plan import CELLS, KERNEL_RENO, TOU_NEWRENO
from windlass_lab.papers.tou.plan import Test as TouTest
from windlass_lab.papers.tou.runs import Run as TouRun

NEW_ECN = {"kind": "new-ecn"}


@pytest.fixture(scope="module")
def windlass():
    """The built binary."""
    try:
        return Windlass(find_windlass(None))
    except LabError:
        pytest.skip("no binary windlass: not built")


@pytest.fixture(scope="module")
def page(windlass):
    """The page and the tally of an experiment of New-ECN, whose New-ECN cases are changed."""

    def made(experiment_id: str, changes: dict, seed: int = 1):
        paper, [experiment] = find(f"new-ecn/{experiment_id}", quick=False)
        cases = [
            replace(case, overrides={**case.overrides, **changes}) if "new" in case.name else case
            for case in experiment.cases
        ]
        results, series = reproduce(
            paper,
            [replace(experiment, cases=cases)],
            windlass,
            find_experiments(None, "new-ecn"),
            Sampling(replicates=6, jobs=2, seed=seed),
            lambda _: None,
        )
        return counts(results), ENTRIES[paper.id].files(paper, results, series)[REPORT]

    return made


@pytest.mark.parametrize(
    ("experiment", "changes"),
    [
        # A controller with a wrong constant.
        ("4.2.1-setup1", {"defaults.controller": NEW_ECN | {"beta": 4.0}}),
        ("4.2.1-setup1", {"defaults.controller": NEW_ECN | {"alpha_slp": 0.99}}),
        ("4.2.1-setup1", {"defaults.controller": "reno"}),
        # ECN off; a queue that does not mark; a slower link.
        ("4.2.1-setup1", {"defaults.ecn": False}),
        ("4.2.1-setup1", {"queues.marking.action": "drop"}),
        ("4.2.1-setup1", {"dumbbell.bottleneck.rate": "8Mbit/s"}),
        # The kinds of two flows exchanged.
        (
            "4.3.2",
            {"flows.0.controller": "reno", "flows.0.ecn": False, "flows.3.controller": "new-ecn"},
        ),
    ],
)
def test_a_fault_in_the_simulator_turns_the_page_of_new_ecn_red(page, experiment, changes):
    found, html = page(experiment, changes)
    assert found.failed and "DIFFERS" in html
    assert f'<span class="badge fail">{found.agreeing} of {found.judged}</span>' in html


def test_other_seeds_leave_the_page_of_new_ecn_green(page):
    found, html = page("4.2.1-setup1", {}, seed=1000)
    assert found.judged > 30 and not found.failed
    assert "DIFFERS" not in html


@pytest.mark.parametrize(("parts", "is_red"), [(1, True), (4, False)])
def test_division_that_divides_nothing_is_told(windlass, parts, is_red):
    """Of Table 2.1 the large file with division in slow start, whose receivers do not split."""
    paper, [experiment] = find("split-ack/2.1", quick=False)
    names = ("study-1.5MB-off", "study-1.5MB-SS")
    # Half of the study's files, for speed.
    changed = {"defaults.receiver.ack.parts": parts}
    changed |= {f"flows.{flow}.app.count": 10 for flow in range(4)}
    part = replace(
        experiment,
        cases=[
            replace(case, overrides={**case.overrides, **changed})
            for case in experiment.cases
            if case.name in names
        ],
        checks=[check for check in experiment.checks if check.case == names[1]],
        plots=[],
    )
    results, _ = reproduce(
        paper,
        [part],
        windlass,
        find_experiments(None, paper.id),
        Sampling(replicates=20, jobs=2, seed=1),
        lambda _: None,
    )
    found = counts(results)
    assert (found.judged, found.failed) == (1, is_red)
    assert (found.paper_judged, found.paper_agreeing) == (1, 0 if is_red else 1)


@pytest.mark.parametrize(("slower", "is_red"), [(1.33, True), (1.0, False), (1.03, False)])
def test_tou_that_is_a_third_slower_is_told(slower, is_red):
    cell = next(cell for cell in CELLS if (cell.loss, cell.rtt_ms) == (0.01, 100))
    run = TouRun(10.0, 30.0, 12.0, 13.0, 5, 0, 5, 0, 1.0, 1444, Course(None, None, 0, 0))
    kernel = {seed: replace(run, seconds=10.0 + seed) for seed in range(tou.SEEDS)}
    ours = {seed: replace(one, seconds=one.seconds * slower) for seed, one in kernel.items()}
    runs = {TouTest(cell, KERNEL_RENO).name: kernel, TouTest(cell, TOU_NEWRENO).name: ours}
    found = tally(tou.judge([cell], runs, whole=True))
    assert found.judged and found.failed == is_red


@pytest.mark.parametrize(("seconds", "is_red"), [(160.0, True), (100.0, False), (103.0, False)])
def test_a_proxy_that_does_nothing_is_told(seconds, is_red):
    """Without ECN an upload takes more than half as long again."""
    times = {PROXY: seconds, NATIVE: 100.0}
    runs = {
        ProxyTest("upload", "3", True, name).name: [ProxyRun(value + n / 100) for n in range(5)]
        for name, value in times.items()
    }
    found = tally(ecn_proxy.judge("upload", "3", runs))
    assert found.judged and found.failed == is_red


def _probed(window: int) -> dict:
    """What a probe says that takes every server's initial window for this."""
    verdict = {
        "reaction": {"kind": "counts-bytes", "limit": "two"},
        "confidence": 0.9,
        "initial_window": {"packets": window, "segments": window, "bytes": 1, "exact": True},
        "notes": [],
    }
    return {"verdict": verdict, "runs": []}


def _initial_windows(windows: dict) -> list:
    """The comparisons of initial windows in section 4.3, for these findings of the servers."""
    paper, [experiment] = find("split-ack/4.3", quick=False)
    summaries = {
        name: summary.of_server(_probed(windows.get(name, 10))) for name in experiment.named
    }
    results = {"summaries": summaries, "replicates": 1, "published": {}}
    found = judge_experiment(experiment, evidence_in(paper, results))
    return [c for c in found if c.key == "initial_window.packets"]


def test_a_probe_that_always_says_10_is_told():
    right = {plan.APPLE.name: 3, plan.ORACLE.name: 4, plan.MICROSOFT.name: 16, plan.LINUX.name: 3}
    assert not tally(_initial_windows(right)).failed
    assert tally(_initial_windows({})).failed


def _survey(stacks: dict[str, str], resent: int = 10) -> list:
    """The comparisons of section 4.5 for a population by the arithmetic, with some stacks exchanged
    for others. Negative servers retransmit so many packets at test C.
    """
    path = {"mss": "1440", "rtt_ms": "20", "loss": "0"}
    asked = [{"address": f"10.99.{n // 250}.{n % 250}"} | path for n in range(600)]
    mixed = population.mixed(asked, seed=1)
    servers = [row | {"stack": stacks.get(row["stack"], row["stack"])} for row in mixed]
    hosts, runs = [], []
    for server in servers:
        url = f"http://{server['address']}/"
        kind = population.Kind(server["stack"], int(server["initial_window"]))
        negative = kind.stack == population.NEGATIVE
        said = summary.EXPECTED[kind.stack]
        hosts.append(
            {"host": url, "outcome": "measured", "reaction": said}
            | {"initial_window_packets": server["initial_window"]}
        )
        for test, parts in (("A", 1), ("C", 4)):
            again = resent if negative and test == "C" else 3 if kind.stack == "linux" else 1
            data = population.data_packets(kind, parts)
            runs.append(
                {"host": url, "test": test, "ending": "measured"}
                | {"data_packets": str(data), "retransmissions": str(again)}
            )
    paper, [experiment] = find("split-ack/4.5", quick=False)
    found = summary.of_population(servers, hosts, runs) | {"elapsed_s": 1.0, "memory_mib": 1.0}
    results = {"summaries": {plan.POPULATION.name: found}, "replicates": 1, "published": {}}
    return judge_experiment(experiment, evidence_in(paper, results))


def test_a_population_that_reacts_as_the_thesis_says_meets_its_statements():
    """But for one, by the arithmetic: as many ACK counters leave 10 to 16 packets as come there."""
    found = _survey({})
    assert [c.key for c in found if "fail" in (c.verdict, c.paper)] == ["all.gained_share"]
    assert not tally(found).failed
    assert tally(found).built > 10 and tally(found).paper_judged == 3


@pytest.mark.parametrize(
    ("stacks", "resent", "key"),
    [
        # Every server counts ACKs: new data rises, and the peak goes where the thesis has none.
        (dict.fromkeys(population.STACKS, "rfc2581"), 10, "all.new_data"),
        (dict.fromkeys(population.STACKS, "rfc2581"), 10, "all.peak"),
        # No server does, so that none gains.
        ({"rfc2581": "linux"}, 10, "all.gaining"),
        # Nothing more is sent again, or no server reacts poorly.
        ({}, 1, "all.traffic"),
        ({}, 1, "all.resent_part"),
        ({"freebsd-7": "linux"}, 10, "all.resending"),
        ({"freebsd-7": "linux"}, 10, "all.negative_less_gaining"),
    ],
)
def test_a_population_that_reacts_otherwise_is_told(stacks, resent, key):
    comparisons = _survey(stacks, resent)
    assert tally(comparisons).failed
    assert [c.paper for c in comparisons if c.key == key] == ["fail"]

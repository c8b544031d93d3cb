"""Verdicts mean what they say: each deliberate fault turns its paper's page red, and a change that
does no harm leaves it green.
"""

from dataclasses import replace

import pytest

from windlass_lab.core.binary.locate import find_experiments, find_windlass
from windlass_lab.core.binary.windlass import Sampling, Windlass
from windlass_lab.core.errors import LabError
from windlass_lab.core.experiments.decisive import decisive_cases
from windlass_lab.core.experiments.judge import evidence_in
from windlass_lab.core.experiments.judge import judge as judge_experiment
from windlass_lab.core.files.output import REPORT
from windlass_lab.core.pipeline.reproduce import reproduce
from windlass_lab.core.statistics.interval import FEWEST_RUNS, FEWEST_SEEDS
from windlass_lab.core.text.verdicts import counts, tally, total
from windlass_lab.core.verdicts.verdict import FAIL, PASS, UNDECIDED, Comparison
from windlass_lab.papers.ecn_proxy import aside, aside_figures
from windlass_lab.papers.ecn_proxy import judge as ecn_proxy
from windlass_lab.papers.ecn_proxy.plan import NATIVE, PROXY
from windlass_lab.papers.ecn_proxy.plan import Test as ProxyTest
from windlass_lab.papers.ecn_proxy.runs import Run as ProxyRun
from windlass_lab.papers.new_ecn.over_tou import NEW_ECN_TOU
from windlass_lab.papers.registry import ENTRIES, find
from windlass_lab.papers.split_ack import criteria, plan, population, summary
from windlass_lab.papers.tou import judge as tou
from windlass_lab.papers.tou.plan import CELLS, KERNEL_RENO, TOU_NEWRENO
from windlass_lab.papers.tou.plan import Test as TouTest
from windlass_lab.papers.tou.runs import Run as TouRun
from windlass_lab.papers.tou.window import WindowFigures

NEW_ECN = {"kind": "new-ecn"}


@pytest.fixture(scope="module")
def windlass():
    """The built binary."""
    try:
        return Windlass(find_windlass(None))
    except LabError:
        pytest.skip("no binary windlass: not built")


def rows(results) -> list[Comparison]:
    """Every row of a result."""
    found = [c for e in results["experiments"] for c in e["comparisons"]]
    return [Comparison.from_json(c) for c in found]


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
    assert found.failed and "NOT MET" in html
    whole = total(found.own)
    assert f'<span class="badge fail">{whole.met} of {whole.judged}</span>' in html


def test_other_seeds_leave_the_page_of_new_ecn_green(page):
    found, html = page("4.2.1-setup1", {}, seed=1000)
    assert total(found.own).judged > 30 and not found.failed
    assert "NOT MET" not in html


@pytest.mark.parametrize(("parts", "is_red"), [(1, True), (4, False)])
def test_division_that_divides_nothing_is_detected(windlass, parts, is_red):
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
    assert (total(found.own).judged, found.failed) == (1, is_red)
    timeouts = [row for row in rows(results) if row.key == "timeouts_per_flow"]
    assert {row.paper for row in timeouts if row.published} == {"fail" if is_red else "pass"}


@pytest.mark.parametrize(("slower", "is_red"), [(1.33, True), (1.0, False), (1.03, False)])
def test_tou_that_is_a_third_slower_is_detected(slower, is_red):
    cell = next(cell for cell in CELLS if (cell.loss, cell.rtt_ms) == (0.01, 100))
    run = TouRun(10.0, 30.0, 12.0, 13.0, 5, 0, 5, 0, 1.0, 1444, WindowFigures(None, None, 0, 0))
    kernel = {seed: replace(run, seconds=10.0 + seed) for seed in range(tou.SEEDS)}
    ours = {seed: replace(one, seconds=one.seconds * slower) for seed, one in kernel.items()}
    runs = {TouTest(cell, KERNEL_RENO).name: kernel, TouTest(cell, TOU_NEWRENO).name: ours}
    found = tally(tou.judge([cell], runs, whole=True))
    assert found.own and found.failed == is_red


@pytest.mark.parametrize(("seconds", "is_red"), [(160.0, True), (100.0, False), (103.0, False)])
def test_a_proxy_that_does_nothing_is_detected(seconds, is_red):
    """Without ECN an upload takes more than half as long again."""
    times = {PROXY: seconds, NATIVE: 100.0}
    runs = {
        ProxyTest("upload", "3", True, name).name: [ProxyRun(value + n / 100) for n in range(20)]
        for name, value in times.items()
    }
    found = tally(ecn_proxy.judge("upload", "3", runs, FEWEST_SEEDS))
    assert found.own and found.failed == is_red


def _probed(window: int) -> dict:
    """The output of a probe that takes every server's initial window for this."""
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


def test_a_probe_that_always_says_10_is_detected():
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
    # Table 4.12 has numbers of one site, which none of these servers is.
    said = [c for c in found if c.criterion != criteria.TABLE_4_12]
    assert [c.key for c in said if "fail" in (c.verdict, c.paper)] == ["all.gained_share"]
    assert not tally(found).failed
    assert tally(found).built.judged > 10 and total(tally(said).paper).judged == 3


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
def test_a_population_that_reacts_otherwise_is_detected(stacks, resent, key):
    comparisons = _survey(stacks, resent)
    assert tally(comparisons).failed
    assert [c.paper for c in comparisons if c.key == key] == ["fail"]


def _figures(name: str, values: dict[str, tuple[float, float]], count: int = FEWEST_SEEDS) -> list:
    """The rows of an experiment of New-ECN for the mean and deviation of one figure by case. What
    is not named is 0.99, of each figure.
    """
    paper, [experiment] = find(f"new-ecn/{name}", quick=False)
    summaries = {}
    for case in experiment.named:
        mean, sd = values.get(case, (0.99, 0.001))
        keys = {c.quantity.key for c in experiment.checks if hasattr(c, "quantity")}
        summary: dict = {"replicates": count, "flows": []}
        for key in keys:
            node = summary
            *path, last = key.split(".")
            for part in path:
                node = node.setdefault(part, {})
            node[last] = {"mean": mean, "sd": sd}
        summaries[case] = summary
    results = {"summaries": summaries, "replicates": count, "published": {}}
    return judge_experiment(experiment, evidence_in(paper, results))


def _claims(found, kind) -> dict[str, list[str]]:
    return {
        verdict: [c.case for c in found if c.kind == kind and c.paper == verdict]
        for verdict in (PASS, FAIL, UNDECIDED)
    }


def test_one_cell_of_a_series_that_is_worse_is_detected():
    assert not _claims(_figures("robustness", {}), "bound")[FAIL]
    found = _figures("robustness", {"s1_newecn@loss": (0.85, 0.01)})
    assert _claims(found, "bound")[FAIL] == ["s1_newecn@loss"]
    found = _figures("queues", {"s2_newecn@sred": (0.224, 0.01)})
    assert _claims(found, "bound")[FAIL] == ["s2_newecn@sred"]


def test_a_cell_within_noise_of_its_bound_is_not_decided():
    found = _figures("robustness", {"s1_newecn@loss": (0.951, 0.02)})
    assert _claims(found, "bound")[UNDECIDED] == ["s1_newecn@loss"]


def test_an_order_within_noise_is_not_decided():
    """Of six pairs of hops the long flow's index under ECN Reno and Reno differs by less than the
    runs do.
    """
    close = {}
    for hops in range(1, 7):
        close |= {
            f"gateways{hops}_ecn": (0.850, 0.05),
            f"gateways{hops}_reno": (0.860, 0.05),
            f"gateways{hops}_newecn": (0.870, 0.05),
        }
    orders = [c for c in _figures("gateways", close) if c.allowed.count("<") == 2]
    assert [c.paper for c in orders] == 5 * [UNDECIDED]
    apart = {name: (mean, 0.001) for name, (mean, _) in close.items()}
    orders = [c for c in _figures("gateways", apart) if c.allowed.count("<") == 2]
    assert [c.paper for c in orders] == 5 * [PASS]


def test_an_order_that_is_turned_round_is_detected():
    turned = {f"gateways{hops}_newecn": (0.8, 0.001) for hops in range(1, 7)}
    orders = [c for c in _figures("gateways", turned) if c.allowed.count("<") == 2]
    assert [c.paper for c in orders] == 5 * [FAIL]


def test_too_few_seeds_decide_neither_bounds_nor_orders():
    found = _figures("robustness", {"s1_newecn@loss": (0.5, 0.001)}, FEWEST_SEEDS - 1)
    assert not _claims(found, "bound")[FAIL] and not _claims(found, "bound")[PASS]
    assert not _claims(found, "order")[FAIL] and not _claims(found, "order")[PASS]


@pytest.mark.parametrize(("loss", "paper"), [(0.87, FAIL), (0.99, PASS), (0.952, UNDECIDED)])
def test_what_others_lose_beside_new_ecn_is_judged(loss, paper):
    found = _figures(
        "friendliness", {"mix_3new_3reno": (0.99 * loss, 0.01), "mix_6reno": (0.99, 0.01)}
    )
    [row] = [c for c in found if c.case == "mix_3new_3reno" and c.published]
    assert row.paper == paper


def test_parameters_that_are_worse_on_one_path_are_not_better_in_all_respects():
    found = _figures("parameters", {"far@quick": (0.96, 0.001)})
    worse = [c for c in found if c.paper == FAIL]
    assert {c.case for c in worse} == {"far@quick"}


def test_two_rates_that_are_swapped_in_new_ecn_over_tou_are_detected():
    experiment = next(e for e in NEW_ECN_TOU.experiments if e.id == "four-rtts")
    rates = {190: 486.0, 70: 551.0, 30: 621.0, 4: 772.0}

    def failed(real: dict[int, float]) -> list:
        summaries = {}
        for name in experiment.named:
            by_rtt = real if name.endswith("@tou") else rates
            flows = [
                {"name": f"f{rtt}", "controller": "new-ecn", "rtt_min_ms": rtt}
                | {"packets_per_s": {"steady": rate}}
                for rtt, rate in by_rtt.items()
            ]
            index = {"steady": {"median": 0.969, "sd": 0.001}}
            summaries[name] = {"fairness_index": index, "flows": flows, "replicates": FEWEST_RUNS}
        results = {"summaries": summaries, "replicates": FEWEST_RUNS, "published": {}}
        found = judge_experiment(experiment, evidence_in(NEW_ECN_TOU, results))
        return [(c.key, c.flow) for c in found if c.verdict == FAIL]

    assert failed(rates) == []
    # The index is the same.
    swapped = failed(rates | {190: rates[4], 4: rates[190]})
    assert {key for key, _ in swapped} == {"packets_per_s.steady"} and len(swapped) == 2


def test_a_proxy_that_is_slow_in_one_cell_kept_aside_is_detected():
    cells = aside.cells()
    slow = next(cell for cell in cells if cell.direction == "upload" and not cell.native)
    runs = {cell.name: [ProxyRun(120.0 if cell == slow else 100.0)] for cell in cells}
    found = [c for c in aside_figures.judge(runs) if c.paper == FAIL]
    assert {c.quantity.partition(", ")[2].rpartition(", ")[2] for c in found} == {"the worst cell"}


def test_a_proxy_that_leaves_marks_unanswered_is_detected():
    lines = {"episodes": 1000, "answered_virtual_loss": 970, "passed_over": 30}
    lines |= {"ect": 1000, "ect_waiting": 50}
    runs = {ProxyTest("upload", "3", True, PROXY).name: [ProxyRun(1.0, proxies=[lines])] * 20}
    found = [c for c in ecn_proxy.judge("upload", "3", runs, FEWEST_SEEDS) if c.verdict == FAIL]
    assert len(found) == 1 and "answered by the sender" in found[0].quantity


def test_check_simulates_once_what_cannot_fail(windlass):
    both = [find(f"new-ecn/{id_}", quick=False) for id_ in ("window-limit", "queue-papers")]
    paper, experiments = both[0][0], [e for _, [e] in both]
    results, _ = reproduce(
        paper,
        experiments,
        windlass,
        find_experiments(None, paper.id),
        Sampling(replicates=2, jobs=2, brief=True),
        lambda _: None,
    )
    decisive = decisive_cases(experiments)
    assert 0 < len(decisive) < len(results["summaries"])
    for name, found in results["summaries"].items():
        assert found["replicates"] == (2 if name in decisive else 1)
    judged = [row for row in rows(results) if row.verdict in (PASS, FAIL)]
    assert {row.case for row in judged} <= decisive

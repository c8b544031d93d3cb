"""The coexistence of controllers: the matrix, measures of a pair, its scenarios, and a result."""

import json
import sys
import tomllib
from datetime import date
from importlib import resources

import jsonschema
import pytest

from coexistence_runs import DSL, matrix, pair, run
from windlass_lab.cli import main
from windlass_lab.core.files.output import FILES, MATRIX
from windlass_lab.core.statistics import harm
from windlass_lab.papers.coexistence import (
    judge,
    matrix_page,
    measure,
    overview,
    plan,
    runs,
    scenario,
    simulate,
    unresponsive,
)
from windlass_lab.papers.coexistence.catalogue import CELLS, EFFECTS, JUDGED
from windlass_lab.papers.coexistence.effects import effects
from windlass_lab.papers.coexistence.named import FIRST_RESULT, NAMED
from windlass_lab.papers.coexistence.plan import Cell, Path
from windlass_lab.sweeps.keep import kept

# A simulator of 2025: rates by weight, and no Prague or BBRv3.
FAKE = """
import json, sys
from pathlib import Path
if "--version" in sys.argv:
    print("windlass 0.0.0")
    sys.exit()
weights = {"bbr": 3.0, "dctcp": 4.0, "vegas": 0.5}
status = 0
for number, line in enumerate(sys.stdin, start=1):
    document = json.loads(line)
    names = [flow["controller"] for flow in document["flows"]]
    if {"prague", "bbr3"} & set(names):
        print(json.dumps({"line": number, "error": "no such controller"}), flush=True)
        status = 2
        continue
    parts = [weights.get(name, 1.0) + document["seed"] / 1000 for name in names]
    rates = [24.0 * part / sum(parts) for part in parts]
    wait = {"mean": 12.0, "p99": 30.0}
    flows = [{"mbit_per_s": {"steady": rate}, "rtt_samples_ms": wait, "queue_delay_ms": wait}
             for rate in rates]
    print(json.dumps({"kind": "sim.run", "flows": flows, "queues": [{"queue_delay_ms": wait}],
                      "bottleneck_packets": 1000, "drops": 10, "marks": 20,
                      "utilisation": {"steady": 0.97}}), flush=True)
    with Path(__file__).with_suffix(".count").open("a") as count:
        count.write("x")
sys.exit(status)
"""


@pytest.fixture
def simulator(tmp_path):
    """A stand-in for the binary, and the number of runs that it has made."""
    code = tmp_path / "fake.py"
    code.write_text(FAKE)
    script = tmp_path / "windlass"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{code}" "$@"\n')
    script.chmod(0o755)
    counter = code.with_suffix(".count")

    def reproduce(target, *arguments):
        before = made()
        options = ["--windlass", str(script), "--out", str(tmp_path / "out"), *arguments]
        status = main(["reproduce", target, *options])
        return status, made() - before

    def made():
        return len(counter.read_text()) if counter.exists() else 0

    return reproduce


def test_harm_is_the_part_of_the_solo_performance_that_is_lost():
    assert harm.of_more(alone=10.0, beside=4.0) == pytest.approx(0.6)
    assert harm.of_less(alone=20.0, beside=50.0) == pytest.approx(0.6)
    # Two that share equally harm each other by a half; one that is not disturbed is not harmed.
    assert harm.of_more(10.0, 5.0) == 0.5
    assert harm.of_more(10.0, 10.0) == harm.of_less(7.0, 7.0) == 0.0
    assert harm.of_more(10.0, 12.0) < 0
    assert harm.of_more(0.0, 1.0) is None
    assert harm.excess(0.6, 0.5) == pytest.approx(0.1)


def test_the_matrix_has_every_pair_behind_every_queue_on_every_path():
    cells = list(plan.matrix())
    assert len(cells) == len({cell.name for cell in cells})
    # 36 pairs on equal paths; with unequal ones both orders count.
    assert len(cells) == 8 * 4 * 4 * (36 + 2 * 64)
    # One's own path is the same whatever the other one's is.
    solos = [cell for cell in plan.with_alone(cells) if not cell.alone]
    assert len(solos) == 8 * 4 * 4 * 8 * 3


def test_a_part_of_the_matrix_is_there_for_each_rate():
    parts = [cell for id_, of in CELLS.items() if id_.startswith("matrix") for cell in of()]
    assert set(parts) == set(plan.with_alone(list(plan.matrix())))


def test_twelve_cells_have_bounds_that_are_older_than_their_results():
    assert len(NAMED) == 12
    assert len({(named.cell, named.measure.key) for named in NAMED}) == 12
    for named in NAMED:
        assert named.criterion.source
        assert date(2026, 11, 30) <= named.criterion.set_on <= FIRST_RESULT
        assert named.cell in CELLS[JUDGED]()


def some_cells():
    for queue in plan.QUEUES:
        for rate, rtt, ratio in ((4, 5, 16), (1000, 160, 1)):
            path = Path(queue, rate, rtt, ratio)
            yield Cell(path, "dctcp", "bbr")
            yield Cell(path, "", "vegas")
    yield from (each.cell for each in effects())
    yield from (unresponsive.cell(load) for load in scenario.LOADS)


def test_the_flows_have_the_round_trips_of_their_cell():
    for cell in some_cells():
        document = tomllib.loads(scenario.text(cell))
        dumbbell = document["dumbbell"]
        shared = float(dumbbell["bottleneck"]["delay"].removesuffix("ms"))
        one_way = [float(link["delay"].removesuffix("ms")) + shared for link in dumbbell["access"]]
        assert [2 * each for each in one_way] == pytest.approx(cell.path.rtts_ms(), abs=1e-3)
        assert [flow["from"] for flow in document["flows"]] == [
            f"s{place}" for place, name in ((1, cell.first), (2, cell.second)) if name
        ]


def test_a_source_that_does_not_slow_down_has_the_rate_of_its_load():
    for load in scenario.LOADS:
        [source] = tomllib.loads(scenario.text(unresponsive.cell(load)))["udp"]
        assert source["ecn"] == "ect1"
        assert float(source["rate"].removesuffix("kbit/s")) == 160_000 * load / 100
    assert "udp" not in tomllib.loads(scenario.text(unresponsive.PLAIN))


def test_rows_of_unresponsive_traffic_have_bounds_that_are_older_than_their_results():
    rows = [row for row in judge.show({}) if row.criterion]
    assert len(rows) == len(unresponsive.EXPECTED) == 2 * 2 + 3
    for named in unresponsive.EXPECTED:
        assert named.criterion.set_on <= FIRST_RESULT
        assert named.cell in CELLS[EFFECTS]()


def test_the_low_latency_queue_has_what_the_classic_flow_leaves_of_the_link():
    cell = unresponsive.cell(30)
    found = {cell.name: [run(60.0, 40.0)] * 3}
    classic = 40.0 * 1500 / 1448 / 160 / 0.95
    assert measure.estimate(measure.LOW_LATENCY, cell, found).mean == pytest.approx(1 - classic)
    assert measure.estimate(measure.RATES, cell, found).mean == pytest.approx(100 / 160)


def test_a_window_has_room_for_the_longest_queue():
    for cell in some_cells():
        document = tomllib.loads(scenario.text(cell))
        window = int(document["defaults"]["receiver"]["buffer"].removesuffix("B"))
        assert window > 5 * cell.path.bdp_packets * plan.PACKET_BYTES


def test_the_simulator_takes_every_scenario():
    native = pytest.importorskip("windlass_lab._native", reason="scripts/build-native builds it")
    known = [name for name in plan.CONTENDERS if is_known(native, name)]
    assert {"reno", "cubic", "new-ecn", "vegas"} <= set(known)
    for cell in some_cells():
        if set(cell.contenders) <= set(known):
            native.check(cell.name, scenario.text(cell), [], None)


def is_known(native, name):
    try:
        native.check(name, scenario.text(Cell(DSL, name, "")), [], None)
    except ValueError:
        return False
    return True


def test_the_measures_of_a_pair():
    cell, found = pair()
    figures = {each.key: measure.estimate(each, cell, found).mean for each in measure.SHOWN}
    assert figures["share"] == 0.25
    assert figures["jain"] == pytest.approx(24**2 / (2 * (6**2 + 18**2)))
    assert (figures["harm_first"], figures["harm_second"]) == (0.75, 0.25)
    # 30 ms alone, 40 ms beside the other.
    assert figures["delay_first"] == figures["delay_second"] == pytest.approx(0.25)
    assert (figures["queue_p99_ms"], figures["loss"], figures["marks"]) == (20.0, 0.01, 0.02)


def test_a_pair_without_its_solo_runs_has_no_harm():
    cell, found = pair()
    alone = {cell.name: found[cell.name]}
    assert measure.estimate(measure.HARM_FIRST, cell, alone) is None
    assert measure.estimate(measure.SHARE, cell, alone).mean == 0.25


def test_excess_harm_is_held_against_a_flow_of_ones_own_kind():
    cell, found = pair("reno", "cubic")
    _, own = pair("reno", "reno")
    own[Cell(DSL, "reno", "reno").name] = [run(12.0, 12.0)] * 3
    excess = measure.estimate(measure.EXCESS, cell, found | own)
    assert excess.mean == pytest.approx(0.75 - 0.5)


def test_a_flow_that_gets_nothing_has_a_rate_of_zero_and_no_round_trip():
    keys = runs.keys(1)
    figures = dict.fromkeys(keys, 1.0)
    figures |= {"flows.0.mbit_per_s.steady": 0.0, "flows.0.rtt_samples_ms.mean": None}
    found = runs.read("x", figures, 1)
    assert found.mbit == [0.0]
    assert found.rtt_ms == [None]
    cell, others = pair()
    starved = run(0.0, 24.0)
    starved = [type(starved)(starved.mbit, [None, 40.0], [None, 20.0], 1.0, 1.0, 0.0, 0.0, 1.0)]
    others[cell.name] = starved * 3
    assert measure.estimate(measure.HARM_FIRST, cell, others).mean == 1.0
    assert measure.estimate(measure.DELAY_FIRST, cell, others) is None


def test_a_cell_that_was_not_run_has_no_verdict():
    [*_, prague, delay] = judge.judge({})
    assert (prague.verdict, prague.why) == ("informative", "not run")
    assert delay.criterion is not None


def test_the_page_puts_together_the_scenarios_that_were_run():
    parts = matrix_page.parts_of_scenarios()
    for cell in list(plan.matrix())[::97]:
        path = cell.path
        place = f"{path.rate_mbit}-{path.rtt_ms}"
        assert scenario.text(cell) == "".join(
            [
                f'name = "{cell.name}"\n',
                parts["head"][place],
                parts["queue"][f"{path.queue}-{place}"],
                parts["links"][f"{place}-{path.ratio}"],
                parts["flow"][f"{cell.first}-1"],
                parts["flow"][f"{cell.second}-2"],
            ]
        )


def test_the_plot_has_both_orders_of_a_pair():
    cells = [Cell(DSL, *names) for names in plan.pairs(1)]
    [plot] = overview.content("quick", cells, matrix()).plots
    # On a page with several parts each has a plot of its own.
    [other] = overview.content("matrix-25", cells, matrix()).plots
    ids = [{panel.id for panel in each["drawn"].panels} for each in (plot, other)]
    assert not ids[0] & ids[1]
    [panel] = plot["drawn"].panels
    trace = panel.spec["data"][0]
    shares = dict(zip(zip(trace["y"], trace["x"], strict=True), trace["z"], strict=True))
    assert shares["Reno", "CUBIC"] == 0.25
    assert shares["CUBIC", "Reno"] == 0.75


def test_named_cells_are_judged_and_what_is_lacking_is_said(simulator, tmp_path, capsys):
    status, made = simulator("coexistence/named")
    # DCTCP has four times CUBIC's rate, and BBR three times: the bounds on FQ-CoDel are missed.
    assert status == 1
    assert made > 0
    said = capsys.readouterr()
    assert "this windlass has no controller prague: its cells are not run" in said.err
    results = json.loads((tmp_path / "out" / "results.json").read_text())
    schema = resources.files("windlass_lab").joinpath("data", "results.schema.json")
    jsonschema.validate(results, json.loads(schema.read_text()))
    [document] = results["experiments"]
    verdicts = [row["verdict"] for row in document["comparisons"]]
    assert verdicts.count("informative") == 2
    assert set(verdicts) == {"pass", "fail", "informative"}
    assert "matrix.html" in (tmp_path / "out" / "report.html").read_text()
    assert (tmp_path / "out" / MATRIX).is_file()
    assert MATRIX in FILES


def test_a_matrix_grows_part_by_part(simulator, tmp_path):
    _, first = simulator("coexistence/quick", "--tests", "reno+*-fifo1-*")
    # Reno alone and six pairs, three seeds each, and a look at each of the six known controllers.
    assert first == 7 * 3 + 6
    _, again = simulator("coexistence/quick", "--resume", "--tests", "reno+*-fifo1-*")
    assert again == 6
    _, more = simulator("coexistence/quick", "--resume", "--tests", "cubic+*-fifo1-*")
    assert more == 6 * 3 + 6
    results = json.loads((tmp_path / "out" / "results.json").read_text())
    assert {"reno+vegas", "cubic+vegas"} <= {n.partition("-fifo1")[0] for n in results["summaries"]}


def test_a_cluster_gives_the_runs_of_this_machine():
    distributed = pytest.importorskip("distributed", reason="windlass-lab[cluster]")
    native = pytest.importorskip("windlass_lab._native", reason="scripts/build-native builds it")
    wanted = [
        (Cell(Path("fifo1", 4, 5), "reno", name), seed) for name in ("cubic", "") for seed in (1, 2)
    ]
    found = {}
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
    ) as cluster:
        for cell, seed, figures in simulate.on_cluster(wanted, cluster.scheduler_address):
            found[cell, seed] = runs.read(cell.name, figures, len(cell.contenders))
    assert set(found) == set(wanted)
    cell, seed = wanted[1]
    text = scenario.text(cell)
    summary, _ = native.simulate("x", text, [], seed, None, "none", None, None)
    alone = kept(json.loads(summary), runs.keys(2))
    assert found[cell, seed] == runs.read(cell.name, alone, 2)


def test_the_cluster_is_for_this_study_alone(simulator, capsys):
    status, made = simulator("new-ecn", "--scheduler", "tcp://127.0.0.1:1")
    assert (status, made) == (2, 0)
    assert "--scheduler is for coexistence" in capsys.readouterr().err

"""The experiments beyond the paper's tables: cells kept aside, mechanisms, the stricter network."""

import csv
import io
import json
import subprocess
from pathlib import Path
from statistics import median

import pytest
from plotly import graph_objects

from windlass_lab.core.binary.locate import find_windlass
from windlass_lab.core.errors import LabError, RunError
from windlass_lab.core.pipeline.run_lines import RunLines
from windlass_lab.core.verdicts.verdict import NOT_ENOUGH_RUNS
from windlass_lab.papers.ecn_proxy import (
    aside,
    aside_figures,
    at_bottleneck,
    criteria,
    duplicate_acks,
    iperf,
    mechanisms,
)
from windlass_lab.papers.ecn_proxy.catalogue import SUPPLEMENTS
from windlass_lab.papers.ecn_proxy.connection_modes import CONNECTION_MODES
from windlass_lab.papers.ecn_proxy.emulated import measure_emulated
from windlass_lab.papers.ecn_proxy.plan import CLIENT_OPENS, IPV6, PROXY, Test
from windlass_lab.papers.ecn_proxy.published import published
from windlass_lab.papers.ecn_proxy.runs import Run
from windlass_lab.papers.ecn_proxy.sch_red import SCH_RED
from windlass_lab.papers.ecn_proxy.simulate import request, result
from windlass_lab.papers.ecn_proxy.supplement import over
from windlass_lab.papers.ecn_proxy.topology import experiment
from windlass_lab.testbed.validate import validate


def measured(tests, seconds_of):
    """Runs of each test, a hundredth of a second apart."""
    return {test.name: [Run(seconds_of(test) + n / 100) for n in range(20)] for test in tests}


def of_cells(slow_uploads):
    return measured(aside.cells(), lambda cell: 100.0 * slow_uploads(cell))


def test_every_cell_has_a_name_of_its_own_and_both_configurations():
    found = aside.cells()
    assert len({cell.name for cell in found}) == len(found) == 2 * 3 * 3 * 3 * 4 * 2 * 3
    assert sum(cell.native for cell in found) == len(found) / 2


@pytest.mark.parametrize("direction", ["download", "upload"])
def test_only_the_served_host_lacks_ecn_in_a_cell(direction):
    native, proxy = (aside.Cell(20, 40, "pie", 4, direction, 0.5, each) for each in (True, False))
    sender, receiver = (proxy.keys(1.0)[key] for key in ("defaults.ecn", "defaults.receiver.ecn"))
    assert (sender, receiver) == (direction == "download", direction == "upload")
    assert native.keys(1.0)["defaults.ecn"] and native.keys(1.0)["defaults.receiver.ecn"]
    assert not native.keys(1.0)["middleboxes"]
    changed = {"defaults.ecn", "defaults.receiver.ecn", "middleboxes"}
    same = [{k: v for k, v in c.keys(1.0).items() if k not in changed} for c in (native, proxy)]
    assert same[0] == same[1]


def test_connections_of_a_cell_share_its_bytes():
    size = aside.Cell(20, 40, "pie", 4, "upload", 0.0, True).keys(0.5)["flows.0.app"]["size"]
    assert size == f"{20e6 / 8 * 20 / 4 / 2:.0f}B"


def test_the_median_of_the_cells_the_worst_and_the_share_inside_are_judged():
    def slower(cell):
        return 1.0 if cell.native else 1.2 if cell.rate_mbit == 5 else 1.01

    found = {c.case: c for c in aside_figures.judge(of_cells(slower)) if "median" in c.quantity}
    assert found["aside-upload"].measured.mean == pytest.approx(1.01, abs=1e-3)
    assert {c.paper for c in found.values()} == {"pass"}
    judged = aside_figures.judge(of_cells(slower))
    shares = [c for c in judged if "share" in c.quantity]
    assert {round(c.measured.mean, 3) for c in shares} == {0.667}
    assert {c.paper for c in judged if "median" not in c.quantity} == {"fail"}
    # They are findings, and no regression.
    assert {c.verdict for c in judged} == {"informative"}
    worse = aside_figures.judge(of_cells(lambda cell: 1.0 if cell.native else 1.06))
    assert {c.paper for c in worse} == {"fail"}


def test_one_cell_of_the_aside_that_is_worse_is_detected():
    worst = next(cell for cell in aside.cells() if cell.direction == "upload")

    def slower(cell):
        return 1.2 if cell.place == worst.place and not cell.native else 1.0

    found = aside_figures.judge(of_cells(slower))
    assert {c.case for c in found if c.paper == "fail"} == {
        "aside-upload",
        f"aside-upload-{worst.queue}",
    }
    assert all("the worst cell" in c.quantity for c in found if c.paper == "fail")


def test_the_worst_cells_come_first_in_the_table_and_in_the_csv():
    def one_slow(cell):
        is_it = (cell.rate_mbit, cell.queue, cell.connections, cell.cross) == (50, "codel", 8, 1.0)
        return 1.0 if cell.native or not is_it else 1.0 + cell.rtt_ms / 1000

    runs = of_cells(one_slow)
    worst = aside_figures.tables(runs)[0]["rows"]
    assert worst[0][1:6] == ("50", "100", "CoDel", "8", "1")
    assert worst[0][8] == "1.100"
    [text] = aside_figures.files(runs).values()
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == len(aside.cells()) / 2
    ratios = [float(row["ratio"]) for row in rows]
    assert ratios == sorted(ratios, reverse=True)


@pytest.mark.parametrize("name", SUPPLEMENTS)
def test_plots_are_such_that_plotly_accepts_them(name):
    runs = measured(SUPPLEMENTS[name].tests(), lambda _: 50.0)
    plots = SUPPLEMENTS[name].draw(runs)
    assert plots
    for drawn in plots:
        for panel in drawn.panels:
            assert graph_objects.Figure(panel.spec).data
        assert all(len(row) == len(drawn.headings) for row in drawn.rows)
    for table in SUPPLEMENTS[name].tables(runs):
        assert all(len(row) == len(table["headings"]) for row in table["rows"])
    assert not SUPPLEMENTS[name].draw({})
    assert not SUPPLEMENTS[name].judge({})


def test_the_papers_uploads_are_held_against_the_papers_own_mechanism():
    def seconds(test):
        has_ecn = test.test.client_ecn
        return 100.0 if has_ecn else 193.5 if test.variant == "no-ect" else 101.0

    found = mechanisms.judge(measured(mechanisms.tests(), seconds))
    with_figure = [c for c in found if "Not-ECT, over both ECN" in c.quantity]
    assert [c.published for c in with_figure] == [1.308, 1.508, 1.628, 1.935]
    assert [c.paper for c in with_figure] == ["fail", "fail", "fail", "pass"]
    # Figures that the paper did not measure have no published value.
    others = [c for c in found if "drops" in c.quantity or "virtual" in c.quantity]
    assert {c.published for c in others} == {None}


def test_each_mechanism_is_a_policy_of_the_proxy_and_senders_are_without_rack():
    keys = {test.variant: test.keys(1.0) for test in mechanisms.tests() if test.test.has_proxy}
    proxies = {variant: each["middleboxes"][0] for variant, each in keys.items()}
    policies = {variant: proxy["policy"] for variant, proxy in proxies.items()}
    assert policies == {
        "no-ect": "no-ect",
        "drop": "drop",
        "virtual-loss": "virtual-loss",
        "duplicates": "virtual-loss",
        **{
            f"{policy}{senders}": policy
            for policy in (
                "duplicate-acks",
                "duplicate-acks-with-cwr",
                "duplicate-acks-as-printed",
            )
            for senders in ("", "-no-sack")
        },
    }
    assert proxies["duplicates"]["without_sack"]
    no_sack = {v for v, each in keys.items() if each.get("defaults.sack") is False}
    assert no_sack == {"duplicates", *(v for v in keys if v.endswith("-no-sack"))}
    assert not any(test.keys(1.0)["defaults.rack"] for test in mechanisms.tests())


def test_a_connection_that_the_duplicate_acks_broke_is_no_time():
    test = duplicate_acks.MACHINES[0].test("3")
    transfers = [{"completed": 1, "completion_s": [5.0]}, {"completed": 0, "completion_s": []}]
    flows = [{"transfers": each, "timeouts": 4} for each in (*transfers, transfers[1])]
    run = result(test, 0.1, {"duration_s": 101.0, "flows": flows})
    assert (run.unfinished, run.seconds, run.senders["timeouts"]) == (2, 100.0, 12)
    runs = {test.name: [run, Run(30.0)]}
    [figure] = duplicate_acks.judge("3", runs)
    assert figure.measured.mean == pytest.approx(100 * 2 / 3)
    assert figure.verdict == "informative"
    times, timeouts = (table["rows"][0] for table in duplicate_acks.tables(runs)[:2])
    assert times[3] == "30.00 (1 of 2 runs)"
    assert timeouts[3] == "2.000"


def test_the_limit_is_longer_than_the_published_uploads_and_scales():
    uploads = {t: s for t, s in published().items() if t.direction == "upload" and t.cross}
    medians = [median(seconds) for test, seconds in uploads.items() if test.load != "files"]
    assert max(medians) * 1.5 < duplicate_acks.LIMIT_S
    assert duplicate_acks.MACHINES[0].test("1").keys(0.1)["duration"] == "101s"
    [limited] = {test.limit_s for test in duplicate_acks.tests()}
    assert limited == duplicate_acks.LIMIT_S
    assert mechanisms.tests()[0].limit_s is None


def test_the_stricter_network_has_no_device_and_asks_again_as_the_papers_hosts_did():
    for test in at_bottleneck.tests():
        keys = test.keys(1.0)
        assert keys["links.3.device_queue"] == keys["links.4.device_queue"] == "0s"
        assert keys["defaults.ecn_fallback"] is False
        assert all(proxy["fallback"] is False for proxy in keys["middleboxes"])


def test_the_stricter_network_has_the_bounds_of_the_main_tests():
    runs = measured(at_bottleneck.tests(), lambda test: 102.0 if test.test.server_ecn else 100.0)
    failed = {c.quantity for c in at_bottleneck.judge(runs) if c.verdict == "fail"}
    assert len(failed) == 16
    assert all("without cross traffic" in name and "over no ECN" in name for name in failed)


@pytest.mark.parametrize(
    ("above", "verdict"),
    [([100.0, 101.0], "pass"), ([120.0, 121.0], "fail"), ([85.0, 120.0], "undecided")],
)
def test_runs_that_are_too_far_apart_decide_nothing(above, verdict):
    upper, lower = at_bottleneck.tests()[1:3]
    runs = {upper.name: [Run(s) for s in above * 10], lower.name: 10 * [Run(100.0), Run(100.5)]}
    found = over("Time", runs, upper, lower, criteria.AT_BOTTLENECK, 20)
    assert found.verdict == verdict
    assert found.why.startswith(NOT_ENOUGH_RUNS) == (verdict == "undecided")


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("aside", ["--real"], "aside: there is no testbed of it"),
        ("ways", ["--sim"], "ways: there is no simulation of it"),
    ],
)
def test_an_experiment_that_cannot_be_made_so_says_why(
    lab, tmp_path, capsys, name, options, message
):
    status = lab(*options, out=tmp_path / "out", target=f"ecn-proxy/{name}")
    assert status == LabError.exit_status
    assert message in capsys.readouterr().err


def test_a_test_in_another_way_is_none_of_the_papers():
    assert not any(test in published() for test in CONNECTION_MODES.tests())
    assert len({test.name for test in CONNECTION_MODES.tests()}) == 36


def test_a_testbed_over_ipv6_has_no_address_of_the_other_family():
    found = experiment(Test("upload", "2", True, PROXY, IPV6))
    validate(found)
    addresses = [a for link in found.topology.links for e in (link.a, link.b) for a in e.addresses]
    addresses += [route.via for route in found.topology.routes]
    assert addresses and all(":" in address for address in addresses)
    assert "10." not in found.programs[0].files["link.toml"]


def test_a_client_that_opens_a_download_receives_what_a_cubic_server_sends():
    command = iperf.client("10.5.0.1", 5201, 2, 1000, "")
    assert "--reverse" in command and "--tcp-congestion" not in command
    assert "--ipv6_domain" in iperf.client("fd00:5::1", 5201, 2, 1000, "cubic")
    plain, opened = (
        experiment(Test("download", "2", True, PROXY, mode)).topology.routes
        for mode in ("", CLIENT_OPENS)
    )
    [server] = [route for route in opened if route.node == "server"]
    assert server.controller == "cubic"
    assert not any(route.controller for route in plain)


RECEIVED = """\
[  1] local 10.1.0.1%proxy port 43006 connected with 10.5.0.1 port 5201 (reverse) (sock=3) \
(icwnd/mss/irtt=14/1448/17) (ct=3.80 ms) on 2026-11-27 00:46:47 (UTC)
[ ID] Interval            Transfer    Bandwidth       Reads=Dist
[ *1] 0.0000-7.5000 sec  1000000 Bytes  133333 Bytes/sec  40=0:1:1:0:0:1:0:37
"""


def test_a_client_that_receives_reports_with_a_star():
    [transfer] = iperf.transfers("tcp", RECEIVED, 1, 1_000_000)
    assert transfer.seconds == pytest.approx(7.5038)


def test_the_simulator_runs_each_kind_of_supplement(repository):
    """One small run of each, in the real simulator; Not-ECT data fare as without ECN."""
    try:
        windlass = find_windlass(None)
    except LabError:
        pytest.skip("no binary windlass: not built")
    cells = [aside.Cell(20, 40, kind, 2, "upload", 0.5, False) for kind in aside.QUEUES]
    uploads = [test for test in mechanisms.tests() if test.test.load == "3" and test.test.cross]
    strict = [test for test in at_bottleneck.tests() if test.test.load == "2" and test.test.cross]
    tests = [*cells, *uploads, *strict]
    wanted = [(test, seed) for test in tests for seed in (1, 2, 3)]
    scenarios = repository / "experiments/ecn-proxy"
    lines = subprocess.run(
        [windlass, "sim", "batch", "-"],
        input="\n".join(json.dumps(request(scenarios, test, seed, 0.05)) for test, seed in wanted),
        capture_output=True,
        text=True,
        check=False,
    ).stdout.splitlines()
    times = {}
    for (test, _), line in zip(wanted, lines, strict=True):
        run = result(test, 0.05, json.loads(line))
        times.setdefault(test.name, []).append(run.seconds)
    assert set(times) == {test.name for test in tests}
    none, native, not_ect = (
        median(times[f"C.8-{name}_cross@{variant}"])
        for name, variant in (
            ("noEcn_noProxy", "linux-3.19"),
            ("bothEcn_noProxy", "linux-3.19"),
            ("oneEcn_proxy", "no-ect"),
        )
    )
    assert not_ect == pytest.approx(none, rel=0.1)
    assert not_ect > 1.3 * native


def machine_that(tmp_path, script):
    """A repository whose emulated machine is a script."""
    scenarios = tmp_path / "experiments" / "ecn-proxy"
    scenarios.mkdir(parents=True)
    (scenarios / "through-sch-red").touch()
    (tmp_path / "scripts").mkdir()
    machine = tmp_path / "scripts" / "with-kernel"
    machine.write_text(f"#!/bin/sh\n{script}\n")
    machine.chmod(0o755)
    return scenarios


def run_emulated(scenarios, tests, store, scale=1.0):
    wanted = [(test, 1) for test in tests]
    measure_emulated(Path("windlass"), scenarios, wanted, scale, store, lambda _: None)


PRINTED = """
echo "$@" >> "$(dirname "$0")/arguments"
for count in 1 2 3; do
  echo "none   $count    45.700 s       0 marked    309 dropped"
  echo "proxy  $count    41.900 s     421 marked      0 dropped"
  echo "dropped 0  proxied 3  ect 3"
  echo "both   $count    41.800 s     451 marked      0 dropped"
done
"""


def test_an_emulated_machine_makes_what_is_missing_of_a_direction(tmp_path):
    scenarios = machine_that(tmp_path, PRINTED)
    store = RunLines(tmp_path / "runs.jsonl", {}, False, Run)
    uploads = [test for test in SCH_RED.tests() if test.direction == "upload"]
    run_emulated(scenarios, uploads[:4], store, scale=0.1)
    arguments = (tmp_path / "scripts" / "arguments").read_text().split()
    assert arguments[-5:] == ["windlass", "--megabytes", "2", "1", "2"] and "--up" in arguments
    assert {name for name, _ in store.runs} == {test.name for test in uploads[:4]}
    assert {run.seconds for run in store.runs.values()} == {45.7, 41.9, 41.8}
    store.close()


def test_the_proxy_through_sch_red_is_judged_beside_both_others(tmp_path):
    store = RunLines(tmp_path / "runs.jsonl", {}, False, Run)
    run_emulated(machine_that(tmp_path, PRINTED), SCH_RED.tests(), store)
    store.close()
    single = {name: [run] for (name, _), run in store.runs.items()}
    assert {each.why for each in SCH_RED.judge(single)} == {f"{NOT_ENOUGH_RUNS}: 1 of 10"}
    runs = {name: 10 * run for name, run in single.items()}
    found = SCH_RED.judge(runs)
    assert len(found) == 12 and {each.verdict for each in found} == {"pass"}
    slower = {name: 10 * [Run(60.0)] if name.endswith(PROXY) else run for name, run in runs.items()}
    assert {each.verdict for each in SCH_RED.judge(slower)} == {"fail"}
    assert [row[1] for row in SCH_RED.tables(runs)[0]["rows"][:3]] == ["45.70", "41.90", "41.80"]
    (drawn,) = SCH_RED.draw(runs)
    graph_objects.Figure(data=drawn.panels[0].spec["data"])


@pytest.mark.parametrize(
    ("script", "error"),
    [("echo broken >&2; exit 1", "status 1: broken"), ("true", "ended without sch-red-download-1")],
)
def test_an_emulated_machine_that_fails_says_why(script, error, tmp_path):
    store = RunLines(tmp_path / "runs.jsonl", {}, False, Run)
    with pytest.raises(RunError, match=error):
        run_emulated(machine_that(tmp_path, script), SCH_RED.tests(), store)
    store.close()


def test_sch_red_is_measured_in_the_repository_only(tmp_path):
    store = RunLines(tmp_path / "runs.jsonl", {}, False, Run)
    with pytest.raises(LabError, match="run in the repository"):
        run_emulated(tmp_path / "experiments" / "ecn-proxy", SCH_RED.tests(), store)
    store.close()

import json
import shutil
import subprocess
from dataclasses import asdict
from statistics import median

import jsonschema
import pytest
from plotly import graph_objects

from windlass_lab.core.binary.locate import find_windlass
from windlass_lab.core.binary.windlass import Windlass
from windlass_lab.core.errors import LabError, RunError
from windlass_lab.core.experiments.coverage import SENTENCE, coverage
from windlass_lab.core.pipeline.choose import select
from windlass_lab.core.pipeline.request import Request
from windlass_lab.core.pipeline.run_lines import RunLines
from windlass_lab.core.statistics import ratios
from windlass_lab.core.verdicts.verdict import TRIVIAL
from windlass_lab.papers.ecn_proxy import (
    figures,
    in_short,
    iperf,
    measure,
    report,
    reproduce,
    transfer,
)
from windlass_lab.papers.ecn_proxy.catalogue import ECN_PROXY, SUPPLEMENTS
from windlass_lab.papers.ecn_proxy.judge import judge
from windlass_lab.papers.ecn_proxy.plan import (
    CONFIGURATIONS,
    IDLE_PROXY,
    NATIVE,
    NEITHER,
    OWN_PROXIES,
    PROXY,
    Test,
    all_tests,
    demo_tests,
    overrides,
)
from windlass_lab.papers.ecn_proxy.published import published
from windlass_lab.papers.ecn_proxy.runs import Run
from windlass_lab.papers.ecn_proxy.simulate import request, result
from windlass_lab.papers.ecn_proxy.topology import experiment
from windlass_lab.papers.registry import find
from windlass_lab.testbed.validate import validate

DOWNLOAD = Test("download", "1", True, PROXY)
UPLOAD = Test("upload", "3", True, PROXY)


def test_the_plan_has_the_papers_hundred_tests_and_those_with_two_proxies():
    names = {test.name for test in all_tests()}
    assert len(names) == len(all_tests()) == 108
    assert sum(test.configuration in CONFIGURATIONS for test in all_tests()) == 100
    assert {test.table for test in all_tests()} == {f"C.{number}" for number in range(1, 11)}


def test_tests_are_chosen_by_globs_of_their_names():
    chosen = {test.name for test in select(all_tests(), ["C.[67]-*Ecn_noProxy_cross"])}
    names = ("noEcn_noProxy", "bothEcn_noProxy")
    assert chosen == {f"C.{number}-{name}_cross" for number in (6, 7) for name in names}
    assert select(all_tests(), []) == all_tests()
    with pytest.raises(LabError, match=r"C\.11-\*: no test has such a name"):
        select(all_tests(), ["C.1-*", "C.11-*"])


def test_every_published_run_belongs_to_a_test():
    found = published()
    assert set(found) == {test for test in all_tests() if test.configuration in CONFIGURATIONS}
    assert sum(map(len, found.values())) == 720


@pytest.mark.parametrize(
    ("direction", "expected"),
    [
        ("download", (1.035, 1.016, 1.022, 1.053, 0.997)),
        ("upload", (1.308, 1.508, 1.628, 1.935, 1.360)),
    ],
)
def test_the_published_ratios_are_the_papers(direction, expected):
    for load, ratio in zip(("1", "2", "3", "5", "files"), expected, strict=True):
        above, below = (
            median(published()[Test(direction, load, True, c)]) for c in (PROXY, NATIVE)
        )
        assert above / below == pytest.approx(ratio, abs=0.001)


def test_the_server_has_ecn_whichever_way_the_data_goes():
    down, up = overrides(DOWNLOAD, 1.0), overrides(UPLOAD, 1.0)
    assert (down["defaults.ecn"], down["defaults.receiver.ecn"]) == (True, False)
    assert (up["defaults.ecn"], up["defaults.receiver.ecn"]) == (False, True)
    assert up["flows.0.count"] == 3
    assert [proxy["served"] for proxy in up["middleboxes"]] == [["client"]]


def test_two_proxies_serve_an_end_each():
    keys = overrides(Test("upload", "1", True, OWN_PROXIES), 1.0)
    assert not keys["defaults.ecn"] and not keys["defaults.receiver.ecn"]
    served = {proxy["node"]: proxy["served"] for proxy in keys["middleboxes"]}
    assert served == {"proxy": ["client"], "gateway": ["server"]}


@pytest.mark.parametrize(
    ("test", "scale", "size", "count"),
    [
        (Test("download", "5", False, NEITHER), 1.0, "200000000B", None),
        (Test("upload", "5", False, NEITHER), 0.25, "25000000B", None),
        (Test("upload", "2", True, NEITHER), 0.25, "5000000B", None),
        (Test("upload", "files", True, NEITHER), 1.0, "2000000B", 200),
        (Test("upload", "files", False, NEITHER), 0.25, "2000000B", 25),
    ],
)
def test_sizes_are_the_papers_times_the_scale(test, scale, size, count):
    app = overrides(test, scale)["flows.0.app"]
    assert (app["size"], app.get("count")) == (size, count)
    assert ("udp" in overrides(test, scale)) != test.cross


def summary(*completion_s, duration_s=31.0):
    flows = [{"transfers": {"completed": 1, "completion_s": [time_s]}} for time_s in completion_s]
    return {"flows": flows, "duration_s": duration_s}


def test_a_time_is_from_the_first_opening_to_the_last_end():
    run = result(UPLOAD, 1.0, summary(30.0, 30.0, 15.0))
    assert run.seconds == 30.0
    assert run.fairness == pytest.approx(16 / 18)


def test_a_run_in_which_something_was_not_transferred_is_none():
    with pytest.raises(RunError, match="2 transfers"):
        result(UPLOAD, 1.0, summary(30.0, 30.0))


def test_a_ratio_is_of_medians_and_its_interval_holds_it():
    found = ratios.ratio([10, 11, 12, 13, 50], [20, 21, 22, 23, 24])
    assert found.value == 12 / 22
    assert found.low < found.value < found.high
    assert found == ratios.ratio([10, 11, 12, 13, 50], [20, 21, 22, 23, 24])
    assert ratios.ratio([3.0], [2.0]).sd == 0


def runs(direction="upload", load="3", **seconds):
    named = ((Test(direction, load, True, name), value) for name, value in seconds.items())
    return {test.name: [Run(value + number / 100) for number in range(20)] for test, value in named}


@pytest.mark.parametrize(
    ("seconds", "verdict"),
    [(96.0, "pass"), (104.0, "pass"), (105.0, "undecided"), (106.0, "fail"), (80.0, "fail")],
)
def test_the_proxy_must_be_as_fast_as_native_ecn_and_not_faster(seconds, verdict):
    found = judge("upload", "3", runs(oneEcn_proxy=seconds, bothEcn_noProxy=100.0), 20)
    [first] = [c for c in found if c.headline]
    assert first.verdict == verdict
    assert first.published == 1.628
    assert "95 % interval" in first.why


@pytest.mark.parametrize(("count", "fewest"), [(19, 20), (9, 10)])
def test_fewer_seeds_or_runs_decide_no_bound(count, fewest):
    few = {n: of[:count] for n, of in runs(oneEcn_proxy=150.0, bothEcn_noProxy=100.0).items()}
    [first] = [c for c in judge("upload", "3", few, fewest) if c.headline]
    assert (first.verdict, first.why) == ("undecided", f"not enough runs: {count} of {fewest}")


def test_what_is_one_by_its_nature_counts_apart():
    tests = [Test("upload", "3", False, name) for name in (PROXY, NEITHER)]
    idle = [Test("upload", "3", cross, IDLE_PROXY) for cross in (True, False)]
    measured = {test.name: [Run(100.0)] * 20 for test in (*tests, *idle)}
    measured |= runs(
        noEcn_noProxy=100.0, oneEcn_proxy=100.0, bothEcn_noProxy=100.0, bothEcn_proxy=100.0
    )
    kinds = {c.quantity.partition(": ")[2]: c.kind for c in judge("upload", "3", measured, 20)}
    trivial = {name for name, kind in kinds.items() if kind == TRIVIAL}
    idle_beside_ecn = "Time, both ECN, proxy over both ECN, no proxy, with cross traffic"
    without = {name for name in kinds if "without cross traffic" in name}
    assert len(without) == 2
    assert trivial == {*without, idle_beside_ecn}


@pytest.mark.parametrize(("seconds", "verdict"), [(104.0, "pass"), (106.0, "fail")])
def test_two_proxies_are_judged_as_one_is(seconds, verdict):
    measured = runs(noEcn_twoProxies=seconds, bothEcn_noProxy=100.0)
    [found] = [c for c in judge("upload", "3", measured, 20) if "a proxy each" in c.quantity]
    assert found.verdict == verdict


def test_boxes_are_labelled_with_the_papers_figures():
    """By the captions of section 4.3 and appendix B."""
    captions = {
        ("download", "3", False): ("4.4", "B.3", "B.11"),
        ("download", "3", True): ("4.5", "B.7", "B.15"),
        ("upload", "3", False): ("4.6", "B.23", "B.31"),
        ("upload", "3", True): ("4.7", "B.27", "B.35"),
        ("download", "1", False): ("B.1", "B.9"),
        ("download", "5", True): ("B.8", "B.16"),
        ("download", "files", False): ("B.17", "B.18"),
        ("download", "files", True): ("B.19", "B.20"),
        ("upload", "2", True): ("B.26", "B.34"),
        ("upload", "files", True): ("B.39", "B.40"),
    }
    assert {key: figures.numbers(*key) for key in captions} == captions


def test_a_figure_of_the_paper_is_shown_by_the_experiment_that_covers_it():
    covered = {
        c.number: c.experiment
        for c in coverage()
        if c.paper == "ecn-proxy" and c.experiment and c.kind != SENTENCE
    }
    shown = {
        number: test.table
        for test in all_tests()
        for number in figures.numbers(test.direction, test.load, test.cross)
    }
    assert shown == {number: table for number, table in covered.items() if "C" not in number}


def test_files_are_shown_and_not_judged():
    found = judge("upload", "files", runs(load="files", oneEcn_proxy=9.0, bothEcn_noProxy=1.0), 20)
    assert [c.verdict for c in found] == ["informative"]


def test_marks_are_to_be_answered():
    lines = {"episodes": 100, "answered_virtual_loss": 60, "answered_floor": 37, "passed_over": 3}
    lines |= {"ect": 1000, "ect_waiting": 70}
    single = {Test("upload", "1", True, PROXY).name: [Run(1.0, proxies=[lines])]}
    found = judge("upload", "1", single, 20)
    figures = {c.quantity.partition(": ")[2]: (c.measured.mean, c.verdict) for c in found}
    assert figures == {
        "Marks (ECE episodes) answered by the sender, with cross traffic": (0.97, "fail"),
        "Share of ECT packets sent while an answer waits": (0.07, "fail"),
    }


def test_a_broken_off_result_goes_on_from_whole_lines(tmp_path):
    path = tmp_path / "runs.jsonl"
    store = RunLines(path, {"scale": 1}, False, Run)
    store.add(UPLOAD, 1, Run(5.0))
    store.add(UPLOAD, 2, Run(6.0, 0.5, proxies=[{"ect": 1}]))
    store.close()
    path.write_text(path.read_text()[:-10])
    again = RunLines(path, {"scale": 1}, True, Run)
    assert again.of(UPLOAD) == [Run(5.0)]
    again.close()
    other = RunLines(path, {"scale": 0.5}, True, Run)
    assert not other.of(UPLOAD)
    other.close()


@pytest.mark.parametrize("load", ["1", "5", "files"])
def test_boxes_are_plots_that_plotly_accepts_and_tables_have_every_configuration(load):
    chosen = [t for t in all_tests() if (t.direction, t.load) == ("download", load)]
    measured = {test.name: [Run(100.0 + number) for number in range(10)] for test in chosen}
    found = figures.rows("download", load, measured, 0.5)
    drawn = figures.draw("C.1", "title", found, 0.5)
    assert [panel.label.partition(" (")[0] for panel in drawn.panels] == [
        "With cross traffic",
        "Without cross traffic",
    ]
    for panel in drawn.panels:
        assert graph_objects.Figure(panel.spec).data
    assert "multiplied by 0.5" in drawn.note
    rows = figures.table("C.1", found)["rows"]
    assert len(rows) == len(chosen)
    first = chosen[0]
    by_name = {test: theirs for test, theirs, _ in found}
    assert by_name[first] == [seconds * 0.5 for seconds in published()[first]]


@pytest.mark.parametrize("test", [t for t in all_tests() if t.load == "2"], ids=lambda t: t.name)
def test_every_testbed_is_one_that_can_be_built(test):
    found = experiment(test)
    validate(found)
    names = {program.name for program in found.programs}
    expected = 2 if test.configuration == OWN_PROXIES else int(test.has_proxy)
    assert len(names) == 1 + expected
    [port] = [p for p in found.programs[0].files["link.toml"].split("[[ports]]") if "10Mbit/s" in p]
    assert ('"left"' in port) == (test.direction == "download")


OPENED = """\
[  1] local 10.1.0.1%proxy port 33200 connected with 10.5.0.1 port 5201 (sock=3) \
(icwnd/mss/irtt=14/1448/47) (ct=0.26 ms) on 2026-11-23 23:15:05 (UTC)
[  2] local 10.1.0.1%proxy port 33204 connected with 10.5.0.1 port 5201 (sock=4) \
(icwnd/mss/irtt=14/1448/53) (ct=1024.00 ms) on 2026-11-23 23:15:06 (UTC)
"""
SENT = """\
[ ID] Interval            Transfer    Bandwidth       Write/Err  Rtry     Cwnd/RTT(var)
[  2] 0.0000-39.4971 sec  5000000 Bytes  126591 Bytes/sec  39/0         10       86K/26545(6121) us
[  1] 0.0000-39.9997 sec  5000000 Bytes  125001 Bytes/sec  39/0          6       93K/11265(1989) us
[SUM] 0.0000-39.9997 sec  10000000 Bytes  250001 Bytes/sec  78/0        16
"""


def test_a_kernel_run_lasts_until_the_last_connection_is_through_however_late_it_opened():
    transfers = iperf.transfers("tcp", OPENED + SENT, 2, 5_000_000)
    assert [each.opening_s for each in transfers] == pytest.approx([1.024, 0.00026])
    run = transfer.result([transfers, transfers])
    assert run.seconds == pytest.approx(2 * 40.5211)
    assert run.fairness == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize(
    "report", ["", "tcp connect failed: Connection refused\n", OPENED, OPENED + SENT[:200]]
)
def test_a_kernel_run_in_which_a_connection_did_not_send_all_is_none(report):
    with pytest.raises(RunError, match="of 2 connections sent their 5000000 bytes"):
        iperf.transfers("tcp", report, 2, 5_000_000)


def test_every_proxy_has_a_socket_of_its_own():
    found = experiment(Test("upload", "2", True, OWN_PROXIES)).programs
    sockets = {program.command[-1] for program in found if "ecn-proxy" in program.command}
    assert sockets == {"{out}/proxy.sock", "{out}/gateway.sock"}


def test_the_demo_shows_both_directions_and_judges_nothing():
    measured = {test.name: [Run(9.0)] for test in demo_tests()}
    measured[Test("upload", "1", True, NATIVE).name] = [Run(1.0)]
    documents = report.experiments(measured, real=True, judged=False)
    assert [document["id"] for document in documents] == ["C.1", "C.6"]
    found = [c for document in documents for c in document["comparisons"]]
    assert found
    assert {c["verdict"] for c in found} == {"informative"}
    # A bound beside a figure without a verdict reads as a miss.
    assert {c["allowed"] for c in found} == {""} and {c["interval"] for c in found} == {None}
    assert all(document["passed"] for document in documents)


def test_the_line_of_the_demo_has_seconds_and_its_bars_have_native_ecn_beside_the_proxy():
    seconds = {NEITHER: 19.6, PROXY: 17.4, NATIVE: 16.2}
    measured = {test.name: [Run(seconds[test.configuration])] for test in demo_tests()}
    results = {
        "experiments": report.experiments(measured, real=True, judged=False),
        "summaries": {name: {"runs": [asdict(run) for run in of]} for name, of in measured.items()},
    }
    assert in_short.finding(results) == (
        "proxy, ECN at both ends, no ECN: download 17.4, 16.2, 19.6 s; upload 17.4, 16.2, 19.6 s"
    )
    download, _ = in_short.bars(ECN_PROXY, results)
    assert [(bar.name, bar.value) for bar in download.bars] == [
        ("proxy", 17.4),
        ("ECN at both ends", 16.2),
        ("no ECN", 19.6),
    ]


def test_the_line_of_enough_runs_has_ratios():
    seconds = {NEITHER: 30.0, PROXY: 20.4, NATIVE: 20.0}
    measured = {test.name: [Run(seconds[test.configuration])] * 10 for test in demo_tests()}
    results = {
        "experiments": report.experiments(measured, real=True),
        "summaries": {name: {"runs": [asdict(run) for run in of]} for name, of in measured.items()},
    }
    assert in_short.finding(results) == (
        "download 1.02, without ECN 1.50; upload 1.02, without ECN 1.50"
    )


@pytest.mark.parametrize("target", ["ecn-proxy/demo", "ecn-proxy"])
def test_the_demo_is_short_by_whatever_name_it_was_asked_for(target, tmp_path):
    _, experiments = find(target, quick=True, kernel=True)
    request_ = Request(
        target=target,
        paper=ECN_PROXY,
        experiments=experiments,
        windlass=Windlass(find_windlass(None)),
        folder=tmp_path,
        progress=lambda _: None,
        real=True,
    )
    settled = reproduce.CAMPAIGN.settled(request_)
    assert (settled.runs, settled.scale, settled.real) == (1, 0.1, True)
    assert reproduce.CAMPAIGN.tests(settled) == demo_tests()


def test_a_binary_without_the_proxy_is_named_in_one_line(tmp_path):
    binary = tmp_path / "windlass"
    binary.write_text("#!/bin/sh\nexit 2\n")
    binary.chmod(0o755)
    lines = []
    assert measure.possible_on_kernels(binary, [(DOWNLOAD, 1)], lines.append) == []
    assert lines == [
        "this windlass has no command `ecn-proxy run`: tests with a proxy are left out"
    ]


def test_a_machine_without_iperf_is_refused_before_anything_is_built(monkeypatch, tmp_path):
    monkeypatch.setattr(measure.check, "require", lambda _: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    test = Test("download", "1", True, NATIVE)
    with pytest.raises(LabError, match=r"iperf is missing \(apt-get install iperf\)"):
        measure.possible_on_kernels(tmp_path / "windlass", [(test, 1)], print)


@pytest.fixture(scope="module")
def result_folder(lab, tmp_path_factory):
    folder = tmp_path_factory.mktemp("ecn-proxy") / "out"
    assert lab("--replicates", "2", out=folder, target="ecn-proxy") in (0, 1)
    return folder


def test_a_result_has_every_table_and_follows_the_schema(result_folder, repository):
    results = json.loads((result_folder / "results.json").read_text())
    schema = repository / "lab/src/windlass_lab/data/results.schema.json"
    jsonschema.validate(results, json.loads(schema.read_text()))
    tables = [f"C.{n}" for n in range(1, 11)]
    supplements = {name: each for name, each in SUPPLEMENTS.items() if not each.real}
    assert [e["id"] for e in results["experiments"]] == [*tables, *supplements]
    beyond = {test.name for each in supplements.values() for test in each.tests()}
    assert set(results["summaries"]) == {test.name for test in all_tests()} | beyond
    assert all(len(summary["runs"]) == 2 for summary in results["summaries"].values())


def test_the_page_has_a_table_and_boxes_of_each_table_of_the_paper(result_folder):
    page = (result_folder / "report.html").read_text()
    for number in range(1, 11):
        assert f"Table C.{number}: completion time in seconds" in page
        assert f'id="f-boxes-c-{number}"' in page
        assert (result_folder / f"data/boxes-c-{number}.csv").read_text().startswith("panel,curve,")
    assert "agree with the reference" not in page


def test_resume_runs_nothing_twice(lab, result_folder, tmp_path, capsys):
    folder = shutil.copytree(result_folder, tmp_path / "out")
    lab("--replicates", "2", "--resume", "--tests", "C.1-*_noCross", out=folder, target="ecn-proxy")
    assert "10 of 10 runs are there already" in capsys.readouterr().err


def test_options_of_the_proxys_tests_are_refused_elsewhere(lab, tmp_path, capsys):
    assert lab("--scale", "0.5", "--quick", out=tmp_path / "out") == LabError.exit_status
    assert "--scale" in capsys.readouterr().err


def test_the_simulator_shows_what_ecn_and_the_proxy_are_worth(repository):
    """A tenth of two megabytes' worth of three configurations, in the real simulator."""
    try:
        windlass = find_windlass(None)
    except LabError:
        pytest.skip("no binary windlass: not built")
    chosen = [Test("upload", "3", True, name) for name in (NEITHER, PROXY, NATIVE)]
    scenarios = repository / "experiments/ecn-proxy"
    wanted = [(test, seed) for test in chosen for seed in range(1, 6)]
    requests = [json.dumps(request(scenarios, test, seed, 0.05)) for test, seed in wanted]
    lines = subprocess.run(
        [windlass, "sim", "batch", "-"],
        input="\n".join(requests),
        capture_output=True,
        text=True,
        check=False,
    )
    if "unknown key" in lines.stdout:
        pytest.skip("the binary windlass is older than the scenarios")
    times = {test: [] for test in chosen}
    for (test, _), line in zip(wanted, lines.stdout.splitlines(), strict=True):
        times[test].append(result(test, 0.05, json.loads(line)).seconds)
    none, proxy, native = (median(times[test]) for test in chosen)
    assert none > 1.4 * native
    assert proxy < 1.15 * native

"""Experiments on a kernel: which runs are made, how they are judged, what the report says."""

import contextlib
import json
import os

import pytest

from windlass_lab.core.errors import LabError
from windlass_lab.core.experiments.judge import evidence_in, judge
from windlass_lab.core.experiments.model import KernelCase
from windlass_lab.core.statistics.derive import of_kernel
from windlass_lab.core.statistics.estimate import pool
from windlass_lab.core.verdicts.verdict import BOUND, FAIL, ORDER, PASS
from windlass_lab.papers.new_ecn import measure
from windlass_lab.papers.new_ecn.measure import Kernel
from windlass_lab.papers.registry import all_papers, find
from windlass_lab.testbed import check, controller

NEW, RENO = "four_rtts_newecn", "four_rtts_reno"
MIXES = ("mix_3new_3reno", "mix_3new_3ecn")


def summary(fairness, rates, share=None):
    """A summary of the simulator with flows of 190, 70, 30 and 4 ms."""
    flows = [
        {"name": f"f{rtt}", "controller": "x", "rtt_min_ms": rtt, "packets_per_s": {"steady": rate}}
        for rtt, rate in zip((190, 70, 30, 4), rates, strict=True)
    ]
    shares = {} if share is None else {"new_ecn_share": {"steady": share}}
    return {"fairness_index": {"steady": fairness}, "flows": flows} | shares


def verdicts(**changed):
    """Those of the experiment for made-up figures, of which some are `changed` for the kernel, by
    their keys: of setup 1 the fairness, the rates, of Reno the fairness; the share of the mixes.
    """
    figures = {"fairness": 0.95, "rates": (500, 550, 600, 800), "reno": 0.48, "share": 0.55}
    real = figures | changed
    summaries = {}
    for suffix, has in (("@simulator", figures), ("@kernel", real)):
        summaries[NEW + suffix] = summary(has["fairness"], has["rates"])
        summaries[RENO + suffix] = summary(has["reno"], (80, 220, 460, 1650))
        for mix in MIXES:
            summaries[mix + suffix] = summary(0.8, has["rates"], has["share"])
    results = {"replicates": 10, "summaries": summaries, "published": {}}
    paper = next(paper for paper in all_papers() if paper.id == "new-ecn")
    _, [experiment] = find("new-ecn/kernel", quick=False)
    return [c for c in judge(experiment, evidence_in(paper, results)) if c.verdict in (PASS, FAIL)]


def failed(**changed):
    return [(c.case, c.key) for c in verdicts(**changed) if c.verdict == FAIL]


def test_a_kernel_that_does_as_the_simulator_agrees():
    assert failed() == []
    # The fairness of both, a bound and an order, eight rates, two shares.
    assert len(verdicts()) == 4 + 8 + 2


@pytest.mark.parametrize(("fairness", "agrees"), [(0.921, True), (0.919, False), (0.979, True)])
def test_the_fairness_of_new_ecn_lies_within_three_hundredths(fairness, agrees):
    expected = [] if agrees else [(f"{NEW}@kernel", "fairness_index.steady")]
    assert failed(fairness=fairness) == expected


def test_the_fairness_of_reno_lies_within_five_hundredths():
    assert failed(reno=0.525) == []
    assert failed(reno=0.535) == [(f"{RENO}@kernel", "fairness_index.steady")]


def test_no_rate_is_further_off_than_fifteen_percent():
    assert failed(rates=(430, 550, 600, 800)) == []
    found = failed(rates=(420, 550, 600, 800))
    assert found == [(f"{NEW}@kernel", "packets_per_s.steady")]


@pytest.mark.parametrize(("share", "agrees"), [(0.41, True), (0.39, False), (0.61, False)])
def test_three_new_ecn_flows_take_about_half(share, agrees):
    cases = [] if agrees else [(f"{mix}@kernel", "new_ecn_share.steady") for mix in MIXES]
    assert failed(share=share) == cases


def test_a_new_ecn_that_is_unfair_fails_though_the_simulator_is_too():
    paper = next(paper for paper in all_papers() if paper.id == "new-ecn")
    _, [experiment] = find("new-ecn/kernel", quick=False)
    rates = (500, 550, 600, 800)
    names = [*experiment.named]
    summaries = {name: summary(0.89, rates, 0.5) for name in names}
    results = {"replicates": 10, "summaries": summaries, "published": {}}
    found = judge(experiment, evidence_in(paper, results))
    # Reno is as fair, so the order fails as well.
    assert [c.kind for c in found if c.verdict == FAIL] == [BOUND, ORDER]


def test_the_figure_of_several_runs_is_their_median():
    pooled = pool([{"a": {"b": value}} for value in (1.0, 2.0, 30.0)], median=True)
    assert pooled["a"]["b"]["median"] == 2.0
    assert pooled["replicates"] == 3


def test_a_run_on_a_kernel_has_the_shares_of_the_simulator():
    flows = [
        {"controller": "new_ecn", "ecn": True, "packets_per_s": {"whole_run": 60, "steady": 30}},
        {"controller": "reno", "ecn": False, "packets_per_s": {"whole_run": 40, "steady": 70}},
    ]
    found = of_kernel({"flows": flows})
    assert found["new_ecn_share"] == {"whole_run": 0.6, "steady": 0.3}
    assert found["flows_without_ecn"] == 1


def test_experiments_on_a_kernel_are_run_when_asked_for():
    for quick in (True, False):
        assert not any(e.needs_root for e in find("new-ecn", quick)[1])
    assert [e.id for e in find("new-ecn", True, kernel=True)[1] if e.needs_root] == ["kernel-short"]


def test_without_root_what_was_asked_for_by_name_ends_with_a_line(
    lab, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(check, "is_root", lambda: False)
    assert lab(out=tmp_path / "out", target="new-ecn/kernel") == 2
    line = "error: new-ecn/kernel: testbed: needs root (CAP_NET_ADMIN and CAP_SYS_ADMIN)\n"
    assert capsys.readouterr().err == line
    assert not (tmp_path / "out").exists()


def test_without_root_the_rest_runs(lab, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(check, "is_root", lambda: False)
    assert lab("--quick", "--kernel", out=tmp_path / "out") == 0
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("without the experiments on a real kernel: testbed: needs root")
    results = json.loads((tmp_path / "out/results.json").read_text())
    assert "4.2.2" in [e["id"] for e in results["experiments"]]


def test_a_binary_that_does_not_know_what_it_lacks_is_reported(fake_windlass, repository, tmp_path):
    assert "cannot say" in measure._doctor(fake_windlass, ["link", "cc"])


def test_runs_that_are_there_are_not_made_again(on_a_fake_kernel, lab, tmp_path, capsys):
    out, target = tmp_path / "out", "new-ecn/kernel"
    with on_a_fake_kernel():
        assert lab("--runs", "2", out=out, target=target) == 0
    runs = out / "runs" / f"{NEW}@kernel"
    assert sorted(os.listdir(runs)) == ["run-1", "run-2"]
    (runs / "run-2/summary.json").unlink()
    again = []
    with on_a_fake_kernel() as patch:
        made = measure.run_all

        def counted(jobs, at_once, done):
            again.extend(job.out for job in jobs)
            (runs / "run-2").rename(runs / "run-9")
            made(jobs, at_once, done)

        patch.setattr(measure, "run_all", counted)
        assert lab("--runs", "2", "--resume", out=out, target=target) == 0
    assert again == [runs / "run-2"]
    assert "7 of 8 runs are there already" in capsys.readouterr().err


def test_an_interrupted_reproduction_can_be_taken_up(on_a_fake_kernel, lab, tmp_path):
    out, target = tmp_path / "out", "new-ecn/kernel-short"
    with on_a_fake_kernel() as patch:
        made = measure.run_all

        def interrupted(jobs, at_once, done):
            made(jobs[:1], at_once, done)
            raise KeyboardInterrupt

        patch.setattr(measure, "run_all", interrupted)
        assert lab(out=out, target=target) == 130
    assert os.listdir(out) == ["runs"]
    with on_a_fake_kernel():
        assert lab("--resume", out=out, target=target) == 0
    assert (out / "report.html").is_file()


def test_the_report_has_kernel_and_simulator_side_by_side(whole_result):
    page = (whole_result / "report.html").read_text()
    section = page[page.index('id="e-kernel"') : page.index('id="e-linux"')]
    assert '<th scope="col">Simulator</th>' in section
    assert '<th scope="col">Kernel</th>' in section
    panels = [
        f"<h4>{what}, {where}</h4>"
        for what in ("New-ECN", "Reno with ECN")
        for where in ("kernel", "simulator")
    ]
    windows = section[section.index('id="f-kernel-cwnd"') :]
    assert sorted(panels, key=windows.index) == panels
    assert "Linux 6.0-fake, 10 runs of a case" in page
    assert "The load average was 1.5 to 1.5" in page
    drawn = (whole_result / "data/kernel-cwnd.csv").read_text()
    assert '"New-ECN, kernel"' in drawn
    assert '"New-ECN, simulator"' in drawn


def test_a_short_case_is_run_once(tmp_path):
    case = KernelCase("x", "X", "two_reno", "", 30.0, most_runs=1)
    for_five = Kernel(tmp_path, tmp_path, tmp_path, runs=5)
    assert len(for_five.jobs(case)) == 1
    [job] = for_five.jobs(case)
    assert "--time 30 " in " ".join(job.command())


class Host:
    """A kernel with or without New-ECN, and the commands that the binary was given."""

    def __init__(self, monkeypatch, tmp_path, loaded, beta=16.0):
        self.said = []
        self.loaded = loaded
        monkeypatch.setattr(controller, "_LOCK", tmp_path / "lock")
        monkeypatch.setattr(check, "controllers", lambda: ["reno"] + ["new_ecn"] * self.loaded)
        monkeypatch.setattr(controller, "_output_of", self._output_of)
        self._beta = beta

    def _output_of(self, _windlass, *words):
        self.said.append(words[0])
        if words[0] == "status":
            parameters = {"alpha_wnd": 0.9, "alpha_slp": 0.9, "beta": self._beta}
            entry = {"name": "new_ecn", "parameters": parameters}
            return json.dumps({"schema": 1, "kind": "cc.status", "controllers": [entry]})
        self.loaded = words[0] == "load"
        return words[0]


def test_what_was_loaded_here_is_unloaded_even_when_a_run_fails(monkeypatch, tmp_path):
    host = Host(monkeypatch, tmp_path, loaded=False)
    with pytest.raises(KeyboardInterrupt), controller.in_kernel(tmp_path, print):
        assert host.loaded
        raise KeyboardInterrupt
    assert host.said == ["load", "unload"]


def test_what_was_there_before_stays(monkeypatch, tmp_path):
    host = Host(monkeypatch, tmp_path, loaded=True)
    with controller.in_kernel(tmp_path, print):
        pass
    assert host.said == ["status"]


def test_who_loaded_it_leaves_it_to_another_who_uses_it(monkeypatch, tmp_path):
    host = Host(monkeypatch, tmp_path, loaded=False)
    with contextlib.ExitStack() as other:
        with controller.in_kernel(tmp_path, print):
            other.enter_context(controller.in_kernel(tmp_path, print))
        assert host.loaded
    assert host.said == ["load", "status"]


def test_other_parameters_than_the_papers_are_refused(monkeypatch, tmp_path):
    host = Host(monkeypatch, tmp_path, loaded=True, beta=8.0)
    with (
        pytest.raises(LabError, match="not with the parameters"),
        controller.in_kernel(tmp_path, print),
    ):
        pass
    assert host.loaded

"""The statements of Lee 2009, section 5, and the rules by which they are tested."""

from dataclasses import replace
from math import inf
from types import SimpleNamespace

import pytest

from windlass_lab.core.verdicts.verdict import FAIL, INFORMATIVE, PASS, UNDECIDED
from windlass_lab.papers.tou import reproduce, rules
from windlass_lab.papers.tou.judge import SEEDS
from windlass_lab.papers.tou.plan import CELLS, TOU_CLASSIC, TOU_NONE, TUNED_RENO, Test
from windlass_lab.papers.tou.runs import Run
from windlass_lab.papers.tou.statements import KEY, STATEMENTS, judge_statements
from windlass_lab.papers.tou.window import WindowFigures, window_figures

RUN = Run(10.0, 30.0, 12.0, 13.0, 5, 0, 7, 0, 1.0, 1456, WindowFigures(900.0, 1.0, 1, 0))
REGULAR = [cell for cell in CELLS if cell.loss == 0.0001]


def rows(*samples, ssthresh=inf, timeouts=None):
    """A sample each 10 ms; `ssthresh` holds for all."""
    more = [] if timeouts is None else [timeouts]
    return [[n / 100, cwnd, ssthresh, 0, 0, *more] for n, cwnd in enumerate(samples)]


def after(*parts):
    """The samples of the parts, one after the other."""
    return [[n / 100, *row[1:]] for n, row in enumerate(row for part in parts for row in part)]


def test_the_first_loss_is_at_the_last_window_before_a_threshold():
    found = window_figures(after(rows(2, 800, 820), rows(410, 411, ssthresh=410)))
    assert (found.first_loss, found.limit_s) == (820, None)
    assert window_figures(rows(2, 2200, 4000)) == WindowFigures(None, 0.01, 0, 0)


@pytest.mark.parametrize(
    ("windows", "spikes"),
    [
        # Halved, with three segments more, up by duplicate ACKs, and back to ssthresh.
        ((413, 500, 800, 410, 410.5), 1),
        # Linux: down to ssthresh; and growth alone.
        ((820, 600, 410, 410.5), 0),
        ((410, 420, 430), 0),
        ((412, 414, 410), 0),
    ],
)
def test_a_spike_rises_by_three_segments_and_falls_again(windows, spikes):
    assert window_figures(after(rows(2, 820), rows(*windows, ssthresh=410))).spikes == spikes


def test_a_window_that_rises_until_the_next_reduction_is_no_spike():
    assert (
        window_figures(after(rows(413, 800, ssthresh=410), rows(403, 404, ssthresh=400))).spikes
        == 0
    )


def test_a_dip_is_below_ssthresh_and_back_without_a_timeout():
    def dips(*windows, timeouts):
        return window_figures(rows(*windows, ssthresh=410, timeouts=timeouts)).dips

    assert dips(820, 400, 410, timeouts=0) == 1
    assert dips(820, 400, 405, timeouts=0) == 0
    assert dips(820, 410, 411, timeouts=0) == 0
    assert dips(820, 1, 410, timeouts=1) == 0


def result(**by_contender):
    """Runs of all seeds in the cells of 0.01 %; a contender's changes may depend on the delay."""
    contenders = {"tou": TOU_CLASSIC, "tcp": TUNED_RENO, "none": TOU_NONE}
    return {
        Test(cell, contenders[name]).name: {
            seed: replace(RUN, **change(cell.rtt_ms, seed)) for seed in range(SEEDS)
        }
        for name, change in by_contender.items()
        for cell in REGULAR
    }


def plain(_rtt_ms, _seed):
    return {}


def papers_verdict(id_, runs, whole=True):
    [found] = [c for c in judge_statements("regular", runs, whole) if c.key == KEY + id_]
    # The paper's statements are none of the lab's criteria.
    assert found.verdict == INFORMATIVE
    return found.paper


def test_tou_takes_longer_and_the_deficit_falls_with_the_delay():
    deficits = {0: 5.0, 100: 3.0, 300: 1.0}

    def slower(rtt_ms, _seed):
        return {"seconds": 10.0 + deficits[rtt_ms]}

    runs = result(tou=slower, tcp=plain)
    assert papers_verdict("regular.deficit", runs) == PASS
    assert papers_verdict("regular.longer.rtt300", runs) == PASS
    deficits[300] = 4.0
    assert papers_verdict("regular.deficit", result(tou=slower, tcp=plain)) == FAIL
    assert papers_verdict("regular.longer.rtt0", result(tou=plain, tcp=plain)) == FAIL


def test_a_median_whose_interval_reaches_over_a_bound_decides_nothing():
    def scattered(_rtt_ms, seed):
        return {"seconds": 10.0 + (2.0 if seed % 3 else -2.0)}

    runs = result(tou=scattered, tcp=plain)
    assert papers_verdict("regular.longer.rtt0", runs) == UNDECIDED
    found = {c.key: c.why for c in judge_statements("regular", runs, whole=True)}
    why = found[f"{KEY}regular.longer.rtt0"]
    assert why == "not enough runs: 95 % interval 0.800 to 1.200"


def test_a_single_run_of_the_paper_is_one_that_the_seeds_could_have():
    def at(first, step):
        return lambda _rtt, seed: {"course": replace(RUN.course, first_loss=first + step * seed)}

    assert papers_verdict("regular.first-loss.tou-classic", result(tou=at(700, 20.0))) == PASS
    assert papers_verdict("regular.first-loss.tou-classic", result(tou=at(830, 20.0))) == FAIL


def test_spikes_are_always_tous_and_never_tcps():
    def once_without(_rtt, seed):
        return {"course": replace(RUN.course, spikes=0 if seed == 3 else 2)}

    runs = result(tou=plain, tcp=plain)
    assert papers_verdict("regular.spike", runs) == PASS
    assert papers_verdict("regular.no-spike", runs) == FAIL
    assert papers_verdict("regular.spike", result(tou=once_without)) == FAIL


def test_few_seeds_and_small_transfers_are_not_judged():
    runs = result(tou=plain, tcp=plain)
    assert papers_verdict("regular.spike", runs, whole=False) == UNDECIDED
    few = {name: {seed: of[seed] for seed in range(SEEDS - 1)} for name, of in runs.items()}
    found = judge_statements("regular", few, whole=True)
    assert {c.paper for c in found} == {INFORMATIVE, UNDECIDED}
    assert f"not enough runs: {SEEDS - 1} of {SEEDS}" in {c.why for c in found}
    assert {c.why.partition(":")[0] for c in judge_statements("regular", {}, whole=True)} == {
        "not run",
        "not tested",
    }


def test_every_statement_is_tested_or_says_why_it_is_not():
    assert len({each.id for each in STATEMENTS}) == len(STATEMENTS)
    for each in STATEMENTS:
        assert (each.rule is None) == bool(each.reason), each.id
        assert isinstance(each.says, float | int) or len(each.says.split()) <= 6, each.id


def test_a_rule_of_order_wants_each_delay_above_the_one_before():
    tests = [Test(cell, TOU_CLASSIC) for cell in REGULAR]
    rule = rules.in_order(tests, lambda run: run.seconds)
    rising = result(tou=lambda rtt_ms, _seed: {"seconds": 1.0 + rtt_ms})
    assert rule.test(rising).met
    assert not rule.test(result(tou=plain)).met


def test_runs_of_other_measuring_code_or_another_machine_are_made_again(monkeypatch):
    request = SimpleNamespace(scale=1.0)
    before = reproduce.CELLS.inputs(request, [])
    assert reproduce.CELLS.inputs(request, []) == before
    monkeypatch.setattr(reproduce, "_MEASURING", reproduce._MEASURING[1:])
    assert reproduce.CELLS.inputs(request, []) != before
    monkeypatch.undo()
    monkeypatch.setattr(reproduce.provenance, "machine", lambda: {"cores": 64})
    assert reproduce.CELLS.inputs(request, []) != before

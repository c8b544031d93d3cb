"""Phrases of papers: their bounds, and two servers that are judged by the same ones."""

import pytest

from windlass_lab.core.experiments.judge import evidence_in, judge
from windlass_lab.core.verdicts.phrases import bounds_of
from windlass_lab.papers.registry import find


@pytest.mark.parametrize(
    ("phrase", "met", "missed"),
    [
        ("fair", (0.95, 1.0), (0.949,)),
        ("not fair", (0.949,), (0.95,)),
        ("roughly half", (0.4, 0.59), (0.39, 0.6)),
        ("about 2", (1.7, 2.0, 2.3), (1.69, 2.31)),
        ("3 to 3.5", (2.7, 3.2, 3.85), (2.69, 3.86)),
        ("at most 2", (2.0,), (2.001,)),
        ("at least 2", (2.0,), (1.999,)),
        ("below 2", (1.999,), (2.0,)),
        ("above 0", (0.001,), (0.0, float("nan"))),
    ],
)
def test_phrases_have_bounds(phrase, met, missed):
    bounds = bounds_of(phrase)
    assert all(bounds.hold(value) for value in met)
    assert not any(bounds.hold(value) for value in missed)


def test_other_phrases_have_none():
    assert bounds_of("somewhat more") is None
    assert bounds_of("about half") is None


def gains(case, gain):
    """The verdicts on a server's gains in section 4.4, by test: paper, and the arithmetic."""
    paper, [experiment] = find("split-ack/4.4", quick=False)
    silent = {"replicates": 10}
    summaries = dict.fromkeys(experiment.named, silent)
    summaries[case] = silent | {test: {"gain": value} for test, value in gain.items()}
    published = {name: server.published for name, server in experiment.named.items()}
    results = {"summaries": summaries, "replicates": 10, "published": published}
    found = judge(experiment, evidence_in(paper, results))
    return {
        c.key[0]: (c.paper, c.verdict)
        for c in found
        if c.case == case and c.key.endswith(".gain") and c.measured
    }


@pytest.mark.parametrize(
    ("server", "gain", "at_twelve"),
    [
        ("solaris-10", {"b": 4 / 3, "c": 2.0, "e": 14 / 3}, ("fail", "pass")),
        ("solaris-10", {"b": 4 / 3, "c": 2.0, "e": 4.0}, ("pass", "fail")),
        ("windows-2003", {"b": 4 / 3, "c": 2.0, "e": 3.0}, ("pass", "pass")),
        ("windows-2003", {"b": 4 / 3, "c": 2.0, "e": 14 / 3}, ("fail", "fail")),
    ],
)
def test_solaris_and_windows_are_judged_alike(server, gain, at_twelve):
    assert gains(server, gain) == {
        "b": ("pass", "pass"),
        "c": ("pass", "pass"),
        "e": at_twelve,
    }


def test_a_server_that_gains_with_two_acks_for_one_is_detected():
    assert gains("solaris-10", {"b": 2.0})["b"] == ("fail", "fail")

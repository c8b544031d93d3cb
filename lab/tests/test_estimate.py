import pytest

from windlass_lab.core.errors import RunError
from windlass_lab.core.statistics.estimate import (
    CaseResult,
    Estimate,
    FlowResult,
    pair_flows,
    pool,
)


def flow(name, rtt):
    return FlowResult(name, rtt, {})


def names(pairs):
    return [(ours.name, theirs.name) for ours, theirs in pairs]


def test_figures_get_dotted_names_and_their_spread():
    case = CaseResult.from_summary(
        {
            "fairness_index": {"steady": {"mean": 0.99, "sd": 0.01}},
            "marks": 12,
            "name": "not a figure",
            "flows": [{"name": "tcp1", "rtt_min_ms": 4.0, "slope": {"time_mean": 0.2}}],
        },
        replicates=20,
    )
    assert case.values["fairness_index.steady"] == Estimate(0.99, 0.01, 20)
    assert case.values["marks"] == Estimate(12.0, 0.0, 20)
    assert "name" not in case.values
    assert case.flows[0].values["slope.time_mean"].mean == 0.2


def test_a_distribution_has_a_figure_for_each_quantile_in_one_run_and_in_many():
    one = {"mean": 1.5, "p99": 4.0}
    many = {"mean": {"mean": 1.5, "sd": 0.1}, "p99": {"mean": 4.0, "sd": 0.5}}
    for distribution, sd in ((one, 0.0), (many, 0.5)):
        values = CaseResult.from_summary({"queue_delay_ms": distribution}, 3).values
        assert values["queue_delay_ms.mean"].mean == 1.5
        assert values["queue_delay_ms.p99"] == Estimate(4.0, sd, 3)


def test_a_figure_that_does_not_apply_is_left_out():
    case = CaseResult.from_summary({"flows": [{"rtt_min_ms": 4, "slope": None}]}, 1)
    assert "slope" not in case.flows[0].values


def test_a_flow_without_an_rtt_is_refused():
    with pytest.raises(RunError, match="rtt_min_ms"):
        CaseResult.from_summary({"flows": [{"name": "tcp1"}]}, 1)


def test_flows_pair_flows_whatever_their_order():
    ours = [flow("a", 190.0), flow("b", 4.0)]
    theirs = [flow("x", 4.0), flow("y", 190.0)]
    assert names(pair_flows(ours, theirs)) == [("a", "y"), ("b", "x")]


def test_flows_with_equal_rtts_pair_in_file_order():
    ours = [flow("a", 20.0), flow("b", 10.0), flow("c", 20.0)]
    theirs = [flow("x", 20.0), flow("y", 20.0), flow("z", 10.0)]
    assert names(pair_flows(ours, theirs)) == [("a", "x"), ("b", "z"), ("c", "y")]


def test_flows_of_another_case_are_refused():
    with pytest.raises(RunError, match="smallest RTT"):
        pair_flows([flow("a", 190.0)], [flow("x", 70.0)])
    with pytest.raises(RunError, match="1 flows measured"):
        pair_flows([flow("a", 190.0)], [])


def test_a_distribution_that_one_run_lacks_is_none_of_all():
    delays = {"mean": 1.0, "p50": 1.0}
    assert pool([{"queue_delay_ms": delays}, {"queue_delay_ms": None}])["queue_delay_ms"] is None
    pooled = pool([{"queue_delay_ms": delays}, {"queue_delay_ms": {"mean": 3.0, "p50": 1.0}}])
    assert pooled["queue_delay_ms"]["mean"]["mean"] == 2.0

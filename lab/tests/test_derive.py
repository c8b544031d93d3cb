import math

import pytest

from windlass_lab.core.binary import aggregate
from windlass_lab.core.binary.windlass import Series
from windlass_lab.core.statistics.derive import enriched, exponent, pair_names, ratio
from windlass_lab.core.statistics.estimate import CaseResult, Estimate, FlowResult, pool


def run(*flows, **more):
    rates = [
        {"controller": name, "packets_per_s": {"whole_run": rate, "steady": rate}} | extra
        for name, rate, extra in flows
    ]
    return {"flows": rates, **more}


def test_the_share_of_new_ecn_is_of_all_rates():
    mixed = run(("new-ecn", 300.0, {}), ("reno", 100.0, {}))
    assert enriched(mixed)["new_ecn_share"] == {"whole_run": 0.75, "steady": 0.75}


@pytest.mark.parametrize(
    ("rates", "ratio", "max_min", "change"),
    [
        # Three gateways of 120: max-min fair, proportionally fair, and neither.
        ((60, 60, 60, 60), 1, 1, -0.5 + 3 * 0.5),
        ((30, 90, 90, 90), 1 / 3, 0.5, 0),
        ((10, 110, 110, 110), 1 / 11, 1 / 6, 2 - 3 * 20 / 110),
    ],
)
def test_gateways_in_a_row_have_two_fair_allocations(rates, ratio, max_min, change):
    found = enriched(run(*(("reno", rate, {}) for rate in rates), name="gateways"))
    assert found["long_over_cross"] == pytest.approx(ratio)
    assert found["max_min"] == pytest.approx(max_min)
    assert found["proportional_change"] == pytest.approx(change)


def test_halves_of_six_flows_and_the_bias_by_round_trips():
    rates = [(40, 10), (30, 20), (20, 30), (4, 4), (8, 5), (16, 6)]
    six = run(*(("reno", rate, {"rtt_min_ms": rtt}) for rtt, rate in rates))
    assert enriched(six)["last_three_packets_per_s"] == 15
    assert enriched(six)["longest_over_shortest"] == 10 / 4
    assert enriched(six)["fairness_of_four"] == pytest.approx(64**2 / (4 * 1416))


def test_flows_of_one_kind_have_no_share():
    assert "new_ecn_share" not in enriched(run(("reno", 300.0, {}), ("reno", 100.0, {})))


def test_the_bound_of_equation_4_4_is_the_published_one():
    alone = run(("new-ecn", 1208.0, {"rtt_min_ms": 30}), drops=90, bottleneck_packets=72583)
    assert enriched(alone)["friendly_packets_per_s"] == pytest.approx(1160, abs=1)


def test_without_drops_there_is_no_bound():
    alone = run(("new-ecn", 1208.0, {"rtt_min_ms": 30}), drops=0, bottleneck_packets=72583)
    assert "friendly_packets_per_s" not in enriched(alone)


def test_timeouts_and_marks_are_counted_by_flow():
    both = run(
        ("reno", 1.0, {"timeouts": 3, "marks": 0}), ("reno", 1.0, {"timeouts": 6, "marks": 9})
    )
    assert enriched(both)["timeouts_per_flow"] == 4.5
    assert enriched(both)["flows_without_marks"] == 1


def test_the_time_of_a_transfer_is_the_mean_over_all_flows():
    times = ([1.0, 3.0], [5.0])
    both = run(*(("reno", 1.0, {"transfers": {"completion_s": each}}) for each in times))
    assert enriched(both)["completion_s"] == 3.0
    assert "completion_s" not in enriched(run(("reno", 1.0, {"transfers": None})))


def flow(rtt, **values):
    return FlowResult(f"{rtt}", rtt, {key: Estimate(*value) for key, value in values.items()})


def test_pairs_stand_as_in_the_paper():
    case = CaseResult({}, [flow(4.0), flow(190.0), flow(30.0), flow(70.0)])
    names = [name for name, *_ in pair_names(case)]
    assert names == ["1:4", "2:4", "3:4", "1:3", "2:3", "1:2"]
    _, slowest, fastest = pair_names(case)[0]
    assert (slowest.rtt_min_ms, fastest.rtt_min_ms) == (190.0, 4.0)


def test_the_spread_of_a_ratio_has_that_of_both():
    found = ratio(flow(190.0, s=(10.0, 0.3, 20)), flow(4.0, s=(2.0, 0.08, 20)), "s")
    assert found.mean == 5
    assert found.sd == pytest.approx(5 * math.hypot(0.03, 0.04))


def test_the_exponent_is_the_power_of_the_base():
    left, right = flow(190.0, s=(27.0,), r=(9.0,)), flow(4.0, s=(1.0,), r=(1.0,))
    assert exponent(left, right, "s", "r").mean == pytest.approx(1.5)
    assert exponent(right, right, "s", "r") is None


def test_pooling_takes_mean_and_deviation_of_a_sample():
    runs = [{"name": "a", "flows": [{"x": 1.0}]}, {"name": "a", "flows": [{"x": 3.0}]}]
    pooled = pool(runs)
    assert pooled["flows"] == [{"x": {"mean": 2.0, "sd": pytest.approx(math.sqrt(2))}}]
    assert (pooled["name"], pooled["replicates"]) == ("a", 2)


def test_pooling_leaves_out_what_a_run_did_not_report():
    assert "bound" not in pool([{"x": 1.0, "bound": 2.0}, {"x": 1.0}])


def test_windows_add_up_on_an_even_grid():
    early = Series("a", 4.0, [0.0, 0.1], {"cwnd_packets": [1.0, 4.0]})
    late = Series("b", 9.0, [0.05], {"cwnd_packets": [2.0]})
    total = aggregate.together([early, late])
    assert total.time_s == pytest.approx([0.0, 0.05, 0.1])
    assert total.columns["total_cwnd_packets"] == [1.0, 3.0, 6.0]
    assert total.columns["flows_at_one_segment"] == [1, 1, 0]

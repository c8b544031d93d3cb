"""The survey of section 4.5 of Normann 2011: its mix of servers and the figures of all together."""

from collections import Counter

import pytest

from windlass_lab.core.experiments.servers import SPLITS
from windlass_lab.papers.split_ack import plan
from windlass_lab.papers.split_ack.aggregate import aggregate
from windlass_lab.papers.split_ack.population import (
    COUNTERS,
    NEGATIVE,
    STACKS,
    Kind,
    data_packets,
    mean_data_packets,
    mixed,
)

SERVERS = [{"address": f"10.99.0.{n}", "mss": "536", "stack": "silent"} for n in range(100)]


def test_the_mix_has_the_shares_that_it_names_and_keeps_the_paths():
    found = mixed(SERVERS, seed=1)
    assert Counter(server["stack"] for server in found) == STACKS
    assert [(s["address"], s["mss"]) for s in found] == [(s["address"], "536") for s in SERVERS]
    windows = {s["initial_window"] for s in found if s["stack"] == NEGATIVE}
    assert windows == {"3"}


def test_a_seed_gives_one_population_and_another_seed_another():
    assert mixed(SERVERS, seed=1) == mixed(SERVERS, seed=1)
    assert mixed(SERVERS, seed=1) != mixed(SERVERS, seed=2)


def test_the_mix_is_like_the_two_figures_that_the_thesis_has_of_the_baseline():
    kinds = [Kind(s["stack"], int(s["initial_window"])) for s in mixed(SERVERS, seed=1)]
    packets = [data_packets(kind, 1) for kind in kinds]
    assert sum(6 <= count <= 13 for count in packets) == 83
    assert 8 <= sum(packets) / len(packets) <= 9


def test_the_arithmetic_of_a_mix_is_that_of_its_stacks():
    counter = {test: data_packets(Kind(COUNTERS, 3), parts) for test, parts in SPLITS.items()}
    assert counter == plan.COUNTER_PACKETS
    assert {data_packets(Kind("linux", 10), parts) for parts in SPLITS.values()} == {16}
    assert mean_data_packets(1) == pytest.approx(8.48)
    # Five of a hundred gain.
    assert 1.03 < mean_data_packets(4) / mean_data_packets(1) < 1.06


def server(data, again, reaction):
    """A server's means at tests A and C."""
    row = {"reaction": reaction}
    for test, packets, resent in zip("ac", data, again, strict=True):
        row |= {f"{test}_data_packets": packets, f"{test}_retransmissions": resent}
        row |= {f"{test}_total": packets + resent}
    return row


def test_new_data_traffic_and_retransmissions_of_all_servers_together():
    rows = [
        server((9, 18), (1, 1), "counts-acks"),
        server((9, 9), (1, 10), "negative"),
        server((9, 9), (1, 10), "negative"),
        server((3, 3), (1, 1), "counts-bytes"),
    ]
    found = aggregate([*rows, {"reaction": ""}])
    assert found["new_data"] == pytest.approx(39 / 30)
    assert found["traffic"] == pytest.approx(61 / 34)
    assert found["resent_part"] == pytest.approx(18 / 27)
    assert (found["usual_data"], found["usual_total"]) == (0.75, 0.75)
    assert (found["gaining"], found["resending"]) == (0.25, 0.5)
    assert found["negative_less_gaining"] == 0.25
    assert found["said"] == {"counts-acks": 0.25, "counts-bytes": 0.25, "negative": 0.5}
    assert (found["peak"], found["gained_share"]) == (9, 0.0)


def test_traffic_that_falls_was_not_added_by_retransmissions():
    found = aggregate([server((9, 6), (1, 2), "counts-bytes")])
    assert found["resent_part"] == 0.0
    assert found["traffic"] == 0.8


def test_without_a_server_with_both_tests_there_are_no_figures():
    assert aggregate([{"reaction": "", "a_total": 9.0}]) == {}

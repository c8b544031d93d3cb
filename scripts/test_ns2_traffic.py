"""The arrivals and the verdicts of scripts/ns2_traffic.py."""

import statistics
import sys
import tomllib
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import ns2_traffic


class ArrivalsTest(unittest.TestCase):
    def test_sizes_have_the_stated_mean_and_limits(self) -> None:
        for place in ns2_traffic.PLACES.values():
            sizes = [place.size((step + 0.5) / 100_000) for step in range(100_000)]
            self.assertAlmostEqual(statistics.fmean(sizes) / place.mean_packets(), 1, delta=0.02)
            self.assertEqual(min(sizes), place.least)
            self.assertTrue(0.99 * place.largest < max(sizes) <= place.largest)

    def test_transfers_offer_the_load(self) -> None:
        place = ns2_traffic.PLACES["dial-up"]
        packets = [sum(size for *_, size in down("dial-up", 85, seed)) for seed in range(10)]
        offered = 8 * ns2_traffic.PACKET * statistics.fmean(packets)
        load = offered / (place.down_rate * place.end)
        self.assertAlmostEqual(load, 0.85, delta=0.04)

    def test_a_seed_has_the_same_arrivals_in_order(self) -> None:
        drawn = ns2_traffic.arrivals("access", 60, 1)
        self.assertEqual(drawn, ns2_traffic.arrivals("access", 60, 1))
        self.assertNotEqual(drawn, ns2_traffic.arrivals("access", 60, 2))
        self.assertEqual([time for time, *_ in drawn], sorted(time for time, *_ in drawn))
        self.assertEqual({(a, b) for _, a, b, _ in drawn}, set(ns2_traffic.pairs()))

    def test_a_scenario_has_a_flow_for_each_pair_and_direction(self) -> None:
        for name in ns2_traffic.PLACES:
            scenario = tomllib.loads(ns2_traffic.scenario(name))
            self.assertEqual(len(scenario["flows"]), 18)
            self.assertEqual(len(scenario["links"]), 7)


def down(name: str, load: int, seed: int) -> list[ns2_traffic.Arrival]:
    drawn = ns2_traffic.arrivals(name, load, seed)
    return [each for each in drawn if each[1] in ns2_traffic.RIGHT]


class VerdictTest(unittest.TestCase):
    def test_the_whole_interval_decides(self) -> None:
        self.assertEqual(ns2_traffic.verdict(-9, 9, 10), "pass")
        self.assertEqual(ns2_traffic.verdict(-9, 11, 10), "undecided")
        self.assertEqual(ns2_traffic.verdict(-30, -11, 10), "fail")

    def test_differences_are_of_the_same_arrivals(self) -> None:
        runs = [
            ({"down": {"drops": each}}, {"down": {"drops": 1.1 * each}}) for each in (90, 100, 110)
        ]
        row = ns2_traffic.compared(runs, "down", "drops", "percent")
        self.assertAlmostEqual(row["difference"], 10)
        self.assertLess(row["half"], 3)

    def test_drops_of_one_side_alone_do_not_pass(self) -> None:
        runs = [({"down": {"drops": 0}}, {"down": {"drops": ours}}) for ours in (0, 3, 5)]
        row = ns2_traffic.compared(runs, "down", "drops", "percent")
        self.assertNotEqual(ns2_traffic.verdict(row["low"], row["high"], 20), "pass")


if __name__ == "__main__":
    unittest.main()

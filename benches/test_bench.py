"""The arithmetic of the bench. No program is run: `python3 -m unittest discover -s benches`."""

import json
import tempfile
import unittest
from pathlib import Path

import parts
import process
import summary
import table
from cases import (
    Case,
    Contender,
    Programs,
    Target,
    Work,
    all_cases,
    batch_requests,
    before,
    read_run,
    windlass_run,
)
from process import BenchError, Cost


def runs(*cpu_s: float, amount: int = 1000, rss_kib: int = 4096) -> list[summary.Run]:
    return [summary.Run(Cost(s, s * 2, rss_kib), Work(amount, 0.5, 4 * amount)) for s in cpu_s]


def case(*targets: Target) -> Case:
    names = ("windlass", "ns-2", "ns-2, all headers")
    contenders = tuple(Contender(name, lambda *_: [], read_run) for name in names)
    return Case("small", "segments", contenders, targets, pending=16)


def rows(*targets: Target) -> list[dict]:
    """Windlass does 5000 segments a CPU second, ns-2 1000, and 500 with all packet headers."""
    three = [
        summary.row(case(), "windlass", runs(0.2, 0.1, 0.9), 1000),
        summary.row(case(), "ns-2", runs(1.0, 3.0, 0.5), 1000),
        summary.row(case(), "ns-2, all headers", runs(2.0, 2.0, 2.0), 1000),
    ]
    summary.add_ratios(three)
    summary.add_targets(case(*targets), three)
    return three


class Summary(unittest.TestCase):
    def test_the_median_counts_not_the_mean(self) -> None:
        windlass, *_ = rows()
        self.assertEqual(windlass["cpu_s"], {"median": 0.2, "min": 0.1, "max": 0.9})
        self.assertAlmostEqual(windlass["per_s"], 5000)
        self.assertAlmostEqual(windlass["per_wall_s"], 2500)
        self.assertAlmostEqual(windlass["cpu_per_unit_ns"], 200_000)

    def test_the_ratio_is_that_of_rates(self) -> None:
        self.assertEqual([round(row["ratio"], 6) for row in rows()], [5, 1, 0.5])
        ratios = [round(row["ratio_all_headers"], 6) for row in rows()]
        self.assertEqual(ratios, [10, 2, 1])
        self.assertEqual(rows()[0]["ratio_rounds"], {"median": 5, "min": 0.5 / 0.9, "max": 30})

    def test_an_earlier_build_is_run_in_place_of_the_present_one(self) -> None:
        present = windlass_run("small")
        earlier = before(present)
        programs = Programs("new", None, "old")
        commands = [one.command(programs, Path()) for one in (present, earlier)]
        self.assertEqual([command[0] for command in commands], ["new", "old"])
        self.assertEqual(commands[0][1:], commands[1][1:])
        self.assertNotEqual(present.name, earlier.name)

    def test_a_target_is_met_at_its_bound_and_not_beyond(self) -> None:
        for bound, met in ((4.9, True), (5.1, False)):
            target = Target("windlass", "per_s", at_least=bound, over="ns-2")
            (check,) = rows(target)[0]["targets"]
            self.assertEqual(check["met"], met)
            self.assertAlmostEqual(check["value"], 5)
        for bound, met in ((3.9, False), (4.0, True)):
            (check,) = rows(Target("windlass", "peak_rss_mib", at_most=bound))[0]["targets"]
            self.assertEqual(check["met"], met)

    def test_a_target_against_what_was_not_measured_says_nothing(self) -> None:
        self.assertEqual(rows(Target("windlass", "per_s", 5, over="ns-3"))[0]["targets"], [])
        other_case = Target("windlass", "cpu_per_unit_ns", at_most=3, over_case="tiny")
        self.assertEqual(rows(other_case)[0]["targets"], [])

    def test_runs_that_differ_are_refused(self) -> None:
        different = runs(0.1) + runs(0.1, amount=999)
        with self.assertRaisesRegex(BenchError, r"not deterministic, it did \[999, 1000\]"):
            summary.row(case(), "windlass", different, 0)

    def test_a_run_that_did_nothing_is_refused(self) -> None:
        with self.assertRaisesRegex(BenchError, "nothing done"):
            summary.row(case(), "windlass", runs(0.1, amount=0), 0)

    def test_a_peak_below_the_own_one_is_only_a_bound(self) -> None:
        self.assertTrue(summary.row(case(), "x", runs(1), 5000)["peak_rss_is_upper_bound"])
        self.assertFalse(summary.row(case(), "x", runs(1), 4000)["peak_rss_is_upper_bound"])

    def test_the_floor_of_a_segment_is_its_events_in_an_empty_loop(self) -> None:
        floor = Case("floor", "events", ())
        empty = [summary.Run(Cost(1.0, 1.0, 0), Work(10_000))]
        all_rows = [*rows(), summary.row(floor, "16 pending", empty, 0)]
        summary.add_floor(case(), all_rows)
        self.assertAlmostEqual(all_rows[0]["floor_ns"], 400_000)
        self.assertAlmostEqual(all_rows[0]["times_floor"], 0.5)


class Text(unittest.TestCase):
    def test_tables_tell_ratio_target_and_verdict(self) -> None:
        measured = rows(Target("windlass", "per_s", at_least=6, over="ns-2"))
        head, windlass, ns2, _ = table.figures(measured).splitlines()
        self.assertIn("ratio", head)
        self.assertRegex(windlass, r"0\.200 \[0\.100\.\.0\.900\] +5000 segments ")
        self.assertRegex(windlass, r" 5\.00 \[0\.56\.\.30\.00\] +10\.00 \[2\.22\.\.20\.00\]$")
        self.assertRegex(ns2, r" 1\.00 \[1\.00\.\.1\.00\] +2\.00 \[0\.67\.\.4\.00\]$")
        _, target = table.targets(measured).splitlines()
        self.assertRegex(target, r"per CPU second: at least 6 times of ns-2 +5 +NO$")


class Cases(unittest.TestCase):
    def test_both_simulators_figures_are_read(self) -> None:
        windlass = {"delivered_segments": 7, "events": 28, "fairness_index": {"whole_run": 0.5}}
        self.assertEqual(read_run(json.dumps(windlass).encode()), Work(7, 0.5, 28))
        ns2 = {"delivered_segments": 7, "fairness_index": 0.5}
        self.assertEqual(read_run(json.dumps(ns2).encode()), Work(7, 0.5, None))

    def test_each_request_of_the_batch_has_a_seed_of_its_own(self) -> None:
        requests = [json.loads(line) for line in batch_requests(20).splitlines()]
        self.assertEqual(len({request["seed"] for request in requests}), 20)

    def test_targets_name_contenders_and_cases_that_there_are(self) -> None:
        cases = all_cases()
        for one in cases.values():
            names = {contender.name for contender in one.contenders}
            for target in one.targets:
                self.assertIn(target.contender, names)
                self.assertTrue(target.over is None or target.over in names)
                self.assertTrue(target.over_case is None or target.over_case in cases)


class Parts(unittest.TestCase):
    def test_what_is_inlined_from_a_library_counts_where_it_went(self) -> None:
        listing = """
4,000 (40.0%)  crates/sim/src/event.rs:windlass_sim::event::EventQueue::pop [windlass]
1,000 (10.0%)  /rustc/1/library/core/src/cmp.rs:windlass_sim::event::EventQueue::pop
2,000 (20.0%)  crates/base/src/time.rs:windlass_tcp::conn::Connection::poll_timeout
  500 ( 5.0%)  crates/aqm/src/red.rs:windlass_sim::network::Network::send
   30 ( 0.3%)  ./malloc/./malloc/malloc.c:malloc [libc.so.6]
7,530 (100.0%)  PROGRAM TOTALS
"""
        self.assertEqual(
            parts.count(listing),
            {
                "event queue": 5000,
                "engine: connection": 2000,
                "queue disciplines": 500,
                parts.REST: 30,
            },
        )

    def test_starting_is_no_part_of_a_segment(self) -> None:
        short = parts.Profile(parts.Counter({"event queue": 10_000, parts.REST: 900}), 10, 40)
        long = parts.Profile(parts.Counter({"event queue": 30_000, parts.REST: 900}), 30, 120)
        listing = parts.table_of(short, long)
        self.assertRegex(listing, r"event queue +1000 +100\.0%")
        self.assertRegex(listing, r"rest +0 +0\.0%")
        self.assertTrue(listing.endswith("4.00 events a segment"))


class Process(unittest.TestCase):
    def test_cost_and_output_of_a_program_and_its_failure(self) -> None:
        cost, output = process.run(["sh", "-c", "echo done"])
        self.assertEqual(output, b"done\n")
        self.assertGreater(cost.peak_rss_kib, 0)
        with self.assertRaisesRegex(BenchError, "ended with status 3"):
            process.run(["sh", "-c", "exit 3"])

    def test_what_a_run_wrote_is_counted_in_subfolders_too(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            (Path(name) / "out").mkdir()
            (Path(name) / "out/series.csv").write_text("12345")
            (Path(name) / "trace").write_text("123")
            self.assertEqual(process.bytes_in(Path(name)), 8)


if __name__ == "__main__":
    unittest.main()

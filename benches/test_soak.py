"""The soak: plans, verdicts, a few seconds of it: `python3 -m unittest discover -s benches`."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import tou_soak
from soak_plan import draw
from soak_round import Ended, judge

FOLDER = Path(__file__).resolve().parent
THERE, BACK = b"there" * 1000, b"back" * 1000


def ends(connect: Ended, listen: Ended) -> dict[str, Ended]:
    return {"connect": connect, "listen": listen}


def connector(status: int = 0, message: str = "", taken: bytes = BACK) -> Ended:
    return Ended(status, message, THERE, taken)


def listener(status: int = 0, message: str = "", taken: bytes = THERE) -> Ended:
    return Ended(status, message, BACK, taken)


class Verdicts(unittest.TestCase):
    def test_all_bytes_and_two_zeros_are_intact(self) -> None:
        self.assertEqual(judge(ends(connector(), listener())), ("intact", []))

    def test_a_success_with_bytes_missing_is_a_fault(self) -> None:
        outcome, faults = judge(ends(connector(taken=BACK[:-1]), listener()))
        self.assertEqual(outcome, "fault")
        # The one has not all, and the other says that it has delivered all.
        self.assertEqual(len(faults), 2)

    def test_other_bytes_are_a_fault_whatever_is_said(self) -> None:
        lost = "error: the connection: connection reset"
        swapped = THERE[1:2] + THERE[:1]
        outcome, faults = judge(ends(connector(1, lost, b""), listener(1, lost, swapped)))
        self.assertEqual((outcome, len(faults)), ("fault", 1))

    def test_a_killed_end_leaves_the_other_with_an_error(self) -> None:
        lost = "error: the connection: connection reset"
        killed = listener(-signal.SIGKILL, taken=THERE[:70])
        self.assertEqual(judge(ends(connector(1, lost, BACK[:9]), killed)), ("reset", []))
        self.assertEqual(judge(ends(connector(), killed)), ("ended first", []))
        self.assertEqual(judge(ends(connector(taken=b""), killed))[0], "fault")

    def test_an_error_needs_a_word(self) -> None:
        self.assertEqual(judge(ends(connector(1, "", b""), listener(1, "", b"")))[0], "fault")
        self.assertEqual(judge(ends(connector(101, "panicked"), listener()))[0], "fault")


class Plans(unittest.TestCase):
    def test_a_seed_draws_the_same_rounds(self) -> None:
        plans = [draw(3, 1, number, True, 1.0) for number in range(200)]
        self.assertEqual(plans, [draw(3, 1, number, True, 1.0) for number in range(200)])
        deaths = [plan.death for plan in plans if plan.death]
        self.assertEqual({death.how for death in deaths}, {"kill", "interrupt"})
        self.assertEqual({death.answered for death in deaths}, {True, False})
        cuts = {cut.how for plan in plans for cut in plan.blackouts}
        self.assertEqual(cuts, {"pause", "unplug", "change"})

    def test_near_the_end_nobody_dies_in_silence(self) -> None:
        plans = [draw(3, 1, number, False, 1.0) for number in range(200)]
        self.assertTrue(all(plan.death.answered for plan in plans if plan.death))


class Soak(unittest.TestCase):
    def test_an_interrupted_one_tells_of_the_rounds_that_ended(self) -> None:
        if why := tou_soak.missing(tou_soak.ROOT / "target/release/windlass"):
            self.skipTest(why)
        arguments = ["--lanes", "2", "--scale", "0.02", "--seed", "3", "--json"]
        command = [sys.executable, str(FOLDER / "tou_soak.py"), *arguments]
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "TMPDIR": folder}
            with subprocess.Popen(
                command,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            ) as running:
                # The second round of a lane: its first has ended, or waits beside it.
                while not list(Path(folder).glob("*/lane*/2-*")) and running.poll() is None:
                    time.sleep(0.05)
                running.send_signal(signal.SIGINT)
                printed, message = running.communicate()
            self.assertEqual(list(Path(folder).iterdir()), [], "nothing is left of it")
        self.assertEqual(running.returncode, tou_soak.INTERRUPTED, message)
        summary = json.loads(printed)
        self.assertFalse(summary["whole"])
        self.assertEqual(summary["faults"], [])
        ended = sum(row["rounds"] for row in summary["rows"] if row["disturbance"] == "all")
        self.assertGreaterEqual(ended + summary["unjudged"], 2)
        self.assertIn(f"interrupted; {summary['unjudged']} rounds had not ended", message)

    def test_a_few_seconds_of_it_have_no_fault(self) -> None:
        if why := tou_soak.missing(tou_soak.ROOT / "target/release/windlass"):
            self.skipTest(why)
        arguments = ["--seconds", "3", "--lanes", "3", "--scale", "0.02", "--seed", "3", "--json"]
        command = [sys.executable, str(FOLDER / "tou_soak.py"), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        summary = json.loads(done.stdout)
        self.assertEqual(summary["faults"], [])
        self.assertGreaterEqual(summary["rows"][-1]["rounds"], 3)

"""The lessons of docs/course: each claim and figure of a lesson, from the scenarios in it."""

import json
import math
import re
import shutil
import subprocess
import tempfile
import tomllib
from bisect import bisect_right
from functools import cache
from itertools import pairwise
from operator import itemgetter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LESSONS = sorted((ROOT / "docs/course").glob("*.md"))
TUTORIALS = sorted((ROOT / "docs/tutorials").glob("*.md"))
SCENARIOS = ROOT / "experiments/course"
FRAME = re.compile(r"<!-- playground: (\S+) -->")
WIRE_BITS = 1500 * 8

needs_windlass = pytest.mark.skipif(not shutil.which("windlass"), reason="no windlass on the PATH")
needs_node = pytest.mark.skipif(not shutil.which("node"), reason="no node on the PATH")

# The runs of each lesson that the playground writes: its fragment in the lesson, first and second.
WRITTEN = {
    "window": ["window"],
    "slow-start": ["slow-start"],
    "sawtooth": ["sawtooth"],
    "bufferbloat": ["bufferbloat", "bufferbloat-codel"],
    "ecn-aqm": ["codel-marks", "codel-drops"],
    "fairness": ["four-rtts-new-ecn", "four-rtts-reno"],
    "high-rates": ["high-rate-reno", "high-rate-cubic"],
    "bbr-l4s": ["l4s-prague", "l4s-cubic"],
}


def simulated(name: str, settings: tuple[str, ...], *options: str | Path) -> dict:
    """The summary of a scenario, some of its keys replaced by `KEY=VALUE`."""
    keys = [word for setting in settings for word in ("--set", setting)]
    command = ["windlass", "sim", "run", SCENARIOS / f"{name}.toml", "--json", *keys, *options]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@cache
def run(name: str, *settings: str) -> dict:
    """The summary of a run."""
    return simulated(name, settings)


@cache
def windows(name: str, *settings: str) -> list[tuple[float, float]]:
    """Times and windows in segments of the first flow of a run."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "out")
        flow = simulated(name, settings, "--out", out, "--flows-only")["flows"][0]["name"]
        with (out / f"flow-{flow}.csv").open() as series:
            assert next(series).startswith("time_s,cwnd_packets,")
            rows = (line.split(",", 2) for line in series)
            return [(float(time), float(window)) for time, window, _ in rows]


def window_at(series: list[tuple[float, float]], time_s: float) -> float:
    """The window at a time."""
    return series[bisect_right(series, time_s, key=itemgetter(0)) - 1][1]


def peak(series: list[tuple[float, float]]) -> float:
    """The largest window."""
    return max(window for _, window in series)


def rates(summary: dict) -> list[float]:
    """Packets a second of each flow, from the start of the steady window."""
    return [flow["packets_per_s"]["steady"] for flow in summary["flows"]]


def mean_windows(summary: dict) -> list[float]:
    """The mean window of each flow in segments, from the start of the steady window."""
    return [flow["cwnd_packets"]["time_mean_steady"] for flow in summary["flows"]]


def mean_queue(summary: dict) -> float:
    """Packets in the bottleneck's queue, from the start of the steady window."""
    return summary["mean_queue_packets"]["steady"]


def wait_ms(summary: dict) -> float:
    """The mean time of a packet in the bottleneck's queue (Little's law)."""
    per_s = summary["queues"][0]["sent"] / summary["duration_s"]
    return 1000 * mean_queue(summary) / per_s


def carried(summary: dict) -> float:
    """Mbit/s on the bottleneck, headers included."""
    return summary["queues"][0]["sent_bytes"] * 8 / 1e6 / summary["duration_s"]


def retransmitted(summary: dict) -> int:
    """Segments that the senders sent again."""
    return sum(flow["retransmitted_segments"] for flow in summary["flows"])


def says(lesson: str, *rows: list[str]) -> None:
    """Assert that a lesson has these rows of a table."""
    text = (ROOT / f"docs/course/{lesson}.md").read_text()
    for row in rows:
        line = "| " + " | ".join(row) + " |"
        assert line.replace("|  |", "| |") in text, line


def states(lesson: str, *parts: str) -> None:
    """Assert that a lesson has these words."""
    text = (ROOT / f"docs/course/{lesson}.md").read_text()
    for part in parts:
        assert part in text, part


@pytest.mark.parametrize("page", LESSONS, ids=lambda page: page.stem)
def test_a_lesson_asks_first_and_unfolds_its_answers(page):
    text = page.read_text()
    places = [text.index(f"\n## {title}\n") for title in ("The idea", "Question", "Run it", "Task")]
    assert places == sorted(places)
    frames = FRAME.findall(text)
    assert frames
    # The frame shows no result before the reader presses Run.
    assert all("wait=on" in frame for frame in frames)
    answers = text[text.index("\n## Answer\n") : text.index("\n## Remember\n")]
    assert answers.count("<details>") == answers.count("</details>") == 2


def test_there_are_nine_lessons_and_each_leads_to_the_next():
    index = (ROOT / "docs/SUMMARY.md").read_text()
    order = re.findall(r"\(course/(\S+\.md)\)", index)
    assert len(order) == len(LESSONS) == 9
    for page, following in pairwise(order):
        last = (ROOT / "docs/course" / page).read_text().splitlines()[-1]
        assert f"({following})" in last, page


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_every_tutorial_has_the_playground(page):
    assert FRAME.search(page.read_text())


def test_every_scenario_of_the_course_belongs_to_a_lesson():
    presets = (ROOT / "playground/settings.js").read_text()
    in_files = re.findall(r'"course/([\w-]+)\.toml"', presets)
    written = [name for names in WRITTEN.values() for name in names]
    assert {path.stem for path in SCENARIOS.glob("*.toml")} == {*in_files, *written}


@needs_node
@pytest.mark.parametrize("lesson", WRITTEN)
def test_the_playground_runs_the_scenario_of_the_lesson(lesson):
    (fragment, *_) = FRAME.findall((ROOT / f"docs/course/{lesson}.md").read_text())
    for option, name in zip(([], ["--second"]), WRITTEN[lesson], strict=False):
        command = [ROOT / "scripts/playground-scenario", *option, fragment]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        of_page = tomllib.loads(done.stdout)
        of_file = tomllib.loads((SCENARIOS / f"{name}.toml").read_text())
        assert of_page | dict.fromkeys(("name", "description")) == of_file | dict.fromkeys(
            ("name", "description")
        )


@needs_windlass
def test_a_rate_is_a_window_divided_by_the_round_trip_time():
    cases = [
        ("100 ms", "10 Mbit/s", 1280, run("window")),
        ("200 ms", "10 Mbit/s", 640, run("window", "dumbbell.access.0.delay=99ms")),
        ("50 ms", "10 Mbit/s", 2560, run("window", "dumbbell.access.0.delay=24ms")),
        ("100 ms", "4 Mbit/s", 1280, run("window", "dumbbell.bottleneck.rate=4Mbit/s")),
    ]
    for rtt, link, expected, summary in cases:
        (rate,), queue = rates(summary), mean_queue(summary)
        says("window", [rtt, link, f"{expected} /s", f"{rate:.0f} /s", f"{queue:.1f}"])
        least_rtt = float(rtt.split()[0]) / 1000
        capacity = float(link.split()[0]) * 1e6 / (512 * 8)
        assert rate == pytest.approx(min(expected, capacity), rel=0.01)
        # The rest of the window waits in the queue.
        assert queue == pytest.approx(max(0, 128 - capacity * least_rtt), abs=1.2)
    (full,) = rates(run("window"))
    assert f"{full * 472 * 8 / 1e6:.1f} Mbit/s" == "4.8 Mbit/s"
    assert peak(windows("window")) > 200
    states("window", "RTT grows to 130 ms")
    assert cases[3][3]["flows"][0]["srtt_ms"]["raw_rtt_mean"] == pytest.approx(130, abs=2)


@needs_windlass
def test_slow_start_doubles_and_overshoots():
    summary, series = run("slow-start"), windows("slow-start")
    flights = [round(window_at(series, time)) for time in (0.15, 0.25, 0.35, 0.45, 0.55)]
    says("slow-start", ["window, segments", *map(str, flights)])
    assert flights[:4] == [10, 20, 40, 80]
    assert window_at(series, 0.65) > 167
    # One segment for each ACK, of which the full link brings 167 in 100 ms.
    assert window_at(series, 0.85) - window_at(series, 0.75) == pytest.approx(167, abs=2)
    assert peak(series) == pytest.approx(2 * (167 + 250), rel=0.01)
    states("slow-start", f"{peak(series):.0f} segments", f"{summary['drops']} packets")
    assert summary["drops"] == retransmitted(summary)


@needs_windlass
def test_delayed_acks_make_slow_start_grow_by_half():
    series = windows("slow-start", "defaults.profile=rfc5681")
    flights = [window_at(series, 0.15 + 0.1 * step) for step in range(10)]
    listed = ", ".join(f"{window:.0f}" for window in flights[:-1])
    states("slow-start", f"{listed} and {flights[-1]:.0f} segments", f"{peak(series):.0f} segments")
    # From the fourth window on; the first ones are rounded to segments.
    assert (flights[-1] / flights[3]) ** (1 / 6) == pytest.approx(1.5, abs=0.05)
    assert window_at(series, 1.15) < 167 < window_at(series, 1.25)
    assert peak(series) == pytest.approx(1.5 * (167 + 250), rel=0.01)
    drops = run("slow-start", "defaults.profile=rfc5681")["drops"]
    states("slow-start", f"{drops} packets are lost")


@needs_windlass
def test_the_sawtooth_fills_the_link_with_a_queue_of_one_product():
    used = {}
    for room in (5, 10, 33, 65, 260):
        summary = run("sawtooth", f"queues.bottleneck.limit={room} packets")
        used[room] = rates(summary)[0] * WIRE_BITS / 10e6
        rtt = summary["flows"][0]["srtt_ms"]["time_mean"]
        says(
            "sawtooth", [f"{room} packets", f"{used[room]:.1%}".replace("%", " %"), f"{rtt:.0f} ms"]
        )
    assert used[5] < used[10] < used[33] < 0.96 < 0.999 < used[65]
    smallest = run("sawtooth", "queues.bottleneck.limit=2 packets")
    assert 0.75 < rates(smallest)[0] * WIRE_BITS / 10e6 < used[5]


@needs_windlass
@pytest.mark.parametrize("room", [65, 5])
def test_the_sawtooth_climbs_to_path_and_queue_and_is_halved(room):
    series = windows("sawtooth", f"queues.bottleneck.limit={room} packets")
    teeth = [window for time, window in series if time > 20]
    assert max(teeth) == pytest.approx(67 + room, abs=3)
    assert min(teeth) == pytest.approx(max(teeth) / 2, rel=0.01)
    between = "from {:.0f} to {:.0f} segments" if room == 65 else "between {:.0f} and {:.0f}"
    states("sawtooth", between.format(min(teeth), max(teeth)))


@needs_windlass
def test_random_loss_sets_the_window_of_reno():
    (window,) = mean_windows(run("lossy-reno"))
    assert window == pytest.approx(math.sqrt(1.5 / 0.01), rel=0.02)
    states(
        "sawtooth", f"the run has {window:.1f}", f"{carried(run('lossy-reno')):.1f} of 20 Mbit/s"
    )
    (cubic,) = mean_windows(run("lossy-cubic"))
    assert window < cubic < 1.15 * window
    states("sawtooth", f"a mean of {cubic:.1f} segments")


@needs_windlass
def test_a_long_queue_is_full_and_carries_no_more():
    long, codel = run("bufferbloat"), run("bufferbloat-codel")
    pairs = [(mean_queue(long), mean_queue(codel)), (wait_ms(long), wait_ms(codel))]
    rtts = [
        [flow["srtt_ms"]["time_mean"] for flow in summary["flows"]] for summary in (long, codel)
    ]
    pairs += zip(*rtts, strict=True)
    names = ("packets in the queue, mean", "waiting time, mean")
    names += ("RTT of the flow of 80 ms", "RTT of the flow of 20 ms")
    for name, pair in zip(names, pairs, strict=True):
        unit = "" if "packets" in name else " ms"
        says("bufferbloat", [name, *(f"{value:.0f}{unit}" for value in pair)])
    says(
        "bufferbloat", ["carried by the link", *(f"{carried(s):.2f} Mbit/s" for s in (long, codel))]
    )
    assert wait_ms(long) > 70 * wait_ms(codel)
    assert 1 - carried(codel) / carried(long) == pytest.approx(0.014, abs=0.0005)
    assert sum(mean_windows(long)) == pytest.approx(440, abs=10)


@needs_windlass
@pytest.mark.parametrize("limit", [500, 100, 50])
def test_a_tenth_of_the_queue_carries_as_much(limit):
    summary = run("bufferbloat", f"queues.bottleneck.limit={limit} packets")
    row = [f"{limit} packets", f"{wait_ms(summary):.0f} ms", f"{carried(summary):.2f} Mbit/s"]
    says("bufferbloat", row)


@needs_windlass
def test_marks_take_the_place_of_drops():
    marks, drops = run("codel-marks"), run("codel-drops")
    both = (marks, drops)
    says(
        "ecn-aqm",
        ["waiting time, mean", *(f"{wait_ms(s):.1f} ms" for s in both)],
        ["carried by the link", *(f"{carried(s):.1f} Mbit/s" for s in both)],
        ["packets marked", *(str(s["marks"]) for s in both)],
        ["packets dropped", *(str(s["drops"]) for s in both)],
        ["packets retransmitted", *(str(retransmitted(s)) for s in both)],
    )
    assert marks["drops"] == drops["marks"] == 0 < min(marks["marks"], drops["drops"])
    for long, short in map(rates, both):
        assert short > 2 * long


@needs_windlass
def test_the_proxy_ends_the_drops():
    without, served = both = run("without-proxy"), run("with-proxy")
    says(
        "ecn-aqm",
        ["dropped by the queue", *(str(s["drops"]) for s in both)],
        ["marked by the queue", *(str(s["marks"]) for s in both)],
        ["retransmitted", *(str(retransmitted(s)) for s in both)],
        ["waiting time, mean", *(f"{wait_ms(s):.1f} ms" for s in both)],
    )
    assert served["drops"] == 0 < without["drops"]


@needs_windlass
def test_reno_has_equal_windows_and_new_ecn_equal_rates():
    new_ecn, reno = run("four-rtts-new-ecn"), run("four-rtts-reno")
    columns = zip(
        ("190 ms", "70 ms", "30 ms", "4 ms"),
        rates(reno), mean_windows(reno), rates(new_ecn), mean_windows(new_ecn),
        strict=True,
    )  # fmt: skip
    for rtt, slow, narrow, fair, wide in columns:
        says("fairness", [rtt, f"{slow:.0f}", f"{narrow:.1f}", f"{fair:.0f}", f"{wide:.1f}"])
    indices = [summary["fairness_index"]["steady"] for summary in (reno, new_ecn)]
    says("fairness", ["fairness index", f"{indices[0]:.3f}", "", f"{indices[1]:.3f}", ""])
    assert max(mean_windows(reno)) < 1.3 * min(mean_windows(reno))
    assert max(rates(reno)) / min(rates(reno)) == pytest.approx(28, abs=0.5)
    mean = sum(rates(new_ecn)) / 4
    assert all(abs(rate / mean - 1) < 0.1 for rate in rates(new_ecn))


@needs_windlass
def test_reno_is_fair_between_equals_and_new_ecn_is_reno_without_marks():
    alike = [f"dumbbell.access.{flow}.delay=34ms" for flow in range(4)]
    index = run("four-rtts-reno", *alike)["fairness_index"]["steady"]
    states("fairness", f"the index is {index:.3f}")
    without = ("defaults.ecn=false", "defaults.receiver.echo=until-cwr")
    names = ("four-rtts-new-ecn", "four-rtts-reno")
    unmarked = [run(name, *without)["fairness_index"]["steady"] for name in names]
    assert unmarked[0] == unmarked[1]
    states("fairness", f"the same index, {unmarked[0]:.3f}")


@needs_windlass
def test_cubic_fills_a_long_fast_path_better_than_reno():
    for rtt, delay in (("200 ms", "99ms"), ("20 ms", "9ms")):
        both = [
            run(f"high-rate-{name}", f"dumbbell.access.0.delay={delay}")
            for name in ("reno", "cubic")
        ]
        used = [
            f"{rates(summary)[0] * WIRE_BITS / 100e6:.0%}".replace("%", " %") for summary in both
        ]
        says(
            "high-rates", [rtt, *used, *(f"{mean_queue(summary):.0f} packets" for summary in both)]
        )
    reno, cubic = windows("high-rate-reno"), windows("high-rate-cubic")
    # One segment in each of 50 round trips.
    assert window_at(reno, 110) - window_at(reno, 100) == pytest.approx(50, abs=1)
    states("high-rates", f"a window of {window_at(reno, 2):.0f}", f"it is {peak(reno):.0f}")
    top = peak(cubic)
    assert peak(reno) < 1667 < top
    (ending,) = {int(time) for time, window in cubic if window == top}
    states("high-rates", f"at {top:.0f} segments after {ending} s")


@needs_windlass
def test_split_acks_tell_ack_counters_from_byte_counters():
    for trip in range(4):
        cells = [
            f"{window_at(windows(name), 0.11 + 0.1 * trip):.0f}"
            for name in ("counts-bytes", "counts-acks")
        ]
        says("measuring", [str(trip), *cells])
    for parts in (1, 2, 4):
        series = windows("counts-acks", f"defaults.receiver.ack.parts={parts}")
        flights = [window_at(series, 0.11 + 0.1 * trip) for trip in range(3)]
        assert flights == [3 * (1 + parts) ** trip for trip in range(3)]
    times = [
        run(name)["flows"][0]["transfers"]["completion_s"][0]
        for name in ("counts-acks", "counts-bytes")
    ]
    states("measuring", f"takes {times[0]:.2f} s from the ACK counter, and {times[1]:.2f} s")


@needs_windlass
def test_pragues_packets_pass_those_of_cubic():
    flows = [flow for name in ("l4s-prague", "l4s-cubic") for flow in run(name)["flows"]]
    rtts = [flow["srtt_ms"]["time_mean"] for flow in flows]
    mbit = [flow["mbit_per_s"]["steady"] for flow in flows]
    marks = [flow["marks"] for flow in flows]
    says(
        "bbr-l4s",
        ["RTT, mean", *(f"{rtt:.1f} ms" for rtt in rtts)],
        ["rate of data", *(f"{rate:.1f} Mbit/s" for rate in mbit)],
        ["packets marked", *map(str, marks)],
    )
    assert rtts[0] < 21 < 33 < min(rtts[1:])
    wait = flows[1]["queue_delay_ms"]["mean"]
    states("bbr-l4s", f"CUBIC's wait for {wait:.0f} ms", "50 times as many marks")
    assert marks[0] == pytest.approx(50 * marks[1], rel=0.05)
    assert mbit[1] / sum(mbit[:2]) == pytest.approx(1 / 3, abs=0.02)


@needs_windlass
def test_bbr_leaves_a_deep_queue_short_and_cubic_beside_it_does_not():
    runs = [
        run("bufferbloat"),
        run("bufferbloat", "defaults.controller=bbr3"),
        run("bufferbloat", "flows.0.controller=bbr3"),
    ]
    waits = [wait_ms(summary) for summary in runs]
    says(
        "bbr-l4s",
        ["waiting time, mean", *(f"{wait:.0f} ms" for wait in waits)],
        [
            "RTT of the flow of 20 ms",
            *(f"{summary['flows'][1]['srtt_ms']['time_mean']:.0f} ms" for summary in runs),
        ],
        ["packets dropped", *(str(summary["drops"]) for summary in runs)],
        ["carried by the link", *(f"{carried(summary):.2f} Mbit/s" for summary in runs)],
    )
    assert waits[1] < waits[0] / 4 < waits[0] < waits[2]

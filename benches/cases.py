"""The cases of the bench: who runs what, and what is to be reached; benches/README.md has more.

A contender's command gets the programs and an empty folder of its own for whatever it writes.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SCENARIOS = ROOT / "experiments/bench"
NS2 = ROOT / "benches/ns2"

# A minute of the small case is over in a blink.
SMALL_S = 600
REPLICATES = 40
BATCH_LINES = 2000
FLOOR_EVENTS = 5_000_000

WINDLASS = "windlass"
BEFORE = "windlass, before"
"""An earlier build, if there is one to compare with."""
PEER = "ns-2"
"""With the packet headers in use alone, which is ns-2 at its fastest."""
PEER_BY_DEFAULT = "ns-2, all headers"
"""With all packet headers, as it is unless a script removes them."""


@dataclass(frozen=True)
class Programs:
    """Paths of the binaries; `ns` is None where ns-2 is missing. `before` is an earlier build."""

    windlass: str
    ns: str | None
    before: str | None = None


@dataclass(frozen=True)
class Work:
    """The work of a run, read from its output; the same in every run of a contender."""

    amount: int
    """Segments delivered, scenarios or events, as the case says."""
    fairness_index: float | None = None
    events: int | None = None
    """Events of the simulation, if it tells them."""


@dataclass(frozen=True)
class Contender:
    """One of those that a case holds against each other."""

    name: str
    command: Callable[[Programs, Path], list[str]]
    read: Callable[[bytes], Work]
    needs_ns2: bool = False


def before(contender: Contender) -> Contender:
    """The same by the earlier build."""

    def command(programs: Programs, folder: Path) -> list[str]:
        assert programs.before, "compared only where there is an earlier build"
        return contender.command(replace(programs, windlass=programs.before), folder)

    return replace(contender, name=BEFORE, command=command)


@dataclass(frozen=True)
class Target:
    """The target of a contender: bounds of `figure` in its row, or of its ratio to that of `over`,
    the other contender of the case, or to the same contender's in `over_case`."""

    contender: str
    figure: str
    at_least: float | None = None
    at_most: float | None = None
    over: str | None = None
    over_case: str | None = None


@dataclass(frozen=True)
class Case:
    name: str
    unit: str
    contenders: tuple[Contender, ...]
    targets: tuple[Target, ...] = ()
    pending: int | None = None
    """Events that wait at any time, about; for the floor."""


def read_run(output: bytes) -> Work:
    """The figures of one simulation, as Windlass and the scripts of ns-2 print them."""
    figures = json.loads(output)
    fairness = figures["fairness_index"]
    # Windlass gives some figures for several windows of time, ns-2 for the whole run alone.
    whole_run = fairness["whole_run"] if isinstance(fairness, dict) else fairness
    return Work(int(figures["delivered_segments"]), float(whole_run), figures.get("events"))


def read_replicates(output: bytes) -> Work:
    return Work(len(json.loads(output)["seeds"]))


def read_batch(output: bytes) -> Work:
    return Work(sum('"delivered_segments"' in line for line in output.decode().splitlines()))


def read_floor(output: bytes) -> Work:
    return Work(int(json.loads(output)["events"]))


def windlass_run(
    scenario: str, *options: str, name: str = WINDLASS, out: bool = False
) -> Contender:
    """`sim run`; with `out` it writes time series."""

    def command(programs: Programs, folder: Path) -> list[str]:
        series = ["--out", str(folder / "out")] if out else []
        file = str(SCENARIOS / f"{scenario}.toml")
        return [programs.windlass, "sim", "run", file, "--json", *options, *series]

    return Contender(name, command, read_run)


def ns2_run(
    script: str, seconds: int | None = None, traces: bool = False, all_headers: bool = False
) -> Contender:
    """A script of ns-2; with `traces` it writes each change of each flow's cwnd_."""

    def command(programs: Programs, folder: Path) -> list[str]:
        headers = ["all-headers"] * all_headers
        duration = [] if seconds is None else [str(seconds)]
        options = [*headers, *duration, *([str(folder)] * traces)]
        assert programs.ns, "a case of ns-2 runs only where there is one"
        return [programs.ns, str(NS2 / f"{script}.tcl"), *options]

    return Contender(PEER_BY_DEFAULT if all_headers else PEER, command, read_run, needs_ns2=True)


def ns2_both(script: str, seconds: int | None = None, traces: bool = False) -> list[Contender]:
    """ns-2 with the headers in use, and with all of them."""
    return [ns2_run(script, seconds, traces, all_headers) for all_headers in (False, True)]


def times_ns2(factor: float, peer: str = PEER) -> Target:
    return Target(WINDLASS, "per_s", at_least=factor, over=peer)


def times_both(factor: float) -> tuple[Target, ...]:
    return times_ns2(factor), times_ns2(factor, PEER_BY_DEFAULT)


def small() -> Case:
    lasts = f"duration={SMALL_S}s"
    contenders = (windlass_run("small", "--set", lasts), *ns2_both("small", SMALL_S))
    return Case("small", "segments", contenders, times_both(5), pending=16)


def small_cwnd() -> Case:
    """Both write the windows of the flows. With all its series Windlass writes the bottleneck's
    queue as well, which ns-2 does not here: no target."""
    lasts = ("--set", f"duration={SMALL_S}s")
    contenders = (
        windlass_run("small", *lasts, "--flows-only", out=True),
        windlass_run("small", *lasts, out=True, name="windlass, all series"),
        *ns2_both("small", SMALL_S, traces=True),
    )
    return Case("small-cwnd", "segments", contenders, times_both(4))


def big() -> Case:
    contenders = (windlass_run("big"), *ns2_both("big"))
    return Case("big", "segments", contenders, times_both(5), pending=300)


def wide(name: str) -> Case:
    targets = (
        *times_both(40),
        Target(WINDLASS, "cpu_per_unit_ns", at_most=3, over_case="small"),
        Target(WINDLASS, "peak_rss_mib", at_most=100),
    )
    contenders = (windlass_run(name), *ns2_both(name))
    return Case(name, "segments", contenders, targets, pending=3000)


def replicates() -> Case:
    def jobs(count: int) -> Contender:
        def command(programs: Programs, _: Path) -> list[str]:
            file = str(SCENARIOS / "small.toml")
            many = ["--replicates", str(REPLICATES), "--jobs", str(count), "--jitter", "100ms"]
            return [programs.windlass, "sim", "run", file, "--json", *many]

        return Contender(f"{count} jobs" if count > 1 else "1 job", command, read_replicates)

    target = Target("2 jobs", "per_wall_s", at_least=1.8, over="1 job")
    return Case("replicates", "runs", (jobs(1), jobs(2)), (target,))


def threads() -> Case:
    """The wide case has one thread whatever is asked for, so it is no contender."""

    def on(count: int) -> Contender:
        name = f"{count} threads" if count > 1 else "1 thread"
        return windlass_run("leaf-spine", "--threads", str(count), name=name)

    target = Target("2 threads", "per_wall_s", at_least=1.6, over="1 thread")
    return Case("threads", "segments", (on(1), on(2)), (target,))


def batch() -> Case:
    def command(programs: Programs, folder: Path) -> list[str]:
        requests = folder / "requests.jsonl"
        requests.write_text(batch_requests(BATCH_LINES))
        return [programs.windlass, "sim", "batch", "--jobs", "1", str(requests)]

    target = Target(WINDLASS, "per_s", at_least=500)
    return Case("batch", "scenarios", (Contender(WINDLASS, command, read_batch),), (target,))


def batch_requests(count: int) -> str:
    """The small case, one simulated second of it, all flows started within the first 150 ms."""
    starts = {f"flows.{flow}.start": f"{150 - 50 * flow}ms" for flow in range(3)}
    changes = {"duration": "1s", "steady_from": "0s"} | starts
    request = {"file": str(SCENARIOS / "small.toml"), "set": changes}
    lines = (json.dumps(request | {"seed": seed}) for seed in range(1, count + 1))
    return "".join(line + "\n" for line in lines)


def floor() -> Case:
    def waiting(pending: int) -> Contender:
        def command(programs: Programs, _: Path) -> list[str]:
            sizes = ["--pending", str(pending), "--events", str(FLOOR_EVENTS)]
            return [programs.windlass, "sim", "floor", *sizes]

        return Contender(f"{pending} pending", command, read_floor)

    return Case("floor", "events", tuple(waiting(pending) for pending in (16, 300, 3000)))


def all_cases() -> dict[str, Case]:
    wides = wide("wide"), wide("wide-hosts")
    cases = small(), small_cwnd(), big(), *wides, replicates(), threads(), batch(), floor()
    return {case.name: case for case in cases}

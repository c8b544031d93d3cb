"""The command `windlass-lab testbed`."""

import argparse
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from windlass_lab.core.binary.locate import find_windlass
from windlass_lab.core.text import numbers
from windlass_lab.testbed import check, many, remove, run, stored
from windlass_lab.testbed.topology import Experiment

EXAMPLES = """\
examples:
  windlass-lab testbed check
  windlass-lab testbed run experiments/worlds/reno.toml --time 10
  windlass-lab testbed run FILE --runs 5 --jobs 2 --out out/five --resume
  windlass-lab testbed clean

exit status:
  0    done; `check`: nothing is missing
  1    `check`: something is missing
  2    wrong arguments, a fault in FILE, no root, a program or controller that is not there
  3    something in the testbed failed
  130  interrupted (143: terminated); nothing of the testbed is left
"""

Number = Callable[[str], int]
Say = Callable[[str], None]
Read = Callable[[Path, float | None, Say], Experiment]


def add(commands: argparse._SubParsersAction, positive: Number, read: Read) -> None:
    """Adds the command to the lab's. `read` gives the experiment in a file, for a duration in
    seconds.
    """
    testbed = commands.add_parser(
        "testbed",
        help="run experiments on real kernels, in network namespaces (needs root)",
        description="Runs experiments on real kernels: a topology of network namespaces, programs "
        "in them, the kernel's TCP state sampled. The results are files as the simulator writes.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    inner = testbed.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for name, help_, function in (
        ("check", "say what this machine lacks, one line each", _check),
        ("clean", "remove what killed runs left (each run does so when it starts)", _clean),
        ("run", "run an experiment", partial(_run, read)),
    ):
        command = inner.add_parser(
            name,
            help=help_,
            description=help_[0].upper() + help_[1:] + ".",
            epilog=EXAMPLES,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.set_defaults(run=function)
    _add_run(command.add_argument, positive)


def _add_run(option: Callable, positive: Number) -> None:
    option(
        "file",
        type=Path,
        metavar="FILE",
        help="a scenario, or a testbed (docs/reference/testbed.md)",
    )
    option("--time", type=float, metavar="SECONDS", help="duration, in place of the file's")
    option("--out", type=Path, metavar="DIR", help="output directory (out/testbed-NAME)")
    option(
        "--runs",
        type=positive,
        default=1,
        metavar="N",
        help="runs (1), each in DIR/run-N",
    )
    option("--jobs", type=positive, default=1, metavar="N", help="testbeds at the same time (1)")
    option("--resume", action="store_true", help="skip the runs whose results are complete in DIR")
    option("--windlass", type=Path, metavar="PATH", help="the binary, for {windlass} in FILE")


def _check(_options: argparse.Namespace) -> int:
    found = list(check.missing())
    for needed, line in found:
        print(f"{'missing' if needed else 'without'}  {line}")
    print(f"controllers: {', '.join(check.controllers()) or 'none known'}")
    return 1 if found else 0


def _clean(_options: argparse.Namespace) -> int:
    for name in remove.sweep():
        print(f"removed {name}")
    return 0


def _run(read: Read, options: argparse.Namespace) -> int:
    experiment = read(options.file, options.time, _say)
    out = options.out or Path("out") / f"testbed-{experiment.name}"
    folders = [out / f"run-{number}" for number in range(1, options.runs + 1)]
    if options.runs == 1:
        folders = [out]
    wanted = [f for f in folders if not (options.resume and stored.is_there(f, experiment))]
    for folder in folders:
        if folder not in wanted:
            _say(f"testbed: {folder} is there already")
    if wanted and options.runs == 1:
        windlass = _windlass(experiment, options.windlass)
        run.run(experiment, out, _say, windlass, stored.digest(experiment))
    elif wanted:
        check.require(experiment)
        jobs = [many.Job(options.file, f, options.time, options.windlass) for f in wanted]
        many.run_all(jobs, options.jobs, lambda job: _say(f"testbed: {job.out} is done"))
    for folder in folders:
        print(f"{folder}\n{_table(stored.summary(folder))}")
    return 0


def _windlass(experiment: Experiment, given: Path | None) -> Path | None:
    """The binary, where a program needs it."""
    words = [word for program in experiment.programs for word in program.command]
    return find_windlass(given) if given or any("{windlass}" in word for word in words) else None


def _table(summary: dict) -> str:
    rows = [("flow", "controller", "RTT (ms)", "packets/s", "cwnd", "SRTT (ms)", "retransmitted")]
    rows += [
        (
            flow["name"],
            flow["controller"],
            numbers.figure(flow["rtt_min_ms"]),
            numbers.figure(flow["packets_per_s"]["steady"]),
            numbers.figure(flow["cwnd_packets"]["time_mean_steady"]),
            numbers.figure(flow["srtt_ms"]["time_mean"]),
            str(flow["retransmitted_segments"]),
        )
        for flow in summary["flows"]
    ]
    fairness = numbers.figure(summary["fairness_index"]["steady"])
    return f"{numbers.table(rows, range(2, 7))}\nfairness index {fairness}"


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)

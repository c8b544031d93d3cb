"""The command `windlass-lab testbed`."""

import argparse
import dataclasses
import hashlib
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from windlass_lab import text
from windlass_lab.errors import LabError, RunError
from windlass_lab.locate import find_windlass
from windlass_lab.testbed import check, load, remove, run
from windlass_lab.testbed.topology import Experiment

EXAMPLES = """\
examples:
  windlass-lab testbed check
  windlass-lab testbed run lab/testbeds/two_reno.toml --time 5
  windlass-lab testbed run FILE --runs 5 --jobs 2 --out out/five --resume
  windlass-lab testbed clean

exit status:
  0    done; `check`: nothing is missing
  1    `check`: something is missing
  2    wrong arguments, a fault in FILE, no root, a program or controller that is not there
  3    something in the testbed failed
  130  interrupted (143: terminated); nothing of the testbed is left
"""
_POLL_S = 0.1

Number = Callable[[str], int]


def add(commands: argparse._SubParsersAction, positive: Number) -> None:
    """Adds the command to the lab's."""
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
        ("run", "run an experiment", _run),
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
    option("file", type=Path, metavar="FILE", help="the experiment (docs/testbed.md)")
    option("--time", type=float, metavar="SECONDS", help="instead of the file's duration")
    option("--out", type=Path, metavar="DIR", help="where to (out/testbed-NAME)")
    option("--runs", type=positive, default=1, metavar="N", help="how often (1); each in DIR/run-N")
    option("--jobs", type=positive, default=1, metavar="N", help="testbeds at a time (1)")
    option("--resume", action="store_true", help="leave out the runs that DIR has whole already")
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


def _run(options: argparse.Namespace) -> int:
    experiment = _experiment(options)
    out = options.out or Path("out") / f"testbed-{experiment.name}"
    folders = [out / f"run-{number}" for number in range(1, options.runs + 1)]
    if options.runs == 1:
        folders = [out]
    digest = _digest(experiment)
    wanted = [f for f in folders if not (options.resume and _has_run(f, digest))]
    for folder in folders:
        if folder not in wanted:
            _say(f"testbed: {folder} is there already")
    if wanted and options.runs == 1:
        run.run(experiment, out, _say, _windlass(experiment, options.windlass), digest)
    elif wanted:
        check.require(experiment)
        _run_all(options, wanted)
    for folder in folders:
        print(f"{folder}\n{_table(_summary(folder))}")
    return 0


def _experiment(options: argparse.Namespace) -> Experiment:
    experiment = load.load(options.file)
    if options.time is None:
        return experiment
    changed = dataclasses.replace(experiment, duration_s=options.time)
    try:
        load.validate(changed)
    except ValueError as error:
        raise LabError(f"--time {options.time:g}: {error}") from error
    return changed


def _digest(experiment: Experiment) -> str:
    """Tells whether a run is of this experiment, as it is now."""
    return hashlib.sha256(json.dumps(dataclasses.asdict(experiment)).encode()).hexdigest()


def _windlass(experiment: Experiment, given: Path | None) -> Path | None:
    """The binary, where a program needs it."""
    words = [word for program in experiment.programs for word in program.command]
    return find_windlass(given) if given or any("{windlass}" in word for word in words) else None


def _has_run(folder: Path, digest: str) -> bool:
    try:
        return _summary(folder)["testbed"]["experiment_sha256"] == digest
    except (LabError, KeyError, TypeError):
        return False


def _summary(folder: Path) -> dict:
    try:
        return json.loads((folder / run.SUMMARY).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise LabError(f"cannot read {folder / run.SUMMARY}: {error}") from error


def _run_all(options: argparse.Namespace, folders: list[Path]) -> None:
    """Each run is a process of its own, as namespaces and threads do not go together."""
    waiting, running = list(folders), {}
    try:
        while waiting or running:
            while waiting and len(running) < options.jobs:
                folder = waiting.pop(0)
                running[folder] = subprocess.Popen(
                    _command(options, folder), start_new_session=True, stdout=subprocess.DEVNULL
                )
            time.sleep(_POLL_S)
            for folder in [f for f, process in running.items() if process.poll() is not None]:
                status = running.pop(folder).returncode
                if status != 0:
                    raise RunError(f"testbed: the run for {folder} failed (status {status})")
                _say(f"testbed: {folder} is done")
    finally:
        for process in running.values():
            process.terminate()
        for process in running.values():
            process.wait()


def _command(options: argparse.Namespace, folder: Path) -> list[str]:
    command = [sys.executable, "-m", "windlass_lab", "testbed", "run", str(options.file)]
    command += ["--out", str(folder)]
    if options.time is not None:
        command += ["--time", str(options.time)]
    if options.windlass is not None:
        command += ["--windlass", str(options.windlass)]
    return command


def _table(summary: dict) -> str:
    rows = [("flow", "controller", "RTT (ms)", "packets/s", "cwnd", "SRTT (ms)", "retransmitted")]
    rows += [
        (
            flow["name"],
            flow["controller"],
            text.figure(flow["rtt_min_ms"]),
            text.figure(flow["packets_per_s"]["steady"]),
            text.figure(flow["cwnd_packets"]["time_mean_steady"]),
            text.figure(flow["srtt_ms"]["time_mean"]),
            str(flow["retransmitted_segments"]),
        )
        for flow in summary["flows"]
    ]
    fairness = text.figure(summary["fairness_index"]["steady"])
    return f"{text.table(rows, range(2, 7))}\nfairness index {fairness}"


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)

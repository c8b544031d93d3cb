"""The command `windlass-lab`."""

import argparse
import json
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from windlass_lab import __version__
from windlass_lab.core import listing, output, report, text
from windlass_lab.core.errors import LabError
from windlass_lab.core.locate import find_experiments, find_testbeds, find_windlass
from windlass_lab.core.model import Experiment, Paper, find
from windlass_lab.core.reproduce import no_series, reproduce
from windlass_lab.core.windlass import Sampling, Windlass
from windlass_lab.papers.ecn_proxy import reproduce as ecn_proxy
from windlass_lab.papers.ecn_proxy.plan import DEMO
from windlass_lab.papers.ecn_proxy.plan import PAPER as ECN_PROXY
from windlass_lab.papers.new_ecn.measure import Kernel, cases_of, lacking
from windlass_lab.papers.split_ack.lacking import lacking as lacking_for_servers
from windlass_lab.papers.split_ack.measure import Servers
from windlass_lab.papers.tou import catalogue as tou_catalogue
from windlass_lab.papers.tou import reproduce as tou
from windlass_lab.papers.tou.judge import SEEDS
from windlass_lab.papers.tou.plan import PAPER as TOU
from windlass_lab.testbed import command as testbed

EXIT_CODES = """\
exit status:
  0    done; every judged figure agrees with the reference
  1    done; a figure differs from the reference by more than its tolerance
  2    wrong arguments, no binary, an output directory that is not the lab's, or an experiment that
       was asked for by name and needs what this machine lacks (root)
  3    the binary `windlass` failed, or a run on the kernel
  130  interrupted (143: terminated); nothing half-written is left
"""
EXAMPLES = """\
examples:
  windlass-lab list
  windlass-lab reproduce new-ecn --quick
  windlass-lab reproduce new-ecn --out out/new-ecn --replicates 20 --jobs 4
  windlass-lab reproduce new-ecn/4.3.1 --windlass target/release/windlass
  windlass-lab reproduce new-ecn/kernel --resume
  windlass-lab report out/new-ecn
  windlass-lab testbed check
"""
INTERRUPTED = 130
# On a kernel, unless told.
RUNS = 5


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command; returns its exit status."""
    options = _parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, _terminate)
    try:
        return options.run(options)
    except LabError as error:
        print(f"windlass-lab: {error}", file=sys.stderr)
        return error.exit_status
    except KeyboardInterrupt:
        print("windlass-lab: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has gone; there is nobody left to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _terminate(number: int, _frame: object) -> None:
    sys.exit(128 + number)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="windlass-lab",
        description="Runs the experiments of the papers behind Windlass and reports what was "
        "published beside what is measured.",
        epilog=f"{EXAMPLES}\n{EXIT_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"windlass-lab {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    _add_list(commands)
    _add_reproduce(commands)
    _add_report(commands)
    testbed.add(commands, _positive)
    return parser


def _add_command(commands, name: str, help_: str, examples: str) -> argparse.ArgumentParser:
    return commands.add_parser(
        name,
        help=help_,
        description=help_[0].upper() + help_[1:] + ".",
        epilog=f"examples:\n{examples}\n{EXIT_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def _add_list(commands) -> None:
    command = _add_command(
        commands,
        "list",
        "list the experiments: what each shows, how long it takes, whether it needs root",
        "  windlass-lab list\n  windlass-lab list --json\n",
    )
    command.add_argument("--json", action="store_true", help="as JSON, for scripts")
    command.set_defaults(run=_list)


def _add_reproduce(commands) -> None:
    command = _add_command(
        commands,
        "reproduce",
        "run the experiments of a paper, or one of them, and write a report",
        "  windlass-lab reproduce new-ecn --quick\n"
        "  windlass-lab reproduce new-ecn/4.2.2 --replicates 50 --out out/fairness\n"
        "  windlass-lab reproduce new-ecn --quick --kernel\n"
        "  windlass-lab reproduce new-ecn/kernel --runs 5 --jobs 2 --resume\n"
        "  windlass-lab reproduce ecn-proxy --scale 0.25 --real --parallel 2\n"
        "  windlass-lab reproduce split-ack\n"
        "  windlass-lab reproduce tou --runs 11 --resume\n",
    )
    add = command.add_argument
    add("target", metavar="PAPER[/EXPERIMENT]", help="an id of `windlass-lab list`")
    add("--quick", action="store_true", help="only the experiments that end within a minute")
    add("--kernel", action="store_true", help="also those on this machine's kernel (needs root)")
    add("--runs", type=_positive, metavar="N", help="on the kernel, or of a test (5; tou: 11)")
    add("--resume", action="store_true", help="leave out the runs on the kernel that DIR has whole")
    add("--replicates", type=_positive, metavar="N", help="runs a case (20; ecn-proxy: 10)")
    jobs = {"type": _positive, "default": _cores(), "metavar": "N"}
    add("--jobs", "--parallel", **jobs, help="runs, or testbeds, at a time (the cores)")
    add("--seed", type=_seed, default=1, metavar="N", help="of the first replicate (1)")
    add("--out", type=Path, metavar="DIR", help="where to (out/PAPER)")
    add("--windlass", type=Path, metavar="PATH", help="the binary (else $WINDLASS, then the build)")
    add("--scale", type=_scale, default=1.0, metavar="X", help="ecn-proxy, tou: of the sizes (1)")
    these = {"action": "append", "default": [], "metavar": "GLOB"}
    add("--tests", **these, help="of ecn-proxy, tou only these, by names as in runs.jsonl")
    where = command.add_mutually_exclusive_group()
    where.add_argument("--sim", action="store_true", help="in the simulator alone")
    where.add_argument("--real", action="store_true", help="ecn-proxy: on real kernels, as root")
    add("--experiments", type=Path, metavar="DIR", help="the folder with the scenario files")
    command.set_defaults(run=_reproduce)


def _add_report(commands) -> None:
    command = _add_command(
        commands,
        "report",
        "write the page and the text of a stored result again",
        "  windlass-lab report out/new-ecn\n",
    )
    command.add_argument("folder", type=Path, metavar="DIR", help="a result of `reproduce`")
    command.set_defaults(run=_report)


def _positive(argument: str) -> int:
    value = int(argument)
    if value < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return value


def _scale(argument: str) -> float:
    value = float(argument)
    if not 0 < value <= 1:
        raise argparse.ArgumentTypeError("must be above 0 and at most 1")
    return value


def _seed(argument: str) -> int:
    value = int(argument)
    if not 0 <= value < 2**64:
        raise argparse.ArgumentTypeError("must be from 0 to 2^64 - 1")
    return value


# What argparse calls the type of a wrong value in its message.
_positive.__name__ = "whole number"
_seed.__name__ = "whole number"
_scale.__name__ = "number"


def _cores() -> int:
    return len(os.sched_getaffinity(0))


def _list(options: argparse.Namespace) -> int:
    if options.json:
        print(json.dumps(listing.as_json(), indent=2, ensure_ascii=False))
    else:
        print(listing.as_text())
    return 0


def _reproduce(options: argparse.Namespace) -> int:
    paper, experiments = find(options.target, options.quick, options.kernel, options.sim)
    windlass = Windlass(find_windlass(options.windlass))
    folder = options.out or Path("out") / options.target.replace("/", "-")
    if paper.id == TOU:
        return _reproduce_tou(options, paper, experiments, windlass, folder)
    scenarios = find_experiments(options.experiments, paper.id)
    if paper.id == ECN_PROXY:
        drawn = _ecn_proxy_options(options)
        if options.target == f"{ECN_PROXY}/{DEMO}":
            drawn = ecn_proxy.for_demo(drawn)
        with output.OutputDirectory(folder) as directory:
            results = ecn_proxy.reproduce(
                paper, experiments, windlass, scenarios, drawn, folder, _progress
            )
            return _keep(paper, results, no_series(paper), directory)
    if options.real or options.scale != 1.0 or options.tests:
        raise LabError(f"--real is for {ECN_PROXY}, --scale and --tests are for {TOU} as well")
    sampling = Sampling(options.replicates or 20, options.jobs, options.seed)
    experiments = _with_servers(options, experiments)
    kernel, experiments = _on_kernel(options, experiments, windlass.path, folder)
    servers = Servers(windlass.path, options.runs or RUNS)
    with output.OutputDirectory(folder) as directory:
        results, series = reproduce(
            paper, experiments, windlass, scenarios, sampling, _progress, kernel, servers
        )
        return _keep(paper, results, series, directory)


def _reproduce_tou(
    options: argparse.Namespace,
    paper: Paper,
    experiments: list[Experiment],
    windlass: Windlass,
    folder: Path,
) -> int:
    drawn = tou.Options(
        runs=options.runs or options.replicates or SEEDS,
        jobs=options.jobs,
        seed=options.seed,
        scale=options.scale,
        resume=options.resume,
        tests=tuple(options.tests),
    )
    if [experiment.id for experiment in experiments] == [tou_catalogue.SHORT]:
        drawn = tou.for_short(drawn)
    with output.OutputDirectory(folder) as directory:
        results = tou.reproduce(paper, experiments, windlass, drawn, folder, _progress)
        return _keep(paper, results, no_series(paper), directory)


def _keep(paper: Paper, results: dict, series: dict, directory: output.OutputDirectory) -> int:
    # The result first: what follows can be made again from it.
    directory.write(output.RESULTS, _json(results))
    directory.write(output.SERIES, json.dumps(series, separators=(",", ":")) + "\n")
    made = report.files(paper, results, series)
    directory.write_all(made)
    print(made[output.SUMMARY], end="")
    print(f"\nReport: {directory.path / output.REPORT}")
    agreeing, judged = text.counts(results)
    return 0 if agreeing == judged else 1


def _ecn_proxy_options(options: argparse.Namespace) -> ecn_proxy.Options:
    return ecn_proxy.Options(
        runs=options.replicates or 10,
        jobs=options.jobs,
        seed=options.seed,
        scale=options.scale,
        real=options.real,
        resume=options.resume,
        tests=tuple(options.tests),
    )


def _on_kernel(
    options: argparse.Namespace, experiments: list[Experiment], windlass: Path, folder: Path
) -> tuple[Kernel | None, list[Experiment]]:
    """How to run on the kernel, where an experiment asks for it, and the experiments that can run.

    Raises `LabError` where what was asked for by name cannot.
    """
    if not any(e.kernels for e in experiments):
        return None, experiments
    runs = folder / output.RUNS
    kernel = Kernel(
        windlass, find_testbeds(), runs, options.runs or RUNS, options.jobs, options.resume
    )
    lacks = lacking(kernel, cases_of(experiments))
    if not lacks:
        return kernel, experiments
    rest = [e for e in experiments if not e.kernels]
    if not rest:
        raise LabError(f"{options.target}: {lacks}")
    _progress(f"without the experiments on a real kernel: {lacks}")
    return None, rest


def _with_servers(options: argparse.Namespace, experiments: list[Experiment]) -> list[Experiment]:
    """The experiments that can run here; of the others one line for each reason.

    Raises `LabError` where what was asked for by name cannot.
    """
    reasons = {e.id: lacking_for_servers(e.servers) if e.servers else "" for e in experiments}
    rest = [e for e in experiments if not reasons[e.id]]
    without: dict[str, list[str]] = {}
    for id_, reason in reasons.items():
        without.setdefault(reason, []).append(id_)
    without.pop("", None)
    if without and not rest:
        raise LabError(f"{options.target}: {next(iter(without))}")
    for reason, ids in without.items():
        _progress(f"without the servers of {', '.join(ids)}: {reason}")
    return rest


def _report(options: argparse.Namespace) -> int:
    report.rebuild(options.folder)
    print(options.folder / output.REPORT)
    return 0


def _json(value: object) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False, default=str) + "\n"


def _progress(line: str) -> None:
    print(line, file=sys.stderr, flush=True)

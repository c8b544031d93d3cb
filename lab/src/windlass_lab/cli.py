"""The command `windlass-lab`."""

import argparse
import json
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NoReturn, TypeAlias

from windlass_lab.clauses import command as clauses
from windlass_lab.controllers import command as controllers
from windlass_lab.core.binary.locate import find_windlass
from windlass_lab.core.binary.windlass import Sampling, Windlass
from windlass_lab.core.errors import LabError, RunError
from windlass_lab.core.experiments import coverage
from windlass_lab.core.experiments.model import Paper
from windlass_lab.core.files import output
from windlass_lab.core.files.output import RESULT_KIND as RESULT
from windlass_lab.core.pipeline.request import Request
from windlass_lab.core.report import main_plot
from windlass_lab.core.report.front_page import (
    INDEX,
    Found,
    playground_near,
    refuse_foreign,
    render_front_page,
)
from windlass_lab.core.report.in_short import in_short
from windlass_lab.core.text import numbers, verdicts
from windlass_lab.core.version import VERSION
from windlass_lab.figures import command as figures
from windlass_lab.figures import compare
from windlass_lab.kernels import command as kernels
from windlass_lab.papers import listing
from windlass_lab.papers.ecn_proxy.plan import demo_tests
from windlass_lab.papers.registry import ENTRIES, find, papers_of_all
from windlass_lab.searches import command as searches
from windlass_lab.surveys import command as surveys
from windlass_lab.sweeps import command as sweeps
from windlass_lab.testbed import command as testbed
from windlass_lab.worlds import command as worlds

EXIT_CODES = """\
exit status:
  0    done; no figure differs from the reference, from theory or from a bound of the lab's own
       (what a paper claims and does not hold is red on its page, and no error)
  1    done; one of these figures is not met
  2    wrong arguments, no binary, an output directory that is not the lab's, or an experiment that
       is named and needs something that this machine lacks (such as root)
  3    the binary `windlass` failed, or a run on the kernel
  130  interrupted (143: terminated); nothing half-written is left
reproduce all: the gravest of the papers', in the order 3, 1, 2
"""
EXAMPLES = """\
examples:
  windlass-lab list
  windlass-lab reproduce new-ecn --quick
  windlass-lab reproduce new-ecn --out out/new-ecn --replicates 20 --jobs 4
  windlass-lab reproduce new-ecn/4.3.1 --windlass target/release/windlass
  windlass-lab reproduce new-ecn/kernel --resume
  windlass-lab report out/new-ecn
  windlass-lab run experiments/worlds/reno.toml --on sim,kernel
  windlass-lab plot out/run
  windlass-lab survey survey/
  windlass-lab testbed check
"""
INTERRUPTED = 130
# The target that stands for every paper. The ECN proxy's experiments are simulated unless --real is
# given, though they name a testbed.
EVERYTHING = "all"
SIMULATED = frozenset({"ecn-proxy"})
# Its exit status is the gravest of the papers': what a machine lacks hides no figure that differs.
_GRAVITY = (0, LabError.exit_status, 1, RunError.exit_status)
Commands: TypeAlias = "argparse._SubParsersAction[Parser]"


class Parser(argparse.ArgumentParser):
    """A parser whose errors begin as all errors of Windlass do."""

    def error(self, message: str) -> NoReturn:
        """Prints the error and a hint, and exits with status 2."""
        self.exit(2, f"error: {message}\n  hint: `{self.prog} --help` lists the arguments\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command; returns its exit status."""
    options = _parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, _terminate)
    try:
        status = options.run(options)
        # A failed write to standard output is an error of the command, not of the interpreter.
        sys.stdout.flush()
        return status
    except LabError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_status
    except KeyboardInterrupt as stop:
        print(f"error: {str(stop) or 'interrupted'}", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has gone; there is no output left to write.
        _close_stdout()
        return 1
    except OSError as error:
        # A full disk, for one. Whatever is written whole or not at all has been taken away.
        where = f"{error.filename}: " if error.filename else ""
        print(f"error: {where}{error.strerror or error}", file=sys.stderr)
        _close_stdout()
        return LabError.exit_status


def _close_stdout() -> None:
    """Keeps the interpreter from writing at its end what could not be written before."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _terminate(number: int, _frame: object) -> None:
    sys.exit(128 + number)


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="windlass-lab",
        description="Runs the experiments of the papers behind Windlass and reports what was "
        "published beside what is measured.",
        epilog=f"{EXAMPLES}\n{EXIT_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"windlass-lab {VERSION}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    _add_list(commands)
    _add_coverage(commands)
    _add_reproduce(commands)
    _add_report(commands)
    figures.add(commands)
    compare.add(commands)
    worlds.add(commands, _positive)
    surveys.add(commands)
    sweeps.add(commands, _positive)
    searches.add(commands, _positive)
    clauses.add(commands)
    controllers.add(commands, _positive)
    kernels.add(commands)
    testbed.add(commands, _positive, worlds.experiment)
    return parser


def _add_command(
    commands: Commands, name: str, help_: str, examples: str
) -> argparse.ArgumentParser:
    return commands.add_parser(
        name,
        help=help_,
        description=help_[0].upper() + help_[1:] + ".",
        epilog=f"examples:\n{examples}\n{EXIT_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def _add_list(commands: Commands) -> None:
    command = _add_command(
        commands,
        "list",
        "list the experiments: what each shows, how long it takes, whether it needs root",
        "  windlass-lab list\n  windlass-lab list --json\n",
    )
    command.add_argument("--json", action="store_true", help="as JSON, for scripts")
    command.set_defaults(run=_list)


def _add_coverage(commands: Commands) -> None:
    command = _add_command(
        commands,
        "coverage",
        "list every figure and table of the papers, with the experiment or the reason for none",
        "  windlass-lab coverage\n  windlass-lab coverage --json\n",
    )
    command.add_argument("--json", action="store_true", help="as JSON, for scripts")
    command.set_defaults(run=_coverage)


def _add_reproduce(commands: Commands) -> None:
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
        "  windlass-lab reproduce tou --runs 11 --resume\n"
        "  windlass-lab reproduce coexistence --quick\n"
        "  windlass-lab reproduce all --sim --resume         # every paper, and a front page\n",
    )
    add = command.add_argument
    add(
        "target",
        metavar="PAPER[/EXPERIMENT]",
        help="an id of `windlass-lab list`; all: every paper, simulated unless --real",
    )
    add("--quick", action="store_true", help="run only the experiments that end within a minute")
    add("--kernel", action="store_true", help="also run those on this kernel (needs root)")
    add(
        "--runs",
        type=_positive,
        metavar="N",
        help="runs of each case on the kernel, or of each test (default: 5; tou: 11)",
    )
    add("--resume", action="store_true", help="skip the runs whose results are complete in DIR")
    add(
        "--check",
        action="store_true",
        help="new-ecn, split-ack: simulate once what cannot change the exit status",
    )
    add(
        "--replicates",
        type=_positive,
        metavar="N",
        help="simulated runs of each case (default: 20; ecn-proxy: 10)",
    )
    add(
        *("--jobs", "--parallel"),
        type=_positive,
        default=_cores(),
        metavar="N",
        help="runs, or testbeds, at the same time (default: the number of cores)",
    )
    add("--seed", type=_seed, default=1, metavar="N", help="seed of the first replicate (1)")
    add("--out", type=Path, metavar="DIR", help="output directory (out/PAPER)")
    add(
        "--windlass",
        type=Path,
        metavar="PATH",
        help="the binary (default: $WINDLASS, else target/release/windlass, else from $PATH)",
    )
    add(
        "--scheduler",
        default="",
        metavar="ADDRESS",
        help="coexistence: run on the workers of this Dask scheduler",
    )
    _add_choice_of_tests(command)
    where = command.add_mutually_exclusive_group()
    where.add_argument("--sim", action="store_true", help="use the simulator only")
    where.add_argument("--real", action="store_true", help="ecn-proxy: use real kernels, as root")
    add("--experiments", type=Path, metavar="DIR", help="the folder with the scenario files")
    command.set_defaults(run=_reproduce, left_out=[])


def _add_choice_of_tests(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add(
        "--scale",
        type=_scale,
        default=1.0,
        metavar="X",
        help="ecn-proxy, tou: factor of the sizes of transfers, at most 1 (default: 1)",
    )
    add(
        "--tests",
        action="append",
        default=[],
        metavar="GLOB",
        help="ecn-proxy, tou, coexistence: run only the tests with such names (as in runs.jsonl)",
    )


def _add_report(commands: Commands) -> None:
    command = _add_command(
        commands,
        "report",
        "write the page and the text of a stored result again",
        "  windlass-lab report out/new-ecn\n  windlass-lab report out/all\n",
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


# The names of these types in argparse's messages.
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


def _coverage(options: argparse.Namespace) -> int:
    if options.json:
        print(json.dumps(coverage.as_json(), indent=2, ensure_ascii=False))
    else:
        print(
            numbers.table([("paper", "what", "experiment, or why there is none"), *coverage.rows()])
        )
    return 0


def _reproduce(options: argparse.Namespace) -> int:
    folder = options.out or Path("out") / options.target.replace("/", "-")
    if options.target == EVERYTHING:
        return _reproduce_all(options, folder)
    return _reproduce_into(options, options.target, folder)


def _reproduce_all(options: argparse.Namespace, folder: Path) -> int:
    """Every paper in a folder of its own, one after the other, and the front page at the end."""
    if options.scale != 1.0 or options.tests or options.check:
        raise LabError("--scale, --tests and --check are for one paper: all has them as they are")
    if options.scheduler:
        raise LabError("--scheduler is for coexistence")
    if options.kernel:
        raise LabError("all is simulated, or with --real on kernels: --kernel is for one paper")
    refuse_foreign(folder)
    real = options.real
    statuses, reasons = [0], {}
    for paper in papers_of_all():
        if not real and all(e.needs_root for e in paper.experiments) and paper.id not in SIMULATED:
            reasons[paper.id] = "it needs a kernel (--real, as root)"
            continue
        _progress(f"== {paper.id}")
        chosen = _options_of(paper, options)
        try:
            if options.resume and _is_complete(paper, chosen, folder / paper.id):
                _progress("complete already")
                statuses.append(_status(output.load(folder / paper.id, output.RESULTS, RESULT)))
                continue
            statuses.append(_reproduce_into(chosen, paper.id, folder / paper.id))
        except LabError as error:
            print(f"error: {paper.id}: {error}", file=sys.stderr)
            reasons[paper.id] = str(error)
            statuses.append(error.exit_status)
    papers = _found(folder, reasons)
    _write_front_page(folder, papers)
    account = in_short(papers, [*options.left_out, *_longer(papers, options)])
    output.write_atomically(folder / output.SUMMARY, account)
    print(account, end="")
    print(f"Front page: {folder / INDEX}")
    return max(statuses, key=_GRAVITY.index)


def _longer(papers: Sequence[Found], options: argparse.Namespace) -> list[str]:
    """Of a quick run: how many experiments it left out because they take longer."""
    if not options.quick:
        return []
    ran = {(f.paper.id, e["id"]) for f in papers if f.results for e in f.results["experiments"]}
    every = [(f.paper.id, e.id) for f in papers for e in f.paper.experiments if not e.quick]
    count = sum(each not in ran for each in every)
    return [f"{count} experiments that take longer than a minute: `windlass-lab list`"]


def _options_of(paper: Paper, options: argparse.Namespace) -> argparse.Namespace:
    """The options of all for one paper."""
    chosen = argparse.Namespace(**vars(options))
    chosen.kernel = options.real
    simulated = paper.id in SIMULATED
    chosen.sim = not options.real and not simulated
    chosen.real = options.real and simulated
    if simulated and options.quick and not options.real:
        # Its quick experiment is of a testbed: the same tests are simulated, as often as it takes
        # to judge them.
        chosen.quick = False
        chosen.tests = [test.name for test in demo_tests()]
    return chosen


def _is_complete(paper: Paper, options: argparse.Namespace, folder: Path) -> bool:
    """Whether a folder holds what these options ask for. The ECN proxy's go on run by run."""
    if paper.id in SIMULATED or not output.is_result(folder):
        return False
    results = output.load(folder, output.RESULTS, RESULT)
    _, experiments = find(paper.id, options.quick, options.kernel, options.sim)
    asked = options.replicates or Sampling().replicates
    there = {document["id"] for document in results["experiments"]}
    whole = results.get("replicates") == asked and not results.get("brief")
    return whole and there == {e.id for e in experiments}


def _found(folder: Path, reasons: Mapping[str, str]) -> list[Found]:
    """The results in a folder of all papers, and for the others the reasons why not."""
    papers = []
    for paper in papers_of_all():
        inside = folder / paper.id
        if output.is_result(inside):
            results = output.load(inside, output.RESULTS, RESULT)
            plot = main_plot.read(inside, paper.id)
            papers.append(replace(ENTRIES[paper.id].found(results), plot=plot))
        else:
            papers.append(Found(paper, None, reasons.get(paper.id, "there is no result of it")))
    return papers


def _write_front_page(folder: Path, papers: Sequence[Found]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    output.write_atomically(folder / INDEX, render_front_page(papers, playground_near(folder)))


def _reproduce_into(options: argparse.Namespace, target: str, folder: Path) -> int:
    paper, experiments = find(target, options.quick, options.kernel, options.sim)
    if options.scheduler and not ENTRIES[paper.id].study:
        raise LabError("--scheduler is for coexistence")
    windlass = Windlass(find_windlass(options.windlass))
    windlass.require_name()
    request = Request(
        target=target,
        paper=paper,
        experiments=experiments,
        windlass=windlass,
        folder=folder,
        progress=_progress,
        experiments_folder=options.experiments,
        replicates=options.replicates,
        runs=options.runs,
        jobs=options.jobs,
        seed=options.seed,
        scale=options.scale,
        real=options.real,
        resume=options.resume,
        tests=tuple(options.tests),
        check=options.check,
        scheduler=options.scheduler,
        left_out=options.left_out,
    )
    with output.OutputDirectory(folder) as directory:
        results, series = ENTRIES[paper.id].reproduce(request)
        _keep(paper, results, series, directory)
    if options.target != EVERYTHING:
        print((folder / output.SUMMARY).read_text(encoding="utf-8"), end="")
        print(f"\nReport: {folder / output.REPORT}")
    return _status(results)


def _keep(paper: Paper, results: dict, series: dict, directory: output.OutputDirectory) -> None:
    # The result first: what follows can be made again from it.
    directory.write(output.RESULTS, _json(results))
    directory.write(output.SERIES, json.dumps(series, separators=(",", ":")) + "\n")
    directory.write_all(ENTRIES[paper.id].files(paper, results, series))


def _status(results: Mapping) -> int:
    return 1 if verdicts.counts(results).failed else 0


def _report(options: argparse.Namespace) -> int:
    papers = [p.id for p in papers_of_all() if output.is_result(options.folder / p.id)]
    if papers and not output.is_result(options.folder):
        for paper_id in papers:
            _rebuild(options.folder / paper_id)
        _write_front_page(options.folder, _found(options.folder, {}))
        print(options.folder / INDEX)
        return 0
    _rebuild(options.folder)
    print(options.folder / output.REPORT)
    return 0


def _rebuild(folder: Path) -> None:
    """Writes the page and the text of a stored result again."""
    results = output.load(folder, output.RESULTS, output.RESULT_KIND)
    series = output.load(folder, output.SERIES, output.SERIES_KIND)
    paper, _ = find(results["paper"], quick=False)
    output.write_all(folder, ENTRIES[paper.id].files(paper, results, series))


def _json(value: object) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False, default=str) + "\n"


def _progress(line: str) -> None:
    print(line, file=sys.stderr, flush=True)

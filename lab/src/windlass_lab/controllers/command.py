"""The command `windlass-lab controllers`."""

import argparse
import json
from collections.abc import Callable
from pathlib import Path

from windlass_lab.controllers.judge import read_verdicts, samples, summary, table
from windlass_lab.controllers.trace import CONTROLLERS, trace
from windlass_lab.core.binary.locate import find_windlass

EXAMPLES = """\
examples:
  windlass-lab controllers trace --seed 1 --paths 3 --out out/library
  windlass-lab controllers trace --seed 1 --paths 2 --far --out out/far
  windlass-lab controllers library out/library out/far > crates/probe/src/topic/cca/library.jsonl
  windlass-lab controllers trace --seed 2 --paths 20 --out out/held-out
  windlass-lab controllers judge out/held-out               # by the signatures of this version
  windlass-lab controllers judge out/held-out --library mine.jsonl --json

exit status:
  0    done
  2    wrong arguments, no binary, or not in the repository, which has the emulated machine
  3    the emulated machine or the binary failed
  130  interrupted; whole runs are kept, and --resume goes on with the others
"""


def add(commands: argparse._SubParsersAction, positive: Callable[[str], int]) -> None:
    """Adds the command to the lab's."""
    command = commands.add_parser(
        "controllers",
        help="trace the congestion controllers of a kernel, for `windlass probe --cca`",
        description="Traces the congestion controllers of Debian's kernel on paths that a seed "
        "draws, in an emulated machine with a clock of its own; makes the library of signatures of "
        "the traces, and judges other traces by it.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    steps = command.add_subparsers(title="steps", required=True, metavar="STEP")
    _add_trace(steps, positive)
    _add_library(steps)
    _add_judge(steps)


def _add_trace(steps: argparse._SubParsersAction, positive: Callable[[str], int]) -> None:
    step = steps.add_parser("trace", help="trace controllers on paths from a seed")
    option = step.add_argument
    option("--seed", type=int, default=1, metavar="N", help="which paths (default: 1)")
    option("--far", action="store_true", help="round-trip times of 158 to 295 ms, not 2 to 126")
    option("--paths", type=positive, default=3, metavar="N", help="how many (default: 3)")
    option(
        "--controllers",
        default=",".join(CONTROLLERS),
        metavar="NAMES",
        help=f"which controllers (default: {','.join(CONTROLLERS)})",
    )
    option("--kernel", default="6.1", metavar="VERSION", help="Debian's kernel (default: 6.1)")
    option(
        "--tcp-ecn",
        type=int,
        choices=range(6),
        default=2,
        help="the servers' net.ipv4.tcp_ecn; from 3 on AccECN, since Linux 6.19 (default: 2)",
    )
    option("--out", type=Path, required=True, metavar="DIR", help="a file for each run goes there")
    option("--resume", action="store_true", help="leave out the paths whose runs are in DIR")
    option("--windlass", type=Path, metavar="PATH", help="the binary")
    step.set_defaults(run=_trace)


def _add_library(steps: argparse._SubParsersAction) -> None:
    step = steps.add_parser("library", help="print the signatures of traces, one a line")
    step.add_argument("folders", type=Path, nargs="+", metavar="DIR", help="of `trace`")
    step.add_argument("--windlass", type=Path, metavar="PATH", help="the binary")
    step.set_defaults(run=_library)


def _add_judge(steps: argparse._SubParsersAction) -> None:
    step = steps.add_parser("judge", help="print what is known of traces by a library")
    option = step.add_argument
    option("folders", type=Path, nargs="+", metavar="DIR", help="of `trace`")
    option("--library", type=Path, metavar="FILE", help="instead of the binary's signatures")
    option("--json", action="store_true", help="print one JSON object")
    option("--windlass", type=Path, metavar="PATH", help="the binary")
    step.set_defaults(run=_judge)


def _trace(options: argparse.Namespace) -> int:
    trace(
        find_windlass(options.windlass),
        seed=options.seed,
        paths=options.paths,
        far=options.far,
        controllers=options.controllers.split(","),
        kernel=options.kernel,
        tcp_ecn=options.tcp_ecn,
        out=options.out,
        resume=options.resume,
    )
    return 0


def _library(options: argparse.Namespace) -> int:
    verdicts = read_verdicts(find_windlass(options.windlass), options.folders, None)
    for sample in samples(verdicts):
        print(json.dumps(sample))
    return 0


def _judge(options: argparse.Namespace) -> int:
    windlass = find_windlass(options.windlass)
    verdicts = read_verdicts(windlass, options.folders, options.library)
    found = summary(verdicts)
    print(json.dumps(found, indent=1) if options.json else table(found))
    return 0

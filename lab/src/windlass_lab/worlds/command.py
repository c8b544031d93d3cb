"""The command `windlass-lab run`."""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from windlass_lab.core.binary.locate import find_windlass
from windlass_lab.core.errors import LabError
from windlass_lab.testbed.topology import Experiment
from windlass_lab.worlds.names import KERNEL, SIM, WORLDS

PAGE = "worlds.html"
EXAMPLES = """\
examples:
  windlass-lab run my.toml                               # the simulator and this kernel
  windlass-lab run my.toml --on sim,kernel,tou --runs 3
  windlass-lab run my.toml --on kernel --set 'duration="5s"' --out out/mine

exit status:
  0    done, however far the worlds are apart
  2    wrong arguments, a fault in FILE or a key that a world cannot follow, no root
  3    something in a world failed
  130  interrupted (143: terminated); nothing of a testbed is left
"""

Number = Callable[[str], int]


def add(commands: argparse._SubParsersAction, positive: Number) -> None:
    """Adds the command to the lab's."""
    command = commands.add_parser(
        "run",
        help="run a scenario in the simulator, on this kernel, and over ToU",
        description="Runs a scenario in several worlds, and writes one page with all of them: the "
        "simulator; this kernel's TCP in network namespaces, joined by `windlass link`; and TCP "
        "over UDP in the same namespaces. All but the simulator need root.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    option = command.add_argument
    option("file", type=Path, metavar="FILE", help="the scenario (docs/reference/scenarios.md)")
    option(
        "--on",
        type=_worlds,
        default=(SIM, KERNEL),
        metavar="WORLD,...",
        help="sim, kernel, tou (default: sim,kernel)",
    )
    option(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="replace a key of the scenario, as for `windlass sim run`",
    )
    option(
        "--runs",
        type=positive,
        default=1,
        metavar="N",
        help="runs in each world (1), of which the figures are means; each has a seed of its own",
    )
    option("--out", type=Path, metavar="DIR", help="output directory (out/worlds-NAME)")
    option("--windlass", type=Path, metavar="PATH", help="the binary")
    command.set_defaults(run=_run)


def _worlds(argument: str) -> Sequence[str]:
    names = [name.strip() for name in argument.split(",") if name.strip()]
    unknown = [name for name in names if name not in WORLDS]
    if unknown or not names:
        raise argparse.ArgumentTypeError(f"expected some of {', '.join(WORLDS)}")
    return [world for world in WORLDS if world in names]


def _run(options: argparse.Namespace) -> int:
    # Loaded here: polars takes longer to load than most commands take to run.
    from windlass_lab.core.files.output import write_atomically
    from windlass_lab.worlds import page, report
    from windlass_lab.worlds.run import Request, run

    out = options.out or Path("out") / f"worlds-{options.file.stem}"
    windlass = find_windlass(options.windlass) if set(options.on) != {SIM} else None
    request = Request(options.file, options.on, out, _say, options.set, options.runs, windlass)
    outline, worlds = run(request)
    try:
        write_atomically(out / PAGE, page.render(outline, worlds))
    except OSError as error:
        raise LabError(f"cannot write to {out}: {error.strerror}") from error
    print(report.as_text(outline, worlds))
    print(f"\nPage: {out / PAGE}")
    return 0


def experiment(file: Path, time_s: float | None, say: Callable[[str], None]) -> Experiment:
    """The experiment in a file of either format; see `worlds.experiment.read`."""
    # Loaded here, as in `_run`.
    from windlass_lab.worlds.experiment import read

    return read(file, time_s, say)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)

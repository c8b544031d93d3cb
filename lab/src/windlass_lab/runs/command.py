"""The command `windlass-lab plot`."""

import argparse
from pathlib import Path

from windlass_lab.core.text.numbers import labels

EXAMPLES = """\
examples:
  windlass sim run experiments/examples/cross_traffic.toml --out out/run
  windlass-lab plot out/run                          # out/run/plot.html
  windlass-lab plot out/reno out/cubic --to both.html
  windlass-lab plot out/run --what rate,delay --to run.svg
  windlass-lab plot out/run --what                   # lists what there is

exit status:
  0    done
  2    wrong arguments, no output of a run in OUT, or nothing of it to plot
  130  interrupted
"""


def add(commands: argparse._SubParsersAction) -> None:
    """Adds the command to the lab's."""
    command = commands.add_parser(
        "plot",
        help="plot one run, or several side by side, from their --out directories",
        description="Plots the time series of runs: of `windlass sim run --out`, and of "
        "`windlass-lab testbed run --out`. Writes one page that needs nothing else, or a picture.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    option = command.add_argument
    option("folders", type=Path, nargs="+", metavar="OUT", help="the --out directory of a run")
    option(
        "--what",
        nargs="?",
        const="",
        default="cwnd,queue",
        metavar="NAME,...",
        help="cwnd, ssthresh, srtt, slope, acked, rate, queue, average_queue, delay "
        "(default: cwnd,queue); without a name, lists those that the runs have kept",
    )
    option(
        "--to",
        type=Path,
        metavar="FILE",
        help="a page (.html) or a picture (.svg, .png, .pdf) "
        "(default: OUT/plot.html, of several runs plot.html)",
    )
    command.set_defaults(run=_plot)


def _plot(options: argparse.Namespace) -> int:
    # Loaded here: polars takes longer to load than most commands take to run.
    from windlass_lab.runs.figure import compare
    from windlass_lab.runs.panels import kept
    from windlass_lab.runs.stored import read

    folders = options.folders
    runs = [(label, read(folder)) for label, folder in zip(labels(folders), folders, strict=True)]
    what = [name.strip() for name in options.what.split(",") if name.strip()]
    if not what:
        print("\n".join(f"{name:14} {title} ({unit})" for name, title, unit in kept(runs)))
        return 0
    default = folders[0] / "plot.html" if len(folders) == 1 else Path("plot.html")
    print(compare(runs, what).save(options.to or default))
    return 0

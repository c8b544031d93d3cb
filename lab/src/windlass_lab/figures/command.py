"""The command `windlass-lab plot`."""

import argparse
import json
from collections.abc import Iterable
from pathlib import Path

from windlass_lab.core.errors import LabError
from windlass_lab.core.plots.saved_figure import SavedFigure
from windlass_lab.core.text.numbers import labels

EXAMPLES = """\
examples:
  windlass sim run experiments/examples/cross_traffic.toml --out out/run
  windlass-lab plot out/run                          # out/run/plot.html
  windlass-lab plot out/reno out/cubic --to both.html
  windlass-lab plot out/run --what rate,delay --to run.svg
  windlass-lab plot out/run --what                   # lists what there is
  windlass-lab sweep study.toml
  windlass-lab plot out/study --x rate --y fairness --by controller
  windlass-lab plot out/study --x rate --by delay --y fairness --kind heat --to map.svg

exit status:
  0    done
  2    wrong arguments, no output of a run or a sweep in OUT, or nothing of it to plot
  130  interrupted
"""
# The options of one kind of output, by their names in the program: refused with the other kind.
_OF_RUNS = {"what": "--what"}
_OF_STUDIES = {"x": "--x", "y": "--y", "by": "--by", "over": "--over", "kind": "--kind"}
_WHAT = "cwnd,queue"


def add(commands: argparse._SubParsersAction) -> None:
    """Adds the command to the lab's."""
    command = commands.add_parser(
        "plot",
        help="plot one run, or several side by side, or a sweep, from their --out directories",
        description="Plots the time series of runs: of `windlass sim run --out`, and of "
        "`windlass-lab testbed run --out`; or the figures of the runs of `windlass-lab sweep`. "
        "Writes one page that needs nothing else, or a picture.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    option = command.add_argument
    option(
        "folders",
        type=Path,
        nargs="+",
        metavar="OUT",
        help="the --out directory of a run, or of a sweep",
    )
    option(
        "--what",
        nargs="?",
        const="",
        metavar="NAME,...",
        help="cwnd, ssthresh, srtt, slope, acked, rate, queue, average_queue, delay, "
        "completion (distribution of transfers' times), fairness "
        "(default: cwnd,queue); without a name, lists those that the runs have kept",
    )
    option(
        "--to",
        type=Path,
        metavar="FILE",
        help="a page (.html) or a picture (.svg, .png, .pdf) "
        "(default: OUT/plot.html, of several runs plot.html)",
    )
    option("--json", action="store_true", help="print what is drawn as one JSON object")
    _add_of_studies(command)
    command.set_defaults(run=_plot)


def _add_of_studies(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group(
        "of a sweep",
        "A name is a column of the table, the end of one, or words in one: rate, fairness.",
    )
    option = group.add_argument
    option("--x", metavar="NAME", help="the axis of the study across (default: the first)")
    option(
        "--y",
        metavar="NAME,...",
        help="figures of the summary (default: the fairness index, else the total rate)",
    )
    option("--by", metavar="NAME,...", help="a curve or box for each value of these axes")
    option("--over", metavar="NAME,...", help="means over these axes, as over the seeds")
    option(
        "--kind",
        metavar="KIND",
        help="lines (default), box (default where x is a text) or heat (--by upwards)",
    )


def _plot(options: argparse.Namespace) -> int:
    # Loaded here: polars takes longer to load than most commands take to run.
    from windlass_lab.sweeps.results import holds_study

    studies = [folder for folder in options.folders if holds_study(folder)]
    if studies and len(options.folders) > 1:
        raise LabError(f"{studies[0]}: holds a sweep, which is plotted by itself")
    wrong = _OF_RUNS if studies else _OF_STUDIES
    for name, text in wrong.items():
        if getattr(options, name) is not None:
            whose = "runs, and this is a sweep" if studies else "a sweep, and this is none"
            raise LabError(f"{text} is for {whose}: {options.folders[0]}")
    if options.what == "":
        return _list_kept(options.folders, options.json)
    figure, drawn = _of_study(options) if studies else _of_runs(options)
    folders = options.folders
    default = folders[0] / "plot.html" if len(folders) == 1 else Path("plot.html")
    path = figure.save(options.to or default)
    if options.json:
        print(json.dumps({"schema": 1, "kind": "lab.plot", "file": str(path), **drawn}))
    else:
        print(path)
    return 0


def _of_study(options: argparse.Namespace) -> tuple[SavedFigure, dict]:
    from windlass_lab.sweeps.results import read_study

    figure = read_study(options.folders[0]).plot(
        options.x,
        _names("--y", options.y),
        by=_names("--by", options.by),
        over=_names("--over", options.over) or (),
        kind=options.kind,
    )
    axes = {"x": figure.x.key, "by": [axis.key for axis in figure.by]}
    return figure, axes | {"over": figure.means_over, "points": figure.points()}


def _of_runs(options: argparse.Namespace) -> tuple[SavedFigure, dict]:
    from windlass_lab.runs.figure import compare
    from windlass_lab.runs.stored import read

    what = _names("--what", options.what or _WHAT)
    figure = compare(
        [(label, read(folder)) for label, folder in _labelled(options.folders)], what or ()
    )
    return figure, {"curves": figure.curves()}


def _list_kept(folders: list[Path], as_json: bool) -> int:
    from windlass_lab.runs.panels import kept
    from windlass_lab.runs.stored import read

    runs = [(label, read(folder)) for label, folder in _labelled(folders)]
    found = kept(runs)
    if as_json:
        series = [{"name": name, "title": title, "unit": unit} for name, title, unit in found]
        print(json.dumps({"schema": 1, "kind": "lab.plot.what", "series": series}))
    else:
        print("\n".join(f"{name:14} {title} ({unit})" for name, title, unit in found))
    return 0


def _labelled(folders: list[Path]) -> Iterable[tuple[str, Path]]:
    return zip(labels(folders), folders, strict=True)


def _names(option: str, text: str | None) -> list[str] | None:
    """The names of a list with commas."""
    if text is None:
        return None
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise LabError(f"{option}: expected a name")
    return names

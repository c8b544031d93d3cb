"""The command `windlass-lab sweep`."""

import argparse
import json
from collections.abc import Callable
from pathlib import Path

EXAMPLES = """\
examples:
  windlass-lab sweep study.toml                      # out/study/rows.parquet
  windlass-lab sweep study.toml --out out/a --jobs 4
  windlass-lab sweep study.toml --resume             # go on after an interruption
  windlass-lab sweep study.toml --json               # the table as JSON
  windlass-lab sweep study.toml --scheduler tcp://host:8786

a study (docs/reference/studies.md):
  schema = 1
  scenario = "four_flows.toml"
  seeds = 20
  [axes]
  "flows.0.controller" = ["reno", "cubic", "new-ecn"]
  "dumbbell.bottleneck.delay" = { from = 1, to = 100, count = 5, scale = "log", unit = "ms" }

exit status:
  0    done
  2    wrong arguments, a fault in the study or its scenario, rows of another study in DIR, or DIR
       cannot be written
  130  interrupted; the rows so far are kept (143: terminated)
"""


def add(commands: argparse._SubParsersAction, positive: Callable[[str], int]) -> None:
    """Adds the command to the lab's."""
    command = commands.add_parser(
        "sweep",
        help="run a scenario with many values of some of its keys",
        description="Runs all combinations of a study's values, and writes a table: a row per run.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    option = command.add_argument
    option("study", type=Path, metavar="STUDY", help="the study file")
    option("--out", type=Path, metavar="DIR", help="output directory (default: out/NAME)")
    option("--jobs", type=positive, metavar="N", help="runs at the same time (default: the cores)")
    option("--scheduler", metavar="ADDRESS", help="run on the workers of this Dask scheduler")
    option("--resume", action="store_true", help="do not run again what DIR holds")
    option("--json", action="store_true", help="print the table as one JSON object")
    command.set_defaults(run=_sweep)


def _sweep(options: argparse.Namespace) -> int:
    # Loaded here: polars takes longer to load than most commands take to run.
    from windlass_lab.sweeps.report import Report
    from windlass_lab.sweeps.results import RESULT
    from windlass_lab.sweeps.sweep import sweep

    out = options.out or Path("out") / options.study.stem
    plan = sweep(
        options.study,
        out=out,
        jobs=options.jobs,
        resume=options.resume,
        scheduler=options.scheduler,
    )
    try:
        frame = plan.collect(Report("runs"))
    except KeyboardInterrupt:
        raise KeyboardInterrupt(_interrupted(options, out)) from None
    if options.json:
        body = {"file": str(out / RESULT), "axes": list(plan.study.axes), "rows": frame.to_dicts()}
        print(json.dumps({"schema": 1, "kind": "lab.sweep", **body}))
    else:
        print(out / RESULT)
    return 0


def _interrupted(options: argparse.Namespace, out: Path) -> str:
    """How to go on."""
    from windlass_lab.sweeps.results import ROWS

    if not (out / ROWS).exists():
        return "interrupted before the first run ended"
    given = f" --out {options.out}" if options.out else ""
    return (
        f"interrupted; the runs that have ended are in {out / ROWS}\n"
        f"  hint: go on with `windlass-lab sweep {options.study}{given} --resume`"
    )

"""The command `windlass-lab search`."""

import argparse
from collections.abc import Callable
from pathlib import Path

EXAMPLES = """\
examples:
  windlass-lab search study.toml                 # out/study/trials.parquet and search.html
  windlass-lab search study.toml --out out/a --jobs 4
  windlass-lab search study.toml --json          # the best trials as JSON

a study (docs/reference/studies.md):
  schema = 1
  scenario = "four_flows.toml"
  seeds = 3
  [axes]
  "queues.marking.min" = { from = 2, to = 40, whole = true, unit = " packets" }
  "queues.marking.p_max" = { from = 0.01, to = 0.5, scale = "log" }
  [search]
  trials = 200
  sampler = "nsga2"
  [search.objectives]
  "fairness_index.steady" = "max"
  "mean_queue_packets.steady" = "min"

exit status:
  0    done
  2    wrong arguments, a fault in the study or its scenario, or DIR cannot be written
  130  interrupted; nothing is written (143: terminated)
"""


def add(commands: argparse._SubParsersAction, positive: Callable[[str], int]) -> None:
    """Adds the command to the lab's."""
    command = commands.add_parser(
        "search",
        help="look for the values of a scenario's keys that meet several objectives best",
        description="Lets optuna propose values, runs them, and shows the trials that no other one "
        "betters in every objective: the Pareto front.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    option = command.add_argument
    option("study", type=Path, metavar="STUDY", help="the study file")
    option("--out", type=Path, metavar="DIR", help="output directory (default: out/NAME)")
    option("--jobs", type=positive, metavar="N", help="runs at the same time (default: the cores)")
    option("--json", action="store_true", help="print the best trials as one JSON object")
    command.set_defaults(run=_search)


def _search(options: argparse.Namespace) -> int:
    # Loaded here: polars and optuna take longer to load than most commands take to run.
    from windlass_lab.searches.search import TRIALS, as_json, search
    from windlass_lab.sweeps.report import Report

    out = options.out or Path("out") / options.study.stem
    result = search(options.study, out=out, jobs=options.jobs).collect(Report("trials"))
    page = result.plot().save(out / "search.html")
    print(as_json(result) if options.json else f"{page}\n{out / TRIALS}")
    return 0

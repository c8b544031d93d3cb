"""The command `windlass-lab compare`."""

import argparse
import json
from pathlib import Path

from windlass_lab.core.errors import LabError
from windlass_lab.core.text.numbers import labels

EXAMPLES = """\
examples:
  windlass sim run my.toml --out out/sim
  windlass-lab testbed run my-testbed.toml --out out/kernel
  windlass-lab compare out/sim out/kernel            # a table, and compare.html
  windlass-lab compare out/sim out/kernel --what cwnd,queue --to both.svg

exit status:
  0    done
  2    wrong arguments, or no output of a run in A or B
  130  interrupted
"""


def add(commands: argparse._SubParsersAction) -> None:
    """Adds the command to the lab's."""
    command = commands.add_parser(
        "compare",
        help="show two runs beside each other, such as the simulator's and a kernel's",
        description="Prints the figures of two runs in pairs of flows, with the ratio of the "
        "second to the first, and plots the curves of each pair in the same axes. Flows of the "
        "same name are a pair; where no name is shared, flows of the same place.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    option = command.add_argument
    for name in ("A", "B"):
        option(name, type=Path, help="the --out directory of a run")
    option(
        "--what",
        default="cwnd,srtt,queue",
        metavar="NAME,...",
        help="what is plotted, as in plot (default: cwnd,srtt,queue)",
    )
    option(
        "--to",
        type=Path,
        default=Path("compare.html"),
        metavar="FILE",
        help="a page (.html) or a picture (.svg, .png, .pdf) (default: compare.html)",
    )
    option("--json", action="store_true", help="print the figures as one JSON object")
    command.set_defaults(run=_compare)


def _compare(options: argparse.Namespace) -> int:
    # Loaded here: polars takes longer to load than most commands take to run.
    from windlass_lab.runs.beside import Comparison
    from windlass_lab.runs.stored import read

    what = [name.strip() for name in options.what.split(",") if name.strip()]
    if not what:
        raise LabError("--what: expected a name, such as cwnd")
    folders = [options.A, options.B]
    found = zip(labels(folders), folders, strict=True)
    comparison = Comparison([(label, read(folder)) for label, folder in found])
    path = comparison.plot(what).save(options.to)
    if options.json:
        body = {"file": str(path), **comparison.document()}
        print(json.dumps({"schema": 1, "kind": "lab.compare", **body}))
    else:
        print(f"{comparison.text()}\n\n{path}")
    return 0

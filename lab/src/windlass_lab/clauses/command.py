"""The command `windlass-lab judge`."""

import argparse
import importlib.util
import json
from dataclasses import asdict
from pathlib import Path

from windlass_lab.clauses.controller import Controller
from windlass_lab.clauses.judge import judge, table
from windlass_lab.core.errors import LabError

EXAMPLES = """\
examples:
  windlass-lab judge mine.py:Mine --as reno
  windlass-lab judge mine.py:Mine --suite rfc9438 --json

exit status:
  0    every case passed, or cannot be observed
  1    a case failed
  2    wrong arguments, or no such controller
"""


def add(commands: argparse._SubParsersAction) -> None:
    """Adds the command to the lab's."""
    command = commands.add_parser(
        "judge",
        help="judge a congestion controller in Python by the clauses of RFCs and drafts",
        description="Judges a congestion controller in Python by the clauses of RFCs and drafts, "
        "as `windlass judge` judges one in Rust: a subclass of windlass_lab.Controller.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    option = command.add_argument
    option("controller", metavar="FILE:CLASS", help="the file and the class of the controller")
    option(
        "--as",
        dest="concerns",
        metavar="NAME",
        help="the controller whose clauses hold for this one, such as reno or cubic "
        "(default: only those of every TCP sender)",
    )
    option(
        "--suite",
        dest="suites",
        action="append",
        default=[],
        metavar="NAME",
        help="judge all cases of this suite; may be repeated (default: all that concern it)",
    )
    option("--json", action="store_true", help="print the verdicts as JSON")
    command.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    verdicts = judge(_load(options.controller), suites=options.suites, concerns=options.concerns)
    if options.json:
        print(json.dumps([asdict(verdict) for verdict in verdicts], indent=1))
    else:
        print(table(verdicts))
    return int(any(verdict.outcome == "failed" for verdict in verdicts))


def _load(place: str) -> type[Controller]:
    file, _, name = place.rpartition(":")
    path = Path(file)
    if not name or not path.is_file():
        raise LabError(f"{place}: expected FILE:CLASS, such as mine.py:Mine")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise LabError(f"{path}: expected a file of Python")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = getattr(module, name, None)
    if not isinstance(found, type) or not issubclass(found, Controller):
        raise LabError(f"{path}: expected a class {name}, a subclass of windlass_lab.Controller")
    return found

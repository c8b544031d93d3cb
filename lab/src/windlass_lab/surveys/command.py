"""The command `windlass-lab survey`."""

import argparse
import json
from pathlib import Path

from windlass_lab.core.files import output
from windlass_lab.core.text.numbers import labels
from windlass_lab.surveys.document import KIND, document
from windlass_lab.surveys.groups import Networks, read_pairs
from windlass_lab.surveys.page import files, text
from windlass_lab.surveys.stored import read

EXAMPLES = """\
examples:
  windlass probe survey hosts.txt --out survey/ --contact me@example.org
  windlass-lab survey survey/                        # out/survey/report.html
  windlass-lab survey spring/ autumn/ --out out/both # what changed
  windlass-lab survey ipv4/ ipv6/                    # surveys with -4 and -6 of the same names
  windlass-lab survey survey/ --same pairs.csv       # a list with both addresses of a server
  windlass-lab survey survey/ --networks names.csv --json

pairs.csv has two hosts of the lists in each line, which are one server:
  http://192.0.2.1/,http://[2001:db8::1]/
names.csv has a network and its name in each line; the smallest network that fits counts:
  192.0.2.0/24,Example

exit status:
  0    done
  2    wrong arguments, no survey in DIR, or rows that are not a survey's
  130  interrupted
"""


def add(commands: argparse._SubParsersAction) -> None:
    """Adds the command to the lab's."""
    command = commands.add_parser(
        "survey",
        help="show surveys of `windlass probe survey` on a page, and compare them",
        description="Makes a page of surveys: the histograms of Normann 2011, reactions and "
        "initial windows, tables by Server header, initial TTL and network, IPv4 beside IPv6. Each "
        "further survey is compared with the first. A survey that runs or was interrupted is shown "
        "as far as it got.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    option = command.add_argument
    option("folders", type=Path, nargs="+", metavar="DIR", help="the --out directory of a survey")
    option(
        "--out",
        type=Path,
        default=Path("out/survey"),
        metavar="DIR",
        help="directory of the page (default: out/survey)",
    )
    option("--networks", type=Path, metavar="FILE", help="CSV: a network (CIDR), its name")
    option("--same", type=Path, metavar="FILE", help="CSV: two hosts that are one server")
    option("--json", action="store_true", help="print the result as JSON, for scripts")
    command.set_defaults(run=_survey)


def _survey(options: argparse.Namespace) -> int:
    folders = options.folders
    surveys = [read(folder, label) for folder, label in zip(folders, labels(folders), strict=True)]
    networks = Networks.read(options.networks) if options.networks else Networks()
    pairs = read_pairs(options.same, "two hosts of a list") if options.same else []
    found = document(surveys, networks, [hosts for _, hosts in pairs])
    in_json = json.dumps(found, indent=1, ensure_ascii=False) + "\n"
    with output.OutputDirectory(options.out, KIND) as directory:
        directory.write(output.RESULTS, in_json)
        directory.write_all(files(found))
    if options.json:
        print(in_json, end="")
    else:
        print(f"{text(found)}\nReport: {options.out / output.REPORT}")
    return 0

"""The command `windlass-lab kernels`."""

import argparse
from pathlib import Path

from windlass_lab.controllers.trace import CONTROLLERS
from windlass_lab.core.binary.locate import find_windlass
from windlass_lab.kernels.table import by_controller, by_setting, read
from windlass_lab.kernels.trace import trace

EXAMPLES = """\
examples:
  windlass-lab kernels trace --kernel 6.1 --out out/6.1     # ten minutes of one core
  windlass-lab kernels trace --kernel 7.3 --controllers reno,cubic --out out/7.3
  windlass-lab kernels table out/6.1 out/7.3

exit status:
  0    done
  2    wrong arguments, no binary, or not in the repository, which has the emulated machine
  3    the emulated machine or the binary failed
  130  interrupted
"""
# New-ECN is Windlass's own, and no part of a kernel.
_OF_KERNELS = tuple(name for name in CONTROLLERS if name != "new-ecn")


def add(commands: argparse._SubParsersAction) -> None:
    """Adds the command to the lab's."""
    command = commands.add_parser(
        "kernels",
        help="probe Debian's kernels: each controller and each setting under split ACKs",
        description="Probes the TCP of one of Debian's kernels in an emulated machine: with each "
        "of its congestion controllers, and with each setting net.ipv4.tcp_* at other values.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    steps = command.add_subparsers(title="steps", required=True, metavar="STEP")
    step = steps.add_parser("trace", help="probe one kernel")
    option = step.add_argument
    option("--kernel", default="6.1", metavar="VERSION", help="Debian's kernel (default: 6.1)")
    option(
        "--controllers",
        default=",".join(_OF_KERNELS),
        metavar="NAMES",
        help=f"which controllers (default: {','.join(_OF_KERNELS)})",
    )
    option("--out", type=Path, required=True, metavar="DIR", help="what was found goes there")
    option("--windlass", type=Path, metavar="PATH", help="the binary")
    step.set_defaults(run=_trace)
    step = steps.add_parser("table", help="print what kernels did, as Markdown")
    step.add_argument("folders", type=Path, nargs="+", metavar="DIR", help="of `trace`")
    step.set_defaults(run=_table)


def _trace(options: argparse.Namespace) -> int:
    names = options.controllers.split(",")
    trace(find_windlass(options.windlass), names, kernel=options.kernel, out=options.out)
    return 0


def _table(options: argparse.Namespace) -> int:
    runs = read(options.folders)
    print(f"{by_controller(runs)}\n\n{by_setting(runs)}")
    return 0

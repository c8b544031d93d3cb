"""The requirements of tests on real kernels."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from windlass_lab.core.errors import LabError
from windlass_lab.core.pipeline.request import Progress
from windlass_lab.papers.ecn_proxy import iperf, topology
from windlass_lab.testbed import check

Wanted = tuple[topology.OnKernels, int]


def possible_on_kernels(
    windlass: Path, wanted: Sequence[Wanted], progress: Progress
) -> Sequence[Wanted]:
    """The tests that can run here. Where the binary has no proxy, tests with one are left out, in a
    line that says so. Raises `LabError` where this machine lacks something.
    """
    if any(test.has_proxy for test, _ in wanted) and not _has_proxy(windlass):
        progress("this windlass has no command `ecn-proxy run`: tests with a proxy are left out")
        wanted = [(test, number) for test, number in wanted if not test.has_proxy]
    if wanted:
        check.require(topology.experiment(wanted[0][0]))
        if not shutil.which(iperf.PROGRAM):
            raise LabError(f"testbed: iperf is missing (apt-get install {iperf.PACKAGE})")
    return wanted


def _has_proxy(windlass: Path) -> bool:
    command = [str(windlass), "ecn-proxy", "run", "--help"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0

"""The tests on real kernels: several testbeds side by side, each a process of its own."""

import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from windlass_lab.core.errors import LabError
from windlass_lab.core.pipeline import child
from windlass_lab.papers.ecn_proxy import iperf, topology
from windlass_lab.papers.ecn_proxy.runs import Run, Store
from windlass_lab.testbed import check

_POLL_S = 0.1

Progress = Callable[[str], None]
Wanted = tuple[topology.OnKernels, int]


def measure(
    windlass: Path,
    wanted: Sequence[Wanted],
    scale: float,
    jobs: int,
    store: Store,
    progress: Progress,
) -> None:
    """Runs each test as often as is wanted. Where the binary has no proxy, tests with one are left
    out, in a line that says so.
    """
    if any(test.has_proxy for test, _ in wanted) and not _has_proxy(windlass):
        progress("this windlass has no command `ecn-proxy run`: tests with a proxy are left out")
        wanted = [(test, number) for test, number in wanted if not test.has_proxy]
    if not wanted:
        return
    check.require(topology.experiment(wanted[0][0]))
    if not shutil.which(iperf.PROGRAM):
        raise LabError(f"testbed: iperf is missing (apt-get install {iperf.PACKAGE})")
    waiting, total = list(wanted), len(wanted)
    running: dict[Wanted, subprocess.Popen] = {}
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                each = waiting.pop(0)
                running[each] = _start(each[0], scale, windlass)
            time.sleep(_POLL_S)
            for each in [e for e, process in running.items() if process.poll() is not None]:
                run = _result(each[0], running.pop(each))
                store.add(*each, run)
                done = total - len(waiting) - len(running)
                progress(f"[{done}/{total}] {each[0].name}: {run.seconds:.1f} s")
    finally:
        for process in running.values():
            process.terminate()
        for process in running.values():
            process.wait()


def _has_proxy(windlass: Path) -> bool:
    command = [str(windlass), "ecn-proxy", "run", "--help"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def _start(test: topology.OnKernels, scale: float, windlass: Path) -> subprocess.Popen:
    order = {"test": asdict(test), "scale": scale, "windlass": str(windlass)}
    return child.start("windlass_lab.papers.ecn_proxy.transfer", order)


def _result(test: topology.OnKernels, process: subprocess.Popen) -> Run:
    return Run(**child.result(test.name, process))

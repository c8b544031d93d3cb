"""Runs the experiments of New-ECN, simulated and on this machine's kernel."""

from collections.abc import Sequence

from windlass_lab.core.binary.locate import find_testbeds
from windlass_lab.core.errors import LabError
from windlass_lab.core.experiments.model import Experiment
from windlass_lab.core.files import output
from windlass_lab.core.pipeline.reproduce import reproduce_request
from windlass_lab.core.pipeline.request import Request
from windlass_lab.papers.new_ecn.measure import Kernel, cases_of, missing_requirement

RUNS_ON_KERNEL = 10


def reproduce(request: Request) -> tuple[dict, dict]:
    """Runs the experiments; returns the documents for results.json and series.json.

    Where this machine cannot run testbeds, it leaves their experiments out and reports that.
    Raises `LabError` where it cannot start, `RunError` where a run fails.
    """
    request.refuse_real_scale_and_tests()
    kernel, experiments = _on_kernel(request)
    return reproduce_request(request, experiments, [kernel] if kernel else [])


def _on_kernel(request: Request) -> tuple[Kernel | None, Sequence[Experiment]]:
    """How to run on the kernel, where an experiment needs it, and the experiments that can run.

    Raises `LabError` where none of the experiments can run.
    """
    experiments = request.experiments
    if not any(e.kernels for e in experiments):
        return None, experiments
    kernel = Kernel(
        request.windlass.path,
        find_testbeds(),
        request.folder / output.RUNS,
        request.runs or RUNS_ON_KERNEL,
        request.jobs,
        request.resume,
    )
    missing = missing_requirement(kernel, cases_of(experiments))
    if not missing:
        return kernel, experiments
    rest = [e for e in experiments if not e.kernels]
    if not rest:
        raise LabError(f"{request.target}: {missing}")
    request.progress(f"without the experiments on a real kernel: {missing}")
    return None, rest

"""Runs the experiments on split ACKs: simulated, and with the probe against servers."""

from windlass_lab.core.errors import LabError
from windlass_lab.core.experiments.model import Experiment
from windlass_lab.core.pipeline.reproduce import reproduce_request
from windlass_lab.core.pipeline.request import Request
from windlass_lab.papers.split_ack.measure import Servers
from windlass_lab.papers.split_ack.requirements import missing_requirement

RUNS_OF_A_TEST = 10


def reproduce(request: Request) -> tuple[dict, dict]:
    """Runs the experiments; returns the documents for results.json and series.json.

    It leaves out servers that this machine cannot run, and reports why.
    Raises `LabError` where it cannot start, `RunError` where a run fails.
    """
    # No experiment of this paper runs on real kernels, and none is a test with a name and a scale.
    request.refuse_real_scale_and_tests()
    servers = Servers(request.windlass.path, request.runs or RUNS_OF_A_TEST)
    return reproduce_request(request, possible(request), [servers])


def possible(request: Request) -> list[Experiment]:
    """The experiments that can run here. One line per reason reports the others.

    Raises `LabError` where none of the experiments can run.
    """
    experiments = request.experiments
    reasons = {e.id: missing_requirement(e.servers) if e.servers else "" for e in experiments}
    rest = [e for e in experiments if not reasons[e.id]]
    without: dict[str, list[str]] = {}
    for id_, reason in reasons.items():
        without.setdefault(reason, []).append(id_)
    without.pop("", None)
    if without and not rest:
        raise LabError(f"{request.target}: {next(iter(without))}")
    for reason, ids in without.items():
        request.leave_out(ids, reason)
    return rest

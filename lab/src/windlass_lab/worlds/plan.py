"""A scenario as an experiment of the testbed."""

import dataclasses
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from random import Random

from windlass_lab.core.errors import LabError
from windlass_lab.testbed.topology import Experiment, Flow, Route, Topology
from windlass_lab.testbed.validate import validate
from windlass_lab.worlds import hosts, keys, tou
from windlass_lab.worlds.names import KERNEL, TOU
from windlass_lab.worlds.network import Network, network
from windlass_lab.worlds.outline import Flow as ScenarioFlow
from windlass_lab.worlds.outline import Outline

# A segment of the same size on the wire: UDP's and ToU's headers are 24 bytes, TCP's is 20.
_TOU_HEADERS_MORE = 4
_LINUX_INITIAL_WINDOW = 10


@dataclass(frozen=True, slots=True)
class Plan:
    """An experiment, the queue of its bottleneck (port and direction), and the keys of the scenario
    that hold in the simulator alone.
    """

    experiment: Experiment
    bottleneck: str
    notes: list[str]


def plan(
    outline: Outline, folder: Path, world: str, controllers: Collection[str], run: int = 0
) -> Plan:
    """The experiment of a scenario that is in `folder`, in the world `kernel` or `tou`, where there
    are these congestion controllers. Runs of other numbers draw other start times, where the
    scenario has jitter. Raises `LabError`, a line for each key that cannot be followed.
    """
    keys.require(outline, world, controllers)
    net = network(outline, folder, hosts.sysctls(outline) if world == KERNEL else {})
    draws = Random(f"{outline.seed} {run}")
    flows = [
        _flow(outline, flow, net, world, draws.uniform(0, outline.jitter_s))
        for flow in outline.flows
    ]
    topology = Topology(net.nodes, routes=_routes(outline, net) if world == KERNEL else [])
    experiment = Experiment(
        name=outline.name,
        topology=topology,
        flows=flows,
        programs=net.programs,
        duration_s=outline.duration_s,
        steady_from_s=outline.steady_from_s,
        tcp_probe=False,
    )
    try:
        validate(experiment)
    except ValueError as error:
        raise LabError(f"{outline.name}: {error}") from error
    return Plan(experiment, net.bottleneck, keys.notes(outline, world))


def _flow(outline: Outline, flow: ScenarioFlow, net: Network, world: str, late_s: float) -> Flow:
    planned = Flow(
        name=flow.name,
        source=flow.source,
        to=flow.to,
        controller=keys.controller(flow, world),
        address=net.addresses[flow.to],
        start_s=flow.start_s + late_s,
        stop_s=flow.stop_s,
        mss=flow.mss,
        rtt_min_ms=outline.rtt_min_ms(flow),
    )
    return planned if world == KERNEL else _over_tou(outline, flow, planned)


def _over_tou(outline: Outline, flow: ScenarioFlow, planned: Flow) -> Flow:
    settings = outline.settings(flow)
    return dataclasses.replace(
        planned,
        app=TOU,
        mss=flow.mss - _TOU_HEADERS_MORE,
        client_options=tou.sender_options(settings, flow.ecn),
        server_options=tou.receiver_options(settings),
    )


def _routes(outline: Outline, net: Network) -> list[Route]:
    """Routes for the initial windows that are not Linux's own."""
    wanted = {
        (flow.source, flow.to): flow.initial_window
        for flow in outline.flows
        if flow.initial_window != _LINUX_INITIAL_WINDOW
    }
    return [
        Route(source, f"{net.addresses[to]}/32", device=source, initial_window=window)
        for (source, to), window in wanted.items()
    ]

"""Runs a scenario in each of the worlds that are asked for."""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from windlass_lab.core.errors import LabError
from windlass_lab.runs import stored
from windlass_lab.runs.run import Run
from windlass_lab.testbed import check, controller
from windlass_lab.testbed import run as testbed
from windlass_lab.worlds import figures, outline, simulator, tou
from windlass_lab.worlds.figures import Figures
from windlass_lab.worlds.names import KERNEL, SIM, TOU
from windlass_lab.worlds.outline import Outline
from windlass_lab.worlds.plan import Plan, plan

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Request:
    """A scenario's file with its overrides, the worlds, and how often it runs in each. `windlass`
    is the binary, which the worlds but the simulator need.
    """

    file: Path
    worlds: Sequence[str]
    out: Path
    progress: Progress
    overrides: Sequence[str] = ()
    runs: int = 1
    windlass: Path | None = None


@dataclass(frozen=True, slots=True)
class World:
    """The runs of a world and the means of their figures. `queue` is the name of the series of the
    bottleneck, `notes` are the keys that hold in the simulator alone.
    """

    name: str
    runs: Sequence[Run]
    figures: Figures
    queue: str
    packet_bytes: Sequence[int]
    notes: Sequence[str] = field(default_factory=list)


def run(request: Request) -> tuple[Outline, list[World]]:
    """Runs a scenario, with the files of each run in `out/WORLD`, or `out/WORLD/run-N` if there are
    several. Raises `LabError` before anything has run for what a world cannot do.
    """
    scenario = outline.read(request.file, request.overrides)
    plans = {
        world: [_plan(request, scenario, world, number) for number in range(request.runs)]
        for world in request.worlds
        if world != SIM
    }
    for planned in plans.values():
        check.require_programs(planned[0].experiment)
    done = []
    for world in request.worlds:
        if world == SIM:
            done.append(_simulate(request, scenario))
        else:
            done.append(_emulate(request, scenario, world, plans[world]))
    return scenario, done


def _plan(request: Request, scenario: Outline, world: str, number: int) -> Plan:
    # New-ECN is loaded for the run, where a flow has it.
    there = {*check.controllers(), controller.NAME} if world == KERNEL else tou.CONTROLLERS
    return plan(scenario, request.file.parent, world, there, number)


def _folder(request: Request, world: str, number: int) -> Path:
    folder = request.out / world
    return folder if request.runs == 1 else folder / f"run-{number + 1}"


def _simulate(request: Request, scenario: Outline) -> World:
    runs = [
        simulator.run(
            request.file,
            request.overrides,
            scenario.seed + number,
            _folder(request, SIM, number),
        )
        for number in range(request.runs)
    ]
    return _world(scenario, SIM, runs, "queue-" + "-".join(scenario.bottleneck), [])


def _emulate(request: Request, scenario: Outline, world: str, plans: Sequence[Plan]) -> World:
    runs = []
    with _controllers(request, plans[0]):
        for number, planned in enumerate(plans):
            folder = _folder(request, world, number)
            request.progress(f"{world}: run {number + 1} of {len(plans)}")
            check.require(planned.experiment)
            testbed.run(planned.experiment, folder, request.progress, request.windlass)
            runs.append(stored.read(folder))
    queue = "queue-" + plans[0].bottleneck.replace("/", "-")
    return _world(scenario, world, runs, queue, plans[0].notes)


@contextlib.contextmanager
def _controllers(request: Request, planned: Plan) -> Iterator[None]:
    """New-ECN in the kernel as long as it is needed, where a flow has it."""
    flows = planned.experiment.flows
    if all(flow.app == TOU or flow.controller != controller.NAME for flow in flows):
        yield
        return
    if request.windlass is None:
        raise LabError("the binary `windlass` is needed: name it with --windlass")
    with controller.in_kernel(request.windlass, request.progress):
        yield


def _world(
    scenario: Outline, name: str, runs: Sequence[Run], queue: str, notes: Sequence[str]
) -> World:
    sizes = figures.packet_bytes_of(runs[0], scenario.flows)
    found = [figures.of_run(run, scenario, queue, sizes) for run in runs]
    return World(name, runs, figures.mean(found), queue, sizes, notes)


def by_name(worlds: Sequence[World]) -> Mapping[str, World]:
    """Worlds by their names."""
    return {world.name: world for world in worlds}

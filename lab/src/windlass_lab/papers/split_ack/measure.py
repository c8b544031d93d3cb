"""Runs the probe against servers, all at a time, and surveys of populations, one by one."""

import csv
import io
import json
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from windlass_lab.core.errors import RunError
from windlass_lab.core.experiments.model import Experiment
from windlass_lab.core.experiments.reference import Published
from windlass_lab.core.experiments.servers import Population, ServerCase
from windlass_lab.core.pipeline.reproduce import Gathered
from windlass_lab.core.pipeline.request import Progress
from windlass_lab.papers.split_ack import summary, topology
from windlass_lab.papers.split_ack.population import mixed
from windlass_lab.papers.split_ack.topology import CLIENT, Network, Place
from windlass_lab.testbed.bed import Testbed, wait_until
from windlass_lab.testbed.run import listens
from windlass_lab.testbed.topology import Node, Program, Topology, Tun

_TICK_S = 0.05
_REPORT_S = 10.0
# Decided, undecided, not measured: each prints what it found.
_PROBED = (0, 3, 4)
# `windlass probe population` gives its servers addresses in these networks.
_POPULATION_ADDRESSES = ("10.99.255.254/16", "fd99::ffff/64")
_POPULATION_DEVICE = "population"


@dataclass(slots=True)
class Servers:
    """How servers are measured: `runs` of each test. `commands` keeps what was run."""

    windlass: Path
    runs: int = 5
    commands: list[str] = field(default_factory=list)

    def probe(self, case: ServerCase, *arguments: str) -> list[str]:
        """A command of `windlass probe`, as it is run."""
        runs = min(case.most_runs or self.runs, self.runs)
        tests = ("--split", case.splits, "--force") if case.splits else ("--tests", case.tests)
        measuring = [
            *(*tests, "--runs", str(runs)),
            *("--timeout", f"{case.timeout_s:g}s", "--json"),
        ]
        # Paths are of this run alone.
        shown = [Path(word).name if word.startswith("/") else word for word in arguments]
        self.commands.append(" ".join(["windlass", "probe", *shown, *measuring]))
        return [str(self.windlass), "probe", *arguments, *measuring]

    def add_to(
        self, gathered: Gathered, experiments: Sequence[Experiment], progress: Progress
    ) -> None:
        """Probes the experiments' servers and adds what was found of them.

        Raises `RunError` where a program cannot be started or a probe fails.
        """
        cases = {case.name: case for e in experiments for case in e.servers}
        if not cases:
            return
        gathered.summaries |= gather(self, list(cases.values()), progress)
        gathered.published |= {name: Published(case.published) for name, case in cases.items()}
        gathered.commands += self.commands


def gather(servers: Servers, cases: Sequence[ServerCase], progress: Progress) -> dict[str, dict]:
    """The summary of each case, by name. Raises `RunError` where something cannot be started."""
    single = [case for case in cases if not isinstance(case.server, Population)]
    found = _probe_all(servers, single, progress) if single else {}
    for case in cases:
        if isinstance(case.server, Population):
            found[case.name] = _survey(servers, case, case.server, progress)
    return found


def _probe_all(
    servers: Servers, cases: Sequence[ServerCase], progress: Progress
) -> dict[str, dict]:
    with tempfile.TemporaryDirectory(prefix="windlass-lab-") as scratch:
        net = topology.build(cases, Path(scratch))
        with _standing(net, servers.windlass) as bed:
            _wait_for_all(bed, net)
            started = {place.case.name: _start(bed, servers, place) for place in net.places}
            progress(f"servers: {len(started)} are probed at a time")
            return dict(_finish(bed, name, started, progress) for name in list(started))


def _standing(net: Network, windlass: Path) -> Testbed:
    return Testbed(net.topology, net.programs, windlass=windlass)


def _wait_for_all(bed: Testbed, net: Network) -> None:
    for place in net.places:
        name = place.case.name
        wait_until(partial(_serves, bed, place), f"{name}: does not serve")


def _serves(bed: Testbed, place: Place) -> bool:
    bed.check_alive()
    name = place.case.name
    if place.ready_line:
        return place.ready_line in bed.log(name).read_text(encoding="utf-8")
    return listens(bed, bed.process(name), name, place.port)


def _start(bed: Testbed, servers: Servers, place: Place) -> subprocess.Popen:
    name = f"probe-{place.case.name}"
    command = servers.probe(place.case, place.url)
    with _output(bed, name).open("w") as out, bed.log(name).open("w") as log:
        return bed.start(name, CLIENT, command, stdout=out, stderr=log)


def _output(bed: Testbed, name: str) -> Path:
    return bed.log(name).with_suffix(".json")


def _finish(
    bed: Testbed, name: str, started: dict[str, subprocess.Popen], progress: Progress
) -> tuple[str, dict]:
    process = started.pop(name)
    while process.poll() is None:
        bed.check_alive()
        time.sleep(_TICK_S)
    outcome = _report_of(bed, f"probe-{name}", process)
    progress(f"servers: {name} is done, {len(started)} to go")
    return name, summary.of_server(outcome)


def _report_of(bed: Testbed, name: str, process: subprocess.Popen) -> dict:
    try:
        if process.returncode not in _PROBED:
            raise RunError(f"{name} ended with status {process.returncode}: {bed.complaint(name)}")
        return json.loads(_output(bed, name).read_text(encoding="utf-8"))
    except ValueError as error:
        raise RunError(f"{name}: its output is not JSON: {error}") from error


def _survey(servers: Servers, case: ServerCase, population: Population, progress: Progress) -> dict:
    """One testbed with all servers of a population behind one device."""
    with tempfile.TemporaryDirectory(prefix="windlass-lab-") as scratch:
        folder = Path(scratch)
        file, hosts, out = (folder / name for name in ("servers.csv", "hosts.txt", "survey"))
        file.write_text(_mixed(servers, population), encoding="utf-8")
        hosts.write_text(_population(servers, population, "--hosts"), encoding="utf-8")
        serve = ["{windlass}", "probe", "serve", "--tun", _POPULATION_DEVICE]
        net = Network(
            Topology([Node(CLIENT)], tuns=[Tun(CLIENT, _POPULATION_DEVICE, _POPULATION_ADDRESSES)]),
            [Program(case.name, [*serve, "--population", str(file)], CLIENT)],
            [Place(case, "", ready_line="serving")],
        )
        with _standing(net, servers.windlass) as bed:
            _wait_for_all(bed, net)
            begin = time.monotonic()
            arguments = ["survey", str(hosts), "--out", str(out), "--rate", str(population.rate)]
            command = servers.probe(case, *arguments)
            name = f"survey-{case.name}"
            with _output(bed, name).open("w") as stdout, bed.log(name).open("w") as log:
                process = bed.start(name, CLIENT, command, stdout=stdout, stderr=log)
            memory_mib = _watch(
                bed,
                process,
                out / "hosts.csv",
                f"{population.count} servers of {case.name}",
                progress,
            )
            if process.returncode != 0:
                raise RunError(f"{name} ended with {process.returncode}: {bed.complaint(name)}")
            elapsed_s = round(time.monotonic() - begin, 1)
            measured = {"elapsed_s": elapsed_s, "memory_mib": memory_mib}
        tables = [_rows(path) for path in (file, out / "hosts.csv", out / "runs.csv")]
        return measured | summary.of_population(*tables)


def _mixed(servers: Servers, population: Population) -> str:
    """The file of a population with the stacks and initial windows of the thesis's sites."""
    rows = list(csv.DictReader(io.StringIO(_population(servers, population))))
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(mixed(rows, population.seed))
    return out.getvalue()


def _population(servers: Servers, population: Population, *arguments: str) -> str:
    command = [
        *("probe", "population", str(population.count), "--seed", str(population.seed)),
        *("--rtt-max", f"{population.rtt_max_ms}ms", *arguments),
    ]
    servers.commands.append(" ".join(["windlass", *command]))
    printed = subprocess.run(
        [str(servers.windlass), *command], capture_output=True, text=True, check=False
    )
    if printed.returncode != 0:
        raise RunError(f"windlass {' '.join(command)}: {printed.stderr.strip()}")
    return printed.stdout


def _watch(
    bed: Testbed, process: subprocess.Popen, hosts: Path, of: str, progress: Progress
) -> float:
    """Waits for a survey's end; the most memory that it had, in MiB."""
    most_kib, reported_s = 0, time.monotonic()
    while process.poll() is None:
        bed.check_alive()
        most_kib = max(most_kib, _resident_kib(process.pid))
        if time.monotonic() - reported_s > _REPORT_S:
            reported_s = time.monotonic()
            done = max(0, hosts.read_bytes().count(b"\n") - 1) if hosts.exists() else 0
            progress(f"servers: {done} of {of} are done")
        time.sleep(_TICK_S)
    return round(most_kib / 1024, 1)


def _resident_kib(pid: int) -> int:
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
        line = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1])
    except (OSError, StopIteration):
        return 0


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))

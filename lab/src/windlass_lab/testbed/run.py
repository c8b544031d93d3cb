"""Runs an experiment once: builds, starts, samples, removes, writes."""

import dataclasses
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from windlass_lab.core.errors import LabError, RunError
from windlass_lab.core.files.output import write_atomically
from windlass_lab.testbed import check, flows, link_log, results, sample, tou, trace
from windlass_lab.testbed.bed import Testbed, wait_until
from windlass_lab.testbed.flows import Plan
from windlass_lab.testbed.sample import Sample
from windlass_lab.testbed.topology import Experiment

SUMMARY = "summary.json"
_LISTEN = "0A"
_TICK_S = 0.02
_WARM_S = 0.05
_SAMPLER_S = 60.0

Progress = Callable[[str], None]


@dataclass(slots=True)
class _Client:
    """A flow's client: not started yet, running, or stopped by the lab."""

    plan: Plan
    process: subprocess.Popen | None = None
    stopped: bool = False


def run(
    experiment: Experiment,
    out: Path,
    progress: Progress,
    windlass: Path | None = None,
    digest: str = "",
) -> dict:
    """Runs an experiment, writes its files to `out`, and returns the summary.

    Raises `LabError` where it cannot start, `RunError` where something in it failed; nothing stays
    of the testbed, and no summary is written then.
    """
    flows_ = [
        dataclasses.replace(
            flow, stop_s=experiment.duration_s if flow.stop_s is None else flow.stop_s
        )
        for flow in experiment.flows
    ]
    experiment = dataclasses.replace(experiment, flows=flows_)
    check.require(experiment)
    _make(out, experiment)
    with Testbed(experiment.topology, experiment.programs, out, windlass) as bed:
        plans = [
            flows.plan(flow, number, bed.run, experiment.topology, bed.scratch / f"flow-{number}")
            for number, flow in enumerate(experiment.flows)
        ]
        _start_servers(bed, plans)
        asked = [plan for plan in plans if plan.is_kernels]
        samplers = _start_samplers(bed, asked, experiment.sample_s)
        traced = experiment.tcp_probe and asked and _start_trace(bed, asked, progress)
        time.sleep(_WARM_S)
        start_ns = time.monotonic_ns()
        _play(bed, plans, experiment.duration_s, start_ns)
        _stop(samplers + ([traced] if traced else []))
        _keep_reports(bed, plans, out)
        about = {
            "kernel": os.uname().release,
            "experiment_sha256": digest,
            "sample_s": experiment.sample_s,
            "tcp_probe": bool(traced),
            "load_average": os.getloadavg()[0],
        }
        return _write_results(bed, experiment, plans, start_ns, out, about)


def _make(out: Path, experiment: Experiment) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
        # An old summary must not pass for this run's.
        (out / SUMMARY).unlink(missing_ok=True)
        for program in experiment.programs:
            # `windlass link` writes over no log.
            (out / f"{program.name}.csv").unlink(missing_ok=True)
    except OSError as error:
        raise LabError(f"cannot write to {out}: {error.strerror}") from error


def _start_servers(bed: Testbed, plans: Sequence[Plan]) -> None:
    for plan in plans:
        if plan.server is None:
            continue
        name = f"{plan.flow.name}-server"
        process = bed.start_logged(name, plan.server.node, bed.filled(plan.server.command))
        protocol = "tcp" if plan.is_kernels else "udp"
        wait_until(
            partial(listens, bed, process, name, plan.server_port, protocol),
            f"{name}: does not listen",
        )


def listens(
    bed: Testbed, process: subprocess.Popen, name: str, port: int, protocol: str = "tcp"
) -> bool:
    """Whether a program listens at a port, of TCP or of UDP, in the node that it was started in.
    Raises `RunError` if it has ended.
    """
    if process.poll() is not None:
        raise RunError(f"{name} ended with status {process.returncode}: {bed.complaint(name)}")
    # The sockets of the namespace that the process is in.
    for family in (protocol, f"{protocol}6"):
        try:
            lines = Path(f"/proc/{process.pid}/net/{family}").read_text().splitlines()[1:]
        except OSError:
            continue
        for cells in (line.split() for line in lines):
            listening = protocol == "udp" or cells[3] == _LISTEN
            if listening and int(cells[1].rpartition(":")[2], 16) == port:
                return _in_namespace(process)
    return False


def _in_namespace(process: subprocess.Popen) -> bool:
    """Whether it has left our namespace: until then its sockets are ours."""
    return (
        Path(f"/proc/{process.pid}/ns/net").stat().st_ino != Path("/proc/self/ns/net").stat().st_ino
    )


def _start_samplers(
    bed: Testbed, plans: Sequence[Plan], interval_s: float
) -> list[subprocess.Popen]:
    by_node: dict[str, list[str]] = {}
    for plan in plans:
        by_node.setdefault(plan.flow.source, []).append(str(plan.port))
    started = []
    for node, ports in by_node.items():
        command = [
            *(sys.executable, "-P", "-m", "windlass_lab.testbed.sample"),
            *("--interval", f"{interval_s:g}", "--ports", ",".join(ports)),
        ]
        name = _sampler(node)
        with _samples(bed, node).open("w") as out, bed.log(name).open("w") as log:
            started.append(bed.start(name, node, command, stdout=out, stderr=log))
    for node in by_node:
        # On a busy machine an interpreter takes seconds to start.
        wait_until(partial(_has_begun, bed, node), "a sampler did not start", _SAMPLER_S)
    return started


def _has_begun(bed: Testbed, node: str) -> bool:
    return _samples(bed, node).stat().st_size > 0


def _sampler(node: str) -> str:
    return f"sampler-{node}"


def _samples(bed: Testbed, node: str) -> Path:
    return bed.scratch / f"samples-{node}"


def _start_trace(
    bed: Testbed, plans: Sequence[Plan], progress: Progress
) -> subprocess.Popen | None:
    """The process that records tcp_probe; `None`, and a line, where that is not to be had."""
    ports = ",".join(str(plan.port) for plan in plans)
    # It is asked to end when this process is killed, and takes its trace instance away then.
    command = [
        *("unshare", "--mount", "setpriv", "--pdeathsig", "TERM"),
        *(sys.executable, "-P", "-m", "windlass_lab.testbed.trace"),
        *("--run", bed.run, "--ports", ports, "--out", str(bed.scratch / "trace")),
    ]
    with bed.log("trace").open("w") as log, (bed.scratch / "trace-ready").open("w") as ready:
        process = bed.start("trace", "", command, stdout=ready, stderr=log)
    printed = bed.scratch / "trace-ready"
    wait_until(
        lambda: process.poll() is not None or trace.READY in printed.read_text(),
        "tcp_probe: the trace did not start",
    )
    if process.poll() is None:
        return process
    progress(f"testbed: no series of tcp_probe: {bed.complaint('trace')}")
    return None


def _play(bed: Testbed, plans: Sequence[Plan], duration_s: float, start_ns: int) -> None:
    """Starts the clients when it is time, and waits for the end."""
    clients = [_Client(plan) for plan in plans]
    while True:
        now_s = (time.monotonic_ns() - start_ns) / 1e9
        for client in clients:
            _attend(bed, client, now_s)
        bed.check_alive()
        ended = all(client.process and client.process.poll() is not None for client in clients)
        if ended and now_s >= duration_s:
            return
        time.sleep(_TICK_S)


def _attend(bed: Testbed, client: _Client, now_s: float) -> None:
    plan = client.plan
    if client.process is None:
        if now_s >= plan.flow.start_s:
            client.process = _start_client(bed, plan)
        return
    status = client.process.poll()
    if status is None:
        if now_s >= plan.ended_by_s and not client.stopped:
            if not plan.is_kernels:
                # It tells of itself only at its end.
                raise RunError(
                    f"flow {plan.flow.name}: has not ended {now_s:.0f} s after the start"
                )
            client.stopped = True
            client.process.terminate()
        return
    if not client.stopped and status not in plan.fine:
        output = bed.report(plan.flow.name).read_text(errors="replace")
        output += bed.log(plan.flow.name).read_text(errors="replace")
        raise RunError(f"flow {plan.flow.name}: {flows.complaint(plan, output)} (status {status})")


def _start_client(bed: Testbed, plan: Plan) -> subprocess.Popen:
    command = bed.filled(plan.client.command)
    return bed.start_client(plan.flow.name, plan.client.node, command)


def _stop(processes: Sequence[subprocess.Popen]) -> None:
    for process in processes:
        process.terminate()
    for process in processes:
        process.wait()


def _keep_reports(bed: Testbed, plans: Sequence[Plan], out: Path) -> None:
    for plan in plans:
        ending = "json" if plan.flow.app in ("iperf3", "tou") else "txt"
        text = bed.report(plan.flow.name).read_text(errors="replace")
        write_atomically(out / f"{plan.flow.app}-{plan.flow.name}.{ending}", text)


def _write_results(
    bed: Testbed,
    experiment: Experiment,
    plans: Sequence[Plan],
    start_ns: int,
    out: Path,
    about: dict,
) -> dict:
    summaries = []
    cookies: dict[int, tuple[str, int]] = {}
    nodes = {plan.flow.source for plan in plans if plan.is_kernels}
    by_node = {node: _read_samples(bed, node) for node in sorted(nodes)}
    for plan in plans:
        if not plan.is_kernels:
            report = bed.report(plan.flow.name).read_text(errors="replace")
            rows, summary = tou.read(plan, report, start_ns, experiment)
            write_atomically(out / f"flow-{plan.flow.name}.csv", results.as_csv(rows))
            summaries.append(summary)
            continue
        samples = results.of_flow(by_node[plan.flow.source], plan.port)
        _check(bed, plan, samples)
        rows = results.rows_of_samples(samples, start_ns)
        write_atomically(out / f"flow-{plan.flow.name}.csv", results.as_csv(rows))
        summaries.append(results.flow_summary(plan.flow, samples, rows, experiment))
        cookies[samples[0].cookie] = (plan.flow.name, results.packet_bytes(samples))
    if about["tcp_probe"]:
        _write_probes(bed, cookies, start_ns, out)
    queues = _write_queues(bed, experiment, start_ns, out)
    summary = results.summary(experiment, summaries, about, queues)
    # Last: a directory with a summary holds a whole run.
    write_atomically(out / SUMMARY, json.dumps(summary, indent=2) + "\n")
    return summary


def _write_queues(bed: Testbed, experiment: Experiment, start_ns: int, out: Path) -> list[dict]:
    """The queues of link programs, which end for it: their logs are whole then."""
    found = []
    window = experiment.duration_s, experiment.steady_from_s
    for program in experiment.programs:
        if not program.queues:
            continue
        ended_s = (bed.end(program.name) - start_ns) / 1e9
        log = out / f"{program.name}.csv"
        for queue in program.queues:
            port, _, direction = queue.partition("/")
            states = link_log.read(log, port, direction, ended_s)
            write_atomically(out / f"queue-{port}-{direction}.csv", link_log.as_csv(states))
            found.append(link_log.summary(port, direction, states, *window))
    return found


def _read_samples(bed: Testbed, node: str) -> list[Sample]:
    try:
        with _samples(bed, node).open() as file:
            return [sample.parse_line(line) for line in file if line.strip()]
    except (ValueError, TypeError) as error:
        raise RunError(f"sampler in {node}: {bed.complaint(_sampler(node))}") from error


def _check(bed: Testbed, plan: Plan, samples: Sequence[Sample]) -> None:
    """Checks that the measured connections use the flow's congestion controller."""
    name, asked = plan.flow.name, plan.flow.controller
    if not samples:
        printed = bed.complaint(_sampler(plan.flow.source))
        raise RunError(f"flow {name}: no connection was seen (sampler: {printed})")
    # The first sample may be of a socket on which it was not set yet.
    found = samples[-1].controller
    if found != asked:
        raise RunError(
            f"flow {name}: ran {found}, not {asked}: give the route of {plan.flow.source} "
            f'`controller = "{asked}"`'
        )


def _write_probes(
    bed: Testbed, cookies: dict[int, tuple[str, int]], start_ns: int, out: Path
) -> None:
    # Other testbeds' connections may have the same addresses and ports, but never the same cookie.
    by_cookie: dict[int, list[trace.Probe]] = {cookie: [] for cookie in cookies}
    with (bed.scratch / "trace").open(errors="replace") as file:
        for line in file:
            probe = trace.parse_line(line)
            if probe and probe.cookie in by_cookie:
                by_cookie[probe.cookie].append(probe)
    for cookie, (name, mss) in cookies.items():
        rows = results.rows_of_probes(by_cookie[cookie], mss, start_ns)
        write_atomically(out / f"probe-{name}.csv", results.as_csv(rows))

#!/usr/bin/env python3
"""A sweep on a Dask cluster: what a second worker gains, and what scheduler and client cost.

A hub has scheduler and client; each worker has one thread and a namespace of its own. The study is
two flows on one path, with many seeds. With `--kill` a sweep follows with three workers, of which
one is killed, and whose client is killed and resumed. Needs root, and the lab with `distributed`.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from hosts import End, Link, Testbed, Topology, host
from process import BenchError

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PORT = 8786
PATIENCE_S = 60
HUB = ("10.9.1.1", "10.9.2.1", "10.9.3.1")
SCENARIO = """
schema = 1
name = "two-flows"
duration = "10s"
flows = [{ from = "each", controller = "cubic" }]
[dumbbell]
access = [{ delay = "1ms", count = 2 }]
bottleneck = { rate = "5Mbit/s", delay = "10ms", queue = "codel" }
"""
STUDY = """
schema = 1
scenario = "two.toml"
seeds = {seeds}
[axes]
"dumbbell.bottleneck.delay" = {{ from = 5, to = 50, count = 10, unit = "ms" }}
"""


@dataclass(frozen=True)
class Outcome:
    """One sweep."""

    workers: int
    runs: int
    wall_s: float
    worker_cpu_s: float
    scheduler_cpu_s: float
    client_cpu_s: float
    scheduler_peak_mib: float

    @property
    def overhead(self) -> float:
        """The share of scheduler and client in the CPU time of all."""
        own = self.scheduler_cpu_s + self.client_cpu_s
        return own / (own + self.worker_cpu_s)


def cpu_s(pid: int) -> float:
    """User and system time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S


def peak_mib(pid: int) -> float:
    """The largest resident size of a process so far."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


@contextmanager
def cluster(workers: int) -> Iterator[tuple[Testbed, int, list[int]]]:
    """The testbed, and the process ids of the scheduler and of the workers."""
    names = [f"worker{number}" for number in range(workers)]
    ends = zip(names, HUB, strict=False)
    links = [
        Link(End("hub", [f"{hub}/24"], f"v{name}"), End(name, [f"{hub[:-1]}2/24"], "veth0"))
        for name, hub in ends
    ]
    with Testbed(Topology([host(name) for name in ("hub", *names)], links)) as bed:
        scheduler = start(bed, "hub", "scheduler", "--port", str(PORT), "--host", "0.0.0.0")
        pids = []
        for name, hub in zip(names, HUB, strict=False):
            options = ["--nthreads", "1", "--no-nanny", f"tcp://{hub}:{PORT}"]
            pids.append(start(bed, name, "worker", *options, "--host", f"{hub[:-1]}2"))
        yield bed, scheduler, pids


def start(bed: Testbed, node: str, what: str, *options: str) -> int:
    """Starts a scheduler or a worker, and returns its process id."""
    command = [sys.executable, "-m", f"distributed.cli.dask_{what}", "--no-dashboard", *options]
    null = subprocess.DEVNULL
    return bed.start(f"{what}-{node}", node, command, stdout=null, stderr=null).pid


def sweep(workers: int, runs: int, folder: Path) -> Outcome:
    """Runs the study on a new cluster."""
    (folder / "two.toml").write_text(SCENARIO, encoding="utf-8")
    study = folder / "study.toml"
    study.write_text(STUDY.format(seeds=runs // 10), encoding="utf-8")
    with cluster(workers) as (bed, scheduler, pids):
        inside = ["ip", "netns", "exec", bed.namespace("hub"), sys.executable, "-m", "windlass_lab"]
        out = folder / f"out-{workers}"
        command = [*inside, "sweep", str(study), "--out", str(out)]
        command += ["--scheduler", f"tcp://{HUB[0]}:{PORT}"]
        wait_for_workers(inside[:-2], workers)
        before = [cpu_s(pid) for pid in (scheduler, *pids)]
        began = time.monotonic()
        with subprocess.Popen(command) as client:
            _, status, usage = os.wait4(client.pid, 0)
            client.returncode = os.waitstatus_to_exitcode(status)
        wall = time.monotonic() - began
        if client.returncode:
            raise BenchError(f"the sweep ended with status {client.returncode}")
        after = [cpu_s(pid) for pid in (scheduler, *pids)]
        spent = [a - b for a, b in zip(after, before, strict=True)]
        return Outcome(
            workers=workers,
            runs=runs,
            wall_s=wall,
            worker_cpu_s=sum(spent[1:]),
            scheduler_cpu_s=spent[0],
            client_cpu_s=usage.ru_utime + usage.ru_stime,
            scheduler_peak_mib=peak_mib(scheduler),
        )


def killed_sweep(runs: int, folder: Path) -> bytes:
    """The rows of a sweep with three workers. One is killed after a fifth of the rows, the client
    after half of them; another client resumes.
    """
    study, out = folder / "study.toml", folder / "out-killed"
    with cluster(3) as (bed, _, pids):
        inside = ["ip", "netns", "exec", bed.namespace("hub"), sys.executable, "-m", "windlass_lab"]
        command = [*inside, "sweep", str(study), "--out", str(out)]
        command += ["--scheduler", f"tcp://{HUB[0]}:{PORT}"]
        wait_for_workers(inside[:-2], 3)
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as client:
            wait_for_rows(out, runs // 5, client)
            os.kill(pids[0], signal.SIGKILL)
            wait_for_rows(out, runs // 2, client)
            client.kill()
        subprocess.run([*command, "--resume"], check=True)
    return (out / "rows.parquet").read_bytes()


def wait_for_rows(out: Path, rows: int, client: subprocess.Popen) -> None:
    """Returns when so many rows are written."""
    file = out / "rows.jsonl"
    while not file.exists() or file.read_bytes().count(b"\n") < rows:
        if client.poll() is not None:
            raise BenchError(f"the sweep ended before it had {rows} rows")
        time.sleep(0.2)


def wait_for_workers(python: list[str], workers: int) -> None:
    """Returns when all workers have reported to the scheduler."""
    script = (
        "from distributed import Client; "
        f"Client('tcp://{HUB[0]}:{PORT}', timeout={PATIENCE_S})"
        f".wait_for_workers({workers}, timeout={PATIENCE_S})"
    )
    subprocess.run([*python, "-c", script], check=True, timeout=3 * PATIENCE_S)


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=100_000, metavar="N")
    parser.add_argument("--kill", action="store_true", help="kill a worker and a client, too")
    parser.add_argument("--json", action="store_true", help="print one JSON object a sweep")
    return parser.parse_args()


def main() -> int:
    """Measures one worker and two, and compares their rows."""
    options = arguments()
    if os.geteuid() != 0:
        sys.exit("error: this bench makes network namespaces: run it as root")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        outcomes = [sweep(workers, options.runs, folder) for workers in (1, 2)]
        tables = [(folder / f"out-{n}" / "rows.parquet").read_bytes() for n in (1, 2)]
        if options.kill:
            tables.append(killed_sweep(options.runs, folder))
    for outcome in outcomes:
        if options.json:
            print(json.dumps(asdict(outcome)))
            continue
        print(
            f"{outcome.workers} workers: {outcome.runs:,} runs in {outcome.wall_s:.1f} s; CPU time "
            f"{outcome.worker_cpu_s:.1f} s in workers, {outcome.scheduler_cpu_s:.1f} s in the "
            f"scheduler, {outcome.client_cpu_s:.1f} s in the client ({outcome.overhead:.1%}); "
            f"scheduler {outcome.scheduler_peak_mib:.0f} MiB"
        )
    print(f"two workers: {outcomes[0].wall_s / outcomes[1].wall_s:.2f} times one")
    print(f"the same rows: {len(set(tables)) == 1}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

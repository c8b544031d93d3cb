"""Sweeps on a Dask cluster: real schedulers and workers, as processes on the loopback interface."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import windlass_lab as wl
from windlass_lab.core.errors import LabError

pytest.importorskip("distributed", reason="pip install 'windlass-lab[cluster]'")
pytest.importorskip("windlass_lab._native", reason="build it with scripts/build-native")

SCENARIO = """
schema = 1
name = "two-flows"
duration = "DURATION"
flows = [{ from = "each", controller = "reno" }]
[dumbbell]
access = [{ delay = "1ms", count = 2 }]
bottleneck = { rate = "10Mbit/s", delay = "5ms", queue = "droptail" }
"""
STUDY = """
schema = 1
scenario = "two.toml"
seeds = 40
[axes]
"flows.0.controller" = ["reno", "cubic"]
"dumbbell.bottleneck.delay" = { from = 1, to = 100, count = 5, scale = "log", unit = "ms" }
"""
PATIENCE_S = 60


class Cluster:
    """A scheduler and its workers, each a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.processes: list[subprocess.Popen] = []
        self.file = folder / "scheduler.json"
        self._start("scheduler", "--port", "0", "--no-dashboard", "--host", "127.0.0.1")
        wait_until(self._address, "the scheduler writes its address")
        self.address: str = self._address()

    def _address(self) -> str:
        try:
            return json.loads(self.file.read_text())["address"]
        except (OSError, ValueError):
            return ""

    def worker(self, path: Path | None = None) -> subprocess.Popen:
        """Starts a worker with one thread, and `path` before its other modules."""
        options = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--host", "127.0.0.1")
        return self._start("worker", *options, path=path)

    def _start(self, what: str, *options: str, path: Path | None = None) -> subprocess.Popen:
        command = [sys.executable, "-m", f"distributed.cli.dask_{what}", *options]
        command += ["--scheduler-file", str(self.file)]
        environment = os.environ | ({"PYTHONPATH": str(path)} if path else {})
        process = subprocess.Popen(
            command,
            cwd=self.folder,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.processes.append(process)
        return process

    def stop(self) -> None:
        for process in reversed(self.processes):
            process.kill()
            process.wait()


def wait_until(condition, what: str) -> None:
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end, f"not within {PATIENCE_S} s: {what}"
        time.sleep(0.02)


@pytest.fixture
def cluster(tmp_path):
    folder = tmp_path / "cluster"
    folder.mkdir()
    made = Cluster(folder)
    yield made
    made.stop()


@pytest.fixture
def study(tmp_path):
    def make(duration: str = "2s") -> Path:
        (tmp_path / "two.toml").write_text(SCENARIO.replace("DURATION", duration))
        path = tmp_path / "study.toml"
        path.write_text(STUDY)
        return path

    return make


def rows_in(out: Path) -> int:
    try:
        return (out / "rows.jsonl").read_text().count("\n") - 1
    except OSError:
        return 0


def parquet(out: Path) -> bytes:
    return (out / "rows.parquet").read_bytes()


def test_a_cluster_gives_the_rows_of_one_machine(cluster, study, tmp_path):
    cluster.worker()
    cluster.worker()
    path, seen = study(), []
    wl.sweep(path, out=tmp_path / "here").collect()
    sweep = wl.sweep(path, out=tmp_path / "there", scheduler=cluster.address)
    sweep.collect(lambda done, of: seen.append((done, of)))
    assert parquet(tmp_path / "here") == parquet(tmp_path / "there")
    assert seen[-1] == (400, 400)
    assert len(seen) > 6, "rows come as they are done"


def test_a_lost_worker_and_a_killed_client_lose_nothing(cluster, study, tmp_path):
    path, out = study("100s"), tmp_path / "there"
    workers = [cluster.worker() for _ in range(3)]
    command = [sys.executable, "-m", "windlass_lab", "sweep", str(path), "--out", str(out)]
    command += ["--scheduler", cluster.address]
    client = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: rows_in(out) > 10 or client.poll() is not None, "rows from the workers")
    workers[0].kill()
    had = rows_in(out)
    wait_until(lambda: rows_in(out) > had + 10 or client.poll() is not None, "more rows")
    client.send_signal(signal.SIGKILL)
    client.wait()
    kept = rows_in(out)
    assert 0 < kept < 400, "the client was killed on its way"
    subprocess.run([*command, "--resume"], check=True, timeout=PATIENCE_S * 3)
    wl.sweep(path, out=tmp_path / "here").collect()
    assert parquet(tmp_path / "here") == parquet(out)


def test_a_worker_with_another_simulator_is_refused(cluster, study, tmp_path):
    import windlass_lab

    other = tmp_path / "other"
    source = Path(windlass_lab.__file__).parent
    shutil.copytree(source, other / "windlass_lab", ignore=shutil.ignore_patterns("__pycache__"))
    with (other / "windlass_lab" / "_native.abi3.so").open("ab") as native:
        native.write(b"\0")
    cluster.worker(other)
    sweep = wl.sweep(study(), out=tmp_path / "out", scheduler=cluster.address)
    with pytest.raises(LabError, match="has another build of the simulator"):
        sweep.collect()
    assert rows_in(tmp_path / "out") == 0


def test_the_first_failing_run_is_named(cluster, study, tmp_path):
    cluster.worker()
    path = study()
    path.write_text(STUDY.replace('"cubic"', '"cubik"'))
    with pytest.raises(LabError, match=r"run 200 .*cubik"):
        wl.sweep(path, scheduler=cluster.address).collect()


def test_a_scheduler_that_is_not_there_is_named(study, monkeypatch):
    monkeypatch.setattr("windlass_lab.sweeps.cluster._PATIENCE_S", 0.5)
    with pytest.raises(LabError, match="--scheduler tcp://127"):
        wl.sweep(study(), scheduler="tcp://127.0.0.1:9").collect()

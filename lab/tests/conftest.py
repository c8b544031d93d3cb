"""A world for the tests: a stand-in binary and a folder of scenario files."""

import contextlib
import json
import sys
from pathlib import Path

import pytest

import fake_windlass as fake
from windlass_lab.cli import main
from windlass_lab.papers.new_ecn import measure
from windlass_lab.papers.new_ecn import reproduce as new_ecn
from windlass_lab.papers.registry import all_papers
from windlass_lab.testbed import controller, load, stored

FAKE = Path(__file__).with_name("fake_windlass.py")
PUBLISHED = {
    "s1_10M_p0.1_newecn": """
fairness_index = 0.99
flows = [
  { rtt_min_ms = 4, srtt_ms = 15, cwnd_packets = 8.21, slope = 0.162 },
  { rtt_min_ms = 30, srtt_ms = 35, cwnd_packets = 23.14, slope = 0.758 },
  { rtt_min_ms = 70, srtt_ms = 75, cwnd_packets = 46.86, slope = 2.048 },
  { rtt_min_ms = 190, srtt_ms = 195, cwnd_packets = 114.26, slope = 7.627 },
]
""",
    "s1_10M_p0.1_ecn": "fairness_index = 0.48\n",
    "s2_2M_p0.1_newecn": "fair = false\n",
    "single_5M_newecn": """
bottleneck_packets = 72583
drops = 90
flows = [{ rtt_min_ms = 30, packets_per_s = 1208 }]
""",
}


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the repository."""
    return Path(__file__).parents[2]


@pytest.fixture(scope="session")
def fake_windlass(tmp_path_factory) -> Path:
    """An executable that answers like `windlass`."""
    script = tmp_path_factory.mktemp("bin") / "windlass"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{FAKE}" "$@"\n')
    script.chmod(0o755)
    return script


@pytest.fixture(scope="session")
def experiments(tmp_path_factory) -> Path:
    """A folder like `experiments/`, with every scenario that the catalogue names."""
    folder = tmp_path_factory.mktemp("experiments")
    for paper in all_papers():
        (folder / paper.id / "kernel").mkdir(parents=True)
        for stem in {case.stem for e in paper.experiments for case in e.cases}:
            text = f"schema = 1\n[published]\n{PUBLISHED.get(stem, '')}"
            (folder / paper.id / f"{stem}.toml").write_text(text)
    return folder


@pytest.fixture(scope="session")
def lab(fake_windlass, experiments):
    """Runs `windlass-lab reproduce` against the stand-in; returns the exit status."""

    def run(*arguments: str, out: Path, target: str = "new-ecn") -> int:
        world = ["--windlass", str(fake_windlass), "--experiments", str(experiments)]
        return main(["reproduce", target, *world, "--out", str(out), *arguments])

    return run


def fake_runs(jobs, at_once, done):
    """Testbeds that give back the reference figures."""
    for job in jobs:
        job.out.parent.mkdir(parents=True, exist_ok=True)
        fake.write_series(job.file.stem, job.out)
        file = job.out / "summary.json"
        summary = json.loads(file.read_text())
        for flow in summary["flows"]:
            flow |= {"controller": flow["controller"].replace("-", "_"), "ecn": True}
        digest = stored.digest(load.load(job.file, job.time_s))
        about = {"kernel": "6.0-fake", "load_average": 1.5, "experiment_sha256": digest}
        file.write_text(json.dumps(summary | {"testbed": about}))
        done(job)


@pytest.fixture(scope="session")
def on_a_fake_kernel():
    """A context in which experiments on the kernel neither need one nor take their time."""

    @contextlib.contextmanager
    def faked():
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(measure, "run_all", fake_runs)
            patch.setattr(new_ecn, "missing_requirement", lambda *_: "")
            patch.setattr(controller, "in_kernel", lambda *_: contextlib.nullcontext())
            yield patch

    return faked


@pytest.fixture(scope="session")
def whole_result(lab, on_a_fake_kernel, tmp_path_factory) -> Path:
    """A result with every experiment of the paper, those on a kernel too. Not to be changed."""
    folder = tmp_path_factory.mktemp("whole") / "out"
    with on_a_fake_kernel():
        assert lab("--kernel", out=folder) == 0
    return folder

"""A world for the tests: a stand-in binary and a folder of scenario files."""

import sys
from pathlib import Path

import pytest

from windlass_lab.catalogue import all_papers
from windlass_lab.cli import main

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
        (folder / paper.id).mkdir()
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


@pytest.fixture(scope="session")
def whole_result(lab, tmp_path_factory) -> Path:
    """A result with every experiment of the paper. Not to be changed."""
    folder = tmp_path_factory.mktemp("whole") / "out"
    assert lab(out=folder) == 0
    return folder

"""ToU beside the kernel's TCP on this machine. Needs root and the binary."""

import subprocess

import pytest

from windlass_lab.core.binary.locate import find_windlass
from windlass_lab.core.errors import LabError
from windlass_lab.papers.tou import losses
from windlass_lab.papers.tou.plan import (
    CELLS,
    KERNEL_CUBIC,
    PACED_CUBIC,
    TOU_CLASSIC,
    TOU_CUBIC,
    TOU_PAPER_RTO,
    UNPACED_TOU,
    Test,
)
from windlass_lab.papers.tou.transfer import measure
from windlass_lab.testbed import check

_MISSING = [line for needed, line in check.missing() if needed]
pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(bool(_MISSING), reason=f"testbed: {'; '.join(_MISSING)}"),
]
CELL = next(cell for cell in CELLS if (cell.loss, cell.rtt_ms) == (0.01, 0))
# 1.2 MB, 800 segments: of this seed's list at least three of them are lost.
SCALE, SEED = 0.04, 2


@pytest.fixture(scope="module")
def windlass():
    try:
        found = find_windlass(None)
    except LabError:
        pytest.skip("no binary windlass: not built")
    command = [found, "tou", "perf", "client", "--help"]
    if subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip("the binary windlass is older than `windlass tou`")
    return found


@pytest.mark.parametrize(
    "contender", [KERNEL_CUBIC, PACED_CUBIC, TOU_CUBIC, UNPACED_TOU], ids=lambda who: who.name
)
def test_a_transfer_meets_the_losses_of_its_list_and_no_others(windlass, contender):
    listed = losses.draw(CELL, SEED, SCALE).first
    assert len(listed) >= 3
    run = measure(Test(CELL, contender), SEED, SCALE, windlass, traced=True)
    # A segment of the kernel has 1448 bytes, of ToU 1172 at first.
    least, most = (sum(n <= 1.2e6 / size for n in listed) for size in (1448, 1172))
    assert least <= run.lost <= most + 2
    assert run.dropped == 0
    assert run.retransmitted >= run.lost
    # 100 Mbit/s at most.
    assert run.seconds > 0.09
    assert run.curve.megabytes[-1] == pytest.approx(1.2, abs=0.01)
    assert 1 <= run.cwnd < 2300


def test_the_papers_tcp_shows_the_spike_of_fast_recovery(windlass):
    cell = next(cell for cell in CELLS if (cell.loss, cell.rtt_ms) == (0.0001, 100))
    # A loss in slow start, at a window whose duplicate ACKs arrive over several samples.
    seed = next(n for n in range(1, 1000) if _has_an_early_loss(losses.draw(cell, n, SCALE)))
    run = measure(Test(cell, TOU_CLASSIC), seed, SCALE, windlass, traced=True)
    assert run.lost >= 1
    assert run.mss == 1456
    assert run.course.spikes >= 1
    assert run.course.first_loss >= 100


def _has_an_early_loss(listed):
    return any(1000 <= ordinal <= 1500 for ordinal in listed.first)


def test_the_papers_timeout_is_an_option_that_transfers_have(windlass):
    run = measure(Test(CELLS[0], TOU_PAPER_RTO), SEED, SCALE / 2, windlass)
    assert (run.lost, run.course.first_loss) == (0, None)

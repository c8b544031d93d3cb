"""The ECN proxy's tests on this machine's kernel. Needs root, iperf, iperf3 and the binary."""

import shutil
import subprocess
from dataclasses import asdict

import pytest

from windlass_lab.core.binary.locate import find_windlass
from windlass_lab.core.errors import LabError
from windlass_lab.core.pipeline import child
from windlass_lab.papers.ecn_proxy.aside import Cell
from windlass_lab.papers.ecn_proxy.aside_kernel import KernelCell
from windlass_lab.papers.ecn_proxy.plan import (
    CLIENT_OPENS,
    IPV6,
    NATIVE,
    NEITHER,
    PROXY,
    Test,
)
from windlass_lab.papers.ecn_proxy.transfer import measure
from windlass_lab.testbed import check, remove
from windlass_lab.testbed.bed import wait_until

_MISSING = [line for needed, line in check.missing() if needed]
_MISSING += [f"{name} is missing" for name in ("iperf", "iperf3") if not shutil.which(name)]
pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(bool(_MISSING), reason=f"testbed: {'; '.join(_MISSING)}"),
]


@pytest.fixture(scope="module")
def windlass():
    try:
        return find_windlass(None)
    except LabError:
        pytest.skip("no binary windlass: not built")


@pytest.mark.parametrize("direction", ["download", "upload"])
def test_a_transfer_takes_as_long_as_the_slow_interface_lets_it(windlass, direction):
    # Large beside the send buffers, which slow start lets grow.
    run = measure(Test(direction, "2", False, NATIVE), 0.03, windlass)
    megabytes = 2 * Test(direction, "2", False, NATIVE).megabytes(0.03)
    # 10 Mbit/s; what waits in send buffers at the end is not in the time. How much longer it takes,
    # and how fair it is, is up to what else the machine does.
    assert run.seconds > 0.6 * megabytes * 0.8
    assert 0.5 < run.fairness <= 1


def test_files_go_one_after_the_other_through_the_cross_traffic(windlass):
    run = measure(Test("download", "files", True, NEITHER), 0.01, windlass)
    # 2 MB at 10 Mbit/s would take 1.6 s alone.
    assert run.seconds > 3
    assert run.fairness == 1


@pytest.mark.parametrize(
    ("direction", "mode"),
    [("download", ""), ("upload", ""), ("download", CLIENT_OPENS), ("upload", IPV6)],
)
def test_the_proxy_takes_on_a_transfer_and_brings_it_to_its_end(windlass, direction, mode):
    doctor = subprocess.run(
        [windlass, "doctor", "ecn-proxy"], capture_output=True, text=True, check=False
    )
    if doctor.returncode != 0:
        pytest.skip("windlass doctor ecn-proxy: this kernel or binary lacks something")
    run = measure(Test(direction, "1", True, PROXY, mode), 0.05, windlass)
    [printed] = run.proxies
    assert printed["proxied"] > 0
    assert printed["edited"] > 0
    assert printed["edit_failed"] == 0
    # The proxy signalled congestion; a stall (an ACK with a wrong checksum, say) lasts for minutes.
    assert (
        printed["marks"]
        if direction == "download"
        else printed["virtual_losses"] + printed["answered_floor"]
    )
    assert run.seconds < 60


def test_a_cell_kept_aside_has_its_rate_and_round_trip(windlass):
    cell = Cell(20, 100, "pie", 2, "upload", 0.5, native=True)
    run = measure(KernelCell.of(cell), 0.1, windlass)
    # 1 MB at 20 Mbit/s takes 0.4 s alone; the handshake and the first windows take round trips.
    assert run.seconds > 0.4 + 3 * 0.1
    assert 0.5 < run.fairness <= 1


def test_a_run_that_is_terminated_takes_its_network_away(windlass):
    test = Test("download", "1", True, NEITHER)
    order = {"test": asdict(test), "scale": 1.0, "windlass": str(windlass)}
    process = child.start("windlass_lab.papers.ecn_proxy.transfer", order)

    def standing() -> list[str]:
        names = [path.name for path in remove._listed(remove.NETNS)]
        return [name for name in names if name.startswith(f"wlab-{process.pid}-")]

    try:
        wait_until(lambda: process.poll() is not None or standing(), "no network", 60)
        assert process.poll() is None
        process.terminate()
        assert process.wait(60) == 143
        assert standing() == []
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()
        remove.sweep()

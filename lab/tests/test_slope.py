"""The slopes that `windlass cc` lets one read."""

from pathlib import Path

from windlass_lab.testbed.slope import Slopes

HEADER = (
    "netns,local,local_port,peer,peer_port,ecn,cwnd,ssthresh,"
    "srtt_us,slope_32,echoes,mark_cuts,loss_cuts,timeouts"
)
ONE = 1 << 32


def row(netns: int, local_port: int, peer_port: int, slope: float) -> str:
    ends = f"10.0.0.1,{local_port},10.0.0.2,{peer_port}"
    return f"{netns},{ends},1,10,8,20000,{int(slope * ONE)},5,1,0,0"


def slopes(path: Path, *rows: str) -> Slopes:
    file = path / "flows"
    file.write_text("\n".join([HEADER, *rows]) + "\n")
    return Slopes(file)


def test_a_connection_is_found_by_the_port_at_either_end(tmp_path):
    mine = Path("/proc/self/ns/net").stat().st_ino
    found = slopes(tmp_path, row(mine, 10_000, 5201, 7.5), row(mine, 80, 10_001, 0.25))
    assert (found.at(10_000), found.at(10_001)) == (7.5 * ONE, 0.25 * ONE)
    assert found.at(10_002) == 0


def test_connections_of_other_namespaces_are_left_out(tmp_path):
    other = Path("/proc/self/ns/net").stat().st_ino + 1
    assert slopes(tmp_path, row(other, 10_000, 5201, 7.5)).at(10_000) == 0


def test_without_new_ecn_in_the_kernel_there_is_no_slope(tmp_path):
    assert Slopes(tmp_path / "nothing").at(10_000) == 0
    (tmp_path / "flows").write_text("")
    assert Slopes(tmp_path / "flows").at(10_000) == 0

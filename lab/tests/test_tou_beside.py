"""How ToU and the kernel share a link: the cells, and the verdicts on runs that are made up."""

import pytest

from windlass_lab.core.verdicts.verdict import FAIL, INFORMATIVE, PASS, UNDECIDED
from windlass_lab.papers.tou.beside import plan, topology
from windlass_lab.papers.tou.beside.judge import judge, over_the_kernel, table
from windlass_lab.papers.tou.beside.share import Run
from windlass_lab.papers.tou.beside.topology import experiment
from windlass_lab.testbed.validate import validate

CELL = plan.Cell(20, 40, "fifo1", 4, neighbours_pace=True)


def runs(ours, theirs=10.0, count=plan.RUNS):
    return [Run(ours, theirs, dropped=0, late_ms=0.1, load=1.0) for _ in range(count)]


def verdict(tou, kernel, count=plan.RUNS, judged=True):
    found = {
        plan.Test(CELL, plan.TOU).name: runs(tou, count=count),
        plan.Test(CELL, plan.PACED_KERNEL).name: runs(kernel, count=count),
    }
    [comparison] = judge([CELL], found, judged)
    return comparison.verdict


def test_the_default_is_judged_beside_either_kernel_on_every_queue():
    cells = plan.judged_cells()
    assert len(cells) == len({cell.name for cell in cells}) == 5 * 3 * 2
    assert not {cell.name for cell in cells} & {cell.name for cell in plan.pilot_cells()}
    names = [test.name for test in plan.tests(cells)]
    assert len(names) == len(set(names)) == len(cells) * len(plan.SIDES)


@pytest.mark.parametrize("cell", [*plan.judged_cells(), *plan.pilot_cells()], ids=lambda c: c.name)
def test_every_cell_is_a_testbed(cell):
    validate(experiment(cell))


def test_a_fifo_holds_its_part_of_the_bandwidth_delay_product():
    # 20 Mbit/s * 40 ms / 8 / 1500 bytes
    assert round(CELL.bdp_packets) == 67
    assert '"67 packets"' in topology.queue(CELL)
    half = plan.Cell(20, 40, "fifo0.5", 2, neighbours_pace=False)
    assert '"33 packets"' in topology.queue(half)


def test_the_share_is_held_against_the_kernel_in_the_same_place():
    assert verdict(12.0, 10.0) == PASS
    assert verdict(16.0, 10.0) == FAIL
    assert verdict(16.0, 12.0) == PASS
    assert verdict(6.6, 10.0) == FAIL


def test_too_few_runs_decide_nothing_and_the_pilot_is_shown_only():
    assert verdict(16.0, 10.0, count=plan.RUNS - 1) == UNDECIDED
    assert verdict(16.0, 10.0, judged=False) == INFORMATIVE


def test_a_cell_without_its_reference_has_no_figure():
    alone = {plan.Test(CELL, plan.TOU).name: runs(12.0)}
    assert over_the_kernel(CELL, plan.TOU, alone) is None
    assert judge([CELL], alone, judged=True) == []
    assert table([CELL], alone)["rows"][0][0] == CELL.label

"""Tests with names: their runs in processes, repeated, stopped, and continued from a file."""

from dataclasses import dataclass, replace
from types import SimpleNamespace

import pytest

from windlass_lab.core.errors import RunError
from windlass_lab.core.pipeline import child
from windlass_lab.core.pipeline.campaign import Campaign
from windlass_lab.core.pipeline.run_lines import RunLines


@dataclass(frozen=True)
class Named:
    name: str


@dataclass(frozen=True)
class Run:
    seconds: float
    late: bool = False


class Process:
    """One that has ended, and remembers that it was terminated."""

    def __init__(self, log):
        self.log = log

    def poll(self):
        return None if self.log is None else 0

    def terminate(self):
        self.log.append("terminated")

    def wait(self):
        self.log.append("waited")


def unused(*_):
    raise AssertionError("not a part of running processes")


SIMPLE = Campaign(
    module="a.module",
    read=Run,
    order=lambda test, number, _request: {"test": test.name, "number": number},
    outcome=lambda run: f"{run.seconds:g} s",
    complaint=lambda run: "late" if run.late else "",
    settled=unused,
    tests=unused,
    inputs=unused,
    reported=unused,
    documents=unused,
    command=unused,
    content=unused,
)


@pytest.fixture
def started(monkeypatch):
    """Processes whose results are given by test name, one after the other."""
    results: dict[str, list] = {}
    orders = []

    def start(module, order):
        assert module == "a.module"
        orders.append((order["test"], order["number"]))
        return Process([])

    def result(name, _process):
        found = results[name].pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    monkeypatch.setattr(child, "start", start)
    monkeypatch.setattr(child, "result", result)
    monkeypatch.setattr("windlass_lab.core.pipeline.pool.time.sleep", lambda _: None)
    return SimpleNamespace(results=results, orders=orders)


@pytest.fixture
def world(tmp_path):
    lines = []
    request = SimpleNamespace(jobs=1, progress=lines.append)
    store = RunLines(tmp_path / "runs.jsonl", {}, False, Run)
    yield SimpleNamespace(lines=lines, request=request, store=store)
    store.close()


def wanted(*names):
    return [(Named(name), 1) for name in names]


def test_a_failed_run_is_raised_when_the_others_are_done(started, world):
    started.results |= {"a": [RunError("broken")], "b": [{"seconds": 2.0}]}
    with pytest.raises(RunError, match="broken"):
        SIMPLE.run_processes(wanted("a", "b"), world.request, world.store)
    assert world.lines == ["[1/2] a, run 1: broken", "[2/2] b, run 1: 2 s"]
    assert world.store.runs == {("b", 1): Run(2.0)}


def test_a_failed_run_stops_the_others_where_the_campaign_says_so(started, world):
    started.results |= {"a": [RunError("broken")], "b": [{"seconds": 2.0}]}
    with pytest.raises(RunError, match="broken"):
        replace(SIMPLE, stops=True).run_processes(wanted("a", "b"), world.request, world.store)
    assert started.orders == [("a", 1)]


def test_a_run_that_counts_for_nothing_is_repeated_after_the_others(started, world):
    started.results |= {
        "a": [{"seconds": 9.0, "late": True}, {"seconds": 1.0}],
        "b": [{"seconds": 2.0}],
    }
    SIMPLE.run_processes(wanted("a", "b"), world.request, world.store)
    assert [name for name, _ in started.orders] == ["a", "b", "a"]
    assert world.lines[0] == "[1/2] a, run 1: 9 s; late: once more"
    assert world.store.runs == {("b", 1): Run(2.0), ("a", 1): Run(1.0)}


def test_a_run_that_counts_for_nothing_three_times_is_an_error(started, world):
    started.results["a"] = [{"seconds": 9.0, "late": True}] * 3
    with pytest.raises(RunError, match=r"late 3 times: run fewer at a time \(--parallel\)"):
        SIMPLE.run_processes(wanted("a"), world.request, world.store)
    assert world.store.runs == {}

"""Values of other packages where Python's own are meant."""

import json
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType

import pytest

import windlass_lab as wl
from windlass_lab.core.errors import ArgumentError, LabError
from windlass_lab.core.files.scalars import plain, whole
from windlass_lab.core.files.toml_value import toml_value

np = pytest.importorskip("numpy")


class Kind(Enum):
    RED = "red"


class Count(IntEnum):
    THREE = 3


@dataclass
class Index:
    """As the whole numbers of other packages are."""

    value: int

    def __index__(self) -> int:
        return self.value


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.int8(-3), -3),
        (np.uint64(2**64 - 1), 2**64 - 1),
        (np.float64(0.25), 0.25),
        (np.float32(0.5), 0.5),
        (np.bool_(True), True),
        (np.str_("red"), "red"),
        (np.array(7), 7),
        (np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
        (Decimal("0.1"), 0.1),
        (Decimal(8), 8),
        (Fraction(1, 4), 0.25),
        (Fraction(6, 2), 3),
        (Kind.RED, "red"),
        (Count.THREE, 3),
        (Index(5), 5),
        (Path("a/b"), "a/b"),
        (timedelta(milliseconds=1.5), "1500us"),
        ((1, np.int64(2)), [1, 2]),
        (MappingProxyType({"a": np.bool_(False)}), {"a": False}),
        (7.0, 7.0),
        (None, None),
    ],
)
def test_a_value_has_pythons_own_type(value, expected):
    found = plain(value)
    assert found == expected and type(found) is type(expected)
    json.dumps(found)


@pytest.mark.parametrize("value", [1.5, 7.0, True, np.bool_(True), -1, 256, "7", None, np.nan, [1]])
def test_what_is_no_whole_number_within_bounds_is_refused_by_name(value):
    with pytest.raises(ArgumentError, match=r"^n: expected a whole number from 0 to 255, found "):
        whole("n", value, 0, 255)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), np.float32("-inf"), None, 1j, {1}])
def test_what_toml_does_not_have_is_refused(value):
    with pytest.raises(TypeError, match="is not a value of a scenario"):
        toml_value({"a": [value]})


def test_a_text_of_toml_has_no_surrogates():
    assert toml_value("π\x7f😀\n") == '"π\\u007f😀\\n"'


SCENARIO = {
    "schema": np.int64(1),
    "name": np.str_("one"),
    "duration": "1s",
    "flows": ({"name": "a", "from": "s1", "ecn": np.bool_(True)},),
    "dumbbell": {
        "access": [{"delay": timedelta(milliseconds=1)}],
        "bottleneck": MappingProxyType(
            {"rate": "5Mbit/s", "delay": "10ms", "loss": np.float64(0.01)}
        ),
    },
}


def test_a_run_takes_them_everywhere():
    pytest.importorskip("windlass_lab._native", reason="build it with scripts/build-native")
    expected = wl.simulate(plain(SCENARIO), seed=7, set={"flows.0.ecn": False}, series="none")
    for seed in (np.uint16(7), np.array(7), Decimal(7), Index(7)):
        run = wl.simulate(SCENARIO, seed=seed, set={"flows.0.ecn": np.bool_(False)}, series="none")
        assert run.summary == expected.summary
    for seed in (True, 1.5, -1, 2**64, "7", np.nan):
        with pytest.raises(ValueError, match=r"^seed: expected a whole number"):
            wl.simulate(SCENARIO, seed=seed)
    with pytest.raises(LabError, match="jitter: expected a time"):
        wl.simulate(SCENARIO, jitter=5)


@pytest.mark.parametrize("jobs", [0, -1, 1.5, True])
def test_a_number_of_jobs_is_at_least_one(tmp_path, jobs):
    (tmp_path / "s.toml").write_text("")
    (tmp_path / "study.toml").write_text('schema = 1\nscenario = "s.toml"\n')
    with pytest.raises(LabError, match="jobs: expected a whole number of at least 1"):
        wl.sweep(tmp_path / "study.toml", jobs=jobs)
    assert wl.sweep(tmp_path / "study.toml", jobs=np.int64(2)).jobs == 2

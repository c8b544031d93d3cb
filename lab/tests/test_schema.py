"""The JSON Schema that `windlass sim schema` prints, held against the scenarios there are."""

import json
import subprocess
import tomllib
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from windlass_lab.core.binary.locate import find_windlass
from windlass_lab.core.errors import LabError

ROOT = Path(__file__).parents[2]
SCENARIOS = sorted(ROOT.glob("experiments/**/*.toml"))


@pytest.fixture(scope="module")
def windlass():
    try:
        return find_windlass(None)
    except LabError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def validator(windlass):
    command = [windlass, "sim", "schema"]
    printed = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    schema = json.loads(printed)
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == Draft202012Validator.META_SCHEMA["$id"]
    return Draft202012Validator(schema)


def scenario():
    return tomllib.loads((ROOT / "experiments/new-ecn/s1_10M_p0.1_newecn.toml").read_text())


def test_every_experiment_of_the_repository_is_valid(validator):
    assert len(SCENARIOS) >= 27
    for path in SCENARIOS:
        errors = [e.message for e in validator.iter_errors(tomllib.loads(path.read_text()))]
        assert errors == [], path.name


def unknown_key(document):
    document["durations"] = "5s"


def without_name(document):
    del document["name"]


def bare_number(document):
    document["duration"] = 60


def unknown_unit(document):
    document["dumbbell"]["bottleneck"]["rate"] = "10Mbps"


def negative_time(document):
    document["flows"][0]["start"] = "-1s"


def unknown_controller(document):
    document["flows"][0]["controller"] = "newecn"


def unknown_setting_of_a_controller(document):
    document["flows"][0]["controller"] = {"kind": "new-ecn", "gamma": 3}


def unknown_queue(document):
    document["dumbbell"]["bottleneck"]["queue"] = {"kind": "blue"}


def probability_above_one(document):
    document["dumbbell"]["bottleneck"]["loss"] = 1.5


MISTAKES = [
    unknown_key,
    without_name,
    bare_number,
    unknown_unit,
    negative_time,
    unknown_controller,
    unknown_setting_of_a_controller,
    unknown_queue,
    probability_above_one,
]


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.__name__)
def test_a_wrong_scenario_is_not_valid_and_check_refuses_it_too(
    mistake, validator, windlass, tmp_path
):
    document = scenario()
    mistake(document)
    assert not validator.is_valid(document)
    file = tmp_path / "wrong.json"
    file.write_text(json.dumps(document))
    status = subprocess.run([windlass, "sim", "check", file], capture_output=True).returncode
    assert status == 2

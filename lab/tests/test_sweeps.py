"""Sweeps: what a study runs, and that its rows do not depend on how it ran."""

import json
import subprocess
import sys
import tomllib

import pytest

import windlass_lab as wl
from windlass_lab.cli import main
from windlass_lab.core.errors import LabError
from windlass_lab.sweeps import study as studies
from windlass_lab.sweeps.rows import Runner

pl = pytest.importorskip("polars")
pytest.importorskip("windlass_lab._native", reason="build it with scripts/build-native")

SCENARIO = """
schema = 1
name = "two-flows"
duration = "2s"
steady_from = "500ms"
flows = [{ from = "each", controller = "reno" }]
[dumbbell]
access = [{ delay = "1ms", count = 2 }]
bottleneck = { rate = "10Mbit/s", delay = "5ms", queue = "droptail" }
"""
STUDY = """
schema = 1
scenario = "two.toml"
seeds = 2
[axes]
"flows.0.controller" = ["reno", "cubic"]
"dumbbell.bottleneck.delay" = { from = 1, to = 100, count = 3, scale = "log", unit = "ms" }
"""


@pytest.fixture
def write(tmp_path):
    (tmp_path / "two.toml").write_text(SCENARIO)

    def make(text: str = STUDY):
        path = tmp_path / "study.toml"
        path.write_text(text)
        return path

    return make


def test_all_combinations_run_with_all_seeds(write):
    frame = wl.sweep(write()).collect()
    assert frame["run"].to_list() == list(range(12))
    assert frame["seed"].to_list() == [1, 2] * 6
    assert frame["flows.0.controller"].to_list() == ["reno"] * 6 + ["cubic"] * 6
    assert (
        frame["dumbbell.bottleneck.delay"].to_list()[:6]
        == ["1ms"] * 2 + ["10ms"] * 2 + ["100ms"] * 2
    )
    # Each row is that of a run by itself.
    one = wl.simulate(
        write().with_name("two.toml"),
        seed=2,
        set={"flows.0.controller": "cubic", "dumbbell.bottleneck.delay": "10ms"},
    )
    row = frame.row(9, named=True)
    assert row["fairness_index.steady"] == one.summary["fairness_index"]["steady"]
    assert row["total_packets_per_s.whole_run"] == one.summary["total_packets_per_s"]["whole_run"]


def test_one_job_and_many_write_the_same_bytes(write, tmp_path):
    study = write()
    for jobs in (1, 5):
        wl.sweep(study, out=tmp_path / f"jobs{jobs}", jobs=jobs).collect()
    one, many = ((tmp_path / f"jobs{jobs}/rows.parquet").read_bytes() for jobs in (1, 5))
    assert one == many


def test_a_killed_sweep_goes_on_where_it_ended(write, tmp_path):
    study = write()
    whole = wl.sweep(study, out=tmp_path / "whole").collect()
    rows = (tmp_path / "whole/rows.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "cut").mkdir()
    # Some rows in another order, and the beginning of a line.
    (tmp_path / "cut/rows.jsonl").write_text(rows[0] + rows[5] + rows[2] + rows[9][:20])
    counts = []
    sweep = wl.sweep(study, out=tmp_path / "cut", resume=True)
    frame = sweep.collect(lambda done, of: counts.append((done, of)))
    assert frame.equals(whole)
    assert counts[0][0] > 2 and counts[-1] == (12, 12)
    lines = (tmp_path / "cut/rows.jsonl").read_text().splitlines()
    assert sorted(json.loads(line)["run"] for line in lines[1:]) == list(range(12))
    assert (tmp_path / "cut/rows.parquet").read_bytes() == (
        tmp_path / "whole/rows.parquet"
    ).read_bytes()


def test_rows_of_another_study_are_not_mixed_in(write, tmp_path):
    wl.sweep(write(), out=tmp_path / "out").collect()
    with pytest.raises(LabError, match="go on with --resume"):
        wl.sweep(write(), out=tmp_path / "out").collect()
    other = write(STUDY.replace("seeds = 2", "seeds = 3"))
    with pytest.raises(LabError, match="of another study"):
        wl.sweep(other, out=tmp_path / "out", resume=True).collect()
    write().with_name("two.toml").write_text(SCENARIO.replace('"2s"', '"3s"'))
    with pytest.raises(LabError, match="of another study"):
        wl.sweep(write(), out=tmp_path / "out", resume=True).collect()


def test_what_is_kept_can_be_chosen(write):
    keep = 'keep = ["fairness_index.steady", "flows.1.marks", "flows.1.controller"]\n'
    frame = wl.sweep(write(STUDY.replace("[axes]", keep + "[axes]"))).collect()
    assert frame.columns[-3:] == ["fairness_index.steady", "flows.1.marks", "flows.1.controller"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("[axes]", 'keep = ["flows.7.marks"]\n[axes]'), r"the summary has no flows\.7"),
        (("[axes]", 'keep = ["flows.0.mraks"]\n[axes]'), r"the summary has no flows\.0\.mraks"),
        (("[axes]", 'keep = ["flows.0"]\n[axes]'), "neither a number nor a text"),
        (('"cubic"', '"cubik"'), r"run 6 .*cubik"),
        (('"cubic"', "2026-11-28"), "not a value of a scenario"),
        (('"cubic"', "nan"), "nan is not a value of a scenario"),
        (("flows.0.controller", "seed"), "another column of this name"),
        (("to = 100", "to = inf"), "expected a number"),
    ],
)
def test_a_study_that_is_refused_leaves_nothing_behind(write, tmp_path, change, message):
    out = tmp_path / "new/out"
    with pytest.raises(LabError, match=message):
        wl.sweep(write(STUDY.replace(*change)), out=out).collect()
    assert not out.parent.exists()


MIXED = {
    "text beside table": (
        '"flows.0.controller" = ["reno", { kind = "new-ecn", beta = 8 }]',
        ["reno", '{"kind" = "new-ecn", "beta" = 8}'],
    ),
    "number beside table": (
        '"dumbbell.bottleneck.loss" = [0.0, { packets = [3] }]',
        ["0.0", '{"packets" = [3]}'],
    ),
    "tables of different keys": (
        '"dumbbell.bottleneck.queue" = [{ kind = "red", min = "5 packets", max = "9 packets" }, '
        '{ kind = "droptail", limit = "50 packets" }]',
        [
            '{"kind" = "red", "min" = "5 packets", "max" = "9 packets"}',
            '{"kind" = "droptail", "limit" = "50 packets"}',
        ],
    ),
    "table beside list": (
        '"dumbbell.bottleneck.loss" = [{ packets = [] }, { packets = [1, 2] }]',
        ['{"packets" = []}', '{"packets" = [1, 2]}'],
    ),
    "whole number beside fraction": ('"dumbbell.bottleneck.loss" = [0, 0.5]', [0.0, 0.5]),
    "truth values": ('"flows.0.ecn" = [true, false]', [True, False]),
    "truth value beside text": ('"flows.0.ecn" = [true, "copied"]', None),
}


@pytest.mark.parametrize("axis", MIXED)
def test_values_of_any_kind_are_written_or_refused_before_the_first_run(write, tmp_path, axis):
    """The table has one type in a column; rows.jsonl has the values as they are."""
    line, expected = MIXED[axis]
    study = write(f'schema = 1\nscenario = "two.toml"\n[axes]\n{line}\n')
    out = tmp_path / "out"
    if expected is None:
        with pytest.raises(LabError):
            wl.sweep(study, out=out).collect()
        assert not out.exists()
        return
    frame = wl.sweep(study, out=out).collect()
    key = next(iter(studies.read(study).axes))
    assert frame[key].to_list() == expected
    assert pl.read_parquet(out / "rows.parquet").equals(frame)
    rows = [json.loads(line) for line in (out / "rows.jsonl").read_text().splitlines()[1:]]
    assert [row[key] for row in rows] == list(studies.read(study).axes[key])
    assert wl.sweep(study, out=out, resume=True).collect().equals(frame)


def test_a_text_of_the_table_is_what_set_takes(write):
    study = write(f"schema = 1\nscenario = 'two.toml'\n[axes]\n{MIXED['text beside table'][0]}\n")
    frame = wl.sweep(study).collect()
    text = frame["flows.0.controller"][1]
    (value,) = tomllib.loads(f"x = {text}").values()
    run = wl.simulate(study.with_name("two.toml"), seed=1, set={"flows.0.controller": value})
    assert (
        frame["total_packets_per_s.whole_run"][1]
        == (run.summary["total_packets_per_s"]["whole_run"])
    )


def test_a_figure_that_some_runs_lack_is_null_there(write):
    """A slope for New-ECN alone, a policer's drops where there is one, a third flow's rate."""
    keep = ["flows.0.slope.time_mean", "queues.0.policed", "flows.2.packets_per_s.steady"]
    text = f"""
schema = 1
scenario = "two.toml"
keep = {json.dumps(keep)}
[axes]
"flows.0.controller" = ["reno", "new-ecn"]
"dumbbell.access.0.count" = [2, 3]
"dumbbell.bottleneck.policer" = [
  {{ rate = "1Mbit/s", burst = "15kB" }}, {{ rate = "9Mbit/s", burst = "15kB" }},
]
"""
    frame = wl.sweep(write(text)).collect()
    slope, policed, third = (frame[key].is_null().to_list() for key in keep)
    assert slope == [True] * 4 + [False] * 4
    assert not any(policed)
    assert third == [True, True, False, False] * 2


def test_a_seed_beyond_signed_numbers_has_its_column(write):
    study = write(STUDY.replace("seeds = 2", f"seeds = [1, {2**64 - 1}]"))
    assert wl.sweep(study).collect()["seed"].to_list()[:2] == [1, 2**64 - 1]


# Python leaves half a file of bytecode behind where there is no room for it, and cannot import the
# module any more. The other tests' processes would meet it.
FULL = """
import resource, sys
sys.dont_write_bytecode = True
from windlass_lab.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.parametrize("room", [100, 4500, 6500])
def test_a_full_disk_is_one_error_and_nothing_is_half_written(write, tmp_path, room):
    """A limit on the size of files stands for the disk: writes fail in the same places. There is
    room for no line, for some rows, for all of them without the table.
    """
    study, out = write(), tmp_path / "new/out"
    command = [sys.executable, "-c", FULL, str(room), "sweep", str(study), "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1, done.stderr
    assert "cannot write" in done.stderr
    if room == 100:
        assert not out.parent.exists()
        return
    assert [file.name for file in out.iterdir()] == ["rows.jsonl"]
    lines = (out / "rows.jsonl").read_text().splitlines(keepends=True)
    assert all(line.endswith("\n") and json.loads(line) for line in lines)
    assert wl.sweep(study, out=out, resume=True).collect().equals(wl.sweep(study).collect())


@pytest.mark.parametrize(
    ("keys", "values"),
    [
        ("{ from = 1, to = 2, count = 3 }", [1, 1.5, 2]),
        ('{ from = 1, to = 100, count = 3, scale = "log", unit = "ms" }', ["1ms", "10ms", "100ms"]),
        ("{ from = 0.1, to = 0.3, count = 3 }", [0.1, 0.2, 0.3]),
        ("{ from = 5, to = 9, count = 1 }", [5]),
        ('[1, true, "x"]', [1, True, "x"]),
    ],
)
def test_an_axis_is_a_list_or_a_range(write, keys, values):
    study = studies.read(write(f'schema = 1\nscenario = "two.toml"\n[axes]\na = {keys}\n'))
    assert study.axes["a"] == values


UNIFORM = '"uniform", low = 2, high = 3'
LOG_UNIFORM = '"log-uniform", low = 2, high = 3'
NORMAL = '"normal", mean = 9, sd = 1'


@pytest.mark.parametrize("law", [UNIFORM, LOG_UNIFORM, NORMAL])
def test_a_distribution_is_drawn_from_its_seed(write, law):
    def drawn(more: str):
        axis = f"{{ distribution = {law}, count = 50{more} }}"
        text = f'schema = 1\nscenario = "two.toml"\n[axes]\na = {axis}\n'
        return studies.read(write(text)).axes["a"]

    assert drawn("") == drawn("") != drawn(", seed = 2")
    assert len(set(drawn(""))) == 50
    assert all(2 <= value <= 3 or law == NORMAL for value in drawn(""))
    assert drawn(', unit = "ms"')[0].endswith("ms")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("schema = 1", "schema = 2"), "schema: expected 1"),
        (("two.toml", "no.toml"), "scenario: there is no file"),
        (("seeds = 2", "seeds = 0"), "seeds: expected a number"),
        (("seeds = 2", "seed = 2"), "seed: unknown key"),
        (('["reno", "cubic"]', "[]"), "at least one value"),
        (("count = 3", "count = 0"), "count: expected the number"),
        (("count = 3", "cuont = 3"), "cuont: unknown key"),
        (("from = 1", "from = 0"), "a log scale needs bounds above 0"),
        (("from = 1", 'from = "1ms"'), "from: expected a number"),
        (("[axes]", "[axes"), "not TOML"),
    ],
)
def test_a_fault_of_a_study_is_named(write, capsys, change, message):
    assert main(["sweep", str(write(STUDY.replace(*change)))]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("unit", ["us", "ms", "s"])
def test_every_value_of_a_range_with_a_unit_is_one_that_scenarios_take(write, unit):
    axis = f'{{ from = 1, to = 90, count = 9, scale = "log", unit = "{unit}" }}'
    drawn = f'{{ distribution = "uniform", low = 1, high = 9, count = 9, unit = "{unit}" }}'
    for values in (axis, drawn):
        text = STUDY.partition("[axes]")[0] + f'[axes]\n"dumbbell.bottleneck.delay" = {values}\n'
        assert len(wl.sweep(write(text)).collect()) == 18


@pytest.mark.parametrize("jobs", [1, 2, 4])
def test_the_first_run_that_the_scenario_refuses_is_named(write, jobs):
    study = write(STUDY.replace('"cubic"', '"cubik"'))
    for _ in range(10):
        with pytest.raises(LabError, match=r"run 6 .*cubik"):
            wl.sweep(study, jobs=jobs).collect()


def test_the_command_writes_a_table(write, tmp_path, capsys):
    out = tmp_path / "out"
    assert main(["sweep", str(write()), "--out", str(out), "--jobs", "2"]) == 0
    assert capsys.readouterr().out.strip() == str(out / "rows.parquet")
    assert len(pl.read_parquet(out / "rows.parquet")) == 12


def test_a_trace_travels_with_its_scenario(write, tmp_path):
    """Workers elsewhere have no files of the study."""
    (tmp_path / "slow.trace").write_text("# one packet each 2 ms\n1\n3\n5\n6\n")
    text = SCENARIO.replace('rate = "10Mbit/s"', 'rate = { trace = "slow.trace" }')
    path = write()
    (tmp_path / "two.toml").write_text(text)
    before = wl.sweep(path).collect()
    runner = Runner.of(studies.read(path))
    (tmp_path / "slow.trace").unlink()
    point = next(studies.read(path).points())
    row = before.drop("dumbbell.bottleneck.delay_ms").row(0, named=True)
    assert runner.run(point) == row

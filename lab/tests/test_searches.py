"""Searches: which trials are best, and that the number of jobs changes nothing."""

import json

import pytest

import windlass_lab as wl
from windlass_lab.cli import main
from windlass_lab.core.errors import LabError

pl = pytest.importorskip("polars")
pytest.importorskip("windlass_lab._native", reason="build it with scripts/build-native")

from windlass_lab.searches.search import best_of  # noqa: E402

SCENARIO = """
schema = 1
name = "two-flows"
duration = "4s"
steady_from = "1s"
flows = [{ from = "each", controller = "newreno", ecn = true }]
[dumbbell]
access = [{ delay = "1ms", count = 2 }]
bottleneck = { rate = "10Mbit/s", delay = "5ms", queue = "marking" }
[queues.marking]
kind = "red"
min = "5 packets"
max = "20 packets"
limit = "100 packets"
"""
STUDY = """
schema = 1
scenario = "two.toml"
seeds = 2
[axes]
"queues.marking.min" = { from = 1, to = 30, whole = true, unit = " packets" }
"queues.marking.p_max" = { from = 0.01, to = 1, scale = "log" }
"flows.0.controller" = ["newreno", "cubic"]
[search]
trials = 24
[search.objectives]
"total_packets_per_s.steady" = "max"
"mean_queue_packets.steady" = "min"
"""
AXES = ["queues.marking.min", "queues.marking.p_max", "flows.0.controller"]


@pytest.fixture
def write(tmp_path):
    (tmp_path / "two.toml").write_text(SCENARIO)

    def make(text: str = STUDY):
        path = tmp_path / "study.toml"
        path.write_text(text)
        return path

    return make


@pytest.mark.parametrize("sampler", ["tpe", "nsga2", "random"])
def test_a_search_is_the_same_with_any_number_of_jobs(write, sampler):
    study = write(STUDY.replace("trials = 24", f'trials = 24\nsampler = "{sampler}"'))
    one, four = (wl.search(study, jobs=jobs).collect() for jobs in (1, 4))
    assert one.trials.equals(four.trials)
    assert one.trials["trial"].to_list() == list(range(24))
    assert one.trials["queues.marking.p_max"].n_unique() > 12


def test_the_front_is_what_no_other_trial_betters(write):
    result = wl.search(write()).collect()
    front = result.front.select("total_packets_per_s.steady", "mean_queue_packets.steady").rows()
    assert 1 <= len(front) < 24
    rates, queues = zip(*front, strict=True)
    assert list(rates) == sorted(rates) and list(queues) == sorted(queues)
    for rate, queue in (
        result.trials.filter(pl.col("refused").is_null())
        .select("total_packets_per_s.steady", "mean_queue_packets.steady")
        .rows()
    ):
        assert any(r >= rate and q <= queue for r, q in front)


def test_a_trial_is_the_mean_over_the_seeds(write):
    study = write()
    row = next(row for row in wl.search(study).collect().trials.to_dicts() if not row["refused"])
    values = {key: row[key] for key in AXES}
    runs = [wl.simulate(study.with_name("two.toml"), seed=seed, set=values) for seed in (1, 2)]
    mean = sum(run.summary["total_packets_per_s"]["steady"] for run in runs) / 2
    assert row["total_packets_per_s.steady"] == pytest.approx(mean)


PATHS = (
    STUDY
    + """
[search.paths]
near = {}
far = { "dumbbell.bottleneck.delay" = "40ms" }
[search.unseen]
between = { "dumbbell.bottleneck.delay" = "20ms" }
slow = { "dumbbell.bottleneck.rate" = "5Mbit/s" }
"""
)
FIRST = """
first = [
  { "queues.marking.min" = 4, "queues.marking.p_max" = 0.5, "flows.0.controller" = "cubic" },
]
"""


def test_a_trial_runs_on_every_path_and_the_best_ones_on_paths_that_none_saw(write):
    study = write(PATHS.replace("trials = 24", f"trials = 24{FIRST}"))
    trials = wl.search(study).collect().trials
    first = trials.row(0, named=True)
    values = {key: first[key] for key in AXES}
    assert values == {
        "queues.marking.min": "4 packets",
        "queues.marking.p_max": 0.5,
        "flows.0.controller": "cubic",
    }

    def mean(paths):
        rates = [
            wl.simulate(study.with_name("two.toml"), seed=seed, set=path | values).summary[
                "total_packets_per_s"
            ]["steady"]
            for path in paths
            for seed in (1, 2)
        ]
        return sum(rates) / len(rates)

    assert first["queues.marking.min_packets"] == 4
    rate = "total_packets_per_s.steady"
    assert first[rate] == pytest.approx(mean([{}, {"dumbbell.bottleneck.delay": "40ms"}]))
    assert first[f"unseen.{rate}"] == pytest.approx(
        mean([{"dumbbell.bottleneck.delay": "20ms"}, {"dumbbell.bottleneck.rate": "5Mbit/s"}])
    )
    judged = trials.filter(pl.col(f"unseen.{rate}").is_not_null())
    assert (
        judged["trial"].to_list()
        == trials.filter(pl.col("best") | (pl.col("trial") < 1))["trial"].to_list()
    )


def test_values_that_the_scenario_refuses_are_reported_and_not_best(write):
    """RED refuses a lower threshold above the upper one."""
    trials = wl.search(write()).collect().trials
    refused = trials.filter(pl.col("refused").is_not_null())
    assert 0 < len(refused) < 24
    assert refused["refused"].str.contains("min < max").all() and not refused["best"].any()
    hopeless = STUDY.replace("from = 1, to = 30", "from = 21, to = 30")
    with pytest.raises(LabError, match="min < max"):
        wl.search(write(hopeless)).collect()


TRANSFERS = """
schema = 1
scenario = "transfer.toml"
seeds = 2
[axes]
"dumbbell.bottleneck.loss" = { from = 0.001, to = 0.9 }
[search]
trials = 16
sampler = "random"
[search.objectives]
"flows.0.transfers.mean_completion_s" = "min"
"""


def test_a_figure_that_is_null_costs_a_trial_and_not_the_search(write, tmp_path):
    """With many losses no transfer ends, and none has a mean duration."""
    app = 'app = { kind = "transfer", size = "100kB" }'
    (tmp_path / "transfer.toml").write_text(
        SCENARIO.replace('controller = "newreno"', f'{app}, controller = "newreno"')
    )
    for sampler in ("random", "tpe"):
        study = write(TRANSFERS.replace("random", sampler))
        trials = wl.search(study, out=tmp_path / sampler).collect().trials
        null = trials.filter(pl.col("flows.0.transfers.mean_completion_s").is_null())
        assert 0 < len(null) < 16 and not null["best"].any()
        assert null["refused"].unique().to_list() == [
            "no figure: flows.0.transfers.mean_completion_s is null"
        ]
        assert trials["best"].sum() == 1
    hopeless = TRANSFERS.replace("from = 0.001", "from = 0.89")
    with pytest.raises(LabError, match="mean_completion_s is null"):
        wl.search(write(hopeless), out=tmp_path / "hopeless").collect()
    assert not (tmp_path / "hopeless").exists()


def test_choices_of_any_kind_are_tried_and_written(write):
    """Unseen paths judge them with the values of the study, not the texts of the table."""
    choices = '["newreno", { kind = "new-ecn", beta = 8 }]'
    lines = STUDY.replace('["newreno", "cubic"]', choices).replace("trials = 24", "trials = 8")
    unseen = '[search.unseen]\nnear = { "dumbbell.bottleneck.delay" = "2ms" }\n'
    trials = wl.search(write(lines + unseen)).collect().trials
    texts = {"newreno", '{"kind" = "new-ecn", "beta" = 8}'}
    assert set(trials["flows.0.controller"]) == texts
    best = trials.filter("best")
    assert best["unseen.total_packets_per_s.steady"].is_not_null().all()


@pytest.mark.parametrize(
    ("rows", "signs", "best"),
    [
        ([(1.0,), (3.0,), (2.0,)], [1], [False, True, False]),
        ([(1.0,), (3.0,), (1.0,)], [-1], [True, False, True]),
        ([(1.0, 9.0), (2.0, 5.0), (2.0, 6.0), None], [1, -1], [False, True, False, False]),
    ],
)
def test_best_is_not_dominated(rows, signs, best):
    assert best_of(rows, signs) == best


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("[search]", "[serach]"), "serach: unknown key"),
        (('"max"', '"most"'), "search.objectives: expected keys"),
        (("trials = 24", "trials = 0"), "search.trials: expected a whole number"),
        (("trials = 24", 'sampler = "cma"'), "search.sampler: expected tpe, nsga2, random"),
        (("from = 0.01", "from = 0"), "a log scale needs bounds above 0"),
        (("to = 1,", "to = 0.001,"), "expected from below to"),
        (("to = 30, whole", "to = 30.5, whole"), "expected whole bounds"),
        (('["newreno", "cubic"]', "true"), "expected a list, or a range"),
        (("mean_queue_packets.steady", "mean_queue"), "the summary has no mean_queue"),
        (("trials = 24", "paths = 3"), "search.paths: expected tables"),
        (("trials = 24", "first = [{}]"), "search.first.0: expected a value for each axis"),
        (
            ("trials = 24", FIRST.replace("= 4,", "= 40,")),
            "search.first.0.queues.marking.min: expected a number within the axis's range",
        ),
        (
            ("trials = 24", FIRST.replace('"cubic"', '"bbr"')),
            "search.first.0.flows.0.controller: expected one of the axis's values",
        ),
    ],
)
def test_a_fault_of_a_study_is_named(write, capsys, change, message):
    assert main(["search", str(write(STUDY.replace(*change)))]) == 2
    assert message in capsys.readouterr().err


def test_a_sweep_refuses_the_study_of_a_search(write, capsys):
    assert main(["sweep", str(write())]) == 2
    assert "windlass-lab search" in capsys.readouterr().err


def test_the_command_writes_trials_and_a_page_and_overwrites_nothing(write, tmp_path, capsys):
    out = tmp_path / "out"
    assert main(["search", str(write()), "--out", str(out), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["kind"], answer["front"][0]["best"]) == ("lab.search", True)
    trials = pl.read_parquet(out / "trials.parquet")
    assert trials["best"].sum() == len(answer["front"])
    assert "mean_queue_packets.steady" in (out / "search.html").read_text()
    assert main(["search", str(write()), "--out", str(out)]) == 2
    assert "exists already" in capsys.readouterr().err


def test_the_figure_is_a_picture_too(write, tmp_path):
    figure = wl.search(write()).collect().plot()
    assert figure.save(tmp_path / "front.svg").read_text().startswith("<?xml")
    one = STUDY.replace('"mean_queue_packets.steady" = "min"\n', "")
    assert wl.search(write(one)).collect().plot().save(tmp_path / "one.png").stat().st_size > 1000

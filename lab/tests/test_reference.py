import pytest

from windlass_lab.core.errors import LabError
from windlass_lab.core.experiments.reference import (
    Published,
    load_published,
    load_reference,
    load_reference_acks,
)
from windlass_lab.core.statistics.estimate import FlowResult
from windlass_lab.papers.registry import find


def test_the_reference_has_every_case_of_the_catalogue():
    paper, experiments = find("new-ecn", quick=False)
    # The simulated cases of a kernel's path are the reference of the runs on it.
    cases = {case.stem for e in experiments for case in e.cases if not e.kernels}
    # The paper has no figures of the questions that it left open.
    cases -= {"gateways", "load", "fixed_probability", "four_flows"}
    models = {model.name for e in experiments for model in e.models}
    assert cases | models <= set(load_reference(paper.id).cases)


def test_the_reference_has_the_figures_of_the_paper():
    cases = load_reference("new-ecn").cases
    assert cases["s1_10M_p0.1_newecn"].values["fairness_index.whole_run"].mean == 0.9844
    rtts = [flow.rtt_min_ms for flow in cases["s1_10M_p0.1_newecn"].flows]
    assert rtts == [4.0, 30.0, 70.0, 190.0]


def test_reference_curves_end_at_the_rate_of_their_flow():
    slowest = load_reference_acks("new-ecn")["s1_10M_p0.1_ecn"][-1]
    assert slowest["rtt_min_ms"] == 190
    rate = slowest["packets"][-1] / slowest["time_s"][-1]
    assert rate == pytest.approx(65, rel=0.2)


def test_a_plain_published_figure_is_that_of_the_whole_run():
    published = Published({"fairness_index": 0.99})
    assert published.figure("fairness_index.whole_run") == 0.99
    assert published.figure("fairness_index.steady") is None


def test_published_figures_of_flows_are_found_by_rtt():
    published = Published({"flows": [{"rtt_min_ms": 4, "cwnd_packets": 8.21}]})
    assert published.figure("cwnd_packets.trace_mean", FlowResult("a", 4.0, {})) == 8.21
    assert published.figure("cwnd_packets.time_mean", FlowResult("a", 4.0, {})) is None
    assert published.figure("cwnd_packets.trace_mean", FlowResult("b", 30.0, {})) is None


def test_fairness_in_words():
    assert Published({"fair": False}).figure("fairness_index.steady") == "not fair"
    assert Published({"fair": True}).figure("fairness_index.steady") == "fair"
    assert Published({}).figure("fairness_index.steady") is None


def test_the_rate_of_a_flow_alone_is_the_total():
    alone = Published({"flows": [{"rtt_min_ms": 30, "packets_per_s": 1208}]})
    assert alone.figure("total_packets_per_s.whole_run") == 1208


def test_a_scenario_that_is_not_toml_is_one_clear_error(tmp_path):
    file = tmp_path / "bad.toml"
    file.write_text("fairness_index = \n")
    with pytest.raises(LabError, match=r"bad\.toml"):
        load_published(file)

import json
import re

import pytest

from windlass_lab.core.report import report
from windlass_lab.papers.registry import find


@pytest.fixture
def documents(whole_result):
    """The result and its series, free to be changed."""
    return [json.loads((whole_result / name).read_text()) for name in FILES]


FILES = ("results.json", "series.json")


def page_of(documents) -> str:
    paper, _ = find("new-ecn", quick=False)
    return report.build(paper, *documents)


def test_what_agrees_may_be_folded_away(documents):
    assert "<summary>Each flow: 32 of 32 met</summary>" in page_of(documents)


def test_what_differs_is_never_folded_away(documents):
    [many] = [e for e in documents[0]["experiments"] if e["id"] == "4.2.3"]
    next(c for c in many["comparisons"] if c["flow"])["verdict"] = "fail"
    page = page_of(documents)
    assert "<summary>Each flow: 31 of 32 met</summary>" not in page
    assert ">Each flow: 31 of 32 met</caption>" in page
    figures = [
        c
        for e in documents[0]["experiments"]
        for c in e["comparisons"]
        if c["kind"] == "figure" and c["verdict"] != "informative"
    ]
    line = f"Held against the reference: figures {len(figures) - 1} of {len(figures)} met"
    assert line in page


def test_names_from_files_cannot_become_markup(documents):
    results, series = documents
    evil = "</script><script>alert(1)</script>"
    for flow in (
        *results["summaries"]["s1_10M_p0.1_newecn"]["flows"],
        *series["cases"]["s1_10M_p0.1_newecn"],
    ):
        flow["name"] = evil
    results["experiments"][0]["comparisons"][0]["quantity"] = evil
    page = page_of(documents)
    assert "alert(1)" in page
    assert evil not in page
    assert "<script>alert" not in page


def test_the_page_leads_with_a_verdict_for_every_section(documents):
    page = page_of(documents)
    overview = page[page.index('id="verdicts"') : page.index("<nav")]
    for experiment in documents[0]["experiments"]:
        assert f'href="#e-{experiment["id"]}"' in overview
        assert f'id="e-{experiment["id"]}"' in page
    assert "met; the furthest out: " in overview or "met</td>" in overview


def test_tables_have_a_column_for_the_modern_stack(documents):
    page = page_of(documents)
    assert '<th scope="col">Linux</th>' in page
    for experiment in documents[0]["experiments"]:
        for comparison in experiment["comparisons"]:
            comparison["modern"] = None
    assert '<th scope="col">Linux</th>' not in page_of(documents)


def test_a_table_of_powers_has_published_and_measured(documents):
    # (194.86 / 14.96) ** 1.5 - 7.662 / 0.1624, the figures of the reference, given back.
    assert "<td>-0.24 | -0.17</td>" in page_of(documents)


def figures_in(page: str) -> dict[str, str]:
    """The markup of the figures of the paper, by their numbers."""
    found = re.findall(r"<figure id=.*?</figure>", page, re.DOTALL)
    numbered = {re.search(r"<strong>Figure ([\d.]+)", markup): markup for markup in found}
    return {match[1]: markup for match, markup in numbered.items() if match}


def test_every_figure_of_the_paper_has_a_verdict_of_its_own(documents):
    figures = figures_in(page_of(documents))
    assert {"3.2", "3.4", *(f"4.{number}" for number in range(2, 13))} <= set(figures)
    bare = [number for number, markup in figures.items() if 'class="badge pass"' not in markup]
    assert bare == []


def test_figure_4_2_differs_when_the_flows_do_not_share(documents):
    [setup] = [e for e in documents[0]["experiments"] if e["id"] == "4.2.1-setup1"]
    [fair] = [c for c in setup["comparisons"] if c["key"] == "fairness_index.whole_run"]
    fair["verdict"] = "fail"
    figures = figures_in(page_of(documents))
    assert 'class="badge fail"' in figures["4.2"]
    assert 'class="badge pass"' in figures["4.3"]

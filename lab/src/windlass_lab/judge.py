"""From checks and results to comparisons."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from windlass_lab.catalogue import (
    Ascending,
    AtLeast,
    Check,
    Experiment,
    Flows,
    Near,
    Paper,
    Quantity,
    Shown,
)
from windlass_lab.estimate import CaseResult, Estimate, FlowResult, pair_by_rtt
from windlass_lab.reference import Published, load_reference
from windlass_lab.verdict import (
    Comparison,
    Subject,
    ascending,
    at_least,
    informative,
    near,
)


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything known of the cases, by name."""

    measured: Mapping[str, CaseResult]
    reference: Mapping[str, CaseResult]
    published: Mapping[str, Published]


def evidence_in(paper: Paper, results: Mapping) -> Evidence:
    """What a result document holds, beside the reference of its paper."""
    seeds = {model.name: model.seeds for e in paper.experiments for model in e.models}
    measured = {
        name: CaseResult.from_summary(summary, seeds.get(name, results["replicates"]))
        for name, summary in results["summaries"].items()
    }
    published = {name: Published(table) for name, table in results["published"].items()}
    return Evidence(measured, load_reference(paper.id).cases, published)


def judge(experiment: Experiment, evidence: Evidence) -> list[Comparison]:
    """Every check of an experiment against the evidence, in order."""
    labels = {case.name: case.label for case in (*experiment.cases, *experiment.models)}
    return [
        comparison for check in experiment.checks for comparison in _apply(check, labels, evidence)
    ]


def _apply(check: Check, labels: Mapping[str, str], evidence: Evidence) -> Iterator[Comparison]:
    match check:
        case Near():
            for subject in _subjects(check, labels, evidence):
                yield near(subject, check.tolerance, check.target)
        case AtLeast():
            for subject in _subjects(check, labels, evidence):
                yield at_least(subject, check.bound)
        case Shown():
            for subject in _subjects(check, labels, evidence):
                yield informative(subject)
        case Ascending():
            figures = [
                (labels[name], _value(evidence.measured.get(name), check.quantity))
                for name in check.cases
            ]
            yield ascending(f"{check.quantity.label}: the order", check.quantity.unit, figures)


def _subjects(
    check: Near | AtLeast | Shown, labels: Mapping[str, str], evidence: Evidence
) -> Iterator[Subject]:
    label = f"{labels[check.case]}: {check.quantity.label}"
    headline = getattr(check, "headline", False)
    measured = evidence.measured[check.case]
    reference = evidence.reference.get(check.case)
    published = evidence.published.get(check.case, Published({}))
    key = check.quantity.key
    if getattr(check, "flows", Flows.TOGETHER) == Flows.TOGETHER:
        yield Subject(
            quantity=label,
            unit=check.quantity.unit,
            published=published.figure(key),
            reference=_value(reference, check.quantity),
            measured=_value(measured, check.quantity),
            headline=headline,
        )
        return
    for flow, partner in _flow_pairs(measured, reference):
        yield Subject(
            quantity=label,
            unit=check.quantity.unit,
            flow=flow_label(flow),
            published=published.figure(key, partner or flow),
            reference=partner.values.get(key) if partner else None,
            measured=flow.values.get(key),
            headline=headline,
        )


def _flow_pairs(
    measured: CaseResult, reference: CaseResult | None
) -> list[tuple[FlowResult, FlowResult | None]]:
    if reference is None:
        return [(flow, None) for flow in measured.flows]
    return list(pair_by_rtt(measured.flows, reference.flows))


def flow_label(flow: FlowResult) -> str:
    """How tables and plots call a flow: its name and its smallest RTT, unless the name has it."""
    rtt = f"{flow.rtt_min_ms:.3g}"
    return flow.name if f"{rtt}ms" in flow.name else f"{flow.name}, {rtt} ms"


def _value(case: CaseResult | None, quantity: Quantity) -> Estimate | None:
    return case.values.get(quantity.key) if case else None

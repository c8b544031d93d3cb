"""From checks and results to comparisons."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from windlass_lab.core.experiments.model import (
    Ascending,
    AtLeast,
    Check,
    Compared,
    Effect,
    Experiment,
    Flows,
    Near,
    PairFigure,
    Pairs,
    Paper,
    Quantity,
    Shown,
    Statement,
)
from windlass_lab.core.experiments.reference import Published, load_reference
from windlass_lab.core.statistics.derive import exponent, pair_names, ratio
from windlass_lab.core.statistics.estimate import CaseResult, Estimate, FlowResult, pair_flows
from windlass_lab.core.statistics.interval import FEWEST_RUNS, FEWEST_SEEDS
from windlass_lab.core.verdicts.effect import effect
from windlass_lab.core.verdicts.verdict import (
    INFORMATIVE,
    Comparison,
    Subject,
    ascending,
    at_least,
    informative,
    near,
    within,
)

_SRTT = "srtt_ms.trace_mean"


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything known of the cases, by name; `modern` names the case with a modern stack."""

    measured: Mapping[str, CaseResult]
    reference: Mapping[str, CaseResult]
    published: Mapping[str, Published]
    modern: Mapping[str, str] = field(default_factory=dict)

    def modern_case(self, case: str) -> CaseResult | None:
        """The same case with a modern stack, where that was run."""
        return self.measured.get(self.modern.get(case, ""))


def evidence_in(paper: Paper, results: Mapping) -> Evidence:
    """The figures of a result document and of the reference of its paper."""
    seeds = {model.name: model.seeds for e in paper.experiments for model in e.models}
    measured = {
        name: CaseResult.from_summary(summary, seeds.get(name, results["replicates"]))
        for name, summary in results["summaries"].items()
    }
    published = {name: Published(table) for name, table in results["published"].items()}
    reference = dict(load_reference(paper.id).cases)
    for modelled in (case for e in paper.experiments for case in e.cases if case.beside):
        if modelled.beside in measured:
            reference[modelled.name] = measured[modelled.beside]
    for case in (case for e in paper.experiments for case in e.kernels):
        if case.beside in measured:
            reference[case.name] = measured[case.beside]
        if case.beside in published:
            published[case.name] = published[case.beside]
    return Evidence(measured, reference, published, paper.modern)


def judge(experiment: Experiment, evidence: Evidence) -> list[Comparison]:
    """Every check of an experiment against the evidence, in order."""
    labels = {case.name: case.label for case in experiment.named.values()}
    # Of real packets runs are few; of the simulator there are seeds.
    fewest = FEWEST_RUNS if experiment.kernels or experiment.servers else FEWEST_SEEDS
    return [
        comparison
        for check in experiment.checks
        for comparison in _apply(check, labels, evidence, fewest)
    ]


def _apply(
    check: Check, labels: Mapping[str, str], evidence: Evidence, fewest: int
) -> Iterator[Comparison]:
    match check:
        case Near() | AtLeast() | Shown():
            for subject in _subjects(check, labels, evidence):
                yield _alone(check, replace(subject, fewest=fewest))
        case Effect() | Compared():
            yield _ratio(check, labels, evidence, fewest)
        case Statement():
            yield _statement(check, labels, evidence, fewest)
        case Ascending():
            yield _ascending(check, labels, evidence, fewest)
        case Pairs():
            yield from _pairs(check, evidence)


def _alone(check: Near | AtLeast | Shown, subject: Subject) -> Comparison:
    match check:
        case Near():
            about = replace(subject, criterion=check.criterion)
            found = near(about, check.tolerance, check.target)
            if check.claim:
                return replace(found, paper=found.verdict, verdict=INFORMATIVE)
            return replace(found, by_construction=check.by_construction)
        case AtLeast():
            about = replace(subject, criterion=check.criterion, exact=check.exact)
            found = at_least(about, check.bound)
            return replace(found, by_construction=check.by_construction)
        case Shown():
            return informative(subject)


def _ratio(
    check: Effect | Compared, labels: Mapping[str, str], evidence: Evidence, fewest: int
) -> Comparison:
    above, below = (
        _value(evidence.measured.get(name), check.quantity) for name in (check.case, check.beside)
    )
    subject = Subject(
        f"{labels[check.case]} over {labels[check.beside]}: {check.quantity.label.lower()}",
        case=check.case,
        key=check.quantity.key,
        fewest=fewest,
    )
    if isinstance(check, Compared):
        return effect(subject, above, below, None, None)
    about = replace(
        subject,
        published=check.says or None,
        headline=check.headline,
        criterion=check.criterion,
        exact=check.exact,
    )
    return effect(about, above, below, check.means, check.must)


def _statement(
    check: Statement, labels: Mapping[str, str], evidence: Evidence, fewest: int
) -> Comparison:
    subject = Subject(
        f"{labels[check.case]}: {check.quantity.label}",
        check.quantity.unit,
        published=check.says,
        measured=_value(evidence.measured.get(check.case), check.quantity),
        headline=check.headline,
        case=check.case,
        key=check.quantity.key,
        criterion=check.criterion,
        fewest=fewest,
        exact=check.exact,
    )
    found = within(subject, check.means)
    if check.by_construction or subject.measured is None:
        return replace(found, by_construction=check.by_construction)
    return replace(found, verdict=INFORMATIVE)


def _ascending(
    check: Ascending, labels: Mapping[str, str], evidence: Evidence, fewest: int
) -> Comparison:
    figures = [
        (labels[name], _value(evidence.measured.get(name), check.quantity)) for name in check.cases
    ]
    what = Subject(
        f"{check.quantity.label}: the order",
        check.quantity.unit,
        published=check.says or None,
        key="order",
        criterion=check.criterion,
        fewest=fewest,
    )
    return ascending(what, figures)


def _pairs(check: Pairs, evidence: Evidence) -> Iterator[Comparison]:
    def figures(case: CaseResult | None) -> dict[str, Estimate | None]:
        return {name: _of_pair(check, *pair) for name, *pair in pair_names(case)} if case else {}

    measured = figures(evidence.measured[check.case])
    reference = figures(evidence.reference.get(check.case))
    modern = figures(evidence.modern_case(check.case))
    for name, figure in measured.items():
        subject = Subject(
            quantity=check.quantity.label,
            flow=f"TCP {name.replace(':', ' : TCP ')}",
            published=check.published.get(name),
            reference=reference.get(name),
            measured=figure,
            case=check.case,
            key=f"{check.figure}.{check.quantity.key}",
            modern=modern.get(name),
            criterion=check.criterion,
        )
        yield near(subject, check.tolerance)


def _of_pair(check: Pairs, left: FlowResult, right: FlowResult) -> Estimate | None:
    if check.figure == PairFigure.RATIO:
        return ratio(left, right, check.quantity.key)
    return exponent(left, right, check.quantity.key, _SRTT)


def _subjects(
    check: Near | AtLeast | Shown, labels: Mapping[str, str], evidence: Evidence
) -> Iterator[Subject]:
    measured = evidence.measured[check.case]
    reference = evidence.reference.get(check.case)
    modern = evidence.modern_case(check.case)
    published = evidence.published.get(check.case, Published({}))
    key = check.quantity.key
    common = Subject(
        quantity=f"{labels[check.case]}: {check.quantity.label}",
        unit=check.quantity.unit,
        headline=getattr(check, "headline", False),
        case=check.case,
        key=key,
    )
    if getattr(check, "flows", Flows.TOGETHER) == Flows.TOGETHER:
        yield replace(
            common,
            published=published.figure(key),
            reference=_value(reference, check.quantity),
            measured=_value(measured, check.quantity),
            modern=_value(modern, check.quantity),
        )
        return
    # The same scenario has the same flows in the same order.
    modern_flows = modern.flows if modern else [None] * len(measured.flows)
    for (flow, partner), other in zip(flow_pairs(measured, reference), modern_flows, strict=True):
        yield replace(
            common,
            flow=flow_label(flow),
            published=published.figure(key, partner or flow),
            reference=partner.values.get(key) if partner else None,
            measured=flow.values.get(key),
            modern=other.values.get(key) if other else None,
        )


def flow_pairs(
    measured: CaseResult, reference: CaseResult | None
) -> list[tuple[FlowResult, FlowResult | None]]:
    """Each measured flow with its partner in the reference, where there is one."""
    if reference is None:
        return [(flow, None) for flow in measured.flows]
    return list(pair_flows(measured.flows, reference.flows))


def flow_label(flow: FlowResult) -> str:
    """How tables and plots call a flow: its name and its smallest RTT, unless the name has it."""
    rtt = f"{flow.rtt_min_ms:.3g}"
    return flow.name if f"{rtt}ms" in flow.name else f"{flow.name}, {rtt} ms"


def _value(case: CaseResult | None, quantity: Quantity) -> Estimate | None:
    return case.values.get(quantity.key) if case else None

"""The page and the text of a result."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from windlass_lab.core.files import output
from windlass_lab.core.plots.parts import Drawn, as_csv
from windlass_lab.core.report.page import environment, packed_json, plotting_library
from windlass_lab.core.text.numbers import NONE, figure, table
from windlass_lab.papers.split_ack.survey import Histogram
from windlass_lab.surveys import figures, labels
from windlass_lab.surveys.groups import printable

# Rows of a table on the page, and those of one that is not folded. The document has all.
_ROWS_MAX, _UNFOLDED_MAX = 30, 12
# Words wrap, and become cards on a phone; a table of numbers scrolls.
_WORDS, _NUMBERS = "verdicts words", "values"
_REASONS = f"{_WORDS} outcomes"
_GROUPS = {
    "server": ("By Server header", "product", "The first product of the header, without version."),
    "initial_ttl": (
        "By initial TTL",
        "initial TTL",
        "The next of 32, 64, 128 and 255 above the TTL on arrival: an assumption.",
    ),
    "network": (
        "By network",
        "network",
        "By name where --networks has one, else IPv4 by the first 16 bits and IPv6 by 32.",
    ),
}


@dataclass(frozen=True, slots=True)
class Table:
    """A table of text with its classes of CSS. `more` says what is left out."""

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""
    classes: str = _WORDS
    more: str = ""

    @property
    def folded(self) -> bool:
        """Whether the page shows it on demand."""
        return len(self.rows) > _UNFOLDED_MAX


@dataclass(frozen=True, slots=True)
class Shown:
    """A figure on the page with what is said of it, and a table of that. Without panels its values
    stand as a table.
    """

    drawn: Drawn
    says: str = ""
    table: Table | None = None


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page."""

    id: str
    title: str
    lines: Sequence[str] = ()
    figures: Sequence[Shown] = ()
    tables: Sequence[Table] = ()


def files(document: Mapping) -> dict[str, str]:
    """Every file that is made from a result, by its path in the directory."""
    sections = _sections(document)
    drawn = [shown.drawn for section in sections for shown in section.figures if shown.drawn.panels]
    return {
        output.REPORT: _page(document, sections, drawn),
        output.SUMMARY: text(document),
        **{f"{output.DATA}/{each.id}.csv": as_csv(each) for each in drawn},
    }


def _page(document: Mapping, sections: Sequence[Section], drawn: Sequence[Drawn]) -> str:
    surveys = document["surveys"]
    names = ", ".join(survey["label"] for survey in surveys)
    return (
        environment()
        .get_template("surveys.html.j2")
        .render(
            title=f"{'Survey' if len(surveys) == 1 else 'Surveys'} of slow start: {names}",
            warnings=labels.warnings(surveys),
            overview=Table(
                labels.survey_headings(), [labels.survey_row(survey) for survey in surveys]
            ),
            sections=sections,
            lab_version=document["lab_version"],
            specs=packed_json({panel.id: panel.spec for each in drawn for panel in each.panels}),
            library=plotting_library(),
        )
    )


def _sections(document: Mapping) -> list[Section]:
    surveys = document["surveys"]
    return [
        _verdicts(surveys),
        *(_comparison(number, of) for number, of in enumerate(document["comparisons"])),
        *_ip_versions(document["ip_versions"]),
        *(_grouped(by, surveys) for by in _GROUPS),
        _published(surveys),
    ]


def _published(surveys: Sequence[Mapping]) -> Section:
    shown = [_shown(of, drawn, surveys) for of, drawn in figures.published(surveys)]
    missing = len(figures.HISTOGRAMS) - len(shown)
    lines = [
        "The figures that Normann 2011 has of 600 web sites, from these surveys. His text has what "
        "stands beside them; the bounds are the lab's reading of it."
    ]
    if missing:
        lines.append(
            "A figure needs servers with its test: 4.14 and 4.16 test A, 4.15 and 4.17 test C."
        )
    return Section("published", "Beside Normann 2011: figures 4.14 to 4.17", lines, shown)


def _shown(of: Histogram, drawn: Drawn, surveys: Sequence[Mapping]) -> Shown:
    rows = figures.statements(of.figure, surveys)
    headings = ("", "Normann 2011", *(survey["label"] for survey in surveys))
    return Shown(drawn, of.says, Table(headings, rows) if any(rows) else None)


def _verdicts(surveys: Sequence[Mapping]) -> Section:
    drawn = [figures.verdicts(surveys), figures.initial_windows(surveys), figures.ecn(surveys)]
    tables = []
    for survey in surveys:
        rows = [
            (
                entry["outcome"],
                f"{entry['hosts']:,}",
                f"{entry['hosts'] / survey['done']:.1%}",
                printable(entry["why"]) or NONE,
            )
            for entry in survey["outcomes"]
        ]
        if rows:
            headings = ("outcome", "hosts", "share", "the commonest reason")
            tables.append(Table(headings, rows, f"Outcomes, {survey['label']}", _REASONS))
    shown = [Shown(each) for each in drawn if each.rows]
    return Section("verdicts", "Reactions and initial windows", (), shown, tables)


def _comparison(number: int, of: Mapping) -> Section:
    tables = _contrast_tables(of, of["first"], of["second"])
    title = f"{of['first']} and {of['second']} compared"
    return Section(f"compared-{number}", title, labels.comparison_lines(of), (), tables)


def _ip_versions(of: Mapping) -> list[Section]:
    if not (of["ipv4"] and of["ipv6"]) and not of["pairs_missing"]:
        return []
    tables = _contrast_tables(of, "IPv4", "IPv6")
    lines = labels.ip_version_lines(of)
    if not of["hosts"]:
        lines.append("Surveys with -4 and -6 of the same names have both; or --same names pairs.")
    return [Section("ip-versions", "IPv4 and IPv6 of the same host", lines, (), tables)]


def _contrast_tables(of: Mapping, first: str, second: str) -> list[Table]:
    moves = [
        (f"{labels.verdict(m['first'])} → {labels.verdict(m['second'])}", str(m["hosts"]))
        for m in of["verdicts"]["moves"]
    ]
    verdicts = [
        (entry["host"], labels.verdict(entry["first"]), labels.verdict(entry["second"]))
        for entry in of["changed_verdicts"]
    ]
    windows = [
        (entry["host"], labels.window(entry["first"]), labels.window(entry["second"]))
        for entry in of["changed_initial_windows"]
    ]
    found = [
        _cut(Table((f"{first} → {second}", "hosts"), moves, "Hosts by both verdicts", _NUMBERS)),
        _cut(Table(("host", first, second), verdicts, "Another reaction")),
        _cut(Table(("host", first, second), windows, "Another initial window, packets")),
    ]
    return [each for each in found if each.rows]


def _cut(of: Table) -> Table:
    left = len(of.rows) - _ROWS_MAX
    more = f"and {left} more in results.json" if left > 0 else ""
    return replace(of, rows=of.rows[:_ROWS_MAX], more=more)


def _grouped(by: str, surveys: Sequence[Mapping]) -> Section:
    title, heading, about = _GROUPS[by]
    return Section(
        by.replace("_", "-"),
        title,
        (about,),
        (),
        [
            _cut(_group_table(survey["groups"][by], heading, survey["label"]))
            for survey in surveys
            if survey["groups"][by]
        ],
    )


def _group_table(groups: Sequence[Mapping], heading: str, label: str) -> Table:
    seen = {verdict for group in groups for verdict in group["verdicts"]}
    verdicts = labels.verdicts(seen)
    rows = [
        (
            group["name"],
            str(group["hosts"]),
            *(str(group["verdicts"].get(verdict, 0)) for verdict in verdicts),
            labels.window(group["initial_window"]),
            figure(group["rtt_ms"]),
            NONE if group["hops"] is None else f"{group['hops']:g}",
        )
        for group in groups
    ]
    headings = (
        *(heading, "hosts", *map(labels.verdict, verdicts)),
        *("initial window", "RTT, ms", "hops"),
    )
    return Table(headings, rows, label, classes=_NUMBERS)


def text(document: Mapping) -> str:
    """The result for a terminal."""
    surveys = document["surveys"]
    verdicts = labels.verdicts(name for survey in surveys for name in survey["verdicts"])
    parts = [
        table([labels.survey_headings(), *map(labels.survey_row, surveys)]),
        "\n".join(labels.warnings(surveys)),
    ]
    if verdicts:
        rows = [[s["label"], *(str(s["verdicts"].get(v, 0)) for v in verdicts)] for s in surveys]
        parts.append(table([("hosts", *map(labels.verdict, verdicts)), *rows]))
    for of in document["comparisons"]:
        lines = labels.comparison_lines(of)
        parts.append("\n".join([f"{of['first']} and {of['second']}:", *lines]))
    versions = document["ip_versions"]
    if versions["ipv4"] and versions["ipv6"]:
        parts.append("\n".join(labels.ip_version_lines(versions)))
    return "\n\n".join(part for part in parts if part) + "\n"

"""The labels of the values of a survey, on the page and in the text."""

from collections.abc import Iterable, Mapping, Sequence

from windlass_lab.core.text.numbers import NONE

VERDICTS = {
    "counts-acks": "counts ACKs",
    "counts-acks-and-more": "counts ACKs, and more",
    "counts-acks-at-rate": "counts ACKs, at another rate",
    "counts-bytes": "counts bytes",
    "negative": "negative",
    "no-growth": "no growth",
    "no-congestion-window": "no congestion window",
    "undecided": "undecided",
    "not-measured": "not measured",
}

# The answers to a SYN that asks for ECN.
ECN = {
    "accurate": "AccECN",
    "reserved": "AccECN, by a reserved answer",
    "classic": "classic ECN",
    "none": "no ECN",
    "reflected": "reflects the flags",
    "unknown": "no answer",
}


def verdicts(seen: Iterable[str]) -> list[str]:
    """Those that were seen, reactions in their order, then controllers."""
    names = set(seen)
    known = [name for name in VERDICTS if name in names]
    return known + sorted(names.difference(VERDICTS))


def verdict(name: str) -> str:
    """The label of a verdict; one of a later version as it is."""
    return VERDICTS.get(name, name)


def window(of: Mapping | None) -> str:
    """An initial window in packets, as `4`, or with its range, as `4 (2 to 10)`."""
    if of is None:
        return NONE
    middle = of.get("median", of.get("packets"))
    low, high = of.get("min"), of.get("max")
    text = f"{middle:g}"
    return text if low == high or low is None else f"{text} ({low} to {high})"


def runs(arguments: Mapping) -> str:
    """The runs of each test: a number, or the most where the survey stopped when it was certain."""
    count = str(arguments.get("runs", NONE))
    return f"up to {count}" if arguments.get("runs_until") == "certain" else count


def survey_headings() -> tuple[str, ...]:
    """Above the cells of `survey_row`."""
    return (
        *("survey", "begun (UTC)", "hosts listed", "done", "measured", "undecided"),
        *("not measured", "tests", "runs", "IP"),
    )


def survey_row(survey: Mapping) -> tuple[str, ...]:
    """A survey in a line."""
    by = {entry["outcome"]: entry["hosts"] for entry in survey["outcomes"]}
    measured, undecided = by.get("measured", 0), by.get("undecided", 0)
    arguments = survey["arguments"]
    return (
        survey["label"],
        survey["begun"].replace("T", " ").removesuffix("+00:00"),
        *map(str, (survey["listed"], survey["done"], measured, undecided)),
        str(survey["done"] - measured - undecided),
        ", ".join(map(str, arguments.get("tests", ()))) or NONE,
        runs(arguments),
        str(arguments.get("family", NONE)),
    )


def warnings(surveys: Sequence[Mapping]) -> list[str]:
    """A sentence for each reason why a survey is not whole."""
    found = []
    for survey in surveys:
        done, listed, label = survey["done"], survey["listed"], survey["label"]
        if done < listed:
            found.append(
                f"{label} is running or was interrupted: {done} of {listed} hosts are done."
            )
        if survey["torn_row"]:
            found.append(f"{label} ends in a row that is not whole, which is left out.")
        if not done:
            found.append(f"{label} has no host that is done.")
    return found


def contrast_lines(of: Mapping) -> list[str]:
    """A comparison in two sentences."""
    verdicts, windows = of["verdicts"], of["initial_windows"]
    return [
        f"Reaction: the same for {verdicts['same']} hosts, another for {verdicts['changed']}; "
        f"{verdicts['not_comparable']} have none in at least one.",
        f"Initial window: the same for {windows['same']} hosts, another for {windows['changed']}; "
        f"of {windows['not_comparable']} it is not exact or unknown in at least one.",
    ]


def comparison_lines(of: Mapping) -> list[str]:
    """Sentences on the hosts that two surveys share, and on the differences."""
    first, second = of["first"], of["second"]
    lines = [
        f"{of['in_both']} hosts are in both; {of['only_in_first']} only in {first}, "
        f"{of['only_in_second']} only in {second}."
    ]
    if of["other_ip_version"]:
        lines.append(
            f"{of['other_ip_version']} of them were reached over another version of IP and are "
            "not compared here."
        )
    if of["differing_arguments"]:
        lines.append(f"The surveys differ in: {', '.join(of['differing_arguments'])}.")
    return [*lines, *contrast_lines(of)] if of["hosts"] else lines


def ip_version_lines(of: Mapping) -> list[str]:
    """How many hosts were measured over which version of IP, and what differs."""
    lines = [
        f"{of['ipv4']} hosts have an IPv4 address, {of['ipv6']} an IPv6 address, "
        f"{of['hosts']} both."
    ]
    if of["pairs_missing"]:
        lines.append(
            f"Of {of['pairs_missing']} pairs of the file no survey has an IPv4 and an IPv6 address."
        )
    return [*lines, *contrast_lines(of)] if of["hosts"] else lines

"""`windlass-lab survey`, on surveys that `windlass probe survey` wrote (data/surveys/make)."""

import csv
import ipaddress
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from windlass_lab.cli import main
from windlass_lab.core.errors import LabError
from windlass_lab.surveys.contrast import of_ip_versions, of_surveys
from windlass_lab.surveys.document import document
from windlass_lab.surveys.figures import published, statements
from windlass_lab.surveys.groups import Networks, grouped, initial_ttl, product, read_pairs
from windlass_lab.surveys.labels import runs
from windlass_lab.surveys.page import text
from windlass_lab.surveys.stored import read, unmapped

DATA = Path(__file__).with_name("data") / "surveys"
SPRING, AUTUMN, IPV6 = (read(DATA / n, n) for n in ("spring", "autumn", "spring-ipv6"))
ATTACK = "<script>alert(1)</script>\u202e/1.0"


@pytest.fixture
def copy(tmp_path) -> Callable[..., Path]:
    """A copy of a survey, with columns of some hosts set: `copy("spring", {"http://..": {..}})`."""

    def make(name: str, changes: dict[str, dict[str, str]] | None = None) -> Path:
        folder = tmp_path / f"{name}-copy"
        shutil.copytree(DATA / name, folder)
        with (folder / "hosts.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        for row in rows:
            row |= (changes or {}).get(row["host"], {})
        with (folder / "hosts.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
        return folder

    return make


def url(letter: str) -> str:
    return f"http://{letter}.example/"


def test_a_survey_is_read_as_it_was_written():
    assert (SPRING.listed, len(SPRING.hosts), SPRING.torn) == (8, 8, False)
    assert SPRING.arguments["family"] == "IPv4"
    by_name = {host.name: host for host in SPRING.hosts}
    counter = by_name[url("a")]
    assert (counter.verdict, counter.window, counter.window_exact) == ("counts-acks", 3, True)
    assert (str(counter.address), counter.ttl, counter.hops) == ("10.99.0.2", 64, 0)
    silent = by_name[url("h")]
    assert (silent.outcome, silent.verdict, silent.address) == ("silent", "not-measured", None)
    # Two runs of tests A and C.
    assert sum(run["host"] == url("a") for run in SPRING.runs) == 4


def test_verdicts_and_windows_that_changed_between_two_surveys():
    found = of_surveys(SPRING, AUTUMN)
    assert (found["in_both"], found["other_ip_version"], found["differing_arguments"]) == (8, 0, [])
    verdicts = found["verdicts"]
    assert (verdicts["same"], verdicts["changed"], verdicts["not_comparable"]) == (5, 1, 2)
    change = {"host": url("a"), "first": "counts-acks", "second": "counts-bytes"}
    assert found["changed_verdicts"] == [change]
    # The negative one has no exact window; those that do not answer have none.
    assert found["initial_windows"] == {"same": 5, "changed": 1, "not_comparable": 2}
    [window] = found["changed_initial_windows"]
    assert (window["host"], window["first"]["packets"], window["second"]["packets"]) == (
        url("d"),
        10,
        16,
    )
    moves = {(m["first"], m["second"]): m["hosts"] for m in verdicts["moves"]}
    assert moves["negative", "not-measured"] == moves["not-measured", "counts-bytes"] == 1
    assert sum(moves.values()) == 8


def test_hosts_reached_over_the_other_version_of_ip_are_not_changes_of_a_survey():
    found = of_surveys(SPRING, IPV6)
    assert (found["in_both"], found["other_ip_version"], found["hosts"]) == (8, 7, 1)
    assert found["differing_arguments"] == ["family"]
    assert found["changed_verdicts"] == []


def test_ipv4_and_ipv6_of_the_same_names():
    found = of_ip_versions([SPRING, IPV6], [])
    assert (found["ipv4"], found["ipv6"], found["hosts"]) == (7, 7, 7)
    assert (found["verdicts"]["same"], found["verdicts"]["changed"]) == (6, 1)
    change = {"host": url("g"), "first": "counts-bytes", "second": "counts-acks"}
    assert found["changed_verdicts"] == [change]
    assert found["initial_windows"] == {"same": 6, "changed": 0, "not_comparable": 1}


def test_a_file_joins_addresses_of_one_server(copy, tmp_path):
    names = {url(letter): f"http://10.99.0.{n}/" for n, letter in enumerate("abcdefgh", start=2)}
    only = read(copy("spring", {url_: {"host": name} for url_, name in names.items()}), "only")
    pairs = tmp_path / "pairs.csv"
    pairs.write_text(
        f"# IPv6 may stand first\n{url('a')}, http://10.99.0.2/\nhttp://10.99.0.8/,{url('g')}\n"
        f"http://10.99.0.99/,{url('b')}\n"
    )
    same = [hosts for _, hosts in read_pairs(pairs, "two hosts")]
    assert of_ip_versions([only, IPV6], [])["hosts"] == 0
    found = of_ip_versions([only, IPV6], same)
    assert (found["hosts"], found["pairs_missing"], found["verdicts"]["changed"]) == (2, 1, 1)


def test_a_literal_without_an_answer_has_the_address_of_the_list(copy):
    name = "http://[fd99::99]:8080/"
    survey = read(copy("spring", {url("h"): {"host": name}}), "x")
    assert {str(h.address) for h in survey.hosts if h.name == name} == {"fd99::99"}


def test_the_figures_are_those_of_the_rows():
    found = document([SPRING], Networks())["surveys"][0]
    # By the arithmetic of the stacks: of an initial window of 3 the three ACKs free three segments
    # and add three, or twelve if the window counts ACKs that are split in four.
    packets = found["figures"]["a"]["hosts_by_data_packets"]
    assert packets == {"6": 1, "9": 2, "10": 2, "16": 2}
    split = found["figures"]["c"]["hosts_by_data_packets"]
    assert split["18"] == split["19"] == 1
    drawn = published([found])
    assert [of.figure for of, _ in drawn] == ["4.14", "4.15", "4.16", "4.17"]
    [bars] = drawn[0][1].panels[0].spec["data"]
    assert dict(zip(bars["x"], bars["y"], strict=True)) == {6: 1, 9: 2, 10: 2, 16: 2}
    [row] = [row for row in statements("4.15", [found]) if "ACK counters" in row[0]]
    assert row[1:] == ("nearly twice (1.7 to 2.3)", "1.947")


def test_panels_of_several_surveys_have_the_same_axes_and_shares():
    surveys = document([SPRING, AUTUMN], Networks())["surveys"]
    for _, drawn in published(surveys):
        layouts = [panel.spec["layout"] for panel in drawn.panels]
        assert [panel.label for panel in drawn.panels] == ["spring", "autumn"]
        assert layouts[0]["xaxis"]["range"] == layouts[1]["xaxis"]["range"]
        assert layouts[0]["yaxis"]["range"] == layouts[1]["yaxis"]["range"]
        for panel in drawn.panels:
            assert sum(panel.spec["data"][0]["y"]) == pytest.approx(100, abs=0.1)


def test_a_survey_without_test_c_has_the_figures_of_test_a(copy):
    folder = copy("spring")
    lines = (folder / "runs.csv").read_text().splitlines(keepends=True)
    (folder / "runs.csv").write_text("".join(line for line in lines if ",C," not in line))
    found = document([read(folder, "x")], Networks())["surveys"]
    assert [of.figure for of, _ in published(found)] == ["4.14", "4.16"]


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("nginx/1.18.0 (Ubuntu)", "nginx"),
        ("Apache", "Apache"),
        ("Microsoft-IIS/10.0", "Microsoft-IIS"),
        ("gws (x) y/1", "gws"),
        ("/", "/"),
        ("", "no Server header"),
        (ATTACK, "<script>alert"),
        ("\u202eevil", "\ufffdevil"),
        ("x" * 99, "x" * 39 + "…"),
    ],
)
def test_the_product_of_a_server_header(header, name, copy):
    survey = read(copy("spring", {url("a"): {"server": header}}), "x")
    [host] = [host for host in survey.hosts if host.name == url("a")]
    assert product(host) == name


def test_groups_have_all_hosts_and_one_name_for_two_spellings(copy):
    headers = {"a": "NGINX/1", "b": "nginx/2", "c": "nginx", "d": "Apache/2"}
    survey = read(copy("spring", {url(k): {"server": v} for k, v in headers.items()}), "x")
    groups = grouped(survey.hosts, product)
    assert {g["name"]: g["hosts"] for g in groups} == {
        "nginx": 3,
        "engine": 3,
        "Apache": 1,
        "not measured": 1,
    }
    nginx = groups[1] if groups[0]["name"] == "engine" else groups[0]
    assert nginx["verdicts"] == {"counts-acks": 2, "counts-bytes": 1}
    assert nginx["initial_window"] == {"median": 4, "min": 3, "max": 10}


def test_the_initial_ttl_is_the_surveys_guess(copy):
    changes = {url("a"): {"ttl": "117", "hops": "11"}, url("b"): {"ttl": "240", "hops": "15"}}
    survey = read(copy("spring", changes), "x")
    found = {g["name"]: g["hosts"] for g in grouped(survey.hosts, initial_ttl)}
    assert found == {"64": 5, "128": 1, "255": 1, "no SYN-ACK known": 1}


def test_mapped_networks_are_those_of_ipv4(tmp_path):
    names = tmp_path / "names.csv"
    names.write_text("::ffff:192.0.2.0/120,Mapped\n")
    network = ipaddress.ip_network("192.0.2.0/24")
    assert Networks.read(names).names == {network: "Mapped"}
    assert unmapped(ipaddress.ip_address("::ffff:192.0.2.7")) in network
    for lax in ("010.0.0.0/8", "10.1", "0x7f.1", "::ffff:10.0.0.0/95"):
        names.write_text(f"{lax},Lax\n")
        with pytest.raises(LabError, match="line 1"):
            Networks.read(names)


def test_networks_by_prefix_and_by_the_smallest_that_has_a_name(tmp_path):
    found = {g["name"]: g["hosts"] for g in grouped(IPV6.hosts, Networks().of)}
    assert found == {"fd99::/32": 7, "no address known": 1}
    names = tmp_path / "names.csv"
    names.write_text('10.0.0.0/8,ten\n10.99.0.2/31,"two, and three"\nfd00::/8,six\n')
    networks = Networks.read(names)
    found = {g["name"]: g["hosts"] for g in grouped(SPRING.hosts, networks.of)}
    assert found == {"ten": 5, "two, and three": 2, "no address known": 1}


@pytest.mark.parametrize("lost", range(1, 400, 57))
def test_a_killed_survey_is_shown_as_far_as_it_got(copy, lost):
    folder = copy("spring")
    hosts = (folder / "hosts.csv").read_bytes()[:-lost]
    (folder / "hosts.csv").write_bytes(hosts)
    survey = read(folder, "killed")
    assert len(survey.hosts) == hosts.count(b"\n") - 1
    assert survey.torn == (not hosts.endswith(b"\n"))
    assert {run["host"] for run in survey.runs} <= {host.name for host in survey.hosts}
    printed = text(document([survey], Networks()))
    assert "killed is running or was interrupted: " in printed
    assert ("ends in a row that is not whole" in printed) == survey.torn


def test_a_survey_of_controllers_has_them_in_place_of_reactions(tmp_path, capsys):
    folder = tmp_path / "cca"
    shutil.copytree(DATA / "spring", folder)
    # As `windlass probe survey --cca` writes them: no test, no counts, three columns more.
    for name, own in (
        ("hosts.csv", ("controller", "controller_confidence", "marks")),
        ("runs.csv", ()),
    ):
        with (folder / name).open(newline="") as file:
            rows = list(csv.DictReader(file))
        for row, found in zip(
            rows, ["cubic", "cubic", "dctcp or reno", "unknown"] * 9, strict=False
        ):
            row |= dict.fromkeys(set(row) - {"host", "run", "ending", "outcome", "address"}, "")
            row |= dict(zip(own, (found, "0.9", "once"), strict=False))
        with (folder / name).open("w", newline="") as file:
            writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    survey = read(folder, "cca")
    assert [host.verdict for host in survey.hosts[:4]] == [
        "cubic",
        "cubic",
        "dctcp or reno",
        "undecided",
    ]
    assert survey.runs == []
    assert main(["survey", str(folder), "--out", str(tmp_path / "o")]) == 0
    assert "dctcp or reno" in capsys.readouterr().out
    assert "dctcp or reno" in (tmp_path / "o" / "report.html").read_text()


def test_a_survey_that_asked_for_ecn_tabulates_the_answers(copy, tmp_path):
    answers = ["accurate", "classic", "classic", "none", "none", "none", "reflected", ""]
    # As `windlass probe survey --ecn` writes them: three columns more.
    folder = copy(
        "spring",
        {
            url(letter): {"ecn": answer, "ecn_feedback": "", "ecn_data": ""}
            for letter, answer in zip("abcdefgh", answers, strict=True)
        },
    )
    found = document([read(folder, "asked"), SPRING], Networks())["surveys"]
    assert found[0]["ecn"] == {"none": 3, "classic": 2, "accurate": 1, "reflected": 1}
    assert found[1]["ecn"] == {}
    assert main(["survey", str(folder), "--out", str(tmp_path / "o")]) == 0
    rows = (tmp_path / "o" / "data" / "ecn.csv").read_text()
    assert "classic ECN" in rows and "reflects the flags" in rows
    assert "reflects the flags" in (tmp_path / "o" / "report.html").read_text()


@pytest.mark.parametrize("rows", [0, 1])
def test_a_survey_without_a_host_has_a_page(copy, rows, tmp_path, capsys):
    folder = copy("spring")
    for name in ("hosts.csv", "runs.csv"):
        lines = (folder / name).read_text().splitlines(keepends=True)
        (folder / name).write_text("".join(lines[:rows]))
    assert main(["survey", str(folder), str(DATA / "spring"), "--out", str(tmp_path / "o")]) == 0
    assert "spring-copy has no host that is done." in capsys.readouterr().out
    assert main(["survey", str(folder), "--out", str(tmp_path / "o")]) == 0


def test_a_line_separator_in_a_header_parts_no_row(copy):
    survey = read(copy("spring", {url("a"): {"server": "a\u2028b"}}), "x")
    assert len(survey.hosts) == 8


def damaged(folder: Path, name: str, old: str, new: str) -> None:
    content = (folder / name).read_text()
    assert old in content
    (folder / name).write_text(content.replace(old, new, 1))


FAULTS = {
    "another column": ("hosts.csv", "host,outcome", "name,outcome", "no column host"),
    "a row cut short": ("hosts.csv", "measured,,", "measured", "values in 30 columns"),
    "words for a number": ("hosts.csv", ",64,0,", ",many,0,", "ttl is 'many': expected a number"),
    "a run without a number": ("runs.csv", ",measured,", ",measured,x,", "columns"),
    "another schema": ("survey.json", '"schema": 1', '"schema": 9', "has schema 9; this lab"),
    "another kind": ("survey.json", "probe.survey-arguments", "sim.run", "not a document of the"),
    "half of its JSON": ("survey.json", "}", "", "not JSON"),
    "no number of hosts": ("survey.json", '"hosts": 8', '"hosts": "8"', "hosts is missing or of"),
}


@pytest.mark.parametrize(("file", "old", "new", "message"), FAULTS.values(), ids=FAULTS.keys())
def test_a_damaged_survey_is_refused_with_its_place(file, old, new, message, copy):
    folder = copy("spring")
    damaged(folder, file, old, new)
    with pytest.raises(LabError, match=message) as refused:
        read(folder, "x")
    assert str(folder / file) in str(refused.value)


def test_a_host_with_two_rows_is_refused(copy):
    folder = copy("spring")
    last = (folder / "hosts.csv").read_text().splitlines(keepends=True)[-1]
    with (folder / "hosts.csv").open("a") as file:
        file.write(last)
    with pytest.raises(LabError, match="line 10: a second row of http://"):
        read(folder, "x")


def test_wrong_directories_and_files_end_with_status_2(tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    (tmp_path / "bad.csv").write_text("10.0.0.0/8\n")
    (tmp_path / "bits.csv").write_text("10.0.0.1/8,x\n")
    spring = str(DATA / "spring")
    for arguments, message in (
        (["{}/none"], "there is no directory"),
        (["{}/empty"], "holds no survey: it has no survey.json"),
        ([spring, "--networks", "{}/bad.csv"], "bad.csv: line 1: expected a network and its name"),
        ([spring, "--networks", "{}/bits.csv"], "bits.csv: line 1: 10.0.0.1/8 has host bits set"),
        ([spring, "--same", "{}/none"], "none: cannot read: No such file"),
        # A survey is no directory for a page.
        ([spring, "--out", spring], "holds what the lab did not write"),
    ):
        out = [] if "--out" in arguments else ["--out", str(tmp_path / "out")]
        words = [word.format(tmp_path) for word in arguments]
        assert main(["survey", *words, *out]) == 2
        assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_result_of_a_paper_is_not_overwritten(tmp_path, capsys):
    (tmp_path / "results.json").write_text('{"schema": 3, "kind": "lab.result"}')
    (tmp_path / "runs.jsonl").touch()
    assert main(["survey", str(DATA / "spring"), "--out", str(tmp_path)]) == 2
    assert "holds no result of the lab" in capsys.readouterr().err
    assert "lab.result" in (tmp_path / "results.json").read_text()


def test_the_command_writes_a_page_and_prints_the_same_json(copy, tmp_path, capsys):
    folder, out = copy("autumn", {url("a"): {"server": ATTACK, "why": ATTACK}}), tmp_path / "out"
    names = [str(DATA / "spring"), str(folder), str(DATA / "spring-ipv6")]
    assert main(["survey", *names, "--out", str(out), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert (printed["schema"], printed["kind"]) == (1, "lab.survey")
    assert printed == json.loads((out / "results.json").read_text())
    assert [survey["label"] for survey in printed["surveys"]] == [
        "spring",
        "autumn-copy",
        "spring-ipv6",
    ]
    page = (out / "report.html").read_text()
    assert "&lt;script&gt;alert" in page
    assert "<script>alert" not in page
    assert "\u202e" not in page
    assert (out / "data" / "a-data-packets.csv").is_file()
    # Its own directory is used again.
    assert main(["survey", *names[:1], "--out", str(out)]) == 0
    assert "Report: " in capsys.readouterr().out


def test_runs_of_a_survey_are_a_number_or_the_most():
    assert runs({"runs": 3}) == "3"
    assert runs({"runs": 5, "runs_until": "certain"}) == "up to 5"

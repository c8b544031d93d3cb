"""`reproduce all` and `report all`: every paper in its folder, and a front page."""

import json

import pytest

from windlass_lab import cli
from windlass_lab.cli import main
from windlass_lab.core.errors import LabError, RunError


@pytest.fixture
def everything(fake_windlass, experiments, tmp_path, monkeypatch):
    """Runs `reproduce all` where only New-ECN's runs succeed: the stand-in knows no other paper."""
    runs = []
    inner = cli._reproduce_into

    def reproduce(options, target, folder):
        runs.append((target, options.real, options.kernel, options.sim))
        if target != "new-ecn":
            raise RunError(f"no {target} here")
        return inner(options, target, folder)

    monkeypatch.setattr(cli, "_reproduce_into", reproduce)

    def run(*arguments):
        world = ["--windlass", str(fake_windlass), "--experiments", str(experiments)]
        runs.clear()
        status = main(["reproduce", "all", *arguments, *world, "--out", str(tmp_path / "out")])
        return status, list(runs), (tmp_path / "out" / "index.html").read_text()

    return run


def test_what_cannot_be_simulated_is_not_run_and_says_so(everything):
    status, runs, page = everything("--sim", "--quick")
    assert [target for target, *_ in runs] == ["new-ecn", "ecn-proxy", "split-ack"]
    # A paper that fails does not end the others.
    assert status == RunError.exit_status
    assert 'href="new-ecn/report.html"' in page
    # The headline figures as bars.
    assert '<span class="bar published"' in page and '<span class="bar measured"' in page
    assert "Not run: no ecn-proxy here" in page and "Not run: it needs a kernel" in page


def test_the_front_page_has_the_plot_that_a_papers_page_begins_with(everything, tmp_path):
    _, _, page = everything("--sim", "--quick")
    kept = json.loads((tmp_path / "out" / "new-ecn" / "main-plot.json").read_text())
    assert (kept["schema"], kept["kind"]) == (1, "lab.main-plot")
    card = page[page.index('<h2 id="p-new-ecn">') : page.index('<h2 id="p-ecn-proxy">')]
    assert card.count("data-spec=") == len(kept["plot"]["panels"]) > 0
    assert kept["plot"]["title"] in card
    # A paper that was not run has none.
    assert page.count('data-spec="new-ecn-') == page.count("data-spec=")


def test_a_result_of_an_older_lab_has_no_plot_on_the_front_page(everything, tmp_path):
    everything("--sim", "--quick")
    (tmp_path / "out" / "new-ecn" / "main-plot.json").unlink()
    found = cli._found(tmp_path / "out", {})
    assert [each.plot for each in found if each.paper.id == "new-ecn"] == [None]


@pytest.mark.parametrize("place", ["playground", "site/playground"])
def test_the_front_page_links_to_a_playground_that_was_built(everything, tmp_path, place):
    _, _, page = everything("--sim", "--quick")
    assert "<code>make playground</code>" in page
    (tmp_path / place).mkdir(parents=True)
    (tmp_path / place / "index.html").touch()
    _, _, page = everything("--sim", "--quick")
    assert f'<a href="../{place}/index.html">playground</a>' in page


def test_a_figure_that_was_run_has_a_link_and_another_its_reason(everything):
    _, _, page = everything("--sim", "--quick")
    row = page[page.index('<th scope="row">Figure 4.2</th>') :]
    assert 'href="new-ecn/report.html#e-4.2.1-setup1"' in row[: row.index("</tr>")]
    apart = page[page.index('<h2 id="not-run">Not run here</h2>') :]
    assert "<td>tou/bad</td>" in apart and "e-4.2.1-setup1" not in apart
    assert "the algorithm of RED" in page[page.index('<h2 id="nothing">') :]


def test_what_is_complete_is_not_run_again(everything):
    everything("--sim", "--quick")
    _, runs, page = everything("--sim", "--quick", "--resume")
    assert [target for target, *_ in runs] == ["ecn-proxy", "split-ack"]
    assert 'href="new-ecn/report.html"' in page


def test_a_quick_result_is_not_taken_for_a_whole_one(everything):
    everything("--sim", "--quick")
    _, runs, _ = everything("--sim", "--resume")
    assert runs[0][0] == "new-ecn"
    _, runs, _ = everything("--sim", "--quick", "--resume", "--replicates", "7")
    assert runs[0][0] == "new-ecn"


def test_real_kernels_are_asked_for_by_name(everything):
    _, runs, _ = everything("--real", "--quick")
    assert ("ecn-proxy", True, True, False) in runs
    assert ("tou", False, True, False) in runs


def test_the_front_page_can_be_written_again(everything, tmp_path, capsys):
    everything("--sim", "--quick")
    (tmp_path / "out" / "index.html").unlink()
    assert main(["report", str(tmp_path / "out")]) == 0
    assert "index.html" in capsys.readouterr().out
    assert (tmp_path / "out" / "index.html").is_file()


def test_a_figure_that_differs_ends_with_status_1(everything, monkeypatch, tmp_path):
    monkeypatch.setenv("FAKE_WINDLASS", "unfair")
    monkeypatch.setattr(cli, "papers_of_all", lambda: [cli.ENTRIES["new-ecn"].paper])
    status, _, page = everything("--sim", "--quick")
    assert status == 1 and 'class="badge fail"' in page
    results = json.loads((tmp_path / "out" / "new-ecn" / "results.json").read_text())
    assert results["paper"] == "new-ecn"


@pytest.mark.parametrize(
    ("others", "status"),
    [((LabError, LabError), 1), ((LabError, RunError), RunError.exit_status)],
)
def test_what_a_machine_lacks_hides_no_figure_that_differs(
    others, status, fake_windlass, experiments, tmp_path, monkeypatch
):
    monkeypatch.setenv("FAKE_WINDLASS", "unfair")
    errors = dict(zip(("ecn-proxy", "split-ack"), others, strict=True))
    inner = cli._reproduce_into

    def reproduce(options, target, folder):
        if target in errors:
            raise errors[target](f"no {target} here")
        return inner(options, target, folder)

    monkeypatch.setattr(cli, "_reproduce_into", reproduce)
    world = ["--windlass", str(fake_windlass), "--experiments", str(experiments)]
    arguments = ["reproduce", "all", "--sim", "--quick", *world, "--out", str(tmp_path / "out")]
    assert main(arguments) == status


def test_the_account_in_short_has_claim_and_finding_and_apart_what_was_not_run(
    everything, tmp_path, capsys
):
    everything("--sim", "--quick")
    account, apart = capsys.readouterr().out.split("Not run here:\n")
    title, claimed, found = account.splitlines()
    assert title == (
        "New-ECN: sharing a bottleneck fairly (all 67 met; of the published figures all 44 met)"
    )
    assert claimed.startswith("  claimed  four flows with RTTs of 4 to 190 ms")
    assert found == "  found    0.984, with ECN Reno 0.480"
    assert "  Split ACKs: no split-ack here\n" in apart
    assert "experiments that take longer than a minute: `windlass-lab list`\n" in apart
    kept = (tmp_path / "out" / "summary.txt").read_text()
    assert kept.startswith(account) and max(map(len, kept.splitlines())) <= 100


def test_the_simulated_proxy_of_a_quick_run_has_enough_runs_for_a_verdict(monkeypatch):
    options = cli._parser().parse_args(["reproduce", "all", "--sim", "--quick"])
    chosen = cli._options_of(cli.ENTRIES["ecn-proxy"].paper, options)
    assert (chosen.replicates, chosen.quick) == (None, False)
    assert {name.split("_")[0] for name in chosen.tests} == {
        *("C.1-noEcn", "C.1-oneEcn", "C.1-bothEcn"),
        *("C.6-noEcn", "C.6-oneEcn", "C.6-bothEcn"),
    }


def test_options_of_one_paper_are_refused(everything, capsys):
    with pytest.raises(FileNotFoundError):
        everything("--scale", "0.5")
    assert "--scale, --tests and --check are for one paper" in capsys.readouterr().err


def test_a_page_of_somebody_else_is_not_overwritten(everything, tmp_path, capsys):
    page = tmp_path / "out" / "index.html"
    page.parent.mkdir()
    page.write_text("<h1>mine</h1>")
    status, runs, text = everything("--sim", "--quick")
    assert (status, runs, text) == (2, [], "<h1>mine</h1>")
    assert "is not the lab's" in capsys.readouterr().err

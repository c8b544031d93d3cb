"""The report in a real browser. Skipped where Chromium or its driver is missing."""

import base64
import csv
import json
import shutil
import zlib
from pathlib import Path
from xml.etree import ElementTree

import polars
import pytest
from selenium import webdriver
from selenium.webdriver import ActionChains
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.wait import WebDriverWait

import coexistence_runs
from windlass_lab.cli import main
from windlass_lab.papers.coexistence import matrix_page, scenario
from windlass_lab.papers.coexistence.plan import Cell
from windlass_lab.searches.figure import FrontFigure
from windlass_lab.sweeps.results import StudyResults
from windlass_lab.sweeps.table import frame_of

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
)
DESKTOP = (1280, False)
PHONE = (390, True)
OVERFLOWING = """
return [...document.querySelectorAll("body *")]
  .filter((e) => !e.closest(".scroll, pre, svg"))
  .filter((e) => e.getBoundingClientRect().right > arguments[0] + 1)
  .map((e) => e.tagName + "." + e.className);
"""
CONTRASTS = """
const luminance = (rgb) => rgb.map((v) => v / 255)
  .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
  .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
const numbers = (colour) => colour.match(/[0-9.]+/g).map(Number);
const back = (e) => {
  for (; e; e = e.parentElement) {
    const colour = numbers(getComputedStyle(e).backgroundColor);
    if (colour.length === 3 || colour[3] > 0) return colour.slice(0, 3);
  }
  return [255, 255, 255];
};
return [...document.querySelectorAll("h1, h2, p, td, th, figcaption, button, .badge, .big, dt")]
  .map((e) => {
    const [a, b] = [numbers(getComputedStyle(e).color).slice(0, 3), back(e)].map(luminance);
    return [e.tagName + "." + e.className, (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)];
  })
  .filter(([, ratio]) => ratio < 4.5);
"""


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    if not (CHROMIUM and DRIVER):
        pytest.skip("no chromium or chromedriver: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    # On a busy machine a page may take long to draw its plots.
    driver.set_script_timeout(300)
    yield driver
    driver.quit()


@pytest.fixture
def show(browser, whole_result):
    """Opens the report at a width and in a colour scheme, with the plots of some figures drawn, or
    of all.
    """

    def open_page(screen=DESKTOP, scheme="light", figures=None):
        open_in(browser, whole_result / "report.html", screen, scheme, figures)
        return browser

    return open_page


@pytest.fixture
def downloads(browser, tmp_path):
    """Where the browser saves; gives the text of a file once it is there.

    Chromium creates the file empty, then renames the whole one over it.
    """
    browser.execute_cdp_cmd(
        "Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)}
    )

    def wait_for(name: str) -> str:
        file = tmp_path / name
        WebDriverWait(browser, 60).until(lambda _: file.is_file() and file.stat().st_size > 0)
        return file.read_text(encoding="utf-8")

    return wait_for


def click(browser, figure, selector):
    """Clicks what `selector` finds in a figure, scrolled to where nothing covers it."""
    element = browser.find_element("css selector", f"[id='f-{figure}'] {selector}")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
    element.click()


def open_in(browser, page, screen, scheme, figures=None):
    """Opens a page on a screen and in a scheme, with its plots drawn and its logs empty before."""
    width, mobile = screen
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": mobile}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    set_scheme(browser, scheme)
    for log in ("browser", "performance"):
        browser.get_log(log)
    browser.get(page.as_uri())
    browser.execute_async_script("drawPlots(arguments[0]).then(arguments[1])", figures)


def set_scheme(browser, scheme):
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def requested(browser) -> list[str]:
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    sent = (m for m in messages if m["method"] == "Network.requestWillBeSent")
    return [m["params"]["request"]["url"] for m in sent]


def test_the_page_is_alone_in_the_world(show):
    browser = show()
    urls = requested(browser)
    outside = [url for url in urls if not url.startswith(("file:", "data:", "blob:"))]
    assert outside == []
    assert sum(url.startswith("file:") for url in urls) == 1


def test_nothing_is_said_on_the_console(show):
    assert show().get_log("browser") == []


def test_every_experiment_has_its_tables_and_plots(show, whole_result):
    browser = show()
    results = json.loads((whole_result / "results.json").read_text())
    rows = browser.execute_script(
        "return [...document.querySelectorAll('section.experiment')]"
        ".map((s) => s.querySelectorAll('table.verdicts tbody tr').length).filter((n) => n)"
    )
    assert rows == [len(e["comparisons"]) for e in results["experiments"]]
    judged = [
        c["verdict"]
        for e in results["experiments"]
        for c in e["comparisons"]
        if c["kind"] == "figure" and c["verdict"] != "informative"
    ]
    line = f"figures {judged.count('pass')} of {len(judged)} met"
    assert line in browser.find_element("tag name", "header").text


@pytest.mark.parametrize("screen", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_every_plot_has_a_size_and_something_in_it(show, screen):
    plots = show(screen).execute_script(
        "return [...document.querySelectorAll('[data-spec]')].map((d) => {"
        "  const box = d.querySelector('svg.main-svg').getBoundingClientRect();"
        "  return [d.dataset.spec, box.width, box.height,"
        "    d.querySelectorAll('.scatterlayer path.js-line, .barlayer path').length]; })"
    )
    assert len(plots) > 35
    for name, width, height, marks in plots:
        assert width > 200, name
        assert height > 200, name
        assert marks > 0, name


@pytest.mark.parametrize("width", [320, 390, 768, 1000, 1280])
def test_a_narrow_screen_needs_no_sideways_scrolling(show, width):
    browser = show((width, True))
    page = browser.execute_script("return document.documentElement.scrollWidth")
    assert browser.execute_script(OVERFLOWING, width) == []
    assert page <= width


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_what_is_behind_it(show, scheme):
    assert show(scheme=scheme, figures=[]).execute_script(CONTRASTS) == []


def test_the_dark_scheme_reaches_page_and_plots(show):
    ink = "return getComputedStyle(document.querySelector('.xtick text')).fill"
    page = "return getComputedStyle(document.body).backgroundColor"
    line = "return document.querySelector('path.js-line').style.stroke"
    browser = show(figures=["model-rates"])
    light = [browser.execute_script(script) for script in (ink, page, line)]
    # As when a system turns dark in the evening, with the page open.
    set_scheme(browser, "dark")
    for script, before in zip((ink, page, line), light, strict=True):
        WebDriverWait(browser, 60).until(lambda b, s=script, old=before: b.execute_script(s) != old)


def test_the_first_seconds_can_be_looked_at_and_left_again(show):
    browser = show(figures=["s1_10M_p0.1-acks"])
    figure = browser.find_element("id", "f-s1_10M_p0.1-acks")
    ends = (
        "return [...arguments[0].querySelectorAll('[data-spec]')]"
        ".map((d) => d._fullLayout.xaxis.range[1])"
    )
    [whole, first] = figure.find_elements("css selector", "[data-until]")
    first.click()
    assert browser.execute_script(ends, figure) == [10, 10]
    assert first.get_attribute("aria-pressed") == "true"
    whole.click()
    assert min(browser.execute_script(ends, figure)) > 50
    assert whole.get_attribute("aria-pressed") == "true"


def test_a_span_within_the_run_can_be_looked_at(show):
    name = "cycle-average_queue"
    browser = show(figures=[name])
    click(browser, name, "[data-until='25']")
    spans = browser.execute_script(
        "return [...document.querySelectorAll(`[id='f-${arguments[0]}'] [data-spec]`)]"
        ".map((d) => d._fullLayout.xaxis.range)",
        name,
    )
    assert spans == [[20, 25]] * 3


def test_values_can_be_read_from_a_curve(show):
    label = show(figures=["setup1-acks"]).execute_script(
        "const plot = document.querySelector('#f-setup1-acks [data-spec]');"
        "Plotly.Fx.hover(plot, { xval: 30 });"
        "return plot.querySelector('.hoverlayer').textContent"
    )
    assert "tcp1, 190 ms" in label


def test_no_button_sends_a_plot_anywhere(show):
    titles = show(figures=["cwnd"]).execute_script(
        "return [...document.querySelectorAll('.modebar-btn')].map((b) => b.dataset.title)"
    )
    assert set(titles) == {
        "Zoom",
        "Pan",
        "Zoom in",
        "Zoom out",
        "Reset axes",
        "Download plot as a PNG",
    }


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_picture_of_the_page_is_not_blank(show, scheme, tmp_path):
    browser = show(scheme=scheme, figures=[])
    shot = browser.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})
    picture = Path(tmp_path / f"{scheme}.png")
    picture.write_bytes(base64.b64decode(shot["data"]))
    # A single colour would compress to a few kilobytes.
    assert picture.stat().st_size > 20_000


def test_a_figure_is_saved_as_the_table_that_lies_beside_the_page(show, downloads, whole_result):
    browser = show(figures=[])
    for name in ("s1_10M_p0.1-fairness", "mix-4.3.2-acks", "p-max-fairness", "model-trace"):
        click(browser, name, "[data-save=csv]")
        beside = (whole_result / "data" / f"{name}.csv").read_text(encoding="utf-8")
        saved = downloads(f"{name}.csv")
        assert rows_of(saved) == rows_of(beside)


def rows_of(table: str) -> list[list]:
    """Numbers as numbers: two languages write 1e-05 and 1.0 in two ways."""
    return [[number(cell) for cell in row] for row in csv.reader(table.splitlines())]


def number(cell: str) -> float | str:
    try:
        return float(cell)
    except ValueError:
        return cell


def test_a_figure_is_saved_as_a_drawing_for_paper(show, downloads):
    browser = show(scheme="dark", figures=[])
    click(browser, "mix-4.3.2-acks", "[data-save=svg]")
    root = ElementTree.fromstring(downloads("mix-4.3.2-acks.svg"))
    panels = root.findall("{http://www.w3.org/2000/svg}svg")
    assert [panel.get("y") for panel in panels] == ["0", "450"]
    text = ElementTree.tostring(root, encoding="unicode")
    assert "3 New-ECN, 3 Reno" in text
    assert "packets acknowledged" in text
    # The ink of the light scheme, whatever the page is in.
    assert "rgb(20, 32, 43)" in text
    assert "rgb(230, 237, 243)" not in text
    assert text.count("js-line") >= 24


def test_dragging_zooms_and_a_double_click_shows_all_again(show):
    browser = show(figures=["cwnd"])
    plot = browser.find_element("css selector", "#f-cwnd [data-spec] .nsewdrag")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", plot)
    until = "return document.querySelector('#f-cwnd [data-spec]')._fullLayout.xaxis.range[1]"
    whole = browser.execute_script(until)

    # A loaded machine may part the two clicks, or the drag, by more than the page takes for one.
    def drag(b):
        chain = ActionChains(b, duration=50).move_to_element_with_offset(plot, -100, -60)
        chain.click_and_hold().move_by_offset(150, 100).release().perform()
        return b.execute_script(until) < whole - 5

    def double_click(b):
        ActionChains(b).move_to_element(plot).double_click().perform()
        return b.execute_script(until) >= whole - 1

    WebDriverWait(browser, 60).until(drag)
    WebDriverWait(browser, 60).until(double_click)


def test_the_pointer_shows_values(show):
    browser = show(figures=["cwnd"])
    plot = browser.find_element("css selector", "#f-cwnd [data-spec] .nsewdrag")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", plot)
    ActionChains(browser).move_to_element(plot).move_by_offset(5, 5).perform()
    label = "return document.querySelector('#f-cwnd .hoverlayer').textContent"
    WebDriverWait(browser, 60).until(lambda b: "tcp1, 190 ms" in b.execute_script(label))


def test_a_click_on_the_legend_hides_a_curve_with_its_reference(show):
    browser = show(figures=["setup1-acks"])
    shown = (
        "return [...document.querySelectorAll('#f-setup1-acks .scatterlayer .trace')].filter("
        "(t) => t.querySelector('path.js-line')).length"
    )
    before = browser.execute_script(shown)
    click(browser, "setup1-acks", ".legendtoggle")
    WebDriverWait(browser, 60).until(lambda b: b.execute_script(shown) == before - 2)


def test_every_link_of_the_page_leads_somewhere_on_it(show):
    lost = show(figures=[]).execute_script(
        "return [...document.querySelectorAll('a')].map((a) => a.getAttribute('href'))"
        ".filter((href) => !href.startsWith('#') || !document.getElementById(href.slice(1)))"
    )
    assert lost == []


def test_a_row_of_verdicts_is_a_card_on_a_phone_and_stays_a_table_for_readers(show):
    found = show(PHONE, figures=[]).execute_script("""
        const table = document.querySelector(".verdicts");
        const [name, published] = table.tBodies[0].rows[0].cells;
        return [...[table, name, published].map((e) => e.getAttribute("role")),
          getComputedStyle(published, "::before").content];
    """)
    assert found == ["table", "rowheader", "cell", '"Published"']


def test_a_phone_gets_no_more_than_it_can_carry(whole_result):
    assert (whole_result / "report.html").stat().st_size < 3_000_000


@pytest.mark.parametrize("screen", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_of_a_plot_fits_the_screen(browser, run_output, screen, scheme):
    assert main(["plot", str(run_output), str(run_output), "--to", str(run_output / "p.html")]) == 0
    open_in(browser, run_output / "p.html", screen, scheme)
    assert browser.get_log("browser") == []
    assert [url for url in requested(browser) if url.startswith("http")] == []
    assert len(browser.find_elements("css selector", ".panel .main-svg")) >= 4
    assert browser.execute_script(OVERFLOWING, screen[0]) == []
    assert browser.execute_script(CONTRASTS) == []


@pytest.mark.parametrize("screen", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_of_a_search_fits_the_screen(browser, tmp_path, screen, scheme):
    trials = {"trial": range(20), "queues.marking.p_max": [0.01 * n for n in range(20)]}
    rate, queue = "total_packets_per_s.steady", "mean_queue_packets.steady"
    trials |= {rate: [100.0 + 7 * n % 13 for n in range(20)], queue: [float(n) for n in range(20)]}
    frame = polars.DataFrame(trials | {"refused": [None] * 20, "best": [n < 5 for n in range(20)]})
    page = FrontFigure(frame, {rate: "max", queue: "min"}).save(tmp_path / "search.html")
    open_in(browser, page, screen, scheme)
    assert browser.get_log("browser") == []
    assert [url for url in requested(browser) if url.startswith("http")] == []
    assert len(browser.find_elements("css selector", ".panel .main-svg")) >= 1
    assert browser.execute_script(OVERFLOWING, screen[0]) == []
    assert browser.execute_script(CONTRASTS) == []


def heat_map(folder: Path) -> Path:
    """The page of a study of eight rates and two controllers, of which one has a long name."""
    axes = ["defaults.controller", "dumbbell.bottleneck.rate"]
    long = {"kind": "new-ecn", "alpha_wnd": 0.8, "alpha_slp": 0.75, "beta": 32}
    pairs = [(cc, f"{rate}Mbit/s") for cc in ("reno", long) for rate in range(10, 18)]
    figures = [{"fairness_index.steady": 0.8 + number / 100} for number in range(len(pairs))]
    rows = [
        {"run": number, "seed": 1} | dict(zip(axes, pair, strict=True)) | figures[number]
        for number, pair in enumerate(pairs)
    ]
    study = StudyResults("study", frame_of(rows, axes=axes), axes)
    return study.plot("rate", "fairness", by="controller", kind="heat").save(folder / "heat.html")


@pytest.mark.parametrize("screen", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_a_heat_map_scrolls_in_its_own_box_and_its_names_are_whole(browser, tmp_path, screen):
    open_in(browser, heat_map(tmp_path), screen, "light")
    assert browser.get_log("browser") == []
    assert browser.execute_script(OVERFLOWING, screen[0]) == []
    box, plot, cell, left, page = browser.execute_script("""
        const plot = document.querySelector(".plot");
        const cells = [...plot.querySelectorAll(".heatmap-label")];
        const box = plot.getBoundingClientRect();
        const names = [...plot.querySelectorAll(".ytick text")];
        const left = Math.min(...names.map((name) => name.getBoundingClientRect().left));
        return [plot.parentElement.clientWidth, plot.clientWidth,
          parseFloat(getComputedStyle(cells[0]).fontSize), left - box.left,
          document.documentElement.scrollWidth];
    """)
    assert page <= screen[0]
    # The labels begin within the plot, and the figures have the size of text.
    assert left >= 0
    assert cell >= 12
    assert (plot > box) == (screen == PHONE)


@pytest.mark.parametrize(("screen", "scheme"), [(DESKTOP, "light"), (PHONE, "dark")])
def test_the_front_page_of_all_papers_has_plots_and_fits(
    browser, whole_result, tmp_path, screen, scheme
):
    (tmp_path / "all").mkdir()
    shutil.copytree(whole_result, tmp_path / "all" / "new-ecn")
    assert main(["report", str(tmp_path / "all")]) == 0
    open_in(browser, tmp_path / "all" / "index.html", screen, scheme)
    assert browser.get_log("browser") == []
    assert [url for url in requested(browser) if url.startswith("http")] == []
    assert len(browser.find_elements("css selector", ".panel .main-svg .barlayer .point")) >= 8
    assert browser.execute_script(OVERFLOWING, screen[0]) == []
    assert browser.execute_script(CONTRASTS) == []


@pytest.mark.parametrize(("screen", "scheme"), [(DESKTOP, "light"), (PHONE, "dark")])
def test_the_page_of_surveys_fits_the_screen(browser, tmp_path, screen, scheme):
    data = Path(__file__).with_name("data") / "surveys"
    folders = [str(data / name) for name in ("spring", "autumn", "spring-ipv6")]
    assert main(["survey", *folders, "--out", str(tmp_path / "out")]) == 0
    open_in(browser, tmp_path / "out" / "report.html", screen, scheme)
    assert browser.get_log("browser") == []
    assert [url for url in requested(browser) if url.startswith("http")] == []
    assert len(browser.find_elements("css selector", ".panel .main-svg .barlayer .point")) > 60
    assert browser.execute_script(OVERFLOWING, screen[0]) == []
    assert browser.execute_script(CONTRASTS) == []


@pytest.fixture
def run_output(tmp_path) -> Path:
    """The `--out` directory of a run of two flows, as `windlass sim run` writes it."""
    flow = {"name": "a", "controller": "reno", "packets_per_s": {"steady": 12.5}, "marks": 1}
    summary = {"schema": 1, "kind": "sim.run", "series_schema": 1, "name": "two", "seed": 1}
    summary |= {"duration_s": 2, "marks": 1, "drops": 0, "flows": [flow, flow | {"name": "b"}]}
    (tmp_path / "summary.json").write_text(json.dumps(summary))
    for name in ("a", "b"):
        rows = [f"{second / 10},{second % 7 + 1}" for second in range(20)]
        (tmp_path / f"flow-{name}.csv").write_text("\n".join(["time_s,cwnd_packets", *rows]) + "\n")
    rows = [f"{second / 10},{second % 5},0.5" for second in range(20)]
    lines = ["time_s,queue_packets,average_queue", *rows]
    (tmp_path / "queue-bottleneck-forward.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


@pytest.fixture(scope="module")
def matrix_html(tmp_path_factory):
    """The page of the matrix with one path."""
    page = tmp_path_factory.mktemp("matrix") / "matrix.html"
    made_by = {"lab_version": "0", "windlass_version": "windlass 0", "finished": "today"}
    page.write_text(matrix_page.render(coexistence_runs.matrix(), made_by))
    return page


@pytest.fixture
def show_matrix(browser, matrix_html):
    """Opens it at a place, on a screen and in a scheme."""

    def open_page(fragment="", screen=DESKTOP, scheme="light"):
        width, mobile = screen
        metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": mobile}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        set_scheme(browser, scheme)
        browser.get("about:blank")
        browser.get_log("browser")
        browser.get(f"{matrix_html.as_uri()}{fragment}")
        wait = WebDriverWait(browser, 60)
        wait.until(lambda b: b.find_elements("css selector", "#grid button"))
        return browser

    return open_page


def test_a_cell_of_the_matrix_has_its_figures_its_scenario_and_the_playground(show_matrix):
    browser = show_matrix("#queue=fifo1&rate=25&rtt=20&ratio=1")
    assert len(browser.find_elements("css selector", "#grid button")) == 8 * 8
    # The row is the first flow: Reno has a quarter beside CUBIC, which then has the rest.
    reno, cubic = (
        browser.find_element("css selector", f"#grid button[title='{names}']")
        for names in ("Reno and CUBIC", "CUBIC and Reno")
    )
    assert (reno.text, cubic.text) == ("0.250", "0.750")
    reno.click()
    cell = browser.find_element("id", "cell")
    WebDriverWait(browser, 60).until(lambda _: "Reno and CUBIC" in cell.text)
    assert "harm to the first, throughput\n0.750 ± 0" in cell.text
    expected = scenario.text(Cell(coexistence_runs.DSL, "reno", "cubic"))
    assert cell.find_element("tag name", "pre").get_attribute("textContent") == expected
    link = cell.find_element("link text", "Run it in the playground").get_attribute("href")
    packed = link.partition("#toml=")[2]
    data = base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4))
    assert zlib.decompress(data, -zlib.MAX_WBITS).decode() == expected
    assert "pair=reno,cubic" in browser.current_url
    assert browser.get_log("browser") == []


@pytest.mark.parametrize("screen", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_matrix_fits_its_screen_and_can_be_read(show_matrix, screen, scheme):
    at = "#measure=3&queue=fifo1&rate=25&rtt=20&ratio=1&pair=dctcp,vegas"
    browser = show_matrix(at, screen, scheme)
    # A link shows the cell that it names.
    cell = browser.find_element("id", "cell")
    WebDriverWait(browser, 60).until(lambda _: "DCTCP and Vegas" in cell.text)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= screen[0]
    assert browser.execute_script(OVERFLOWING, screen[0]) == []
    assert browser.execute_script(CONTRASTS) == []

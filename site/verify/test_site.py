"""The built site in headless Chromium: search, navigation, widths, colours, accessibility.

`make verify-site` builds out/site first. Without it, or without Chromium, these tests skip.
"""

import shutil
import subprocess
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "out/site"
AXE = next(
    ROOT.glob(".venv-site/lib/python3*/site-packages/axe_playwright_python/axe.min.js"), None
)
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage")
PATIENCE_S = 60
WIDTHS = (390, 1280)
SCHEMES = ("light", "dark")
# Not Windlass's own pages: rustdoc's, and the playground, which has tests of its own.
OTHERS = ("rust", "playground")
PAGES = sorted(
    path.relative_to(SITE)
    for path in SITE.rglob("*.html")
    if path.relative_to(SITE).parts[0] not in OTHERS and "_static" not in path.parts
)
# Each kind of page is looked at in both schemes and widths; every page in one of each.
KINDS = (
    "index.html",
    "tutorials/ecn-router.html",
    "guide/probe.html",
    "reference/probe.html",
    "results/tou-sessions.html",
    "results/new-ecn.html",
    "commands/windlass-probe.html",
    "python.html",
    "rust.html",
    "search.html",
    "genindex.html",
)
WIDER_THAN_THE_SCREEN = """
return document.scrollingElement.scrollWidth > arguments[0]
  ? [...document.querySelectorAll("article *")]
      .filter((e) => e.getBoundingClientRect().right > arguments[0] + 1)
      .filter((e) => !e.closest(".table-wrapper, pre"))
      .map((e) => e.tagName + "." + e.className).concat("the page")
  : [];
"""
# The rules of WCAG 2.1 at level AA, and axe's own.
RUN_AXE = "axe.run(document).then((found) => arguments[0](found.violations))"

pytestmark = [
    pytest.mark.skipif(not PAGES, reason="no site in out/site: make site"),
    pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="no chromium or chromedriver"),
]


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    driver.set_script_timeout(PATIENCE_S)
    yield driver
    driver.quit()


def show(browser, page, width=1280, scheme="light"):
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    browser.get((SITE / page).as_uri())


def violations(browser) -> list[str]:
    browser.execute_script(AXE.read_text())
    return [
        f"{found['id']}: {node['html'][:120]}"
        for found in browser.execute_async_script(RUN_AXE)
        for node in found["nodes"]
    ]


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("page", KINDS)
def test_axe_finds_no_violation(browser, page, width, scheme):
    show(browser, page, width, scheme)
    assert violations(browser) == []


def test_axe_finds_no_violation_on_any_page_and_none_is_wider_than_a_phone(browser):
    found = {}
    for number, page in enumerate(PAGES):
        show(browser, page, 390, SCHEMES[number % 2])
        said = violations(browser) + browser.execute_script(WIDER_THAN_THE_SCREEN, 390)
        if said:
            found[str(page)] = said
    print(f"{len(PAGES)} pages")
    assert found == {}


def test_axe_would_find_one(browser):
    show(browser, "index.html")
    browser.execute_script("document.querySelector('article img').removeAttribute('alt')")
    assert any(said.startswith("image-alt") for said in violations(browser))


def test_search_works_without_a_server(browser):
    show(browser, "index.html")
    browser.find_element(By.NAME, "q").send_keys("initial window", Keys.ENTER)
    # The results come one after the other.
    result = "#search-results li a[href*='guide/probe']"
    WebDriverWait(browser, PATIENCE_S).until(
        lambda driver: driver.find_elements(By.CSS_SELECTOR, result)
    )


def test_the_pages_say_nothing_on_the_console(browser):
    browser.get("about:blank")
    browser.get_log("browser")
    for page in KINDS:
        show(browser, page)
    assert browser.get_log("browser") == []


def test_the_keyboard_reaches_a_wide_table(browser):
    show(browser, "results/tou-sessions.html", 390)
    wide = browser.execute_script(
        "return [...document.querySelectorAll('.table-wrapper')]"
        ".filter((box) => box.scrollWidth > box.clientWidth)"
    )
    assert wide, "the page has tables wider than a phone"
    browser.execute_script("arguments[0].focus()", wide[0])
    assert browser.switch_to.active_element == wide[0]
    wide[0].send_keys(Keys.ARROW_RIGHT)
    scrolled = "return arguments[0].scrollLeft > 0"
    WebDriverWait(browser, PATIENCE_S).until(lambda b: b.execute_script(scrolled, wide[0]))


class Page(HTMLParser):
    """The links of a page, and the places in it that a link may name."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.targets: set[str] = set()
        self.places: set[str] = set()
        self.feed(path.read_text())

    def handle_starttag(self, tag, attrs):
        for key, value in attrs:
            if key in ("href", "src") and value:
                self.targets.add(value)
            elif key == "id" and value:
                self.places.add(value)


def complaint(page: Path, target: str, read) -> str | None:
    """Why a link of the site leads nowhere."""
    path, anchor = urldefrag(target)
    file = (SITE / page).parent / unquote(urlsplit(path).path) if path else SITE / page
    file = file / "index.html" if file.is_dir() else file
    if not file.exists():
        return f"{page}: {target}"
    own = file.resolve().relative_to(SITE.resolve()).parts[0] not in OTHERS
    if anchor and own and file.suffix == ".html" and unquote(anchor) not in read(file).places:
        return f"{page}: {target}: no such place"
    return None


def test_every_link_of_the_site_leads_somewhere():
    read = cache(lambda file: Page(file))
    links = [
        (page, target)
        for page in PAGES
        for target in read(SITE / page).targets
        if not urlsplit(target).scheme
    ]
    print(f"{len(links)} links of {len(PAGES)} pages")
    assert [said for page, target in links if (said := complaint(page, target, read))] == []


def test_every_command_has_its_page_with_every_option():
    windlass = shutil.which("windlass")
    if not windlass:
        pytest.skip("no windlass on the PATH")
    said = subprocess.run([windlass, "probe", "--help"], check=True, capture_output=True, text=True)
    page = (SITE / "commands/windlass-probe.html").read_text()
    options = {word.split("[")[0] for word in said.stdout.split() if word.startswith("--")}
    options = {option.strip(".,;:") for option in options if option.strip("-")}
    assert [option for option in options if option not in page] == []

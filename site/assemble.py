"""Copy docs/ to the folder that Sphinx reads, and add what is generated.

    python site/assemble.py --windlass target/release/windlass --to out/site-source

A link out of docs/ (to a source file, say) leads to a copy on the site. The comment
`<!-- playground: FRAGMENT -->` in a page becomes the playground in a frame, with the settings of
the fragment, where --playground says that it was built; on a forge it is nothing. The comments
from which tables of results are filled are left out.
"""

import argparse
import html
import os
import re
import shutil
from pathlib import Path

import commands

REPOSITORY = Path(__file__).resolve().parents[1]
# A link or an image of Markdown with its target, outside of code.
LINK = re.compile(r"(\]\()([^)\s]+)(\))")
FENCE = re.compile(r"^(```.*?^```)", re.MULTILINE | re.DOTALL)
PLAYGROUND = re.compile(r"<!-- playground: (\S+) -->")
# Parameters of a fragment that say how a frame looks.
VIEW = re.compile(r"(show|choose|wait)=")
# The specification of a table that docs/results/tables.py fills.
TABLE = re.compile(r"^<!-- table\n.*?^-->\n\n", re.MULTILINE | re.DOTALL)
# Of SUMMARY.md: the title of a part, and an entry of one or of the front matter.
PART = re.compile(r"^# (.+)$")
ENTRY = re.compile(r"^(?:- )?\[(.+)\]\((.+\.md)\)$")
# Pages outside docs/ that the site has as pages.
OUTSIDE = ("ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")


def site_path(target: Path) -> Path:
    """Where a file of the repository stands on the site, both relative to their roots."""
    if target.parts and target.parts[0] == "docs":
        return Path(*target.parts[1:])
    return Path("project") / target


class Site:
    """The folder of sources, and which files outside docs/ it needs."""

    def __init__(self, folder: Path, playground: bool) -> None:
        self.folder = folder
        self.playground = playground
        self.wanted: set[Path] = set()
        self.written: set[Path] = set()

    def add(self, page: Path) -> None:
        """Copy a file of the repository, its links turned to the site's paths."""
        self.written.add(page)
        to = self.folder / site_path(page)
        to.parent.mkdir(parents=True, exist_ok=True)
        if page.suffix != ".md":
            shutil.copyfile(REPOSITORY / page, to)
            return
        pieces = FENCE.split((REPOSITORY / page).read_text())
        turned = [
            piece if piece.startswith("```") else self._prose(page, piece) for piece in pieces
        ]
        # Sphinx expects every other page in the navigation.
        lone = page.parts[0] != "docs" and str(page) not in OUTSIDE
        to.write_text(("---\norphan: true\n---\n" if lone else "") + "".join(turned))

    def _prose(self, page: Path, text: str) -> str:
        text = LINK.sub(
            lambda match: "](" + self._target(page, match[2]) + ")", TABLE.sub("", text)
        )
        return self.frames(page, text)

    def frames(self, page: Path, text: str) -> str:
        """The text with frames for its comments of the playground."""
        return PLAYGROUND.sub(lambda match: self._frame(page, match[1]), text)

    def _target(self, page: Path, link: str) -> str:
        if re.match(r"[a-z]+:|#", link):
            return link
        path, hash_sign, anchor = link.partition("#")
        target = Path(os.path.normpath(page.parent / path))
        if (REPOSITORY / target).is_dir():
            target = target / "index.md"
        if target.parts[0] != "docs":
            self.wanted.add(target)
        there = os.path.relpath(site_path(target), site_path(page).parent)
        return there + hash_sign + anchor

    def _frame(self, page: Path, fragment: str) -> str:
        if not self.playground:
            return ""
        root = os.path.relpath(".", site_path(page).parent)
        # The whole playground runs at once, and shows all plots.
        whole = html.escape("&".join(p for p in fragment.split("&") if not VIEW.match(p)))
        fragment = html.escape(fragment)
        return (
            f'<iframe class="playground" loading="lazy" title="The playground" '
            f'data-src="{root}/playground/index.html?embed#{fragment}"></iframe>\n\n'
            f'<a href="{root}/playground/index.html#{whole}">Open it in the playground</a>'
        )

    def add_wanted(self) -> None:
        """Copy what links lead to, and what links of those copies lead to."""
        while missing := sorted(self.wanted - self.written):
            for target in missing:
                if target.name == "index.md" and not (REPOSITORY / target).exists():
                    self._list(target)
                else:
                    self.add(target)

    def _list(self, index: Path) -> None:
        """A page that stands for a folder."""
        self.written.add(index)
        files = sorted(path for path in (REPOSITORY / index.parent).rglob("*") if path.is_file())
        parts = [f"---\norphan: true\n---\n\n# `{index.parent}`"]
        for path in files:
            parts.append(f"## `{path.relative_to(REPOSITORY / index.parent)}`")
            language = {".rs": "rust", ".c": "c", ".cpp": "cpp"}.get(path.suffix, "text")
            parts.append(f"````{language}\n{path.read_text()}\n````")
        to = self.folder / site_path(index)
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_text("\n\n".join(parts) + "\n")

    def write(self, name: str, text: str) -> None:
        """Write a page that is generated."""
        (self.folder / name).write_text(text)


def parts_of_summary() -> list[tuple[str, list[str]]]:
    """The parts of docs/SUMMARY.md, each with its pages; the front matter has the title ""."""
    parts: list[tuple[str, list[str]]] = [("", [])]
    for line in (REPOSITORY / "docs/SUMMARY.md").read_text().splitlines():
        if match := ENTRY.match(line):
            parts[-1][1].append(f"{match[1]} <{match[2]}>")
        elif (match := PART.match(line)) and match[1] != "Summary":
            parts.append((match[1], []))
    return parts


def toctree(caption: str, entries: list[str]) -> str:
    """A part of the navigation."""
    options = [":hidden:", *([f":caption: {caption}"] if caption else [])]
    return "\n".join(["```{toctree}", *options, "", *entries, "```"])


def index(site: Site, parts: list[tuple[str, list[str]]]) -> str:
    """The front page with the navigation, whose one source is docs/SUMMARY.md."""
    front = parts[0]
    trees = []
    for title, entries in parts[1:]:
        generated = ["commands/windlass", "python", "rust"] if title == "Reference" else []
        trees.append(toctree(title, entries + generated))
    outside = [f"project/{name}" for name in OUTSIDE]
    trees.append(toctree("Project", ["Index <SUMMARY>", *front[1], *outside]))
    # The front page stands among the pages of docs/.
    text = site.frames(Path("docs/index.md"), (REPOSITORY / "site/index.md").read_text())
    return text + "\n" + "\n\n".join(trees) + "\n"


def python_page() -> str:
    """The reference of the lab's Python package: what `windlass_lab` exports."""
    text = (REPOSITORY / "lab/src/windlass_lab/__init__.py").read_text()
    homes = re.findall(r'^    "(\w+)": "(windlass_lab[\w.]+)",$', text, re.MULTILINE)
    rst = []
    for name, home in homes:
        kind = "class" if name[0].isupper() else "function"
        rst.append(f".. auto{kind}:: {home}.{name}\n")
    return (
        "# Python\n\nThe package `windlass_lab` exports these names: "
        "`import windlass_lab as wl`, then `wl.simulate(...)`. "
        "[The guide](guide/python.md) shows them at work.\n\n"
        "```{eval-rst}\n" + "\n".join(rst) + "```\n"
    )


def rust_page(rustdoc: Path | None) -> str:
    """A list of the crates, each with a link to its rustdoc beside the site's pages."""
    rows = []
    for manifest in sorted(REPOSITORY.glob("crates/*/Cargo.toml")):
        text = manifest.read_text()
        name = re.search(r'^name = "(.+)"', text, re.MULTILINE)
        said = re.search(r'^description = "(.+)"', text, re.MULTILINE)
        if not name:
            continue
        # A library's own name, where the crate says it.
        library = re.search(r'^\[lib\]\n(?:.+\n)*?name = "(.+)"', text, re.MULTILINE)
        module = (library or name)[1].replace("-", "_")
        shown = f"<code>{name[1]}</code>"
        if rustdoc and (rustdoc / module / "index.html").is_file():
            shown = f'<a href="rust/{module}/index.html">{shown}</a>'
        rows.append(f"{shown}\n: {said[1] if said else '&nbsp;'}")
    note = (
        "" if rustdoc else "`cargo doc --open` in a checkout shows the documentation of each.\n\n"
    )
    head = "# Rust\n\nThe crates of Windlass, private items included.\n\n"
    return head + note + "\n\n".join(rows) + "\n"


def main() -> None:
    """Write the folder anew."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--windlass", type=Path, required=True, help="the binary with the help")
    parser.add_argument("--to", type=Path, required=True, help="the folder to write")
    parser.add_argument("--rustdoc", type=Path, help="where cargo doc wrote")
    parser.add_argument("--playground", action="store_true", help="the playground is built")
    arguments = parser.parse_args()
    shutil.rmtree(arguments.to, ignore_errors=True)
    arguments.to.mkdir(parents=True)
    site = Site(arguments.to, arguments.playground)
    for path in sorted((REPOSITORY / "docs").rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            site.add(path.relative_to(REPOSITORY))
    site.wanted |= {Path(name) for name in OUTSIDE}
    site.add_wanted()
    names = commands.write_pages(arguments.windlass.resolve(), arguments.to / "commands")
    top = arguments.to / "commands/windlass.md"
    top.write_text(
        top.read_text() + "\n" + toctree("", [n for n in names if n != "windlass"]) + "\n"
    )
    site.write("index.md", index(site, parts_of_summary()))
    site.write("python.md", python_page())
    site.write("rust.md", rust_page(arguments.rustdoc))


if __name__ == "__main__":
    main()

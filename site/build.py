"""Builds the documentation site, and refuses a link that leads nowhere.

    python3 site/build.py [--mdbook PROGRAM] [--source URL] [--out DIRECTORY]

The pages of site/SUMMARY.md are copied to where they lie in the repository. A link from one to another stays as it is;
one to a file of the repository that is no page leads to the file on the server (`--source`). Pages of lenses come
without their cases, which are test data, and with the strengths and measured numbers of each rule.
"""

import argparse
import html.parser
import json
import os
import posixpath
import re
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parent.parent
LINK = re.compile(r"(!?\[[^\]]*\]\()([^)\s]+)(\))")
FENCE = re.compile(r"^\s*(```+|~~~+)")
PICTURES = (".png", ".svg")
LENSES = "tests/corpus/lenses/"


def fail(problems):
    for problem in problems:
        print(f"site: {problem}", file=sys.stderr)
    sys.exit(1)


def chapters():
    """Returns the paths of the pages that SUMMARY.md lists."""
    summary = (ROOT / "site/SUMMARY.md").read_text(encoding="utf-8")
    return [target for _, target, _ in LINK.findall(summary)]


def next_fence(fence, line):
    """Returns the fence that a line leaves open: none where it closes the one before."""
    found = FENCE.match(line)
    if not found or (fence is not None and line.strip() != fence):
        return fence
    return found.group(1) if fence is None else None


def prose(text):
    """Returns the page of a lens without its cases."""
    kept, inside, fence = [], False, None
    for line in text.splitlines():
        outside, fence = fence is None, next_fence(fence, line)
        if outside and re.match(r"#{1,3} ", line):
            inside = line.startswith("### ")
        if not inside:
            kept.append(line)
    return "\n".join(kept).rstrip() + "\n"


def per_thousand(count, judged):
    return f"{count * 1000 / judged:.1f} per 1,000"


def numbers(rule, trade):
    """Returns a table with the strengths of a rule, and how often it blocked merged commits."""
    rows = []
    counts = trade["rules"].get(rule["ruleId"], {})
    for preset, counted in [("default", "blockedInDefault"), ("guarded", "blockedInGuarded"), ("advisory", None)]:
        strengths = rule["strengths"][preset]
        cells = [f"`{strengths[scope]}`" for scope in ("product", "test", "docs", "generated", "vendored")]
        # A rule that is not there blocked nothing or is younger than the figures, which do not say which.
        measured = per_thousand(counts[counted], trade["judged"]) if counted in counts else "–"
        rows.append(f"| `{preset}` | {' | '.join(cells)} | {measured} |")
    return (
        f"Severity {rule['severity']}.\n\n"
        "| Preset | product | test | docs | generated | vendored | merged commits blocked |\n"
        "|---|---|---|---|---|---|---:|\n" + "\n".join(rows) + "\n"
    )


def lens_page(path, text):
    """Returns the page of a lens as the site has it: prose, then numbers below the heading of each rule."""
    lens = posixpath.basename(path).removesuffix(".md")
    registry = json.loads((ROOT / "skill/registry.v1.json").read_text(encoding="utf-8"))
    trade = json.loads((ROOT / "evaluation/trade.json").read_text(encoding="utf-8"))
    rules = {
        rule["ruleId"]: rule
        for entry in registry["lenses"]
        if entry["lensId"] == lens
        for rule in entry["rules"]
    }
    lines, headed = [], set()
    for line in prose(text).splitlines():
        lines.append(line)
        rule = rules.get(line.removeprefix("## "))
        if line.startswith("## ") and rule:
            lines += ["", numbers(rule, trade)]
            headed.add(rule["ruleId"])
    missing = sorted(rules.keys() - headed)
    if missing:
        fail([f"{path} has no section for {', '.join(missing)}"])
    measured = (
        f"\nThe last column counts blocks among {trade['judged']:,} merged commits, measured on {trade['date']}; "
        "– stands for rules that blocked none of them or are younger. [Precision and recall](../../../docs/precision.md#what-a-promotion-would-cost) has more.\n"
        f"The cases that the tests run are in [the page of the lens](../../../{path}?plain=1).\n"
    )
    return "\n".join(lines) + "\n" + measured


def relink(page, text, pages, source):
    """Returns the text with links that leave the site turned into links to the server, and the pictures it shows."""
    pictures, problems, fence = set(), [], None
    lines = []

    def target_of(match):
        before, target, after = match.groups()
        path, mark, fragment = target.partition("#")
        path, plain, query = path.partition("?")
        if "://" in target or target.startswith("mailto:") or not path:
            return match.group(0)
        inside = posixpath.normpath(posixpath.join(posixpath.dirname(page), path))
        if inside in pages and not plain:
            # The book writes README.md as index.html, and does not change links to it.
            return before + re.sub(r"README\.md$", "index.md", path) + mark + fragment + after
        if not (ROOT / inside).exists():
            problems.append(f"{page} links to {target}, which is not there")
            return match.group(0)
        if inside.endswith(PICTURES):
            pictures.add(inside)
            return match.group(0)
        kind = "tree" if (ROOT / inside).is_dir() else "blob"
        return f"{before}{source.replace('/blob/', f'/{kind}/')}/{inside}{plain}{query}{mark}{fragment}{after}"

    for line in text.splitlines():
        fence = next_fence(fence, line)
        lines.append(line if fence else LINK.sub(target_of, line))
    if problems:
        fail(problems)
    return "\n".join(lines) + "\n", pictures


def lay_out(folder, source):
    """Writes the pages, the pictures and the configuration that the book is built from."""
    pages = chapters()
    twice = sorted({page for page in pages if pages.count(page) > 1})
    if twice:
        fail([f"SUMMARY.md lists {page} twice" for page in twice])
    shutil.rmtree(folder, ignore_errors=True)
    pictures = set()
    for page in pages:
        text = (ROOT / page).read_text(encoding="utf-8")
        if page.startswith(LENSES):
            text = lens_page(page, text)
        if text.startswith("---\n"):
            text = text.split("\n---\n", 1)[1]
        text, shown = relink(page, text, set(pages), source)
        pictures |= shown
        (folder / "src" / page).parent.mkdir(parents=True, exist_ok=True)
        (folder / "src" / page).write_text(text, encoding="utf-8")
    for picture in pictures:
        (folder / "src" / picture).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / picture, folder / "src" / picture)
    shutil.copyfile(ROOT / "site/SUMMARY.md", folder / "src/SUMMARY.md")
    shutil.copyfile(ROOT / "site/book.toml", folder / "book.toml")


class Page(html.parser.HTMLParser):
    """The ids of a built page, and what it links to or loads."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.links = set(), []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.ids.add(value)
            if name in ("href", "src") and value and tag in ("a", "img", "link", "script"):
                self.links.append((tag, value))


def check_links(out):
    """Returns the number of links of the built site, and those that lead nowhere or load from another server."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in out.rglob("*.html")}
    count, problems = 0, []
    for path, page in sorted(pages.items()):
        shown = path.relative_to(out)
        # Its links are written for the place of the page that was not found.
        if shown.name == "404.html":
            continue
        for tag, link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                if tag != "a":
                    problems.append(f"{shown} loads {link}")
                continue
            count += 1
            target = path if not parts.path else Path(os.path.normpath(path.parent / unquote(parts.path)))
            if target.is_dir():
                target /= "index.html"
            if not target.exists():
                problems.append(f"{shown} links to {link}, which is not there")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].ids:
                problems.append(f"{shown} links to {link}, which has no such heading")
    return count, problems


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mdbook", default="mdbook")
    parser.add_argument("--source", default="https://github.com/OWNER/qa-skill/blob/main")
    parser.add_argument("--out", type=Path, default=ROOT / "target/site/book")
    arguments = parser.parse_args()
    folder = ROOT / "target/site/laid-out"
    lay_out(folder, arguments.source)
    out = arguments.out.resolve()
    shutil.rmtree(out, ignore_errors=True)
    built = subprocess.run([arguments.mdbook, "build", folder, "--dest-dir", out], stderr=subprocess.PIPE, text=True)
    # A warning is a page that is shown otherwise than it was written.
    if built.returncode != 0 or "WARN" in built.stderr or "ERROR" in built.stderr:
        fail([f"mdbook ended with {built.returncode}", built.stderr])
    count, problems = check_links(out)
    if problems:
        fail(problems)
    size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    print(f"site: {len(chapters())} pages, {count} links, {size / 1e6:.1f} MB in {out}")


if __name__ == "__main__":
    main()

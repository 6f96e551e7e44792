"""What the site is built from: our pages in the places that they have in a checkout, and the files that they lead to.

A link is the same in a checkout, at a code host and in the site. A folder has no page of its own, so a link to one
leads to its README.md, or to a list of what is in it.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath
from posixpath import normpath

from scripts.checks.prose import FENCE, without_code
from scripts.checks.versions import BUILT

OURS = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "CODE_OF_CONDUCT.md", "SECURITY.md")
"""The pages that a checkout has in its first folder; the README is the site's first page."""
LISTING = "files.md"
"""The page that lists a folder without a README; the navigation leaves it out."""
README = "README.md"
LINK = re.compile(r"\]\(([^()\s]+)\)")
HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)
ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|//")
"""How the target of a link begins that leads elsewhere than to a file of ours."""


@dataclass
class SiteContent:
    """What the site holds, as paths in a checkout, and the links that lead nowhere, each with its file and line."""

    pages: set[str] = field(default_factory=set)
    files: set[str] = field(default_factory=set)
    folders: set[str] = field(default_factory=set)
    broken: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Link:
    """A link of a page: the line, its target, and the place of the target in the page's text."""

    line: int
    target: str
    start: int


def links(text: str) -> Iterator[Link]:
    """Yield the links of a page to files of ours; code holds none."""
    for match in LINK.finditer(without_code(text)):
        if not ELSEWHERE.match(match[1]):
            yield Link(text.count("\n", 0, match.start()) + 1, match[1], match.start(1))


def led_to(page: str, target: str) -> str:
    """Return the file or folder that a link of a page leads to, as a path in a checkout.

    The page for its own heading.
    """
    file = target.partition("#")[0]
    return normpath(PurePosixPath(page).parent / file) if file else page


def anchors(text: str) -> set[str]:
    """Return the headings of a page as links name them, by the rule of code hosts.

    ``How it *works*?`` is ``how-it-works``.
    """
    titles = [LINK.sub("", heading) for heading in HEADING.findall(FENCE.sub("", text))]
    return {re.sub(r"[^\w\s-]", "", title.lower()).strip().replace(" ", "-") for title in titles}


def gathered(root: Path) -> SiteContent:
    """Return the pages of docs, and all that they link to, directly or through others."""
    site, todo = SiteContent(), [*OURS, *(path.relative_to(root).as_posix() for path in root.glob("docs/**/*.md"))]
    while todo:
        page = todo.pop()
        if page not in site.pages:
            site.pages.add(page)
            todo += _followed(root, page, site)
    site.broken.sort()
    return site


def _followed(root: Path, page: str, site: SiteContent) -> Iterator[str]:
    """Yield the pages that a page leads to; files, folders and what is broken are noted."""
    for link in links((root / page).read_text(encoding="utf-8")):
        path = led_to(page, link.target)
        path = f"{path}/{README}" if (root / path / README).is_file() else path
        if not _is_there(root, path, link.target.partition("#")[2]):
            site.broken.append(f"{page}:{link.line}: {link.target} leads nowhere")
        elif (root / path).is_dir():
            site.folders.add(path)
        elif path.endswith(".md"):
            yield path
        else:
            site.files.add(path)


def _is_there(root: Path, path: str, anchor: str) -> bool:
    """Whether there is a file or folder within a checkout, and a heading in it where one is named."""
    if path.startswith("..") or not (root / path).exists():
        return False
    return not anchor or (path.endswith(".md") and anchor in anchors((root / path).read_text(encoding="utf-8")))


def relinked(text: str, change: Callable[[str], str]) -> str:
    """Return a page whose links to files of ours have other targets."""
    for link in reversed(list(links(text))):
        text = text[: link.start] + change(link.target) + text[link.start + len(link.target) :]
    return text


def write(root: Path, out: Path) -> SiteContent:
    """Write what the site is built from into a folder; nothing of what was there before stays."""
    site = gathered(root)
    shutil.rmtree(out, ignore_errors=True)
    for page in site.pages:
        text = (root / page).read_text(encoding="utf-8")
        _put(out / page, relinked(text, partial(_to, root, page)))
    for file in site.files:
        (out / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / file, out / file)
    for folder in site.folders:
        _put(out / folder / LISTING, listing(root, folder))
    return site


def _to(root: Path, page: str, target: str) -> str:
    """Return the target of a link in the site: of one to a folder its README or its list."""
    folder = root / led_to(page, target)
    if not folder.is_dir():
        return target
    path, sign, anchor = target.partition("#")
    return f"{path.rstrip('/')}/{README if (folder / README).is_file() else LISTING}{sign}{anchor}"


def listing(root: Path, folder: str) -> str:
    """Return the page of a folder that has no README: what is in it, but for what builds make."""
    inside = sorted(path for path in (root / folder).iterdir() if path.name not in BUILT and path.name[0] != ".")
    names = [f"- `{path.name}{'/' if path.is_dir() else ''}`" for path in inside]
    return "\n".join([f"# `{folder}`", "", "In a checkout this folder holds:", "", *names, ""])


def _put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")

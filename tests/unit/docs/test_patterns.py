"""The catalogue of patterns: every page has the same form, is in the index, and links to what there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[3] / "docs" / "patterns"
INDEX = FOLDER / "README.md"
PAGES = sorted(page for page in FOLDER.glob("*.md") if page != INDEX)
HEADINGS = re.findall(r"^\| `(## .+?)` \|", INDEX.read_text(encoding="utf-8"), re.MULTILINE)


def local_links(page: Path) -> list[str]:
    targets = re.findall(r"\]\(([^)]+)\)", page.read_text(encoding="utf-8"))
    return [target for target in targets if not target.startswith(("http", "#"))]


def anchors(page: Path) -> set[str]:
    titles = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^a-z0-9 _-]", "", title.lower()).replace(" ", "-") for title in titles}


def test_the_index_says_which_headings_a_page_has() -> None:
    assert len(HEADINGS) == 7


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_of_a_pattern_has_the_headings_of_the_form_in_their_order(page: Path) -> None:
    title, sentence, *_ = [line for line in page.read_text(encoding="utf-8").splitlines() if line]
    assert title.startswith("# ")
    assert not sentence.startswith("#"), "one sentence below the title says what the pattern does"
    assert re.findall(r"^## .+$", page.read_text(encoding="utf-8"), re.MULTILINE) == HEADINGS


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_of_a_pattern_is_in_the_index(page: Path) -> None:
    assert f"]({page.name})" in INDEX.read_text(encoding="utf-8")


@pytest.mark.parametrize("page", [INDEX, *PAGES], ids=lambda page: page.stem)
def test_the_links_of_the_catalogue_lead_somewhere(page: Path) -> None:
    for target in local_links(page):
        name, _, anchor = target.partition("#")
        led = (page.parent / name).resolve() if name else page
        assert led.exists(), target
        assert not anchor or anchor in anchors(led), target

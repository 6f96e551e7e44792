"""The site holds every page once, its links lead somewhere, and its reference is what code and schemas say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from ruamel.yaml import YAML
from scripts.site import reference, screenshots, sources
from tests.support.first_screens import QUESTIONS
from tests.support.pictures import WATCH
from tests.support.studies import ROOT

REFERENCE = reference.pages()
CONFIGURATION = YAML(typ="safe").load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))


def named(navigation: object) -> Iterator[str]:
    """The pages that a part of the navigation names."""
    if isinstance(navigation, str):
        yield navigation
    elif isinstance(navigation, dict):
        for part in navigation.values():
            yield from named(part)
    else:
        assert isinstance(navigation, list)
        for part in navigation:
            yield from named(part)


def test_the_navigation_names_every_page_once_and_nothing_else() -> None:
    names = Counter(named(CONFIGURATION["nav"]))
    assert [page for page, count in names.items() if count > 1] == []
    assert set(names) == sources.gathered(ROOT).pages


def test_every_link_of_a_page_leads_somewhere() -> None:
    assert sources.gathered(ROOT).broken == []


@pytest.mark.parametrize("name", REFERENCE)
def test_the_reference_is_up_to_date(name: str) -> None:
    path = ROOT / reference.FOLDER / name
    assert path.is_file(), "type `make contracts`"
    assert path.read_text(encoding="utf-8") == REFERENCE[name], "type `make contracts`"


def test_the_reference_has_no_page_that_nothing_makes() -> None:
    assert {path.name for path in (ROOT / reference.FOLDER).iterdir()} == set(REFERENCE)


def test_the_site_is_built_where_it_is_put_together() -> None:
    from scripts.site.__main__ import PAGES  # noqa: PLC0415 - a module that is also a command

    assert ROOT / CONFIGURATION["docs_dir"] == PAGES


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with a page, what it leads to, and what it does not."""
    for name in sources.OURS:
        (tmp_path / name).write_text("# Title\n")
    for folder in ("docs", "studies", "kits/one", "kits/two/target", "contracts"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "studies/a.yaml").write_text("patternbench: 1\n")
    (tmp_path / "studies/unnamed.yaml").write_text("patternbench: 1\n")
    (tmp_path / "kits/two/kit.py").write_text("")
    (tmp_path / "kits/one/README.md").write_text("# One\n\n[two](../two)\n")
    (tmp_path / "contracts/rules.md").write_text("# Rules\n\n## All `limits`, and *when*?\n")
    return tmp_path


PAGE = """# Page

A [study](../studies/a.yaml), [kits](../kits/one/#one) and [rules](../contracts/rules.md#all-limits-and-when),
`[code](nowhere.md)`, [elsewhere](https://example.org/x), [here](#page).

```
[code](nowhere.md)
```
"""


def test_a_site_holds_our_pages_and_all_that_they_lead_to(checkout: Path, tmp_path: Path) -> None:
    (checkout / "docs/page.md").write_text(PAGE)
    site = sources.write(checkout, tmp_path / "out")
    assert site.pages == {*sources.OURS, "docs/page.md", "kits/one/README.md", "contracts/rules.md"}
    assert (site.files, site.folders, site.broken) == ({"studies/a.yaml"}, {"kits/two"}, [])
    written = {path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*.*")}
    assert written == site.pages | site.files | {"kits/two/files.md"}


def test_a_link_to_a_folder_leads_to_its_readme_or_to_a_list_of_what_is_in_it(checkout: Path, tmp_path: Path) -> None:
    (checkout / "docs/page.md").write_text(PAGE)
    sources.write(checkout, tmp_path / "out")
    assert (tmp_path / "out/docs/page.md").read_text() == PAGE.replace("kits/one/#one)", "kits/one/README.md#one)")
    assert "[two](../two/files.md)" in (tmp_path / "out/kits/one/README.md").read_text()
    listed = (tmp_path / "out/kits/two/files.md").read_text()
    assert "- `kit.py`" in listed
    assert "target" not in listed


@pytest.mark.parametrize(
    "target", ["missing.md", "../studies/b.yaml", "../../outside.md", "#missing", "../contracts/rules.md#missing"]
)
def test_a_link_that_leads_nowhere_is_named_with_its_line(target: str, checkout: Path) -> None:
    (checkout / "docs/page.md").write_text(f"# Page\n\nA [link]({target}).\n")
    assert sources.gathered(checkout).broken == [f"docs/page.md:3: {target} leads nowhere"]


def test_each_kind_of_page_has_a_picture_which_the_documentation_shows() -> None:
    pictures = [*screenshots.PICTURES, *screenshots.MADE_UP]
    assert [picture for picture in pictures if not (ROOT / picture).is_file()] == []
    pages = "".join(page.read_text(encoding="utf-8") for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
    assert [picture for picture in pictures if picture.removeprefix("docs/") not in pages] == []
    assert {name for name, *_ in screenshots.MADE_UP.values()} == {*QUESTIONS, WATCH} - {"retry"}


def test_what_keeps_a_picture_from_being_taken_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = next(iter(screenshots.PICTURES))
    for words in ([], [picture], [next(iter(screenshots.MADE_UP)), str(tmp_path)]):
        assert screenshots.main(words) == 2
        assert "usage: " in capsys.readouterr().err
    assert screenshots.main(["docs/other.png", str(tmp_path)]) == 2
    assert picture in capsys.readouterr().err
    assert screenshots.main([picture, str(tmp_path)]) == 2
    assert f"type `patternbench report {tmp_path}`" in capsys.readouterr().err
    width, height = screenshots.PICTURES[picture]
    assert f"--window-size={width},{height}" in screenshots.command(picture, tmp_path, "/profile")

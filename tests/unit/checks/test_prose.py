"""Habits of prose are found where people read them, and the check fails on each."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from scripts.checks import prose
from scripts.checks.prose import Allowed


def keys(text: str, file: str = "page.md") -> list[str]:
    return [site.habit.key for site in prose.sites(file, text)]


@pytest.mark.parametrize(
    ("sentence", "habit"),
    [
        ("A text is no number.", "is-no"),
        ("What follows are none of ours.", "is-no"),
        ("A table beside a figure.", "beside"),
        ("At most 10,000 rows a batch.", "a-for-per"),
        ("It takes 20 ms an attempt.", "a-for-per"),
        ("Stops after so many calls.", "so-many"),
        ("What is left open is the window.", "what-is"),
        ("Where none is told, it is 1.", "is-told"),
        ("It is 12 ms in the mean.", "in-the-mean"),
        ("word " * 24 + "word", "long-line"),
    ],
)
def test_a_habit_is_found_with_what_to_write_instead(sentence: str, habit: str) -> None:
    assert keys(sentence) == [habit]
    (site,) = prose.sites("page.md", f"# Title\n\n{sentence}\n")
    assert str(site).startswith(f"page.md:3: {habit}: ")
    assert str(site).endswith(f"write: {site.habit.instead}")


@pytest.mark.parametrize(
    "sentence",
    [
        "There is no answer, and there\nis no other.",
        "It is no longer there, and is no wider than the other.",
        "How many calls a service takes.",
        "There are so many that it stops, and besides, so long as it runs.",
        "What is a round? There are ten.",
        "## What it costs\n\nTwo calls are made.",
        "A client is told how the round goes.",
        "word " * 23 + "words",
        "| " + "cell " * 40 + "|",
        "A [link](" + "x" * 120 + ").",
        "```\na text is no number " + "word " * 24 + "\n```",
        "```\ncode\n```\n\n| " + "cell `x` " * 20 + "|",
        "[name]: https://example.org/" + "x" * 120,
        "Type `is no` or `" + "beside`.",
        "`p` is None, and all are None without rows.",
    ],
)
def test_good_english_and_code_are_left_alone(sentence: str) -> None:
    assert keys(sentence) == []


def test_what_a_script_prints_into_a_page_is_read_where_the_script_has_it() -> None:
    text = "<!-- verdicts -->\nA text is no number.\n<!-- end of verdicts -->\nA table beside a figure.\n"
    assert [(site.habit.key, site.line) for site in prose.sites("page.md", text)] == [("beside", 4)]
    assert keys(text.replace("end of verdicts", "end of others")) == ["is-no", "beside"]


def test_a_habit_is_found_across_the_end_of_a_line() -> None:
    (site,) = prose.sites("page.md", "One.\nA text is\nno number.\n")
    assert (site.line, site.text) == (2, "A text is no number.")


MODULE = '''"""A text is no number, and ``beside`` is a name."""

# A note beside
# the code, so
# many times.
x = f"{1} is no {2}"
call(help="after so many calls")
y = "beside"
'''


def test_docstrings_comments_and_sentences_of_a_module_are_read_with_their_lines() -> None:
    sites = prose.sites("module.py", MODULE)
    assert [(site.line, site.habit.key) for site in sites] == [
        (1, "is-no"),
        (3, "beside"),
        (4, "so-many"),
        (6, "is-no"),
        (7, "so-many"),
    ]


RUST = r"""//! The place beside.

fn f() {
    let a = '"';
    let x = "this is no\
        number"; // so many
}
"""


def test_comments_and_sentences_of_a_rust_file_are_read_with_their_lines() -> None:
    sites = prose.sites("lib.rs", RUST)
    assert [(site.line, site.habit.key) for site in sites] == [(1, "beside"), (5, "is-no")]


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("Client.java", "/**\n * The place\n * beside. */\nclass Client {}\n"),
        ("client.go", "package main\n// The place\n// beside.\n"),
        ("Client.cs", "/// <summary>\n/// The place beside.\n/// </summary>\n"),
        ("client.js", "// beside\nconst a = `${so} many`;\n"),
        ("core.lua", "--- The place beside.\nlocal M = {}\n"),
        ("core.lua", 'local M = {}\nerror("the place beside")\n'),
        ("schema.sql", "-- The place beside.\nSELECT 1;\n"),
        ("study.yaml", "# The place\n# beside.\nname: study\n"),
        ("system.yml", "about: |\n  The place\n  beside.\n"),
    ],
)
def test_the_prose_of_every_language_is_read(file: str, text: str) -> None:
    (site,) = prose.sites(file, text)
    assert (site.habit.key, site.line) == ("beside", 1 + text[: text.index("beside")].count("\n"))


@pytest.mark.parametrize("file", ["core.lua", "client.go", "study.yaml"])
def test_lines_of_sources_may_be_longer_than_those_of_pages(file: str) -> None:
    assert keys("word " * 30, file) == []


def test_a_sentence_with_a_reason_may_stay_and_its_entry_goes_when_it_does() -> None:
    entry = Allowed("page.md", "is no number", "quotes the standard")
    matches = prose.sites("page.md", "A text is no number.\nA number is no text.\n")
    assert [site.line for site in prose.without([entry], matches)] == [2]
    assert prose.idle([entry], matches) == []
    (message,) = prose.idle([entry], matches[1:])
    assert "“is no number” is not in page.md any more" in message


def test_every_sentence_that_may_stay_has_a_reason() -> None:
    assert all(entry.reason for entry in prose.allowed())


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of one page with one habit, in a folder."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "page.md").write_text("A text is no number.\n")
    (tmp_path / "allowed.toml").write_text("")
    monkeypatch.setattr(prose, "tracked", lambda: ["docs/page.md"])
    monkeypatch.setattr(prose, "in_files", partial(prose.in_files, root=tmp_path))
    monkeypatch.setattr(prose, "allowed", partial(prose.allowed, tmp_path / "allowed.toml"))
    return tmp_path


@pytest.mark.parametrize("paths", [[], ["."], ["docs"], ["docs/page.md"]], ids=str)
def test_one_habit_fails_the_check(project: Path, paths: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert prose.main(paths) == 1
    assert capsys.readouterr().out.startswith("docs/page.md:1: is-no: ")


def test_prose_without_a_habit_passes_the_check(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "docs" / "page.md").write_text("A text isn't a number.\n")
    assert prose.main([]) == 0
    assert not capsys.readouterr().out


def test_the_check_passes_what_an_entry_allows(project: Path) -> None:
    (project / "allowed.toml").write_text('[[sentence]]\nfile = "docs/page.md"\ntext = "is no"\nreason = "quoted"\n')
    assert prose.main([]) == 0


def test_an_entry_that_allows_nothing_any_more_fails_the_check(project: Path) -> None:
    (project / "allowed.toml").write_text('[[sentence]]\nfile = "docs/page.md"\ntext = "other"\nreason = "quoted"\n')
    assert prose.main([]) == 1


def test_paths_that_hold_nothing_of_ours_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert prose.main(["nowhere"]) == 2
    assert "no page or source of ours at nowhere" in capsys.readouterr().out


def test_generated_and_built_files_are_not_read() -> None:
    names = prose.tracked()
    assert "README.md" in names
    assert "src/patternbench/cli/main.py" in names
    assert not [name for name in names if name.startswith("tests/") or "node_modules" in name]

"""Habits of prose are found where people read them, and their counts never rise."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from scripts.checks import prose
from scripts.checks.prose import Allowed, Site


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


MODULE = '''"""A text is no number."""

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


def test_a_sentence_with_a_reason_may_stay_and_its_entry_goes_when_it_does() -> None:
    entry = Allowed("page.md", "is no number", "quotes the standard")
    counted = prose.sites("page.md", "A text is no number.\nA number is no text.\n")
    assert [site.line for site in prose.without([entry], counted)] == [2]
    assert prose.idle([entry], counted) == []
    (said,) = prose.idle([entry], counted[1:])
    assert "“is no number” is not in page.md any more" in said


def test_every_sentence_that_may_stay_has_a_reason() -> None:
    assert all(entry.reason for entry in prose.allowed())


def of_folders(*folders: str) -> list[Site]:
    return [site for folder in folders for site in prose.sites(f"{folder}/page.md", "A text is no number.\n")]


def test_a_count_that_rises_is_shown_with_its_sites() -> None:
    counted = of_folders("docs", "docs", "src/a/b/c/d")
    assert list(prose.risen(counted, Counter({("docs", "is-no"): 2, ("src/a/b", "is-no"): 1}))) == []
    said = list(prose.risen(counted, Counter({("docs", "is-no"): 1, ("src/a/b", "is-no"): 1})))
    assert said[0] == "docs: `is-no` 2 times, 1 allowed; one of these is new:"
    assert [line.strip().startswith("docs/page.md:1: is-no") for line in said[1:]] == [True, True]


def test_the_ratchet_falls_with_the_counts_and_never_rises() -> None:
    ratchet = Counter({("a", "is-no"): 3, ("b", "is-no"): 1})
    assert prose.lowered(ratchet, Counter({("a", "is-no"): 2, ("b", "is-no"): 5, ("c", "is-no"): 1})) == Counter(
        {("a", "is-no"): 2, ("b", "is-no"): 1}
    )


def test_the_ratchet_is_read_as_it_is_written(tmp_path: Path) -> None:
    ratchet = Counter({("docs", "is-no"): 3, ("docs", "beside"): 1, (".", "long-line"): 2})
    path = tmp_path / "counts.json"
    path.write_text(prose.as_text(ratchet))
    assert prose.stored(path) == ratchet
    assert list(json.loads(path.read_text())) == [".", "docs"]


def test_paths_that_hold_nothing_of_ours_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert prose.main(["nowhere"]) == 2
    assert "no page or source of ours at nowhere" in capsys.readouterr().out


def test_generated_and_built_files_are_not_read() -> None:
    names = prose.tracked()
    assert "README.md" in names
    assert "src/patternbench/cli/main.py" in names
    assert not [name for name in names if name.startswith("tests/") or "node_modules" in name]

"""The quick form of a study: what its section lays over the rest, and how it is asked for."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.studies import ROOT, problems

from patternbench.plan.expand import expand
from patternbench.study import forms
from patternbench.study.load import StudyFile, loads, parse_study
from patternbench.study.text.document import Document
from patternbench.terms.problems import InputError, Problem

STUDY = """\
patternbench: 1
name: shop
system: target
rounds: 10
workload:
  closed: {users: [10, 50], duration: 60s, think_time: 20ms}
  request: {path: /bytes/10, query: {q: [a, b]}}
faults:
  - abort: {percentage: [0, 20], status: 503}
quick:
  rounds: 3
  workload:
    closed: {users: 10}
    request: {query: null}
  faults: []
"""
SHIPPED = [path for path in sorted((ROOT / "studies").glob("*.yaml")) if "\nquick:\n" in path.read_text()]


def quick(text: str = STUDY, file: str = "shop.yaml") -> StudyFile:
    return StudyFile(file, forms.asking(text, file), Path.cwd())


def test_the_quick_form_merges_mappings_replaces_lists_and_takes_away_what_is_null() -> None:
    study = quick().study()
    closed = study.workload.closed
    assert closed
    assert (study.name, study.rounds, study.faults) == ("shop-quick", 3, [])
    assert ([*map(int, closed.users)], [*map(str, closed.think_time)]) == ([10], ["20ms"])
    assert study.workload.request and not study.workload.request.query
    assert loads(STUDY, "shop.yaml").rounds == 10, "the whole form is what is run without --quick"


def test_a_scenario_of_both_forms_has_one_id() -> None:
    text = STUDY.replace("    request: {query: null}\n  faults: []\n", "")
    ids = [{scenario.id for scenario in expand(study).scenarios} for study in (loads(text, "s"), quick(text).study())]
    assert ids[1] < ids[0]


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_the_name_of_a_quick_form_still_resolves(path: Path) -> None:
    file = StudyFile.read(path.with_stem(path.stem + "-quick"))
    assert (file.name, file.study().name) == (path.stem + "-quick", path.stem + "-quick")
    assert file.text == StudyFile.read(path, quick=True).text
    assert file.file == str(path), "messages name the file that there is"


def test_a_file_that_is_there_is_not_taken_for_a_quick_form(tmp_path: Path) -> None:
    (tmp_path / "shop.yaml").write_text(STUDY)
    (tmp_path / "shop-quick.yaml").write_text(STUDY.replace("rounds: 10", "rounds: 7").replace("name: shop", "name: x"))
    assert StudyFile.read(tmp_path / "shop-quick.yaml").study().rounds == 7


def test_without_any_such_file_the_name_that_was_typed_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file") as caught:
        StudyFile.read(tmp_path / "shop-quick.yaml")
    assert caught.value.problems[0].file == str(tmp_path / "shop-quick.yaml")


def test_a_mistake_in_the_quick_form_is_found_by_whoever_reads_the_whole_study_at_its_line() -> None:
    (problem,) = problems(STUDY.replace("  rounds: 3\n", "  rounds: many\n"))
    assert (problem.path, problem.line) == ("rounds", 11)
    (unknown,) = problems(STUDY.replace("  rounds: 3\n", "  round: 3\n"))
    assert (unknown.path, unknown.line) == ("round", 11)


@pytest.mark.parametrize("key", ["patternbench: 1", "form: whole", "quick: {rounds: 2}"])
def test_what_both_forms_share_is_refused_in_the_section(key: str) -> None:
    (problem,) = problems(STUDY.replace("  rounds: 3\n", f"  {key}\n"))
    assert (problem.path, problem.line) == (f"quick.{key.partition(':')[0]}", 11)


def test_a_study_without_the_section_has_no_quick_form() -> None:
    text = STUDY[: STUDY.index("quick:")]
    with pytest.raises(InputError, match="has no quick form") as caught:
        quick(text).study()
    assert "leave out --quick" in str(caught.value.problems[0].hint)


def test_a_problem_found_later_has_the_line_of_the_section_that_brought_it() -> None:
    file = quick(STUDY.replace("closed: {users: 10}", "closed: {users: 11}"))
    with pytest.raises(InputError) as caught, file.placed():
        raise InputError(Problem("is odd", path="workload.closed.users"))
    assert caught.value.problems[0].line == 13


@pytest.mark.parametrize(
    "text", ['{"rounds": 9, "quick": {"rounds": 2}}', '{"rounds": 9, "quick": {"rounds": 2},}\n# }\n']
)
def test_a_json_study_is_asked_for_its_quick_form_too(text: str) -> None:
    document = forms.chosen(parse_study(forms.asking(text, "s.json"), "s.json"))
    assert document.fields["rounds"] == 2


LEAVES = st.one_of(st.integers(), st.text(max_size=3), st.lists(st.integers(), max_size=2))
Fields = dict[str, object]
TREES = st.recursive(st.dictionaries(st.text("abc", min_size=1, max_size=1), LEAVES, max_size=3), lambda below: (
    st.dictionaries(st.text("abc", min_size=1, max_size=1), st.one_of(LEAVES, below), max_size=3)
))  # fmt: skip


@given(TREES, TREES)
def test_the_section_is_found_in_the_quick_form_and_nothing_else_changes(
    under: dict[str, object], over: object
) -> None:
    made = forms.quick(Document("s", {**under, "name": "n", "quick": over})).fields
    assert holds(made, over)
    assert kept(under, over, made)


def holds(made: object, over: object) -> bool:
    if isinstance(made, dict) and isinstance(over, dict):
        return all(holds(made[key], value) for key, value in over.items())
    return made == over


def kept(under: object, over: object, made: object) -> bool:
    if not (isinstance(under, dict) and isinstance(over, dict) and isinstance(made, dict)):
        return made == over
    return all(
        made[key] == value if key not in over else kept(value, over[key], made[key]) for key, value in under.items()
    )


def test_a_study_that_asks_for_its_quick_form_may_be_asked_for_it_again() -> None:
    assert quick(f"form: quick\n{STUDY}").study() == quick().study()


@pytest.mark.parametrize("form", ["whole", "slow"])
def test_quick_of_a_study_that_asks_for_another_form_is_refused_at_its_line(form: str) -> None:
    with pytest.raises(InputError, match=r"^shop\.yaml:1: form: is given in the study, and --quick asks for the other"):
        quick(f"form: {form}\n{STUDY}")

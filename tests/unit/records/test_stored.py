"""Plans and manifests of other shapes than ours are one clear error each."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from patternbench.records import stored
from patternbench.records.folder import RunFolder
from patternbench.records.stored import PlannedFactor, PlannedRound
from patternbench.terms.problems import InputError

ROUND = '{"index": 0, "block": 0, "scenario": "s"}'
PLANS = ["[]", "{}", "7", "null", "", '{"a', '{"scenarios": [], "rounds": [], "factors": 3}', "[" * 99_999, "\xff"]
PLANS += [f'{{"factors": {{}}, "scenarios": [{{"id": "s"}}], "rounds": [{ROUND}]}}']
MANIFESTS = ["[]", "{}", "7", "null", "", '{"manifest": 1}', '{"manifest": "1", "study": 3}', '{"manifest": true}']


@pytest.mark.parametrize("content", PLANS)
def test_what_is_no_plan_is_refused_by_its_name(content: str, tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text(content, encoding="latin-1")
    with pytest.raises(InputError, match=r"plan\.json: "):
        stored.plan(RunFolder(tmp_path))


@pytest.mark.parametrize("content", MANIFESTS)
def test_what_is_no_manifest_is_refused_by_its_name(content: str, tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(InputError, match=r"manifest\.json: "):
        stored.manifest(RunFolder(tmp_path))


def test_a_plan_and_a_manifest_of_ours_are_read(tmp_path: Path) -> None:
    scenario = '{"id": "s", "levels": {"users": 1}, "config": {}}'
    (tmp_path / "plan.json").write_text(f'{{"factors": {{}}, "scenarios": [{scenario}], "rounds": [{ROUND}]}}')
    (tmp_path / "manifest.json").write_text('{"manifest": 1, "study": "x", "study_file": "y", "left_out": {}}')
    assert stored.plan(RunFolder(tmp_path)).rounds == [PlannedRound(index=0, block=0, scenario="s")]
    assert stored.manifest(RunFolder(tmp_path)).study == "x"


def test_factors_of_a_plan_of_before_are_read(tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text('{"factors": {"users": [1, 2]}, "scenarios": [], "rounds": []}')
    planned = stored.plan(RunFolder(tmp_path))
    assert planned.factors == [PlannedFactor(name="users", levels=[1, 2])]
    assert planned.levels == {"users": [1, 2]}


def test_what_another_version_said_stays_in_a_file_that_is_rewritten(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    before = {"manifest": 1, "study": "x", "study_file": "y", "left_out": {}, "clients": {"a": 1}, "later": [1.5]}
    run.manifest.write_text(json.dumps(before))
    more = stored.manifest(run).with_more("clients", {"b": 2}).with_more("accounts", {"redis": "me"})
    stored.write_manifest(run, more)
    assert json.loads(run.manifest.read_text()) == {**before, "clients": {"a": 1, "b": 2}, "accounts": {"redis": "me"}}


def test_a_plan_that_is_rewritten_says_what_it_said(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    config = {"system": {"name": "x", "settings": {"a": "2s"}}, "faults": {}, "client": "native", "later": None}
    before = {
        "factors": [{"name": "users", "levels": [1, "1", 1.5, True, None]}],
        "scenarios": [{"id": "s", "levels": {"users": 1}, "config": config}],
        "rounds": [json.loads(ROUND)],
    }
    run.plan.write_text(json.dumps(before))
    stored.write_plan(run, stored.plan(run))
    assert json.loads(run.plan.read_text()) == before


@pytest.mark.parametrize(
    ("changed", "path", "message"),
    [
        ({"rounds": [{"index": 0, "block": 0, "scenario": "b"}]}, "rounds[0].scenario", "the plan has no scenario b"),
        ({"rounds": [{"index": -1, "block": 0, "scenario": "a"}]}, "rounds[0]", "count from 0"),
        ({"rounds": [{"index": 10**30, "block": 0, "scenario": "a"}]}, "rounds[0]", "count from 0"),
        ({"rounds": [{"index": 0, "block": 0, "scenario": "a"}] * 2}, "rounds[1].index", "0 is there twice"),
        ({"scenarios": [{"id": "a", "levels": {}}] * 2}, "scenarios[1].id", "a is there twice"),
        ({"scenarios": [{"id": "a", "levels": {"users": 7}}]}, "scenarios[0].levels.users", "isn't among the factor's"),
    ],
)
def test_a_plan_whose_parts_contradict_each_other_is_refused_with_the_place_and_what_to_do(
    changed: dict[str, object], path: str, message: str, tmp_path: Path
) -> None:
    whole = {"factors": {"users": [1, 2]}, "scenarios": [{"id": "a", "levels": {"users": 1}}], "rounds": []}
    (tmp_path / "plan.json").write_text(json.dumps({**whole, **changed}))
    with pytest.raises(InputError) as refused:
        stored.plan(RunFolder(tmp_path))
    problem = refused.value.problems[0]
    assert problem.path == path
    assert message in problem.message
    assert "restore it from a copy" in str(problem)

"""Plans and manifests of other shapes than ours are one clear error each."""

from __future__ import annotations

from pathlib import Path

import pytest

from patternbench.records import stored
from patternbench.records.folder import RunFolder
from patternbench.study.problems import InputError

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
    assert stored.plan(RunFolder(tmp_path))["rounds"] == [{"index": 0, "block": 0, "scenario": "s"}]
    assert stored.manifest(RunFolder(tmp_path))["study"] == "x"

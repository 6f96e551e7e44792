"""What components wrote is kept for each round, whole or not at all, and read back as decisions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from patternbench.records import component_logs, decisions
from patternbench.records.folder import RunFolder

HEADING = "time_us\tbalancer\tworker\tclient\tlimit\talgorithm\tcost\tallowed\tremaining\tdecided_by\n"
LIMIT = {"name": "per_client", "algorithm": "gcra", "limit": 5, "window": "1s", "store": "memory"}


def written(folder: Path, *lines: str) -> dict[str, list[Path]]:
    folder.mkdir()
    (folder / "decisions-b1-7.tsv").write_text(HEADING + "".join(lines))
    (folder / "plan.json").write_text(json.dumps({"version": 1, "limits": [LIMIT]}))
    return {"b1": sorted(folder.iterdir())}


def test_decisions_are_read_back_as_they_were_made(tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "run")
    lines = ("20\tb1\t0\tNA\tper_client\tgcra\t1\t0\t0\tstore\n", '30\tb1\t0\t"a\tper_client\tgcra\t2\t1\t0\tlease\n')
    component_logs.keep(run, "00003", written(tmp_path / "log", *lines))
    found = decisions.read(run, "00003")
    assert found is not None
    assert found.limit == LIMIT
    assert found.table["client"].tolist() == ["NA", '"a']
    assert found.table["allowed"].tolist() == [False, True]
    assert found.table["cost"].tolist() == [1, 2]
    assert found.without_store == 0


def test_decisions_by_policy_are_those_made_without_the_store(tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "run")
    lines = [f"1\tb1\t0\ta\tl\tgcra\t1\t1\t0\t{by}\n" for by in ("policy_local", "store", "policy_open", "lease")]
    component_logs.keep(run, "00000", written(tmp_path / "log", *lines))
    found = decisions.read(run, "00000")
    assert found is not None
    assert found.without_store == 2


def test_a_balancer_that_decided_nothing_still_says_which_limit_held(tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "run")
    logs = written(tmp_path / "log")
    component_logs.keep(run, "00000", {"b1": [path for path in logs["b1"] if path.name == "plan.json"]})
    found = decisions.read(run, "00000")
    assert found is not None
    assert len(found.table) == 0


def test_a_round_without_component_logs_has_no_decisions(tmp_path: Path) -> None:
    assert decisions.read(RunFolder(tmp_path), "00000") is None


def test_the_same_log_is_kept_as_the_same_bytes(tmp_path: Path) -> None:
    run, logs = RunFolder(tmp_path / "run"), written(tmp_path / "log", "1\tb1\t0\ta\tl\tgcra\t1\t1\t4\tstore\n")
    component_logs.keep(run, "00000", logs)
    component_logs.keep(run, "00001", logs)
    first, second = (component_logs.kept_of(run, name)["b1"] for name in ("00000", "00001"))
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_a_log_that_cannot_be_kept_leaves_nothing_half_written(tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "run")
    with pytest.raises(FileNotFoundError):
        component_logs.keep(run, "00000", {"b1": [tmp_path / "gone"]})
    assert component_logs.kept_of(run, "00000") == {}
    assert not list(run.component_logs.glob("*"))

"""Decisions are read back as they were made; those that do not parse cost their round, wherever they are noticed."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from patternbench.observe.seam import ObservationError
from patternbench.ratelimit import derive
from patternbench.ratelimit.observer import OBSERVER
from patternbench.ratelimit.plan.limit import EnforcedLimit
from patternbench.ratelimit.records.decisions import Decisions
from patternbench.records import component_logs, damage, observed
from patternbench.records.folder import RunFolder
from patternbench.run.round import observing

LOG, RULES = "one/decisions-one-1.tsv", "one/plan.json"
HEAD = b"time_us\tbalancer\tworker\tclient\tlimit\talgorithm\tcost\tallowed\tremaining\tdecided_by\n"
LINE = b"1\tone\t0\tann\tl\tgcra\t1\t1\t0\tstore\n"
LOGS = {
    "empty": b"",
    "zeros": b"\0" * 99,
    "text": b"decisions\n",
    "no columns": b"a\tb\n1\t2\n",
    "no text": HEAD + LINE.replace(b"ann", b"\xff\xfe"),
    "a word for a number": HEAD + LINE.replace(b"1\tone", b"x\tone"),
    "a number that is too large": HEAD + LINE.replace(b"1\tone", b"9" * 30 + b"\tone"),
    "neither allowed nor not": HEAD + LINE.replace(b"1\t1\t0\tstore", b"1\t7\t0\tstore"),
    "a line cut": HEAD + LINE + LINE[:9],
    "a line cut in its last fields": HEAD + LINE + b"1\tone\t0\tann\tl\tgcra\t1\t1\t0\n",
    "two lines in one": HEAD + LINE[:-1] + LINE,
    "a line with a field too many": HEAD + LINE[:-1] + b"\t\n",
}
RULE = b'{"algorithm": "gcra", "limit": 2, "window": "1s", "store": "redis"}'
DAMAGED_RULES = {
    "empty": b"",
    "a list": b"[]",
    "no limits": b'{"limits": []}',
    "cut": b'{"limits": [',
    "deep": b"[" * 99_999,
    "no text": b"\xff",
    "a window that is none": b'{"limits": [' + RULE.replace(b"1s", b"soon") + b"]}",
    "no store": b'{"limits": [' + RULE.replace(b'"store"', b'"shop"') + b"]}",
    "balancers by name": b'{"limits": [' + RULE + b'], "balancers": "two"}',
}
DAMAGE = [pytest.param(LOG, content, id=f"log, {how}") for how, content in LOGS.items()]
DAMAGE += [pytest.param(RULES, content, id=f"rules, {how}") for how, content in DAMAGED_RULES.items()]


def packed(run: RunFolder, name: str) -> Path:
    return run.component_logs_of("00000") / f"{name}.gz"


@pytest.mark.parametrize(("name", "content"), DAMAGE)
def test_decisions_that_unpack_but_do_not_parse_cost_their_round(name: str, content: bytes, run: RunFolder) -> None:
    packed(run, name).write_bytes(gzip.compress(content))
    (entry,) = damage.rounds(run)
    assert entry.status == "damaged"
    assert (entry.cause or "").startswith(f"its records are damaged: component-logs/00000/{name}.gz cannot be read (")
    derive.derive(run.path)  # leaves the round out


def test_decisions_whose_rules_are_gone_cost_their_round(run: RunFolder) -> None:
    for rules in run.component_logs_of("00000").glob("*/plan.json.gz"):
        rules.unlink()
    (entry,) = damage.rounds(run)
    assert entry.cause == "its records are damaged: component-logs/00000 has decisions without a plan.json.gz"


def test_whole_decisions_are_no_damage(run: RunFolder) -> None:
    assert damage.rounds(run)[0].status == "done"
    assert list(observed.damage(run, "00000")) == []


def test_the_logs_of_a_round_are_read_once_however_often_its_run_is_looked_at(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, real = [], observed.damage

    def counted(run: RunFolder, round_name: str) -> list[str]:
        read.append(round_name)
        return list(real(run, round_name))

    monkeypatch.setattr(observed, "damage", counted)
    assert [damage.rounds(run)[0].status for _ in range(3)] == ["done"] * 3
    assert read == ["00000"]
    packed(run, LOG).write_bytes(gzip.compress(LOGS["zeros"]))
    assert [damage.rounds(run)[0].status for _ in range(3)] == ["damaged"] * 3
    assert read == ["00000"] * 2


def test_a_component_that_writes_no_log_of_decisions_costs_the_round_that_it_wrote_in(
    run: RunFolder, tmp_path: Path
) -> None:
    log = tmp_path / "decisions-one-1.tsv"
    log.write_bytes(LOGS["a line cut"])
    with observing.watched(run, "00000-2", {}) as observation:
        pass
    with pytest.raises(ObservationError, match=r"component-logs/00000-2/one/decisions-one-1\.tsv\.gz cannot be read"):
        observation.keep({"one": [log]})


# --- whole decisions


HEADING = HEAD.decode()
LIMIT = {"name": "per_client", "algorithm": "gcra", "limit": 5, "window": "1s", "store": "memory"}


def decided(run: RunFolder, round_name: str) -> Decisions | None:
    return observed.read(run, round_name, OBSERVER)


def written(folder: Path, *lines: str) -> dict[str, list[Path]]:
    folder.mkdir()
    (folder / "decisions-b1-7.tsv").write_text(HEADING + "".join(lines))
    (folder / "plan.json").write_text(json.dumps({"version": 1, "limits": [LIMIT]}))
    return {"b1": sorted(folder.iterdir())}


def test_decisions_are_read_back_as_they_were_made(tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "run")
    lines = ("20\tb1\t0\tNA\tper_client\tgcra\t1\t0\t0\tstore\n", '30\tb1\t0\t"a\tper_client\tgcra\t2\t1\t0\tlease\n')
    component_logs.keep(run, "00003", written(tmp_path / "log", *lines))
    found = decided(run, "00003")
    assert found is not None
    assert found.limit == EnforcedLimit.model_validate(LIMIT)
    assert found.table["client"].tolist() == ["NA", '"a']
    assert found.table["allowed"].tolist() == [False, True]
    assert found.table["cost"].tolist() == [1, 2]
    assert found.without_store == 0


def test_decisions_by_policy_are_those_made_without_the_store(tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "run")
    lines = [f"1\tb1\t0\ta\tl\tgcra\t1\t1\t0\t{by}\n" for by in ("policy_local", "store", "policy_open", "lease")]
    component_logs.keep(run, "00000", written(tmp_path / "log", *lines))
    found = decided(run, "00000")
    assert found is not None
    assert found.without_store == 2


def test_a_balancer_that_decided_nothing_still_says_which_limit_held(tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "run")
    logs = written(tmp_path / "log")
    component_logs.keep(run, "00000", {"b1": [path for path in logs["b1"] if path.name == "plan.json"]})
    found = decided(run, "00000")
    assert found is not None
    assert len(found.table) == 0


def test_a_round_without_component_logs_has_no_decisions(tmp_path: Path) -> None:
    assert decided(RunFolder(tmp_path), "00000") is None


@pytest.mark.parametrize(
    "more",
    [{"tiers": {"gold": {"limit": 9}}}, {"shadow": True}, {"match": {"path_prefix": "/a"}}, {"deny": ["eve"]}, None],
)
def test_decisions_are_judged_only_where_one_limit_is_the_same_for_all(run: RunFolder, more: object) -> None:
    rule = json.loads(RULE)
    rules = {"limits": [rule, rule] if more is None else [rule | more]}  # type: ignore[operator]
    assert decided(run, "00000") is not None
    packed(run, RULES).write_bytes(gzip.compress(json.dumps(rules).encode()))
    assert decided(run, "00000") is None
    rules = {"limits": [rule | {"shadow": False, "allow": [], "cost": {"from": "header", "name": "X-Cost", "most": 5}}]}
    packed(run, RULES).write_bytes(gzip.compress(json.dumps(rules).encode()))
    assert decided(run, "00000") is not None

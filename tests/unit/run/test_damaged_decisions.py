"""Decisions that unpack but do not parse cost their round, wherever they are noticed."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from patternbench.plan.order import Round
from patternbench.records import damage, decisions
from patternbench.records.folder import RunFolder
from patternbench.records.journal import Entry
from patternbench.run import limit_simulation
from patternbench.run.runner import Runner

LOG, PLAN = "one/decisions-one-1.tsv", "one/plan.json"
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
PLANS = {
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
DAMAGE += [pytest.param(PLAN, content, id=f"plan, {how}") for how, content in PLANS.items()]


def packed(run: RunFolder, name: str) -> Path:
    return run.component_logs_of("00000") / f"{name}.gz"


@pytest.mark.parametrize(("name", "content"), DAMAGE)
def test_decisions_that_unpack_but_do_not_parse_cost_their_round(name: str, content: bytes, run: RunFolder) -> None:
    packed(run, name).write_bytes(gzip.compress(content))
    (entry,) = damage.rounds(run)
    assert entry.status == "damaged"
    assert (entry.cause or "").startswith(f"its records are damaged: component-logs/00000/{name}.gz cannot be read (")
    limit_simulation.refresh(run)  # leaves the round out


def test_decisions_whose_plans_are_gone_cost_their_round(run: RunFolder) -> None:
    for plan in run.component_logs_of("00000").glob("*/plan.json.gz"):
        plan.unlink()
    (entry,) = damage.rounds(run)
    assert entry.cause == "its records are damaged: component-logs/00000 has decisions without a plan.json.gz"


def test_whole_decisions_are_no_damage(run: RunFolder) -> None:
    assert damage.rounds(run)[0].status == "done"
    assert decisions.damage(run, "00000") == ""


class Told:
    """A listener that keeps what it is told."""

    def __init__(self) -> None:
        self.ended: list[Entry] = []

    def round_started(self, _: Any) -> None: ...

    def round_progressed(self, _: Any) -> None: ...

    def round_ended(self, entry: Entry) -> None:
        self.ended.append(entry)


def test_a_component_that_writes_no_log_of_decisions_costs_the_round_that_it_wrote_in(
    run: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "decisions-one-1.tsv"
    log.write_bytes(LOGS["a line cut"])
    bench = SimpleNamespace(targets=[], inject=lambda _: None)
    stage: Any = SimpleNamespace(bench=lambda _: bench, finished_logs=lambda: {"one": [log]})
    scenario: Any = SimpleNamespace(id="s", system=None, faults=())
    nothing: Callable[..., None] = lambda *_: None  # noqa: E731
    monkeypatch.setattr(Runner, "_task", nothing)
    monkeypatch.setattr(Runner, "_driver", nothing)
    monkeypatch.setattr(Runner, "_measure", lambda self, *_: self._keep_logs("00000-2"))
    study: Any = SimpleNamespace(seed=1)
    told = Told()
    Runner(study, [scenario], run, stage, told).run([Round(0, 0, "s")])
    assert [(entry.status, (entry.cause or "")[:36]) for entry in told.ended] == [
        ("failed", "what a component wrote is damaged: c")
    ]

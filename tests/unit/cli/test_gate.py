"""``gate``: what it says and how it ends while it can't tell, and when it stops looking."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result

from patternbench.analyze.compare.comparison import ComparisonOptions, compare_with_baseline
from patternbench.analyze.compare.gate import judge, parse_condition, rounds_to_decide
from patternbench.cli import gate as verb
from patternbench.cli.gate import GateLook, GateOptions, gate

CONDITION = parse_condition("p95 > +10%")
BASE, HEAD = "http://127.0.0.1:1", "http://127.0.0.1:2"
BLOCKS, BLOCK_S = 9, 20.0


def look(slower: float, spread: float = 0.03) -> GateLook:
    """A look at nine blocks, in which the new version takes this many times as long."""
    rng = np.random.default_rng(3)
    rows = [
        (block, url, factor * np.exp(rng.normal(0, spread)))
        for block in range(BLOCKS)
        for url, factor in ((BASE, 1.0), (HEAD, slower))
    ]
    table = pd.DataFrame(rows, columns=["block", "system.url", "p95"])
    how = ComparisonOptions(by=("system.url",), responses=("p95",))
    comparison = compare_with_baseline(table, (f"system.url={BASE}",), how)
    return GateLook(comparison, judge(comparison, [CONDITION]), BLOCKS, BLOCK_S)


@contextmanager
def up(target: str, *_: object) -> Iterator[str]:
    yield target


@pytest.fixture
def ended(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Runs the command with a measurement that is made up, and returns how it ended."""
    prepared = SimpleNamespace(folder=SimpleNamespace(path=tmp_path))
    monkeypatch.setattr(verb, "_up", up)
    monkeypatch.setattr(verb.prepared_run, "begin", lambda *_, **__: prepared)
    monkeypatch.setattr(verb.registry, "derive", lambda _: None)
    monkeypatch.setattr(verb, "_build", lambda _: None)
    monkeypatch.setattr(verb, "_rates", lambda *_: [])

    def run(seen: GateLook) -> Result:
        monkeypatch.setattr(verb, "_measured", lambda *_: seen)
        return CliRunner().invoke(gate, ["--base", BASE, "--head", HEAD, "--out", str(tmp_path / "run")])

    return run


def test_a_gate_that_can_not_tell_yet_ends_with_3_and_says_how_many_more_minutes_would(ended: Any) -> None:
    seen = look(1.08)
    (difference,) = seen.comparison.differences
    needed = rounds_to_decide(difference, CONDITION)
    assert needed is not None and needed > BLOCKS
    minutes = -(-(needed - BLOCKS) * BLOCK_S // 60)
    done = ended(seen)
    assert done.exit_code == 3
    assert f"can't tell yet: about {minutes:.0f} more minutes would" in done.output


@pytest.mark.parametrize(("slower", "code", "word"), [(1.0, 0, "PASS"), (1.4, 1, "FAIL")])
def test_a_gate_that_can_tell_ends_with_0_or_1(ended: Any, slower: float, code: int, word: str) -> None:
    done = ended(look(slower))
    assert done.exit_code == code
    assert f"{word}: p95 > +10%" in done.output


class Rounds:
    """A run whose blocks take twenty seconds each of a clock that is made up."""

    def __init__(self) -> None:
        self.blocks, self.done = 6, 0

    @property
    def rounds(self) -> list[SimpleNamespace]:
        return [SimpleNamespace(block=block) for block in range(self.blocks) for _ in range(2)]

    def todo(self) -> list[object]:
        return []

    def execute(self, _: object) -> None:
        self.done = self.blocks


def measured(monkeypatch: pytest.MonkeyPatch, minutes: float, slower: float) -> list[int]:
    """After how many blocks a gate looks, at a change of this size."""
    prepared, looks = Rounds(), list[int]()
    monkeypatch.setattr(verb.time, "monotonic", lambda: BLOCK_S * prepared.done)
    monkeypatch.setattr(verb, "Bar", lambda *_: SimpleNamespace(shown=up("")))
    monkeypatch.setattr(verb.gating, "grow", lambda one, blocks: setattr(one, "blocks", blocks))

    def seen(_: object, __: str, ___: object, blocks: int, ____: float) -> GateLook:
        looks.append(blocks)
        return look(slower)

    monkeypatch.setattr(verb, "_look", seen)
    given: Any = prepared
    verb._measured(given, BASE, GateOptions((CONDITION,), 0.95, 40, minutes), quiet=True)
    return looks


def test_a_gate_looks_ever_more_seldom_until_it_has_all_its_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    assert measured(monkeypatch, minutes=60, slower=1.08) == [6, 9, 14, 21, 32, 40]


def test_a_gate_stops_at_the_first_look_that_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    assert measured(monkeypatch, minutes=60, slower=1.4) == [6]


def test_a_gate_does_not_begin_blocks_that_would_end_after_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Six blocks take two minutes and nine take three: with a bound of two and a half the second look is not begun."""
    assert measured(monkeypatch, minutes=2.5, slower=1.08) == [6]
    assert measured(monkeypatch, minutes=3.5, slower=1.08) == [6, 9]

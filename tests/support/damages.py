"""Ways to damage the folder of a finished run, one thing at a time, each drawn by a seed."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

Draw = random.Random
Damage = Callable[[Path, Path, Draw], None]
"""Damages the run in the first folder; in the second is another run of the same study, which nothing changes."""
RECORDS = ("attempts", "observed", "component-logs", "load")


def files(run: Path, place: str) -> list[Path]:
    """Return the records of one kind, in order."""
    return sorted(path for path in (run / place).rglob("*") if path.is_file())


def flip(path: Path, draw: Draw) -> None:
    """Turn one bit of a file over."""
    content = bytearray(path.read_bytes())
    content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    path.write_bytes(content)


def swap(one: Path, other: Path) -> None:
    """Give two files each other's content."""
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)


def _records(place: str) -> Iterator[tuple[str, Damage]]:
    yield f"a bit of a file in {place}", lambda run, _, draw: flip(draw.choice(files(run, place)), draw)
    yield f"a file in {place} is gone", lambda run, _, draw: draw.choice(files(run, place)).unlink()
    yield f"a file in {place} is cut", lambda run, _, draw: _cut(draw.choice(files(run, place)), draw)
    yield f"two files in {place} changed places", lambda run, _, draw: swap(*_two_alike(run, place, draw))
    yield f"a file in {place} is of another run", lambda run, other, draw: _taken(run, other, place, draw)
    yield f"a pipe in {place}", lambda run, _, draw: _piped(draw.choice(files(run, place)))


def _cut(path: Path, draw: Draw) -> None:
    os.truncate(path, draw.randrange(path.stat().st_size))


def _piped(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _two_alike(run: Path, place: str, draw: Draw) -> tuple[Path, Path]:
    """Return two records of one kind whose content differs."""
    found = files(run, place)
    one = draw.choice(found)
    other = [path for path in found if path.suffix == one.suffix and path.read_bytes() != one.read_bytes()]
    return one, draw.choice(other)


def _taken(run: Path, other: Path, place: str, draw: Draw) -> None:
    """Take a record from another run: that of the same name where it says something else."""
    found = [path for path in files(run, place) if (other / path.relative_to(run)).is_file()]
    differing = [path for path in found if (other / path.relative_to(run)).read_bytes() != path.read_bytes()]
    path = draw.choice(differing or found)
    source = other / path.relative_to(run)
    shutil.copyfile(source if differing else draw.choice(files(other, "attempts")), path)


def _slower(run: Path, _: Path, draw: Draw) -> None:
    """A whole Parquet file of as many rows whose times are others."""
    path = draw.choice(files(run, "attempts"))
    table = pq.read_table(path)
    late = pd.Series(table["start_us"].to_numpy() + 3 * (table["end_us"].to_numpy() - table["start_us"].to_numpy()))
    place = table.schema.get_field_index("end_us")
    pq.write_table(table.set_column(place, table.schema.field("end_us"), pa.array(late, pa.int64())), path)


def _further(run: Path, _: Path, draw: Draw) -> None:
    """A file that no round wrote, next to those of one."""
    path = draw.choice(files(run, "component-logs"))
    shutil.copyfile(path, path.with_name(f"again-{path.name}"))


def _lines(run: Path) -> list[bytes]:
    return (run / "journal.jsonl").read_bytes().splitlines()


def _write_lines(run: Path, lines: list[bytes]) -> None:
    (run / "journal.jsonl").write_bytes(b"\n".join([*lines, b""]))


def _line_removed(run: Path, _: Path, draw: Draw) -> None:
    lines = _lines(run)
    lines.pop(draw.randrange(len(lines)))
    _write_lines(run, lines)


def _line_again(run: Path, _: Path, draw: Draw) -> None:
    lines = _lines(run)
    lines.insert(draw.randrange(len(lines) + 1), draw.choice(lines))
    _write_lines(run, lines)


def _lines_cut_off(run: Path, _: Path, draw: Draw) -> None:
    lines = _lines(run)
    _write_lines(run, lines[: draw.randrange(1, len(lines))])


def _line_changed(run: Path, _: Path, draw: Draw) -> None:
    """A line whose numbers are others, as if somebody had rounded them off."""
    lines = _lines(run)
    place = draw.randrange(len(lines))
    line = json.loads(lines[place])
    changes = draw.choice(
        [
            {"seconds": line["seconds"] * 2},
            {"cpu_seconds": 0.0},
            {"block": line["block"] + 1},
            {"status": "failed", "cause": "x"},
            {"round": (line["round"] + 1) % len(lines)},
            {"started": line["started"] + 1e6},
            {"doubts": [{"kind": "late", "message": "late", "remedy": "rest", "invalidates": True}]},
        ]
    )
    _write_lines(run, [*lines[:place], json.dumps({**line, **changes}).encode(), *lines[place + 1 :]])


def _lines_of_another(run: Path, other: Path, draw: Draw) -> None:
    """Lines of another run of the same study behind those of this one, with their attempts."""
    lines = _lines(run)
    chosen = draw.sample(_lines(other), 3)
    for line in chosen:
        name = json.loads(line)["file"]
        for source in (path for place in RECORDS for path in files(other, place) if name in str(path)):
            shutil.copyfile(source, run / source.relative_to(other))
    _write_lines(run, [*lines, *chosen])


def _json(run: Path, name: str, change: Callable[[dict[str, Any]], None]) -> None:
    tree = json.loads((run / name).read_text())
    change(tree)
    (run / name).write_text(json.dumps(tree, indent=1, ensure_ascii=False) + "\n")


def _levels_swapped(run: Path, _: Path, draw: Draw) -> None:
    def change(tree: dict[str, Any]) -> None:
        one, other = draw.sample(tree["scenarios"], 2)
        one["levels"], other["levels"] = other["levels"], one["levels"]

    _json(run, "plan.json", change)


def _level_renamed(run: Path, _: Path, draw: Draw) -> None:
    """One level of a factor has another name everywhere."""

    def change(tree: dict[str, Any]) -> None:
        factor = draw.choice([factor for factor in tree["factors"] if len(factor["levels"]) > 1])
        old = draw.choice(factor["levels"])
        new = old * 3 if isinstance(old, int) else f"{old}-b"
        factor["levels"] = [new if level == old else level for level in factor["levels"]]
        for scenario in tree["scenarios"]:
            if scenario["levels"].get(factor["name"]) == old:
                scenario["levels"][factor["name"]] = new

    _json(run, "plan.json", change)


def _factor_gone(run: Path, _: Path, draw: Draw) -> None:
    def change(tree: dict[str, Any]) -> None:
        gone = tree["factors"].pop(draw.randrange(len(tree["factors"])))["name"]
        for scenario in tree["scenarios"]:
            scenario["levels"].pop(gone, None)

    _json(run, "plan.json", change)


def _length_changed(run: Path, _: Path, draw: Draw) -> None:
    def change(tree: dict[str, Any]) -> None:
        draw.choice(tree["scenarios"])["length_s"] = 1000.0

    _json(run, "plan.json", change)


def _planned_round_gone(run: Path, _: Path, draw: Draw) -> None:
    _json(run, "plan.json", lambda tree: tree["rounds"].pop(draw.randrange(len(tree["rounds"]))))


def _planned_otherwise(run: Path, _: Path, draw: Draw) -> None:
    """A place of the plan is of another scenario."""

    def change(tree: dict[str, Any]) -> None:
        place = draw.choice(tree["rounds"])
        place["scenario"] = draw.choice([one["id"] for one in tree["scenarios"] if one["id"] != place["scenario"]])

    _json(run, "plan.json", change)


def _noted(**changes: object) -> Damage:
    return lambda run, _, __: _json(run, "manifest.json", lambda tree: tree.update(changes))


def _studied(old: str, new: str) -> Damage:
    def change(run: Path, _: Path, __: Draw) -> None:
        text = (run / "study.yaml").read_text()
        (run / "study.yaml").write_text(text.replace(old, new) if old in text else f"{text}\n# {new}\n")

    return change


def _of_another(name: str) -> Damage:
    def change(run: Path, other: Path, _: Draw) -> None:
        if (run / name).is_dir():
            shutil.rmtree(run / name)
            shutil.copytree(other / name, run / name)
        else:
            shutil.copyfile(other / name, run / name)

    return change


def _made_of_others(run: Path, other: Path, _: Draw) -> None:
    """What is derived is that of another run."""
    for name in ("rounds.parquet", "steps.parquet", "report.html"):
        if (other / name).is_file():
            shutil.copyfile(other / name, run / name)


def _flipped(name: str) -> Damage:
    return lambda run, _, draw: flip(run / name, draw)


def _scribbled(name: str) -> Damage:
    return lambda run, _, draw: (run / name).write_bytes(draw.randbytes(400)) and None


def _gone(name: str) -> Damage:
    return lambda run, _, __: (run / name).unlink()


DAMAGES: dict[str, Damage] = {
    **{name: how for place in RECORDS for name, how in _records(place)},
    "whole attempts with other times": _slower,
    "a further file among the logs": _further,
    "a bit of the journal": _flipped("journal.jsonl"),
    "a line of the journal is gone": _line_removed,
    "a line of the journal is there twice": _line_again,
    "the journal is cut at the end of a line": _lines_cut_off,
    "a line of the journal says other numbers": _line_changed,
    "lines of another run": _lines_of_another,
    "the journal of another run": _of_another("journal.jsonl"),
    "the attempts of another run": _of_another("attempts"),
    "the plan of another run": _of_another("plan.json"),
    "the manifest of another run": _of_another("manifest.json"),
    "a bit of the plan": _flipped("plan.json"),
    "two scenarios have each other's levels": _levels_swapped,
    "a level has another name": _level_renamed,
    "a factor is gone": _factor_gone,
    "a scenario lasts longer": _length_changed,
    "a round is not in the plan": _planned_round_gone,
    "a round of the plan is of another scenario": _planned_otherwise,
    "a bit of the manifest": _flipped("manifest.json"),
    "the manifest has another objective": _noted(objective_s=0.001),
    "the manifest derives a response": _noted(derived={"twice": "2 * p95"}),
    "a bit of the study": _flipped("study.yaml"),
    "the study has other objectives": _studied("minimise p95", "minimise seconds"),
    "the study has another limit": _studied("failure_rate <= 1%", "p95 <= 5ms"),
    **{f"{name} is gone": _gone(name) for name in ("plan.json", "manifest.json", "study.yaml", "journal.jsonl")},
    "derived files of another run": _made_of_others,
    "the table of rounds is scribbled over": _scribbled("rounds.parquet"),
    "a report is scribbled over": _scribbled("report.html"),
}
"""Each damage by what it does."""

"""Pages that are remade from rounds: what they keep of runs, and what is made of that."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeVar

import pandas as pd
from pydantic import TypeAdapter
from ruamel.yaml import YAML
from scripts.site.marks import write

from patternbench.drivers.choice import engine_clients
from patternbench.lab.systems import file_of
from patternbench.plan import estimate
from patternbench.plan.expand import Plan, expand
from patternbench.plan.repeats import bounds, repeated
from patternbench.records import attempts, damage
from patternbench.records.folder import RunFolder
from patternbench.records.journal import Entry
from patternbench.records.tables import read
from patternbench.study.forms import SUFFIX
from patternbench.study.load import load
from patternbench.study.models import Study
from patternbench.terms.problems import InputError, Problem
from patternbench.terms.units import roughly
from reproductions import kept_tables
from reproductions.markdown import LEFT_OUT

ROOT = Path(__file__).parents[1]
DOCS, STUDIES = ROOT / "docs", ROOT / "studies"
QUICK = SUFFIX
MS_PER_S, US_PER_S = 1e3, 1e6
Form = TypeVar("Form")
Tables = Mapping[str, pd.DataFrame]
"""What is kept next to a page, by the names of files without ``.parquet``."""
Parts = Mapping[str, Mapping[str, str]]
"""By the names of pages below ``docs``, the text of each part by the name of its marks."""
Reader = Callable[[RunFolder], Mapping[str, pd.DataFrame | str]]
"""What is kept of a run: tables by the names of ``Tables``, and texts by the names of files."""


@dataclass(frozen=True)
class Page:
    """A page below ``docs``, which has a folder of its name next to it.

    ``readers`` has the studies whose runs it takes in; the quick form of a study has the reader of the study.
    ``figures`` are SVG by the names of files in the folder.
    """

    name: str
    readers: Mapping[str, Reader]
    parts: Callable[[Tables], Parts]
    figures: Callable[[Tables], Mapping[str, str]]

    @property
    def folder(self) -> Path:
        """Where its tables and figures are."""
        return (DOCS / self.name).with_suffix("")

    def kept(self) -> dict[str, pd.DataFrame]:
        """Return the tables that are kept. Raises InputError where one was changed."""
        return kept_tables.read(self.folder)

    def read(self, run: RunFolder) -> Mapping[str, pd.DataFrame | str]:
        """Return what is to be kept of a run, each table with the name of the study, which may be a quick form.

        Raises InputError for a run of another study.
        """
        run.check()
        study = load(run.study).name
        reader = self.readers.get(study.removesuffix(QUICK))
        if reader is None:
            allowed = f"{', '.join(self.readers)}, or the quick form of one"
            hint = "name the folder of a run of one of these studies"
            message = f"is a run of no study that {self.name} is made of"
            raise InputError(Problem(message, file=str(run.path), value=study, allowed=allowed, hint=hint))
        found = reader(run).items()
        return {name: kept if isinstance(kept, str) else kept.assign(study=study) for name, kept in found}

    def remade(self, runs: Sequence[RunFolder]) -> tuple[Tables, Mapping[str, str]]:
        """Return the tables after runs were taken in, and the texts that are kept of them."""
        found = {name: kept for run in runs for name, kept in self.read(run).items()}
        texts = {name: kept for name, kept in found.items() if isinstance(kept, str)}
        taken = {name: kept for name, kept in found.items() if isinstance(kept, pd.DataFrame)}
        return {**self.kept(), **taken}, texts

    def write(self, tables: Tables, texts: Mapping[str, str]) -> None:
        """Keep tables and texts, draw the figures, and put all parts into their pages."""
        self.folder.mkdir(exist_ok=True)
        kept_tables.keep(tables, self.folder)
        for name, text in texts.items():  # before the figures: a kept study says what its scenarios are
            (self.folder / name).write_text(text, encoding="utf-8")
        for name, text in self.figures(tables).items():
            (self.folder / name).write_text(text, encoding="utf-8")
        for page, parts in self.parts(tables).items():
            write(DOCS / page, parts)


def rounds_as(name: str, columns: Sequence[str]) -> Reader:
    """Return a reader of the rounds that count: these columns, where a run has them, as the table of a name."""

    def reader(run: RunFolder) -> dict[str, pd.DataFrame]:
        found = read(run.path)
        kept = found.rows[[column for column in columns if column in found.rows]]
        kept.attrs[LEFT_OUT] = found.left_out
        return {name: kept}

    return reader


def told_by_attempts(run: RunFolder, tell: Callable[[Entry, pd.DataFrame], Mapping[str, object]]) -> pd.DataFrame:
    """Return the rounds that count, with what only the attempts of each tell."""
    rounds, entries = read(run.path).rows, {entry.round: entry for entry in damage.recorded(run)}
    own = [entries[number] for number in rounds["round"]]
    told = [tell(entry, attempts.read(run.attempts_of(entry.file))) for entry in own]
    return pd.concat([rounds, pd.DataFrame(told, index=rounds.index)], axis=1)


def written(file: str, form: type[Form]) -> Form:
    """Return what a YAML file of this package holds, in its form."""
    held = YAML(typ="safe").load((Path(__file__).parent / file).read_text(encoding="utf-8"))
    return TypeAdapter(form).validate_python(held)


def measure_first(study: str) -> str:
    """Return how to measure a study, first in its quick form where it has one, and about how long the loads take."""
    quick = load(STUDIES / f"{study}.yaml").quick
    form, option = (f"{study}{QUICK}", " --quick") if quick else (study, "")
    command = f"patternbench run studies/{study}.yaml{option} --out runs/{form}"
    whole = f"; the whole study, without `--quick`, takes about {roughly(planned_s(study))}" if quick else ""
    return f"Not measured yet: `{command}` takes about {roughly(planned_s(form))}{whole}."


@cache
def plan_of(study: str) -> Plan:
    """Return the plan of a study, or of its quick form, by its name."""
    return planned_of(load(STUDIES / f"{study}.yaml"))


def planned_of(study: Study) -> Plan:
    """Return the plan of a study."""
    file = file_of(study.system)
    return expand(study, file) if file else expand(study)


def planned_s(study: str) -> float:
    """Return how long the loads and warm-ups of a study take, by the plan's guess, in seconds."""
    loaded = load(STUDIES / f"{study}.yaml")
    scenarios, rounds = repeated(loaded, plan_of(study)).scenarios, bounds(loaded)[0]
    warming = len(scenarios) * rounds if engine_clients(loaded) else 0
    return estimate.seconds(scenarios, rounds, warming * loaded.longest_warm_up.seconds)

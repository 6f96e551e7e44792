"""All that is said of configurations as people write them is as agreed: policies, notes, cautions, studies."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.support.golden import is_golden, written
from tests.unit.configurations.test_reading_corpus import CORPUS, FORMATS, corpus

from patternbench.cli import configured
from patternbench.cli.import_config import import_config
from patternbench.configurations.reading import today
from patternbench.terms.problems import InputError


def typed(*words: str) -> str:
    """What a command prints, with how it ends."""
    result = CliRunner().invoke(import_config, list(words), standalone_mode=False)
    if isinstance(result.exception, InputError):
        return f"refused: {result.exception}\n"
    code = result.exception.code if isinstance(result.exception, SystemExit) else result.return_value or 0
    return f"exit code {code}\n{result.output}"


def goal(file: Path, of: list[str]) -> str:
    """The study that is made of it: what it compares with today's."""
    try:
        made = today.goal(configured.read([file]).layers(of))
    except InputError as error:
        return f"refused: {error}\n"
    return f"{made.question} ({made.scenarios} scenarios)\n{made.text}\n"


def readings(name: str) -> Iterator[str]:
    """Every case of a format in words; the names of a file with several once."""
    listed: set[Path] = set()
    for file, case in corpus():
        if file.parent.name != name:
            continue
        if file not in listed:
            listed.add(file)
            yield f"##### {file.name}: names\n{typed(str(file), '--list')}"
        of = [word for one in case["of"] for word in ("--of", one)]
        yield f"##### {' '.join([file.name, *of])}\n{typed(str(file), *of)}"
        yield f"##### {' '.join([file.name, *of])}: as settings\n{typed(str(file), *of, '--as', 'settings')}"
        yield f"##### {' '.join([file.name, *of])}: the study of it\n{goal(file, case['of'])}"


@pytest.mark.parametrize("name", FORMATS)
def test_all_that_is_read_of_a_format_is_as_agreed(name: str) -> None:
    text = "\n".join(readings(name)).replace(f"{CORPUS}/", "")
    is_golden(f"configurations/readings/{name}.txt", text)


@pytest.mark.parametrize("name", FORMATS)
def test_the_data_of_a_reading_are_as_agreed(name: str) -> None:
    found = {}
    for file, case in corpus():
        if file.parent.name == name:
            of = [word for one in case["of"] for word in ("--of", one)]
            text = typed(str(file), *of, "--json").partition("\n")[2]
            found[" ".join([file.name, *case["of"]])] = json.loads(text.replace(f"{CORPUS}/", "")) if text else None
    is_golden(f"configurations/readings/{name}.json", written(found))

"""The examples of all pages are held to the code: what is YAML is valid, and what is typed can be typed.

Some pages are executed whole by tests of their own: the guide (tests/integration/run/test_guide.py), the limiter in
front of a service, an observer, a component, and the study file, of which each example is planned.
"""

from __future__ import annotations

import re
import shlex
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click
import pytest
from scripts.checks.prose import FENCE
from scripts.site import sources
from tests.support.schemas import conforms, of_studies
from tests.support.studies import ROOT, completed

from patternbench.cli import configured
from patternbench.cli.main import COMMANDS, cli
from patternbench.lab import startable, systems
from patternbench.lab.components import KINDS
from patternbench.simulation import model_file
from patternbench.study.load import loads
from patternbench.study.text.document import parse
from patternbench.terms.problems import InputError

SHELLS = ("", "console", "sh", "bash")
OURS = re.compile(r"(?:studies|docs|scripts|benchmarks|filters|contracts|tests|clients|apps|systems)/[\w./-]*\w")
"""A file of ours, as someone names it who is in the first folder of a checkout."""


@dataclass(frozen=True)
class Example:
    """A block of code of a page: where it begins, its language, its text."""

    page: str
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def examples(*languages: str) -> Iterator[Example]:
    """The blocks in some languages of all pages, but for those that are made from the code."""
    for page in sorted(sources.gathered(ROOT).pages):
        text = (ROOT / page).read_text(encoding="utf-8")
        for match in FENCE.finditer(text) if not page.startswith("docs/reference/") else ():
            head, *lines = textwrap.dedent(match[0]).splitlines()
            example = Example(page, text.count("\n", 0, match.start()) + 1, head[3:].strip(), dedented(lines[:-1]))
            if example.language in languages:
                yield example


def dedented(lines: list[str]) -> str:
    return textwrap.dedent("\n".join(lines))


@dataclass(frozen=True)
class Typed:
    """A command of an example: its page and line, and its words."""

    place: str
    words: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.place}: {' '.join(self.words)}"


def commands() -> Iterator[Typed]:
    """Every command of the examples; of one with output, the lines that begin with a prompt."""
    for example in examples(*SHELLS):
        lines = example.text.replace("\\\n", " ").splitlines()
        prompted = [line[2:] for line in lines if line.startswith("$ ")]
        for line in prompted or lines:
            yield from (Typed(str(example), words) for words in in_line(line))


def in_line(line: str) -> Iterator[tuple[str, ...]]:
    """The commands of a line that name a program of ours; none where the line is none of a shell."""
    try:
        words = shlex.split(re.sub(r"(&&|\|\||[;|&>])(?= |$)", " ; ", line) if "'" not in line else line, comments=True)
    except ValueError:
        return
    start = 0
    for end, word in enumerate([*words, ";"]):
        if word == ";":
            command = tuple(words[start:end])
            start = end + 1
            if command and is_ours(command[0]):
                yield command


def is_ours(program: str) -> bool:
    """Whether a program is one of this project, or runs one of its scripts."""
    name = program.removeprefix(".venv/bin/")
    return name in ("patternbench", "make", "python") or name.startswith("scripts/")


YAML = [example for example in examples("yaml") if not example.text.startswith("# yaml-language-server")]
TYPED = list(commands())
VERB_CALLS = [typed for typed in TYPED if typed.words[0].endswith("patternbench")]


def is_of_a_system(example: Example) -> bool:
    """Whether an example is a system file, a part of one, or entries of its components."""
    value = parse(example.text, str(example)).value
    if isinstance(value, list):
        return bool(value[0].keys() & KINDS.keys())
    return isinstance(value, dict) and bool(value.keys() & {"patternbench-system", "components"})


def is_of_a_library(example: Example) -> bool:
    """Whether an example is a configuration of Resilience4j, as an application has it."""
    return "resilience4j" in parse(example.text, str(example)).value


def is_a_model(example: Example) -> bool:
    """Whether an example is the model of a system, for a simulation."""
    return "patternbench-model" in parse(example.text, str(example)).value


SYSTEMS = [example for example in YAML if is_of_a_system(example)]
LIBRARIES = [example for example in YAML if is_of_a_library(example)]
MODELS = [example for example in YAML if is_a_model(example)]
STUDIES = [example for example in YAML if example not in (*SYSTEMS, *LIBRARIES, *MODELS)]


STACK = "strategies:\n  - client: native\n    stack:\n"
JOURNEY = "workload:\n  open: {rate: 1, duration: 1s}\n  journey:\n"
"""What stands around a list of policies, and around one of steps."""


@pytest.mark.slow
@pytest.mark.parametrize("example", STUDIES, ids=str)
def test_an_example_of_a_study_is_valid(example: Example) -> None:
    text = example.text
    if text.startswith("- "):
        text = textwrap.indent(text, " " * 6)
        is_journey = "path" in parse(example.text, str(example)).value[0]
        text = (JOURNEY if is_journey else STACK) + text
    whole = completed(text + "\n")
    conforms(parse(whole, str(example)).value, of_studies())
    loads(whole, str(example))


@pytest.mark.parametrize("example", LIBRARIES, ids=str)
def test_an_example_of_a_library_is_understood_whole(example: Example, tmp_path: Path) -> None:
    (tmp_path / "application.yml").write_text(example.text)
    layers = configured.read([tmp_path / "application.yml"]).layers([])
    assert [layer.policies != () and layer.notes == () for layer in layers] == [True]


@pytest.mark.parametrize("example", MODELS, ids=str)
def test_an_example_of_a_model_is_read(example: Example, tmp_path: Path) -> None:
    (tmp_path / "model.yaml").write_text(example.text)
    assert model_file.read(tmp_path / "model.yaml")


def a_system(text: str) -> str:
    """A part of a system file, as a page shows it, made whole; the settings that it names are invented."""
    text = text if not text.startswith("- ") else "components:\n" + textwrap.indent(text, "  ")
    parts = {"patternbench-system": "1", "name": "x", "about": "x", "endpoint": "x"}
    around = [f"{key}: {value}" for key, value in parts.items() if f"\n{key}:" not in f"\n{text}"]
    settings = sorted(set(re.findall(r"\$\{(\w+)\}", text)))
    invented = ["settings:", *(f"  {name}: {{default: 1, about: x}}" for name in settings)]
    return "\n".join([*around, *(invented if settings and "settings:" not in text else ()), text, ""])


UNKNOWN = re.compile(r"there is no such (file|folder)|endpoint: load goes to `x`|\(got 1\)")
"""What only a whole system in its own folder could do without: its files, its endpoint, and levels of its settings."""


@pytest.mark.parametrize("example", SYSTEMS, ids=str)
def test_an_example_of_a_system_is_valid(example: Example, tmp_path: Path) -> None:
    assert [problem for problem in of_system(example.text, tmp_path) if not UNKNOWN.search(problem)] == []


def of_system(text: str, folder: Path) -> list[str]:
    """What the lab has against an example of a system."""
    (folder / "systems").mkdir()
    (folder / "systems/example.yaml").write_text(a_system(text))
    return [str(problem) for problem in startable.settings_problems(systems.load("example", folder), {})]


@pytest.mark.parametrize("typed", VERB_CALLS, ids=str)
def test_a_verb_that_is_typed_has_the_options_that_are_typed(typed: Typed) -> None:
    _, verb, *words = typed.words
    if verb in cli.params[0].opts:
        return
    assert verb in COMMANDS
    command = cli.get_command(click.Context(cli), verb)
    assert command is not None
    command.make_parser(click.Context(command, info_name=verb)).parse_args(words)


@pytest.mark.parametrize("typed", TYPED, ids=str)
def test_what_is_typed_is_in_the_checkout(typed: Typed) -> None:
    folders = (ROOT, (ROOT / typed.place).parent)
    named = [word for word in typed.words if OURS.fullmatch(word)]
    assert [word for word in named if not any((folder / word).exists() for folder in folders)] == []
    if typed.words[0] == "make":
        targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        assert {word for word in typed.words[1:] if "=" not in word} <= set(targets)
    if "-m" in typed.words:
        module = typed.words[typed.words.index("-m") + 1]
        assert "." not in module or (ROOT / f"{module.replace('.', '/')}.py").is_file()


def test_an_example_that_is_wrong_is_found(tmp_path: Path) -> None:
    """The checks above can fail: a key, a component's setting, an option and a file that there are not."""
    with pytest.raises(InputError):
        loads(completed("roundz: 3\n"), "x.yaml")
    assert "redis.colour" in of_system("- redis: {colour: red}", tmp_path)[0]
    with pytest.raises(click.NoSuchOption):
        test_a_verb_that_is_typed_has_the_options_that_are_typed(Typed("x.md:1", ("patternbench", "run", "--x")))
    for words in (("patternbench", "run", "studies/x.yaml"), ("make", "tea"), ("python", "-m", "benchmarks.x")):
        with pytest.raises(AssertionError):
            test_what_is_typed_is_in_the_checkout(Typed("x.md:1", words))
    assert list(in_line("make setup && patternbench run a.yaml  # then wait")) == [
        ("make", "setup"),
        ("patternbench", "run", "a.yaml"),
    ]

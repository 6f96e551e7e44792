"""Files that were made to hurt are refused with their line, in less than two seconds and 300 MB."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.hostile import BOMB, are_refused_within_bounds

from patternbench.cli import configured
from patternbench.study.text.yaml_nodes import LARGEST
from patternbench.terms.problems import InputError

HOSTILE = {
    "bomb.yml": BOMB,
    "itself.yml": "resilience4j: &r\n  retry: *r\n",
    "deep.yml": "resilience4j:\n  retry: " + "[" * 5000,
    "large.yml": "resilience4j:\n" + "  a: 1\n" * 1_000_000,
    "tag.yml": "resilience4j: !!python/object/apply:os.system [true]\n",
    "deep.json": "[" * 100_000,
    "wide.json": "[" + "1," * 1_500_000 + "1]",
    "number.json": '{"configs": ' + "9" * 100_000 + "}",
    "text.json": '{"configs": "' + "x" * 3_000_000,
    "names.json": "{" + ",".join(f'"{n}' + "k" * 30 + '": {"name": 1}' for n in range(60_000)) + "}",
    "deep.conf": "http {" * 50_000,
    "words.conf": "a b;" * 500_000,
    "quote.conf": "http { server { '" + "x" * 1_000_000,
    "backslash.properties": "resilience4j.a=\\\n" * 100_000,
    "brackets.properties": "[" * 100_000 + "=1\n",
    "keys.properties": "".join(f"resilience4j.retry.instances.a{n}.maxAttempts=3\n" for n in range(60_000)),
}
CONFIGURATIONS = """
from patternbench.cli import configured
def read(path): return configured.read([path]).layers([])
"""


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    for name, text in HOSTILE.items():
        (folder / name).write_text(text)
    (folder / "50mb.yml").write_bytes(b"a: 1\n" * 10_000_000)
    (folder / "50mb.json").write_bytes(b" " * 50_000_000)
    (folder / "50mb.conf").write_bytes(b"a b;\n" * 10_000_000)
    return folder


@pytest.mark.slow
def test_no_file_takes_two_seconds_or_300_mb(hostile: Path) -> None:
    are_refused_within_bounds(CONFIGURATIONS, hostile.iterdir())


@pytest.mark.slow
def test_the_largest_yaml_that_is_read_takes_less_than_two_seconds(tmp_path: Path) -> None:
    lines = "".join(f"      a{number}: {{maxAttempts: 3, waitDuration: 1s}}\n" for number in range(10_000))
    text = f"resilience4j:\n  retry:\n    instances:\n{lines}"[:LARGEST].rpartition("\n")[0]
    (tmp_path / "large.yml").write_text(text)
    are_refused_within_bounds(CONFIGURATIONS, [tmp_path / "large.yml"])


@pytest.mark.parametrize(
    ("name", "line", "why"),
    [
        ("bomb.yml", 5, "is too large with its aliases expanded"),
        ("itself.yml", 2, "contains itself"),
        ("tag.yml", 1, "the tag"),
        ("deep.json", 1, "nested too deeply"),
        ("number.json", 1, "too long"),
        ("deep.conf", 1, "nested too deeply"),
    ],
)
def test_what_is_wrong_with_a_hostile_file_is_said_with_its_line(
    tmp_path: Path, name: str, line: int, why: str
) -> None:
    (tmp_path / name).write_text(HOSTILE[name])
    with pytest.raises(InputError) as caught:
        configured.read([tmp_path / name])
    (problem,) = caught.value.problems
    assert why in str(problem)
    assert (problem.file, problem.line) == (str(tmp_path / name), line)


def refused(tmp_path: Path, name: str, text: str) -> str:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError) as caught:
        configured.read([tmp_path / name]).layers([])
    return str(caught.value)


def test_a_value_that_is_said_twice_is_refused_with_both_lines(tmp_path: Path) -> None:
    text = "resilience4j:\n  retry:\n    instances:\n      a:\n        maxAttempts: 3\n        max-attempts: 4\n"
    assert ":6:" in (told := refused(tmp_path, "a.yml", text)) and "line 5" in told


def test_a_name_of_json_that_is_said_twice_is_refused(tmp_path: Path) -> None:
    assert ":2:" in refused(tmp_path, "a.json", '{"configs": 1,\n "configs": 2}')


@pytest.mark.parametrize("text", ['{"a" 1}', '{"a": 1 "b": 2}', "{1: 2}", '{"a": tru}', "[1, 2", '"a" "b"', "{,}", ""])
def test_what_is_no_json_is_refused(tmp_path: Path, text: str) -> None:
    assert f"{tmp_path / 'a.json'}:1" in refused(tmp_path, "a.json", text)


@pytest.mark.parametrize("text", ["http {", "http { a }", "}", "a b", "http { ; }"])
def test_what_nginx_would_not_read_is_refused(tmp_path: Path, text: str) -> None:
    assert f"{tmp_path / 'a.conf'}:1" in refused(tmp_path, "a.conf", text)


def test_a_template_is_named_as_one(tmp_path: Path) -> None:
    told = refused(tmp_path, "a.yml", "kind: VirtualService\n{{- if .Values.on }}\nspec: {}\n{{- end }}\n")
    assert "helm template" in told


def test_a_file_of_another_kind_is_refused_with_all_that_are_known(tmp_path: Path) -> None:
    told = refused(tmp_path, "compose.yml", "services: {web: {image: nginx}}\n")
    assert "isn't a known configuration" in told and "VirtualService" in told


def test_json_of_two_bytes_of_a_mark_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("\ufeff" + json.dumps({"Retry": {"MaxRetryAttempts": 1}}))
    (layer,) = configured.read([tmp_path / "a.json"]).layers([])
    assert [one.kind for one in layer.policies][2] == "retry"

"""``import-load`` writes a study that replays what was recorded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from patternbench.cli.main import cli
from patternbench.terms.problems import InputError

LINE = '10.0.0.1 - - [10/Oct/2026:13:55:36 +0000] "GET /a HTTP/1.1" 200 1 "-" "-"\n'


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "access.log").write_text(LINE * 3)
    return tmp_path / "access.log"


def done(*words: object) -> Result:
    return CliRunner().invoke(cli, [str(word) for word in words], catch_exceptions=False)


def refused(*words: object) -> str:
    with pytest.raises(InputError) as caught:
        done(*words)
    return str(caught.value)


def test_the_study_that_is_written_can_be_planned(log: Path) -> None:
    printed = done("import-load", log, "--url", "http://127.0.0.1:8080", "--out", "loads")
    assert "wrote loads/recorded.yaml" in printed.stdout
    assert len(json.loads(done("plan", "loads/recorded.yaml", "--json").stdout)["scenarios"]) == 1


def test_what_was_written_is_told_as_data(log: Path) -> None:
    told = json.loads(done("import-load", log, "--url", "http://127.0.0.1:8080", "--json").stdout)
    assert told["written"] == ["recorded.yaml", "recorded-arrivals.csv"]
    assert told["kind"] == "access log"
    assert all(isinstance(note, str) for note in told["notes"])


def test_a_wrong_url_and_a_wrong_name_are_refused_before_anything_is_written(log: Path) -> None:
    assert "--url" in refused("import-load", log, "--url", "http://me:secret@a")
    assert "name" in refused("import-load", log, "--url", "http://a", "--name", "Not One")
    assert sorted(path.name for path in log.parent.iterdir()) == ["access.log"]

"""The keeper of a Compose project says it is up once it answers, follows its logs, and ends when its containers do."""

from __future__ import annotations

import json
from types import TracebackType
from typing import Any

import pytest

from patternbench.lab.config import compose
from patternbench.lab.config.compose import ProjectFailed


class Following:
    """Follows logs until they end at once; keeps what was done with it."""

    def __init__(self, done: list[str]) -> None:
        self.done = done

    def wait(self) -> None:
        self.done.append("waited")

    def terminate(self) -> None:
        self.done.append("terminated")

    def __enter__(self) -> Following:
        return self

    def __exit__(self, _t: type[BaseException] | None, _e: BaseException | None, _tb: TracebackType | None) -> None: ...


class Project:
    """A project of two services."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def up(self, within_s: int) -> dict[str, str]:
        self.done.append(f"up within {within_s}")
        return {"web": "127.0.0.1:1234", "api": "127.0.0.1:1235"}

    def logs(self) -> Following:
        self.done.append("logs")
        return Following(self.done)


@pytest.mark.parametrize(("path", "requested"), [("/ready", ["http://127.0.0.1:1234/ready"] * 3), ("", [])])
def test_a_project_is_announced_once_its_first_service_answers(
    path: str, requested: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    project, urls, paused = Project(), list[str](), list[float]()

    def answers(url: str) -> bool:
        urls.append(url)
        assert not capsys.readouterr().out, "it was announced before it answered"
        return len(urls) == 3

    monkeypatch.setattr(compose, "answers", answers)
    monkeypatch.setattr(compose.time, "sleep", paused.append)
    kept: Any = project
    with pytest.raises(ProjectFailed, match="all containers have ended"):
        compose.keep(kept, path, 30)
    assert urls == requested
    assert paused == [compose.GLANCE_S] * max(len(requested) - 1, 0)
    assert json.loads(capsys.readouterr().out) == {"ready": True, "web": "127.0.0.1:1234", "api": "127.0.0.1:1235"}
    assert project.done == ["up within 30", "logs", "waited", "terminated"]

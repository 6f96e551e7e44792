"""A generator on another machine, with an engine that is made up: what it says comes once, and its files whole."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest
from tests.support.made_up_engine import MadeUp, ending, made_up, over

from patternbench.drivers.driver import DriverError
from patternbench.drivers.load import JobError
from patternbench.records.load_summaries import SUMMARY, LoadProgress
from patternbench.run.lanes import generator_worker, ray_generators
from patternbench.run.lanes.generator_worker import GeneratorNews, GeneratorWorker, LeftFile
from patternbench.run.lanes.identity import identity
from patternbench.run.lanes.ray_generators import SLOWEST_BYTES_PER_S, RayGenerator
from patternbench.run.lanes.ray_lanes import CALL_S
from patternbench.run.lanes.worker import sha256

READY: dict[str, Any] = {"ready": True}
PART = {"index": 1, "of": 2}


class PlainFolder:
    """A scratch folder without the process that would remove it."""

    def __init__(self, prefix: str) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=prefix))

    def close(self) -> None:
        shutil.rmtree(self.path)


@pytest.fixture(autouse=True)
def nothing_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made_up(monkeypatch)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(generator_worker, "ScratchFolder", PlainFolder)
    monkeypatch.setattr(ray_generators, "GLANCE_S", 0.001)


class _NotThereError(Exception): ...


class MadeUpRay:
    """A cluster in this process: each call is carried out at once, or fails where the node is gone."""

    class exceptions:  # noqa: N801 - as in Ray
        RayError = _NotThereError

    def __init__(self) -> None:
        self.gone = False
        self.limits_s: list[float] = []

    def get(self, answer: Any, timeout: float) -> Any:
        assert timeout > 0
        self.limits_s.append(timeout)
        if self.gone:
            raise _NotThereError("the actor died\nand more")
        return answer


class Actor:
    """A worker as Ray shows it."""

    def __init__(self, worker: GeneratorWorker) -> None:
        self._worker = worker

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._worker, name)

        class Remote:
            remote = staticmethod(method)

        return Remote


def generator(
    folder: Path, job: dict[str, Any], files: dict[str, bytes], **expected: object
) -> tuple[RayGenerator, MadeUpRay]:
    ray, actor = MadeUpRay(), Actor(GeneratorWorker("generator-2", job, files))
    return RayGenerator(ray, actor, folder, {**identity(), **expected}), ray  # type: ignore[arg-type]


def test_a_generator_begins_when_told_tells_all_that_it_says_and_hands_its_files_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ending(monkeypatch, [READY, {"progress": {"requests": 4}}, {"progress": {"requests": 9}}, over()])
    job = {"part": PART, "tls": {"ca_file": "/here/ca.pem"}}
    asked, _ = generator(tmp_path / "out", job, {"/here/ca.pem": b"-----BEGIN"})
    asked.ready()
    placed = Path(MadeUp.jobs[0]["tls"]["ca_file"])
    assert (MadeUp.jobs[0]["part"], placed.read_bytes(), placed.name) == (PART, b"-----BEGIN", "0-ca.pem")
    (placed.parent / "out" / SUMMARY).write_text(json.dumps(over()["end"]))
    assert abs(asked.now_ns() - time.time_ns()) < 10**9
    asked.begin(5)
    assert [said.requests for said in asked.progress()] == [4, 9]
    assert asked.summary is not None and asked.summary.requests == 9
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"attempts.parquet", "trace.json", SUMMARY}


def test_problems_of_its_job_and_its_death_come_as_they_do_from_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ending(monkeypatch, [{"problems": [{"path": "seed", "message": "is odd"}]}], [READY, {"progress": {}}])
    wrong, _ = generator(tmp_path, {"part": PART}, {})
    with pytest.raises(JobError, match="seed: is odd"):
        wrong.ready()
    dying, _ = generator(tmp_path, {"part": PART}, {})
    dying.ready()
    dying.begin(5)
    with pytest.raises(DriverError, match="the load engine died: killed by SIGKILL"):
        list(dying.progress())


def test_a_node_that_is_gone_is_a_lost_generator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ending(monkeypatch, [READY, over()])
    asked, ray = generator(tmp_path, {"part": PART}, {})
    asked.ready()
    ray.gone = True
    with pytest.raises(DriverError, match=r"its node no longer answers: the actor died$"):
        list(asked.progress())
    asked.stop()


def test_a_node_with_another_patternbench_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ending(monkeypatch, [READY])
    asked, _ = generator(tmp_path, {"part": PART}, {}, version="other")
    with pytest.raises(DriverError, match=r"its node runs another patternbench \(version differ\)"):
        asked.ready()


def test_a_file_that_was_damaged_on_its_way_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ending(monkeypatch, [READY])
    asked, _ = generator(tmp_path / "out", {"part": PART}, {})
    whole = GeneratorWorker.file
    wrong = [
        lambda worker, name: LeftFile(whole(worker, name).content, "0" * 64),
        lambda *_: LeftFile(b"", sha256(b"")),
    ]
    for damaged in wrong:
        monkeypatch.setattr(GeneratorWorker, "file", damaged)
        with pytest.raises(DriverError, match=r"attempts.parquet was damaged on its way"):
            asked._fetch({"attempts.parquet": 10})
    assert not (tmp_path / "out/attempts.parquet").exists()


def test_files_come_one_by_one_and_a_large_one_has_more_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ending(monkeypatch, [over()])
    asked, ray = generator(tmp_path / "out", {"part": PART}, {})
    there = Path(MadeUp.outs[0])
    (there / SUMMARY).write_text(json.dumps(over()["end"]))
    with (there / "attempts.parquet").open("wb") as file:
        file.truncate(5 * SLOWEST_BYTES_PER_S)
    asked.begin(5)
    list(asked.progress())
    large, *small = ray.limits_s[-3:]
    assert large == CALL_S + 5
    assert all(CALL_S < limit < CALL_S + 1 for limit in small)
    assert (tmp_path / "out/attempts.parquet").stat().st_size == 5 * SLOWEST_BYTES_PER_S


def test_an_engine_that_fails_in_a_way_nobody_foresaw_ends_the_generator_with_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ending(monkeypatch, [RuntimeError("no memory is left")], [OSError()])
    for why in ("no memory is left", "OSError"):
        asked, _ = generator(tmp_path, {"part": PART}, {})
        asked.begin(5)
        with pytest.raises(DriverError, match=why):
            list(asked.progress())


def test_what_was_said_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    ending(monkeypatch, [READY, {"progress": {"requests": 1}}, over()])
    worker = GeneratorWorker("generator-1", {"part": PART}, {})
    assert worker.ready() == GeneratorNews()
    worker.begin(5)
    deadline = time.monotonic() + 10
    heard = worker.heard()
    while not heard.over and time.monotonic() < deadline:
        later = worker.heard()
        heard = GeneratorNews(heard.progress + later.progress, later.over, later.error, later.problems)
    assert [LoadProgress.model_validate(one).requests for one in heard.progress] == [1]
    assert worker.heard() == GeneratorNews(over=True)
    worker.close()

"""The study of two versions, and the blocks that are added to its run."""

from __future__ import annotations

from pathlib import Path

import pytest

from patternbench.run import gating
from patternbench.study.load import StudyFile
from patternbench.terms.problems import InputError

BASE, HEAD = "http://127.0.0.1:8080", "http://127.0.0.1:8081"


def test_the_load_of_a_study_goes_to_both_versions() -> None:
    text = (
        "patternbench: 1\nname: mine\nsystem: {url: 'http://127.0.0.1:1', headers: {X-A: b}}\nrounds: 9\n"
        "workload: {closed: {users: 3, duration: 1s}, request: {path: /a}}\nmodels: ['p95 ~ users']\n"
        "faults: [{abort: {percentage: 10, status: 503}}]\n"
    )
    study = gating.study_of_both(BASE, HEAD, StudyFile("mine.yaml", text, Path("/tmp")), 6).study()
    assert study.system.addresses == [BASE, HEAD]
    assert dict(study.system.sent_headers) == {"X-A": "b"}
    assert (study.rounds, study.models, len(study.faults)) == (6, [], 1)


def test_a_gate_without_a_study_asks_for_a_path() -> None:
    study = gating.study_of_both(BASE, HEAD, gating.plain_study("/items", 7, 2), 6).study()
    assert study.system.ready_path == "/items"
    assert study.workload.closed is not None
    assert (study.workload.closed.users.level, study.order) == (7, "shuffled")


def test_two_times_the_same_url_is_refused() -> None:
    with pytest.raises(InputError, match="is the same service"):
        gating.study_of_both(BASE, BASE, gating.plain_study("/", 1, 1), 6)

"""The files that a job names: found wherever a job may name them, and nowhere else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from patternbench.drivers.job_files import contents, named_anew


def job(folder: Path) -> dict[str, Any]:
    trace = {"open": {"schedule": {"trace": {"file": str(folder / "trace.csv")}}}}
    step = {"path": "/", "json": {"file": "the user's own", "body_file": "this too"}}
    sending = {"path": "/", "body_file": str(folder / "body")}
    fed = {"workload": {"closed": {"users": 1}}, "feeder": {"file": str(folder / "names.csv")}}
    return {
        "tls": {"ca_file": str(folder / "ca.pem"), "verify": True},
        "groups": [
            {"workload": trace, "journeys": [{"steps": [step, sending]}]},
            {**fed, "journeys": [{"steps": [step]}]},
        ],
    }


def test_every_file_that_a_job_names_travels_and_a_body_of_the_user_is_left_alone(tmp_path: Path) -> None:
    names = ("ca.pem", "trace.csv", "body", "names.csv")
    for name in names:
        (tmp_path / name).write_text(f"of {name}")
    asked = job(tmp_path)
    assert contents(asked) == {str(tmp_path / name): f"of {name}".encode() for name in names}
    there = named_anew(asked, lambda path: f"/elsewhere/{Path(path).name}")
    assert there == job(Path("/elsewhere"))
    assert asked == job(tmp_path), "the job itself stays as it is"


def test_a_job_without_files_names_none() -> None:
    assert contents({"groups": [{"workload": {"closed": {}}, "journeys": [{"steps": [{}]}]}]}) == {}

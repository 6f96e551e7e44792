"""What a run's folder needs before its rounds: the plan, the manifest and the study, as small as they may be."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from patternbench.plan.order import Round
from patternbench.records import folder
from patternbench.records.folder import RunFolder

STUDY = """\
patternbench: 1
name: x
system: target
workload: {closed: {users: 2, successes: 1}}
strategies: [{client: native, baseline: {}}]
"""


def pinned(
    run: RunFolder,
    scenarios: Sequence[Mapping[str, Any]],
    rounds: Iterable[Round],
    factors: Mapping[str, list[Any]] | None = None,
) -> RunFolder:
    """Create the folder of a run with these scenarios and rounds."""
    run.create()
    places = [place.as_json() for place in rounds]
    known = {scenario["id"] for scenario in scenarios}
    others = sorted({place["scenario"] for place in places} - known)
    whole = [*scenarios, *({"id": name, "levels": {}} for name in others)]
    folder.write_json(run.plan, {"factors": factors or {}, "scenarios": whole, "rounds": places})
    folder.write_json(run.manifest, {"manifest": 1, "study": "x", "study_file": "study.yaml", "left_out": {}})
    run.study.write_text(STUDY)
    run.unlock()
    return run

"""What the simulator of limits answers is read the same, however its own tables were ordered."""

from __future__ import annotations

import json
from itertools import permutations

from patternbench.ratelimit.records.simulated import JudgeSummary, SimulatorAnswer

SUMMARY = dict.fromkeys(JudgeSummary.model_fields, 0)


def test_the_ends_of_the_scale_come_in_one_order_whatever_order_they_were_written_in() -> None:
    texts = [
        json.dumps({"measured": SUMMARY, "cpu_s": 0, "scale": dict.fromkeys(names, SUMMARY)})
        for names in permutations(["no limiter", "exact log"])
    ]
    read = [list(SimulatorAnswer.model_validate_json(text).scale) for text in texts]
    assert read == [["no limiter", "exact log"]] * 2

"""Which model is the answer of which command, and the schemas that are made of them."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import BaseModel

from patternbench.cli.answers import analyses, files, limits, runs
from patternbench.cli.answers.parts import ProblemsAnswer

DRAFT = "https://json-schema.org/draft/2020-12/schema"
PROBLEMS = "problems"
"""The name of what is printed instead of an answer where something is wrong."""
ANSWERS: Mapping[str, type[BaseModel]] = {
    "init": files.InitAnswer,
    "example": files.ExampleAnswer,
    "import-config": files.ImportConfigAnswer,
    "import-load": files.ImportLoadAnswer,
    "import-published": files.ImportPublishedAnswer,
    "plan": runs.PlanAnswer,
    "try": runs.TryAnswer,
    "run": runs.RunAnswer,
    "resume": runs.RunAnswer,
    "watch": runs.WatchAnswer,
    "report": runs.ReportAnswer,
    "export": files.ExportAnswer,
    "load": runs.LoadAnswer,
    "capacity": runs.CapacityAnswer,
    "fit": analyses.FitAnswer,
    "predict": analyses.PredictAnswer,
    "calibrate": runs.CalibrateAnswer,
    "simulate": runs.SimulateAnswer,
    "compare": analyses.CompareAnswer,
    "gate": analyses.GateAnswer,
    "history": runs.HistoryAnswer,
    "recommend": analyses.RecommendAnswer,
    "apply": files.ApplyAnswer,
    "loadtest": analyses.LoadTestAnswer,
    "up": runs.UpAnswer,
    "doctor": runs.DoctorAnswer,
    "schema": files.SchemaAnswer,
    "simulate-limits": limits.SimulateLimitsAnswer,
    "test-limits": limits.LimitTestAnswer,
    "check-client": runs.CheckClientAnswer,
    PROBLEMS: ProblemsAnswer,
}
"""The answer of each command to ``--json``, by the command's name."""


def answer_schema(name: str) -> dict[str, object]:
    """Return the schema of what a command prints (JSON Schema, draft 2020-12)."""
    made = ANSWERS[name].model_json_schema(mode="validation")
    title = "Problems, as they are printed" if name == PROBLEMS else f"patternbench {name} --json"
    return {"$schema": DRAFT, **made, "title": title}

"""``patternbench predict``: what a saved model predicts at other levels."""

from __future__ import annotations

from pathlib import Path

import click
import orjson
from rich.console import Console

from patternbench.analyze.models.model_file import FORMAT as OF_MODELS
from patternbench.analyze.models.model_file import REMAKE
from patternbench.analyze.models.predict import Prediction, read_point
from patternbench.analyze.models.predict import predict as predicted
from patternbench.analyze.models.saved_model import SavedModel, read_models
from patternbench.analyze.plain_json import notes_json, plain
from patternbench.analyze.rounds import label
from patternbench.cli.output import note
from patternbench.cli.shared import JsonCriteria, bad_input_exits, json_options, level_option
from patternbench.cli.terminal import PlainConsole
from patternbench.report.labels import units_of_observers
from patternbench.study.text.files import read_bytes
from patternbench.terms.data_problems import DataError, DataProblem, did_you_mean
from patternbench.terms.quantities import quantity, span
from patternbench.terms.sealed import is_whole

FORMAT = "patternbench/predictions/1"
LARGEST_MODEL = 100_000_000
"""Bytes of a file of models."""


@click.command(epilog="Example: patternbench predict models.json --at users=80,strategy=retry")
@click.argument("model", type=click.Path(path_type=Path))
@click.option(
    "--at",
    "points",
    multiple=True,
    required=True,
    metavar="NAME=VALUE,...",
    help="The point to predict, such as users=80,bundle_size=25.",
)
@click.option("--response", help="Use only the models of this response.")
@level_option
@json_options
@bad_input_exits
def predict(model: Path, points: tuple[str, ...], response: str | None, level: float, json: JsonCriteria) -> None:
    """Predict responses from MODEL, a file of `patternbench fit --save`."""
    point = read_point(points)
    models = _suiting(_chosen(read_models(_parsed(model)), response), point)
    predictions = [predicted(one, point, level) for one in models]
    json.fulfil(lambda: {"format": FORMAT, "predictions": [prediction_json(one) for one in predictions]})
    if not json.printed:
        for one in predictions:
            _print(one, PlainConsole())


def _parsed(path: Path) -> object:
    try:
        saved = orjson.loads(read_bytes(path, LARGEST_MODEL))
    except orjson.JSONDecodeError as cause:
        raise DataError(
            DataProblem(f"is not JSON: {cause}", str(path), "Make a model: patternbench fit ... --save FILE.")
        ) from None
    _check_whole(saved, path)
    return saved


def _check_whole(saved: object, path: Path) -> None:
    """Refuse models that were changed since they were written, and say of those of before that they have no hash."""
    if not isinstance(saved, dict) or saved.get("format") != OF_MODELS:
        return
    whole = is_whole(saved)
    if whole is None:
        note(f"{path} has no hash, so nobody can see whether it was changed. {REMAKE}")
    elif not whole:
        raise DataError(DataProblem("was changed after it was written.", str(path), REMAKE))


def _chosen(models: list[SavedModel], response: str | None) -> list[SavedModel]:
    names = [one.response for one in models]
    if response is not None and response not in names:
        raise DataError(
            DataProblem(f"no model has the response {response}.", "--response", did_you_mean(response, names))
        )
    return [one for one in models if response in (None, one.response)]


def _suiting(models: list[SavedModel], point: dict[str, str]) -> list[SavedModel]:
    """Keep the models whose variables are those of the point. If there are none, keep the first, which explains why."""
    suiting = [one for one in models if set(one.parsed.right) == set(point)]
    return suiting or models[:1]


def prediction_json(one: Prediction) -> dict[str, object]:
    """Lay out a prediction (keys: docs/analysis.md)."""
    return plain(
        {
            "response": one.response,
            "formula": one.formula,
            "at": dict(one.at),
            "estimate": one.estimate,
            "low": one.low,
            "high": one.high,
            "mean_low": one.mean_low,
            "mean_high": one.mean_high,
            "level": one.level,
            "method": one.method,
            "warnings": notes_json(one.warnings),
        }
    )


def _print(one: Prediction, console: Console) -> None:
    unit = units_of_observers().get(one.response, "")
    how = "" if one.method == "normal" else ", from the residuals on unseen scenarios"
    console.print(
        f"{one.response} at {label(one.at)}: {quantity(one.response, one.estimate, unit)}, one observation between "
        f"{span(one.response, one.low, one.high, unit, 'and')} ({one.level:.0%}{how}); the mean between "
        f"{span(one.response, one.mean_low, one.mean_high, unit, 'and')}.",
        highlight=False,
        markup=False,
    )
    for warning in one.warnings:
        console.print(f"! {warning.text}", highlight=False, markup=False)

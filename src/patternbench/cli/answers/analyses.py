"""Answers of commands that analyse rounds."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, JsonValue, RootModel

from patternbench.cli.answers.parts import CommandAnswer, Level, NoteAnswer, Number, Share, Values

Outcome = Literal["pass", "fail", "undecided"]


class DifferenceAnswer(CommandAnswer):
    """A response of a scenario, B against A (docs/analysis.md says what each number is).

    `difference` and its interval are in the response's unit, what begins with `relative_` in percent.
    """

    scenario: str
    levels: dict[str, Level]
    response: str
    rounds: list[int]
    means: list[Number]
    centres: list[Number]
    difference: Number
    ci_low: Number
    ci_high: Number
    method: str
    relative_percent: Number
    relative_ci_low: Number
    relative_ci_high: Number
    in_percent: bool
    p: Number
    p_adjusted: Number
    cliffs_delta: Number
    size: str
    detectable_percent: Number
    noise_floor: Number
    verdict: Literal["higher", "lower", "undecided"]
    firm: bool


class UndecidedAnswer(CommandAnswer):
    """A scenario on which a gate can't decide, and how many rounds a side would."""

    scenario: str
    rounds_to_decide: int | None


class GateVerdictAnswer(CommandAnswer):
    """What became of a condition of a gate."""

    condition: str
    outcome: Outcome
    checked: int
    failing: list[str]
    undecided: list[UndecidedAnswer]


class CompareAnswer(CommandAnswer):
    """`compare`: every difference with its interval, and the verdicts of `--fail-if`."""

    format: Literal["patternbench/comparison/1"]
    level: float
    differences: list[DifferenceAnswer]
    noise_floor_percent: dict[str, Number]
    gate: list[GateVerdictAnswer]
    notes: list[NoteAnswer]


class ErrorRateAnswer(CommandAnswer):
    """How gates end whose true change is this one, as simulated with the run's own scatter."""

    effect_percent: float
    failed: Share
    passed: Share
    undecided: Share


class GateAnswer(CompareAnswer):
    """`gate`: the verdict on all conditions, how long more would decide, and how often such gates are wrong."""

    outcome: Literal["pass", "fail", "inconclusive"]
    run: str
    blocks: int
    more_minutes: Number
    error_rates: list[ErrorRateAnswer]


# --- recommend


class AgainstAnswer(CommandAnswer):
    """The choice against a baseline in a response."""

    response: str
    baseline: str
    means: list[Number]
    relative_percent: Number
    relative_ci_low: Number
    relative_ci_high: Number
    ci_low: Number
    ci_high: Number


class CandidateAnswer(CommandAnswer):
    """A configuration that was chosen from; `wins` is the share of redrawn blocks in which it came first."""

    configuration: str
    levels: dict[str, Level]
    means: dict[str, Number]
    feasible: bool
    feasible_share: Number
    wins: Number
    on_front: bool
    p: Number


class ChoiceAnswer(CommandAnswer):
    """What is recommended under a condition."""

    given: dict[str, Level]
    in_words: str
    verdict: str
    p: Number
    firm: bool
    ties: list[str]
    chosen: str | None
    wins: Number
    against_baseline: list[AgainstAnswer]
    candidates: list[CandidateAnswer]


class FlipAnswer(CommandAnswer):
    """Where the recommendation changes with a factor."""

    factor: str
    between: list[Level]
    others: dict[str, Level]
    choices: list[str]
    sure: bool


class RecommendAnswer(CommandAnswer):
    """`recommend`: the choice under each condition."""

    format: Literal["patternbench/recommendation/1"]
    objectives: list[str]
    subject_to: list[str]
    given: list[str]
    choices: list[ChoiceAnswer]
    flips: list[FlipAnswer]
    notes: list[NoteAnswer]


# --- fit and predict


class FitSettings(CommandAnswer):
    """The settings of the fit."""

    level: float
    group: str | None
    scenario: str | None
    seed: int
    margin: Number


class CoefficientAnswer(CommandAnswer):
    """A coefficient of a model."""

    name: str
    estimate: Number
    std_error: Number
    ci_low: Number
    ci_high: Number
    t: Number
    p: Number
    vif: Number


class ErrorsAnswer(CommandAnswer):
    """Errors of prediction: `mape` in percent, the others in the response's unit."""

    mape: Number
    mae: Number
    rmse: Number
    errors_note: str


class CrossValidationAnswer(ErrorsAnswer):
    """Errors on left-out scenarios."""

    scored: int
    unscored: int
    scenarios: int
    folds: int
    unit: str
    note: str


class AssumptionAnswer(CommandAnswer):
    """A test of an assumption; `holds` is null where it could not be tested."""

    name: str
    assumption: str
    statistic: Number
    p: Number
    holds: bool | None
    note: str


class RemedyAnswer(CommandAnswer):
    """What replaces the plain result where an assumption fails."""

    kind: str
    because: list[str]
    text: str
    terms: list[CoefficientAnswer]
    numbers: Values


class MovedTerm(CommandAnswer):
    """A coefficient with a row and without it."""

    with_: Number = Field(alias="with")
    without: Number


class WithoutRow(CommandAnswer):
    """The model without a row."""

    adj_r2: Number
    sigma: Number
    terms: dict[str, MovedTerm]


class SuspiciousRowAnswer(CommandAnswer):
    """A row that stands out."""

    row: int
    values: Values
    identity: Values
    fitted: Number
    why: list[str]
    studentized: Number
    leverage: Number
    cooks: Number
    without: WithoutRow


class HistogramAnswer(CommandAnswer):
    """A histogram."""

    edges: list[Number]
    counts: list[int]


class QuantilesAnswer(CommandAnswer):
    """Points of a quantile-quantile plot."""

    expected: list[Number]
    observed: list[Number]
    rule: str


class FitFigures(CommandAnswer):
    """What the figures of a model show."""

    histogram: HistogramAnswer
    normal_qq: QuantilesAnswer


class ModelAnswer(ErrorsAnswer):
    """A model of a response; `design` is what `predict` needs of it."""

    formula: str
    response: str
    in_words: list[str]
    doubts: list[str]
    n: int
    terms: list[CoefficientAnswer]
    reference_levels: dict[str, Level]
    term_inflation: dict[str, Number]
    r2: Number
    adj_r2: Number
    f: Number
    f_df: list[Number]
    f_p: Number
    aic: Number
    bic: Number
    log_likelihood: Number
    sigma: Number
    cross_validated: CrossValidationAnswer
    tests: list[AssumptionAnswer]
    remedies: list[RemedyAnswer]
    preferred: str
    statistics: str
    suspicious_rows: list[SuspiciousRowAnswer]
    flagged_rows: int
    thresholds: dict[str, Number]
    figures: FitFigures
    notes: list[NoteAnswer]
    design: Values


class MultivariateAnswer(CommandAnswer):
    """What is said of several responses together; `manova` has four statistics for each term."""

    formula: str
    responses: list[str]
    manova: list[Values]
    normality: AssumptionAnswer
    recommended: str
    residual_correlation: list[list[Number]]
    chi_square_qq: QuantilesAnswer | None
    notes: list[NoteAnswer]


class FitAnswer(CommandAnswer):
    """`fit`: the models, with everything that `predict` needs (docs/analysis.md).

    `seal` is the hash of all other fields, by which `predict` sees that nothing was changed.
    """

    format: str
    rows: int
    settings: FitSettings
    models: list[ModelAnswer]
    multivariate: list[MultivariateAnswer]
    seal: str


class PredictionAnswer(CommandAnswer):
    """A prediction: one observation between `low` and `high`, the mean between the other two."""

    response: str
    formula: str
    at: dict[str, Level]
    estimate: Number
    low: Number
    high: Number
    mean_low: Number
    mean_high: Number
    level: float
    method: str
    warnings: list[NoteAnswer]


class PredictAnswer(CommandAnswer):
    """`predict`: what a model predicts."""

    format: str
    predictions: list[PredictionAnswer]


# --- loadtest


class LinearityAnswer(CommandAnswer):
    """Whether the mean response time is a straight line of the load."""

    r: Number
    low: Number
    high: Number
    levels: int
    p_quadratic: Number
    verdict: str


class KneeAnswer(CommandAnswer):
    """The load from which on times rise faster, with its interval."""

    load: Number
    low: Number
    high: Number
    slope_before: Number
    slope_after: Number
    p: Number
    note: str


class SmoothedAnswer(CommandAnswer):
    """Smoothed times of a load."""

    load: Number
    window: JsonValue
    note: str
    times: list[Number]
    values: list[Number]


class OneLoadTest(CommandAnswer):
    """A load test: its levels of load, the percent of each status at each, linearity and knee."""

    in_words: list[str]
    levels: list[Values]
    status_percent: dict[str, dict[str, Number]]
    linearity: LinearityAnswer | None
    knee: KneeAnswer
    smoothed: list[SmoothedAnswer]
    notes: list[NoteAnswer]


class FileLoadTest(OneLoadTest):
    """The load test of a file."""

    format: str


class RunLoadTest(OneLoadTest):
    """A load test of a run, at the levels of its other factors."""

    at: dict[str, Level]


class RunLoadTests(CommandAnswer):
    """The load tests of a run."""

    format: str
    tests: list[RunLoadTest]


class LoadTestAnswer(RootModel[FileLoadTest | RunLoadTests]):
    """`loadtest`: the analysis of a load test, or of those of a run."""

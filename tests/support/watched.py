"""Views of runs that are watched, made up: every number in them is chosen, so that a picture can be agreed on."""

from __future__ import annotations

from dataclasses import replace

from patternbench.records.load_summaries import LoadProgress
from patternbench.records.stored import PlannedScenario
from patternbench.report.first_screen import PERCENT, Contender, DrawnChange, FirstScreen
from patternbench.watch.looking import RoundCounts
from patternbench.watch.rounds import RoundView, running
from patternbench.watch.view import GOES_ON, NOT_THE_LAST_WORD, Remark, RunView, scale_of

CALM = "abort percentage 0\u00a0%"
FAULTY = "abort percentage 30\u00a0%"


def change(low: float, value: float, high: float, look: str) -> DrawnChange:
    text = f"{value:+g}\u00a0% ({low:+g} to {high:+g}\u00a0%)".replace("-", "−")
    return DrawnChange(text, PERCENT, value, low, high, look)


def contenders() -> tuple[Contender, ...]:
    return (
        Contender(CALM, "retry · 5 ms", change(-3, 1, 5, "open"), False),
        Contender(CALM, "circuit breaker · 60 ms", change(4, 9, 14, "worse"), False),
        Contender(FAULTY, "retry · 5 ms", change(-44, -41, -38, "better"), True),
        Contender(FAULTY, "retry · 20 ms", change(-30, -24, -18, "better"), False),
        Contender(FAULTY, "circuit breaker · 60 ms", change(-12, 20, 300, "open"), False),
    )


def screen() -> FirstScreen:
    return FirstScreen(
        sentences=(f"{CALM}: baseline, because these rounds show no gain over it.", f"{FAULTY}: clearly retry · 5 ms."),
        notes=(),
        objective="call_success_p95",
        response="p95 of successful calls",
        against="baseline",
        lower_is_better=True,
        rows=(),
        contenders=contenders(),
        hidden=2,
    )


def progress(quarters: int, **more: object) -> list[LoadProgress]:
    """What the load engine says in so many quarters of a second of 500 calls a second."""
    lines = []
    for quarter in range(1, quarters + 1):
        times = {"p50": 2.0 + 0.1 * (quarter % 5), "p99": 9.0 + quarter, "max": 30.0}
        ended, bad = 125 * quarter, 3 * max(0, quarter - 12)
        message = {
            "elapsed_us": 250_000 * quarter,
            "measured_from_us": 1_000_000,
            "requests": ended,
            "errors": bad,
            "in_flight": 4,
            "rate_per_s": 500.0,
            "response_ms": times,
            "lateness_ms": {"p99": 0.08},
            "statuses": {"2xx": ended - bad, "5xx": bad},
        }
        lines.append(LoadProgress.model_validate({**message, **more}))
    return lines


def scenario() -> PlannedScenario:
    """A scenario of five seconds, with a fault from the third to the fifth."""
    fault = {"abort": {"percentage": 30, "when": {"from": "2s", "for": "2s"}}}
    return PlannedScenario.model_validate(
        {"id": "s1", "levels": {}, "config": {"client": "native", "faults": fault}, "length_s": 5.0}
    )


def round_now() -> RoundView:
    return running(scenario(), "retry · 5 ms, abort percentage 30\u00a0%", progress(20))


def view() -> RunView:
    """A run that is half over, of which one round runs."""
    return RunView(
        name="quickstart",
        folder="runs/quickstart",
        question="Which retry is right, and from which share of failing answers on?",
        state=GOES_ON,
        progress="going on · 72 of 144 rounds · 4 of 8 blocks whole · about 4 min left",
        sentences=screen().sentences,
        caveat=NOT_THE_LAST_WORD,
        screen=screen(),
        scale=scale_of([one.change for one in contenders()]),
        counts=RoundCounts(144, 144, 72),
        block=4,
        of_blocks=8,
        round=round_now(),
        running=["retry · 5 ms, abort percentage 30\u00a0%"],
        remarks=[
            Remark(1, "round 17: over its time limit of 60s", "", True),
            Remark(3, "the machine was 98% busy, 20% with processes that this run did not start", "end them", False),
            Remark(1, "fault abort began 61 ms late", "end other programs", False),
        ],
        lanes=[("a", 40), ("b", 32)],
    )


def waiting() -> RunView:
    """A run of which nothing has ended yet."""
    return replace(
        view(), sentences=["No round has ended yet."], screen=None, round=None, remarks=(), lanes=(), caveat=""
    )

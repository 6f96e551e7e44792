"""How long a run will take is reported before it starts."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from patternbench.cli.plan import plan
from patternbench.plan.estimate import round_seconds
from patternbench.plan.expand import expand
from patternbench.study.load import loads

STUDIES = Path(__file__).parents[3] / "studies"


@pytest.mark.parametrize(
    ("study", "guess"),
    [
        ("rate-limiting-quick", "73 min"),  # 102 rounds of 6 s of warm-up and 36 s, each on balancers just started
        ("rate-limiting-leases", "97 min"),  # 48 rounds of 60 s of warm-up and 60 s, likewise
    ],
)
def test_the_warm_up_of_every_round_is_part_of_the_guess(study: str, guess: str) -> None:
    shown = CliRunner().invoke(plan, [str(STUDIES / f"{study}.yaml")]).output
    assert f"roughly {guess} " in shown


def test_calls_of_all_users_together_are_guessed_as_that_many_of_each_user_in_parts() -> None:
    text = "patternbench: 1\nname: x\nsystem: target\nworkload: {{closed: {{users: 20, {}}}}}\n"
    guesses = [
        round_seconds(expand(loads(text.format(end), "x.yaml")).scenarios[0]) for end in ("requests: 30", "calls: 600")
    ]
    assert guesses[0] == guesses[1] > 0


BATCH = """\
patternbench: 1
name: x
system: {{name: target, settings: {{}}}}
workload:
  closed: {{users: 1, journeys: 1}}
  parameters: {{size: 50}}
  journey: [{}]
"""


def guessed(steps: str) -> float:
    """The guess for one user who takes these steps once."""
    return round_seconds(expand(loads(BATCH.format(steps), "x.yaml")).scenarios[0])


def test_a_journey_is_guessed_by_its_calls_and_pauses_and_not_as_a_single_call() -> None:
    one = guessed("{path: /}")
    assert guessed('{path: /, repeat: "${size}"}') == pytest.approx(50 * one)
    assert guessed('{path: /, repeat: "${size}", pause: 20ms}') == pytest.approx(50 * (one + 0.02))


def test_a_step_for_each_captured_value_is_guessed_as_often_as_the_step_that_captures_them() -> None:
    create = '{path: /, repeat: "${size}", capture: {ids: {json: $.id, pick: each}}}'
    each, once = (f'{{path: "/${{item}}", for_each: {of}}}' for of in ("ids", "{of: ids, at_most: 1}"))
    one = guessed("{path: /}")
    assert guessed(f"{create}, {each}") == pytest.approx(100 * one)
    assert guessed(f"{create}, {once}") == pytest.approx(51 * one)


def test_a_schedule_of_steps_is_guessed_as_long_as_its_steps_together() -> None:
    text = "patternbench: 1\nname: x\nsystem: target\nworkload: {open: {schedule: {steps: STEPS}}}\n"
    steps = "[{rate: 280, for: 30s}, {rate: 80, for: 90s}]"
    assert round_seconds(expand(loads(text.replace("STEPS", steps), "x.yaml")).scenarios[0]) == 120

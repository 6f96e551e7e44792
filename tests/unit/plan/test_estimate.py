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

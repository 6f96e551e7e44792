"""What a study may say about its rounds, models and recommendation."""

from __future__ import annotations

import pytest
from tests.support.studies import changed, problems, study

from patternbench.plan.expand import expand
from patternbench.report.choice_rule import choice_rule_of
from patternbench.run.before import evidence
from patternbench.study.evidence import Rounds, fewest, most, plain
from patternbench.study.load import loads
from patternbench.terms.problems import InputError

RULE = "{until: {response: p95, half_width: 5%}, min: 3, max: 30}"


def only(rounds: str) -> str:
    found = problems(changed(rounds=rounds))
    assert len(found) == 1, [str(p) for p in found]
    return str(found[0])


def refused(**changes: str) -> list[str]:
    requested = study(**changes)
    with pytest.raises(InputError) as raised:
        evidence.check(requested, expand(requested))
    return [str(problem) for problem in raised.value.problems]


def test_a_number_of_rounds_is_both_bounds() -> None:
    read = study(rounds="4").rounds
    assert (fewest(read), most(read), plain(read)) == (4, 4, 4)


def test_a_rule_has_bounds_and_defaults() -> None:
    read = study(rounds="{until: {response: goodput, half_width: 3}}").rounds
    assert isinstance(read, Rounds)
    assert plain(read) == {"until": {"response": "goodput", "half_width": "3"}, "min": 3, "max": 30}


@pytest.mark.parametrize(
    ("rounds", "message"),
    [
        ("0", "rounds: is not allowed here (got 0); allowed: at least 1"),
        ("many", "allowed: a whole number"),
        ("{min: 3}", "`until` is missing"),
        ("{until: {response: p95, half_width: wide}}", "half_width: isn't a half-width (got 'wide'); allowed: a share"),
        ("{until: {response: p95, half_width: 0%}}", "must be greater than 0"),
        ("{until: {response: p95, half_width: 5%}, min: 2}", "rounds.min: is not allowed here (got 2)"),
        ("{until: {response: p95, half_width: 5%}, min: 5, max: 4}", "rounds.max: is below min (5) (got 4)"),
        ("{until: {response: p95, half_width: 5%}, mox: 4}", "unknown key; allowed: until, min, max; did you mean"),
    ],
)
def test_what_is_wrong_with_rounds_is_said_once_and_with_its_line(rounds: str, message: str) -> None:
    text = only(rounds)
    assert text.startswith("study.yaml:17: ")
    assert message in text


def test_the_rule_is_the_one_that_the_study_asks_for() -> None:
    rule = evidence.rule_of(study(rounds=RULE))
    assert rule is not None
    assert (rule.response, rule.half_width, rule.fewest, rule.most) == ("p95", pytest.approx(0.05), 3, 30)
    assert evidence.rule_of(study(rounds="3")) is None


def test_a_response_that_no_one_measures_is_refused_before_anything_runs() -> None:
    (message,) = refused(rounds=RULE.replace("p95", "p96"))
    assert message.startswith("rounds.until.response: `p96` isn't a response")
    assert "did you mean `p9" in message


def test_formulas_are_read_with_the_studys_own_factors() -> None:
    fine = study(models="['p95 ~ users + C(strategy) + `abort.percentage`']")
    evidence.check(fine, expand(fine))
    found = refused(models="['p95 ~ user', 'p95', 'p95x ~ users']")
    assert [text.split(":")[0] for text in found] == ["models[0]", "models[1]", "models[2]"]
    assert "did you mean `users`?" in found[0]


def test_objectives_and_limits_are_read_before_anything_runs() -> None:
    found = refused(recommend="{objectives: [shrink p95, minimise p96], subject_to: [p99 <= 2]}")
    paths = ["recommend.objectives[0]", "recommend.objectives[1]", "recommend.subject_to[0]"]
    assert [text.split(":")[0] for text in found] == paths


def test_rounds_and_wishes_change_no_id() -> None:
    ids = [s.id for s in expand(study()).scenarios]
    requested = study(rounds=RULE, models="[p95 ~ users]", recommend="{objectives: [minimise p95]}")
    assert [s.id for s in expand(requested).scenarios] == ids


CHOICE = "{until: {choice: within 5%}, min: 4, max: 40}"


def test_rounds_may_end_once_the_choice_is_known() -> None:
    read = study(rounds=CHOICE).rounds
    assert plain(read) == {"until": {"choice": "within 5%"}, "min": 4, "max": 40}
    rule = choice_rule_of(study(rounds=CHOICE))
    assert rule is not None
    assert (rule.margin, rule.looks) == (5.0, (4, 6, 9, 14, 21, 32, 40))
    assert evidence.rule_of(study(rounds=CHOICE)) is None
    assert choice_rule_of(study(rounds=RULE)) is None


@pytest.mark.parametrize(
    ("until", "message"),
    [
        ("{choice: clear}", "isn't how good a choice must be (got 'clear'); allowed: how much worse than the best"),
        ("{choice: within 0%}", "must be greater than 0"),
        ("{choice: within 5%, response: p95}", "unknown key; allowed: choice"),
        ("{}", "`response` is missing"),
    ],
)
def test_what_is_wrong_with_a_choice_is_said_with_what_is_allowed(until: str, message: str) -> None:
    found = [str(problem) for problem in problems(changed(rounds=f"{{until: {until}}}"))]
    assert any(message in text for text in found), found


def test_where_there_is_nothing_to_choose_from_rounds_cannot_end_by_a_choice() -> None:
    alone = "[{client: native, baseline: {}}]"
    text = "\n".join(line for line in changed(rounds=CHOICE).splitlines())
    head = text.split("strategies:")[0]
    requested = loads(f"{head}strategies: {alone}\nrounds: {CHOICE}\n", "study.yaml")
    with pytest.raises(InputError, match="there is nothing to choose from"):
        evidence.check(requested, expand(requested))

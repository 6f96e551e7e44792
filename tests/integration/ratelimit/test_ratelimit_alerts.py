"""The alerts that are shipped fire when they should, on series that the filter has."""

import re
import subprocess

import pytest
from ratelimit_fixture import FILTER, missing_programs

ALERTS = FILTER / "alerts"
RULES, TESTS = ALERTS / "ratelimit.rules.yml", ALERTS / "ratelimit.rules.test.yml"
NAMED = re.compile(r"\bratelimit_[a-z_]+")


@pytest.mark.skipif(missing_programs("promtool") != [], reason="install prometheus (apt-get install)")
@pytest.mark.parametrize("command", [["check", "rules", str(RULES)], ["test", "rules", str(TESTS)]])
def test_promtool_takes_the_alerts_and_their_tests_hold(command: list[str]) -> None:
    done = subprocess.run(["promtool", *command], capture_output=True, text=True, check=False, cwd=ALERTS)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_alert_is_tested_both_ways() -> None:
    alerts = re.findall(r"- alert: (\w+)", RULES.read_text(encoding="utf-8"))
    tests = TESTS.read_text(encoding="utf-8")
    assert len(alerts) == 10
    for alert in alerts:
        assert re.search(rf"alertname: {alert}}}\n", tests), f"{alert} is nowhere silent"
        assert re.search(rf"alertname: {alert}\n +exp_alerts:", tests), f"{alert} never fires"


def test_the_alerts_name_no_series_but_the_filters() -> None:
    lua = "\n".join((FILTER / "lua" / "ratelimit" / f"{name}.lua").read_text() for name in ("metrics", "hot"))
    known = {*NAMED.findall(lua), *(f"ratelimit_hot_key_{kind}_per_second" for kind in ("requests", "rejections"))}
    used = {name.removesuffix("_bucket") for name in NAMED.findall(re.sub(r"(?m)^#.*$", "", RULES.read_text()))}
    assert used - known - {"ratelimit_state"} == set()  # a dictionary that an alert's advice names

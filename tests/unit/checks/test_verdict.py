"""``make test`` fails on a skip that no list allows, and tries again little, in few suites, and never in silence."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML
from scripts.checks import cases, skips, suites, verdict
from scripts.checks.__main__ import carry_out
from scripts.checks.cases import FAILED, PASSED, SKIPPED, Case
from scripts.checks.skips import Allowed
from scripts.checks.suites import Suite

from patternbench.drivers import registry

ROOT = Path(__file__).resolve().parents[3]
TESTS = ("tests/**/*.py", "engine/crates/**/*.rs")
LEAVE = [Allowed("parts", "::test_slow", "takes an hour"), Allowed("parts", "::test_mount", "root only", as_user=True)]


def case(name: str, outcome: str, why: str = "") -> Case:
    return Case(name, outcome, why, name)


def suite(name: str, *tries: list[Case], again: bool = False) -> Suite:
    """A suite whose tool reports one list of cases after another."""
    reports = iter(tries)

    def start(_: list[str]) -> suites.Read:
        found = next(reports)
        return found, int(any(case.outcome == FAILED for case in found))

    return Suite(name, start, again)


def performed(*expected: Suite) -> list[verdict.SuiteOutcome]:
    return verdict.tried_again(expected, [verdict.perform(one) for one in expected])


def problems(*expected: Suite, is_admin: bool = True) -> list[str]:
    return list(verdict.problems(performed(*expected), LEAVE, is_admin))


def test_a_skip_that_is_not_on_the_list_fails_the_run_and_says_its_reason() -> None:
    found = problems(suite("parts", [case("a::test_x", SKIPPED, "install hey"), case("a::test_y", PASSED)]))
    assert found == ["parts: a::test_x was skipped, which allowed-skips.toml does not allow: install hey"]


def test_a_skip_on_the_list_passes_and_is_printed_with_the_reason_of_the_list() -> None:
    done = performed(suite("parts", [case("a::test_slow", SKIPPED), case("a::test_y", PASSED)]))
    assert not list(verdict.problems(done, LEAVE, is_admin=True))
    assert "skipped: parts: a::test_slow: takes an hour" in list(verdict.summary(done, LEAVE, is_admin=True))


def test_the_end_names_the_twenty_tests_that_took_longest_over_all_suites() -> None:
    timed = [Case(f"a::test_{n}", PASSED, again=f"a::test_{n}", seconds=float(n)) for n in range(25)]
    done = performed(suite("parts", timed), suite("unit", [Case("b::test", PASSED, seconds=7.5)]))
    named = [line for line in verdict.summary(done, [], is_admin=True) if line.startswith("slowest: ")]
    assert len(named) == 20
    assert named[0] == "slowest:   24.0 s parts: a::test_24"
    assert "slowest:    7.5 s unit: b::test" in named


def test_how_long_a_test_took_is_read_from_its_report() -> None:
    report = '<testsuite><testcase file="a.py" classname="a" name="test_x" time="1.25"/></testsuite>'
    assert [one.seconds for one in cases.of_pytest(report)] == [1.25]


def test_the_list_allows_a_skip_in_its_own_suite_only() -> None:
    assert problems(suite("others", [case("a::test_slow", SKIPPED)]))


def test_what_an_ordinary_user_may_skip_fails_when_an_administrator_skips_it() -> None:
    skipped = [case("a::test_mount", SKIPPED, "could not mount")]
    assert problems(suite("parts", skipped), is_admin=True)
    assert not problems(suite("parts", skipped), is_admin=False)


@pytest.mark.parametrize(("held", "may"), [("000001ffffffffff", True), ("00000000a80425fb", False), ("0", False)])
def test_root_of_a_container_that_may_not_mount_is_no_administrator(held: str, may: bool, tmp_path: Path) -> None:
    (tmp_path / "status").write_text(f"Name:\tsh\nCapEff:\t{held}\nSeccomp:\t0\n")
    assert skips.administers(tmp_path / "status") is may


def test_where_the_kernel_tells_nothing_no_one_is_an_administrator(tmp_path: Path) -> None:
    assert not skips.administers(tmp_path / "status")


def test_a_pure_suite_is_never_tried_again() -> None:
    requested = suite("pure", [case("f", FAILED)], [case("f", PASSED)])
    assert problems(requested) == ["pure: f failed"]


def test_real_parts_are_tried_again_and_the_end_names_what_needed_it() -> None:
    requested = suite("parts", [case("f", FAILED), case("g", PASSED)], [case("f", PASSED)], again=True)
    done = performed(requested)
    assert not list(verdict.problems(done, [], is_admin=True))
    table = list(verdict.summary(done, [], is_admin=True))
    assert table[1].split() == ["parts", "2", "0", "0", "1"]
    assert "run again: parts: f" in table


def test_what_fails_twice_fails_the_run() -> None:
    assert problems(suite("parts", [case("f", FAILED)], [case("f", FAILED)], again=True)) == ["parts: f failed twice"]


def test_a_second_try_that_does_not_run_the_test_does_not_pass_it() -> None:
    assert problems(suite("parts", [case("f", FAILED)], [], again=True)) == ["parts: f failed twice"]


def test_what_fails_only_in_the_second_try_fails_the_run() -> None:
    requested = suite("parts", [case("f", FAILED)], [case("f", PASSED), case("g", FAILED)], again=True)
    assert problems(requested) == ["parts: g failed"]


def test_more_than_three_failures_get_no_second_try() -> None:
    names = ["a", "b", "c", "d"]
    requested = suite("parts", [case(n, FAILED) for n in names], [case(n, PASSED) for n in names], again=True)
    assert problems(requested) == [f"parts: {name} failed" for name in names]


def test_three_second_tries_are_all_that_a_run_has_over_its_suites() -> None:
    def flaky(name: str, *names: str) -> Suite:
        return suite(name, [case(n, FAILED) for n in names], [case(n, PASSED) for n in names], again=True)

    assert problems(flaky("one", "a", "b"), flaky("two", "c"), flaky("three", "d")) == ["three: d failed"]


def test_what_its_tool_cannot_run_alone_fails_at_once() -> None:
    unreadable = Case("tests.broken", FAILED, "SyntaxError")
    assert problems(suite("parts", [unreadable], [], again=True)) == ["parts: tests.broken failed"]


def ending(code: int, *found: Case) -> Suite:
    return Suite("tool", lambda _: (list(found), code))


def test_a_suite_in_which_no_test_ran_fails() -> None:
    assert problems(ending(0)) == ["tool: no test ran"]


def test_a_tool_that_ends_badly_without_a_failed_test_fails() -> None:
    assert problems(ending(3, case("f", PASSED))) == ["tool: ended with code 3, though no test failed"]


def test_a_report_that_does_not_add_up_fails() -> None:
    def start(_: list[str]) -> suites.Read:
        return cases.of_cargo("test result: ok. 5 passed; 0 failed; 0 ignored;\n"), 0

    assert problems(Suite("cargo", start)) == ["cargo: cargo test counted 5 tests, and 0 were read"]


def test_the_suites_that_may_be_tried_again_are_those_with_real_processes() -> None:
    again = {each.name for each in (*suites.ALL, suites.UNIT) if each.again}
    clients = {one.name for one in suites.of_clients()}
    real = {"cargo test, real parts", "go test, real parts", "pytest, real parts"}
    maven = {f"maven, {name}" for name in ("insurance", "cinema", "shop", "overload")}
    assert again == {*real, *maven} | clients
    alone = {each.name for each in (*suites.ALL, suites.UNIT) if each.alone}
    assert alone == {"cargo test, real parts", "pytest, real parts"}, (
        "their bounds of time are of a machine of their own"
    )


def skippable() -> set[str]:
    """What an entry may name, but for a parameter: a file of tests, a test, or a client's missing tool."""
    texts = "".join(path.read_text() for pattern in TESTS for path in ROOT.glob(pattern))
    tests = {*re.findall(r"\b(?:def|fn) (\w+)\(", texts), *(path.stem for path in ROOT.glob("tests/**/*.py"))}
    commands = [registry.described(name).test for name in registry.names()]
    return tests | {suites.not_installed(command[0]) for command in commands if command}


def test_every_allowed_skip_names_a_suite_and_what_may_be_skipped_and_a_reason() -> None:
    names, tests = {each.name for each in suites.ALL}, skippable()
    for entry in skips.allowed():
        assert entry.suite in names, entry
        assert entry.test.partition("[")[0] in tests, entry
        assert len(entry.reason) > 20, entry


def test_a_client_whose_tool_is_missing_may_be_skipped_where_the_list_says_so_and_nowhere_else() -> None:
    def client_of(name: str, tool: str) -> Suite:
        return Suite(f"clients {name}", suites.of_client("C#", (tool, "test"), "install it"))

    leave = [Allowed("clients one", suites.not_installed("no-such-tool"), "not in Debian")]
    requested = [client_of("one", "no-such-tool"), client_of("two", "no-such-tool"), client_of("one", "no-other-tool")]
    assert list(verdict.problems(performed(*requested), leave, is_admin=True)) == [
        "clients two: no-such-tool is not installed was skipped, which allowed-skips.toml does not allow: install it",
        "clients one: no-other-tool is not installed was skipped, which allowed-skips.toml does not allow: install it",
    ]


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stands where ``scripts/test`` stands: in the checkout, with its tools on PATH."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")


def in_a_folder(folder: Path, text: str) -> Suite:
    (folder / "test_one.py").write_text(text)
    return Suite(
        "pytest", suites.pytest("-p", "no:cacheprovider", "-c", "/dev/null", f"--rootdir={folder}", str(folder))
    )


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    "skipping",
    [
        "import pytest\n@pytest.mark.skipif(True, reason='needs hey')\ndef test_x(): assert False\n",
        "import pytest\ndef test_x(): pytest.skip('needs hey')\n",
        "import pytest\npytest.skip('needs hey', allow_module_level=True)\n",
        "import pytest\n@pytest.fixture\ndef part(): pytest.skip('needs hey')\ndef test_x(part): pass\n",
    ],
    ids=["a mark", "a call", "a module", "a fixture"],
)
def test_however_a_python_test_is_skipped_the_run_ends_with_1(
    skipping: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    requested = in_a_folder(tmp_path, skipping + "\ndef test_y(): pass\n")
    assert carry_out([], [requested]) == 1
    assert "does not allow" in capfd.readouterr().err


@pytest.mark.usefixtures("here")
def test_a_run_in_which_all_is_well_ends_with_0(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert carry_out([], [in_a_folder(tmp_path, "def test_x(): pass\n")]) == 0
    assert "all checks passed" in capfd.readouterr().out


def test_the_job_of_ci_with_all_tests_may_start_a_container_engine_so_that_none_of_its_tests_is_skipped() -> None:
    jobs = YAML(typ="safe").load((ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))["jobs"]
    (whole,) = (job for job in jobs.values() if {"run": "make test"} in job["steps"])
    assert "--privileged" in whole["container"]["options"].split()
    docker = [entry for entry in skips.allowed() if "test_docker" in entry.test or "test_instances" in entry.test]
    assert len(docker) == 2
    assert all(entry.as_user for entry in docker)

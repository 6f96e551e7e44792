"""What each test tool reports is read case by case: passed, failed or skipped, and how to run it again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from scripts.checks import cases
from scripts.checks.cases import FAILED, PASSED, SKIPPED, Case

CARGO = """
running 4 tests
test round::tests::a_round_ends ... ok
test a_panic - should panic ... ok
test ten_million_rows ... ignored, logs ten million rows
test hostile::odd ... FAILED

failures:

---- hostile::odd stdout ----
test result: FAILED. 2 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s
"""


def test_cargo_lines_become_cases() -> None:
    assert cases.of_cargo(CARGO) == [
        Case("round::tests::a_round_ends", PASSED, "", "round::tests::a_round_ends"),
        Case("a_panic - should panic", PASSED, "", "a_panic"),
        Case("ten_million_rows", SKIPPED, "logs ten million rows", "ten_million_rows"),
        Case("hostile::odd", FAILED, "", "hostile::odd"),
    ]


def test_a_line_of_cargo_that_was_not_understood_is_noticed() -> None:
    with pytest.raises(ValueError, match="counted 4 tests, and 3 were read"):
        cases.of_cargo(CARGO.replace("odd ... FAILED", "odd ... said something in between\nFAILED"))


def go(*events: tuple[str, str, str | None, str]) -> str:
    rows = [
        {"Action": action, "Package": package, "Test": test, "Output": text} for action, package, test, text in events
    ]
    return "\n".join(json.dumps({key: value for key, value in row.items() if value}) for row in rows)


def test_go_events_become_cases_and_a_subtest_is_run_again_by_its_parent() -> None:
    text = go(
        ("output", "p", "TestA/b", "a_test.go:5: no\n"),
        ("fail", "p", "TestA/b", ""),
        ("fail", "p", "TestA", ""),
        ("output", "p", "TestS", "needs a network\n"),
        ("skip", "p", "TestS", ""),
        ("pass", "p", "TestC", ""),
        ("fail", "p", None, ""),
    )
    assert cases.of_go(text) == [
        Case("p.TestA/b", FAILED, "a_test.go:5: no", "TestA"),
        Case("p.TestA", FAILED, "", "TestA"),
        Case("p.TestS", SKIPPED, "needs a network", "TestS"),
        Case("p.TestC", PASSED, "", "TestC"),
    ]


def test_a_go_package_that_does_not_build_is_a_failure() -> None:
    text = json.dumps({"ImportPath": "p [p.test]", "Action": "build-output", "Output": "undefined: x\n"})
    text += "\n" + go(("fail", "p", None, ""))
    assert cases.of_go(text) == [Case("p", FAILED, "undefined: x")]


def test_busted_pending_is_a_skip_and_an_error_a_failure() -> None:
    text = """<testsuites><testsuite>
      <testcase classname='a' name='limits'/>
      <testcase classname='a' name='one day'><skipped message='not yet'/></testcase>
      <testcase classname='a' name='breaks'><error message='nil'/></testcase>
    </testsuite></testsuites>"""
    assert cases.of_junit(text) == [
        Case("limits", PASSED),
        Case("one day", SKIPPED, "not yet"),
        Case("breaks", FAILED, "nil"),
    ]


def test_pytest_cases_carry_the_node_by_which_they_run_again() -> None:
    text = """<testsuites><testsuite>
      <testcase classname="tests.unit.test_a" file="tests/unit/test_a.py" name="test_x[a b]">
        <failure message="no"/>
      </testcase>
      <testcase classname="tests.unit.test_a.TestB" file="tests/unit/test_a.py" name="test_y"/>
      <testcase classname="" name="tests.unit.test_c"><error message="SyntaxError"/></testcase>
    </testsuite></testsuites>"""
    assert cases.of_pytest(text) == [
        Case("tests/unit/test_a.py::test_x[a b]", FAILED, "no", "tests/unit/test_a.py::test_x[a b]"),
        Case("tests/unit/test_a.py::TestB::test_y", PASSED, "", "tests/unit/test_a.py::TestB::test_y"),
        Case("tests.unit.test_c", FAILED, "SyntaxError", ""),
    ]


def test_surefire_cases_of_all_modules_run_again_by_class(tmp_path: Path) -> None:
    text = "<testsuite><testcase classname='io.p.{}' name='x'><skipped message='off'/></testcase></testsuite>"
    for module, test in (("", "RowsTest"), ("core", "CoreTest")):
        reports = tmp_path / module / "target" / "surefire-reports"
        reports.mkdir(parents=True)
        (reports / "TEST-a.xml").write_text(text.format(test))
    assert cases.of_surefire(tmp_path) == [
        Case("CoreTest.x", SKIPPED, "off", "CoreTest"),
        Case("RowsTest.x", SKIPPED, "off", "RowsTest"),
    ]

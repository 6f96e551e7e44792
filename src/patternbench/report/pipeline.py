"""Verdicts in the forms that pipelines read: JUnit's XML, and the Markdown of a job's summary on GitHub.

Both say the same as the exit code: what is contradicted or fails is a failure; what is inconclusive is neither a
success nor a failure, so it is skipped, with why.
"""

from __future__ import annotations

import os
import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from patternbench.analyze.compare.comparison import Difference
from patternbench.analyze.compare.gate import GateVerdict
from patternbench.analyze.compare.words import change, interval
from patternbench.analyze.statements.claims.judged import JudgedClaim, JudgedClaims
from patternbench.analyze.statements.sentences import changed
from patternbench.analyze.statements.verdict import Verdict
from patternbench.terms.data_problems import plural

SUMMARY = "GITHUB_STEP_SUMMARY"
"""The variable in which GitHub names the file of a job's summary."""
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NAMED = 5


class CaseOutcome(Enum):
    """What a pipeline makes of a verdict: the name of JUnit's element, none for a success."""

    PASSED = ""
    FAILED = "failure"
    UNDECIDED = "skipped"


@dataclass(frozen=True)
class CheckedCase:
    """One statement that was checked: its text, what became of it in a word, and why."""

    name: str
    outcome: CaseOutcome
    verdict: str
    why: str = ""


def of_claims(judgement: JudgedClaims) -> list[CheckedCase]:
    """Return the claims of a study as cases."""
    return [CheckedCase(one.claim.says, _outcome(one), one.verdict, _changes(one)) for one in judgement.claims]


def _outcome(one: JudgedClaim) -> CaseOutcome:
    if one.conclusion.is_contradicted:
        return CaseOutcome.FAILED
    return CaseOutcome.PASSED if one.conclusion.is_shown else CaseOutcome.UNDECIDED


def _changes(one: JudgedClaim) -> str:
    each = [
        changed(one.claim.response, found.value, (found.low, found.high), one.relative, one.unit)
        for found in one.changes[:_NAMED]
    ]
    more = f" and {len(one.changes) - _NAMED} more" if len(one.changes) > _NAMED else ""
    return f"{one.claim.response}: {'; '.join(each)}{more}"


def of_gate(verdicts: Sequence[GateVerdict]) -> list[CheckedCase]:
    """Return the conditions of a release gate as cases."""
    outcomes = {Verdict.PASS: CaseOutcome.PASSED, Verdict.FAIL: CaseOutcome.FAILED}
    return [
        CheckedCase(
            one.condition.text, outcomes.get(one.outcome, CaseOutcome.UNDECIDED), str(one.outcome), _decisive(one)
        )
        for one in verdicts
    ]


def _decisive(one: GateVerdict) -> str:
    """Return the differences that decide a condition, or that leave it open."""
    found: Sequence[Difference] = one.failing or one.undecided
    each = [f"{d.scenario}: {change(d)}, {interval(d)}" for d in found[:_NAMED]]
    more = [f"and {len(found) - _NAMED} more"] if len(found) > _NAMED else []
    return "; ".join([*each, *more]) or f"over {plural(one.checked, 'scenario')}"


def junit(suite: str, cases: Sequence[CheckedCase]) -> str:
    """Return cases as one suite of JUnit's XML."""
    counts = {kind: sum(one.outcome is kind for one in cases) for kind in CaseOutcome}
    totals = {"tests": len(cases), "failures": counts[CaseOutcome.FAILED], "skipped": counts[CaseOutcome.UNDECIDED]}
    root = ET.Element("testsuites")
    top = ET.SubElement(root, "testsuite", {"name": _xml(suite), **{name: str(n) for name, n in totals.items()}})
    for one in cases:
        case = ET.SubElement(top, "testcase", {"name": _xml(one.name), "classname": _xml(suite)})
        if one.outcome.value:
            found = ET.SubElement(case, one.outcome.value, {"message": _xml(one.verdict)})
            found.text = _xml(one.why)
        else:
            ET.SubElement(case, "system-out").text = _xml(f"{one.verdict}: {one.why}")
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _xml(text: str) -> str:
    """Return a text without the signs that no XML may hold."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)


def summary(title: str, cases: Sequence[CheckedCase]) -> str:
    """Return cases as Markdown: a table of a verdict a line."""
    signs = {CaseOutcome.PASSED: "✅", CaseOutcome.FAILED: "❌", CaseOutcome.UNDECIDED: "❔"}
    rows = [f"| {signs[one.outcome]} {_cell(one.verdict)} | {_cell(one.name)} | {_cell(one.why)} |" for one in cases]
    return "\n".join([f"### {_cell(title)}", "", "| verdict | statement | measured |", "|---|---|---|", *rows, ""])


def _cell(text: str) -> str:
    """Return a text that ends no cell and begins no element."""
    plain = " ".join(text.split()).replace("\\", "\\\\").replace("|", "\\|")
    return plain.replace("&", "&amp;").replace("<", "&lt;")


def add_to_summary(text: str) -> None:
    """Add Markdown to the summary of the job that this runs in, on GitHub; nothing elsewhere. Raises OSError."""
    place = os.environ.get(SUMMARY)
    if not place:
        return
    try:
        with Path(place).open("a", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:  # that of a write names no file
        raise OSError(error.errno, error.strerror, place) from None

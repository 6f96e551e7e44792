"""What our own cinema measured, next to what the thesis published: the page banerjee-2022.md."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from patternbench.analyze.statements.estimate import paired_counts
from reproductions.banerjee_2022 import catalogue, digest, figures, published
from reproductions.pages import Page, Parts, Tables, not_measured

Floats = npt.NDArray[np.float64]

LEVEL = 0.95
STUDIES = {
    digest.LOAD: "cinema-load-tests",
    digest.WAYS: "cinema-ways",
    digest.OPEN: "cinema-open",
    digest.BURST: "cinema-burst",
    digest.FAULTS: "cinema-faults",
    digest.DRAWINGS: "cinema-traces",
}
GATEWAY, MESSAGING = published.CASES.values()
OPERATIONS = {"A": "list the movies of three cinemas", "B": "make a reservation at one"}
SOONER = {"confirmed": "the gateway", "contradicted": "messages", "cannot be told": "cannot be told"}
REQUEST, OPERATION = "mean_ms", "operation_ms"


@dataclass(frozen=True)
class Ratio:
    """One side over the other, round by round within blocks, with an interval; None where it has none."""

    value: float
    low: float | None
    high: float | None

    @property
    def text(self) -> str:
        """The ratio and its interval."""
        if self.low is None or self.high is None:
            return f"{self.value:.2f} (one round: no interval)"
        return f"{self.value:,.2f} ({_end(self.low)} to {_end(self.high)})"

    @property
    def verdict(self) -> str:
        """What the interval says of the claim that the ratio is above one."""
        if self.low is None or self.high is None:
            return "cannot be told"
        return "confirmed" if self.low > 1 else "contradicted" if self.high < 1 else "cannot be told"

    def against(self, printed: float) -> str:
        """Whether the interval holds the printed ratio."""
        if self.low is None or self.high is None:
            return "cannot be told"
        return "inside" if self.low <= printed <= self.high else "outside"


def _end(ratio: float) -> str:
    """An end of an interval, which a few rounds leave so far away that its digits tell nothing."""
    return "below 0.01" if ratio < 0.01 else "above 100,000" if ratio > 100_000 else f"{ratio:,.2f}"


def ratio(over: Floats, under: Floats, level: float = LEVEL) -> Ratio:
    """Return the geometric mean of positive values over others that ran in the same blocks, with its t interval."""
    estimate = paired_counts(np.log(under), np.log(over))
    low, high = (float(np.exp(end)) for end in estimate.ends(level))
    return Ratio(float(np.exp(estimate.value)), *((None, None) if np.isnan(low) else (low, high)))


def together(count: int) -> float:
    """The level of each of several intervals that all hold together with 95 % (Bonferroni)."""
    return 1 - (1 - LEVEL) / max(count, 1)


def patterns(tables: Tables) -> dict[str, str]:
    """The part `measured` of each page in the catalogue of patterns that the cinema tells something of, by page."""
    sources = {"ways": (digest.WAYS, ways), "sooner": (digest.LOAD, sooner), "faults": (digest.FAULTS, faults)}
    return catalogue.parts(
        {source: list(written(tables[name])) for source, (name, written) in sources.items() if name in tables}
    )


def section(tables: Tables) -> str:
    """Everything that was measured, as Markdown; what was not says how to."""
    parts = {
        "### The load tests\n": (digest.LOAD, load_tests),
        "### Other ways than the published ones\n": (digest.WAYS, ways),
        "### When arrivals do not wait\n": (digest.OPEN, open_arrivals),
        "### A burst of ten seconds\n": (digest.BURST, bursts),
        "### Faults inside\n": (digest.FAULTS, faults),
        "### Who calls whom, from traces\n": (digest.DRAWINGS, calls),
    }
    lines = [*choice(tables), ""]
    for title, (name, written) in parts.items():
        told = written(tables[name]) if name in tables else [not_measured(STUDIES[name])]
        lines += [title, *told, ""]
    return "\n".join(lines).rstrip()


# --- the choice


def choice(tables: Tables) -> Iterator[str]:
    """Which architecture is sooner, and which fails less: the tables that compare both, before all details."""
    yield "### Gateway or messages?\n"
    if digest.LOAD in tables:
        yield from sooner(tables[digest.LOAD])
    if digest.FAULTS in tables:
        yield from fewer_failures(tables[digest.FAULTS])
        yield "\n" + safe(tables[digest.FAULTS])


def sooner(load: pd.DataFrame) -> Iterator[str]:
    """Which architecture completes an operation sooner, at the fewest and the most users of each load test."""
    cases = [(test, int(users)) for test in "AB" for users in (load["users"].min(), load["users"].max())]
    yield "How long a complete operation takes; all intervals hold together with 95 %:\n"
    yield f"| operation | users | {catalogue.MESSAGES_BY_GATEWAY} | sooner |"
    yield "|---|---|---|---|"
    for test, users in cases:
        sides = [_by_block(load, name, test, users, OPERATION) for name in (MESSAGING, GATEWAY)]
        both = pd.concat(sides, axis=1, join="inner").to_numpy(dtype=float)
        if len(both):
            times = ratio(both[:, 0], both[:, 1], together(len(cases)))
            yield f"| {OPERATIONS[test]} | {users} | {times.text} | {SOONER[times.verdict]} |"
    yield ""


def fewer_failures(table: pd.DataFrame) -> Iterator[str]:
    """For each fault of both architectures, by how much failed operations differ, with intervals over blocks."""
    with_breaker = table[table["breaker"]]
    shared = [fault for fault, rows in with_breaker.groupby("fault") if rows["architecture"].nunique() > 1]
    yield "How many operations fail, by fault, the gateway with its breaker; all intervals hold together with 95 %:\n"
    yield "| fault | failed operations with messages less those with the gateway, percentage points | fewer fail |"
    yield "|---|---|---|"
    for fault in shared:
        rows = with_breaker[with_breaker["fault"] == fault]
        sides = [rows[rows["architecture"] == name].set_index("block")["failed"] for name in (GATEWAY, MESSAGING)]
        both = pd.concat(sides, axis=1, join="inner").to_numpy(dtype=float)
        estimate = paired_counts(both[:, 0], both[:, 1])
        low, high = estimate.ends(together(len(shared)))
        fewer = "with the gateway" if low > 0 else "with messages" if high < 0 else "cannot be told"
        interval = "one round: no interval" if np.isnan(low) else f"{low:.1f} to {high:.1f}"
        yield f"| {fault!s} | {estimate.value:.1f} ({interval}) | {fewer} |"


def safe(table: pd.DataFrame) -> str:
    """How many confirmed reservations were lost, and how many were stored twice, over all faults."""
    most_lost, most_doubled = (most(table[name]) for name in ("lost", "doubled"))
    lost = f"Confirmed reservations that were lost: at most {most_lost} per round, in {len(table)} rounds"
    return f"{lost}. Reservations that were stored twice: at most {most_doubled}."


# --- load tests


def load_tests(load: pd.DataFrame) -> Iterator[str]:
    """Figures, means, statuses, lines and claims of the load tests."""
    blocks = load["block"].nunique()
    yield f"{len(load)} rounds in {blocks} blocks; first requests alone are what the thesis sent and averaged.\n"
    for key, figure in published.MEAN_FIGURES.items():
        case, test = key
        if len(of(load, published.CASES[case], test)):
            yield from _pictures(case, test, figure)
    yield from means(load)
    yield from statuses(load)
    yield from lines(load)
    yield from claims(load)


def of(table: pd.DataFrame, architecture: str, test: str) -> pd.DataFrame:
    """The rows of one load test."""
    return table[(table["architecture"] == architecture) & (table["test"] == test)]


def _pictures(case: int, test: str, figure: str) -> Iterator[str]:
    drawn = (published.TIME_FIGURES[case, test], published.STATUS_FIGURES[case, test], figure)
    shown = " ".join(f"![Figure {name}](banerjee-2022/figure-{name.replace('.', '-')}.svg)" for name in drawn)
    yield f"**{published.CASES[case]}, test {test}** (Figures {', '.join(drawn)})\n\n{shown}\n"


def means(load: pd.DataFrame) -> Iterator[str]:
    """The mean over rounds of each load test's means, per request and per operation, next to the published ones."""
    yield "Mean time in milliseconds: of a request / of an operation, published per request in brackets:\n"
    yield from _by_users(load, list(published.MEAN_FIGURES), _mean)


def _by_users(
    load: pd.DataFrame, tests: Sequence[tuple[int, str]], cell: Callable[[pd.DataFrame, int, str, int], str]
) -> Iterator[str]:
    """A table with a row per number of users and a column per load test."""
    yield f"| users | {' | '.join(f'{published.CASES[case]}, {test}' for case, test in tests)} |"
    yield f"|{'---|' * (len(tests) + 1)}"
    for users in sorted(load["users"].unique()):
        yield f"| {users} | {' | '.join(cell(load, case, test, users) for case, test in tests)} |"
    yield ""


def _mean(load: pd.DataFrame, case: int, test: str, users: int) -> str:
    rows, theirs = _at(of(load, published.CASES[case], test), users), published.of(case, test)
    same = theirs[theirs["users"] == users]["mean_ms"]
    printed = f" ({same.iloc[0]:.1f})" if len(same) else ""
    return f"{rows[REQUEST].mean():.1f} / {rows[OPERATION].mean():.1f}{printed}" if len(rows) else "not measured"


def _at(rows: pd.DataFrame, users: int) -> pd.DataFrame:
    return rows[rows["users"] == users].sort_values("block")


def statuses(load: pd.DataFrame) -> Iterator[str]:
    """Shares of first requests that failed or lacked parts, and of operations that were asked again or failed."""
    yield "Percent of first requests: failed / answered without all parts; of operations: asked again / failed in the"
    yield "end. Published failures in brackets:\n"
    yield from _by_users(load, list(published.STATUS_FIGURES), _status)


def _status(load: pd.DataFrame, case: int, test: str, users: int) -> str:
    rows, theirs = _at(of(load, published.CASES[case], test), users), published.of(case, test)
    same = theirs[theirs["users"] == users]["printed_failed_percent"]
    printed = f" ({same.iloc[0]:g})" if len(same) else ""
    if rows.empty:
        return "not measured"
    shares = [rows[name].mean() for name in ("failed", "incomplete", "asked_again", "operation_failed")]
    return f"{shares[0]:.1f} / {shares[1]:.1f}; {shares[2]:.1f} / {shares[3]:.1f}{printed}"


def lines(load: pd.DataFrame) -> Iterator[str]:
    """Whether means lie on a line over the users: r with its interval, and a knee, of requests and operations."""
    yield "| load test | of | published r | r (95 % interval) | the means over users | knee at users |"
    yield "|---|---|---|---|---|---|"
    for (case, test), printed in published.PRINTED_R.items():
        rows = of(load, published.CASES[case], test)
        for name, column in (("requests", REQUEST), ("operations", OPERATION)):
            middle = rows.groupby("users")[column].mean().reset_index()
            if len(middle) >= 4:
                line = published.line_of(middle["users"], middle[column])
                shown = printed if column == REQUEST else ""
                said = f"{line.r} | {line.shape} | {line.knee}"
                yield f"| {published.CASES[case]}, {test} | {name} | {shown} | {said} |"
    yield ""


def claims(load: pd.DataFrame) -> Iterator[str]:
    """Each headline ratio, measured at the most users, with an interval and the verdict that follows from it."""
    users = int(load["users"].max())
    yield f"Headline ratios at {users} users; all six intervals hold together with 95 %:\n"
    yield "| claim | printed | thesis's data: request / operation | measured per request | per operation | verdicts |"
    yield "|---|---|---|---|---|---|"
    for claim in published.claims():
        both = [measured(load, claim.name, unit, users) for unit in (REQUEST, OPERATION)]
        yield _claim_row(claim, both)
    yield ""


def _claim_row(claim: published.Claim, both: Sequence[Ratio | None]) -> str:
    texts = [one.text if one else "no failures" for one in both]
    verdicts = [
        f"{one.verdict}; printed ratio {one.against(claim.printed)}" if one else "cannot be told" for one in both
    ]
    own = f"{claim.per_request:.2f} / {claim.per_operation:.2f}"
    return f"| {claim.text} | {claim.printed:g} | {own} | {texts[0]} | {texts[1]} | {verdicts[0]} / {verdicts[1]} |"


def measured(load: pd.DataFrame, name: str, unit: str, users: int) -> Ratio | None:
    """A headline ratio of our rounds; None where a failed share is zero in some round, so that there is no ratio."""
    test, column = ("B", unit) if name == "faster" else ("A", unit)
    if name == "failing":
        column = "failed" if unit == REQUEST else "asked_again"
    over, under = (_by_block(load, architecture, test, users, column) for architecture in (GATEWAY, MESSAGING))
    both = pd.concat([over, under], axis=1, join="inner").to_numpy(dtype=float)
    if not len(both) or not (both > 0).all():
        return None
    sides = (both[:, 1], both[:, 0]) if name == "faster" else (both[:, 0], both[:, 1])
    return ratio(*sides, together(6))


def _by_block(load: pd.DataFrame, architecture: str, test: str, users: int, column: str) -> pd.Series:
    return _at(of(load, architecture, test), users).set_index("block")[column]


# --- other ways

LEVELS = ("architecture", "calls", "via", "connections", "fetch")
AS_PUBLISHED = {"calls": "sequential", "via": "gateway", "connections": "jdk"}
AS_TODAY = {"calls": "parallel", "via": "direct", "connections": "pooled"}
WAYS: Mapping[str, tuple[Mapping[str, str], Mapping[str, str]]] = {
    "the aggregator calls in parallel": ({"calls": "sequential"}, {"calls": "parallel"}),
    "it calls the cinemas directly": ({"via": "gateway"}, {"via": "direct"}),
    "its connections are pooled": ({"connections": "jdk"}, {"connections": "pooled"}),
    "all three": (AS_PUBLISHED, AS_TODAY),
    "the broker answers 202 until all is there": ({"fetch": "at_once"}, {"fetch": "until_ready"}),
    "the broker holds a fetch (long poll)": ({"fetch": "at_once"}, {"fetch": "long_poll"}),
}
"""Each other way: the levels of the published one, and those that replace them."""
QUICKER = {"confirmed": "the published way", "contradicted": "the other way", "cannot be told": "cannot be told"}


def ways(table: pd.DataFrame) -> Iterator[str]:
    """How long a complete list takes in each other way, as a multiple of the published one in the same block."""
    yield "Lists by 20 users; medians over rounds (least to greatest). A row compares rounds of the same block that"
    yield "differ in nothing else; all intervals hold together with 95 %:\n"
    way, ratios = catalogue.OTHER_WAY, catalogue.OTHER_BY_PUBLISHED
    yield f"| another way | published: p50, ms | {way} | requests | {ratios} | sooner |"
    yield "|---|---|---|---|---|---|"
    for name, (before, after) in WAYS.items():
        pairs = alike(table, before, after)
        if len(pairs):
            both = pairs[[f"{OPERATION}_after", f"{OPERATION}_before"]].to_numpy(dtype=float)
            slower = ratio(both[:, 0], both[:, 1], together(len(WAYS)))
            columns = (f"{OPERATION}_before", f"{OPERATION}_after", "requests_after")
            cells = [span(pairs[column]) for column in columns]
            yield f"| {name} | {' | '.join(cells)} | {slower.text} | {QUICKER[slower.verdict]} |"


def alike(table: pd.DataFrame, before: Mapping[str, str], after: Mapping[str, str]) -> pd.DataFrame:
    """Pairs of rounds of a block that have the levels ``before`` and ``after``, and no other difference."""
    keys = ["block", *(name for name in LEVELS if name not in before)]
    sides = [table[(table[list(levels)] == pd.Series(levels)).all(axis=1)] for levels in (before, after)]
    return sides[0].merge(sides[1], on=keys, suffixes=("_before", "_after"))


# --- arrivals that do not wait


def open_arrivals(table: pd.DataFrame) -> Iterator[str]:
    """Times, losses and queues over the rate, and where each architecture's knee is."""
    yield "Operations that list movies; medians over rounds (least to greatest):\n"
    yield "| per second | architecture | p50, ms | p95, ms | done per second | lost, % | most messages in queues |"
    yield "|---|---|---|---|---|---|---|"
    for (rate, architecture), rows in table.groupby(["rate", "architecture"]):
        cells = [span(rows[name]) for name in ("p50_ms", "p95_ms", "done_per_s", "lost", "queued")]
        yield f"| {rate:g} | {architecture} | {' | '.join(cells)} |"
    yield ""
    for architecture, rows in table.groupby("architecture"):
        middle = rows.groupby("rate")["p50_ms"].median().reset_index()
        line = published.line_of(middle["rate"], middle["p50_ms"]) if len(middle) >= 4 else None
        told = line.knee if line else "too few rates"
        yield f"{architecture!s}: knee of the median time over the rates per second: {told}.\n"


def span(values: pd.Series) -> str:
    """The median of some rounds, with the least and the greatest."""
    shown = values.dropna()
    if shown.empty:
        return "none"
    return f"{shown.median():.4g} ({shown.min():.4g} to {shown.max():.4g})"


def most(counts: pd.Series) -> str:
    """The greatest count of some rounds, of those in which it is known."""
    return "unknown" if counts.isna().all() else f"{counts.max():.0f}"


# --- a burst


def bursts(table: pd.DataFrame) -> Iterator[str]:
    """What a burst does to operations, and when they are as before again."""
    yield _recovery_words("the burst")
    yield "| peak per second | architecture | affected, % | recovered after, s | not recovered | most in queues |"
    yield "|---|---|---|---|---|---|"
    for (peak, architecture), rows in table.groupby(["peak", "architecture"]):
        cells = (span(rows["affected"]), span(rows["recovered_after"]), never(rows), span(rows["queued"]))
        yield f"| {peak:g} | {architecture} | {' | '.join(cells)} |"


def _recovery_words(what: str) -> str:
    return (
        "Medians over rounds (least to greatest). An operation is as before when it was good and took at most three "
        f"times what 95 of 100 took before {what}; a second of the round is, when four of five of its operations are "
        "(or all but one).\n"
    )


def never(rows: pd.DataFrame) -> str:
    """In how many rounds operations were not as before when the round ended."""
    unsettled = rows["recovered_after"].isna() & rows["affected"].notna()
    return f"{int(unsettled.sum())} of {len(rows)}"


# --- faults


def faults(table: pd.DataFrame) -> Iterator[str]:
    """What each fault did from outside, and whether failures were fast."""
    yield _recovery_words("the fault")
    heads = ["fault", "architecture", "breaker", "failed, %", "late, %", "incomplete answers", "lost", "doubled"]
    heads += ["affected, %", "seen after, s", "recovered after, s", "rounds not recovered", "a failure took, ms"]
    yield f"| {' | '.join(heads)} |"
    yield f"|{'---|' * len(heads)}"
    for (fault, architecture, breaker), rows in table.groupby(["fault", "architecture", "breaker"]):
        counts = [most(rows[name]) for name in ("lost", "doubled")]
        cells = [span(rows["failed"]), span(rows["late"]), span(rows["incomplete"]), *counts]
        cells += [span(rows["affected"]), span(rows["seen_after"]), span(rows["recovered_after"]), never(rows)]
        shown = ("yes" if breaker else "no") if architecture == GATEWAY else "none there"
        yield f"| {fault} | {architecture} | {shown} | {' | '.join(cells)} | {span(rows['failure_ms'])} |"
    yield f"\n{fast_failures(table)}"


def fast_failures(table: pd.DataFrame) -> str:
    """The claim that a breaker makes failures fast, for a cinema that stands still: with a breaker against without."""
    frozen = table[(table["architecture"] == GATEWAY) & (table["fault"] == "freeze cinema-cineworld")]
    sides = [frozen[frozen["breaker"] == on].set_index("block")["failure_ms"].dropna() for on in (False, True)]
    both = pd.concat(sides, axis=1, join="inner").to_numpy(dtype=float)
    if not len(both) or not (both > 0).all():
        return "Claim: the breaker gives fast failures. Cannot be told: no rounds with failures to compare."
    slower = ratio(both[:, 0], both[:, 1])
    return (
        "Claim: the breaker gives fast failures. While a cinema stands still a failure without a breaker takes "
        f"{slower.text} times as long as with one: {slower.verdict}."
    )


# --- traces


def calls(table: pd.DataFrame) -> Iterator[str]:
    """The service graphs and sequence diagrams that were made from traces."""
    for name, title in zip(figures.drawings(table), table["title"], strict=True):
        yield f"**{title}**\n\n![{title}](banerjee-2022/{name}.svg)\n"


def parts(tables: Tables) -> Parts:
    """The parts of the page, and what pages of the catalogue take from them."""
    catalogue_parts = {f"patterns/{page}": {"measured": text} for page, text in patterns(tables).items()}
    return {FILE: {"published": published.section(), "measured": section(tables)}, **catalogue_parts}


FILE = "reproductions/banerjee-2022.md"
PAGE = Page(FILE, digest.READERS, parts, figures.drawn)

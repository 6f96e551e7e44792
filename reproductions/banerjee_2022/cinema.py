"""What our own cinema measured, next to what the thesis published: the page banerjee-2022.md."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from patternbench.analyze.statements.claims.judged import LEVEL
from patternbench.analyze.statements.family import together
from patternbench.analyze.statements.verdict import Conclusion
from reproductions.banerjee_2022 import catalogue, digest, figures, published
from reproductions.contrasts import HIGHER, POINTS, Contrast, conclusion, contrast, verdict
from reproductions.markdown import table as markdown
from reproductions.pages import Page, Parts, Tables, not_measured

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
REQUEST, OPERATION = "mean_ms", "operation_ms"
STATUS = ("failed", "incomplete", "asked_again", "operation_failed")
FEWEST_OF_A_LINE = 4
LEAST_TOLD, MOST_TOLD = 0.01, 100_000
"""Beyond these a ratio that few rounds leave far away is printed without digits, which mean nothing."""
Told = Iterator[str]


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
        reported = written(tables[name]) if name in tables else [not_measured(STUDIES[name])]
        lines += [title, *reported, ""]
    return "\n".join(lines).rstrip()


# --- changes


def change(before: pd.Series, after: pd.Series, level: float = LEVEL) -> Contrast | None:
    """Return the ratio of times or shares of the same blocks; None without any, and where one of them is zero."""
    both = pd.concat([before, after], axis=1, join="inner").to_numpy(dtype=float)
    return contrast(np.log(both[:, 0]), np.log(both[:, 1]), level=level) if len(both) and (both > 0).all() else None


def ratio(change: Contrast) -> str:
    """Return a change in percent as a ratio, with its interval."""
    value, low, high = (1 + end / 100 for end in (change.value, change.low, change.high))
    if np.isnan(low):
        return f"{value:.2f} (one round: no interval)"
    return f"{value:,.2f} ({_end(low)} to {_end(high)})"


def _end(ratio: float) -> str:
    if LEAST_TOLD <= ratio <= MOST_TOLD:
        return f"{ratio:,.2f}"
    return f"below {LEAST_TOLD:g}" if ratio < LEAST_TOLD else f"above {MOST_TOLD:,}"


def holds_printed(change: Contrast, printed: float) -> str:
    """Whether the interval holds the printed ratio."""
    if np.isnan(change.low):
        return Conclusion.INCONCLUSIVE
    return "inside" if change.low <= 100 * (printed - 1) <= change.high else "outside"


def which(change: Contrast, if_higher: str, if_lower: str) -> str:
    """One of two by the verdict on the claim that a change is upwards."""
    word, shown = conclusion(HIGHER, [change])
    reported: str = {Conclusion.CONFIRMED: if_higher, Conclusion.CONTRADICTED: if_lower}.get(word, word)
    return f"{reported}{shown.condition}"


# --- the choice


def choice(tables: Tables) -> Told:
    """Which architecture is faster, and which fails less: the tables that compare both, before all details."""
    yield "### Gateway or messages?\n"
    if digest.LOAD in tables:
        yield from faster(tables[digest.LOAD])
    if digest.FAULTS in tables:
        yield from fewer_failures(tables[digest.FAULTS])
        yield "\n" + safe(tables[digest.FAULTS])


def faster(load: pd.DataFrame) -> Told:
    """Which architecture completes an operation faster, at the fewest and the most users of each load test."""
    cases = [(test, int(users)) for test in "AB" for users in (load["users"].min(), load["users"].max())]
    rows = []
    for test, users in cases:
        before, after = (_by_block(load, name, test, users, OPERATION) for name in (GATEWAY, MESSAGING))
        times = change(before, after, together(LEVEL, len(cases)))
        if times:
            rows.append([OPERATIONS[test], users, ratio(times), which(times, "the gateway", "messages")])
    yield "How long a complete operation takes; all intervals hold together with 95 %:\n"
    yield markdown(catalogue.FASTER, rows)
    yield ""


def fewer_failures(table: pd.DataFrame) -> Told:
    """For each fault of both architectures, by how much failed operations differ, with intervals over blocks."""
    with_breaker = table[table["breaker"]]
    shared = [str(fault) for fault, rows in with_breaker.groupby("fault") if rows["architecture"].nunique() > 1]
    rows = [[fault, *_fewer(with_breaker[with_breaker["fault"] == fault], len(shared))] for fault in shared]
    yield "How many operations fail, by fault, the gateway with its breaker; all intervals hold together with 95 %:\n"
    reported = "failed operations with messages less those with the gateway, percentage points"
    yield markdown(["fault", reported, "fewer fail"], rows)


def _fewer(rows: pd.DataFrame, among: int) -> list[str]:
    sides = [rows[rows["architecture"] == name].set_index("block")["failed"] for name in (GATEWAY, MESSAGING)]
    both = pd.concat(sides, axis=1, join="inner").to_numpy(dtype=float)
    more = contrast(both[:, 0], both[:, 1], POINTS, together(LEVEL, among))
    interval = "one round: no interval" if np.isnan(more.low) else f"{more.low:.1f} to {more.high:.1f}"
    return [f"{more.value:.1f} ({interval})", which(more, "with the gateway", "with messages")]


def safe(table: pd.DataFrame) -> str:
    """How many confirmed reservations were lost, and how many were stored twice, over all faults."""
    most_lost, most_doubled = (most(table[name]) for name in ("lost", "doubled"))
    lost = f"Confirmed reservations that were lost: at most {most_lost} per round, in {len(table)} rounds"
    return f"{lost}. Reservations that were stored twice: at most {most_doubled}."


# --- load tests


def load_tests(load: pd.DataFrame) -> Told:
    """Figures, means, statuses, lines and claims of the load tests."""
    blocks = load["block"].nunique()
    yield f"{len(load)} rounds in {blocks} blocks; first requests alone are what the thesis sent and averaged.\n"
    for case, test in published.MEAN_FIGURES:
        if len(of(load, published.CASES[case], test)):
            yield _pictures(case, test)
    yield "Mean time in milliseconds: of a request / of an operation, published per request in brackets:\n"
    yield _by_users(load, _mean)
    yield "Percent of first requests: failed / answered without all parts; of operations: asked again / failed in the"
    yield "end. Published failures in brackets:\n"
    yield _by_users(load, _status)
    heads = ["load test", "of", "published r", "r (95 % interval)", "the means over users", "knee at users"]
    yield f"{markdown(heads, lines(load))}\n"
    yield from claims(load)


def of(table: pd.DataFrame, architecture: str, test: str) -> pd.DataFrame:
    """Return the rows of one load test."""
    return table[(table["architecture"] == architecture) & (table["test"] == test)]


def _pictures(case: int, test: str) -> str:
    kinds = (published.TIME_FIGURES, published.STATUS_FIGURES, published.MEAN_FIGURES)
    drawn = [figures[case, test] for figures in kinds]
    shown = " ".join(f"![Figure {name}](banerjee-2022/figure-{name.replace('.', '-')}.svg)" for name in drawn)
    return f"**{published.CASES[case]}, test {test}** (Figures {', '.join(drawn)})\n\n{shown}\n"


Cell = Callable[[pd.DataFrame, pd.DataFrame], str]
"""What a table says of rows of ours with some number of users, and of those that were published."""


def _by_users(load: pd.DataFrame, cell: Cell) -> str:
    """Return a table with a row per number of users and a column per load test."""
    tests = list(published.MEAN_FIGURES)
    rows = [[users, *(_cell(load, key, users, cell) for key in tests)] for users in sorted(load["users"].unique())]
    return f"{markdown(['users', *(f'{published.CASES[case]}, {test}' for case, test in tests)], rows)}\n"


def _cell(load: pd.DataFrame, key: tuple[int, str], users: int, cell: Cell) -> str:
    rows, theirs = _at(of(load, published.CASES[key[0]], key[1]), users), published.of(*key)
    return cell(rows, theirs[theirs["users"] == users]) if len(rows) else "not measured"


def _mean(rows: pd.DataFrame, theirs: pd.DataFrame) -> str:
    printed = f" ({theirs['mean_ms'].iloc[0]:.1f})" if len(theirs) else ""
    return f"{rows[REQUEST].mean():.1f} / {rows[OPERATION].mean():.1f}{printed}"


def _status(rows: pd.DataFrame, theirs: pd.DataFrame) -> str:
    printed = f" ({theirs['printed_failed_percent'].iloc[0]:g})" if len(theirs) else ""
    failed, incomplete, again, in_the_end = (f"{rows[name].mean():.1f}" for name in STATUS)
    return f"{failed} / {incomplete}; {again} / {in_the_end}{printed}"


def _at(rows: pd.DataFrame, users: int) -> pd.DataFrame:
    return rows[rows["users"] == users].sort_values("block")


def lines(load: pd.DataFrame) -> Iterator[list[object]]:
    """Whether means lie on a line over the users: r with its interval, and a knee, of requests and operations."""
    for (case, test), printed in published.PRINTED_R.items():
        rows = of(load, published.CASES[case], test)
        for name, column in (("requests", REQUEST), ("operations", OPERATION)):
            middle = rows.groupby("users")[column].mean().reset_index()
            if len(middle) >= FEWEST_OF_A_LINE:
                line = published.line_of(middle["users"], middle[column])
                shown = printed if column == REQUEST else ""
                yield [f"{published.CASES[case]}, {test}", name, shown, line.r, line.shape, line.knee]


def claims(load: pd.DataFrame) -> Told:
    """Each headline ratio, measured at the most users, with an interval and the verdict that follows from it."""
    users = int(load["users"].max())
    heads = ["claim", "printed", "thesis's data: request / operation", "measured per request", "per operation"]
    rows = [_claim_row(claim, [measured(load, claim.name, unit, users) for unit in (REQUEST, OPERATION)])
            for claim in published.claims()]  # fmt: skip
    yield f"Headline ratios at {users} users; all six intervals hold together with 95 %:\n"
    yield f"{markdown([*heads, 'verdicts'], rows)}\n"


def _claim_row(claim: published.Claim, both: Sequence[Contrast | None]) -> list[str]:
    texts = [ratio(one) if one else "no failures" for one in both]
    verdicts = [_verdict(one, claim.printed) for one in both]
    own = f"{claim.per_request:.2f} / {claim.per_operation:.2f}"
    return [claim.text, f"{claim.printed:g}", own, *texts, " / ".join(verdicts)]


def _verdict(change: Contrast | None, printed: float) -> str:
    if change is None:
        return Conclusion.INCONCLUSIVE
    return f"{verdict(HIGHER, [change])}; printed ratio {holds_printed(change, printed)}"


def measured(load: pd.DataFrame, name: str, unit: str, users: int) -> Contrast | None:
    """Return a headline ratio of our rounds; None where a failed share is zero in some round."""
    test, column = ("B", unit) if name == "faster" else ("A", unit)
    if name == "failing":
        column = "failed" if unit == REQUEST else "asked_again"
    messaging, gateway = (_by_block(load, one, test, users, column) for one in (MESSAGING, GATEWAY))
    before, after = (gateway, messaging) if name == "faster" else (messaging, gateway)
    return change(before, after, together(LEVEL, 6))


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


def ways(table: pd.DataFrame) -> Told:
    """How long a complete list takes in each other way, as a multiple of the published one in the same block."""
    yield "Lists by 20 users; medians over rounds (least to greatest). A row compares rounds of the same block that"
    yield "differ in nothing else; all intervals hold together with 95 %:\n"
    heads = ["another way", "published: p50, ms", catalogue.OTHER_WAY, "requests", catalogue.OTHER_BY_PUBLISHED]
    compared = {name: alike(table, before, after) for name, (before, after) in WAYS.items()}
    yield markdown([*heads, "faster"], [[name, *_way(pairs)] for name, pairs in compared.items() if len(pairs)])


def _way(pairs: pd.DataFrame) -> list[str]:
    before, after = (f"{OPERATION}_before", f"{OPERATION}_after")
    slower = change(pairs[before], pairs[after], together(LEVEL, len(WAYS)))
    assert slower is not None
    cells = (span(pairs[column]) for column in (before, after, "requests_after"))
    return [*cells, ratio(slower), which(slower, "the published way", "the other way")]


def alike(table: pd.DataFrame, before: Mapping[str, str], after: Mapping[str, str]) -> pd.DataFrame:
    """Pairs of rounds of a block that have the levels ``before`` and ``after``, and no other difference."""
    keys = ["block", *(name for name in LEVELS if name not in before)]
    sides = [table[(table[list(levels)] == pd.Series(levels)).all(axis=1)] for levels in (before, after)]
    return sides[0].merge(sides[1], on=keys, suffixes=("_before", "_after"))


# --- arrivals that do not wait, bursts, faults


def open_arrivals(table: pd.DataFrame) -> Told:
    """Yield times, losses and queues over the rate, and where each architecture's knee is."""
    yield "Operations that list movies; medians over rounds (least to greatest):\n"
    heads = ["p50, ms", "p95, ms", "done per second", "lost, %", "most messages in queues"]
    columns = ("p50_ms", "p95_ms", "done_per_s", "lost", "queued")
    yield _spans(table, {"per second": "rate", "architecture": "architecture"}, heads, columns)
    yield ""
    for architecture, rows in table.groupby("architecture"):
        middle = rows.groupby("rate")["p50_ms"].median().reset_index()
        line = published.line_of(middle["rate"], middle["p50_ms"]) if len(middle) >= FEWEST_OF_A_LINE else None
        reported = line.knee if line else "too few rates"
        yield f"{architecture!s}: knee of the median time over the rates per second: {reported}.\n"


def _spans(table: pd.DataFrame, keys: Mapping[str, str], heads: Sequence[str], columns: Sequence[str]) -> str:
    """Return a row per group of rounds, with the span of each column; ``NEVER`` counts rounds that did not recover."""
    groups = table.groupby(list(keys.values()))
    rows = [
        [*(f"{one:g}" if isinstance(one, float) else one for one in key), *(_span(rows, name) for name in columns)]
        for key, rows in ((tuple(key) if isinstance(key, tuple) else (key,), rows) for key, rows in groups)
    ]
    return markdown([*keys, *heads], rows)


NEVER, MOST = "never", "most "
"""Instead of a column: in how many rounds operations did not recover; and before one: its greatest count."""


def _span(rows: pd.DataFrame, column: str) -> str:
    if column == NEVER:
        return never(rows)
    return most(rows[column.removeprefix(MOST)]) if column.startswith(MOST) else span(rows[column])


def span(values: pd.Series) -> str:
    """Return the median of some rounds, with the least and the greatest."""
    shown = values.dropna()
    if shown.empty:
        return "none"
    return f"{shown.median():.4g} ({shown.min():.4g} to {shown.max():.4g})"


def most(counts: pd.Series) -> str:
    """Return the greatest count of some rounds, of those in which it is known."""
    return "unknown" if counts.isna().all() else f"{counts.max():.0f}"


def never(rows: pd.DataFrame) -> str:
    """In how many rounds operations were not as before when the round ended."""
    unsettled = rows["recovered_after"].isna() & rows["affected"].notna()
    return f"{int(unsettled.sum())} of {len(rows)}"


def bursts(table: pd.DataFrame) -> Told:
    """Yield what a burst does to operations, and when they are as before again."""
    yield _recovery_words("the burst")
    heads = ["affected, %", "recovered after, s", "not recovered", "most in queues"]
    keys = {"peak per second": "peak", "architecture": "architecture"}
    yield _spans(table, keys, heads, ("affected", "recovered_after", NEVER, "queued"))


def _recovery_words(what: str) -> str:
    return (
        "Medians over rounds (least to greatest). An operation is as before when it was good and took at most three "
        f"times what 95 of 100 took before {what}; a second of the round is, when four of five of its operations are "
        "(or all but one).\n"
    )


def faults(table: pd.DataFrame) -> Told:
    """Yield what each fault did from outside, and whether failures were fast."""
    yield _recovery_words("the fault")
    heads = ["failed, %", "late, %", "incomplete answers", "lost", "doubled", "affected, %", "seen after, s"]
    heads += ["recovered after, s", "rounds not recovered", "a failure took, ms"]
    columns = ("failed", "late", "incomplete", f"{MOST}lost", f"{MOST}doubled", "affected", "seen_after")
    there = table["breaker"].map({True: "yes", False: "no"}).where(table["architecture"] == GATEWAY, "none there")
    keys = {name: name for name in ("fault", "architecture", "breaker")}
    yield _spans(table.assign(breaker=there), keys, heads, (*columns, "recovered_after", NEVER, "failure_ms"))
    yield f"\n{fast_failures(table)}"


def fast_failures(table: pd.DataFrame) -> str:
    """Return the claim that a breaker makes failures fast, with one against without, for a cinema that stands still."""
    frozen = table[(table["architecture"] == GATEWAY) & (table["fault"] == "freeze cinema-cineworld")]
    failing = frozen.dropna(subset="failure_ms").set_index("block")
    with_one, without = (failing.loc[failing["breaker"] == on, "failure_ms"] for on in (True, False))
    slower = change(with_one, without)
    if slower is None:
        return f"Claim: the breaker gives fast failures: {Conclusion.INCONCLUSIVE}, without failures to compare."
    return (
        "Claim: the breaker gives fast failures. While a cinema stands still a failure without a breaker takes "
        f"{ratio(slower)} times as long as with one: {verdict(HIGHER, [slower])}."
    )


# --- traces, and the page


def calls(table: pd.DataFrame) -> Told:
    """Yield the service graphs and sequence diagrams that were made from traces."""
    for name, title in zip(figures.drawings(table), table["title"], strict=True):
        yield f"**{title}**\n\n![{title}](banerjee-2022/{name}.svg)\n"


def patterns(tables: Tables) -> dict[str, str]:
    """Return the part ``measured`` of each page of the catalogue on which the cinema has numbers."""
    sources = {"ways": (digest.WAYS, ways), "faster": (digest.LOAD, faster), "faults": (digest.FAULTS, faults)}
    reported = {source: list(written(tables[name])) for source, (name, written) in sources.items() if name in tables}
    return catalogue.parts({source: "\n".join(texts).splitlines() for source, texts in reported.items()})


def parts(tables: Tables) -> Parts:
    """Return the parts of the page, and what pages of the catalogue take from them."""
    catalogue_parts = {f"patterns/{page}": {"measured": text} for page, text in patterns(tables).items()}
    return {FILE: {"published": published.section(), "measured": section(tables)}, **catalogue_parts}


FILE = "reproductions/banerjee-2022.md"
PAGE = Page(FILE, digest.READERS, parts, figures.drawn)

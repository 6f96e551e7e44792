"""What our own cinema measured, next to what the thesis published: the page banerjee-2022.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from reproductions import claimed
from reproductions.banerjee_2022 import catalogue, digest, figures, published
from reproductions.comparisons import configurations, form_of
from reproductions.contrasts import Contrast
from reproductions.markdown import table as markdown
from reproductions.markdown import warned
from reproductions.pages import Page, Parts, Tables, not_measured

STUDIES = {
    digest.LOAD: "cinema-load-tests",
    digest.WAITING: "cinema-load-tests",
    digest.QUEUES: "cinema-queues",
    digest.WAYS: "cinema-ways",
    digest.OPEN: "cinema-open",
    digest.BURST: "cinema-burst",
    digest.FAULTS: "cinema-faults",
    digest.DRAWINGS: "cinema-traces",
}
CLAIMS = claimed.read("banerjee_2022/claims.yaml")
AGAIN = "parameters.again"
"""The pause before a fetch is repeated; in the published way it never is."""
GATEWAY, MESSAGING = published.CASES.values()
OPERATIONS = {"A": "list the movies of three cinemas", "B": "make a reservation at one"}
REQUEST, OPERATION = "mean_ms", "operation_ms"
FEWEST_OF_A_LINE = 4
Told = Iterator[str]


def section(tables: Tables) -> str:
    """Everything that was measured, as Markdown; what was not says how to."""
    parts = {
        "### Gateway or messages?\n": (digest.WAITING, waiting),
        "### The load tests\n": (digest.LOAD, load_tests),
        "### Tuning the queues\n": (digest.QUEUES, queues),
        "### Other ways than the published ones\n": (digest.WAYS, ways),
        "### When arrivals do not wait\n": (digest.OPEN, open_arrivals),
        "### A burst of ten seconds\n": (digest.BURST, bursts),
        "### Faults inside\n": (digest.FAULTS, faults),
        "### Who calls whom, from traces\n": (digest.DRAWINGS, calls),
    }
    lines = []
    for title, (name, written) in parts.items():
        reported = written(tables[name]) if name in tables else [not_measured(STUDIES[name])]
        lines += [title, *reported, ""]
        if "warnings" in tables.get(name, ()):
            lines += [warned(tables[name]), ""]
        if name == digest.WAITING and digest.LOAD in tables:
            lines += [*with_a_pause(tables[digest.LOAD]), ""]
    return "\n".join(lines).rstrip()


def held(name: str, table: pd.DataFrame, factors: Sequence[str]) -> str:
    """Return the verdicts on what the page claims of a table, each claim alone."""
    return claimed.verdict_table(claimed.hold(CLAIMS[name], *claimed.levelled(table, factors)), "claim")


# --- gateway or messages


def waiting(rounds: pd.DataFrame) -> Told:
    """How the answer turns with the wait before the first fetch, and with the pause before a further one."""
    levels = dict.fromkeys(at[AGAIN] for at in claimed.planned(STUDIES[digest.WAITING]).values())
    yield from compared(STUDIES[digest.WAITING], rounds.assign(**{AGAIN: pd.Categorical(rounds[AGAIN], list(levels))}))


def queues(rounds: pd.DataFrame) -> Told:
    """How long a complete list takes with other readers of the queues."""
    yield "Lists whose fetch the broker holds until they are complete; medians over rounds (least to greatest):\n"
    yield from compared(STUDIES[digest.QUEUES], rounds)


def compared(study: str, rounds: pd.DataFrame) -> Told:
    """Every configuration of a study, and what became of its claims, all of whose intervals hold together."""
    one = form_of(digest.COMPARED[study], rounds)
    yield f"{configurations(one, rounds)}\n"
    found = claimed.together_of_study(one.study, claimed.planned(one.study), rounds)
    if found:
        yield f"{claimed.verdict_table(found, 'claim')}\n"


def with_a_pause(load: pd.DataFrame) -> Told:
    """Both architectures by complete operations where our client paused before it asked again, and why that decides."""
    again = load["again_ms"] if "again_ms" in load else pd.Series(dtype=float)
    if not again.notna().any():
        return
    repeated = load[load["architecture"] == MESSAGING].groupby(["test", "users"])["asked_again"].mean()
    yield (
        f"In the rounds below, a fetch that was not complete was repeated after a pause of {again.max():g} ms, and "
        f"{repeated.min():.0f} to {repeated.max():.0f} % of the operations with messages were. So nearly every "
        "operation contains a pause of our client, which decides the comparison. No verdict is given until that is "
        "measured anew. How much longer a complete operation takes with messages than through the gateway, as measured "
        "and less one pause for each operation that was repeated; all intervals of a column hold together with 95 %:\n"
    )
    yield markdown(catalogue.WITH_A_PAUSE, _paused(load))


def _paused(load: pd.DataFrame) -> Iterator[list[object]]:
    less = load.assign(operation_ms=load[OPERATION] - load["again_ms"] * load["asked_again"] / 100)
    measured, without = (_slower(one) for one in (load, less))
    for key, change in measured.items():
        yield [OPERATIONS[key[0]], key[1], change.text(), without[key].text()]


def _slower(load: pd.DataFrame) -> Mapping[tuple[str, int], Contrast]:
    """Return by how much an operation takes longer with messages, by test and by the fewest and the most users."""
    users = (int(load["users"].min()), int(load["users"].max()))
    one = claimed.change(OPERATION, {"architecture": GATEWAY}, {"architecture": MESSAGING}, {"users": users})
    plan, rounds = claimed.levelled(load, ("architecture", "test", "users"))
    found = claimed.changes_by(("test", "users"), one, plan, rounds, claimed.each_of([one], plan))
    return {(str(test), int(number)): change for (test, number), change in found.items()}


# --- load tests


def load_tests(load: pd.DataFrame) -> Told:
    """Figures, means, statuses, lines and claims of the load tests."""
    blocks = load["block"].nunique()
    yield f"{len(load)} rounds in {blocks} blocks; first requests alone are what the thesis sent and averaged.\n"
    for case, test in published.MEAN_FIGURES:
        if len(of(load, published.CASES[case], test)):
            yield _pictures(case, test)
    yield "Means over rounds, by load test; the published numbers are of requests:\n"
    yield f"{means(load)}\n"
    yield from why_first_requests_fail(load)
    table = load.rename(columns={"failed": "failure_rate"})
    yield f"{held('load', table, ('architecture', 'test', 'users'))}\n"
    of_line = ["load test", "of", "published r", "r (95 % interval)", "published r is", "the means over users"]
    yield f"{markdown([*of_line, 'knee at users'], lines(load))}\n"


def of(table: pd.DataFrame, architecture: str, test: str) -> pd.DataFrame:
    """Return the rows of one load test."""
    return table[(table["architecture"] == architecture) & (table["test"] == test)]


def _pictures(case: int, test: str) -> str:
    kinds = (published.TIME_FIGURES, published.STATUS_FIGURES, published.MEAN_FIGURES)
    drawn = [figures[case, test] for figures in kinds]
    shown = " ".join(f"![Figure {name}](banerjee-2022/figure-{name.replace('.', '-')}.svg)" for name in drawn)
    return f"**{published.CASES[case]}, test {test}** (Figures {', '.join(drawn)})\n\n{shown}\n"


MEANS = {
    "request, ms": REQUEST,
    "published, ms": f"{REQUEST}_published",
    "operation, ms": OPERATION,
    "failed requests, %": "failed",
    "published, %": "printed_failed_percent",
    "without all parts, %": "incomplete",
    "first fetch not complete, %": "asked_again",
    "failed operations, %": "operation_failed",
}
"""The columns of the means, by their heads."""


def means(load: pd.DataFrame) -> str:
    """Return the means of each load test for each number of users, next to those that were published."""
    keys = ["architecture", "test", "users"]
    theirs = published.table().rename(columns={REQUEST: f"{REQUEST}_published"})
    theirs = theirs.assign(architecture=theirs["case"].map(published.CASES)).set_index(keys)
    ours = load.drop(columns="block").groupby(keys).mean(numeric_only=True)
    both = ours.join(theirs).reset_index()
    rows = ([*row[keys], *(f"{row[column]:.1f}" for column in MEANS.values())] for _, row in both.iterrows())
    return markdown([*keys, *MEANS], rows)


def why_first_requests_fail(load: pd.DataFrame) -> Told:
    """Yield why more first requests fail here than in the thesis, and what therefore is not compared."""
    users, rows = int(load["users"].min()), load[load["architecture"] == MESSAGING]
    if rows.empty:
        return
    ours = [rows.loc[(rows["test"] == test) & (rows["users"] == users), REQUEST].mean() for test in OPERATIONS]
    theirs = [published.at(2, test, REQUEST, users) for test in OPERATIONS]
    printed = pd.concat([published.of(2, test)["printed_failed_percent"] for test in OPERATIONS])
    least, most = rows.groupby(["test", "users"])["failed"].mean().agg(["min", "max"])
    yield (
        f"With messages {least:.0f} to {most:.0f} % of first requests fail here, and {printed.min():g} to "
        f"{printed.max():g} % in the thesis. At {users} users its request took {_ends(theirs)} ms on average (A and "
        f"B), ours {_ends(ours)} ms: our fetch reaches the broker before the cinemas' answers do. So the times of "
        "requests compare good answers with instant failures, and no ratio of times is judged by them.\n"
    )


def _ends(values: Sequence[float]) -> str:
    return " and ".join(f"{value:.1f}" for value in values)


def lines(load: pd.DataFrame) -> Iterator[list[object]]:
    """Whether means lie on a line over the users: r with its interval, and a knee, of requests and operations."""
    for (case, test), printed in published.PRINTED_R.items():
        rows = of(load, published.CASES[case], test)
        for name, column in (("requests", REQUEST), ("operations", OPERATION)):
            middle = rows.groupby("users")[column].mean().reset_index()
            if len(middle) >= FEWEST_OF_A_LINE:
                line = published.line_of(middle["users"], middle[column])
                shown = [printed, line.r, line.place_of(printed)] if column == REQUEST else ["", line.r, ""]
                yield [f"{published.CASES[case]}, {test}", name, *shown, line.shape, line.knee]


# --- other ways

LEVELS = ("architecture", "calls", "via", "connections", "fetch")


def ways(table: pd.DataFrame) -> Told:
    """How long a complete list takes in each way, and what became of the study's claims on them."""
    yield "Lists by 20 users; medians over rounds (least to greatest):\n"
    in_ms = table.assign(**{name: 1e3 * table[name] for name in ("journey_p50", "journey_p95")})
    keys = {name: name for name in LEVELS}
    yield f"{_spans(in_ms, keys, ['p50, ms', 'p95, ms'], ('journey_p50', 'journey_p95'))}\n"
    yield "The study's claims, on rounds of the same block; all intervals hold together with 95 %:\n"
    found = claimed.together_of_study(STUDIES[digest.WAYS], *claimed.levelled(table, LEVELS))
    yield claimed.verdict_table(found, "claim")


# --- arrivals that do not wait, bursts, faults


def open_arrivals(table: pd.DataFrame) -> Told:
    """Yield times, losses and queues over the rate, and where each architecture's knee is."""
    yield "Operations that list movies; medians over rounds (least to greatest):\n"
    titles = ["p50, ms", "p95, ms", "done per second", "lost, %", "most messages in queues"]
    columns = ("p50_ms", "p95_ms", "done_per_s", "lost", "queued")
    yield _spans(table, {"per second": "rate", "architecture": "architecture"}, titles, columns)
    yield ""
    for architecture, rows in table.groupby("architecture"):
        middle = rows.groupby("rate")["p50_ms"].median().reset_index()
        line = published.line_of(middle["rate"], middle["p50_ms"]) if len(middle) >= FEWEST_OF_A_LINE else None
        reported = line.knee if line else "too few rates"
        yield f"{architecture!s}: knee of the median time over the rates per second: {reported}.\n"


def _spans(table: pd.DataFrame, keys: Mapping[str, str], titles: Sequence[str], columns: Sequence[str]) -> str:
    """Return a row per group of rounds, with the span of each column; ``NEVER`` counts rounds that did not recover."""
    groups = table.groupby(list(keys.values()), sort=True)
    rows = [
        [*(f"{one:g}" if isinstance(one, float) else one for one in key), *(_span(rows, name) for name in columns)]
        for key, rows in ((tuple(key) if isinstance(key, tuple) else (key,), rows) for key, rows in groups)
    ]
    return markdown([*keys, *titles], rows)


NEVER, MOST = "never", "most "
"""Instead of a column: in how many rounds operations did not recover; and before one: its greatest count."""


def _span(rows: pd.DataFrame, column: str) -> str:
    if column == NEVER:
        unsettled = rows["recovered_after"].isna() & rows["affected"].notna()
        return f"{int(unsettled.sum())} of {len(rows)}"
    if column.startswith(MOST):
        return most(rows[column.removeprefix(MOST)])
    shown = rows[column].dropna()
    return f"{shown.median():.4g} ({shown.min():.4g} to {shown.max():.4g})" if len(shown) else "none"


def most(counts: pd.Series) -> str:
    """Return the greatest count of some rounds, of those in which it is known."""
    return "unknown" if counts.isna().all() else f"{counts.max():.0f}"


def bursts(table: pd.DataFrame) -> Told:
    """Yield what a burst does to operations, and when they are as before again."""
    yield _recovery_words("the burst")
    titles = ["affected, %", "recovered after, s", "not recovered", "most in queues"]
    keys = {"peak per second": "peak", "architecture": "architecture"}
    yield _spans(table, keys, titles, ("affected", "recovered_after", NEVER, "queued"))


def _recovery_words(what: str) -> str:
    return (
        "Medians over rounds (least to greatest). An operation is as before when it was good and took at most three "
        f"times what 95 of 100 took before {what}; a second of the round is, when four of five of its operations are "
        "(or all but one).\n"
    )


def faults(table: pd.DataFrame) -> Told:
    """Yield what each fault did from outside, what became of reservations, and of the claims."""
    yield _recovery_words("the fault")
    titles = ["failed, %", "late, %", "incomplete answers", "lost", "doubled", "affected, %", "seen after, s"]
    titles += ["recovered after, s", "rounds not recovered", "a failure took, ms"]
    columns = ("failed", "late", "incomplete", f"{MOST}lost", f"{MOST}doubled", "affected", "seen_after")
    there = table["breaker"].map({True: "yes", False: "no"}).where(table["architecture"] == GATEWAY, "none there")
    keys = {name: name for name in ("fault", "architecture", "breaker")}
    yield _spans(table.assign(breaker=there), keys, titles, (*columns, "recovered_after", NEVER, "failure_ms"))
    lost, doubled = (most(table[name]) for name in ("lost", "doubled"))
    yield f"\nConfirmed reservations that were lost: at most {lost} per round, in {len(table)} rounds. Reservations"
    yield f"that were stored twice: at most {doubled}.\n"
    kept = table.rename(columns={"failed": "journey_failure_rate"})
    yield held("faults", kept, ("fault", "architecture", "breaker"))


# --- traces, and the page


def calls(table: pd.DataFrame) -> Told:
    """Yield the service graphs and sequence diagrams that were made from traces."""
    for name, title in zip(figures.drawings(table), table["title"], strict=True):
        yield f"**{title}**\n\n![{title}](banerjee-2022/{name}.svg)\n"


def patterns(tables: Tables) -> dict[str, str]:
    """Return the part ``measured`` of each page of the catalogue on which the cinema has numbers."""
    sources = {
        "waiting": (digest.WAITING, waiting),
        "paused": (digest.LOAD, with_a_pause),
        "ways": (digest.WAYS, ways),
        "faults": (digest.FAULTS, faults),
    }
    reported = {source: list(written(tables[name])) for source, (name, written) in sources.items() if name in tables}
    return catalogue.parts({source: "\n".join(texts).splitlines() for source, texts in reported.items()})


def parts(tables: Tables) -> Parts:
    """Return the parts of the page, and what pages of the catalogue take from them."""
    catalogue_parts = {f"patterns/{page}": {"measured": text} for page, text in patterns(tables).items()}
    return {FILE: {"published": published.section(), "measured": section(tables)}, **catalogue_parts}


FILE = "reproductions/banerjee-2022.md"
PAGE = Page(FILE, digest.READERS, parts, figures.drawn)

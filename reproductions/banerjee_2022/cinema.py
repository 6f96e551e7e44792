"""What our own cinema measured, next to what the thesis published: the page banerjee-2022.md."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

import pandas as pd

from reproductions import claimed
from reproductions.banerjee_2022 import digest, figures, published
from reproductions.comparisons import FROM_A_PAGE, answer, answers, read, readers
from reproductions.markdown import spread, warned
from reproductions.markdown import table as markdown
from reproductions.pages import Page, Parts, Tables, measure_first, written

CLAIMS = claimed.read("banerjee_2022/claims.yaml")
OPTIONS = read("banerjee_2022/options.yaml")
"""What the thesis names and did not measure."""
AVOIDED = read("banerjee_2022/avoided.yaml")
"""The anti-patterns that the thesis names."""
QUESTIONS = {digest.WAITING: digest.COMPARED[digest.LOAD_TESTS], digest.QUEUES: digest.COMPARED["cinema-queues"]}
"""Studies of which rounds are compared as they are, by the tables that are kept of them."""
GATEWAY, MESSAGING = published.CASES.values()
OPERATIONS = {"A": "list the movies of three cinemas", "B": "make a reservation at one"}
REQUEST, OPERATION = "mean_ms", "operation_ms"
FEWEST_OF_A_LINE = 4
LEVELS = ("architecture", "calls", "via", "connections", "fetch")
NOT_MEASURED = "Not measured yet on a machine with nothing else to do."
Told = Iterator[str]


def measured(tables: Tables) -> dict[str, str]:
    """Return a part for each table that is kept, by its name; what was not measured says how to."""
    made = {name: _part(tables.get(name), *of_it) for name, of_it in PARTS.items()}
    made |= {name: answer(one, tables.get(name)) for name, one in QUESTIONS.items()}
    return {**made, "paused": with_a_pause(tables[digest.LOAD]) if digest.LOAD in tables else ""}


def _part(table: pd.DataFrame | None, study: str, of_it: Callable[[pd.DataFrame], Told]) -> str:
    if table is None:
        return measure_first(study)
    return "\n\n".join([*of_it(table), *([warned(table)] if "warnings" in table else [])])


def held(name: str, table: pd.DataFrame, factors: Sequence[str]) -> str:
    """Return the verdicts on what the page claims of a table, each claim alone."""
    return claimed.verdict_table(claimed.levelled(table, factors).hold(CLAIMS[name]), "claim")


# --- gateway or messages


def with_a_pause(load: pd.DataFrame) -> str:
    """Both architectures by complete operations where our client paused before it asked again, and why that decides."""
    if "again_ms" not in load or not load["again_ms"].notna().any():
        return ""
    repeated = load[load["architecture"] == MESSAGING].groupby(["test", "users"])["asked_again"].mean()
    less = load.assign(operation_ms=load[OPERATION] - load["again_ms"] * load["asked_again"] / 100)
    users = (int(load["users"].min()), int(load["users"].max()))
    longer = claimed.change(OPERATION, {"architecture": GATEWAY}, {"architecture": MESSAGING}, {"users": users})
    as_measured, without = (
        claimed.levelled(one, ("architecture", "test", "users")).together(("test", "users"), {OPERATION: longer})
        for one in (load, less)
    )
    rows = [[OPERATIONS[key[1]], key[2], change.text, without[key].text] for key, change in as_measured.items()]
    return (
        f"In the rounds below, a fetch that was not complete was repeated after a pause of {load['again_ms'].max():g} "
        f"ms, and {repeated.min():.0f} to {repeated.max():.0f} % of the operations with messages were. So nearly every "
        "operation contains a pause of our client, which decides the comparison. No verdict is given until that is "
        "measured anew. How much longer a complete operation takes with messages than through the gateway, as measured "
        "and less one pause for each operation that was repeated; all intervals of a column hold together with 95 %:"
        f"\n\n{markdown(['operation', 'users', 'longer with messages', 'less the pauses'], rows)}"
    )


# --- load tests


def load_tests(load: pd.DataFrame) -> Told:
    """Means, statuses, lines and claims of the load tests."""
    blocks = load["block"].nunique()
    yield f"{len(load)} rounds in {blocks} blocks; first requests alone are what the thesis sent and averaged."
    yield from (SPANS["means"].says, means(load))
    yield from why_first_requests_fail(load)
    yield held("load", load.rename(columns={"failed": "failure_rate"}), ("architecture", "test", "users"))
    of_line = ["load test", "of", "published r", "r (95 % interval)", "published r is", "the means over users"]
    yield markdown([*of_line, "knee at users"], lines(load))


def means(load: pd.DataFrame) -> str:
    """Return the means of each load test for each number of users, next to those that were published."""
    shown, keys = SPANS["means"].columns, list(SPANS["means"].rows)
    theirs = published.TABLE.rename(columns={REQUEST: f"{REQUEST}_published"})
    theirs = theirs.assign(architecture=theirs["case"].map(published.CASES)).set_index(keys)
    ours = load.drop(columns="block").groupby(keys).mean(numeric_only=True)
    both = ours.join(theirs).reset_index()
    rows = ([*row[keys], *(f"{row[column]:.1f}" for column in shown.values())] for _, row in both.iterrows())
    return markdown([*keys, *shown], rows)


def why_first_requests_fail(load: pd.DataFrame) -> Told:
    """Yield why more first requests fail here than in the thesis, and what therefore is not compared."""
    users, rows = int(load["users"].min()), load[load["architecture"] == MESSAGING]
    if rows.empty:
        return
    ours = [rows.loc[(rows["test"] == test) & (rows["users"] == users), REQUEST].mean() for test in OPERATIONS]
    theirs = [published.at(2, test, REQUEST, users) for test in OPERATIONS]
    took, takes = (" and ".join(f"{value:.1f}" for value in values) for values in (theirs, ours))
    printed = pd.concat([published.of(2, test)["printed_failed_percent"] for test in OPERATIONS])
    least, most = rows.groupby(["test", "users"])["failed"].mean().agg(["min", "max"])
    yield (
        f"With messages {least:.0f} to {most:.0f} % of first requests fail here, and {printed.min():g} to "
        f"{printed.max():g} % in the thesis. At {users} users its request took {took} ms on average (A and "
        f"B), ours {takes} ms: our fetch reaches the broker before the cinemas' answers do. So the times of "
        "requests compare good answers with instant failures, and no ratio of times is judged by them."
    )


def lines(load: pd.DataFrame) -> Iterator[list[object]]:
    """Whether means lie on a line over the users: r with its interval, and a knee, of requests and operations."""
    for one in published.LOAD_TESTS:
        for name, column in (("requests", REQUEST), ("operations", OPERATION)):
            middle = one.of(load).groupby("users")[column].mean().reset_index()
            if len(middle) >= FEWEST_OF_A_LINE:
                line = published.line_of(middle["users"], middle[column])
                shown = [one.r, line.r, line.place_of(one.r)] if column == REQUEST else ["", line.r, ""]
                yield [one.name, name, *shown, line.shape, line.knee]


# --- other ways, arrivals that do not wait, bursts, faults


SPANS = written("banerjee_2022/tables.yaml", dict[str, claimed.Spans])


def ways(table: pd.DataFrame) -> Told:
    """How long a complete list takes in each way, and what became of the study's claims on them."""
    yield from SPANS["ways"].of(table.assign(p50_ms=1e3 * table["journey_p50"], p95_ms=1e3 * table["journey_p95"]))
    yield "The study's claims, on rounds of the same block; all intervals hold together with 95 %:"
    every = claimed.claims("cinema-ways")
    yield claimed.verdict_table(claimed.levelled(table, LEVELS).hold(every, among=every), "claim")


def open_arrivals(table: pd.DataFrame) -> Told:
    """Yield times, losses and queues over the rate, and where each architecture's knee is."""
    yield from SPANS["open"].of(table)
    for architecture, rows in table.groupby("architecture"):
        middle = rows.groupby("rate")["p50_ms"].median().reset_index()
        line = published.line_of(middle["rate"], middle["p50_ms"]) if len(middle) >= FEWEST_OF_A_LINE else None
        reported = line.knee if line else "too few rates"
        yield f"{architecture!s}: knee of the median time over the rates per second: {reported}."


def faults(table: pd.DataFrame) -> Told:
    """Yield what each fault did from outside, what became of reservations, and of the claims."""
    there = table["breaker"].map({True: "yes", False: "no"}).where(table["architecture"] == GATEWAY, "none there")
    yield from SPANS["faults"].of(table.assign(breaker=there))
    lost, doubled = (claimed.most(table[name]) for name in ("lost", "doubled"))
    yield (
        f"Confirmed reservations that were lost: at most {lost} per round, in {len(table)} rounds. Reservations\n"
        f"that were stored twice: at most {doubled}."
    )
    kept = table.rename(columns={"failed": "journey_failure_rate"})
    yield held("faults", kept, ("fault", "architecture", "breaker"))


# --- single calls, traces, pages of the catalogue, and the page


def single_calls(table: pd.DataFrame) -> Told:
    """Yield the time of each call of the manual tests by itself, next to the one that is printed in its figure."""
    none = pd.Series(dtype=float)
    rows = (
        [*call, spread(table[table["architecture"] == call.architecture].get(call.step, none))]
        for call in published.CALLS.itertuples(index=False)
    )
    yield markdown(["figure", "architecture", "call", "published, ms", "here, ms"], rows)


def calls(table: pd.DataFrame) -> Told:
    """Yield the service graphs and sequence diagrams that were made from traces."""
    for name, title in zip(figures.drawings(table), table["title"], strict=True):
        yield f"**{title}**\n\n![{title}](banerjee-2022/{name}.svg)"


@dataclass(frozen=True)
class Choice:
    """What a page of the catalogue shows: rows of a table of the page, in some columns.

    Rows are chosen by the beginning of their first cell and by other cells.
    """

    source: str
    begins: Sequence[str]
    columns: Sequence[str]
    where: Mapping[str, str] = field(default_factory=dict)

    def of(self, text: str) -> str:
        """Return the chosen cells as a table of their own; empty where no table of a text has such a row."""
        kept: list[list[str]] = []
        for is_table, lines in groupby(text.splitlines(), lambda line: line.startswith("|")):
            cells = (line.strip("|").split(" | ") for line in lines if "|---" not in line)
            head, *rows = ([cell.strip() for cell in row] for row in cells)
            if is_table and {*self.columns, *self.where} <= {*head}:
                named = (dict(zip(head, row, strict=True)) for row in rows if row[0].startswith(tuple(self.begins)))
                chosen = (row for row in named if self.where.items() <= row.items())
                kept += [[row[name] for name in self.columns] for row in chosen]
        return markdown(self.columns, kept) if kept else ""


CHOICES = written("banerjee_2022/catalogue.yaml", dict[str, dict[str, list[Choice]]])


def catalogue(sources: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return the parts of each page by their marks, from the page's own parts; what has no rounds says so."""

    def first(choices: Sequence[Choice]) -> str:
        texts = (choice.of(sources.get(choice.source, "")) for choice in choices)
        return next(filter(None, texts), NOT_MEASURED)

    return {page: {mark: first(choices) for mark, choices in marks.items()} for page, marks in CHOICES.items()}


PARTS: Mapping[str, tuple[str, Callable[[pd.DataFrame], Told]]] = {
    digest.LOAD: (digest.LOAD_TESTS, load_tests),
    digest.WAYS: ("cinema-ways", ways),
    digest.OPEN: ("cinema-open", open_arrivals),
    digest.BURST: ("cinema-burst", SPANS["burst"].of),
    digest.FAULTS: ("cinema-faults", faults),
    digest.DRAWINGS: ("cinema-traces", calls),
    digest.CALLS: ("cinema-calls", single_calls),
}
"""Each table with the study that it is made of, and how its part is written."""


def parts(tables: Tables) -> Parts:
    """Return the parts of the page, and what pages of the catalogue take from them."""
    own = {**measured(tables), "published": published.section(), "options": answers(OPTIONS, tables)}
    shown = {f"patterns/{page}": marks for page, marks in catalogue(own).items()}
    return {FILE: own, "anti-patterns.md": {"measured": answers(AVOIDED, tables, FROM_A_PAGE)}, **shown}


FILE = "reproductions/banerjee-2022.md"
PAGE = Page(FILE, {**digest.READERS, **readers(OPTIONS), **readers(AVOIDED)}, parts, figures.drawn)

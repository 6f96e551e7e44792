"""Finds habits of prose that make a reader read twice: `scripts/prose` holds their counts, per folder, to a ratchet.

    scripts/prose                  what is above tests/prose-counts.json, with file, line and what to write instead
    scripts/prose PATH...          every site at or below some paths, for whoever mends them
    scripts/prose --lower          write lower counts where prose was mended; no count ever rises

A sentence that is right as it is has an entry with a reason in tests/allowed-prose.toml.
"""

from __future__ import annotations

import ast
import io
import json
import re
import sys
import tokenize
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from scripts.checks.command import run, silent
from scripts.checks.skips import ROOT

ALLOWED = ROOT / "tests" / "allowed-prose.toml"
COUNTS = ROOT / "tests" / "prose-counts.json"
UNREAD = ("tests/", "docs/reference/")
"""Tests quote the sentences of the sources, and the reference is made of them: they are mended at their source."""
FOLDER_DEPTH = 3
"""Counts are kept per folder down to this depth: `src/patternbench/lab`, `engine/crates/load`, `docs/patterns`."""
CONTEXT = 40
"""Characters that are shown on either side of what was found."""
MARKDOWN, PYTHON, RUST = ".md", ".py", ".rs"


@dataclass(frozen=True)
class Habit:
    """A turn of phrase: its key, its pattern, what to write instead, and in which kinds of files it is looked for."""

    key: str
    pattern: re.Pattern[str]
    instead: str
    suffixes: tuple[str, ...] = (MARKDOWN, PYTHON, RUST)


BLANK = r"(?:[ \t]+|[ \t]*\n[ \t]*)"
"""Between two words of a sentence: blanks, or the end of one line."""


def _words(pattern: str, flags: re.RegexFlag = re.IGNORECASE) -> re.Pattern[str]:
    """A pattern whose blanks also match the end of a line."""
    return re.compile(pattern.replace(" ", BLANK), flags)


COUNTED = (
    r"(?:ms|µs|us|ns|[kKMGT]i?B|bytes|seconds|minutes|rounds|requests|calls|attempts|messages|rows|lines|keys|tokens"
    r"|events|queries|spans)"
)
PER = (
    r"(?:second|minute|hour|day|week|round|scenario|request|call|attempt|batch|client|user|key|number|row|line"
    r"|component|block|level|service|host|group|problem|run|side|bundle|try|window|journey|library|page|study|core)"
)
HABITS = (
    Habit(
        "is-no",
        _words(r"(?<!there\s)\b(?:is|are|was|were) (?:no|none)\b(?! (?:longer|more|less|fewer|\w+er than)\b)"),
        "isn't a, aren't; or `there is no`",
    ),
    Habit("beside", re.compile(r"\bbeside\b", re.IGNORECASE), "next to, with, apart from"),
    Habit("a-for-per", _words(rf"(?<!many\s)(?<!column\s)\b{COUNTED} an? {PER}\b"), "per: `rows per batch`"),
    Habit(
        "so-many",
        _words(r"\bso (?:many|few|long|often)\b(?! (?:that|as)\b)"),
        "the number itself: `after N failures`, `this many users`, `for this long`",
    ),
    Habit(
        "what-is",
        _words(r"\bWhat (?:is|are|was|has|it)\b(?:[^.,;:|?()\n]|\n(?!\s*\n)){1,60}? (?:is|are)\b", re.NOFLAG),
        "the noun first: `Finished rounds count`, not `What is finished counts`",
    ),
    Habit(
        "is-told",
        _words(r"\b(?:is|was) told\b(?! (?:the|how|what|when|which|to)\b)"),
        "is reported, is printed, is listed",
    ),
    Habit("in-the-mean", _words(r"\bin the mean\b"), "on average"),
    Habit(
        "long-line",
        re.compile(r"^(?!\s*\||[`\s]*$|\[[^\]]+\]: ).{121,}$", re.MULTILINE),
        "break the line at 120 columns",
        (MARKDOWN,),
    ),
)


@dataclass(frozen=True)
class Passage:
    """Text that people read: the line of its file on which it begins and ends, and its words."""

    line: int
    last: int
    text: str


@dataclass(frozen=True)
class Site:
    """A habit at a line of a file, with the words around it."""

    file: str
    line: int
    habit: Habit
    text: str

    @property
    def folder(self) -> str:
        """The folder for which this site is counted."""
        return "/".join(Path(self.file).parent.parts[:FOLDER_DEPTH]) or "."

    def __str__(self) -> str:
        """As editors open it, with what to write instead."""
        return f"{self.file}:{self.line}: {self.habit.key}: “{self.text}”; write: {self.habit.instead}"


@dataclass(frozen=True)
class Allowed:
    """A sentence that may stay: its file, a part of the words around what is found, and why."""

    file: str
    text: str
    reason: str

    def covers(self, site: Site) -> bool:
        """Whether this entry allows a site."""
        return self.file == site.file and self.text in site.text


FENCE = re.compile(r"^([ >]*)(```|~~~).*?^[ >]*\2[^\n]*$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
TARGET = re.compile(r"\]\([^()\s]*\)")


MADE = re.compile(r"^<!-- (?P<part>[^\n]+) -->$.*?^<!-- end of (?P=part) -->$", re.MULTILINE | re.DOTALL)
"""A part of a page that a script prints: sentences are read where the script has them."""


def of_markdown(text: str) -> Iterator[Passage]:
    """A page without its code, what scripts print, and the targets of its links, which no reader sees."""
    written = MADE.sub(partial(_filled, " "), without_code(text))
    yield Passage(1, text.count("\n") + 1, TARGET.sub("]()", written))


def without_code(text: str) -> str:
    """A page whose code is blank, or backticks within a line: all else stays on its line and in its column."""
    for code, filler in ((FENCE, " "), (CODE, "`")):
        text = code.sub(partial(_filled, filler), text)
    return text


def _filled(filler: str, match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", filler, match[0])


def of_python(text: str) -> Iterator[Passage]:
    """The docstrings, sentences in strings, and comments of a module."""
    yield from _strings(ast.parse(text))
    signs = tokenize.generate_tokens(io.StringIO(text).readline)
    yield from _joined((sign.start[0], sign.string[1:]) for sign in signs if sign.type == tokenize.COMMENT)


def _strings(node: ast.AST) -> Iterator[Passage]:
    text = _string(node)
    if text is None:
        for part in ast.iter_child_nodes(node):
            yield from _strings(part)
    elif re.search(r"\w\s+\w", text) and isinstance(node, ast.expr):
        yield Passage(node.lineno, node.end_lineno or node.lineno, re.sub(r"\n +", "\n", text))


def _string(node: ast.AST) -> str | None:
    """The text of a string; of an f-string with `X` for each value. None of anything else."""
    if isinstance(node, ast.JoinedStr):
        return "".join(_string(part) or "X" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


RUST_COMMENT = re.compile(r"^\s*//[/!]?(.*)$")
RUST_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)


def of_rust(text: str) -> Iterator[Passage]:
    """The comments and the sentences in strings of a Rust file."""
    lines = [(number, RUST_COMMENT.match(line)) for number, line in enumerate(text.splitlines(), start=1)]
    yield from _joined((number, comment[1]) for number, comment in lines if comment)
    code = "\n".join("" if RUST_COMMENT.match(line) else line.replace("'\"'", "") for line in text.splitlines())
    for string in RUST_STRING.finditer(code):
        if re.search(r"\w\s+\w", string[1]):
            line = code.count("\n", 0, string.start()) + 1
            yield Passage(line, line + string[1].count("\n"), re.sub(r"\\?\n +", "\n", string[1]))


def _joined(comments: Iterable[tuple[int, str]]) -> Iterator[Passage]:
    """Comments on lines that follow each other as one passage, so that a phrase may be broken between them."""
    first = 0
    lines: list[str] = []
    for number, text in comments:
        if lines and number != first + len(lines):
            yield Passage(first, first + len(lines) - 1, "\n".join(lines))
            lines = []
        first = first if lines else number
        lines.append(text.strip())
    if lines:
        yield Passage(first, first + len(lines) - 1, "\n".join(lines))


READERS: dict[str, Callable[[str], Iterator[Passage]]] = {MARKDOWN: of_markdown, PYTHON: of_python, RUST: of_rust}
"""How the prose of a kind of file is read, by the ending of its name."""


def sites(file: str, text: str) -> list[Site]:
    """The habits in the text of a file, in the order of its lines."""
    suffix = Path(file).suffix
    habits = [habit for habit in HABITS if suffix in habit.suffixes]
    matches = [site for passage in READERS[suffix](text) for habit in habits for site in _sites(file, passage, habit)]
    return sorted(matches, key=lambda site: site.line)


def _sites(file: str, passage: Passage, habit: Habit) -> Iterator[Site]:
    for match in habit.pattern.finditer(passage.text):
        line = passage.line + passage.text.count("\n", 0, match.start())
        yield Site(file, min(line, passage.last), habit, _around(passage.text, match))


def _around(text: str, match: re.Match[str]) -> str:
    """The words around what was found, on one line, from the line's beginning at most; code is left out."""
    start = max(text.rfind("\n", 0, match.start()) + 1, match.start() - CONTEXT)
    end = min(match.end(), match.start() + CONTEXT) + CONTEXT
    return " ".join(re.sub("`{3,}", "`…`", text[start:end]).split())


def tracked(root: Path = ROOT) -> list[str]:
    """The files of the project that people read, as git lists them; files not yet added count, too."""
    patterns = [f"*{suffix}" for suffix in READERS]
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns]
    code, listed = run(command, str(root), show=silent)
    if code:
        raise SystemExit("prose is checked in a git checkout; `git ls-files` failed here")
    return sorted(name for name in set(listed.splitlines()) if (root / name).is_file() and not name.startswith(UNREAD))


def in_files(names: Iterable[str], root: Path = ROOT) -> list[Site]:
    """The habits in some files of the project."""
    return [site for name in names for site in sites(name, (root / name).read_text(encoding="utf-8"))]


def allowed(path: Path = ALLOWED) -> list[Allowed]:
    """Read the sentences that may stay."""
    return [Allowed(**entry) for entry in tomllib.loads(path.read_text(encoding="utf-8")).get("sentence", [])]


def without(entries: Sequence[Allowed], counted: Iterable[Site]) -> list[Site]:
    """The sites that no entry allows."""
    return [site for site in counted if not any(entry.covers(site) for entry in entries)]


def idle(entries: Iterable[Allowed], counted: Sequence[Site]) -> list[str]:
    """The entries that allow nothing any more."""
    return [
        f"tests/{ALLOWED.name}: “{entry.text}” is not in {entry.file} any more; remove the entry"
        for entry in entries
        if not any(entry.covers(site) for site in counted)
    ]


Key = tuple[str, str]
"""A folder and a habit."""


def counts(counted: Iterable[Site]) -> Counter[Key]:
    """How many sites there are per folder and habit."""
    return Counter((site.folder, site.habit.key) for site in counted)


def stored(path: Path = COUNTS) -> Counter[Key]:
    """Read the ratchet."""
    folders: dict[str, dict[str, int]] = json.loads(path.read_text(encoding="utf-8"))
    return Counter({(folder, habit): count for folder, habits in folders.items() for habit, count in habits.items()})


def lowered(ratchet: Counter[Key], now: Counter[Key]) -> Counter[Key]:
    """The ratchet where counts have fallen; none rises."""
    return ratchet & now


def as_text(ratchet: Counter[Key]) -> str:
    """The ratchet as it is written: JSON, habits within folders, both sorted."""
    folders: dict[str, dict[str, int]] = defaultdict(dict)
    for (folder, habit), count in sorted(ratchet.items()):
        folders[folder][habit] = count
    return json.dumps(folders, indent=2) + "\n"


def risen(counted: Sequence[Site], ratchet: Counter[Key]) -> Iterator[str]:
    """Each count above the ratchet, followed by its sites."""
    for key, count in sorted((counts(counted) - ratchet).items()):
        folder, habit = key
        yield f"{folder}: `{habit}` {ratchet[key] + count} times, {ratchet[key]} allowed; one of these is new:"
        yield from (f"  {site}" for site in counted if (site.folder, site.habit.key) == key)


def main(words: Sequence[str]) -> int:
    """Hold the counts to the ratchet, lower it, or list the sites below some paths; return 0 when nothing is wrong."""
    if words and words != ["--lower"]:
        return _list(words)
    everything, entries = in_files(tracked()), allowed()
    counted = without(entries, everything)
    if words:
        COUNTS.write_text(as_text(lowered(stored(), counts(counted))), encoding="utf-8")
        return 0
    wrong = [*risen(counted, stored()), *idle(entries, everything)]
    print(*wrong, *_hint(counts(counted)), sep="\n")
    return 1 if wrong else 0


def _hint(now: Counter[Key]) -> list[str]:
    """What to type where counts have fallen."""
    mended = (stored() - now).total()
    return [f"{mended} sites fewer than tests/{COUNTS.name} says; type `scripts/prose --lower`"] if mended else []


def _list(paths: Sequence[str]) -> int:
    """Print the sites at or below some paths."""
    names = [name for name in tracked() if any(Path(name).is_relative_to(path) for path in paths)]
    if not names:
        print(f"no page or source of ours at {', '.join(paths)}; usage: scripts/prose [--lower | PATH...]")
        return 2
    print(*without(allowed(), in_files(names)), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

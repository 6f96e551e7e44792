"""Finds habits of prose that make a reader read twice, with file, line and what to write instead.

    scripts/prose                  in all pages and sources
    scripts/prose PATH...          at or below some paths

A sentence that is right as it is has an entry with a reason in tests/allowed-prose.toml.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from scripts.checks.command import run, silent
from scripts.checks.skips import ROOT

ALLOWED = ROOT / "tests" / "allowed-prose.toml"
UNREAD = ("tests/", "docs/reference/")
"""Tests quote the sentences of the sources, and the reference is made of them: they are mended at their source."""
CONTEXT = 40
"""Characters that are shown on either side of what was found."""
MARKDOWN, PYTHON = ".md", ".py"


@dataclass(frozen=True)
class Habit:
    """A turn of phrase: its key, its pattern, what to write instead, and whether only pages are searched for it."""

    key: str
    pattern: re.Pattern[str]
    instead: str
    pages_only: bool = False


BLANK = r"(?:[ \t]+|[ \t]*\n[ \t]*)"
"""Between two words of a sentence: blanks, or the end of one line."""


def _words(pattern: str, flags: re.RegexFlag = re.IGNORECASE) -> re.Pattern[str]:
    """Return a pattern whose blanks also match the end of a line."""
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
        _words(
            r"(?<!there\s)\b(?:is|are|was|were) (?!(?-i:None))(?:no|none)\b(?! (?:longer|more|less|fewer|\w+er than)\b)"
        ),
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
        pages_only=True,
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
    """Return a page without its blocks of code, what scripts print, and the targets of its links."""
    written = MADE.sub(partial(_filled, " "), _without_blocks(text))
    yield Passage(1, text.count("\n") + 1, TARGET.sub("]()", written))


def without_code(text: str) -> str:
    """Return a page whose code is blank, or backticks within a line: all else stays on its line and in its column."""
    return _without_names(_without_blocks(text))


def _without_blocks(text: str) -> str:
    return FENCE.sub(partial(_filled, " "), text)


def _without_names(text: str) -> str:
    return CODE.sub(partial(_filled, "`"), text)


def _filled(filler: str, match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", filler, match[0])


def of_python(text: str) -> Iterator[Passage]:
    """Yield the docstrings, sentences in strings, and comments of a module."""
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
    """Return the text of a string; of an f-string with ``X`` for each value. None of anything else."""
    if isinstance(node, ast.JoinedStr):
        return "".join(_string(part) or "X" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


SLASHES = re.compile(r"^\s*(?://[/!]?|/?\*+(?!/))(.*)$")
"""A comment on its own line in Rust, Go, Java, C# and JavaScript."""
DASHES = re.compile(r"^\s*---?(.*)$")
"""The same in Lua and SQL."""
QUOTED = re.compile(r'"((?:[^"\\\n]|\\.)*)"', re.DOTALL)


def of_code(comment: re.Pattern[str], text: str) -> Iterator[Passage]:
    """Yield the comments on lines of their own, and the sentences in strings of a source."""
    lines = [(number, comment.match(line)) for number, line in enumerate(text.splitlines(), start=1)]
    yield from _joined((number, match[1]) for number, match in lines if match)
    code = "\n".join("" if comment.match(line) else line.replace("'\"'", "") for line in text.splitlines())
    for string in QUOTED.finditer(code):
        if re.search(r"\w\s+\w", string[1]):
            line = code.count("\n", 0, string.start()) + 1
            yield Passage(line, line + string[1].count("\n"), re.sub(r"\\?\n +", "\n", string[1]))


def of_data(text: str) -> Iterator[Passage]:
    """Yield a YAML file as it is, without the signs of comments."""
    yield Passage(1, text.count("\n") + 1, re.sub(r"^( *)#", r"\1 ", text, flags=re.MULTILINE))


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


Reader = Callable[[str], Iterator[Passage]]
READERS: dict[str, Reader] = {
    MARKDOWN: of_markdown,
    PYTHON: of_python,
    **dict.fromkeys((".rs", ".go", ".java", ".cs", ".js"), partial(of_code, SLASHES)),
    **dict.fromkeys((".lua", ".sql"), partial(of_code, DASHES)),
    **dict.fromkeys((".yaml", ".yml"), of_data),
}
"""How the prose of a kind of file is read, by the ending of its name."""


def sites(file: str, text: str) -> list[Site]:
    """Return the habits in the text of a file, in the order of its lines."""
    suffix = Path(file).suffix
    habits = [habit for habit in HABITS if suffix == MARKDOWN or not habit.pages_only]
    matches = [site for passage in READERS[suffix](text) for habit in habits for site in _sites(file, passage, habit)]
    return sorted(matches, key=lambda site: site.line)


def _sites(file: str, passage: Passage, habit: Habit) -> Iterator[Site]:
    text = _without_names(passage.text)
    for match in habit.pattern.finditer(text):
        line = passage.line + text.count("\n", 0, match.start())
        yield Site(file, min(line, passage.last), habit, _around(text, match))


def _around(text: str, match: re.Match[str]) -> str:
    """Return the words around what was found, on one line, from the line's beginning at most; code is left out."""
    start = max(text.rfind("\n", 0, match.start()) + 1, match.start() - CONTEXT)
    end = min(match.end(), match.start() + CONTEXT) + CONTEXT
    return " ".join(re.sub("`{3,}", "`…`", text[start:end]).split())


def tracked(root: Path = ROOT) -> list[str]:
    """Return the files of the project that people read, as git lists them; files not yet added count, too."""
    patterns = [f"*{suffix}" for suffix in READERS]
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns]
    code, listed = run(command, str(root), show=silent)
    if code:
        raise SystemExit("prose is checked in a git checkout; `git ls-files` failed here")
    return sorted(name for name in set(listed.splitlines()) if (root / name).is_file() and not name.startswith(UNREAD))


def in_files(names: Iterable[str], root: Path = ROOT) -> list[Site]:
    """Return the habits in some files of the project."""
    return [site for name in names for site in sites(name, (root / name).read_text(encoding="utf-8"))]


def allowed(path: Path = ALLOWED) -> list[Allowed]:
    """Read the sentences that may stay."""
    return [Allowed(**entry) for entry in tomllib.loads(path.read_text(encoding="utf-8")).get("sentence", [])]


def without(entries: Sequence[Allowed], matches: Iterable[Site]) -> list[Site]:
    """Return the sites that no entry allows."""
    return [site for site in matches if not any(entry.covers(site) for entry in entries)]


def idle(entries: Iterable[Allowed], matches: Sequence[Site]) -> list[str]:
    """Return the entries that allow nothing any more."""
    return [
        f"tests/{ALLOWED.name}: “{entry.text}” is not in {entry.file} any more; remove the entry"
        for entry in entries
        if not any(entry.covers(site) for site in matches)
    ]


def main(paths: Sequence[str]) -> int:
    """Print the sites at or below some paths, of everything without any; return 0 when nothing is wrong."""
    names = [name for name in tracked() if any(Path(name).is_relative_to(path) for path in paths or ["."])]
    if not names:
        print(f"no page or source of ours at {', '.join(paths)}; usage: scripts/prose [PATH...]")
        return 2
    matches, entries = in_files(names), [entry for entry in allowed() if not paths or entry.file in names]
    wrong = [*map(str, without(entries, matches)), *idle(entries, matches)]
    print(*wrong, sep="\n", end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

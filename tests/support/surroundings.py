"""What a command line may be put into: full disks, closed streams, clocks that are set back, odd names, no home.

    python -m tests.support.surroundings [--seed N] [--count N] [CLASS ...]

Each case is a verb in such surroundings. The command draws cases of each class, or of the named ones, and prints what
broke, and a table of how many were tried and held. Mounts and networks of their own need root; without it those cases
are passed over.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.measured_run import STUDY, measured_run
from tests.support.studies import ROOT

PATIENCE_S = 90.0
"""A command that takes longer hangs: each of these is over in seconds."""
DOCUMENTED = frozenset({0, 1, 2, 3, 130, 141})
"""The exit codes that a command may end with."""
NEVER = re.compile(r"Traceback|patternbench itself failed|Exception ignored|\[Errno|lost sys\.stderr")
WRONG = re.compile(r"(?im)^\s*(error|usage|interrupted)\b|: error: ")
BARE = re.compile(r"(?m)^error: (No such file or directory|Permission denied|No space left on device)\.?$")
"""What is wrong, and not where."""
LEFT = (".tmp", ".new")
RECORDS = ("attempts/*", "journal.jsonl", "plan.json", "manifest.json", "study.yaml")
CLOCK = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1"
TINY = """\
patternbench: 1
name: {name}
system: {{name: target, settings: {{service_time: "fixed:1ms"}}}}
rounds: 2
warm_up: 0ms
time_limit: 6s
workload: {{closed: {{users: 2, duration: 300ms}}, request: {{path: /bytes/100}}}}
strategies: [{{client: native, baseline: {{}}}}]
speed_probe: {{every: 20ms}}
"""


@dataclass(frozen=True)
class Verb:
    """A command line in the folder of a case; ``R`` is its run, and ``O`` the folder that it writes to."""

    words: str
    drives: bool = False
    """Whether it starts a system or a load."""
    writes: bool = False
    takes_s: float = 3.0


VERBS = [
    Verb("plan study.yaml"),
    Verb("plan study.yaml --json"),
    Verb("report R", writes=True),
    Verb("report R --json", writes=True),
    Verb("report R --part claims"),
    Verb("report R --junit O/junit.xml", writes=True),
    Verb("export R --format csv --out O/rounds.csv", writes=True),
    Verb("export R --format parquet --out O/rounds.parquet", writes=True),
    Verb("export R --format hdrhistogram --out O/h.hlog", writes=True),
    Verb("compare R --baseline strategy=baseline"),
    Verb("compare R --baseline strategy=baseline --html O/c.html --save O/c.json", writes=True),
    Verb("recommend R --objective 'minimise p95'"),
    Verb("recommend R --objective 'minimise p95' --json"),
    Verb("fit R --formula 'p95 ~ users' --save O/model.json", writes=True),
    Verb("apply R --as spring --approximate --scenario strategy=retry,users=2"),
    Verb("apply R --as spring --approximate --scenario strategy=retry,users=2 --out O/spring.yaml", writes=True),
    Verb("history add O/kept R", writes=True),
    Verb("calibrate R --out O/model.yaml", writes=True, drives=True),
    Verb("simulate study.yaml --with graph-50 --out O/simulated", writes=True, drives=True, takes_s=6),
    Verb("init --command sh --yes --out O/mine", writes=True),
    Verb("example quickstart --out O/shown", writes=True),
    Verb("schema"),
    Verb("doctor"),
    Verb("run study.yaml --out O/run", writes=True, drives=True, takes_s=8),
    Verb("run study.yaml --out O/run --json", writes=True, drives=True, takes_s=8),
    Verb("run study.yaml --out O/run --watch", writes=True, drives=True, takes_s=8),
    Verb("run study.yaml", writes=True, drives=True, takes_s=8),
    Verb("resume R", writes=True, drives=True),
    Verb("try study.yaml", drives=True),
    Verb("load http://127.0.0.1:1/ --requests 5 --users 1", drives=True),
    Verb("load http://127.0.0.1:1/ --requests 5 --users 1 --out O/load --json", writes=True, drives=True),
    Verb("capacity http://127.0.0.1:1/ --objective 'p95<=1s' --duration 1s --most 20 --rounds 2", drives=True),
    Verb("gate --base http://127.0.0.1:1/ --aa --out O/gate", drives=True, writes=True),
    Verb("watch R --port 0"),
]


@dataclass(frozen=True)
class Surroundings:
    """What a command is put into: a script of bash that carries ``"$@"`` out, and variables (None: not set).

    ``folder`` is the name of the folder that it is in, ``for_`` says which verbs it is about.
    """

    kind: str
    name: str
    script: str = 'exec "$@"'
    env: Mapping[str, str | None] = field(default_factory=dict)
    folder: str = "here"
    for_: Callable[[Verb], bool] = lambda _: True
    study: str = "tiny"


def _writes(verb: Verb) -> bool:
    return verb.writes


def _drives(verb: Verb) -> bool:
    return verb.drives


MOUNTED = "exec unshare -m sh -c 'set -e; mount --make-rprivate /; {mount}; "
MOUNTED += 'cd "$PWD"; set +e; "$@"; code=$?; {after}; exit $code\' sh "$@"'
KEEP = "cp -a O/. kept-O/ 2>/dev/null"


def full(kib: int, inodes: int = 0) -> Surroundings:
    """A disk of a size for what a verb writes."""
    size = f"size={kib}k" + (f",nr_inodes={inodes}" if inodes else "")
    script = MOUNTED.format(mount=f"mount -t tmpfs -o {size} none O", after=KEEP)
    return Surroundings("full disk", f"{kib} KiB, {inodes or 'any'} names", script, for_=_writes)


def full_run(kib: int) -> Surroundings:
    """A run's folder on a disk with so much room left."""
    mount = f"mkdir again; cp -a R/. again/; mount -t tmpfs -o size=$(($(du -sk R | cut -f1) + {kib}))k none R"
    script = MOUNTED.format(mount=mount + "; cp -a again/. R/", after="rm -rf again; cp -a R/. kept-R/")
    return Surroundings("full disk", f"a run with {kib} KiB left", script, for_=lambda verb: " R" in verb.words)


def full_scratch(kib: int) -> Surroundings:
    """A folder for temporary files of a size."""
    script = MOUNTED.format(mount=f"mkdir t; mount -t tmpfs -o size={kib}k none t; export TMPDIR=$PWD/t", after="true")
    return Surroundings("full disk", f"TMPDIR of {kib} KiB", script, for_=_drives)


def read_only(what: str) -> Surroundings:
    """A file system that takes no change."""
    place = f'"$PWD/{what}"'
    mount = f"mount --bind {place} {place}; mount -o remount,bind,ro {place}"
    return Surroundings("read-only", what, MOUNTED.format(mount=mount, after="true"))


def clock(after_s: float, by_s: int) -> Surroundings:
    """The wall clock is set by so many seconds a while after the command began."""
    script = f"echo +0 >clock; (sleep {after_s}; echo {by_s:+d} >clock) & export LD_PRELOAD={CLOCK}"
    script += ' FAKETIME_TIMESTAMP_FILE=$PWD/clock FAKETIME_NO_CACHE=1 FAKETIME_DONT_FAKE_MONOTONIC=1; "$@"; code=$?'
    script += "; unset LD_PRELOAD; wait; rm clock; exit $code"
    return Surroundings("clock", f"{by_s:+d} s after {after_s} s", script, for_=_drives)


def date(by: str) -> Surroundings:
    """The wall clock of a machine that has another date."""
    env = {"LD_PRELOAD": CLOCK, "FAKETIME": by, "FAKETIME_NO_CACHE": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
    return Surroundings("clock", f"it is {by}", env=env)


def elsewhere(options: str) -> Surroundings:
    """A folder for temporary files on a file system of its own, mounted with options."""
    mount = f"mkdir t; mount -t tmpfs -o {options} none t; export TMPDIR=$PWD/t"
    return Surroundings("temporary files", f"a disk that is {options}", MOUNTED.format(mount=mount, after="true"))


def renamed(what: str, name: str, shown: str = "") -> Surroundings:
    """What a verb names is a link by another name, or a loop of links."""
    script = f'rm -rf -- {what}; ln -s -- {shlex.quote(name)} {what}; "$@"'
    return Surroundings("names", shown or f"{what} is a link to {name}", script, for_=lambda one: what in one.words)


def terminal(columns: int) -> Surroundings:
    """A terminal of a width."""
    script = f'exec script -qec "stty cols {columns} rows 24; $(printf "%q " "$@")" /dev/null'
    return Surroundings("narrow", f"a terminal of {columns} columns", script, {"COLUMNS": None, "TERM": "xterm"})


def redirected(how: str) -> Surroundings:
    """Streams as a shell redirects them."""
    return Surroundings("streams", how, f'"$@" {how}; exit ${{PIPESTATUS[0]}}')


def at_once(streams: str) -> Surroundings:
    """Streams whose writes are refused where they would have to wait, as some programs leave pipes; none reads long."""
    python = shlex.quote(sys.executable)
    given = "import os, sys; os.set_blocking(1, False); os.execv(sys.argv[1], sys.argv[1:])"
    script = f'{python} -c {shlex.quote(given)} "$@" {streams} | (sleep 9; cat); exit ${{PIPESTATUS[0]}}'
    return Surroundings("streams", f"refuse to wait {streams}", script)


def twice(other: str) -> Surroundings:
    """The same command twice at once, or next to another one."""
    python = shlex.quote(sys.executable)
    second = f"{python} -m patternbench {other}" if other else '"$@"'
    script = f'("$@"; echo "code $?") >one 2>&1 & ({second}; echo "code $?") >two 2>&1; wait; cat one two; rm one two'
    return Surroundings("two at once", other or "itself", script, for_=_writes)


ODD_NAMES = (
    "a b",
    "new\nline",
    "'quoted' \"twice\"",
    "$HOME `id` %s {} ~",
    "größe-日本-😀",
    "gro\u0308ße",
    "\u202egnirts\x1b[31m",
    "a\tb\\n",
    "~",
    "*",
    "n" * 255,
    "-out",
    "#x;y&z",
)
STUDY_NAMES = ('"-x"', '"gro\u0308ße"', '".."', '"a/b"', '"a\\nb"', '"' + "n" * 256 + '"', '"~"', '"a%sb"')
"""As YAML has them."""
NOT_UTF8 = os.fsdecode(b"latin-\xe9")
C = {"LC_ALL": "C", "LANG": "C"}
TRULY_ASCII = {"LC_ALL": "POSIX", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
SETPRIV = "chmod -R a+rwX . ; exec setpriv --reuid=54321 --regid=54321 --clear-groups "

EVERY: list[Surroundings] = [
    *(full(kib) for kib in (0, 4, 16, 32, 64, 128, 256, 1024)),
    *(full(100_000, inodes) for inodes in (1, 2, 4, 8, 16)),
    *(full_run(kib) for kib in (0, 4, 16, 64, 256)),
    *(full_scratch(kib) for kib in (4, 16, 128)),
    *(twice(other) for other in ("", "", "report R", "history add O/kept R", "resume R", "watch R --port 0")),
    twice("compare R --baseline strategy=baseline --html O/c.html --save O/c.json"),
    twice("run study.yaml"),
    *(clock(after, by) for after in (0.5, 1.5, 2.5, 4) for by in (-3600, -5, 3600)),
    *map(date, ("-56y", "+12y", "+81y", "+200y")),
    *(
        Surroundings("clock", f"TZ={zone}", env={"TZ": zone})
        for zone in ("Pacific/Kiritimati", "America/St_Johns", "no such zone", "", "X" * 300, ":/dev/full")
    ),
    *map(
        redirected,
        (
            *(">&-", "2>&-", "<&-", "<&- >&- 2>&-", ">/dev/full", "2>/dev/full", ">/dev/full 2>&1"),
            *("| head -1", "| true", "2>&1 >/dev/null | true", "2>&1 | head -c 10", "</dev/null", "</dev/full"),
            *(">/dev/null 2>&-", ">&- 2>/dev/full", "<&1", "</proc/self/mem"),
        ),
    ),
    *map(at_once, ("", "2>&1")),
    *map(read_only, ("R", "O", ".", "R/attempts")),
    *map(terminal, (20, 1, 2, 5)),
    *(
        Surroundings("narrow", f"COLUMNS={columns}", env={"COLUMNS": columns})
        for columns in ("20", "1", "0", "-5", "x")
    ),
    *(
        Surroundings("locale", name, env=env, study="größe")
        for name, env in {
            "C": C,
            "POSIX": {"LC_ALL": "POSIX"},
            "ASCII alone": TRULY_ASCII,
            "ascii": {"PYTHONIOENCODING": "ascii"},
            "ascii, strict": {"PYTHONIOENCODING": "ascii:strict", **C},
            "latin-1": {"PYTHONIOENCODING": "latin-1"},
            "utf-16": {"PYTHONIOENCODING": "utf-16"},
        }.items()
    ),
    *(
        Surroundings("user", name, script, env)
        for name, script, env in (
            ("no HOME", 'exec "$@"', {"HOME": None, "XDG_CACHE_HOME": None}),
            ("HOME is empty", 'exec "$@"', {"HOME": "", "XDG_CACHE_HOME": None}),
            ("HOME is not there", 'exec "$@"', {"HOME": "/nonexistent", "XDG_CACHE_HOME": None}),
            ("HOME is a device", 'exec "$@"', {"HOME": "/dev/null", "XDG_CACHE_HOME": None}),
            ("HOME is not UTF-8", 'exec "$@"', {"HOME": NOT_UTF8, "XDG_CACHE_HOME": None}),
            ("no USER", 'exec "$@"', {"USER": None, "LOGNAME": None}),
            ("no variables", 'exec env -i "PATH=$PATH" "$@"', {}),
            ("a number without a name", SETPRIV + '"$@"', {"HOME": None, "USER": None, "LOGNAME": None}),
            ("another user's HOME", SETPRIV + '"$@"', {"HOME": "/root"}),
        )
    ),
    *(
        Surroundings(
            "temporary files", name, 'mkdir -p -- "$T"; export TMPDIR=$T; exec "$@"', {"T": name}, for_=_drives
        )
        for name in ("./a b", "./new\nline", "./" + "n" * 200, f"./{NOT_UTF8}", "./größe")
    ),
    *(
        Surroundings("temporary files", f"TMPDIR={name}", env={"TMPDIR": name}, for_=_drives)
        for name in ("/nonexistent", "/dev/null", "/proc", "")
    ),
    *map(elsewhere, ("size=100m", "size=100m,noexec", "size=100m,ro")),
    Surroundings(
        "temporary files",
        "TMPDIR goes away",
        'mkdir t; export TMPDIR=$PWD/t; (sleep 1.5; rm -rf t) & "$@"; code=$?; wait; exit $code',
        for_=_drives,
    ),
    Surroundings("no network", "no interface is up", 'exec unshare -n "$@"'),
    *(Surroundings("names", repr(name[:30]), folder=name) for name in ODD_NAMES),
    *(renamed(what, what) for what in ("O", "R", "study.yaml")),
    *(renamed(what, "not/there") for what in ("O", "R", "study.yaml")),
    *(Surroundings("names", f"a study of the name {name[:30]!r}", study=name) for name in STUDY_NAMES),
    Surroundings("names", "not UTF-8", folder=NOT_UTF8),
    Surroundings("names", "very long", folder="/".join(["d" * 200] * 12)),
]
KINDS = list(dict.fromkeys(one.kind for one in EVERY))


@dataclass(frozen=True)
class Case:
    """A verb in surroundings."""

    verb: Verb
    around: Surroundings

    @property
    def title(self) -> str:
        """Both in a line."""
        return f"{self.around.kind}: {self.around.name}: {self.verb.words}"


def cases(kind: str, count: int, seed: int) -> list[Case]:
    """Draw cases of a class; each of its surroundings comes before one comes again."""
    draw = random.Random(f"{kind} {seed}")
    drawn: list[Case] = []
    while len(drawn) < count:
        arounds = [one for one in EVERY if one.kind == kind]
        draw.shuffle(arounds)
        drawn += [Case(draw.choice([verb for verb in VERBS if one.for_(verb)]), one) for one in arounds]
    return drawn[:count]


def is_root() -> bool:
    """Whether file systems can be mounted here."""
    return subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode == 0


def needs_root(around: Surroundings) -> bool:
    """Whether these surroundings are made with mounts, networks or users of their own."""
    return any(word in around.script for word in ("unshare", "setpriv"))


def made(folder: Path, run: Path, study: str) -> Path:
    """Make the folder of a case: a study, the run ``R``, and ``O`` to write to."""
    folder.mkdir(parents=True)
    (folder / "study.yaml").write_text(TINY.format(name=study), encoding="utf-8")
    shutil.copytree(run, folder / "R")
    for name in ("O", "kept-O", "kept-R"):
        (folder / name).mkdir()
    return folder


def recorded(run: Path) -> dict[str, str]:
    """The hashes of a run's records, by their names."""
    files = sorted(path for pattern in RECORDS for path in run.glob(pattern))
    return {str(path.relative_to(run)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def tried(case: Case, run: Path, scratch: Path) -> list[str]:
    """Try a case, and return what broke."""
    own = Path(tempfile.mkdtemp(dir=scratch))
    own.chmod(0o755)
    here = own / case.around.folder
    try:
        made(here, run, case.around.study)
    except OSError as error:
        return [f"the case could not be made: {error}"]
    before = recorded(here / "R")
    code, said, took = carried_out(case, here)
    wrong = [f"took {took:.0f} s"] if code is None else []
    if code not in (None, *DOCUMENTED):
        wrong.append(f"ended with {code}")
    wrong += [f"said {found[0]!r}" for found in [NEVER.search(said)] if found]
    wrong += [f"does not say where: {found[0]!r}" for found in [BARE.search(said)] if found]
    if code == 2 and "/dev" not in case.around.script and ">&-" not in case.around.script and not WRONG.search(said):
        wrong.append("ended with 2 and without an error")
    wrong += [f"changed records of {run}" for run in ("R", "kept-R") if recorded(here / run) not in (before, {})]
    wrong += [
        f"one of them ended with {one}" for one in re.findall(r"(?m)^code (\d+)$", said) if int(one) not in DOCUMENTED
    ]
    wrong += [f"left {path.relative_to(here)}" for path in drafts(here)]
    return [*wrong, *([f"--- it said:\n{said[-3000:]}"] if wrong else [])]


def drafts(here: Path) -> Iterable[Path]:
    """What is left of files that were being written."""
    places = [here / name for name in ("O", "kept-O", "R", "kept-R")]
    found = [path for place in places for path in place.rglob("*")]
    return [path for path in found if path.name.endswith(LEFT) or path.name.startswith(".patternbench-")]


def carried_out(case: Case, here: Path) -> tuple[int | None, str, float]:
    """Carry a case out: its exit code (None where it hung), what it said, and how long it took."""
    words = [sys.executable, "-m", "patternbench", *shlex.split(case.verb.words)]
    env = {**os.environ, "PYTHONPATH": str(ROOT), **case.around.env}
    given = {name: value for name, value in env.items() if value is not None}
    begun = time.monotonic()
    child = subprocess.Popen(
        ["bash", "-c", f"trap : TERM; {case.around.script}", "bash", *words],
        cwd=here,
        env=given,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        if "watch " in case.verb.words + case.around.name:
            ended_later(child)
        said, _ = child.communicate(timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        said, _ = child.communicate()
        return None, said.decode(errors="replace"), time.monotonic() - begun
    return child.returncode, said.decode(errors="replace"), time.monotonic() - begun


def ended_later(child: subprocess.Popen[bytes]) -> None:
    """End what waits for Ctrl-C, all processes of it, after a few seconds."""
    for _ in range(4):
        with suppress(subprocess.TimeoutExpired):
            child.wait(10)
            return
        os.killpg(child.pid, signal.SIGTERM)


def attack(drawn: Sequence[Case], scratch: Path, workers: int = 2) -> dict[str, list[str]]:
    """Try cases, and return what broke by their titles; those that held have nothing."""
    run = measured_run(scratch / "run", text=STUDY).path
    root = is_root()
    possible = [one for one in drawn if root or not needs_root(one.around)]
    with ThreadPoolExecutor(workers) as pool:
        found = pool.map(lambda one: tried(one, run, scratch), possible)
        return dict(zip((one.title for one in possible), found, strict=True))


def main() -> int:
    """Attack, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("kinds", nargs="*", choices=[*KINDS, []])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=20)
    given = parser.parse_args()
    broken = 0
    rows = []
    for kind in given.kinds or KINDS:
        with tempfile.TemporaryDirectory(prefix="surroundings-") as folder:
            Path(folder).chmod(0o755)
            found = attack(cases(kind, given.count, given.seed), Path(folder))
        for title, wrong in found.items():
            if wrong:
                print(f"\n=== {title}", *wrong, sep="\n", flush=True)
        held = sum(not wrong for wrong in found.values())
        broken += len(found) - held
        rows.append(f"{kind:16} tried {len(found):4} held {held:4}")
        print(rows[-1], flush=True)
    print("", *rows, sep="\n")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())

"""Studies that nobody writes on purpose and that are allowed all the same: odd texts, empty loads, extreme levels.

    python -m tests.support.hostile_studies [NAME ...]

Each is a short study of the calibrated target whose quick form lasts about a second. The command runs those that
``plan`` takes, or the named ones, and prints what broke.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

BASE = {
    "patternbench": "1",
    "name": "hostile",
    "system": '{name: target, settings: {service_time: "fixed:1ms"}}',
    "rounds": "2",
    "warm_up": "0ms",
    "time_limit": "6s",
    "workload": "{closed: {users: 2, duration: 200ms}, request: {path: /bytes/100}}",
    "strategies": "[{client: native, baseline: {}}]",
    "quick": "{rounds: 1}",
}
SHORT = "closed: {users: 2, duration: 200ms}"
RETRY = "retry: {max_attempts: 3, backoff: {fixed: {delay: 1ms}}}"
CLAIM = "says: x, response: p95, from: {strategy: baseline}, to: {strategy: retry}"
BOTH = f"[{{client: native, baseline: {{}}}}, {{client: native, {RETRY}}}]"


def _load(**fields: str) -> dict[str, str]:
    return {"workload": "{" + ", ".join(f"{name}: {value}" for name, value in fields.items()) + "}"}


def _request(text: str) -> dict[str, str]:
    return {"workload": f"{{{SHORT}, request: {text}}}"}


def _journey(steps: str, load: str = SHORT) -> dict[str, str]:
    return {"workload": f"{{{load}, journey: {steps}}}"}


def _fault(text: str, **more: str) -> dict[str, str]:
    return {"faults": f"[{text}]", **more}


def _stack(policies: str) -> dict[str, str]:
    return {"strategies": f"[{{client: native, baseline: {{}}}}, {{client: native, stack: [{policies}]}}]"}


STUDIES: dict[str, dict[str, str]] = {
    # --- texts
    "a name of one character": {"name": "0"},
    "a name of the longest kind": {"name": "n" * 100},
    "a description from the right to the left": {"description": '"\\u202Eevil \\u0007 \\n\\n x"'},
    "a header with a blank and quotes": _request("{path: /bytes/1, headers: {X-A: ' a\" ', X-B: ''}}"),
    "a hundred headers": _request(
        "{path: /bytes/1, headers: {" + ", ".join(f"X-{n}: {'v' * 50}" for n in range(100)) + "}}"
    ),
    "a path of 7,000 characters": _request(f"{{path: '/bytes/1?{'q' * 7000}'}}"),
    "a path of percent signs": _request("{path: /%00%0a%25%2e%2e/}"),
    "a query without a value": _request("{path: /bytes/1, query: {a: '', b: ' ', c: '&=?#'}}"),
    "levels that are nearly one": _request(
        "{path: /bytes/1, query: {a: ['1', '1.0', '01', ' 1', 'true', 'null', 'NA']}}"
    ),
    "levels of other scripts": _request("{path: /bytes/1, query: {a: ['\u0661', 'é', 'e\u0301', '😀', 'ß']}}"),
    "a level of 3,000 characters": _request(f"{{path: /bytes/1, query: {{a: [x, {'y' * 3000}]}}}}"),
    "a body of a megabyte": _request(f"{{method: POST, path: /bytes/1, body: {'x' * 1_000_000}}}"),
    "a method of one's own": _request("{method: BREW, path: /bytes/1}"),
    "a head without an answer's body": _request("{method: HEAD, path: /bytes/1000}"),
    "a parameter called as a column": _load(
        closed="{users: 2, duration: 200ms}",
        parameters="{round: [1, 2], p95: [1], block: [3]}",
        request="{path: '/bytes/${round}'}",
    ),
    "a parameter with the name of a factor": _load(
        closed="{users: [1, 2], duration: 200ms}", parameters="{users: [1, 2]}", request="{path: '/bytes/${users}'}"
    ),
    "a strategy with an odd name": {"strategies": "[{client: native, name: ' a, b=c \u202e', baseline: {}}]"},
    "two strategies that differ in a blank": {
        "strategies": f"[{{client: native, name: a, baseline: {{}}}}, {{client: native, name: 'a ', {RETRY}}}]"
    },
    # --- load
    "one call": _load(closed="{users: 1, calls: 1}"),
    "no call at all": _load(open="{rate: 0.001, duration: 200ms}"),
    "a peak after the end": _load(open="{schedule: {spike: {base: 0, peak: 100, at: 1s, for: 1s}}, duration: 200ms}"),
    "a sine that goes to zero": _load(open="{schedule: {sine: {mean: 5, amplitude: 5, period: 1s}}, duration: 300ms}"),
    "a ramp that falls to nothing": _load(open="{schedule: {ramp: {from: 50, to: 0, over: 300ms}}, duration: 300ms}"),
    "steps of a millisecond": _load(open="{schedule: {steps: [{rate: 1000, for: 1ms}, {rate: 1, for: 1ms}]}}"),
    "far more than fits": _load(open="{rate: 100000, duration: 200ms, in_flight: 10}"),
    "nothing may be in flight but one": _load(open="{rate: 2000, duration: 200ms, in_flight: 1}"),
    "arrivals at random, one": _load(open="{rate: 10, spacing: poisson, arrivals: 1}"),
    "a user for each arrival": _load(open="{rate: 100, duration: 200ms, users: 10000}"),
    "more users than calls": _load(closed="{users: 300, calls: 10}"),
    "thinking for longer than it lasts": _load(closed="{users: 2, duration: 200ms, think_time: 10m}"),
    "starting for longer than it lasts": _load(closed="{users: 5, duration: 200ms, start_over: 1h}"),
    "a round of a millisecond": _load(closed="{users: 1, duration: 1ms}"),
    "a timeout of a microsecond": _request("{path: /bytes/1, timeout: 1us}"),
    "a time limit before the load's end": {"time_limit": "100ms"},
    "a warm-up longer than the limit": {"warm_up": "2s", "time_limit": "1s"},
    "a warm-up of one answer": {"warm_up": "{requests: 1, at_most: 100ms}"},
    "a warm-up until it settles": {"warm_up": "{until: settled, at_most: 200ms}"},
    "new connections": _load(closed="{users: 2, duration: 200ms}", connection="new"),
    "connections of both kinds": _load(closed="{users: 2, duration: 200ms}", connection="[reuse, new]"),
    "groups of which one never acts": _load(
        duration="200ms",
        users="3",
        groups="[{name: a, share: 100}, {name: b, users: 1, think_time: 1h, start_over: 1h}]",
    ),
    "a group of a thousandth": _load(
        duration="200ms", users="1", groups="[{name: a, share: 0.1}, {name: b, share: 99.9}]"
    ),
    "forty scenarios": _load(
        closed="{users: [1, 2, 3, 4, 5], duration: 10ms}",
        request="{path: /bytes/1, query: {a: [1, 2, 3, 4, 5, 6, 7, 8]}}",
    ),
    # --- journeys
    "a step that is never as expected": _journey("[{path: /bytes/1, expect: {statuses: [418]}}]"),
    "a step without an end": _journey(
        "[{path: /bytes/1, expect: {statuses: [418]}, until_expected: {limit: 1h, every: 0ms}}]"
    ),
    "a pause that never ends": _journey("[{path: /bytes/1, pause: 1h}, {path: /bytes/2}]"),
    "a step that is repeated for ever": _journey("[{path: /bytes/1, repeat: 10000}]"),
    "a value that no answer has": _journey("[{path: /bytes/1, capture: {a: {json: $.none}}}, {path: '/bytes/${a}'}]"),
    "a pattern that backtracks": _journey(f"[{{path: /bytes/1000, expect: {{body_matches: '{'(a*)*' * 3}b'}}}}]"),
    "an expectation of an empty text": _journey("[{path: /bytes/1, expect: {body_contains: ''}}]"),
    "redirects to nowhere": _journey("[{path: /bytes/1, redirects: 20}]"),
    "steps of one name": _journey("[{name: a, path: /bytes/1}, {name: a, path: /bytes/2}]"),
    "a step with an odd name": _journey("[{name: 'a,b\u202e\"\\', path: /bytes/1}]"),
    "a set-up that fails": {"workload": f"{{{SHORT}, set_up: [{{path: /bytes/1, expect: {{statuses: [201]}}}}]}}"},
    "a journey of which nothing is left in time": _journey(
        "[{path: /bytes/1, pause: 10s}]", "closed: {users: 1, journeys: 1}"
    ),
    "a list of nothing": {
        "workload": f"{{{SHORT}, lists: {{ids: {{count: 0, of: a}}}}, journey: [{{path: '/bytes/1?a=${{ids}}'}}]}}"
    },
    "items that nothing carried": _journey("[{path: /bytes/1, items: 1, expect: {statuses: [500]}}]"),
    # --- faults
    "nothing but errors": _fault("{abort: {percentage: 100, status: 503}}"),
    "answers that say 200 as a fault": _fault("{abort: {percentage: [0, 100], status: 200}}"),
    "a fault of a millionth": _fault("{abort: {percentage: 0.0001}}"),
    "a delay longer than the round": _fault("{delay: {percentage: 100, duration: 1h}}"),
    "a delay with as much spread": _fault("{delay: {percentage: 50, duration: 1ms, spread: 1ms}}"),
    "every answer is reset": _fault("{reset: {percentage: 100}}"),
    "every call stalls": _fault(
        "{stall: {percentage: 100}}", workload=_request("{path: /bytes/1, timeout: 50ms}")["workload"]
    ),
    "every call is refused": _fault("{refuse: {}}"),
    "a byte per second": _fault(
        "{slow: {bandwidth: 1B/s}}", workload=_request("{path: /bytes/100, timeout: 100ms}")["workload"]
    ),
    "a fault after the end": _fault("{crash: {}, where: target, when: {from: 10m, for: 1s}}"),
    "a crash of no length": _fault("{crash: {}, where: target, when: {from: 50ms, for: 0ms}}"),
    "a crash that outlasts the round": _fault("{crash: {}, where: target, when: {from: 50ms}}"),
    "a freeze of all of it": _fault(
        "{freeze: {}, where: target}", workload=_request("{path: /bytes/1, timeout: 50ms}")["workload"]
    ),
    "frozen for a microsecond": _fault("{freeze: {}, where: target, when: {from: 50ms, for: 1us}}"),
    "a CPU taken away": _fault("{cpu: {percentage: 99}, where: target}"),
    "ten windows": _fault(
        "{freeze: {}, where: target, when: [" + ", ".join(f"{{from: {20 * n}ms, for: 5ms}}" for n in range(10)) + "]}"
    ),
    "a crash and a freeze at once": {
        "faults": "[{crash: {}, where: target, when: {from: 20ms, for: 100ms}}, "
        "{freeze: {}, where: target, when: {from: 50ms, for: 50ms}}]"
    },
    # --- patterns
    "a thousand attempts at once": _stack("{retry: {max_attempts: 1000, backoff: {fixed: {delay: 0ms}}}}"),
    "attempts that never come": _stack("{retry: {max_attempts: 3, backoff: {fixed: {delay: 1h}}}}"),
    "a back-off that grows without bound": _stack(
        "{retry: {max_attempts: 100, backoff: {exponential: {initial: 1us, multiplier: 100}}}}"
    ),
    "a breaker of one call": _stack(
        "{circuit_breaker: {failure_rate: 1, window: {calls: 1}, minimum_calls: 1, open_for: 1us, half_open_calls: 1}}"
    ),
    "a breaker that stays open": {
        **_fault("{abort: {percentage: 100}}"),
        **_stack(
            "{circuit_breaker: {failure_rate: 1, window: {calls: 1}, minimum_calls: 1, open_for: 1h, "
            "half_open_calls: 1}}"
        ),
    },
    "a bulkhead for no one else": _stack("{bulkhead: {max_concurrent: 1, max_waiting: 0}}"),
    "hedges at once": _stack("{hedge: {delay: 0ms, max_attempts: 10}}"),
    "a limit of one call in a day": _stack("{rate_limit: {calls: 1, per: 24h}}"),
    "a deadline of a microsecond": _stack("{deadline: 1us}"),
    "a budget of nothing": _stack(f"{{{RETRY}}}, {{retry_budget: {{ratio: 0, capacity: 1}}}}"),
    # --- analysis
    "a response divided by nothing": {"derived": "{a: failure_rate / failure_rate, b: p95 / (goodput - goodput)}"},
    "a recommendation by nothing": {
        "derived": "{a: failure_rate / failure_rate}",
        "recommend": "{objectives: [minimise derived.a]}",
        "strategies": BOTH,
    },
    "a limit that nothing keeps": {"recommend": "{objectives: [maximise p95], subject_to: [goodput >= 1000000]}"},
    "a model of one row": {"models": "[p95 ~ 1]"},
    "a model of a constant": {"models": "['failure_rate ~ C(strategy)', 'log(p95) ~ C(strategy)']", "strategies": BOTH},
    "claims that can't be judged": {
        "claims": f"[{{{CLAIM}, change: same, margin: 1%}}, {{{CLAIM}, change: higher}}]",
        "strategies": BOTH,
    },
    "a claim about a response that failed": {
        "claims": f"[{{{CLAIM.replace('p95', 'call_success_p95')}, change: lower}}]",
        **_fault("{abort: {percentage: 100}}"),
        "strategies": BOTH,
    },
    "rounds that stop at once": {
        "rounds": "{until: {response: p95, half_width: 99%}, min: 3, max: 3}",
        "quick": "{form: quick}",
    },
    "an objective that none meets": {"objective": "{response_time: 1us}"},
    "a probe of all processors": {"speed_probe": "{cpus: all, every: 1ms}"},
    "a seed of the largest kind": {"seed": str(2**63 - 1)},
    "a fraction of all": {
        "design": "{fraction: 1/2}",
        "workload": "{closed: {users: [1, 2], duration: 50ms}, "
        "request: {path: /bytes/1, query: {a: [1, 2], b: [1, 2]}}}",
    },
    "all combinations but one": {
        "design": "{exclude: [{users: [1, 2]}]}",
        "workload": "{closed: {users: [1, 2, 3], duration: 50ms}, request: {path: /bytes/1}}",
    },
}
"""What each study has in place of the base's fields, or besides them, by what is odd about it."""

RUN = [sys.executable, "-c", "from patternbench.cli.main import main; main()"]
LONGEST_S = 90.0
BROKEN = re.compile(r"Traceback|please report it|panicked|RuntimeWarning")


def text_of(name: str) -> str:
    """Return the text of a study."""
    return "".join(f"{key}: {value}\n" for key, value in {**BASE, **STUDIES[name]}.items())


def faults_of(name: str, folder: Path) -> list[str]:
    """Run a study and make its report again; returns what broke, nothing if all held or ``plan`` refused it."""
    study, run = folder / "study.yaml", folder / "run"
    study.write_text(text_of(name), encoding="utf-8")
    planned = _called("plan", str(study), "--quick", "--json")
    if planned.returncode == 2:
        return list(_words("plan", planned))
    done = _called("run", str(study), "--quick", "--out", str(run), "--json")
    found = [*_words("plan", planned), *_words("run", done)]
    if done.returncode not in (0, 1):
        return [*found, f"run ended with {done.returncode}: {done.stderr[-400:]}"]
    found += _lost(run, planned.stdout)
    again = _called("report", str(run))
    return [
        *found,
        *_words("report", again),
        *([f"report: {again.stderr[-300:]}"] if again.returncode not in (0, 1) else []),
    ]


def _called(*words: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run([*RUN, *words], capture_output=True, text=True, timeout=LONGEST_S, check=False)
    except subprocess.TimeoutExpired as hung:
        return subprocess.CompletedProcess([], -1, "", f"hung for {hung.timeout} s")


def _words(verb: str, done: subprocess.CompletedProcess[str]) -> Iterator[str]:
    broken = BROKEN.search(done.stderr + done.stdout)
    if broken:
        yield f"{verb}: {broken[0]}: {done.stderr[-600:]}"


def _lost(run: Path, planned: str) -> Iterator[str]:
    """Yield what is missing of a run that ended by itself."""
    journal = run / "journal.jsonl"
    lines = [json.loads(line) for line in journal.read_text(encoding="utf-8").splitlines()] if journal.exists() else []
    there = {line["round"] for line in lines if line["round"] >= 0}
    count = len(json.loads((run / "plan.json").read_text(encoding="utf-8"))["rounds"])
    if not planned.strip():
        yield "plan printed nothing"
    if len(there) != count and not any(line["status"] == "failed" for line in lines):
        yield f"{len(there)} of {count} rounds have a line in the journal"
    for line in lines:
        if line["status"] == "done" and not (run / "attempts" / f"{line['file']}.parquet").is_file():
            yield f"round {line['round']} is done and has no attempts"


def main(names: list[str]) -> None:
    """Run studies and print what broke."""
    for name in names or STUDIES:
        with tempfile.TemporaryDirectory(prefix="hostile-") as folder:
            found = faults_of(name, Path(folder))
            print(f"{name}: {'; '.join(found) or 'held'}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])

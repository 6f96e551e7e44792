"""The six algorithms by their definitions, over the whole history and in exact fractions.

Every implementation (Lua core, Redis script, MariaDB procedure) is held to the vectors that this file writes:
``python contracts/ratelimit/definitions.py`` rewrites ``vectors/*.json``. Times are whole microseconds.
``paper`` in a vector is what the published pseudocode admits
(Algorithms 1 to 6 of Kalyanasundaram et al., 2025).
"""

import json
import random
from collections.abc import Callable
from fractions import Fraction
from math import ceil, floor
from pathlib import Path
from typing import NamedTuple

SECOND = 1_000_000
SET_BACK = "a clock that is set back by an hour, and forward again"


class Rule(NamedTuple):
    """What a limit allows: ``limit`` units per ``window`` microseconds; the rest where an algorithm has it."""

    limit: int
    window: int
    burst: int = 1
    sub_windows: int = 1


class Answer(NamedTuple):
    """What a decision says; ``retry_after`` -1 means never."""

    allowed: bool
    remaining: int
    reset: int
    retry_after: int
    delay: int


Grants = list[tuple[int, int]]


def fixed_window(grants: Grants, now: int, rule: Rule, cost: int) -> Answer:
    """Count the grants since the last multiple of the window."""
    start = now - now % rule.window
    taken = sum(units for at, units in grants if at >= start)
    reset = start + rule.window - now
    if taken + cost <= rule.limit:
        return Answer(True, rule.limit - taken - cost, reset, 0, 0)
    return Answer(False, rule.limit - taken, reset, -1 if cost > rule.limit else reset, 0)


def sliding_window_log(grants: Grants, now: int, rule: Rule, cost: int) -> Answer:
    """Count the grants of less than a window's age."""
    live = [(at, units) for at, units in grants if now - at < rule.window]
    taken = sum(units for _, units in live)
    allowed = taken + cost <= rule.limit
    after = [*live, (now, cost)] if allowed else live
    reset = max((at for at, _ in after), default=now - rule.window) + rule.window - now
    left = rule.limit - sum(units for _, units in after)
    return Answer(allowed, left, reset, 0 if allowed else _first_room(live, now, rule, cost), 0)


def _first_room(live: Grants, now: int, rule: Rule, cost: int) -> int:
    for expiry in sorted({at + rule.window for at, _ in live}):
        if sum(units for at, units in live if expiry - at < rule.window) + cost <= rule.limit:
            return expiry - now
    return -1


def _estimate(grants: Grants, now: int, rule: Rule) -> Fraction:
    sub = ceil(Fraction(rule.window, rule.sub_windows))
    index = now // sub
    total = Fraction(0)
    for at, units in grants:
        age = index - at // sub
        if age < rule.sub_windows:
            total += units
        elif age == rule.sub_windows:
            total += units * (1 - Fraction(now - index * sub, sub))
    return total


def sliding_window_counter(grants: Grants, now: int, rule: Rule, cost: int) -> Answer:
    """Count whole sub-windows, and the oldest one by the share of it that the window still covers."""
    sub = ceil(Fraction(rule.window, rule.sub_windows))
    allowed = _estimate(grants, now, rule) + cost <= rule.limit
    after = [*grants, (now, cost)] if allowed else grants
    newest = max((at // sub for at, _ in after), default=0)
    reset = max(0, (newest + rule.sub_windows + 1) * sub - now)
    remaining = max(0, floor(rule.limit - _estimate(after, now, rule)))
    return Answer(allowed, remaining, reset, 0 if allowed else _search(grants, now, rule, cost), 0)


def _search(grants: Grants, now: int, rule: Rule, cost: int) -> int:
    """Bisect for the first moment with room: the estimate never grows while nothing is granted."""
    if cost > rule.limit:
        return -1
    low, high = 0, 2 * rule.window + rule.sub_windows * 2 + 2
    while high - low > 1:
        middle = (low + high) // 2
        fits = _estimate(grants, now + middle, rule) + cost <= rule.limit
        low, high = (low, middle) if fits else (middle, high)
    return high


def _lack(grants: Grants, now: int, rule: Rule) -> Fraction:
    """How many units a bucket misses at ``now``, drained by limit/window."""
    lack, last = Fraction(0), 0
    for at, units in grants:
        lack = max(Fraction(0), lack - Fraction((at - last) * rule.limit, rule.window)) + units
        last = at
    return max(Fraction(0), lack - Fraction((now - last) * rule.limit, rule.window))


def token_bucket(grants: Grants, now: int, rule: Rule, cost: int) -> Answer:
    """Admit when the bucket of ``burst`` tokens holds ``cost``."""
    lack = _lack(grants, now, rule)
    each = Fraction(rule.window, rule.limit)
    if lack + cost <= rule.burst:
        after = lack + cost
        return Answer(True, floor(rule.burst - after), ceil(after * each), 0, 0)
    retry = -1 if cost > rule.burst else ceil((lack + cost - rule.burst) * each)
    return Answer(False, floor(rule.burst - lack), ceil(lack * each), retry, 0)


def leaky_bucket(grants: Grants, now: int, rule: Rule, cost: int) -> Answer:
    """Admit like a token bucket, and hold each request until those before it have left."""
    answer = token_bucket(grants, now, rule, cost)
    delay = ceil(_lack(grants, now, rule) * Fraction(rule.window, rule.limit)) if answer.allowed else 0
    return answer._replace(delay=delay)


Decide = Callable[[Grants, int, Rule, int], Answer]
DEFINITIONS: dict[str, Decide] = {
    "fixed_window": fixed_window,
    "sliding_window_log": sliding_window_log,
    "sliding_window_counter": sliding_window_counter,
    "token_bucket": token_bucket,
    "leaky_bucket": leaky_bucket,
    "gcra": token_bucket,
}
DEVIATIONS = {
    "fixed_window": "none",
    "sliding_window_log": "the pseudocode still counts an entry that is exactly one window old",
    "sliding_window_counter": "the pseudocode asks estimate < limit and so exceeds it by up to one unit",
    "token_bucket": "none",
    "leaky_bucket": "the pseudocode gives simultaneous requests no delay, so that they leave together, and admits "
    "capacity + 1 of others, as the one that leaves at once takes no place in its queue",
    "gcra": "the pseudocode admits burst + 1 at once",
}


def paper(algorithm: str, rule: Rule, times: list[int]) -> list[bool]:
    """Return what the published pseudocode admits of requests of cost one, in exact fractions."""
    return {
        "fixed_window": _paper_fixed_window,
        "sliding_window_log": _paper_log,
        "sliding_window_counter": _paper_counter,
        "token_bucket": _paper_tokens,
        "leaky_bucket": _paper_leaky,
        "gcra": _paper_gcra,
    }[algorithm](rule, times)


def _paper_fixed_window(rule: Rule, times: list[int]) -> list[bool]:
    count, window_start, out = 0, -1, []
    for now in times:
        start = now // rule.window * rule.window
        if start != window_start:
            count, window_start = 0, start
        out.append(count < rule.limit)
        count += out[-1]
    return out


def _paper_log(rule: Rule, times: list[int]) -> list[bool]:
    log: list[int] = []
    out = []
    for now in times:
        log = [at for at in log if not at < now - rule.window]
        out.append(len(log) < rule.limit)
        log += [now] * out[-1]
    return out


def _paper_counter(rule: Rule, times: list[int]) -> list[bool]:
    sub = ceil(Fraction(rule.window, rule.sub_windows))
    counter: dict[int, int] = {}
    out = []
    for now in times:
        current = now // sub
        weight = 1 - Fraction(now - current * sub, sub)
        whole = sum(counter.get(current - back, 0) for back in range(rule.sub_windows))
        out.append(counter.get(current - rule.sub_windows, 0) * weight + whole < rule.limit)
        counter[current] = counter.get(current, 0) + out[-1]
    return out


def _paper_tokens(rule: Rule, times: list[int]) -> list[bool]:
    tokens, last, out = Fraction(rule.burst), times[0], []
    for now in times:
        tokens = min(Fraction(rule.burst), tokens + Fraction((now - last) * rule.limit, rule.window))
        last = now
        out.append(tokens >= 1)
        tokens -= out[-1]
    return out


def _paper_leaky(rule: Rule, times: list[int]) -> list[bool]:
    queue: list[Fraction] = []
    out = []
    for now in times:
        last = queue[-1] if queue else Fraction(now)
        queue = [at for at in queue if not at < now]
        out.append(len(queue) < rule.burst)
        gap = now - last
        delay = max(Fraction(0), Fraction(rule.window, rule.limit) - gap) if gap != 0 else Fraction(0)
        queue += [now + delay] * out[-1]
    return out


def _paper_gcra(rule: Rule, times: list[int]) -> list[bool]:
    interval = Fraction(rule.window, rule.limit)
    tat, out = Fraction(-1), []
    for now in times:
        tat = Fraction(now) if tat == -1 else max(Fraction(now), tat)
        out.append(now >= tat - interval * rule.burst)
        tat += interval * out[-1]
    return out


def _known(grants: Grants, now: int, rule: Rule) -> Grants:
    """Forget what was granted on a clock that has been set back since, by more than two windows or full buckets."""
    full = rule.burst * rule.window // rule.limit
    return [(at, units) for at, units in grants if at - now <= 2 * max(rule.window, full)]


def answers(algorithm: str, rule: Rule, requests: list[tuple[int, int]]) -> list[Answer]:
    """Decide a sequence of (time, cost) by the definition."""
    grants: Grants = []
    out = []
    for now, cost in requests:
        grants = _known(grants, now, rule)
        out.append(DEFINITIONS[algorithm](grants, now, rule, cost))
        if out[-1].allowed:
            grants.append((now, cost))
    return out


def sequences(rng: random.Random) -> dict[str, list[tuple[int, int]]]:
    """Return arrivals worth deciding: a burst, a steady stream, window edges, and random ones with costs."""
    base = 1_700_000_000 * SECOND
    burst = [(base + 3 * SECOND, 1)] * 12
    spread = [(base + 3 * SECOND + i, 1) for i in range(12)]
    steady = [(base + i * 437_511, 1) for i in range(60)]
    edges = [(base + k * 10 * SECOND + d, 1) for k in range(4) for d in (0, 0, 0, 0, 1, 9_999_998, 9_999_999)]
    return {
        "a burst at one instant": burst,
        "a burst of a request each microsecond": spread,
        "a steady stream": steady,
        "the edges of windows": edges,
        "random arrivals": _random(rng, base, [1]),
        "random arrivals with costs": _random(rng, base, [1, 1, 2, 3, 8, 50]),
        SET_BACK: [(base + second * SECOND, cost) for second in (3, -3600, 3) for cost in (1, 2, 1, 1, 1, 1)],
    }


def _random(rng: random.Random, base: int, costs: list[int]) -> list[tuple[int, int]]:
    now, out = base, []
    for _ in range(80):
        now += rng.choice([0, 1, 1000, 90_000, 400_000, 2_500_000, 11_000_000])
        out.append((now, rng.choice(costs)))
    return out


RULES = {
    "fixed_window": [Rule(5, 10 * SECOND), Rule(7, 10 * SECOND)],
    "sliding_window_log": [Rule(5, 10 * SECOND), Rule(7, 10 * SECOND)],
    "sliding_window_counter": [
        Rule(5, 10 * SECOND),
        Rule(7, 10 * SECOND, 1, 3),
        Rule(8, 10 * SECOND, 1, 5),
    ],
    "token_bucket": [Rule(5, 10 * SECOND, 5), Rule(7, 10 * SECOND, 3)],
    "leaky_bucket": [Rule(5, 10 * SECOND, 5), Rule(7, 10 * SECOND, 3)],
    "gcra": [Rule(5, 10 * SECOND, 5), Rule(7, 10 * SECOND, 3)],
}


def case(algorithm: str, rule: Rule, name: str, requests: list[tuple[int, int]]) -> dict[str, object]:
    """Return one vector: what is asked and what each answer must be."""
    result: dict[str, object] = {
        "name": name,
        "plan": rule._asdict(),
        "requests": [list(r) for r in requests],
        "answers": [list(a) for a in answers(algorithm, rule, requests)],
    }
    if all(cost == 1 for _, cost in requests):
        result["paper"] = paper(algorithm, rule, [now for now, _ in requests])
    return result


def vectors(algorithm: str) -> dict[str, object]:
    """Return all vectors of one algorithm; the same on every call."""
    arrivals = sequences(random.Random(20250601))
    cases = [case(algorithm, rule, name, arrivals[name]) for rule in RULES[algorithm] for name in arrivals]
    return {"version": 1, "algorithm": algorithm, "paper_deviation": DEVIATIONS[algorithm], "cases": cases}


def text(algorithm: str) -> str:
    """Return the file of one algorithm."""
    return json.dumps(vectors(algorithm), separators=(",", ":")).replace('{"name"', '\n{"name"') + "\n"


if __name__ == "__main__":
    for _name in DEFINITIONS:
        (Path(__file__).parent / "vectors" / f"{_name}.json").write_text(text(_name), encoding="utf-8")

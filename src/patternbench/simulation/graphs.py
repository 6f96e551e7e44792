"""Graphs of 50, 200 and 1,000 services as large companies run them: drawn from stated distributions, no trace copied.

What is known of such graphs, and what is drawn here:

- Calls lead downwards through few layers, like the branches of a tree. Of the services that do not take load from
  outside 45 % call nobody; the others call few others, and some of them many (a Pareto distribution).
- Some services are called by very many others: how likely a service is called follows a Pareto distribution, too.
- A request comes to 10, 20 or 40 calls on average, and most of a service's calls are made for few of its requests.

Service times, which depend on the machine, are invented: medians spread by a log-normal distribution around a
millisecond. Workers are so many that half of them are busy at the stated rate. Each call has a time-out of a second,
and three in ten are tried again once.

Sources: Luo et al., Characterizing Microservice Dependency and Performance, SoCC 2021 (layers, branches, services that
many call); Winchester et al., Complexity at Scale, arXiv 2504.13141, table 1 (25,201 of 56,160 call nobody).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from random import Random

from patternbench.simulation import model_file
from patternbench.simulation.model_file import ModelFile, SimulationModel
from patternbench.terms.problems import InputError, Problem, did_you_mean


@dataclass(frozen=True)
class GraphForm:
    """How large a graph is: services, layers below the entry, calls per request, and requests per second."""

    services: int
    layers: int
    calls: float
    rate: float


FORMS = {
    "graph-50": GraphForm(services=50, layers=4, calls=10, rate=200),
    "graph-200": GraphForm(services=200, layers=6, calls=20, rate=500),
    "graph-1000": GraphForm(services=1000, layers=8, calls=40, rate=1000),
}
SEED = 2021
LEAVES = 25_201 / 56_160
MOST_CALLED = 20
OUT_SHAPE, IN_SHAPE = 1.5, 1.2
BUSY = 0.5
TOGETHER = 3
NETWORK_US = 100
MEDIAN_US, SPREAD, SHORTEST_US = 1000.0, 0.8, 50.0
SHAPE = ((0.0, 0.2), (0.5, 1.0), (0.9, 2.2), (0.99, 5.0), (1.0, 10.0))
"""The quantile function of a service whose median is 1."""
SHAPE_MEAN = sum((low[1] + high[1]) / 2 * (high[0] - low[0]) for low, high in pairwise(SHAPE))
RETRIED = 0.3
TIMEOUT = "1s"
ENTRY = "entry"


@dataclass
class _Service:
    """A service on its way into a graph: its layer, how likely it is called, its median, whom it calls how often."""

    layer: int
    leaf: bool
    heat: float
    median_us: float
    calls: dict[int, float] = field(default_factory=dict)


def find(path: Path) -> ModelFile:
    """Return the model of a file, or one of the graphs by its name. Raises InputError."""
    name = str(path)
    if path.exists() or path.name != name:
        return model_file.read(path)
    if name not in FORMS:
        message, allowed = "is neither a file nor a graph that is shipped", f"a file, {', '.join(FORMS)}"
        raise InputError(Problem(message, file=name, allowed=allowed, hint=did_you_mean(name, FORMS)))
    made = graph(name)
    return ModelFile(name, model_file.as_text(made), made)


def graph(name: str) -> SimulationModel:
    """Return one of the graphs of ``FORMS``, the same at each time."""
    form = FORMS[name]
    random = Random(f"{SEED} {name}")
    services = _joined(_drawn(form, random), random)
    _scale(services, form.calls)
    return SimulationModel.model_validate(_as_model(name, form, services, random))


def _drawn(form: GraphForm, random: Random) -> list[_Service]:
    """Return services without calls, from the entry downwards."""
    entry = _Service(0, leaf=False, heat=0.0, median_us=MEDIAN_US)
    others = [_one(form.layers, random) for _ in range(form.services - 1)]
    return [entry, *sorted(others, key=lambda one: one.layer)]


def _one(layers: int, random: Random) -> _Service:
    leaf = random.random() < LEAVES
    layer = 1 + int(random.random() * (layers if leaf else layers - 1))
    median_us = max(SHORTEST_US, MEDIAN_US * math.exp(SPREAD * _normal(random)))
    return _Service(layer, leaf, _pareto(random, IN_SHAPE), median_us)


def _pareto(random: Random, shape: float) -> float:
    return float((1 - random.random()) ** (-1 / shape))


def _normal(random: Random) -> float:
    """Return a standard normal number (Box and Muller)."""
    return math.sqrt(-2 * math.log(1 - random.random())) * math.cos(math.tau * random.random())


def _joined(services: list[_Service], random: Random) -> list[_Service]:
    """Add calls: each service but the leaves makes some, and each but the entry is called."""
    for number, caller in enumerate(services):
        if not caller.leaf:
            many = max(4, len(services) // 25) if number == 0 else int(_pareto(random, OUT_SHAPE))
            _call_some(caller, services, min(many, MOST_CALLED * 2 if number == 0 else MOST_CALLED), random)
    called = {callee for one in services for callee in one.calls}
    for number in range(1, len(services)):
        if number not in called:
            above = [one for one in services[:number] if not one.leaf and one.layer < services[number].layer]
            above[int(random.random() * len(above))].calls[number] = _share(random)
    return services


def _call_some(caller: _Service, services: Sequence[_Service], many: int, random: Random) -> None:
    """Have a service call ``many`` of those below it; those that others call most come first."""
    below = [number for number, one in enumerate(services) if one.layer > caller.layer]
    # The largest of u ** (1 / weight) are a sample without replacement by weights (Efraimidis and Spirakis, 2006).
    ordered = sorted(below, key=lambda number: random.random() ** (1 / services[number].heat), reverse=True)
    caller.calls.update({number: _share(random) for number in ordered[:many]})


def _share(random: Random) -> float:
    """Return the part of its requests for which a service makes a call, before it is scaled: small ones are many."""
    return random.random() ** 2


def _scale(services: Sequence[_Service], calls: float) -> None:
    """Multiply all shares by one factor, up to all requests, so that a request comes to a number of calls."""
    low, high = 0.0, 1e6
    for _ in range(100):
        middle = math.sqrt(max(low, 1e-6) * high)
        low, high = (middle, high) if sum(visits(_scaled(services, middle))) < calls + 1 else (low, middle)
    for one, shares in zip(services, _scaled(services, low), strict=True):
        one.calls = shares


def _scaled(services: Sequence[_Service], factor: float) -> list[dict[int, float]]:
    return [{number: min(1.0, factor * share) for number, share in one.calls.items()} for one in services]


def visits(calls: Sequence[dict[int, float]]) -> list[float]:
    """Return how often a request reaches each service on average; callers come before whom they call."""
    found = [1.0, *[0.0] * (len(calls) - 1)]
    for number, made in enumerate(calls):
        for callee, share in made.items():
            found[callee] += found[number] * share
    return found


def _as_model(name: str, form: GraphForm, services: Sequence[_Service], random: Random) -> dict[str, object]:
    reached = visits([one.calls for one in services])
    lasts = _responses_us(services)
    names = [ENTRY, *(f"s{number:04}" for number in range(1, len(services)))]
    made: dict[str, object] = {}
    for number, one in enumerate(services):
        busy = form.rate * reached[number] * lasts[number] / 1e6
        made[names[number]] = {
            "workers": 2 + math.ceil(busy / BUSY),
            "times": {"quantiles": [{"share": at, "time": f"{round(one.median_us * of)}us"} for at, of in SHAPE]},
            **({"calls": _stages(one, names, random)} if one.calls else {}),
        }
    usual = f"{form.calls:g} calls per request, {form.rate:g} requests per second"
    about = f"{form.services:,} services from stated distributions; {usual}."
    head = {"patternbench-model": 1, "name": name, "about": about, "network": f"{NETWORK_US}us", "entry": ENTRY}
    return {**head, "services": made}


def _responses_us(services: Sequence[_Service]) -> list[float]:
    """Return about how long each service takes to answer, if its calls follow one another."""
    found = [0.0] * len(services)
    for number in reversed(range(len(services))):
        calls = services[number].calls.items()
        own = services[number].median_us * SHAPE_MEAN
        found[number] = own + sum(share * (found[callee] + 2 * NETWORK_US) for callee, share in calls)
    return found


def _stages(one: _Service, names: Sequence[str], random: Random) -> list[dict[str, object]]:
    """Return the calls of a service, up to three together, one group after another."""
    calls = [_call(names[number], share, random) for number, share in sorted(one.calls.items())]
    stages: list[dict[str, object]] = []
    while calls:
        many = 1 + int(random.random() * TOGETHER)
        stages.append({"together": calls[:many]})
        calls = calls[many:]
    return stages


def _call(to: str, share: float, random: Random) -> dict[str, object]:
    again = {"retry": {"max_attempts": 2, "backoff": {"fixed": {"delay": "1ms"}}}}
    policies = {"policies": [again]} if random.random() < RETRIED else {}
    return {"to": to, "share": float(f"{100 * share:.4g}"), "timeout": TIMEOUT, **policies}

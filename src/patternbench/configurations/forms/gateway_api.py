"""The HTTPRoute of the Gateway API, and the experimental XBackendTrafficPolicy for a budget of retries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from patternbench.configurations import mesh
from patternbench.configurations.amounts import COUNT, FURTHER, KUBERNETES, PERCENT
from patternbench.configurations.failures import Failures, failures
from patternbench.configurations.form import Field, Form, GuardedService, WrittenConfiguration
from patternbench.configurations.patterns import Patterns, fields, listed, part_of
from patternbench.configurations.proxies import NO_PROXY, FieldGroup, ProxySettings, tried_again
from patternbench.configurations.proxy_statements import GroupListing, Writer, statements_of
from patternbench.configurations.statement import (
    Fields,
    Statement,
    Tree,
    cannot,
    cannot_any,
    mapped,
    means,
    nearly,
    nearly_if,
    part,
    reasons,
    roughly,
    says,
    sets,
    tree,
)
from patternbench.configurations.yaml_text import yaml_of
from patternbench.study.workload.policies import Policy, RetryBudget, StackedRetry
from patternbench.terms.units import Duration

BUDGET = "retryConstraint.budget"
FIELDS = (
    Field("rules[].timeouts.request", "timeout", KUBERNETES, about="of the whole answer; 0s for none"),
    Field("rules[].timeouts.backendRequest", "timeout", KUBERNETES, about="of each attempt; 0s for none"),
    Field("rules[].retry.attempts", "retry.max_attempts", FURTHER, about="further attempts"),
    Field("rules[].retry.codes[]", "retry.on", COUNT, about="400 to 599; failed connections are tried again too"),
    Field("rules[].retry.backoff", "retry.backoff.fixed.delay", KUBERNETES, about="the least pause; growth is open"),
    Field(f"{BUDGET}.percent", "retry_budget.ratio", PERCENT, 20, "of the requests within the interval"),
    Field(f"{BUDGET}.interval", "", KUBERNETES, "10s"),
    Field("retryConstraint.minRetryRate.count", "retry_budget.min_per_s", COUNT, 10),
    Field("retryConstraint.minRetryRate.interval", "retry_budget.min_per_s", KUBERNETES, "1s"),
)
"""Source: ``gateway.networking.k8s.io/v1`` (experimental channel) and ``gateway.networking.x-k8s.io/v1alpha1``."""
OF = Fields(FIELDS)
MOST_CODES = 16
"""More statuses than this are not listed one by one."""
USUAL = (429, 500, 502, 503, 504)
"""Those that a gateway is asked for most, where a policy takes whole hundreds for failures."""
OPEN = "the API leaves open how pauses grow and spread, and implementations differ"
ONCE = ("retry", "retry_budget")
NO_SUCH = "the standard has no such policy"
ABSENT = ("bulkhead", "circuit_breaker", "rate_limit", "hedge")


def statements(patterns: Patterns) -> Iterator[Statement]:
    """Yield what is said of each policy."""
    lengths = mesh.times(patterns)
    request, attempt = OF("timeouts.request"), OF("timeouts.backendRequest")
    yield from mesh.says_times(request, lengths.call)
    yield from mesh.says_times(attempt, lengths.attempt, lengths.call)
    yield from (
        sets(field, "0s") for field, length in ((request, lengths.call), (attempt, lengths.attempt)) if not length
    )
    again = mesh.first_of(patterns, "retry")
    if again and again[1].retry:
        yield from _retry(again[0], again[1].retry)
    budget = mesh.first_of(patterns, "retry_budget")
    if budget and budget[1].retry_budget:
        yield from _budget(budget[0], budget[1].retry_budget)
    yield from mesh.further(patterns, ONCE)
    for name, policy in patterns.named:
        if policy.kind in ABSENT:
            yield from cannot_any(fields(name, policy), NO_SUCH)


def _retry(name: str, retry: StackedRetry) -> Iterator[Statement]:
    yield says(OF("retry.attempts"), f"{name}.max_attempts", retry.max_attempts.level)
    (first, _), *others = part_of("backoff", name, Policy(retry=retry))
    yield nearly(says(OF("retry.backoff"), first, retry.backoff.first.level), OPEN)
    for ours, value in (*others, (f"{name}.jitter", str(retry.jitter.level))):
        yield roughly(ours, value, OF("retry.backoff").line(retry.backoff.first.level), OPEN)
    yield _failures(f"{name}.on", retry)
    longest, after = retry.retry_after_max.level, f"{name}.retry_after_max"
    yield cannot(after, longest, "it says nothing of Retry-After") if longest.us else means(after, longest)


def _failures(ours: str, retry: StackedRetry) -> Statement:
    codes, differs = _codes(failures(retry.on))
    text = listed(retry.on) if retry.on else "all failures"
    statement = Statement("rules[].retry.codes", codes, means(ours, text, f"codes: {listed(codes)}").mapped)
    return nearly_if(statement, differs)


def _codes(chosen: Failures) -> tuple[list[int], str]:
    """Return the statuses that are listed, and what differs; of many those that gateways are asked for most."""
    few = len(chosen.statuses) <= MOST_CODES
    codes = sorted(chosen.statuses if few else chosen.statuses & {*USUAL})
    lost = chosen.timeouts and chosen.connections
    differs = reasons(
        chosen.unknown,
        "" if few else "other statuses are not tried again",
        "" if lost else "gateways also try failed connections again",
    )
    return codes, differs


def _budget(name: str, budget: RetryBudget) -> Iterator[Statement]:
    why = "its budget is a share of all requests of an interval, retries included, and saves no tokens up"
    percent = min(round(budget.ratio.level * 100), 100)
    yield nearly(says(OF("budget.percent"), f"{name}.ratio", budget.ratio.level, amount=percent), why)
    yield sets(OF("budget.interval"), "10s")
    least = budget.min_per_s.level
    rate = says(OF("minRetryRate.count"), f"{name}.min_per_s", least, amount=max(least, 1))
    yield nearly(rate, why if least else "one at least")
    yield sets(OF("minRetryRate.interval"), OF("minRetryRate.interval").amount.write(Duration.parse("1s")))
    yield cannot(f"{name}.capacity", budget.capacity.level, why)
    yield mesh.shared(f"{name}.scope", budget.scope.level)


def _proxy_retries(listing: GroupListing, proxy: ProxySettings) -> Iterator[Statement]:
    retries, found = proxy.retries, tried_again(proxy.retries)
    yield listing.says("num_retries", OF("retry.attempts"), retries.num_retries + 1)
    codes, differs = _codes(found)
    theirs = f"codes: {listed(codes)}"
    if codes:
        yield Statement("rules[].retry.codes", codes)
    yield listing.means("retry_on", theirs, differs)
    yield listing.means("retriable_status_codes", theirs, differs)
    yield listing.says("base_interval", OF("retry.backoff"), retries.base_interval, OPEN)
    yield listing.means("max_interval", OF("retry.backoff").line(retries.base_interval), OPEN)
    if retries.per_try_timeout.us:
        whole = proxy.timeout if proxy.timeout.us else retries.per_try_timeout
        yield listing.says("per_try_timeout", OF("timeouts.backendRequest"), min(retries.per_try_timeout, whole))


def _proxy_timeout(listing: GroupListing, proxy: ProxySettings) -> Iterator[Statement]:
    yield listing.says("timeout", OF("timeouts.request"), proxy.timeout)


OF_PROXIES: Mapping[FieldGroup, Writer] = {
    FieldGroup.RETRIES: _proxy_retries,
    FieldGroup.TIMEOUT: _proxy_timeout,
}
"""How each group of fields of the measured proxy is said."""


def write(patterns: Patterns, target: GuardedService, proxy: ProxySettings = NO_PROXY) -> WrittenConfiguration:
    """Write policies, and the settings of a measured proxy, as an HTTPRoute.

    With a budget of retries there is also a policy of the Service that it names.
    """
    found = statements_of(patterns, proxy, statements, OF_PROXIES, dict.fromkeys(FieldGroup, NO_SUCH), unsaid=ABSENT)
    if not found.expressible:
        return WrittenConfiguration("", mapped(found.statements))
    parts = tree(found.statements)
    objects = [_route(part(parts, "rules", listed=True), target)]
    if "retryConstraint" in parts:
        objects.append(_policy(part(parts, "retryConstraint"), target))
    return WrittenConfiguration(yaml_of(*objects), mapped(found.statements))


def _route(rule: Tree, target: GuardedService) -> Tree:
    backends = [{"name": target.name, "port": target.port}]
    spec: Tree = {
        "parentRefs": [{"name": target.name, "kind": "Service", "group": "", "port": target.port}],
        "rules": [{**rule, "backendRefs": backends}],
    }
    return _object("gateway.networking.k8s.io/v1", "HTTPRoute", target, spec)


def _policy(constraint: Tree, target: GuardedService) -> Tree:
    spec: Tree = {"targetRefs": [{"group": "", "kind": "Service", "name": target.name}], "retryConstraint": constraint}
    return _object("gateway.networking.x-k8s.io/v1alpha1", "XBackendTrafficPolicy", target, spec)


def _object(version: str, kind: str, target: GuardedService, spec: Tree) -> Tree:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": target.name}, "spec": spec}


FORM = Form(
    name="gateway-api",
    product="Gateway API, experimental channel (HTTPRoute, XBackendTrafficPolicy)",
    file="gateway-api.yaml",
    comment="#",
    checked="our tests hold such files against the published schemas only: no gateway has run them",
    fields=FIELDS,
    write=write,
    with_proxy=write,
)

"""An nginx server that passes requests on to one service: a file for the folder ``conf.d``."""

from __future__ import annotations

from patternbench.configurations import delays, mesh
from patternbench.configurations.amounts import COUNT, NGINX, TEXT
from patternbench.configurations.failures import failures
from patternbench.configurations.form import Field, Form, GuardedService, WrittenConfiguration
from patternbench.configurations.nginx_file import MOST_ATTEMPTS, WHOLE_RATES, ZONE, NginxFile, rate, untold
from patternbench.configurations.nginx_proxy import ABSENT, ProxyLines, times_of
from patternbench.configurations.patterns import Patterns, fields, listed
from patternbench.configurations.proxies import NO_PROXY, ProxySettings
from patternbench.configurations.proxy_statements import callers, express, proxy_statements
from patternbench.configurations.statement import (
    Statement,
    cannot,
    cannot_any,
    mapped,
    means,
    nearly,
    nearly_if,
    reasons,
)
from patternbench.study.workload.policies import Bulkhead, Policy, RateLimit, StackedRetry

FIELDS = (
    Field("proxy_next_upstream", "retry.on", TEXT, "error timeout"),
    Field("proxy_next_upstream_tries", "retry.max_attempts", COUNT, 0, "the first attempt is counted; 0 for no bound"),
    Field("proxy_next_upstream_timeout", "timeout", NGINX, "0", "no attempt begins later; 0 for no bound"),
    Field("proxy_connect_timeout", "timeout", NGINX, "60s", "until there is a connection"),
    Field("proxy_read_timeout", "timeout", NGINX, "60s", "between two reads, not for the whole answer"),
    Field("proxy_send_timeout", "timeout", NGINX, "60s", "between two writes"),
    Field("limit_req_zone.rate", "rate_limit.calls", TEXT, about="a whole number of requests per second or minute"),
    Field("limit_req.burst", "rate_limit.burst", COUNT, 0, "beyond the first request"),
    Field("limit_req.delay", "rate_limit.max_wait", COUNT, 0, "how many of them do not wait; nodelay for all"),
    Field("limit_conn", "bulkhead.max_concurrent", COUNT),
    Field("upstream.server.max_conns", "bulkhead.max_concurrent", COUNT, 0, "of each worker, without a `zone`"),
    Field(
        "upstream.server.max_fails",
        "circuit_breaker.window.calls",
        COUNT,
        1,
        "not of an only server",
    ),
    Field("upstream.server.fail_timeout", "circuit_breaker.open_for", NGINX, "10s"),
)
"""Source: nginx's documentation of its modules proxy, upstream, limit_req and limit_conn."""


def _retry(server: NginxFile, name: str, retry: StackedRetry, target: GuardedService) -> None:
    """Say a retry: nginx tries each server of an upstream once, so that the service stands there once per attempt."""
    attempts = retry.max_attempts.level
    tries = server.attempts(attempts, target)
    statement = means(f"{name}.max_attempts", attempts, tries, "the upstream names the service once for each attempt")
    few = attempts <= MOST_ATTEMPTS
    server.statements.append(statement if few else nearly(statement, f"{MOST_ATTEMPTS} at most"))
    at_once = not any(delays.pauses(retry))
    for ours, value in fields(name, Policy(retry=retry)):
        if ".backoff." in ours or ours.endswith(".jitter"):
            why = "it tries again at once"
            server.statements.append(means(ours, value, why=why) if at_once else cannot(ours, value, why))
    server.statements.append(_failures(server, f"{name}.on", retry))
    longest, after = retry.retry_after_max.level, f"{name}.retry_after_max"
    server.statements.append(
        cannot(after, longest, "it does not honour Retry-After") if longest.us else means(after, longest)
    )


def _failures(server: NginxFile, ours: str, retry: StackedRetry) -> Statement:
    chosen = failures(retry.on)
    statement = means(ours, listed(retry.on) if retry.on else "all failures", server.next_upstream(chosen))
    return nearly_if(statement, reasons(chosen.unknown, untold(chosen)))


def _bulkhead(server: NginxFile, name: str, bulkhead: Bulkhead, target: GuardedService, inside: bool) -> None:
    most, waiting = bulkhead.max_concurrent.level, bulkhead.max_waiting.level
    statement = means(f"{name}.max_concurrent", most, server.at_once(most, target))
    server.statements.append(nearly(statement, "it bounds calls, and not attempts") if inside else statement)
    no_wait = "no call waits"
    server.statements.append(
        cannot(f"{name}.max_waiting", waiting, no_wait) if waiting else means(f"{name}.max_waiting", 0)
    )
    if bulkhead.max_wait:
        longest = bulkhead.max_wait.level
        ours = f"{name}.max_wait"
        server.statements.append(cannot(ours, longest, no_wait) if waiting else means(ours, longest, why=no_wait))
    server.statements.append(mesh.shared(f"{name}.scope", bulkhead.scope.level))


def _limit(server: NginxFile, name: str, limit: RateLimit, target: GuardedService, inside: bool) -> None:
    """Say a bucket: nginx lets one request and ``burst`` more go, of which ``delay`` do not wait."""
    setting, at_once = rate(limit.calls.level, limit.per.level), limit.burst.level - 1
    waits = limit.max_wait.level.us * limit.calls.level // limit.per.level.us
    zone, burst = f"{target.name}_rate", at_once + waits
    delay = f" delay={at_once}" if waits and at_once else "" if waits else " nodelay"
    line = f"limit_req zone={zone}{f' burst={burst}' if burst else ''}{delay if burst else ''}"
    server.around.append(f"limit_req_zone {target.name} zone={zone}:{ZONE} rate={setting.text};")
    server.location += [f"{line};", "limit_req_status 429;"]
    statements = [
        *(means(f"{name}.{one}", getattr(limit, one).level, f"rate={setting.text}") for one in ("calls", "per")),
        means(f"{name}.burst", limit.burst.level, line),
        means(f"{name}.max_wait", limit.max_wait.level, line),
    ]
    whole = waits * limit.per.level.us == limit.max_wait.level.us * limit.calls.level
    reason = reasons(
        "" if setting.exact else WHOLE_RATES,
        "" if whole else "cut to whole requests",
        "it counts calls, and not attempts" if inside else "",
    )
    server.statements += [nearly_if(one, reason) for one in statements]
    server.statements.append(mesh.shared(f"{name}.scope", limit.scope.level))


NO_SUCH = {
    "circuit_breaker": "it leaves out one of several servers, and never an only one",
    "retry_budget": "it has no budget of retries",
    "hedge": "it has no hedge",
}


def _policy(server: NginxFile, name: str, policy: Policy, patterns: Patterns, target: GuardedService) -> None:
    inside = patterns.is_of_attempts(name)
    if policy.kind in ("timeout", "deadline"):
        return
    if name != policy.kind:
        server.statements += cannot_any(fields(name, policy), "a location has one of a kind")
    elif policy.retry:
        _retry(server, name, policy.retry, target)
    elif policy.bulkhead:
        _bulkhead(server, name, policy.bulkhead, target, inside)
    elif policy.rate_limit:
        _limit(server, name, policy.rate_limit, target, inside)
    else:
        server.statements += cannot_any(fields(name, policy), NO_SUCH[policy.kind])


def write(patterns: Patterns, target: GuardedService, proxy: ProxySettings = NO_PROXY) -> WrittenConfiguration:
    """Write policies, and the settings of a measured proxy, as an upstream and a server."""
    server, given = NginxFile(), callers(patterns, proxy)
    for name, policy in given.named:
        _policy(server, name, policy, given, target)
    lines = ProxyLines(server, target, times_of(server, proxy, given))
    of_proxy = list(proxy_statements(proxy, given, lines.writers, ABSENT))
    all_statements = mapped([*server.statements, *of_proxy])
    if not {*patterns.kinds} - {*NO_SUCH} and not express(of_proxy):
        return WrittenConfiguration("", all_statements)
    if not any(line.startswith("server ") for line in server.upstream):
        server.upstream.append(f"server {target.host}:{target.port} max_fails=0;")
        server.location.append("proxy_next_upstream off;")
    return WrittenConfiguration(server.text(target), all_statements)


FORM = Form(
    name="nginx",
    product="nginx 1.22 or later (a file for conf.d)",
    file="service.conf",
    comment="#",
    checked="`nginx -t` takes such files in our tests, and a running nginx retries, bounds and limits as they say",
    fields=FIELDS,
    write=write,
    with_proxy=write,
)

"""The application.yml of Spring Boot 3 with Resilience4j's starter.

It has Resilience4j's own fields, says the order of the policies, and names the exceptions of Spring's HTTP clients.
"""

from __future__ import annotations

from collections.abc import Iterator

from patternbench.configurations.amounts import COUNT, SPRING_MS, SPRING_US
from patternbench.configurations.failures import Failures, failures
from patternbench.configurations.form import Field, Form, GuardedService, WrittenConfiguration
from patternbench.configurations.forms import resilience4j
from patternbench.configurations.forms.resilience4j import LibraryExceptions, Writer
from patternbench.configurations.patterns import Patterns
from patternbench.configurations.statement import Fields, Statement, mapped, means, nearly, tree
from patternbench.configurations.yaml_text import yaml_of

ORDERS = {
    "retry": "resilience4j.retry.retryAspectOrder",
    "circuit_breaker": "resilience4j.circuitbreaker.circuitBreakerAspectOrder",
    "rate_limit": "resilience4j.ratelimiter.rateLimiterAspectOrder",
    "timeout": "resilience4j.timelimiter.timeLimiterAspectOrder",
    "deadline": "resilience4j.timelimiter.timeLimiterAspectOrder",
    "bulkhead": "resilience4j.bulkhead.bulkheadAspectOrder",
}
"""Where the order of each policy is: the lower number is further out. Without them it is the order of this table."""
ABOUT_ORDER = "the lower number is further out"
FIELDS = (
    *resilience4j.fields_with(SPRING_MS, SPRING_US),
    *(Field(place, "", COUNT, about=ABOUT_ORDER) for place in dict.fromkeys(ORDERS.values())),
)
WEB = "org.springframework.web.client"
ANY, IO, TIMED_OUT = (
    f"{WEB}.RestClientException",
    f"{WEB}.ResourceAccessException",
    "java.util.concurrent.TimeoutException",
)
OF_HUNDREDS = {4: f"{WEB}.HttpClientErrorException", 5: f"{WEB}.HttpServerErrorException"}
OWN = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    406: "NotAcceptable",
    409: "Conflict",
    410: "Gone",
    415: "UnsupportedMediaType",
    422: "UnprocessableEntity",
    429: "TooManyRequests",
    500: "InternalServerError",
    501: "NotImplemented",
    502: "BadGateway",
    503: "ServiceUnavailable",
    504: "GatewayTimeout",
}
"""The statuses that have an exception of their own in Spring, nested in that of their hundred."""


class SpringExceptions(LibraryExceptions):
    """The exceptions of Spring's RestClient and RestTemplate, by which a policy chooses its failures."""

    def says(self, place: str, ours: str, found: Failures, chosen: str, timed: bool) -> Iterator[Statement]:
        """Say the classes, and what they can't tell apart."""
        classes = [*_classes(found), *([TIMED_OUT] if timed and found.timeouts else [])]
        kind = resilience4j.RETRY if place == "retryExceptions" else resilience4j.BREAKER
        statement = means(ours, chosen, f"{place}: {', '.join(one.rpartition('.')[2] for one in classes)}")
        for why in _untold(found):
            statement = nearly(statement, why)
        yield Statement(f"{kind}.{place}", classes, statement.mapped)


def _classes(found: Failures) -> list[str]:
    if found == failures(None):
        return [ANY]
    statuses = [name for hundred in OF_HUNDREDS for name in _of_hundred(hundred, found)]
    return [*statuses, *([IO] if found.timeouts or found.connections else [])]


def _of_hundred(hundred: int, found: Failures) -> list[str]:
    whole = set(range(hundred * 100, hundred * 100 + 100))
    if whole <= found.statuses:
        return [OF_HUNDREDS[hundred]]
    return [f"{OF_HUNDREDS[hundred]}${OWN[one]}" for one in sorted(found.statuses & whole) if one in OWN]


def _untold(found: Failures) -> Iterator[str]:
    """Yield what the exceptions of Spring can't say of these failures."""
    if found.unknown:
        yield found.unknown
    if found.timeouts != found.connections:
        yield "a connection that failed and one that timed out are the same exception"
    whole = [hundred for hundred in OF_HUNDREDS if set(range(hundred * 100, hundred * 100 + 100)) <= found.statuses]
    alone = sorted(one for one in found.statuses if one // 100 not in whole and one not in OWN)
    if alone:
        yield f"{', '.join(map(str, alone[:3]))}{' and more' if alone[3:] else ''} have no exception of their own"


def _ordered(patterns: Patterns, all_statements: list[Statement]) -> Iterator[Statement]:
    """Say which policy is inside which, by the aspects' numbers from the outside in."""
    written = {one.place.partition(".instances.")[0] for one in all_statements if one.place}
    places = [place for kind in dict.fromkeys(patterns.kinds) if (place := ORDERS.get(kind))]
    acting = [place for place in dict.fromkeys(places) if place.rpartition(".")[0] in written]
    if len(acting) > 1:
        for number, place in enumerate(acting, 1):
            yield Statement(place, number)
        names = ", ".join(f"{place.rpartition('.')[2]}: {number}" for number, place in enumerate(acting, 1))
        yield means("order", patterns.order, names)


def write(patterns: Patterns, target: GuardedService) -> WrittenConfiguration:
    """Write policies as an application.yml, for methods that the library's annotations guard."""
    all_statements = list(Writer(Fields(FIELDS), SpringExceptions()).statements(patterns))
    all_statements += _ordered(patterns, all_statements)
    places = tree(all_statements, target.name)
    return WrittenConfiguration(yaml_of(places) if places else "", mapped(all_statements))


FORM = Form(
    name="spring",
    product="Spring Boot 3 with resilience4j-spring-boot3 2.4 (application.yml)",
    file="application.yml",
    comment="#",
    checked="Resilience4j's own binder for Spring Boot reads such files in our tests, and decides the shared vectors",
    fields=FIELDS,
    write=write,
)

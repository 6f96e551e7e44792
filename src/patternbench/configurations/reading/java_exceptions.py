"""The failures of a call that the classes of exceptions stand for which HTTP clients for Java throw.

Sources: the class documentation of the JDK, of Spring's RestTemplate, RestClient and WebClient, and of OpenFeign. A
class that isn't here may stand for anything.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from patternbench.configurations.reading.failures import CLIENT, EVERY, SERVER, UNANSWERED, Failures

ANSWERED = CLIENT | SERVER
TIMEOUT: Failures = frozenset({"timeout"})
CONNECTION: Failures = frozenset({"connection_error"})
REJECTED: Failures = frozenset()
"""Rejections by policies, which a study never tries again."""
STATUSES = {
    "BadRequest": 400,
    "Unauthorized": 401,
    "Forbidden": 403,
    "NotFound": 404,
    "MethodNotAllowed": 405,
    "NotAcceptable": 406,
    "Conflict": 409,
    "Gone": 410,
    "UnsupportedMediaType": 415,
    "UnprocessableEntity": 422,
    "TooManyRequests": 429,
    "InternalServerError": 500,
    "NotImplemented": 501,
    "BadGateway": 502,
    "ServiceUnavailable": 503,
    "GatewayTimeout": 504,
}
_SPRING, _REACTIVE = "org.springframework.web.client", "org.springframework.web.reactive.function.client"
CLASSES: Mapping[str, Failures] = {
    "java.lang.Throwable": EVERY,
    "java.lang.Exception": EVERY,
    "java.io.IOException": UNANSWERED,
    "java.io.UncheckedIOException": UNANSWERED,
    "java.net.SocketException": CONNECTION,
    "java.net.ConnectException": CONNECTION,
    "java.net.NoRouteToHostException": CONNECTION,
    "java.net.UnknownHostException": CONNECTION,
    "java.net.SocketTimeoutException": TIMEOUT,
    "java.net.http.HttpTimeoutException": TIMEOUT,
    "java.net.http.HttpConnectTimeoutException": TIMEOUT,
    "java.util.concurrent.TimeoutException": TIMEOUT,
    "io.netty.handler.timeout.ReadTimeoutException": TIMEOUT,
    f"{_SPRING}.RestClientException": ANSWERED | UNANSWERED,
    f"{_SPRING}.RestClientResponseException": ANSWERED,
    f"{_SPRING}.HttpStatusCodeException": ANSWERED,
    f"{_SPRING}.HttpServerErrorException": SERVER,
    f"{_SPRING}.HttpClientErrorException": CLIENT,
    f"{_SPRING}.ResourceAccessException": UNANSWERED,
    f"{_REACTIVE}.WebClientException": ANSWERED | UNANSWERED,
    f"{_REACTIVE}.WebClientResponseException": ANSWERED,
    f"{_REACTIVE}.WebClientRequestException": UNANSWERED,
    "feign.FeignException": ANSWERED | UNANSWERED,
    "feign.FeignException$FeignServerException": SERVER,
    "feign.FeignException$FeignClientException": CLIENT,
    "feign.RetryableException": UNANSWERED,
    "io.github.resilience4j.circuitbreaker.CallNotPermittedException": REJECTED,
    "io.github.resilience4j.bulkhead.BulkheadFullException": REJECTED,
    "io.github.resilience4j.ratelimiter.RequestNotPermitted": REJECTED,
}
_OF_A_STATUS = re.compile(
    rf"(?:{re.escape(_SPRING)}\.Http(?:Server|Client)ErrorException"
    rf"|{re.escape(_REACTIVE)}\.WebClientResponseException|feign\.FeignException)[$.](\w+)"
)


def failures(name: str) -> Failures | None:
    """Return the failures that a class stands for; None for a class that isn't known."""
    if name in CLASSES:
        return CLASSES[name]
    status = _OF_A_STATUS.fullmatch(name)
    return frozenset({STATUSES[status[1]]}) if status and status[1] in STATUSES else None

"""The study of one scenario that ``patternbench load`` makes of its command line, and the engine's job for it.

The job is made as for every round of a study (``drivers/jobs``). Only what no study says is added here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

from patternbench.cli import load_policies
from patternbench.cli.load_defaults import TIMEOUT, USERS
from patternbench.drivers import jobs
from patternbench.drivers.driver import Task
from patternbench.drivers.origins import TracedJob
from patternbench.lab.host.processes import absolute
from patternbench.plan.expand import expand
from patternbench.records.inputs import Inputs
from patternbench.study.load import located, validated
from patternbench.study.model.system import Endpoint
from patternbench.study.models import Study
from patternbench.study.text.document import Document, parse
from patternbench.study.text.files import problem_of, read_text
from patternbench.study.workload.workloads import Workload
from patternbench.terms.problems import InputError, Problem
from patternbench.terms.units import Duration

SENT = ("journey", "journeys", "feeder", "lists", "parameters", "connection", "affinity")
"""The fields of a workload that a file of journeys may have; all others say when calls begin."""
FLAGS = (
    (r"system\.urls\[\d+\]\.weight", "--weights"),
    (r"system\.urls", "URL"),
    (r"system\.headers", "--header"),
    (r"system\.ca", "--ca"),
    (r"system\.verify", "--insecure"),
    (r"seed", "--seed"),
    (r"generators", "--generators"),
    (r"warm_up", "--warm-up"),
    (r"workload\.(closed|open)\.duration", "--duration"),
    (r"workload\.closed\.calls|workload\.open\.arrivals", "--requests"),
    (r"workload\.closed", "--users"),
    (r"workload\.open\.spacing", "--poisson"),
    (r"workload\.open\.in_flight", "--in-flight"),
    (r"workload\.open", "--rate"),
    (r"\S+\.method", "--method"),
    (r"\S+\.headers", "--header"),
    (r"\S+\.(body|body_file)", "--body"),
    (r"\S+\.timeout", "--timeout"),
    (r"\S+\.redirects", "--redirects"),
)
"""The flag that says what a study has at a path; the first pattern that a path begins with counts."""
POLICY = re.compile(r"strateg(?:y|ies\[0\])\.stack\[(\d+)\]")


@dataclass(frozen=True)
class Options:
    """The arguments and options of the command line."""

    urls: tuple[str, ...]
    rate: float | None
    users: int | None
    duration: Duration | None
    requests: int | None
    warm_up: Duration
    poisson: bool
    in_flight: int
    method: str | None
    headers: tuple[str, ...]
    body: str | None
    timeout: Duration | None
    ca: str | None
    insecure: bool
    seed: int
    weights: tuple[int, ...] = ()
    unix_socket: str | None = None
    deadline: Duration | None = None
    retry: int | None = None
    hedge: Duration | None = None
    policies: Path | None = None
    redirects: int | None = None
    journey: Path | None = None
    generators: int = 1

    @property
    def lasting(self) -> Duration | None:
        """How long calls start after the warm-up; None when a count ends the load."""
        return self.duration or (None if self.requests else Duration.parse("10s"))


@dataclass(frozen=True)
class RequestedJob(TracedJob):
    """A job whose problems are reported at the flags, or at the lines of a file, that they come from."""

    options: Options
    document: Document

    def origin(self, path: str) -> str:
        """Return the flag, or the place in a file, that says what the job has at a path."""
        return _flag_or_place(super().origin(path), self.options)

    def placed(self, problem: Problem) -> Problem:
        """Return a problem under a path of the job as the user knows it."""
        return _at_its_flag(replace(problem, path=super().origin(problem.path)), self.options, self.document)


def job_of(options: Options, log: bool) -> RequestedJob:
    """Return the engine's job (contracts/load) for what the command line asks; raises InputError."""
    _refuse_nonsense(options)
    document = _study_document(options)
    task = _round_of_load(options, document)
    made = jobs.job(task)
    duration = options.lasting
    beyond: dict[str, object] = {
        "duration_us": duration.us if duration else None,
        "drain_us": jobs.longest_wait(task),
        "log_attempts": log,
        "log_journeys": options.journey is not None,
    }
    return RequestedJob(made.job | beyond, made.origins, options, document)


def _refuse_nonsense(options: Options) -> None:
    """Raise InputError for flags that contradict each other."""
    if options.rate is not None and options.users is not None:
        hint = "choose: --rate is an open workload, --users a closed one"
        raise InputError(Problem("--rate and --users do not go together", hint=hint))
    if options.journey is None:
        return
    single = {"--method": options.method, "--body": options.body, "--timeout": options.timeout}
    for flag, value in {**single, "--redirects": options.redirects}.items():
        if value is not None:
            hint = f"write it at the steps in {options.journey}; {flag} describes the one request of a load without it"
            raise InputError(Problem(f"does not go with {flag}", path="--journey", hint=hint))


def _round_of_load(options: Options, document: Document) -> Task:
    """Return the round to drive. Its time limit is the load's duration, which the warm-up does not shorten."""
    study = _declared_study(options, document)
    scenarios = expand(study).scenarios
    if len(scenarios) > 1:
        hint = "give each field one value, or write a study to compare several"
        raise InputError(Problem("a list of levels makes several journeys of one", file=document.file, hint=hint))
    (scenario,) = scenarios
    lasting = options.lasting or Duration.parse("24h")
    inputs = Inputs(options.journey.resolve().parent if options.journey else Path.cwd())
    made = Task(scenario, _weighted_targets(options), lasting, options.warm_up, options.seed, 0, inputs)
    return replace(made, warm_up_on_top=True, generators=options.generators)


def _declared_study(options: Options, document: Document) -> Study:
    """Return the study; raises InputError with its problems at the flags and lines that they come from."""
    try:
        study = cast(Study, validated(Study, document))
    except InputError as error:
        raise InputError([_at_its_flag(problem, options, document) for problem in error.problems]) from None
    return study if options.journey else study.model_copy(update={"workload": _at_the_url(study.workload)})


def _at_the_url(workload: Workload) -> Workload:
    """Return the workload whose request has no path of its own, so that the URL's path is asked for as it is."""
    nowhere: dict[str, object] = {"path": None}
    if workload.request:
        return workload.model_copy(update={"request": workload.request.model_copy(update=nowhere)})
    assert workload.journey is not None
    (step,) = workload.journey.steps
    journey = workload.journey.model_copy(update={"steps": [step.model_copy(update=nowhere)]})
    return workload.model_copy(update={"journey": journey})


def _study_document(options: Options) -> Document:
    """Return the study as plain data, with the lines of the file of journeys."""
    sent = _of_file(str(options.journey)) if options.journey else Document("", _of_flags(options))
    policies = load_policies.read(options.policies, options.deadline, options.retry, options.hedge)
    pattern: dict[str, object] = {"stack": policies} if policies else {"baseline": {}}
    study = {
        "patternbench": 1,
        "name": "load",
        "system": _requested_system(options),
        "workload": {**_when_calls_begin(options), **sent.fields},
        "strategies": [{"client": "native", **pattern}],
    }
    return Document(sent.file, study, {("workload", *path): line for path, line in sent.lines.items()})


def _of_file(file: str) -> Document:
    """Return what a file says of the workload: a journey, the list of its steps, or fields around journeys."""
    document = parse(read_text(file), file)
    if isinstance(document.value, list) or "steps" in document.fields:
        lines = {("journey", *path): line for path, line in document.lines.items()}
        return Document(file, {"journey": document.value}, lines)
    unknown = [name for name in document.fields if name not in SENT]
    if unknown:
        allowed = f"a list of steps, `steps`, or {', '.join(SENT)}; flags say when calls begin"
        problems = [Problem("does not belong here", str(name), allowed=allowed) for name in unknown]
        raise InputError([replace(one, file=file, line=document.line((one.path,))) for one in problems])
    if not {"journey", "journeys"} & {*document.fields}:
        raise InputError(Problem("holds no journey", file=file, allowed="a list of steps, or `journey`, or `journeys`"))
    return document


def _of_flags(options: Options) -> dict[str, object]:
    """Return the one request. A file to send, or redirects to follow, makes it the step of a journey."""
    request = {"method": (options.method or "GET").upper(), "timeout": str(options.timeout or TIMEOUT)}
    step: dict[str, object] = {**request, **_request_body(options)}
    if options.redirects:
        step["redirects"] = options.redirects
    return {"journey": [{"name": jobs.REQUEST, **step}]} if {"redirects", "body_file"} & {*step} else {"request": step}


def _request_body(options: Options) -> dict[str, object]:
    if options.body is None:
        return {}
    return (
        {"body_file": _readable_file(options.body[1:], "--body")}
        if options.body.startswith("@")
        else {"body": options.body}
    )


def _when_calls_begin(options: Options) -> dict[str, object]:
    """When calls begin and end."""
    lasting = {} if options.lasting is None else {"duration": str(options.lasting)}
    if options.rate is None:
        return {
            "closed": {
                "users": options.users or USERS,
                **({"calls": options.requests} if options.requests else lasting),
            }
        }
    spacing = "poisson" if options.poisson else "regular"
    arrivals = {"arrivals": options.requests} if options.requests else {}
    return {"open": {"rate": options.rate, "spacing": spacing, "in_flight": options.in_flight, **lasting, **arrivals}}


def _requested_system(options: Options) -> dict[str, object]:
    """Who is asked. Load goes to the URLs themselves (``_weighted_targets``), which the engine checks."""
    ca = options.ca and _readable_file(options.ca, "--ca")
    urls = [f"{'https' if url.startswith('https:') else 'http'}://localhost" for url in options.urls]
    encrypted = "https://localhost" in urls
    trust: dict[str, object] = {"verify": False} if options.insecure else {"ca": ca} if ca else {}
    return {"urls": urls, "headers": _sent_headers(options), **(trust if encrypted else {})}


def _weighted_targets(options: Options) -> tuple[Endpoint, ...]:
    weights = options.weights or (1,) * len(options.urls)
    if len(weights) != len(options.urls):
        allowed = f"one weight for each of the {len(options.urls)} URLs"
        raise InputError(Problem("has too few or too many weights", path="--weights", value=weights, allowed=allowed))
    urls = [_at_socket(options.unix_socket, url) if options.unix_socket else url for url in options.urls]
    return tuple(Endpoint(url, weight) for url, weight in zip(urls, weights, strict=True))


def _readable_file(path: str, flag: str) -> str:
    """Return the absolute path of a file for the engine to read. Raises InputError if there is no such file."""
    problem = problem_of(path)
    if problem is not None:
        raise InputError(replace(problem, path=flag))
    return absolute(path)


def _at_socket(path: str, url: str) -> str:
    """Return the engine's URL for a request over a Unix socket."""
    parts = urlsplit(url)
    if parts.scheme != "http" or not parts.netloc:
        allowed = "http://HOST/PATH with --unix-socket"
        raise InputError(Problem("has no host and path", path="URL", value=url, allowed=allowed))
    query = f"?{parts.query}" if parts.query else ""
    return f"unix:{absolute(path)}:{parts.path or '/'}{query}"


def _sent_headers(options: Options) -> dict[str, str]:
    headers = dict(map(_header, options.headers))
    named = any(name.lower() == "host" for name in headers)
    return headers if named or options.unix_socket is None else {"Host": _host(options), **headers}


def _host(options: Options) -> str:
    """Return the Host header to send over a Unix socket, whose path doesn't name a host."""
    hosts = {urlsplit(url).netloc for url in options.urls}
    if len(hosts) > 1:
        raise InputError(
            Problem("names several hosts for one socket", path="URL", allowed="one host with --unix-socket")
        )
    return hosts.pop()


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise InputError(Problem("isn't a header", path="--header", value=text, allowed="'NAME: VALUE'"))
    return name.strip(), value.strip()


def _at_its_flag(problem: Problem, options: Options, document: Document) -> Problem:
    """Return a problem of the study at the flag, or at the line of a file, that it comes from."""
    if _is_of_file(problem.path, options):
        shown = located(replace(problem, file="", line=None), document)
        return replace(shown, path=shown.path.removeprefix("workload."))
    return replace(problem, path=_flag_or_place(problem.path, options), file="", line=None)


def _is_of_file(path: str, options: Options) -> bool:
    field = path.removeprefix("workload.").partition(".")[0].partition("[")[0]
    return options.journey is not None and path.startswith("workload.") and field in SENT


def _flag_or_place(path: str, options: Options) -> str:
    """Return the flag that says what a study has at a path; a place in a file is named as in a study."""
    policy = POLICY.match(path)
    if policy:
        return _policy_flags(options)[int(policy[1])] if not options.policies else _in_file(path, policy)
    if _is_of_file(path, options):
        return path.removeprefix("workload.")
    return next((flag for pattern, flag in FLAGS if re.match(rf"(?:{pattern})\b", path)), path)


def _in_file(path: str, policy: re.Match[str]) -> str:
    return f"--policies[{policy[1]}]{path[policy.end() :]}"


def _policy_flags(options: Options) -> list[str]:
    flags: Mapping[str, object] = load_policies.flags(options.deadline, options.retry, options.hedge)
    return [*flags]


__all__ = ["Options", "RequestedJob", "job_of"]

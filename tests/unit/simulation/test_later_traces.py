"""A model from traces, held against later traces of the same system: of the same truth, and of one that drifted."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.support import spans
from tests.support.answers_of_commands import fits
from tests.support.simulated import MODEL, STUDY, as_if_measured, journaled, model, simulate
from tests.support.traced_truth import Truth, otlp

from patternbench.cli import later_traces
from patternbench.cli.main import cli
from patternbench.records.folder import RunFolder
from patternbench.records.later_traces import LaterLine, LaterTraces
from patternbench.report.build import build
from patternbench.simulation import evidence, later, model_file
from patternbench.simulation.model_file import SimulationModel
from patternbench.terms.problems import InputError
from patternbench.traces.records import otlp_files

TRUTH = Truth()
REQUESTS = 700
WHAT_IF = """\
patternbench: 1
name: what-if
system: {url: "http://127.0.0.1:1"}
rounds: 2
workload: {open: {rate: 20, spacing: poisson, duration: 10s}, request: {path: /, timeout: 1s}}
strategies: [{client: native, baseline: {}}, {client: native, retry: {max_attempts: 3, backoff: {fixed: {delay: 9ms}}}}]
recommend: {objectives: [minimise p95]}
"""


@dataclass(frozen=True)
class Traced:
    """A model of traces, and the folder in which they are."""

    folder: Path
    model: SimulationModel

    def later(self, truth: Truth, seed: int = 2, requests: int = REQUESTS) -> LaterTraces:
        """The check against later traces of a truth."""
        file = otlp(self.folder / f"later-{abs(hash((truth, seed, requests)))}.jsonl", truth, requests, seed)
        return later.check(self.model, later_traces.traffic([file], self.model.entry))


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Traced:
    folder = tmp_path_factory.mktemp("traced")
    return Traced(folder, later_traces.model_of(otlp(folder / "first.jsonl", TRUTH, REQUESTS, seed=1)))


def run_command(*words: object) -> Result:
    return CliRunner().invoke(cli, [*map(str, words)])


def line(check: LaterTraces, name: str, response: str) -> LaterLine:
    (found,) = (one for one in check.lines if (one.name, one.response) == (name, response))
    return found


def test_a_model_of_traces_has_their_services_times_calls_and_way(traced: Traced) -> None:
    assert traced.model.entry == "shop"
    assert set(traced.model.services) == {"shop", "stock", "store", "prices"}
    assert traced.model.network.us == pytest.approx(200, abs=2)
    medians = {
        name: next(one.time.us for one in service.times.quantiles or [] if one.share == 0.5)
        for name, service in traced.model.services.items()
    }
    truths = {"shop": 5_000, "stock": 8_000, "store": 3_000, "prices": 4_000}
    assert medians == {name: pytest.approx(us, rel=0.06) for name, us in truths.items()}
    assert later.calls_of(traced.model.services["shop"]) == {"stock": 1.0, "prices": pytest.approx(0.5, abs=0.06)}


def test_later_traces_of_the_same_truth_are_near(traced: Traced) -> None:
    check = traced.later(TRUTH)
    assert (check.requests, check.blocks, check.left_out) == (REQUESTS, 10, [])
    assert "not usable" not in check.verdicts.values(), check.lines
    assert check.verdicts["p50 end to end"] == "within 10 %"
    assert line(check, "stock", "p50").verdict == "within 10 %"
    assert line(check, "shop → stock", "calls per request").verdict == "within 10 %"
    assert {one.name for one in check.lines if one.kind == "service"} == {"stock", "store", "prices"}


def test_a_service_that_became_slower_is_found(traced: Traced) -> None:
    check = traced.later(replace(TRUTH, stock=16.0))
    slow = line(check, "stock", "p50")
    assert slow.verdict == "not usable"
    assert slow.error is not None
    assert slow.error < -25, "the model is faster than the system is now"
    assert line(check, "prices", "p50").verdict != "not usable"
    assert check.verdicts["p50 by service"] == "not usable"
    assert check.verdicts["p50 end to end"] == "not usable"
    assert check.verdicts["calls per request"] != "not usable"
    assert any("p50 of stock" in why for why in check.unusable())


def test_calls_that_became_more_are_found(traced: Traced) -> None:
    check = traced.later(replace(TRUTH, asks_prices=1.0))
    assert line(check, "shop → prices", "calls per request").verdict == "not usable"
    assert line(check, "stock", "p50").verdict != "not usable"


def test_too_few_requests_and_another_entry_are_refused(traced: Traced) -> None:
    with pytest.raises(InputError, match="too few to hold a model against"):
        traced.later(TRUTH, requests=30)
    with pytest.raises(InputError, match="no traced request that comes in where the model says"):
        traced.later(replace(TRUTH, entry="Gate"), requests=30)


def test_a_service_that_few_requests_reach_is_left_out_by_name(traced: Traced) -> None:
    check = traced.later(replace(TRUTH, asks_prices=0.02))
    assert check.left_out == ["prices"]
    assert not [one for one in check.lines if one.name == "prices"]


@pytest.mark.parametrize(
    ("text", "why"),
    [("", "holds no request that was traced whole"), ("{}\n[1]\n", "isn't an OTLP request"), ("{", "isn't an OTLP")],
)
def test_a_file_that_holds_no_traces_is_refused_with_its_line(text: str, why: str, tmp_path: Path) -> None:
    file = tmp_path / "traces.jsonl"
    file.write_text(text)
    with pytest.raises(InputError, match=why) as refused:
        otlp_files.requests(file)
    (problem,) = refused.value.problems
    assert problem.file == str(file)
    assert problem.line == (2 if "[1]" in text else 1 if text else None)


def test_the_rounds_of_a_run_are_later_traces_too(tmp_path: Path) -> None:
    run, entries = simulate(STUDY.replace("duration: 5s", "duration: 1s"), model(tmp_path), tmp_path / "run")
    as_if_measured(run)
    for number, entry in enumerate(entries):
        own = [
            {**spans.span(f"{number}-{k}", "server", "Target", (k * 10, k * 10 + 5)), "trace_id": f"t{number}-{k}"}
            for k in range(40)
        ]
        spans.keep(run.observed_of(entry.file) / "traces", spans.table(*own))
    measured = journaled(run, [replace(entry, records=None) for entry in entries])
    first = evidence.divide(evidence.read(measured.path), (), ()).used[0]
    traffic = later_traces.traffic([measured.path], "target")
    assert len(first.files) == 3
    assert len(traffic.blocks) == 9
    assert {len(one.whole) for one in traffic.blocks} == {13}
    assert all(one.seconds == pytest.approx(0.13, rel=0.01) for one in traffic.blocks)


def test_the_command_makes_a_model_of_traces_and_holds_it_against_later_ones(tmp_path: Path) -> None:
    first = otlp(tmp_path / "first.jsonl", TRUTH, REQUESTS, seed=1)
    second = otlp(tmp_path / "second.jsonl", TRUTH, REQUESTS, seed=2)
    drifted = otlp(tmp_path / "drifted.jsonl", replace(TRUTH, stock=16.0), REQUESTS, seed=3)
    out = tmp_path / "model.yaml"
    made = run_command("calibrate", first, "--later", second, "--out", out, "--json")
    assert made.exit_code == 0, made.output
    fits("calibrate", made.stdout)
    found = json.loads(made.stdout)
    assert (found["held_out"], found["later"]["requests"]) == (None, REQUESTS)
    again = run_command("calibrate", out, "--later", drifted, "--out", out, "--force")
    assert again.exit_code == 0, again.output
    assert "not usable" in again.stdout
    assert "a change of it is not validated" in again.stderr
    read = model_file.read(out).model
    assert read.later is not None
    assert read.later.traces == [str(drifted)]
    assert not model_file.is_changed(read)


def test_options_that_do_not_fit_a_file_are_refused(tmp_path: Path) -> None:
    first, out = otlp(tmp_path / "first.jsonl", TRUTH, 40, seed=1), tmp_path / "model.yaml"
    refused = run_command("calibrate", first, "--traces", "--hold-out", "rate=1", "--out", out)
    assert isinstance(refused.exception, InputError)
    assert {problem.path for problem in refused.exception.problems} == {"--traces", "--hold-out"}
    out.write_text(MODEL)
    alone = run_command("calibrate", out, "--out", tmp_path / "other.yaml")
    assert "name later traces" in str(alone.exception)


def simulated_with(traced: Traced, check: LaterTraces, folder: Path, change: tuple[str, str] = ("", "")) -> Path:
    """A run of a question with the model and its check; the model's text is changed first."""
    file = folder / "model.yaml"
    model_file.write(traced.model.model_copy(update={"later": check}), file)
    text = file.read_text()
    assert change[0] in text
    file.write_text(text.replace(*change, 1))
    run, _ = simulate(WHAT_IF, model_file.read(file), folder / "run")
    return run.path


def test_a_change_is_marked_as_not_validated_and_nothing_is_recommended(traced: Traced, tmp_path: Path) -> None:
    run = simulated_with(traced, traced.later(TRUTH), tmp_path)
    build(RunFolder(run))
    page = " ".join((run / "report.html").read_text().split())
    assert "what a study changes is not validated" in page.partition('id="what"')[0]
    assert "The model against later traces" in page
    done = run_command("recommend", run)
    assert done.exit_code == 2
    assert "the change itself is not validated" in done.output


def test_a_model_that_was_changed_by_hand_says_so(traced: Traced, tmp_path: Path) -> None:
    run = simulated_with(traced, traced.later(TRUTH), tmp_path, ("workers: 1000", "workers: 2"))
    build(RunFolder(run))
    page = " ".join((run / "report.html").read_text().split())
    assert "It was changed since, and the change is not validated." in page
    done = run_command("recommend", run)
    assert (done.exit_code, "not validated" in done.output) == (2, True)


def test_a_system_that_drifted_is_named_where_something_is_to_be_decided(traced: Traced, tmp_path: Path) -> None:
    run = simulated_with(traced, traced.later(replace(TRUTH, stock=16.0)), tmp_path)
    done = run_command("recommend", run)
    assert done.exit_code == 2
    assert "on later traces of the system p50 of" in done.output
    assert "from traces of today" in done.output

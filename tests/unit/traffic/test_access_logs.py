"""Access logs become arrivals and a mix of requests, and a line that isn't understood is refused with its number."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from tests.support.hostile import are_refused_within_bounds

from patternbench.study.load import loads
from patternbench.terms.problems import InputError
from patternbench.traffic import access_logs
from patternbench.traffic.files import Imported, TrafficSelection, imported
from patternbench.traffic.requests import KeptParts

COMBINED = (
    '{ip} - {user} [10/Oct/2026:13:55:{second:02} +0200] "{request}" 200 123 '
    '"-" "Mozilla/5.0 (X11; \\"Q\\")" "-" rt=0.01\n'
)
ENVOY = '[2026-10-10T11:55:36.{ms:03}Z] "{request}" 200 - 0 135 4 3 "10.0.0.9" "curl/8" "a1b2" "shop" "10.1.0.1:80"\n'
ALB = (
    "http 2026-10-10T11:55:40.186641Z app/lb/50dc 192.168.131.39:2817 10.0.0.1:80 0.000 0.001 0.000 200 200 34 366 "
    '"GET http://shop.example:80/items?page=2 HTTP/1.1" "curl/7.46.0" - - arn:aws:x "Root=1-58" "-" "-" 0 '
    '2026-10-10T11:55:39.000000Z "forward" "-" "-" "10.0.0.1:80" "200" "-" "-"\n'
)
LOGS = """
from patternbench.traffic.files import TrafficSelection, imported
def read(path): return imported(path, TrafficSelection("a", "http://127.0.0.1:1"))
"""
WANTED = TrafficSelection("mine", "http://127.0.0.1:8080")


def combined(request: str, second: int = 0, ip: str = "10.0.0.1", user: str = "-") -> str:
    return COMBINED.format(request=request, second=second, ip=ip, user=user)


def made(tmp_path: Path, text: str, wanted: TrafficSelection = WANTED, name: str = "access.log") -> Imported:
    (tmp_path / name).write_text(text)
    found = imported(tmp_path / name, wanted)
    loads(found.files["mine.yaml"], "mine.yaml")
    return found


def rows(found: Imported, name: str = "mine-arrivals.csv") -> list[list[str]]:
    return list(csv.reader(io.StringIO(found.files[name])))[1:]


def refused(tmp_path: Path, text: str, wanted: TrafficSelection = WANTED) -> InputError:
    with pytest.raises(InputError) as caught:
        made(tmp_path, text, wanted)
    return caught.value


def test_a_log_of_nginx_becomes_arrivals_by_step_and_user(tmp_path: Path) -> None:
    lines = [combined("GET /items/7 HTTP/1.1", 36), combined("POST /orders HTTP/1.1", 37, "10.0.0.2")]
    lines += [combined("GET /items/8 HTTP/2.0", 37), combined("GET /items/8?full=1 HTTP/1.1", 39, "10.0.0.2")]
    found = made(tmp_path, "".join(lines), TrafficSelection("mine", "http://127.0.0.1:8080", session="ip"))
    assert rows(found) == [
        ["0", "0", "GET /items/*"],
        ["1000000", "1", "POST /orders"],
        ["1500000", "0", "GET /items/*"],
        ["3000000", "1", "GET /items/*?full=*"],
    ]
    assert rows(found, "mine-values.csv") == [["7", "8", "1"], ["7", "8", "1"], ["8", "8", "1"], ["8", "8", "1"]]
    assert "${feed.id1_1}" in found.files["mine.yaml"]


def test_the_load_can_be_faster_than_in_the_log(tmp_path: Path) -> None:
    text = combined("GET / HTTP/1.1", 0) + combined("GET / HTTP/1.1", 8)
    found = made(tmp_path, text, TrafficSelection("mine", "http://127.0.0.1:8080", speed=2))
    assert [row[0] for row in rows(found)] == ["0", "4000000"]


def test_a_log_of_envoy_has_milliseconds(tmp_path: Path) -> None:
    text = ENVOY.format(ms=120, request="GET /a HTTP/1.1") + ENVOY.format(ms=20, request="GET /b HTTP/1.1")
    assert rows(made(tmp_path, text)) == [["0", "0", "GET /b"], ["100000", "0", "GET /a"]]


def test_a_log_of_a_load_balancer_has_the_time_of_the_request(tmp_path: Path) -> None:
    read = access_logs.read(_written(tmp_path, ALB), "ip")
    (request,) = read.requests
    assert (request.target, request.session) == ("/items?page=2", "192.168.131.39")
    assert request.at_us == access_logs.iso("2026-10-10T11:55:39Z")


def test_lines_of_json_are_read_by_their_names(tmp_path: Path) -> None:
    istio = {"start_time": "2026-10-10T11:55:36.000Z", "method": "GET", "path": "/a", "authority": "shop"}
    nginx = {"time_iso8601": "2026-10-10T13:55:37+02:00", "request": "GET /b HTTP/1.1", "status": "200"}
    text = json.dumps(istio) + "\n" + json.dumps(nginx) + "\n"
    assert rows(made(tmp_path, text)) == [["0", "0", "GET /a"], ["1000000", "0", "GET /b"]]


def test_a_line_that_is_none_of_a_log_is_refused_with_its_number(tmp_path: Path) -> None:
    text = combined("GET / HTTP/1.1") + "Traceback (most recent call last):\n" + combined("GET / HTTP/1.1") + "x\n"
    assert [problem.line for problem in refused(tmp_path, text).problems] == [2, 4]


def test_what_was_no_request_is_left_out_and_counted(tmp_path: Path) -> None:
    text = combined("\\x16\\x03\\x01") + combined("GET / HTTP/1.1") + combined("PROPFIND / HTTP/1.1") + combined("-")
    found = made(tmp_path, text)
    assert len(rows(found)) == 1
    assert any("3 lines without a request" in note for note in found.notes)


def test_secrets_in_a_query_come_from_the_environment(tmp_path: Path) -> None:
    text = combined("GET /a?access_token=abcdef&x=1 HTTP/1.1")
    found = made(tmp_path, text)
    assert "access_token=${env:ACCESS_TOKEN}" in found.files["mine.yaml"]
    assert not any("abcdef" in one for one in found.files.values())
    kept = made(tmp_path, text, TrafficSelection("mine", "http://127.0.0.1:8080", keep=KeptParts(secrets=True)))
    assert "abcdef" in kept.files["mine.yaml"]


def test_a_path_with_the_sign_of_a_place_is_sent_as_it_is(tmp_path: Path) -> None:
    assert "/a$${user}" in made(tmp_path, combined("GET /a${user} HTTP/1.1")).files["mine.yaml"]


def test_an_unknown_key_of_sessions_is_refused_with_those_there_are(tmp_path: Path) -> None:
    told = str(
        refused(
            tmp_path, combined("GET / HTTP/1.1"), TrafficSelection("mine", "http://127.0.0.1:8080", session="cookie")
        )
    )
    assert "--session" in told and "ip, user, agent" in told


def test_requests_of_too_many_kinds_are_refused(tmp_path: Path) -> None:
    text = "".join(combined(f"GET /page-{number}x HTTP/1.1") for number in range(501))
    assert "501 different requests" in str(refused(tmp_path, text))


@pytest.mark.slow
@pytest.mark.parametrize("line", [combined("GET /items/7 HTTP/1.1"), "x" * 120 + "\n", "[" * 50_000_000, '{"a":1}\n'])
def test_a_log_of_50_mb_takes_less_than_two_seconds_and_300_mb(tmp_path: Path, line: str) -> None:
    path = tmp_path / "large.log"
    path.write_text(line * (50_000_000 // len(line)))
    are_refused_within_bounds(LOGS, [path])


def _written(tmp_path: Path, text: str) -> Path:
    (tmp_path / "a.log").write_text(text)
    return tmp_path / "a.log"

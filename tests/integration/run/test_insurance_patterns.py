"""Studies of the insurance on a stand-in for its services: each scenario runs once, and its patterns act."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path

import pandas as pd
import pytest
from tests.integration.run.conftest import entries, patternbench
from tests.support.studies import ROOT

SERVICE = """
import json, os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Service(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.answer({"token": "t"})

    def do_GET(self):
        customers = [{"customerId": one} for one in self.path.removeprefix("/customers/").split(",")]
        items = [{"id": one["customerId"], "status": 200, "body": one} for one in customers]
        self.answer(customers[0] if len(customers) == 1 else {"size": len(items), "items": items})

    def answer(self, told):
        body = json.dumps(told).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass

ThreadingHTTPServer.request_queue_size = 128
ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Service).serve_forever()
"""
SYSTEM = """\
patternbench-system: 1
name: insurance
about: answers as the insurance does for customers, without its services
settings:
  limit: {default: none, role: pattern, none: none, unit: count, about: as in the insurance}
  limit_window: {default: 60s, unit: duration, about: as in the insurance}
  limit_at: {default: none, role: pattern, none: none, about: as in the insurance, allowed: [none, instance]}
  auto_bundle: {default: none, role: pattern, none: none, about: as in the insurance, allowed: [none, customers]}
  bundle_size: {default: 20, role: pattern, unit: count, about: as in the insurance}
  bundle_wait: {default: 5ms, role: pattern, unit: duration, about: as in the insurance}
components:
  - process: {name: customer-management, command: [PYTHON, service.py], folder: .., reset: none}
  - bundler:
      name: customer-bundler
      when: {auto_bundle: customers}
      upstream: customer-management
      routes:
        - single: "/customers/{id}"
          bundle: "/customers/{ids}"
          size: "${bundle_size}"
          wait: "${bundle_wait}"
          per: X-Api-Key
  - gateway: &edge
      when: {auto_bundle: none}
      routes: [{prefix: /management/, rewrite: /, to: management}]
      clusters: {management: {to: customer-management}}
      limit: {max_tokens: "${limit}", fill_interval: "${limit_window}"}
  - gateway: {<<: *edge, when: {auto_bundle: customers}, clusters: {management: {to: customer-bundler}}}
endpoint: gateway
"""
SHORTER = {
    r"rounds: \d+": "rounds: 1",
    r"warm_up: \d+s": "warm_up: 1s\nlateness: {floor: 10s}",  # a busy machine is not what is tested
    r"duration: \d+s": "duration: 2s",
}


def rounds_of(folder: Path, study: str, changes: Mapping[str, str]) -> pd.DataFrame:
    """One short round of each scenario of a study of ours, quick where it can be, with texts of it changed."""
    text = (ROOT / "studies" / f"{study}.yaml").read_text()
    for pattern, new in {**SHORTER, **changes}.items():
        text, times = re.subn(pattern, new, text)
        assert times >= 1, pattern
    text = re.sub(r"(?m)^claims:\n(?:[ #].*\n|\n)*", "", text)  # they name factors that a shorter form lacks
    (folder / "systems").mkdir()
    (folder / "systems" / "insurance.yaml").write_text(SYSTEM.replace("PYTHON", sys.executable))
    (folder / "service.py").write_text(SERVICE)
    (folder / "study.yaml").write_text(text)
    form = ["--quick"] if "\nquick:" in text else []
    done = patternbench("run", *form, str(folder / "study.yaml"), "--out", str(folder / "run"), timeout=400)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [entry["status"] for entry in entries(folder / "run")].count("failed") == 0
    return pd.read_parquet(folder / "run" / "rounds.parquet")


@pytest.mark.timeout(500)
def test_a_breaker_rejects_before_a_limit_where_it_counts_429_and_only_there(tmp_path: Path) -> None:
    rounds = rounds_of(tmp_path, "insurance-breaker", {})
    assert len(rounds) == 6
    limited = rounds["limit"].astype(str) == "60"
    assert set(rounds[~limited]["limited_rate"]) == {0.0}
    assert set(rounds[~limited]["rejected_rate"]) == {0.0}
    by = rounds[limited].set_index("strategy")
    assert set(by.index) == {"baseline", "breaker", "breaker-not-for-429"}
    assert (by["limited_rate"] > 0).all()
    assert by["rejected_rate"]["baseline"] == by["rejected_rate"]["breaker-not-for-429"] == 0
    assert by["rejected_rate"]["breaker"] > 0
    assert by["limited_rate"]["breaker"] < by["limited_rate"]["baseline"]


@pytest.mark.timeout(500)
def test_automatic_bundles_save_calls_and_change_while_everything_runs(tmp_path: Path) -> None:
    smaller = {
        r"rate: \[25, 100, 250\]": "rate: 100",
        r"users: \[1, 25\]": "users: 1",
        r"\[2ms, 10ms, 50ms\]": "[2ms, 50ms]",
    }
    smaller |= {
        r"\{auto_bundle: none, bundle_wait: \[10ms, 50ms\]\}": "{auto_bundle: none, bundle_wait: 50ms}",
        r" \+ rate \+ users": "",
    }
    rounds = rounds_of(tmp_path, "insurance-auto-bundling", smaller)
    assert set(rounds["failure_rate"]) == {0.0}
    without = rounds["auto_bundle"] == "none"
    assert (len(rounds), without.sum()) == (5, 1)
    assert rounds[without]["bundler_saved"].isna().all()
    by_wait = rounds[~without].groupby("bundle_wait")["bundler_saved"].min()
    assert by_wait.iloc[-1] > max(40, by_wait.iloc[0])
    assert set(rounds[~without]["bundler_faults"]) == {0}
    starts = [one["component"] for entry in entries(tmp_path / "run") for one in entry["starts"]]
    assert starts.count("gateway") == starts.count("customer-management") == 1

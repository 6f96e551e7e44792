"""A service that stores a line for each request: the run says that later rounds met more state than earlier ones."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner, Result

from patternbench.cli.main import cli
from patternbench.report.grown_state import sentences

SERVICE = """
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Service(BaseHTTPRequestHandler):
    def do_GET(self):
        with open(sys.argv[2], "a") as store:
            store.write("x" * 1000)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass

ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Service).serve_forever()
"""
STUDY = """\
patternbench: 1
name: growing
system: growing
rounds: 5
warm_up: 0ms
workload: {closed: {users: 1, requests: 50}, request: {path: /}}
"""


def ran(folder: Path, **entry: object) -> Result:
    command = [sys.executable, "-c", SERVICE, "${self.port.http}", "${self.folder}/store"]
    shop = {"process": {"name": "shop", "command": command, **entry}}
    system = {"patternbench-system": 1, "name": "growing", "about": "x", "components": [shop], "endpoint": "shop"}
    (folder / "systems").mkdir()
    (folder / "systems" / "growing.yaml").write_text(json.dumps(system))
    (folder / "study.yaml").write_text(STUDY)
    return CliRunner().invoke(cli, ["run", str(folder / "study.yaml"), "--out", str(folder / "out")])


def test_files_that_grow_from_round_to_round_are_reported_at_the_end_of_the_run_and_in_its_report(
    tmp_path: Path,
) -> None:
    done = ran(tmp_path)
    reported = " ".join(done.output.split())
    assert "files of shop grew from" in reported
    assert "over 5 blocks of rounds, so later rounds met more state than earlier ones" in reported
    assert "reset: restart" in reported
    rounds = pd.read_parquet(tmp_path / "out" / "rounds.parquet")
    assert len(sentences(rounds)) == 1
    assert "files of shop grew from" in (tmp_path / "out" / "report.html").read_text()


@pytest.mark.parametrize("reset", ["restart"])
def test_a_service_that_begins_again_in_each_round_grows_in_none(tmp_path: Path, reset: str) -> None:
    done = ran(tmp_path, reset=reset)
    assert done.exit_code in (0, 3), done.output
    assert "grew from" not in done.output

"""What an operator sees while the filter works: hot keys, rejections, a dry run and its report."""

import re
import subprocess
from pathlib import Path
from typing import Any

import httpx
from ratelimit_fixture import FILTER, Nginx, balancer, burst, eventually, get, limit, rules_of, running

COMMAND = FILTER / "bin" / "ratelimit"


def view(nginx: Nginx) -> dict[str, Any]:
    answer = httpx.get(f"http://127.0.0.1:{nginx.metrics_port}/hot-keys.json")
    assert answer.headers["Content-Type"] == "application/json"
    reported: dict[str, Any] = answer.json()
    return reported


def seen(nginx: Nginx, requests: int) -> dict[str, Any]:
    """The view of the first limit, once all workers have told of so many requests."""
    return eventually(lambda: next((one for one in view(nginx)["limits"] if one["requests"] == requests), None))


def test_hot_keys_and_rejections_of_all_workers_are_seen_with_their_numbers(folder: Path, behind: Nginx) -> None:
    with running(nginx := balancer(folder, rules_of(limit()), behind.port)):
        burst([nginx], 150, "greedy")
        burst([nginx], 40, "polite")
        reported = seen(nginx, 190)
        assert [(one["client"], one["count"], one["at_most_over"]) for one in reported["most_requests"]] == [
            ("header=greedy", 150, 0),
            ("header=polite", 40, 0),
        ]
        assert reported["rejections"] == 50
        assert [(one["client"], one["count"]) for one in reported["most_rejections"]] == [("header=greedy", 50)]
        assert (reported["limit"], reported["window_seconds"], reported["rejects"]) == (100, 86400, True)
        rates = re.findall(r'hot_key_(\w+)_per_second\{limit="per_client",rank="1"\} (\S+)', nginx.metrics())
        assert {name for name, _ in rates} == {"requests", "rejections"}
        assert all(float(rate) > 0 for _, rate in rates)
        assert "greedy" not in nginx.metrics()  # a key may be a secret: the series have ranks


def test_memory_for_hot_keys_is_bounded_and_a_frequent_one_is_found_among_many(folder: Path, behind: Nginx) -> None:
    with running(nginx := balancer(folder, rules_of(limit(), hot_keys=3), behind.port, workers=1)):
        with httpx.Client(base_url=nginx.url) as client:
            for number in range(200):
                for key in ("frequent", f"rare-{number}"):
                    client.get("/", headers={"X-Api-Key": key})
        reported = seen(nginx, 400)
        first = reported["most_requests"][0]
        assert len(reported["most_requests"]) <= 3
        assert first["client"] == "header=frequent"
        assert first["count"] - first["at_most_over"] <= 200 <= first["count"]
        assert first["at_most_over"] <= 400 / 4


def test_rules_that_say_hot_keys_0_count_no_one(folder: Path, behind: Nginx) -> None:
    with running(nginx := balancer(folder, rules_of(limit(), hot_keys=0), behind.port)):
        assert get(nginx).status_code == 200
        reported = view(nginx)
        assert (reported["hot_keys"], reported["limits"][0]["most_requests"]) == (0, [])
        assert "hot_key_requests" not in nginx.metrics()


def test_the_page_asks_no_one_but_its_balancer(folder: Path, behind: Nginx) -> None:
    with running(nginx := balancer(folder, rules_of(limit()), behind.port)):
        answer = httpx.get(f"http://127.0.0.1:{nginx.metrics_port}/")
        assert answer.headers["Content-Type"].startswith("text/html")
        assert re.findall(r"https?:|src=|@import|url\(", answer.text) == []
        assert "default-src 'none'" in answer.text
        assert get(nginx).text == "ok\n"  # where clients come in there is no such page
        assert get(nginx, path="/hot-keys.json").text == "ok\n"


def test_a_dry_run_rejects_no_one_and_its_report_says_who_would_have_been(folder: Path, behind: Nginx) -> None:
    log = {"folder": str(folder / "log"), "rows": "rejected"}
    limits = [limit(deny=["eve"]), limit(name="open", missing_key="reject")]
    with running(nginx := balancer(folder, rules_of(*limits, dry_run=True, decision_log=log), behind.port)):
        assert burst([nginx], 130, "greedy") == {200: 130}
        assert get(nginx, "eve").status_code == 200
        assert get(nginx, None).status_code == 200
        assert "RateLimit" not in get(nginx, "polite").headers
        assert eventually(lambda: nginx.metric("ratelimit_decisions_total", outcome="shadow_rejected") == 60)
        assert nginx.metric("ratelimit_dry_run") == 1
        eventually(lambda: len(nginx.decisions()) == 60)
        logs = sorted(map(str, (folder / "log").glob("decisions-*.tsv")))
        printed = subprocess.run([str(COMMAND), "report", *logs], capture_output=True, text=True, check=True).stdout
        assert "per_client: 30 rejected; clients: 1;" in printed
        assert re.search(r"header=greedy +30 ", printed)
        nginx.enforce(rules_of(*limits))
        eventually(lambda: get(nginx, "greedy").status_code == 429)
        eventually(lambda: nginx.metric("ratelimit_dry_run") == 0)


def test_the_command_tests_the_rules_that_are_shipped(folder: Path) -> None:
    files = [str(FILTER / "examples" / name) for name in ("plan.json", "requests.csv")]
    done = subprocess.run([str(COMMAND), "test", *files], capture_output=True, text=True, check=False, cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr.startswith("note: some limits are shadows")
    assert "lines as expected, 0 not" in done.stdout

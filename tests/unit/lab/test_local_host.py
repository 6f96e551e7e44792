"""How a host turns what runs into what is wanted, without a process: who is started and why, what is told to whom."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from patternbench.lab.host import calls
from patternbench.lab.host.accounts import Account
from patternbench.lab.host.calls import Call
from patternbench.lab.host.launch import (
    File,
    Launch,
    LiveCall,
    LiveFile,
    Preparation,
    Renewal,
    ResourceLimits,
    Stop,
)
from patternbench.lab.host.local_host import LocalHost
from patternbench.lab.host.processes import StartError
from patternbench.lab.host.ready import Answers, Port
from patternbench.lab.software.needs import Need
from patternbench.terms.units import Duration


@dataclass
class MadeUpProcess:
    """A process that never ran."""

    name: str
    command: tuple[str, ...]
    alive: bool = True
    pid: int = 77
    told: list[str] = field(default_factory=list)
    patient: bool = True

    def written(self) -> str:
        return ""

    def tail(self) -> str:
        return "its last words"

    def why_not(self) -> str:
        return f"{self.name} ended with code 3"

    def signal(self, name: str) -> None:
        self.told.append(name)

    def ended(self, seconds: float) -> bool:
        self.told.append(f"waited {seconds:g} s")
        return self.patient


class MadeUpLauncher:
    """A launcher that starts nothing, and notes what it was asked; those that ``fails`` names fail."""

    def __init__(self) -> None:
        self.fails: dict[str, str] = {}
        self.prepared_ones: list[Launch] = []
        self.ended: list[str] = []
        self.carried: list[tuple[str, bool]] = []
        self.left: list[str] = []
        self.signs: list[Any] = []
        self.shows = True
        self.limiter = SimpleNamespace(leave=self.left.append, cause=lambda name: f", cause of {name}", refused={})
        self.logs = SimpleNamespace(cut=lambda: ["shop"])

    def prepared(self, launch: Launch, account: Account) -> MadeUpProcess:
        if launch.name in self.fails:
            raise StartError(self.fails[launch.name])
        self.prepared_ones.append(launch)
        return MadeUpProcess(launch.name, launch.command)

    def ready(self, launch: Launch, account: Account) -> MadeUpProcess:
        return self.prepared(launch, account)

    def acts(self, sign: Any, launch: Launch, process: MadeUpProcess, account: Account) -> bool:
        self.signs.append(sign)
        return self.shows

    def carry_out(self, launch: Launch, preparation: Preparation, account: Account, *, up: bool = False) -> None:
        if launch.name in self.fails:
            raise StartError(self.fails[launch.name])
        self.carried.append((" ".join(preparation.command), up))

    def end(self, processes: Sequence[MadeUpProcess]) -> None:
        self.ended += [process.name for process in processes]

    def end_strays(self, staying: Sequence[MadeUpProcess]) -> None: ...

    def give_up(self) -> None: ...

    def go_on(self) -> None: ...

    def close(self) -> None:
        self.ended.append("all")


@dataclass
class Local:
    """A host with its made-up launcher, and the calls that it made."""

    host: LocalHost
    launcher: MadeUpLauncher
    calls: list[Call]

    def change(self, *launches: Launch, **restarts: str) -> dict[str, str]:
        """Have these be what runs; returns why each that was started was."""
        self.host.change(launches, restarts)
        return {start.component: start.why for start in self.host.started}

    def content(self, path: str) -> str:
        return (self.host.folder / path).read_text()


@pytest.fixture
def local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Local]:
    ticks, numbers, made = count(), count(), list[Call]()
    host = LocalHost(tmp_path / "host", lambda: f"secret-{next(numbers)}", lambda: next(ticks) / 4)
    launcher = MadeUpLauncher()
    (tmp_path / "host").mkdir()
    real = host._launcher
    monkeypatch.setattr(host, "_launcher", launcher)
    monkeypatch.setattr(calls, "make", lambda call, client: made.append(call))
    yield Local(host, launcher, made)
    real.close()


def launch(name: str, *command: str, **fields: Any) -> Launch:
    base: dict[str, Any] = {"ports": {"http": 0}, "url": "http://127.0.0.1:${self.port.http}", **fields}
    return Launch("process", name, command or (name,), Port("http"), **base)


SHOP = launch("shop")
EDGE = launch("edge", "edge", "--to", "${shop.url}")


def test_components_are_started_after_those_that_they_refer_to_with_their_addresses(local: Local) -> None:
    assert local.change(EDGE, SHOP) == {"shop": "it was not up", "edge": "it was not up"}
    first, second = local.launcher.prepared_ones
    url = local.host.running["shop"].url
    assert (first.name, second.command) == ("shop", ("edge", "--to", url))
    assert url == f"http://127.0.0.1:{first.ports['http']}" and first.ports["http"] > 1024
    assert all(start.seconds > 0 for start in local.host.started)


def test_what_is_as_wanted_stays_and_what_is_not_is_restarted_with_all_that_refer_to_it(local: Local) -> None:
    local.change(EDGE, SHOP, launch("other"))
    assert local.change(EDGE, SHOP, launch("other")) == {}
    assert local.change(EDGE, replace(SHOP, command=("shop", "--fast")), launch("other")) == {
        "shop": "its command changed",
        "edge": "shop, which it refers to, was started",
    }
    assert local.launcher.ended == ["edge", "shop"] and local.launcher.left == ["edge", "shop"]
    assert local.change(EDGE, replace(SHOP, command=("shop", "--fast")), other="as asked") == {}
    assert local.launcher.ended[2:] == ["other"], "what is not wanted any more is taken down"


def test_what_shall_be_new_or_has_ended_is_started_for_that_reason(local: Local) -> None:
    local.change(SHOP, launch("other"))
    assert local.change(SHOP, launch("other"), shop="its log belongs to one round") == {
        "shop": "its log belongs to one round"
    }
    local.host.running["other"].process.alive = False  # type: ignore[misc]  # a made-up process
    assert local.change(SHOP, launch("other")) == {"other": "other ended with code 3"}


def test_secrets_are_made_anew_for_each_start(local: Local) -> None:
    db = launch("db", "db", "--password", "${self.secret.password}", secrets=("password",))
    local.change(db)
    local.change(db, db="again")
    assert [one.command[2] for one in local.launcher.prepared_ones] == ["secret-0", "secret-1"]


def test_one_that_fails_is_named_with_its_line_and_started_by_the_next_change(local: Local) -> None:
    local.launcher.fails["edge"] = "edge did not come up"
    with pytest.raises(StartError, match=r"^own\.yaml:7: edge did not come up$"):
        local.change(replace(EDGE, origin="own.yaml:7"), SHOP)
    assert list(local.host.running) == ["shop"]
    local.launcher.fails.clear()
    assert local.change(EDGE, SHOP) == {"edge": "it was not up"}


def test_a_first_start_that_fails_leaves_nothing(local: Local) -> None:
    local.launcher.fails["edge"] = "edge did not come up"
    with pytest.raises(StartError):
        local.host.launch([EDGE, SHOP])
    assert dict(local.host.running) == {} and local.launcher.ended[-1] == "all"


def test_what_is_not_installed_is_told_before_anything_starts(local: Local) -> None:
    lacking = Need("nginx", None, "apt-get install nginx")
    with pytest.raises(StartError, match=r"^nginx is not installed: apt-get install nginx$"):
        local.change(replace(SHOP, needs=(Need("envoy", "/usr/bin/envoy", ""), lacking)))
    assert local.launcher.prepared_ones == []


# --- live parts


def configured(limit: int, signal: str = "SIGHUP") -> Launch:
    acts = Answers("http", "/", "change ${self.change}")
    live = LiveFile("limits.conf", signal, acts)
    files = (File("limits.conf", f"limit {limit} change ${{self.change}}"), File("fixed.conf", "as it is"))
    return launch("gateway", files=files, live=(live,))


def test_a_live_file_is_replaced_and_read_again_and_counts_its_changes(local: Local) -> None:
    local.change(configured(5))
    assert local.launcher.signs == []
    assert local.change(configured(9)) == {}
    process: Any = local.host.running["gateway"].process
    assert local.content("gateway/limits.conf") == "limit 9 change 1"
    assert (process.told, [sign.pattern for sign in local.launcher.signs]) == (["SIGHUP"], ["change 1"])
    assert local.change(configured(9)) == {} and len(local.launcher.signs) == 1, "it is as wanted already"
    local.change(configured(5))
    assert local.content("gateway/limits.conf") == "limit 5 change 2"


def test_a_file_that_does_not_act_in_time_is_told_with_the_last_words_of_its_component(local: Local) -> None:
    local.change(configured(5))
    local.launcher.shows = False
    words = "gateway didn't load its new limits.conf within 20s: its last words"
    with pytest.raises(StartError, match=f"^{words}$"):
        local.change(configured(9))


def test_another_file_that_is_not_live_needs_a_start(local: Local) -> None:
    local.change(configured(5))
    changed = replace(configured(5), files=(configured(5).files[0], File("fixed.conf", "otherwise")))
    assert local.change(changed) == {"gateway": "its files changed"}


def limited(limit: int) -> Launch:
    call = Call("PUT", "${self.url}/limit", body=f"limit {limit}")
    return launch("shop", live=(LiveCall("limit", call),), reset=(Call("POST", "${self.url}/reset"),))


def test_a_live_call_is_made_after_the_start_and_where_its_content_changed(local: Local) -> None:
    local.change(limited(5))
    local.change(limited(5))
    local.change(limited(7))
    url = local.host.running["shop"].url
    assert [(call.method, call.url, call.body) for call in local.calls] == [
        ("PUT", f"{url}/limit", "limit 5"),
        ("PUT", f"{url}/limit", "limit 7"),
    ]


def test_a_call_that_is_refused_names_the_setting(local: Local, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(call: Call, client: object) -> None:
        raise StartError("PUT answered 500")

    monkeypatch.setattr(calls, "make", refuse)
    with pytest.raises(StartError, match=r"^shop didn't accept its live setting `limit`: PUT answered 500$"):
        local.change(limited(5))


# --- between rounds


def test_a_reset_drops_what_was_asked_and_does_what_is_said_in_its_order(local: Local) -> None:
    drop, clear = Call("DELETE", "${self.url}/work"), Preparation(("clear", "${self.folder}"))
    resettable = replace(limited(5), drop=drop, reset=(Call("POST", "${self.url}/reset"), clear))
    local.change(resettable, launch("other"), replace(limited(1), name="fresh"))
    local.calls.clear()
    assert local.host.reset(but={"fresh"}) == ["shop"]
    url = local.host.running["shop"].url
    assert [f"{call.method} {call.url.removeprefix(url)}" for call in local.calls] == [
        "DELETE /work",
        "POST /reset",
        "PUT /limit",
    ]
    assert local.launcher.carried == [(f"clear {local.host.folder}/shop", True)]


def test_a_renewal_writes_live_files_again_as_another_change(local: Local) -> None:
    local.change(replace(configured(5), reset=(Renewal(),)))
    local.host.reset(but=())
    assert local.content("gateway/limits.conf") == "limit 5 change 1"


def test_one_that_cannot_be_reset_is_down_and_started_by_the_next_change(local: Local) -> None:
    resettable = launch("db", reset=(Preparation(("truncate",)),), origin="own.yaml:3")
    local.change(resettable)
    local.launcher.fails["db"] = "truncate ended with code 1"
    with pytest.raises(StartError, match=r"^own\.yaml:3: db could not be reset: truncate ended with code 1$"):
        local.host.reset(but=())
    local.launcher.fails.clear()
    assert local.launcher.ended == ["db"]
    assert local.change(resettable) == {"db": "it was not up"}


def test_a_component_that_has_ended_is_restarted_as_it_was_and_told_again(local: Local) -> None:
    local.change(limited(5))
    before, url = local.launcher.prepared_ones[-1], local.host.running["shop"].url
    local.host.restart("shop")
    assert local.launcher.prepared_ones[-1].ports == before.ports and local.host.running["shop"].url == url
    assert local.launcher.ended == ["shop"]
    assert [call.body for call in local.calls] == ["limit 5", "limit 5"]


def test_a_component_is_let_end_within_its_own_time(local: Local) -> None:
    local.change(launch("db", stop=Stop("SIGINT", Duration.parse("3s"))))
    process: Any = local.host.running["db"].process
    local.host.finish("db")
    assert process.told == ["SIGINT", "waited 3 s"]
    process.patient = False
    with pytest.raises(StartError, match=r"^db did not end within 3s, so its files may be incomplete$"):
        local.host.finish("db")


def test_who_is_gone_is_told_with_its_cause_but_for_those_that_are_expected_to_be(local: Local) -> None:
    local.change(SHOP, launch("db"), launch("other"))
    for name in ("shop", "db"):
        local.host.running[name].process.alive = False  # type: ignore[misc]  # a made-up process
    assert local.host.dead() == [f"{name} ended with code 3, cause of {name}" for name in ("shop", "db")]
    assert local.host.dead(but={"db"}) == ["shop ended with code 3, cause of shop"]


def test_limits_are_told_in_words_and_why_they_do_not_act(local: Local) -> None:
    cores = ResourceLimits(cores=0.5)
    local.change(replace(SHOP, limits=cores), launch("db", limits=cores), launch("other"))
    local.launcher.limiter.refused.update({"db": "no control group", "elsewhere": "not here"})
    assert local.host.limits() == {
        "shop": "0.5 CPU seconds per second",
        "db": "0.5 CPU seconds per second: does not act: no control group",
    }
    assert local.host.refused_limits() == {"db": "no control group"}
    assert local.host.cut_logs() == ["shop"]

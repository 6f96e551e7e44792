"""A system file says how a component of any kind is reset."""

from __future__ import annotations

from pathlib import Path

import pytest

from patternbench.lab import startable, systems, topologies
from patternbench.lab.host.calls import Call
from patternbench.lab.host.launch import FreshStart, Preparation, Reset
from patternbench.lab.resets import resets_of
from patternbench.terms.problems import InputError

FLUSH = Preparation(("flush",))
CALL = Call("POST", "${self.url}/reset")


@pytest.mark.parametrize(
    ("message", "resets"),
    [
        ("restart", (FreshStart(),)),
        ("none", ()),
        ("flush", (FLUSH,)),
        ({"call": {"method": "POST", "url": "${self.url}/reset"}}, (CALL,)),
        ({"command": ["rm", "-rf", "${self.folder}/cache"]}, (Preparation(("rm", "-rf", "${self.folder}/cache")),)),
        (["flush", {"call": {"method": "POST", "url": "${self.url}/reset"}}], (FLUSH, CALL)),
    ],
)
def test_a_reset_is_a_word_a_call_a_command_or_several(message: object, resets: tuple[Reset, ...]) -> None:
    assert resets_of(message, {"flush": (FLUSH,)}, "shop.reset") == resets


@pytest.mark.parametrize("message", ["flsh", {"cal": {}}, {"call": {}, "command": ["a"]}, 5, None, {}])
def test_anything_else_is_refused_with_what_is_allowed(message: object) -> None:
    with pytest.raises(InputError) as refused:
        resets_of(message, {"flush": (FLUSH,)}, "shop.reset")
    (problem,) = refused.value.problems
    assert (problem.path, problem.value) == ("shop.reset", message)
    assert problem.allowed.startswith("restart, none, flush, {call: {method, url}}")
    assert problem.hint == ("did you mean `flush`?" if message == "flsh" else "")


def test_all_that_is_wrong_with_resets_is_reported_at_once_where_it_stands() -> None:
    wrong = [{"call": {"method": "GIVE", "url": "nowhere"}}, "restart", "purge", {"command": "rm"}]
    with pytest.raises(InputError) as refused:
        resets_of(wrong, {}, "shop.reset")
    paths = [problem.path for problem in refused.value.problems]
    assert paths == ["shop.reset.call.method", "shop.reset.call.url", "shop.reset", "shop.reset.command"]


FILE = """\
patternbench-system: 1
name: shop
about: a target that is reset by a call
settings: {path: {default: reset, about: of the call}}
components:
  - target: {reset: {call: {method: POST, url: "${self.url}/${path}"}}}
  - target: {name: plain}
endpoint: target
"""


def test_an_entry_of_a_system_file_says_it_for_its_component_alone(tmp_path: Path) -> None:
    (tmp_path / "systems").mkdir()
    (tmp_path / "systems" / "shop.yaml").write_text(FILE)
    system = systems.load("shop", tmp_path)
    target, plain = topologies.of_file(system, {"path": "clear"}).launches
    assert (target.reset, plain.reset) == ((Call("POST", "${self.url}/clear"),), None)


def test_a_reset_that_its_kind_does_not_know_is_a_problem_of_the_system(tmp_path: Path) -> None:
    (tmp_path / "systems").mkdir()
    (tmp_path / "systems" / "shop.yaml").write_text(FILE.replace("name: plain", "name: plain, reset: truncate"))
    (problem,) = startable.settings_problems(systems.load("shop", tmp_path), {})
    assert (problem.path, problem.value) == ("plain.reset", "truncate")


SERVERS = """\
patternbench-system: 1
name: servers
about: a target beside the servers that have a word of their own
components:
  - target: {}
  - mariadb: {reset: truncate}
  - postgres: {reset: truncate, databases: {core: {}, crm: {}}}
  - rabbitmq: {reset: purge}
endpoint: target
"""


def test_every_server_is_reset_by_the_word_that_the_docs_give_it(tmp_path: Path) -> None:
    (tmp_path / "systems").mkdir()
    (tmp_path / "systems" / "servers.yaml").write_text(SERVERS)
    launches = topologies.of_file(systems.load("servers", tmp_path), {}).launches
    commands = {launch.name: str(launch.reset) for launch in launches if launch.reset}
    assert commands.keys() == {"mariadb", "postgres", "rabbitmq"}
    assert "truncates.sql" in commands["mariadb"]
    assert "truncate.sql" in commands["postgres"]
    assert "purge" in commands["rabbitmq"]

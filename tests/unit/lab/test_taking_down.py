"""In which order a host ends components."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from patternbench.lab.host.accounts import Account
from patternbench.lab.host.launch import Launch
from patternbench.lab.host.local_host import LocalHost
from patternbench.lab.host.ready import LogLine
from patternbench.lab.host.running import RunningComponent

SHOP = Launch("process", "shop", ("shop",), LogLine("up"))


@dataclass(frozen=True)
class Up:
    """The process of a component that is up."""

    name: str
    alive: bool = True


@pytest.mark.parametrize("stays", [[], ["store"]], ids=["all", "all but one that stays"])
def test_a_component_is_ended_before_those_that_it_refers_to(
    stays: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host, ended, nobody = LocalHost(tmp_path), list[Up](), Account("")
    monkeypatch.setattr(host._launcher, "end", ended.extend)
    monkeypatch.setattr(LocalHost, "_bring", lambda *_: None)
    front = replace(SHOP, name="front", command=("front", "${shop.url}"))
    edge = replace(SHOP, name="edge", command=("edge", "${front.url}"))
    order = {launch.name: launch for launch in (replace(SHOP, name="store"), SHOP, front, edge)}
    for name, launch in order.items():
        host.running[name] = RunningComponent(launch, launch, Up(name), tmp_path, nobody, {})  # type: ignore[arg-type]  # nothing is done to it
    host.change([order[name] for name in stays] or [replace(SHOP, name="next")])
    assert [process.name for process in ended] == [name for name in reversed(order) if name not in stays]

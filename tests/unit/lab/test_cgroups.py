"""Limits by control groups: where a group is made, what it holds, and what is said where none can be made."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from patternbench.lab.host import cgroups
from patternbench.lab.host.cgroups import ControlGroup, Limiter, LimitRefused
from patternbench.lab.host.launch import Launch, ResourceLimits
from patternbench.lab.host.ready import Port

BOTH = ResourceLimits(memory=64_000_000, cores=1.5)
OURS = "user.slice/app.slice/session.scope"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The files of a machine with control groups, whose groups hand both controllers down above our own."""
    root = tmp_path / "cgroup"
    for folder, handed_down in (("", "cpu memory"), ("user.slice", "cpu memory"), ("user.slice/app.slice", "memory")):
        (root / folder).mkdir(exist_ok=True)
        (root / folder / "cgroup.subtree_control").write_text(handed_down + "\n")
        (root / folder / "cgroup.procs").touch()
    (root / OURS).mkdir()
    (tmp_path / "mountinfo").write_text(
        f"29 23 0:26 / /sys rw - sysfs sysfs rw\n30 29 0:27 / {root} rw,nosuid - cgroup2 cgroup2 rw\n"
    )
    (tmp_path / "own").write_text(f"1:name=systemd:/elsewhere\n0::/{OURS}\n")
    return root


def made(root: Path, limits: ResourceLimits = BOTH, name: str = "shop") -> ControlGroup:
    return cgroups.made(limits, name, root.parent / "mountinfo", root.parent / "own")


def test_a_group_is_made_below_the_nearest_one_that_hands_all_controllers_down(root: Path) -> None:
    assert made(root).path == root / "user.slice" / f"patternbench-{os.getpid()}-shop"
    assert made(root, ResourceLimits(memory=1)).path.parent == root / "user.slice/app.slice"


def test_a_group_holds_the_limits_in_the_units_of_the_kernel(root: Path) -> None:
    path = made(root).path
    assert (path / "memory.max").read_text() == "64000000"
    assert (path / "cpu.max").read_text() == "150000 100000"
    assert not (path / "memory.swap.max").exists(), "a machine without swap has no such file"


def test_what_has_no_room_in_memory_may_not_continue_in_swap(root: Path) -> None:
    group = root / "user.slice" / f"patternbench-{os.getpid()}-shop"
    group.mkdir()
    (group / "memory.swap.max").write_text("max")
    made(root)
    assert (group / "memory.swap.max").read_text() == "0"


def test_a_group_of_an_earlier_start_is_made_again_so_that_its_events_are_not_taken_for_new_ones(root: Path) -> None:
    old = root / "user.slice" / f"patternbench-{os.getpid()}-shop"
    old.mkdir(mode=0o711)
    made(root)
    assert old.stat().st_mode & 0o777 != 0o711
    assert (old / "memory.max").read_text() == "64000000"


def test_a_command_joins_its_group_before_it_becomes_itself(root: Path) -> None:
    group = made(root)
    assert group.command("node", "shop.js") == [*cgroups.JOIN, str(group.path), "node", "shop.js"]


def test_the_groups_of_runs_that_were_killed_are_removed(root: Path) -> None:
    old = root / "user.slice" / "patternbench-4194305-shop"  # above the highest number of a process
    old.mkdir()
    made(root)
    assert not old.exists()


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        ("mountinfo", "this machine has no control groups of version 2"),
        ("cgroup.subtree_control", "no control group here hands down cpu and memory and can be written to"),
    ],
)
def test_where_no_group_can_be_made_it_is_said_why(root: Path, broken: str, why: str) -> None:
    for file in [*root.rglob(broken), *root.parent.glob(broken)]:
        file.write_text("")
    with pytest.raises(LimitRefused, match=why):
        made(root)
    assert cgroups.refusal(BOTH, root.parent / "mountinfo", root.parent / "own") == why


def launch(limits: ResourceLimits) -> Launch:
    return Launch("process", "shop", ("node",), Port("http"), limits=limits)


def test_a_limiter_starts_what_it_cannot_limit_and_says_so(root: Path) -> None:
    def refuses(limits: ResourceLimits, name: str) -> ControlGroup:
        raise LimitRefused("there is none")

    limiter = Limiter(refuses)
    assert limiter.command(launch(BOTH), ["node"]) == ["node"]
    assert limiter.refused == {"shop": "there is none"}


def test_a_component_without_limits_gets_no_group(root: Path) -> None:
    limiter = Limiter(lambda limits, name: made(root, limits, name))
    assert limiter.command(launch(ResourceLimits(cpus=(0,))), ["node"]) == ["node"]
    assert limiter.refused == {}


def test_that_the_memory_was_used_up_is_the_cause_and_groups_go_with_their_limiter(root: Path) -> None:
    limiter = Limiter(lambda limits, name: made(root, limits, name))
    words = limiter.command(launch(BOTH), ["node"])
    events = Path(words[3]) / "memory.events"
    events.write_text("low 0\noom 1\noom_kill 1\n")
    assert limiter.cause("shop") == "; it ran out of the memory that it may take"
    events.write_text("low 0\noom 0\noom_kill 0\n")
    assert limiter.cause("shop") == limiter.cause("other") == ""
    for file in Path(words[3]).iterdir():
        file.unlink()  # the kernel's files go with their folder
    limiter.close()
    assert not Path(words[3]).exists()


def test_a_component_that_is_restarted_has_no_history_of_its_limits(root: Path) -> None:
    limiter = Limiter(lambda limits, name: made(root, limits, name))
    words = limiter.command(launch(BOTH), ["node"])
    (Path(words[3]) / "memory.events").write_text("oom_kill 1\n")
    limiter.refused["shop"] = "there was none"
    limiter.leave("shop")
    assert (limiter.cause("shop"), limiter.refused) == ("", {})

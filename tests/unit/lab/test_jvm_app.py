"""A jar as a component: how Java is told of it, and where the archive of its classes is kept."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest

from patternbench.lab.component import ComponentRegistry
from patternbench.lab.components.jvm_app import ERROR_FILE, JvmApp
from patternbench.lab.host.launch import Launch
from patternbench.lab.software import java, otel_agent
from patternbench.terms.problems import InputError


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two jars, and a cache and its own Java."""
    for name in ("shop.jar", "agent.jar", "java/bin/java"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"made")
    (tmp_path / "java" / "release").write_text('IMPLEMENTOR="x"\nJAVA_VERSION="17.0.15"\n')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "java"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def described(folder: Path, **settings: object) -> Launch:
    return JvmApp.model_validate({"jar": "shop.jar"} | settings).describe("shop", ComponentRegistry(folder=folder))


def archive(launch: Launch) -> str:
    return next(word.partition("=")[2] for word in launch.command if word.startswith("-XX:SharedArchiveFile="))


def test_java_is_told_its_options_before_the_jar_and_the_application_its_words_after(folder: Path) -> None:
    launch = described(
        folder, heap="64MiB", collector="z", agents=["agent.jar=port=1"], options="-Xss1m", args=["--a", 1]
    )
    agent, jar = f"-javaagent:{folder}/agent.jar=port=1", str(folder / "shop.jar")
    machine = ("-Xms67108864", "-Xmx67108864", "-XX:+UseZGC", "-Xss1m")
    assert launch.command == (f"{folder}/java/bin/java", ERROR_FILE, agent, *machine, "-jar", jar, "--a", "1")
    assert launch.prepare == ()


def test_a_jar_without_anything_said_gets_what_java_itself_chooses(folder: Path) -> None:
    assert described(folder).command[1:] == (ERROR_FILE, "-jar", str(folder / "shop.jar"))


@pytest.mark.parametrize("own", [{"agents": ["agent.jar"]}, {"options": "-agentpath:/x.so"}])
def test_no_class_is_taken_from_an_archive_next_to_an_agent(folder: Path, own: dict[str, object]) -> None:
    alone = described(folder, class_data_sharing=True)
    for launch in (described(folder, class_data_sharing=True, **own), otel_agent.attached(alone)):
        assert not [word for word in launch.command if word.startswith("-XX:SharedArchiveFile=")]
        assert launch.prepare == ()
    assert archive(alone)
    assert otel_agent.attached(described(folder)).env["JAVA_TOOL_OPTIONS"].endswith(".jar")


def test_the_archive_is_made_by_a_start_without_agents_and_only_where_there_is_none(folder: Path) -> None:
    launch = described(folder, class_data_sharing=True, args="--fast")
    start, save = launch.prepare
    assert (start.until_ready, start.makes, save.makes) == (True, archive(launch), archive(launch))
    assert start.command[:3] == ("env", "-u", "JAVA_TOOL_OPTIONS")
    assert "-XX:ArchiveClassesAtExit=${self.folder}/classes.jsa" in start.command
    assert start.command[-3:] == ("-jar", str(folder / "shop.jar"), "--fast")
    assert not [word for word in start.command if "agent" in word]
    assert save.command[-2:] == ("${self.folder}/classes.jsa", archive(launch))
    assert archive(launch).startswith(f"{folder}/cache/patternbench/class-data/shop-")


def test_a_jar_that_changes_and_a_heap_of_another_size_get_archives_of_their_own(folder: Path) -> None:
    def where(**settings: object) -> str:
        return archive(described(folder, class_data_sharing=True, **settings))

    first = where()
    assert where() == first
    others = {where(heap="1GB"), where(options="-Xss1m")}
    (folder / "shop.jar").write_bytes(b"new")
    others.add(where())
    os.utime(folder / "shop.jar", (1, 1))  # Java takes an archive for a jar of the same time alone
    others.add(where())
    assert len(others - {first}) == 4


def test_a_jar_that_names_its_packages_passes_them_on_to_what_counts_calls(folder: Path) -> None:
    assert described(folder, packages=["org.example.shop", "org.example.core"]).env["PATTERNBENCH_CALLS_PACKAGES"] == (
        "org.example.shop,org.example.core"
    )
    assert "PATTERNBENCH_CALLS_PACKAGES" not in described(folder).env


@pytest.mark.parametrize("package", ["org.example.", "org example", "*", ""])
def test_a_name_that_is_no_package_is_refused(folder: Path, package: str) -> None:
    with pytest.raises(ValueError, match="packages"):
        described(folder, packages=[package])


@pytest.mark.parametrize(
    ("settings", "path", "words"),
    [
        ({"jar": "shpo.jar"}, "shpo.jar", "did you mean `shop.jar`?"),
        ({"agents": ["agnet.jar=a"]}, "agnet.jar", "did you mean `agent.jar`?"),
        ({"jar": "target/x.jar", "class_data_sharing": True}, "target/x.jar", "for example by `mvn package`"),
    ],
)
def test_a_jar_that_is_not_built_is_a_need_so_that_a_plan_can_do_without(
    folder: Path, settings: dict[str, object], path: str, words: str
) -> None:
    launch = described(folder, **settings)
    (lacking,) = [need for need in launch.needs if not need.met]
    assert lacking.name == str(folder / path)
    assert words in lacking.how
    assert lacking.name in " ".join(launch.command)


def test_a_jar_that_is_built_meets_its_need(folder: Path) -> None:
    assert [need.met for need in described(folder, agents=["agent.jar"]).needs] == [True, True]


def test_an_archive_of_its_own_user_is_refused_at_its_setting(folder: Path) -> None:
    with pytest.raises(InputError) as caught:
        described(folder, class_data_sharing=True, user="nobody")
    (problem,) = caught.value.problems
    assert (problem.path, problem.message.partition(",")[0]) == ("shop.class_data_sharing", "does not go with `user`")


def boot_jar(folder: Path, tool: str = "spring-boot-jarmode-tools-3.5.7.jar") -> None:
    """A jar that holds its libraries, such as Spring Boot makes."""
    with zipfile.ZipFile(folder / "shop.jar", "w") as archive:
        archive.writestr(f"BOOT-INF/lib/{tool}", b"library")


def test_a_jar_of_spring_boot_is_taken_apart_before_its_classes_are_archived(folder: Path) -> None:
    boot_jar(folder)
    launch = described(folder, class_data_sharing=True)
    extract, place, start, save = launch.prepare
    apart = Path(archive(launch)).parent
    assert str(apart).startswith(f"{folder}/cache/patternbench/class-data/shop-")
    assert launch.command[-2:] == ("-jar", f"{apart}/shop.jar")
    assert extract.command[-6:-2] == ("-Djarmode=tools", "-jar", str(folder / "shop.jar"), "extract")
    assert (extract.makes, place.makes) == (f"{apart}/shop.jar", f"{apart}/shop.jar")
    assert place.command[-1] == str(apart)
    assert start.command[-2:] == ("-jar", f"{apart}/shop.jar")
    assert (start.makes, save.makes) == (archive(launch), archive(launch))


def test_a_jar_of_spring_boot_with_other_content_has_its_own_parts_and_one_without_the_tool_stays_whole(
    folder: Path,
) -> None:
    boot_jar(folder)
    first = archive(described(folder, class_data_sharing=True))
    larger = archive(described(folder, class_data_sharing=True, heap="1GB"))
    assert Path(first).parent == Path(larger).parent
    assert first != larger
    boot_jar(folder, "spring-boot-jarmode-tools-3.5.8.jar")
    os.utime(folder / "shop.jar", (1, 1))
    assert Path(archive(described(folder, class_data_sharing=True))).parent != Path(first).parent
    boot_jar(folder, "another.jar")
    assert described(folder, class_data_sharing=True).command[-1] == str(folder / "shop.jar")


@pytest.mark.parametrize(
    ("version", "met"), [("17.0.15", True), ("21", True), ("1.8.0_392", False), ("11.0.2", False), ("", False)]
)
def test_a_java_older_than_17_does_not_do(folder: Path, version: str, met: bool) -> None:
    (folder / "java" / "release").write_text(f'JAVA_VERSION="{version}"\n')
    assert java.need().met is met
    assert java.PACKAGE in java.need().how

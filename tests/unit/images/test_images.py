"""Our images: what is put into each, the same every time, and what none may have."""

from __future__ import annotations

import http.server
import os
import subprocess
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from scripts.images import built, staged
from scripts.images.built import Builder
from scripts.images.staged import FOLDER, IMAGES, Image, MissingPart

from patternbench.lab.containers import images
from patternbench.lab.host.accounts import CONTAINER_USER


def containerfile(name: str) -> str:
    return (FOLDER / name / "Containerfile").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", IMAGES)
def test_no_image_runs_as_root_and_each_has_a_check_of_its_health(name: str) -> None:
    lines = containerfile(name).splitlines()
    assert f"USER {CONTAINER_USER}:{CONTAINER_USER}" in lines
    assert any(line.startswith("HEALTHCHECK ") and line.endswith('CMD ["/app/health"]') for line in lines)
    assert "FROM ${BASE}" in lines
    assert not any(line.startswith(("RUN", "ADD")) for line in lines), "what is not in the sources changes by itself"


@pytest.mark.parametrize("name", IMAGES)
def test_a_layer_is_a_folder_with_all_folders_that_it_needs_so_that_no_builder_makes_one_now(name: str) -> None:
    copied = [line for line in containerfile(name).splitlines() if line.startswith("COPY")]
    assert copied in (["COPY own/ /"], ["COPY libraries/ /", "COPY own/ /"])


@pytest.mark.parametrize("name", IMAGES)
def test_a_base_is_named_as_everybody_names_it(name: str) -> None:
    base = built.public_base(IMAGES[name])
    repository, _, tag = base.partition(":")
    assert tag not in ("", "latest")
    assert "/" not in repository
    assert "." not in repository


def test_each_image_that_the_lab_runs_is_one_of_ours() -> None:
    ours = {f"patternbench-{name}" for name in IMAGES}
    assert {images.TARGET, images.ENVOY, images.HTTPBIN} <= ours


def one(folder: Path, **files: str) -> Image:
    """An image of these files, whose dots in names are written as ``__``."""

    def fill(app: Path) -> None:
        for name, text in files.items():
            path = app / name.replace("__", ".")
            path.write_text(text)
            path.chmod(0o700 if text.startswith("#!") else 0o640)

    return Image("target", "plain", fill)


def test_the_same_sources_make_the_same_files_with_the_same_times_and_permissions(tmp_path: Path) -> None:
    image = one(tmp_path, a__txt="a", run="#!/bin/sh")
    first, second = (staged.staged(image, tmp_path / made) for made in ("first", "second"))
    assert staged.digest(first) == staged.digest(second)
    seen = {path.relative_to(first): path.stat() for path in first.rglob("*")}
    assert {found.st_mtime for found in seen.values()} == {staged.EPOCH}
    assert seen[Path("own/app/run")].st_mode & 0o777 == seen[Path("own/app/health")].st_mode & 0o777 == 0o755
    assert seen[Path("own/app/a.txt")].st_mode & 0o777 == 0o644


def test_libraries_are_in_a_layer_of_their_own(tmp_path: Path) -> None:
    def fill(app: Path) -> None:
        (app / "lib").mkdir()
        (app / "lib" / "a.jar").write_text("a")
        (app / "shop.jar").write_text("b")

    folder = staged.staged(Image("shop", "java", fill), tmp_path)
    expected = ["Containerfile", "libraries/app/lib/a.jar", "own/app/health", "own/app/shop.jar"]
    assert [str(path.relative_to(folder)) for path in staged.files_of(folder)] == expected


def test_any_other_content_name_or_permission_makes_another_hash(tmp_path: Path) -> None:
    variants = [{"a": "a"}, {"a": "b"}, {"b": "a"}, {"a": "#!a"}]
    digests = {
        staged.digest(staged.staged(one(tmp_path, **files), tmp_path / str(number)))
        for number, files in enumerate(variants)
    }
    assert len(digests) == len(variants)


def test_a_part_that_is_not_built_is_told_with_what_to_type(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staged, "ROOT", tmp_path)
    with pytest.raises(MissingPart, match="the jars of the shop are not built: type `make apps`"):
        staged.application("shop")(tmp_path)
    monkeypatch.setattr(staged.engine, "find", lambda: None)
    with pytest.raises(MissingPart, match="type `make setup`"):
        staged.target(tmp_path)


@pytest.mark.parametrize(
    "name",
    [
        *["app/.git/config", "app/lib/__pycache__/a.pyc", "root/.m2/settings.xml", "app/Shop.java", "app/.env"],
        *["app/server.key", "app/tls.pem", "app/target/a.txt", "home/.ssh/id_rsa", "app/node_modules/a/b.js"],
    ],
)
def test_what_no_image_may_have_is_found(name: str) -> None:
    assert staged.unwanted(["app/shop.jar", name]) == [name]


def test_what_images_need_is_not_taken_for_that() -> None:
    names = ["app/shop.jar", "app/lib/a.jar", "app/health", "app/packages/certifi/cacert.pem", "app/packages/keys.py"]
    assert staged.unwanted(names) == []


def test_what_an_image_says_of_itself_is_looked_at_too() -> None:
    well = {"User": "10001:10001", "Env": ["PATH=/bin", "HOME=/tmp"], "Healthcheck": {"Test": ["CMD", "/app/health"]}}
    assert list(built.exposed(well)) == []
    assert list(built.exposed({**well, "User": "root"})) == ["it runs as root"]
    assert list(built.exposed({**well, "User": ""})) == ["it runs as root"]
    assert list(built.exposed({**well, "Env": ["DB_PASSWORD=x"]})) == ["its environment has DB_PASSWORD"]
    assert list(built.exposed({**well, "Healthcheck": None})) == ["it has no check of its health"]


def test_podman_sets_the_time_of_layers_and_docker_is_told_it() -> None:
    folder = Path("/made/shop")
    assert Builder("podman").words(IMAGES["shop"], folder, "") == [
        *["podman", "build", "--timestamp", str(staged.EPOCH), "--format", "docker"],
        *["--file", "/made/shop/Containerfile", "--tag", "patternbench-shop", "/made/shop"],
    ]
    assert Builder("docker").words(IMAGES["shop"], folder, "patternbench-base-java")[2:4] == [
        "--build-arg",
        "BASE=patternbench-base-java",
    ]
    assert Builder("true").environment()["SOURCE_DATE_EPOCH"] == str(staged.EPOCH)


@pytest.mark.parametrize(("program", "kit"), [("true", "1"), ("false", "0")])
def test_docker_builds_by_the_builder_that_is_there(program: str, kit: str) -> None:
    assert Builder(program).environment()["DOCKER_BUILDKIT"] == kit


def test_a_base_from_packages_takes_the_place_of_one_that_cannot_be_had(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Builder, "made_base", lambda _, kind: f"made-{kind}")
    builder, shop = Builder("false"), IMAGES["shop"]
    assert built.base_of(shop, builder, built.PUBLIC) == "made-java"
    assert "can't be pulled" in capsys.readouterr().out
    assert built.base_of(shop, builder, built.DEBIAN) == "made-java"
    assert capsys.readouterr().out == ""
    assert built.base_of(shop, Builder("true"), built.PUBLIC) == ""


def test_a_base_from_packages_is_the_smallest_debian_with_a_java() -> None:
    assert built.debootstrap_words("java", Path("/d")) == [
        *["debootstrap", "--variant=minbase", "--include=ca-certificates,openjdk-17-jre-headless", "bookworm", "/d"],
    ]


class Routes(http.server.BaseHTTPRequestHandler):
    """Answers 200 at /well and below, and 503 elsewhere; as Envoy, no version of HTTP before 1.1."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        status = 200 if self.path.startswith("/well") else 503
        self.send_response(status if self.request_version == "HTTP/1.1" else 426)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        return None


@contextmanager
def serving() -> Iterator[int]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Routes) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


def healthy(paths: str, **env: str) -> subprocess.CompletedProcess[str]:
    command = [str(FOLDER / "health")]
    return subprocess.run(
        command, check=False, env={"PATH": os.environ["PATH"], "HEALTH": paths, **env}, text=True, stdout=-1
    )


@pytest.mark.parametrize(("paths", "words"), [("/well", ""), ("/well /well/2", ""), ("/well /ill", "/ill answers 503")])
def test_a_service_is_healthy_when_every_route_answers(paths: str, words: str) -> None:
    with serving() as port:
        for name in ("PORT", "ADMIN_PORT", "HEALTH_PORT"):
            found = healthy(paths, **{name: str(port)})
            assert (found.returncode, found.stdout.strip()) == (1 if words else 0, words)
        assert healthy(paths, PORT=str(port), ADDRESS="0.0.0.0").returncode == (1 if words else 0)


def test_a_route_of_another_service_can_be_asked_too() -> None:
    with serving() as port:
        assert healthy(f"http://127.0.0.1:{port}/well", PORT="1").returncode == 0
        assert healthy(f"http://127.0.0.1:{port}/ill", PORT="1").returncode == 1


def test_a_service_that_does_not_listen_is_not_healthy() -> None:
    with serving() as port:
        pass
    assert healthy("/well", PORT=str(port)).returncode == 1


def test_the_image_of_envoy_has_its_binary_and_no_script_that_needs_a_python(tmp_path: Path) -> None:
    staged.proxy(tmp_path)
    assert (tmp_path / "envoy").read_bytes()[:4] == b"\x7fELF"


def test_a_jar_that_is_written_at_any_time_is_the_same(tmp_path: Path) -> None:
    for name, moment in (("first", (2026, 2, 3, 4, 5, 6)), ("second", (2026, 7, 8, 9, 10, 12))):
        with zipfile.ZipFile(tmp_path / name, "w") as jar:
            for entry, text in (("META-INF/MANIFEST.MF", "Class-Path: lib/a.jar"), ("Shop.class", "x" * 99)):
                jar.writestr(zipfile.ZipInfo(entry, moment), text, zipfile.ZIP_DEFLATED)
        staged.settle_jar(tmp_path / name, tmp_path / f"{name}.jar")
    first, second = ((tmp_path / f"{name}.jar").read_bytes() for name in ("first", "second"))
    assert first == second
    with zipfile.ZipFile(tmp_path / "first.jar") as jar:
        assert jar.namelist() == ["META-INF/MANIFEST.MF", "Shop.class"]
        assert jar.read("Shop.class") == b"x" * 99

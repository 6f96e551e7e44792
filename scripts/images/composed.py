"""Writes the Compose file of each of our systems: ``python -m scripts.images.composed``."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping

from ruamel.yaml import YAML
from scripts.images import parts
from scripts.images.parts import CONFIG, PASSWORD, Part, Parts
from scripts.images.staged import FOLDER

SYSTEMS = ("cinema", "httpbin", "insurance", "shop", "target")
HEADER = """\
# {system} in containers, at the default settings of systems/{system}.yaml: `python -m scripts.images.composed` writes
# this file from that one. Its images are made by `make images`; databases and brokers are public ones. Settings that
# the lab changes while a system runs are at their own defaults here. Everybody knows the password: never expose it.
#
#     docker compose --file images/{system}/compose.yaml up --wait
"""
WRITTEN = "${PASSWORD:-patternbench-password-of-everyone}"
INIT = "/docker-entrypoint-initdb.d"
FILES = "config"
"""The folder of files that services read, next to a Compose file: their file systems can't be written into."""


def compose_file(system: Parts) -> str:
    """Return the text of a system's Compose file."""
    written = YAML()
    written.width, written.default_flow_style = 120, False
    written.indent(mapping=2, sequence=4, offset=2)
    text = io.StringIO()
    written.dump(project(system), text)
    return HEADER.format(system=system.system) + text.getvalue()


def project(system: Parts) -> dict[str, object]:
    """Return a Compose project as data."""
    configs = {name: {"file": f"./{FILES}/{name}"} for part in system.parts for name, _ in _configs(part)}
    services = {part.name: _service(part, part.name in system.entries) for part in system.parts}
    return {"name": f"patternbench-{system.system}", "services": services, **({"configs": configs} if configs else {})}


def _service(part: Part, is_called: bool) -> dict[str, object]:
    service: dict[str, object] = {"image": part.image, **_started(part), "environment": _environment(part)}
    if part.files:
        service["configs"] = [
            {"source": _config(part, name), "target": f"{_place(part)}/{name}"} for name in part.files
        ]
    if is_called:
        service["ports"] = [f"127.0.0.1:{part.ports['http']}:{part.ports['http']}"]
    if part.needs:
        service["depends_on"] = {name: {"condition": "service_healthy"} for name in part.needs}
    return service | _checked(part) | (_isolated() if part.ours else {})


def _started(part: Part) -> dict[str, object]:
    if not part.words:
        return {}
    program, *arguments = map(_escaped, part.words)
    return {"entrypoint": [program], "command": arguments}


def _environment(part: Part) -> dict[str, str]:
    own = {"ADDRESS": part.name} if parts.listens_at_its_own(part) else {}
    health = part.health.variables if part.health else {}
    return {name: _escaped(value) for name, value in {**own, **part.env, **health}.items()}


def _checked(part: Part) -> dict[str, object]:
    """Return how the health of an image that is not ours is checked; ours have their own check."""
    if not part.check:
        return {}
    return {"healthcheck": {"test": ["CMD", *part.check], "interval": "5s", "timeout": "10s", "retries": 30}}


def _isolated() -> dict[str, object]:
    return {
        "read_only": True,
        "tmpfs": ["/tmp:exec,nosuid,mode=1777"],
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges:true"],
    }


def _configs(part: Part) -> Iterator[tuple[str, str]]:
    for name, content in part.files.items():
        yield _config(part, name), content.rstrip("\n") + "\n"


def _config(part: Part, file: str) -> str:
    return f"{part.name}-{file}"


def _place(part: Part) -> str:
    return CONFIG if part.ours else INIT


def _escaped(text: str) -> str:
    """Return a text that Compose takes as it is, but for the password."""
    return text.replace("$", "$$").replace(PASSWORD, WRITTEN)


def files() -> Mapping[str, str]:
    """Return the texts of all Compose files, and of the files that their services read, by names below ``images``."""
    return {name: text for system in map(parts.of_system, SYSTEMS) for name, text in files_of(system)}


def files_of(system: Parts) -> Iterator[tuple[str, str]]:
    """Yield the texts of a system, by names below ``images``."""
    yield f"{system.system}/compose.yaml", compose_file(system)
    for part in system.parts:
        for name, content in _configs(part):
            yield f"{system.system}/{FILES}/{name}", content


def main() -> None:
    """Write them."""
    for name, text in files().items():
        FOLDER.joinpath(name).parent.mkdir(parents=True, exist_ok=True)
        FOLDER.joinpath(name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

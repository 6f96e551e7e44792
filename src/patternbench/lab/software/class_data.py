"""Archives of class data: Java takes the classes of a start from one, instead of reading and checking each of them.

Java finds a class in an archive by the jar that it came from, which must be the very file that the archive was made
with. Of the jars within a jar of Spring Boot it reads each class all the same before it looks for it, so such a jar is
taken apart first, as Spring Boot recommends:
https://docs.spring.io/spring-boot/reference/packaging/class-data-sharing.html
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from patternbench import caches
from patternbench.lab.host.launch import Launch, Preparation
from patternbench.lab.software import java

SAVE = ("sh", "-c", 'mkdir -p "${1%/*}" && cp "$0" "$1.$$" && mv -f "$1.$$" "$1"')
"""Puts a file in its place atomically, so that no one reads an incomplete one."""
SAVE_FOLDER = ("sh", "-c", 'mkdir -p "${1%/*}" && cp -a "$0" "$1.$$" && { mv -T "$1.$$" "$1" || rm -r "$1.$$"; }')
"""Does so with a folder, unless another start has done it in the meantime."""
WITHOUT_AGENTS = ("env", "-u", "JAVA_TOOL_OPTIONS")
"""Java archives no class data in the presence of an agent."""
ARCHIVE = "-XX:SharedArchiveFile="
AGENTS = ("-javaagent:", "-agentpath:", "-agentlib:")
AGENT_OPTIONS = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS")
TAKES_APART = "BOOT-INF/lib/spring-boot-jarmode-tools-"
"""The library within a Spring Boot jar (3.3 or newer) that unpacks the jar."""
FRESH, FRESHLY_APART = "${self.folder}/classes.jsa", "${self.folder}/apart"


@dataclass(frozen=True)
class ArchivedStart:
    """How a jar is started with an archive: the jar, Java's options, and the commands to run before."""

    jar: str
    options: tuple[str, ...]
    prepare: tuple[Preparation, ...]


def of(jar: str, program: str, machine: Sequence[str], args: Sequence[str]) -> ArchivedStart:
    """How a Java (``program``) starts a jar with these words for the virtual machine and the application."""
    apart = _apart(jar) if _takes_itself_apart(jar, Path(jar).stat().st_mtime_ns) else ""
    runs = f"{apart}/{Path(jar).name}" if apart else jar
    archive = _archive(jar, apart, program, machine)
    taken = _take_apart(jar, apart, program) if apart else ()
    made = _rehearsal(archive, (program, f"-XX:ArchiveClassesAtExit={FRESH}", *machine, "-jar", runs, *args))
    return ArchivedStart(runs, (f"{ARCHIVE}{archive}",), (*taken, *made))


def in_image(jar: str, image: str, machine: Sequence[str], args: Sequence[str]) -> ArchivedStart:
    """How the Java of an image, which is known by its hash, starts a jar that has been taken apart there."""
    key = caches.short_hash(json.dumps((image, jar, *machine)).encode())
    archive = str(caches.folder() / "class-data" / f"{Path(jar).stem}-{key}.jsa")
    start = ("java", f"-XX:ArchiveClassesAtExit={FRESH}", *machine, "-jar", jar, *args)
    return ArchivedStart(jar, (f"{ARCHIVE}{archive}",), _rehearsal(archive, start))


def without_beside_an_agent(launch: Launch) -> Launch:
    """Return a launch that takes no classes from an archive where an agent may change them.

    Java 17.0.15 ends with SIGSEGV in ``KlassFactory::check_shared_class_file_load_hook`` when an agent transforms a
    class that a jar has only below ``META-INF/versions``, as PostgreSQL's driver does.
    """
    words = [*launch.command, *(word for name in AGENT_OPTIONS for word in launch.env.get(name, "").split())]
    archives = [word.removeprefix(ARCHIVE) for word in launch.command if word.startswith(ARCHIVE)]
    if not archives or not any(word.startswith(AGENTS) for word in words):
        return launch
    command = tuple(word for word in launch.command if not word.startswith(ARCHIVE))
    prepare = tuple(one for one in launch.prepare if one.makes not in archives)
    return replace(launch, command=command, prepare=prepare)


def _apart(jar: str) -> str:
    """Return the folder of a jar's parts: one per content, so that they never change under an archive."""
    file = Path(jar).stat()
    key = caches.short_hash(_hashed(jar, file.st_mtime_ns, file.st_size))
    return str(caches.folder() / "class-data" / f"{Path(jar).stem}-{key}")


def _archive(jar: str, apart: str, program: str, machine: Sequence[str]) -> str:
    """Return the path of a jar's archive: next to its parts, or in a folder for the file that it is made with."""
    made_with = (program, java.version(program), list(machine))
    if apart:
        return f"{apart}/{caches.short_hash(json.dumps(made_with).encode())}.jsa"
    file = Path(jar).stat()
    reported = json.dumps((jar, file.st_mtime_ns, *made_with)).encode()
    key = caches.short_hash(_hashed(jar, file.st_mtime_ns, file.st_size), reported)
    return str(caches.folder() / "class-data" / f"{Path(jar).stem}-{key}.jsa")


def _take_apart(jar: str, apart: str, program: str) -> tuple[Preparation, ...]:
    """Return a jar taken apart, and its parts put where every later start finds them."""
    extract = ("-Djarmode=tools", "-jar", jar, "extract", "--destination", FRESHLY_APART)
    made = f"{apart}/{Path(jar).name}"
    return (
        Preparation((*WITHOUT_AGENTS, program, *extract), makes=made),
        Preparation((*SAVE_FOLDER, FRESHLY_APART, apart), makes=made),
    )


def _rehearsal(archive: str, command: tuple[str, ...]) -> tuple[Preparation, ...]:
    """Return a start whose end writes the archive, and the archive put where every later start finds it."""
    start = Preparation((*WITHOUT_AGENTS, *command), makes=archive, until_ready=True)
    return (start, Preparation((*SAVE, FRESH, archive), makes=archive, outside=True))


@lru_cache(maxsize=256)
def _hashed(jar: str, changed_ns: int, size: int) -> bytes:
    """Return the hash of a jar's content; each scenario asks for it, but only a changed file is read again."""
    with Path(jar).open("rb") as content:
        return hashlib.file_digest(content, "sha256").digest()


@lru_cache(maxsize=256)
def _takes_itself_apart(jar: str, changed_ns: int) -> bool:
    """Whether a jar holds its libraries as jars, and the tool of Spring Boot that takes them out."""
    with suppress(zipfile.BadZipFile), zipfile.ZipFile(jar) as archive:
        return any(name.startswith(TAKES_APART) for name in archive.namelist())
    return False

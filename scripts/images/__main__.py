"""``python -m scripts.images [--bases public|debian] [--files-only] [NAME...]`` builds images, and prints hashes."""

from __future__ import annotations

import argparse
import sys

from scripts.images import built, staged
from scripts.images.staged import IMAGES, MissingPart


def main() -> int:
    """Build the images that the command line names, all of them by default; end with 1 where one can't be built."""
    words = _arguments()
    try:
        made_by = None if words.files_only else built.builder()
        for name in words.name or IMAGES:
            _make(name, made_by, words.bases)
    except MissingPart as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _make(name: str, made_by: built.Builder | None, bases: str) -> None:
    image = IMAGES[name]
    folder = staged.staged(image)
    print(f"{name}: files {staged.digest(folder)[:12]}", end="", flush=True)
    if made_by is not None:
        print(f", image {made_by.build(image, folder, built.base_of(image, made_by, bases))}", end="")
    print(flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/images")
    parser.add_argument("--bases", choices=[built.PUBLIC, built.DEBIAN], default=built.PUBLIC)
    parser.add_argument("--files-only", action="store_true", help="put the files together, and build nothing")
    parser.add_argument("name", nargs="*", metavar="NAME", help=", ".join(IMAGES))
    words = parser.parse_args()
    if unknown := [name for name in words.name if name not in IMAGES]:
        parser.error(f"there is no image {unknown[0]}; there are {', '.join(IMAGES)}")
    return words


if __name__ == "__main__":
    sys.exit(main())

"""``python -m scripts.site`` puts together what the site is built from; ends with 1 when a link leads nowhere."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from scripts.checks.skips import ROOT
from scripts.site import sources

PAGES = ROOT / "target" / "pages"
"""As mkdocs.yml names it (``docs_dir``)."""
STYLE = Path(__file__).with_name("site.css")
"""As mkdocs.yml names it (``extra_css``)."""


def main() -> int:
    """Write the pages, and print every link that leads nowhere."""
    site = sources.write(ROOT, PAGES)
    shutil.copyfile(STYLE, PAGES / STYLE.name)
    print(*site.broken, sep="\n", file=sys.stderr)
    print(f"{len(site.pages)} pages and {len(site.files)} files that they lead to")
    return 1 if site.broken else 0


if __name__ == "__main__":
    sys.exit(main())

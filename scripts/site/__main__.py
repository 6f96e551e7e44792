"""`python -m scripts.site` puts together what the site is built from; ends with 1 when a link leads nowhere."""

from __future__ import annotations

import sys

from scripts.checks.skips import ROOT
from scripts.site import sources

PAGES = ROOT / "target" / "pages"
"""As mkdocs.yml names it (`docs_dir`)."""


def main() -> int:
    """Write the pages, and print every link that leads nowhere."""
    site = sources.write(ROOT, PAGES)
    print(*site.broken, sep="\n", file=sys.stderr)
    print(f"{len(site.pages)} pages and {len(site.files)} files that they lead to")
    return 1 if site.broken else 0


if __name__ == "__main__":
    sys.exit(main())

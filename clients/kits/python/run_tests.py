"""``run_tests.py FOLDER``: runs a client's tests in its own environment, one line of standard output for each."""

from __future__ import annotations

import sys
import unittest


def run(folder: str) -> bool:
    """Whether all of them pass."""
    tests = unittest.defaultTestLoader.discover(folder)
    return unittest.TextTestRunner(stream=sys.stdout, verbosity=2).run(tests).wasSuccessful()


if __name__ == "__main__":
    sys.exit(not run(sys.argv[1]))

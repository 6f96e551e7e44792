"""What all tests share."""

from __future__ import annotations

import os

from hypothesis import Phase, settings

# The width of the terminal that tests are started in, 80 in pytest-xdist's workers, isn't that of what they print.
os.environ.pop("COLUMNS", None)

# The machines that run the tests are shared: how long an example takes says nothing about the code.
# What fails is printed as a decorator that repeats it, and kept in .hypothesis, so that the next run begins with it.
settings.register_profile("shared-machine", deadline=None, print_blob=True)
# ``scripts/mutation-scores`` runs each test many times: few examples, the same in every run, and none made smaller.
QUICK = (Phase.explicit, Phase.generate)
settings.register_profile("mutation", deadline=None, max_examples=10, derandomize=True, database=None, phases=QUICK)
settings.load_profile("shared-machine")

"""The rules of the client contract, each as a check of a running client.

Every check drives its own round against a target that fails in a known pattern, and compares exact counts.
Importing the package registers the rules in the order in which they are checked; the description comes first.
"""

# isort: off
from patternbench.conformance.rules import refusals, attempts, users, pausing, retrying, breaking, stacking, streaming

__all__ = ["attempts", "breaking", "pausing", "refusals", "retrying", "stacking", "streaming", "users"]

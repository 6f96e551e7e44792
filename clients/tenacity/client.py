"""tenacity's AsyncRetrying behind patternbench's client contract."""

from __future__ import annotations

from collections.abc import Iterator

from patternbench_client import Description, Entry, Guard, Policy, Refusal, Retry, by_tenacity, lacking, serve


class TenacityAdapter:
    """tenacity has a retry alone; it counts attempts, the first included."""

    description = Description("tenacity", "tenacity", ("tenacity",), ("baseline", "retry", "stack"))

    def refused(self, entry: Entry) -> Iterator[Refusal]:
        """Every policy but a retry, and spreads that its waits do not add up to."""
        if isinstance(entry.policy, Retry):
            yield from by_tenacity.refused(entry.policy)
        else:
            yield lacking("retry")

    def guard(self, policy: Policy) -> Guard:
        """Return the retry; every other policy was refused."""
        assert isinstance(policy, Retry)
        return by_tenacity.guard(policy)


if __name__ == "__main__":
    serve(TenacityAdapter())

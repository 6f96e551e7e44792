"""The place of each factor in a figure: rows, columns, the horizontal axis, and details of lines.

Lines are patterns: the strategies of clients, the settings of the system that are patterns, and what configures either.
For ResilienceBench's study this gives the arrangement of its Figures 4 and 5: client by users, over the fault
percentage, a line for each strategy and back-off delay. Other studies get the nearest arrangement that their
factors allow.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from patternbench.plan.factors import Factor, Factors
from patternbench.report.labels import numeric
from patternbench.terms.roles import Role

_MOST_PANELS = 6


@dataclass(frozen=True)
class Roles:
    """The factor of each role, or None. ``detail`` are the factors that distinguish lines of one colour."""

    row: str | None
    column: str | None
    x: str | None
    color: str | None
    detail: tuple[str, ...]

    @property
    def outside(self) -> tuple[str, ...]:
        """The factors of a condition, which are equal between compared patterns."""
        return tuple(name for name in (self.row, self.column, self.x) if name is not None)


def roles(factors: Factors, partial: Collection[str] = ()) -> Roles:
    """Give every factor with several levels a role.

    ``partial`` names those that don't apply to every scenario (a retry's delay doesn't apply to a breaker). They can
    only distinguish lines.
    """
    free = [name for name, factor in factors.items() if factor.varies]
    patterns = [name for name in free if factors[name].role is Role.PATTERN]
    color = _take(free, main_patterns(factors, partial))
    whole = [name for name in free if name not in partial and name not in patterns]
    x = _take(free, _numeric(factors, [*_of(Role.FAULT, factors, whole), *_of(Role.LOAD, factors, whole)]))
    x = x or _take(free, sorted(_numeric(factors, whole), key=lambda name: -len(factors[name].levels)))
    if x is None and len(patterns) == 1 and color and _is_curve(factors[color]):
        x, color = color, None
    panels = [name for name in free if name in whole and len(factors[name].levels) <= _MOST_PANELS]
    column = _take(free, _of(Role.LOAD, factors, panels))
    row = _take(free, _of(Role.CLIENT, factors, panels))
    left = [name for name in panels if name in free]
    column = column or _take(free, left)
    row = row or _take(free, [name for name in left if name in free])
    color = color or _take(free, free)
    if color is None and row is not None:
        row, color = None, row
    return Roles(row, column, x, color, tuple(free))


def main_patterns(factors: Factors, partial: Collection[str] = ()) -> list[str]:
    """Return the patterns that vary. First come those that may also be none, because they name a configuration best."""
    patterns = [factor for factor in factors.values() if factor.varies and factor.role is Role.PATTERN]
    ordered = sorted(patterns, key=lambda f: (f.name in partial, f.none is None, f.path != ("strategy",)))
    return [factor.name for factor in ordered]


def _is_curve(factor: Factor) -> bool:
    """Whether a factor is a quantity that is compared with nothing."""
    return factor.none is None and all(numeric(level, factor.unit) is not None for level in factor.levels)


def _of(role: Role, factors: Factors, names: Sequence[str]) -> list[str]:
    return [name for name in names if factors[name].role is role]


def _numeric(factors: Factors, names: Sequence[str]) -> list[str]:
    return [n for n in names if all(numeric(level, factors[n].unit) is not None for level in factors[n].levels)]


def _take(free: list[str], expected: Sequence[str]) -> str | None:
    """Take the first wanted name out of the free ones."""
    name = next(iter(expected), None)
    if name is not None:
        free.remove(name)
    return name

"""What was read of configurations as a text that a study can take, and as data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from patternbench.configurations.reading import lint, today
from patternbench.configurations.reading.layer import Layer, Plain
from patternbench.configurations.reading.notes import NoteKind, ReadingNote
from patternbench.study.text.flow import flow
from patternbench.terms.problems import InputError
from patternbench.terms.visible import visible

SYSTEM = "mesh"


def notes(layers: Sequence[Layer]) -> list[ReadingNote]:
    """Return what has to be said of the lines of all layers, what was not understood first."""
    order = list(NoteKind)
    return sorted((note for layer in layers for note in layer.notes), key=lambda note: order.index(note.kind))


def is_complete(layers: Sequence[Layer]) -> bool:
    """Whether every line was understood."""
    return not any(note.kind is NoteKind.NOT_UNDERSTOOD for note in notes(layers))


def settings(layers: Sequence[Layer]) -> Mapping[str, Plain]:
    """Return what proxies do as settings of the system ``mesh``; a later layer's if two say the same."""
    return {name: level for layer in layers for name, level in layer.settings.items()}


def document(layers: Sequence[Layer], as_settings: bool = False) -> str:
    """Return YAML that a study can take, below comments that say where it is from and what it lacks.

    Raises InputError where there is nothing to say in that form.
    """
    body = _settings(layers) if as_settings else f"strategies:\n{today.text(today.stack(layers), layers)}"
    return "\n".join(["# " + visible(line) if line else "#" for line in _comments(layers)]) + "\n" + body


def _settings(layers: Sequence[Layer]) -> str:
    found = settings(layers)
    if not found:
        raise InputError("no setting of the system `mesh` says it: leave `--as settings` out")
    lines = "".join(f"    {name}: {flow(level)}\n" for name, level in found.items())
    return f"system:\n  name: {SYSTEM}\n  settings:\n{lines}"


def _comments(layers: Sequence[Layer]) -> Iterator[str]:
    yield "today, outermost first: " + "; ".join(f"{one.product}, `{one.name}` ({one.place})" for one in layers)
    found = notes(layers)
    for kind in NoteKind:
        mine = [note for note in found if note.kind is kind]
        if mine:
            yield f"{kind.about}:"
            yield from (f"  {note}" for note in mine)
    beware = lint.cautions(layers)
    if beware:
        yield "Beware, each as the page named shows:"
        yield from (f"  {caution}" for caution in beware)


def as_json(layers: Sequence[Layer]) -> dict[str, object]:
    """Return it as plain data; ``strategy`` is null where no policy of a study says any of it."""
    return {
        "complete": is_complete(layers),
        "strategy": _strategy(layers),
        "settings": dict(settings(layers)),
        "layers": [_layer(one) for one in layers],
        "notes": [note.as_json() for note in notes(layers)],
        "cautions": [caution.as_json() for caution in lint.cautions(layers)],
    }


def _strategy(layers: Sequence[Layer]) -> dict[str, object] | None:
    if not any(layer.policies for layer in layers):
        return None
    return {"client": "native", "name": today.NAME, "stack": today.stack(layers)}


def _layer(one: Layer) -> dict[str, object]:
    policies = [
        {"policy": policy.kind, "fields": policy.written, "file": policy.place.file, "line": policy.place.line}
        for policy in one.policies
    ]
    place = {"file": one.place.file, "line": one.place.line}
    return {"product": one.product, "name": one.name, **place, "policies": policies}

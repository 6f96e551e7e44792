"""Trees of configuration as YAML and JSON, in the order in which they were made."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping

from ruamel.yaml import YAML

WIDTH = 120


def yaml_of(*documents: Mapping[str, object]) -> str:
    """Write documents as YAML, with a line between them."""
    return "---\n".join(map(_document, documents))


def _document(document: Mapping[str, object]) -> str:
    yaml = YAML()
    yaml.default_flow_style = False
    yaml.width = WIDTH
    yaml.representer.ignore_aliases = lambda _: True
    yaml.indent(mapping=2, sequence=4, offset=2)
    text = io.StringIO()
    yaml.dump(document, text)
    return text.getvalue()


def json_of(document: Mapping[str, object]) -> str:
    """Write a document as JSON, two spaces a level."""
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"

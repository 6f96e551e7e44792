"""Makes src/arrow_schema*.b64: the Arrow schemas of the attempts, as Parquet files carry them.

With them a reader gets the dictionaries and unsigned integers of the records' contract back, instead of plain strings.
Run it where patternbench is installed: python arrow_schema.py
"""

import base64
from pathlib import Path

from patternbench.records.columns import ATTEMPTS, OF_JOURNEYS, arrow_schema

SOURCES = Path(__file__).parent / "src"

for name, columns in (("arrow_schema", ATTEMPTS), ("arrow_schema_of_journeys", (*ATTEMPTS, *OF_JOURNEYS))):
    encoded = base64.b64encode(arrow_schema(columns).serialize().to_pybytes()).decode()
    (SOURCES / f"{name}.b64").write_text(encoded + "\n")

"""Makes src/arrow_schema.b64: the Arrow schema of the attempts, as Parquet files carry it.

With it a reader gets the dictionaries and unsigned integers of the records' contract back, instead of plain strings.
Run it where patternbench is installed: python arrow_schema.py > src/arrow_schema.b64
"""

import base64

from patternbench.records.columns import ATTEMPTS, arrow_schema

print(base64.b64encode(arrow_schema(ATTEMPTS).serialize().to_pybytes()).decode())

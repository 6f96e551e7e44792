"""Makes src/arrow_schema.b64: the Arrow schema of the attempts, as Parquet files carry it.

With it a reader gets the dictionaries and unsigned integers of the records' contract back, instead of plain strings.
Run it with pyarrow installed: python arrow_schema.py > src/arrow_schema.b64
"""

import base64

import pyarrow as pa

NAMES = pa.dictionary(pa.int32(), pa.string())
SCHEMA = pa.schema(
    [
        pa.field("user", pa.uint32(), nullable=False),
        pa.field("group", NAMES, nullable=False),
        pa.field("step", NAMES, nullable=False),
        pa.field("call", pa.uint32(), nullable=False),
        pa.field("attempt", pa.uint16(), nullable=False),
        pa.field("intended_us", pa.int64(), nullable=False),
        pa.field("start_us", pa.int64(), nullable=False),
        pa.field("first_byte_us", pa.int64()),
        pa.field("end_us", pa.int64(), nullable=False),
        pa.field("outcome", NAMES, nullable=False),
        pa.field("status", pa.uint16()),
        pa.field("success", pa.bool_(), nullable=False),
        pa.field("bytes", pa.uint32()),
        pa.field("warm_up", pa.bool_(), nullable=False),
    ]
)
print(base64.b64encode(SCHEMA.serialize().to_pybytes()).decode())

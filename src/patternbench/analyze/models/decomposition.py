"""QR decompositions by blocks of rows, of matrices of many rows and few columns.

Each block is decomposed while it is in the processor's cache, then the triangles of all blocks together (Demmel and
others, Communication-optimal parallel and sequential QR and LU factorizations, SIAM J. Sci. Comput. 34, 2012). The
result has every digit that a decomposition of the whole matrix has; sums of products (X'X) would lose half of them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from patternbench.analyze.blocks import slices
from patternbench.terms.arrays import Floats

ROWS = 1 << 12
"""Rows of a block: ten columns of them take a third of a megabyte, which is in the cache of any processor."""
_LEAST_HEIGHT = 4
"""Rows per column of a block at least, so that the triangles of all blocks are much less than the matrix."""


def blocks_of(matrix: Floats) -> Iterator[slice]:
    """Yield the rows of a matrix in blocks that fit in the cache."""
    return slices(len(matrix), max(ROWS, _LEAST_HEIGHT * matrix.shape[1]))


def triangle_of(matrix: Floats, shift: Floats | float = 0.0) -> Floats:
    """Return r of ``matrix - shift`` = q r, of a matrix (n x p) whose q isn't needed."""
    tops = [np.asarray(np.linalg.qr(matrix[part] - shift, mode="r")) for part in blocks_of(matrix)]
    return tops[0] if len(tops) == 1 else triangle_of(np.vstack(tops))


def decomposed(matrix: Floats, shift: Floats | float = 0.0) -> tuple[Floats, Floats]:
    """Return q (n x p, by columns in memory) and r (p x p) of ``matrix - shift`` = q r."""
    parts = list(blocks_of(matrix))
    q: Floats = np.empty(matrix.shape, order="F")
    tops: list[Floats] = []
    for part in parts:
        own, top = np.linalg.qr(matrix[part] - shift)
        q[part, : own.shape[1]] = own
        tops.append(np.asarray(top))
    if len(tops) == 1:
        return q, tops[0]
    joint, r = decomposed(np.vstack(tops))
    begin = 0
    for part, top in zip(parts, tops, strict=True):
        height = len(top)
        q[part] = q[part, :height] @ joint[begin : begin + height]
        begin += height
    return q, r

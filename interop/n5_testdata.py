# SPDX-License-Identifier: Apache-2.0

"""Writes chunks of the N5 store of zarr-python 2, which pads blocks at the border: testdata of internal/codecs/n5.

    pip install zarr==2.18.3 'numcodecs<0.16'
    python n5_testdata.py ../codec/n5/testdata/blocks.jsonl

That package reverses the order of axes, so these arrays are transposed. A line has the data type, the
compressor, the shape of the chunk, its little-endian elements, and the block.
"""

import json
import pathlib
import sys
import tempfile

import numcodecs
import numpy as np
import zarr
from zarr.n5 import N5Store

random = np.random.default_rng(8)
with open(sys.argv[1], "w") as out, tempfile.TemporaryDirectory() as folder:
    for i, (dtype, name) in enumerate(
        [(d, "raw") for d in "i1 i2 i4 i8 u1 u2 u4 u8 f4 f8".split()] + [("u2", "gzip"), ("f4", "gzip"), ("i4", "zstd"), ("u8", "zstd")]
    ):
        compressor = {"raw": None, "gzip": numcodecs.GZip(5), "zstd": numcodecs.Zstd(3)}[name]
        chunks = [(3, 4, 2), (5, 3), (7,)][i % 3]
        shape = tuple(2 * c - 1 for c in chunks)
        path = pathlib.Path(folder) / str(i)
        array = zarr.create(shape, chunks=chunks, dtype=dtype, compressor=compressor, store=N5Store(str(path)), fill_value=0)
        data = random.integers(0, 100, shape).astype(dtype)
        array[...] = data
        for last in (0, 1):  # the first block, and the one at the far border
            box = tuple(slice(last * c, (last + 1) * c) for c in chunks)
            padded = np.zeros(chunks, dtype)
            part = data[box]
            padded[tuple(slice(0, n) for n in part.shape)] = part
            row = {
                "type": np.dtype(dtype).name,
                "compressor": name,
                "shape": list(reversed(chunks)),
                "elements": np.ascontiguousarray(padded.T).astype(np.dtype(dtype).newbyteorder("<")).tobytes().hex(),
                "block": path.joinpath(*([str(last)] * len(chunks))).read_bytes().hex(),
            }
            print(json.dumps(row), file=out)

# SPDX-License-Identifier: Apache-2.0

"""Writes the source array of a case with zarr-python, or compares a result with it.

The only argument is a JSON object: work ("make" or "check"), source, shape, chunks, wanted, format and compressed.
"""

import json
import os
import sys

import numpy as np

# SLAB is about how many elements along axis 0 are held at once.
SLAB = 256


def field(begin, end, shape):
    """Returns planes of a smooth field with noise, rounded to 1/64, which zstd makes three times smaller."""
    random = np.random.default_rng(begin)
    t = np.arange(begin, end, dtype=np.float32)[:, None, None]
    y = np.arange(shape[1], dtype=np.float32)[None, :, None]
    x = np.arange(shape[2], dtype=np.float32)[None, None, :]
    smooth = 280 + 12 * np.cos(y / 40) + 3 * np.sin(x / 37 + t / 50) * np.cos(y / 29)
    noise = random.standard_normal((end - begin, *shape[1:]), dtype=np.float32)
    return np.round((smooth + noise / 4) * 64) / np.float32(64)


def make(request):
    """Writes an array named values into a new group. xarray-beam needs a group and names of dimensions."""
    import zarr

    shape, chunks = request["shape"], request["chunks"]
    if request["format"] == 3:
        group = zarr.create_group(request["source"], zarr_format=3)
        codec = {"compressors": zarr.codecs.ZstdCodec(level=1) if request["compressed"] else None, "dimension_names": ["t", "y", "x"]}
    else:
        import numcodecs

        group = zarr.create_group(request["source"], zarr_format=2)
        codec = {"compressors": numcodecs.Zstd(level=1) if request["compressed"] else None}
    a = group.create_array("values", shape=shape, chunks=chunks, dtype="float32", fill_value=0, config={"write_empty_chunks": True}, **codec)
    # Whole chunks are written, and each of them holds planes of one generator only.
    step = -(-SLAB // chunks[0]) * chunks[0]
    for begin in range(0, shape[0], step):
        end = min(begin + step, shape[0])
        a[begin:end] = field(begin, end, shape)


def check(request):
    """Raises an error unless the result has all elements of the source, and the chunks and the codec that were wanted."""
    import zarr

    source, result = zarr.open_array(os.path.join(request["source"], "values"), mode="r"), open_result(zarr, request["result"])
    if result.shape != source.shape or result.dtype != source.dtype or list(result.chunks) != request["wanted"]:
        raise SystemExit(f"the result has shape {result.shape}, {result.dtype} and chunks {result.chunks}")
    if ("level\": 1" in json.dumps(result.metadata.to_dict(), default=str)) != request["compressed"]:
        raise SystemExit(f"the result has the compressors {result.compressors}")
    # Parts of one array cut many chunks of the other, so both are read as a whole.
    if not np.array_equal(source[:], result[:]):
        raise SystemExit("elements differ")


def open_result(zarr, path):
    inner = os.path.join(path, "values")
    return zarr.open_array(inner if os.path.isdir(inner) else path, mode="r")


if __name__ == "__main__":
    r = json.loads(sys.argv[1])
    {"make": make, "check": check}[r["work"]](r)

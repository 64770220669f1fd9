# SPDX-License-Identifier: Apache-2.0

"""Writes and compares arrays of format 2 with zarr-python.

v2.py write DIR SEED N   writes N random arrays DIR/<i>.zarr, some of them in groups, and their elements DIR/<i>.bin
v2.py judge DIR          compares all arrays DIR/*.zarr with DIR/*.bin; prints the differences
v2.py group DIR          writes a group with consolidated metadata
v2.py tree DIR           prints the consolidated metadata of a group

Elements are in C order and little endian; texts of variable length are a JSON list.
"""

import json
import pathlib
import sys
import warnings

import numcodecs
import numpy as np
import zarr

warnings.simplefilter("ignore")

TYPES = ["|b1", "|i1", "<i2", ">i4", "<u8", ">u2", "<f2", ">f4", "<f8", "<c8", ">c16", "|S3", "<U2", ">U3", "|V4",
         "<M8[ns]", ">M8[D]", "<m8[10us]", [("a", ">i2"), ("b", ">f4")], [("x", "<u4"), ("y", "|S2"), ("z", [("p", "<f8")])],
         [("a", "<i2"), ("b", [("p", ">f8"), ("q", "|u1")]), ("c", ">i2")], "str"]


def elements(r, dtype, shape):
    if dtype == "str":
        return np.array(r.choice(["", "a", "größer", "日本", "x" * 40], shape), dtype=object)
    dtype = np.dtype(dtype)
    if dtype.kind == "U":
        return r.choice(["", "a", "öü", "日"], shape).astype(dtype)
    if dtype.kind == "f":
        return r.choice([0, 1.5, -0.0, np.nan, np.inf, -3e4], shape).astype(dtype)
    if dtype.kind == "b":
        return r.integers(0, 2, shape).astype(bool)
    count = int(np.prod(shape))
    data = np.frombuffer(r.integers(0, 3, count * dtype.itemsize, dtype="u1").tobytes(), dtype).reshape(shape)
    return data.copy()


def fill(r, dtype):
    kind = r.integers(3)
    if kind == 0:
        return None
    if dtype == "str":
        return ["", "none"][kind - 1]
    if kind == 1:
        return np.zeros((), np.dtype(dtype))[()]
    return elements(r, dtype, (1,))[0]


def codecs(r, dtype):
    compressors = [None, numcodecs.GZip(1), numcodecs.Zstd(1), numcodecs.Zlib(2), numcodecs.LZ4(), numcodecs.BZ2(1), numcodecs.LZMA(preset=1)]
    compressors += [numcodecs.Blosc(cname=c, clevel=int(r.integers(10)), shuffle=int(r.integers(-1, 3))) for c in ("lz4", "lz4hc", "zstd", "zlib", "blosclz")]
    compressor = compressors[r.integers(len(compressors))]
    filters = None
    if dtype == "str":
        filters = [numcodecs.VLenUTF8()]
    elif np.dtype(dtype).kind in "iu" and r.integers(3) == 0:
        filters = [numcodecs.Delta(dtype=np.dtype(dtype).str)]
    elif np.dtype(dtype).kind == "b" and r.integers(2):
        filters = [numcodecs.PackBits()]
    elif np.dtype(dtype).kind == "f" and np.dtype(dtype).itemsize > 2 and r.integers(2):
        order, big = np.dtype(dtype).str, np.dtype(dtype).newbyteorder(">").str
        filters = [
            [numcodecs.Quantize(2, order)], [numcodecs.AsType(">f4", order)], [numcodecs.Quantize(1, order, big)],
            [numcodecs.AsType("<f8", order), numcodecs.Shuffle(8)], [numcodecs.BitRound(5) if order[0] == "<" else numcodecs.CRC32()],
        ][r.integers(5)]
    elif r.integers(3) == 0:
        size = np.dtype(dtype).itemsize
        filters = [
            [numcodecs.Shuffle(size)], [numcodecs.CRC32C()], [numcodecs.Adler32()], [numcodecs.Fletcher32()], [numcodecs.JenkinsLookup3()],
            [numcodecs.Shuffle(size), numcodecs.Zlib(1), numcodecs.CRC32()],
        ][r.integers(6)]
    return filters, compressor


def save(path, data):
    if data.dtype == object:
        path.write_text(json.dumps([str(x) for x in data.ravel()], ensure_ascii=False, separators=(",", ":")))
        return
    data = data.astype(data.dtype.newbyteorder("<"))
    path.write_bytes(np.ascontiguousarray(data).tobytes())


def whole(array):
    """All elements. For an array of rank 0 zarr-python returns a scalar, perhaps of a shorter type."""
    return np.asarray(array[...], dtype=object if array.dtype.kind in "OT" else array.dtype)


def write(directory, seed, n):
    for i in range(n):
        r = np.random.default_rng([seed, i])
        dtype = TYPES[r.integers(len(TYPES))]
        rank = int(r.integers(dtype in ("str", ">f4", "<f4", "<f8"), 4))  # for rank 0, numcodecs loses the byte order of filters
        shape = tuple(int(x) for x in r.integers(0, 9, rank))
        chunks = tuple(int(x) for x in r.integers(1, 6, rank))
        filters, compressor = codecs(r, dtype)
        path = directory / f"{i}.zarr"
        array = zarr.create_array(
            path, shape=shape, chunks=chunks, zarr_format=2, dtype=str if dtype == "str" else np.dtype(dtype), fill_value=fill(r, dtype),
            order="CF"[r.integers(2)], filters=filters, compressors=compressor,
            chunk_key_encoding={"name": "v2", "separator": "./"[r.integers(2)]},
            attributes={"_ARRAY_DIMENSIONS": [f"d{k}" for k in range(rank)], "x": float(r.choice([1.5, np.nan]))} if r.integers(2) else {},
        )
        data = elements(r, dtype, shape)
        part = tuple(slice(0, int(r.integers(0, n + 1))) for n in shape)
        if r.integers(2):
            part = ...
        array[part] = data[part]
        save(directory / f"{i}.bin", whole(array))


def judge(directory):
    for path in sorted(directory.glob("*.zarr")):
        array = zarr.open_array(path, mode="r")
        save(path.with_suffix(".got"), whole(array))
        if path.with_suffix(".got").read_bytes() != path.with_suffix(".bin").read_bytes():
            print(f"{path.name}: {array.metadata}: elements differ")


def group(directory):
    root = zarr.create_group(directory, zarr_format=2, attributes={"v": 2})
    root.create_array("a", shape=(6,), chunks=(4,), dtype="<i4", compressors=None, attributes={"_ARRAY_DIMENSIONS": ["t"]})[...] = np.arange(6)
    root.create_group("deep", attributes={"x": 1.5}).create_array("b", shape=(3,), dtype="|u1", compressors=None)
    zarr.consolidate_metadata(directory, zarr_format=2)


def tree(directory):
    root = zarr.open_group(directory, mode="r", use_consolidated=True, zarr_format=2)
    nodes = {name: [dict(n.attrs), list(getattr(n, "shape", []))] for name, n in root.members(max_depth=None)}
    print(json.dumps({"": [dict(root.attrs), []], **nodes}, sort_keys=True))


directory = pathlib.Path(sys.argv[2])
if sys.argv[1] == "write":
    write(directory, int(sys.argv[3]), int(sys.argv[4]))
else:
    {"judge": judge, "group": group, "tree": tree}[sys.argv[1]](directory)

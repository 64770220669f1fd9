# SPDX-License-Identifier: Apache-2.0

"""Chunks of imagecodecs, for internal/codecs/imagecodecs.

    python imagecodecs_testdata.py > ../internal/codecs/imagecodecs/testdata/chunks.jsonl

A line has the codec and its configuration, the shape and the NumPy type of the chunk, its elements in the byte order of the type, and what
imagecodecs makes of them, in hexadecimal digits. Written with imagecodecs 2026.3.6.
"""

import itertools
import json

import imagecodecs
import imagecodecs.numcodecs as codecs
import numpy as np

random = np.random.default_rng(5)


def line(codec, chunk, **configuration):
    c = {"lzw": codecs.Lzw, "packbits": codecs.Packbits, "delta": codecs.Delta, "floatpred": codecs.Floatpred}[codec](**configuration)
    encoded = bytes(c.encode(chunk.tobytes() if codec in ("lzw", "packbits") else chunk))
    back = np.asarray(bytearray(c.decode(encoded)) if codec in ("lzw", "packbits") else c.decode(encoded))
    assert back.tobytes() == chunk.tobytes(), (codec, configuration)
    print(json.dumps({
        "codec": codec, "configuration": configuration, "shape": chunk.shape, "dtype": chunk.dtype.str,
        "plain": chunk.tobytes().hex(), "encoded": encoded.hex(),
    }, separators=(",", ":")))  # fmt: skip


def elements(shape, dtype):
    """Random bits: all integers, and floats of every kind, NaN with payloads among them."""
    dtype = np.dtype(dtype)
    return random.integers(0, 256, (*shape, dtype.itemsize), dtype=np.uint8).view(dtype)[..., 0]


def smooth(n):
    return (np.arange(n) // 3 + random.integers(0, 2, n)).astype("<u2")


for n in (0, 1, 2, 3, 100, 700):
    line("lzw", np.zeros(n, "u1"))
    line("lzw", random.integers(0, 256, n, dtype=np.uint8))
    line("packbits", np.zeros(n, "u1"))
    line("packbits", random.integers(0, 256, n, dtype=np.uint8))
    line("packbits", random.integers(0, 2, n, dtype=np.uint8))
    line("lzw", smooth(n))
# The table fills up once, and more than once.
line("lzw", random.integers(0, 4, 8000, dtype=np.uint8))
line("lzw", smooth(5000))

types = ["|u1", "|i1", "<u2", ">u2", "<i4", ">i4", "<u8", ">i8", "<f2", ">f2", "<f4", ">f4", "<f8", ">f8"]
places = [((3, 5), -1), ((3, 5), 1), ((5, 3), 0), ((2, 4, 3), -2), ((2, 4, 3), -1), ((2, 3, 2), 0), ((7,), -1), ((1, 3, 4), -1)]
for dtype, (shape, axis) in itertools.product(types, places):
    line("delta", elements(shape, dtype), shape=shape, dtype=dtype, axis=axis, dist=1)
    # imagecodecs does not encode halves in big-endian order, nor along other axes than the last two.
    if "f" in dtype and dtype != ">f2" and axis % len(shape) >= len(shape) - 2:
        line("floatpred", elements(shape, dtype), shape=shape, dtype=dtype, axis=axis, dist=1)

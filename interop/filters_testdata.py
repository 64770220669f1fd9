# SPDX-License-Identifier: Apache-2.0

"""Writes chunks encoded by the filters of numcodecs: testdata of internal/codecs/numcodecs.

    pip install numcodecs numpy
    python filters_testdata.py ../internal/codecs/numcodecs/testdata/filters.jsonl

A line has the filter, its configuration, the types of the array and of its encoded form, and the little-endian bytes of an
array, of its encoded form, and of the decoded form. Casts with an undefined result in C are left out.
"""

import json
import sys
import warnings

import numcodecs
import numpy as np

warnings.simplefilter("ignore")
random = np.random.default_rng(7)
INTEGERS = "i1 i2 i4 i8 u1 u2 u4 u8".split()
FLOATS = "f2 f4 f8".split()
COMPLEX = "c8 c16".split()


def values(dtype, n):
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return random.integers(0, 2, n).astype(bool)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        wide = random.random() < 0.3
        low, high = (info.min, info.max) if wide else (max(info.min, -100), min(info.max, 100))
        return random.integers(low, high, n, dtype=dtype, endpoint=True)
    x = random.normal(size=n) * 10.0 ** random.integers(-2, 3)
    if dtype.kind == "c":
        x = x + 1j * random.normal(size=n)
    return x.astype(dtype)


def pick(names):
    return names[random.choice(len(names))]


def hexed(x):
    x = np.asarray(x)
    return x.astype(x.dtype.newbyteorder("<")).tobytes().hex()


def cases():
    for _ in range(120):
        d = pick(INTEGERS + FLOATS)
        a = pick([d, d] + (INTEGERS + FLOATS if d in INTEGERS else FLOATS))
        yield "delta", {"dtype": d, "astype": a}, d
    for _ in range(12):
        d = pick(COMPLEX)
        yield "delta", {"dtype": d, "astype": pick(COMPLEX)}, d
    for _ in range(120):
        d, a = pick(INTEGERS + FLOATS), pick(INTEGERS + FLOATS)
        offset = pick([0, 3, 10, 2.5, 0.1, 1e3])
        scale = pick([1, 2, 3, 0.5, 10.0, 0.3, 100])
        yield "fixedscaleoffset", {"offset": offset, "scale": scale, "dtype": "<" + d, "astype": "<" + a}, d
    for _ in range(60):
        d = pick(FLOATS)
        yield "quantize", {"digits": int(random.integers(-3, 6)), "dtype": "<" + d, "astype": "<" + pick([d, "f4", "f8"])}, d
    for d, most in (("f2", 10), ("f4", 23), ("f8", 52)):
        for keep in (0, 1, 3, most // 2, most - 1, most):
            yield "bitround", {"keepbits": keep}, d
    for _ in range(12):
        yield "packbits", {}, "?"
    for _ in range(80):
        d, a = pick(["?"] + INTEGERS + FLOATS), pick(["?"] + INTEGERS + FLOATS)
        yield "astype", {"encode_dtype": np.dtype(a).str, "decode_dtype": np.dtype(d).str}, d


def open_cast(x, kind):
    """Whether the float x is cast to an integer type that cannot hold it."""
    return kind in "iu" and x.dtype.kind == "f" and not np.all(np.abs(x) < 2.0**31)


written = 0
with open(sys.argv[1], "w") as out:
    for name, configuration, dtype in cases():
        codec = numcodecs.get_codec({"id": name, **configuration})
        x = values(dtype, int(random.integers(1, 10)))
        try:
            encoded = codec.encode(x.copy())
            if name == "delta" and encoded.dtype == "u8" and np.dtype(dtype).kind == "i":
                continue  # the sum has a float type, and the array is lost
            if name == "fixedscaleoffset" and open_cast(x.astype("f8") * 300, np.dtype(configuration["astype"]).kind):
                continue
            if name in ("delta", "astype") and open_cast(x, encoded.dtype.kind):
                continue
            decoded = codec.decode(encoded.copy())
            if open_cast(encoded, np.dtype(dtype).kind) or encoded.dtype.kind == "u" and np.dtype(dtype).kind == "f" and name == "delta" and encoded.dtype == "u8":
                continue
        except OverflowError:
            continue
        stored = encoded.dtype.str if name != "bitround" else np.dtype(dtype).str
        row = {"filter": name, "configuration": configuration, "type": np.dtype(dtype).str, "stored": stored,
               "array": hexed(x), "encoded": hexed(encoded), "decoded": hexed(decoded)}
        print(json.dumps(row), file=out)

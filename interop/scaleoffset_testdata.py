# SPDX-License-Identifier: Apache-2.0

"""Writes results of zarr-python's scale_offset codec: testdata of internal/codecs/scaleoffset.

    pip install 'zarr>=3.4' numpy
    python scaleoffset_testdata.py ../codec/scaleoffset/testdata/values.txt

A line has data type, offset, scale, a value, its encoded form or -, and the decoded form of the same value or -, as bits.
"""

import sys
import warnings

import numpy as np
from zarr.codecs.scale_offset import _decode, _encode

warnings.simplefilter("ignore")
NAMES = "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64".split()
random = np.random.default_rng(6)


def number(dtype, small):
    if dtype.kind == "f":
        x = random.choice([0.1, -3.5, 1e-3, 65000.0, 1e30, -0.0, 7.0]) if random.random() < 0.4 else random.normal() * 10
        return np.asarray(x).astype(dtype)
    info = np.iinfo(dtype)
    low, high = max(info.min, -small), min(info.max, small)
    x = int(random.integers(low, high + 1))
    if random.random() < 0.2 and dtype != "int64":  # its overflow is not detected
        x = [info.min, info.max][random.choice(2)]
    return np.asarray(x, dtype)


def bits(x):
    return f"{np.asarray(x).reshape(1).view(f'u{x.dtype.itemsize}')[0]:x}"


def attempt(f):
    try:
        return bits(f())
    except ValueError:
        return "-"


with open(sys.argv[1], "w") as out:
    for _ in range(1500):
        dtype = np.dtype(NAMES[random.choice(len(NAMES))])
        offset, scale, x = number(dtype, 100), number(dtype, 5), number(dtype, 120)
        if scale == 0 or not np.isfinite(scale) or not np.isfinite(offset) or (dtype.kind != "f" and scale < 0):
            continue  # the specification demands an error if only a negative scale brings the value back into range
        enc = attempt(lambda: _encode(x, offset[()], scale[()]))
        dec = attempt(lambda: _decode(x, offset[()], scale[()], scale_repr=scale))
        print(dtype, bits(offset), bits(scale), bits(x), enc, dec, file=out)

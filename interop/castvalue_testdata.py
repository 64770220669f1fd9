# SPDX-License-Identifier: Apache-2.0

"""Writes casts of single values by cast-value-rs, the backend of zarr-python: testdata of internal/codecs/castvalue.

    pip install 'cast-value-rs>=0.4.2' numpy
    python castvalue_testdata.py ../codec/castvalue/testdata/casts.txt

A line has source, target, rounding, the handling of values out of range, the value and the result (or -) as bits.
"""

import sys

import numpy as np
from cast_value_rs import cast_array

NAMES = "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64".split()
ROUNDING = "nearest-even towards-zero towards-positive towards-negative nearest-away".split()
random = np.random.default_rng(5)


def value(dtype):
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        near = [info.min, info.max, 0, 127, 128, 255, 256, 65504, 65519, 65520, 65535, 65536, 2**24 + 1, 2**31, 2**53 + 1, 2**63]
        drawn = int(random.choice(len(near)))
        x = near[drawn] if random.random() < 0.5 else int(random.integers(-(2**15), 2**15)) * 2 ** int(random.integers(0, 48))
        return np.array([min(max(x, info.min), info.max)], dtype)
    near = [0.5, 1.5, 2.5, -0.5, -1.5, 127.5, -128.5, 255.5, -0.0, 1e-9, 65519.9, 65520, 3.4e38, 3.5e38, 1e300, 2.0**31, 2.0**63, 2.0**64, np.nan, np.inf, -np.inf]
    x = near[random.choice(len(near))] if random.random() < 0.5 else random.normal() * 2.0 ** random.integers(-30, 70)
    with np.errstate(all="ignore"):
        return np.array([x]).astype(dtype)


with open(sys.argv[1], "w") as out:
    for _ in range(1500):
        source, target = (np.dtype(NAMES[random.choice(len(NAMES))]) for _ in range(2))
        rounding = ROUNDING[random.choice(5)]
        beyond = [None, "clamp", "wrap" if target.kind in "iu" else None][random.choice(3)]
        x = value(source)
        try:
            y = cast_array(x, target_dtype=target, rounding_mode=rounding, out_of_range_mode=beyond)
            y = y.view(f"u{target.itemsize}")[0]
        except ValueError:
            y = None
        result = "-" if y is None else f"{y:x}"
        print(source, target, rounding, beyond or "-", f"{x.view(f'u{source.itemsize}')[0]:x}", result, file=out)

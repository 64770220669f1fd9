# SPDX-License-Identifier: Apache-2.0

"""Writes digests of float32 rounded by ml_dtypes: testdata/rounded.txt of dtype.

    pip install ml_dtypes numpy
    python floats_testdata.py ../dtype/testdata/rounded.txt
"""

import hashlib
import pathlib
import sys

import ml_dtypes
import numpy as np

# Formats without infinities and NaN cannot hold numbers of at least this magnitude: half a step above the largest.
BEYOND = {"float6_e2m3fn": 7.75, "float6_e3m2fn": 30, "float4_e2m1fn": 7}
NAMES = """float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu
float6_e2m3fn float6_e3m2fn float4_e2m1fn bfloat16""".split()

# All float32 of 16 bits, and those next to them and next to the middle of two: among them every middle of two numbers of a format.
high = np.arange(1 << 16, dtype="<u4") << 16
bits = np.concatenate([high | low for low in (0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF)])
x = bits.view("<f4")
x = x[np.isfinite(x)]

lines = []
with np.errstate(all="ignore"):
    for name in NAMES:
        dtype = np.dtype(getattr(ml_dtypes, name))
        y = x.astype(dtype)
        codes = y.view("u1" if dtype.itemsize == 1 else "<u2").astype("<u2")
        fits = np.isfinite(y.astype("<f4"))
        if name in BEYOND:
            fits = np.abs(x) < BEYOND[name]
        if name == "float8_e8m0fnu":
            fits &= x >= 2.0**-126  # below, it rounds up numbers that are nearer to the lower neighbour
        codes[~fits] = 0xFFFF
        lines.append(f"{name} {fits.sum()} {hashlib.sha256(codes.tobytes()).hexdigest()}\n")
pathlib.Path(sys.argv[1]).write_text("".join(lines))

# SPDX-License-Identifier: Apache-2.0

"""Writes all numbers of the one-byte floating-point formats of ml_dtypes: testdata of internal/number.

    pip install ml_dtypes numpy
    python number_testdata.py ../internal/number/testdata
"""

import pathlib
import sys

import ml_dtypes
import numpy as np

NAMES = """float4_e2m1fn float6_e2m3fn float6_e3m2fn float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fnuz
float8_e5m2 float8_e5m2fnuz float8_e8m0fnu""".split()

# Numbers to round: float32 of few digits, which include all halves and quarters between neighbours.
HIGH = np.arange(1 << 16, dtype="<u4") << 16
SOME = np.concatenate([HIGH, HIGH | 0x8000, HIGH | 0x7FFF, HIGH | 0x8001]).view("<f4")

out = pathlib.Path(sys.argv[1])
for name in NAMES:
    dtype = np.dtype(getattr(ml_dtypes, name))
    bits = {"4": 16, "6": 64, "8": 256}[name[5]]
    values = np.arange(bits, dtype="u1").view(dtype).astype("<f4")
    (out / f"{name}.f4").write_bytes(values.tobytes())
finite = SOME[np.isfinite(SOME)]
with np.errstate(all="ignore"):
    (out / "bfloat16.txt").write_text(
        "".join(f"{a:08x} {b:04x}\n" for a, b in zip(
            finite[::1009].view("<u4"), finite[::1009].astype(ml_dtypes.bfloat16).view("u2"))))
    for name in NAMES:
        dtype = np.dtype(getattr(ml_dtypes, name))
        (out / f"{name}.txt").write_text(
            "".join(f"{a:08x} {b:02x}\n" for a, b in zip(
                finite[::1009].view("<u4"), finite[::1009].astype(dtype).view("u1"))))

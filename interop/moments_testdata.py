# SPDX-License-Identifier: Apache-2.0

"""Writes moments as NumPy prints them: testdata/moments.txt of dtype.

    pip install numpy
    python moments_testdata.py ../dtype/testdata/moments.txt
"""

import pathlib
import random
import sys

import numpy as np

UNITS = "Y M W D h m s ms us ns ps fs as".split()
random.seed(5)
lines = []
for unit in UNITS:
    for factor in (1, 7, 10, 400, 86400, 2**31 - 1):
        step = f"{factor}{unit}" if factor > 1 else unit
        numbers = [0, 1, -1, 2, 365, 366, -365, 790, 11016, -719162, -(2**63), 2**63 - 1, 1 - 2**63]
        numbers += [random.randint(-(10**k), 10**k) for k in (2, 4, 6, 9, 12, 15, 17, 18)]
        for n in numbers:
            if not -(2**63) <= n * factor < 2**63 and n != -(2**63):
                continue  # NumPy does not check for overflow
            text = str(np.array([n], "<i8").view(f"<M8[{step}]")[0])
            year = text[1:].split("-")[0].split("T")[0]
            if text == "NaT" or not text.startswith("-") and len(year) <= 3 and len(text) > 3:
                lines.append(f"{step} {n} {text}\n")
pathlib.Path(sys.argv[1]).write_text("".join(lines))

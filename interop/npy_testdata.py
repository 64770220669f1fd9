# SPDX-License-Identifier: Apache-2.0

"""Writes a .npy file of records in big-endian order: testdata/records.npy of npy.

    pip install numpy
    python npy_testdata.py ../npy/testdata/records.npy
"""

import sys

import numpy as np

inner = np.dtype([("x", ">f8"), ("s", "S2")])
dtype = np.dtype([("id", ">i4"), ("in", inner), ("t", ">M8[s]"), ("u", ">U1")])
rows = [(1, (2.5, b"ab"), np.datetime64("2024-02-29T12:00:00"), "ä"), (-3, (0.0, b"c"), np.datetime64("NaT"), "")]
np.save(sys.argv[1], np.array(rows, dtype))

# SPDX-License-Identifier: Apache-2.0

"""Compares the levels of images with levels that NumPy makes.

    python pyramid.py READER FACTORS GROUP METHOD [GROUP METHOD ...]

FACTORS are separated by commas. READER is ome-zarr, the reader of ome-zarr-py, or zarr, which takes the paths from the metadata of the
group. It prints JSON: for every group and level the shape, the scale and translation, and the number of elements that differ from NumPy's.
"""

import fractions
import itertools
import json
import sys

import numpy as np
import zarr


zarr.config.set({"array.rectilinear_chunks": True})


def missing(a, codes):
    """Which elements are missing values."""
    absent = np.isin(a, codes)
    return absent | np.isnan(a) if a.dtype.kind == "f" else absent


def mean(block):
    if block.dtype.kind == "f":
        return np.mean(block, dtype="float64")
    # Python's integers have no bounds, and round rounds half to even.
    return round(fractions.Fraction(sum(int(x) for x in block), len(block)))


def mode(block):
    values, counts = np.unique(block, return_counts=True)
    return values[np.argmax(counts)]  # the first, which is the smallest


METHODS = {"mode": mode, "min": np.min, "max": np.max}


def apart(x, kind, codes):
    """A mean, or the number next to it if that would be missing."""
    x = kind.type(x)
    while np.isin(x, codes):
        x = kind.type(x + 1) if kind.kind != "f" else np.nextafter(x, kind.type(np.copysign(np.inf, x)))
    return x


def halved(a, factors, method, codes):
    """The level above, block by block."""
    out, absent = np.empty([-(-n // f) for n, f in zip(a.shape, factors)], a.dtype), missing(a, codes)
    for index in itertools.product(*map(range, out.shape)):
        box = tuple(slice(k * f, (k + 1) * f) for k, f in zip(index, factors))
        block = a[box]
        present = block[~absent[box]]
        first = block[(0,) * block.ndim]
        if method == "nearest" or not len(present):
            out[index] = first
        elif method == "mean":
            out[index] = apart(mean(present), a.dtype, codes)
        else:
            out[index] = METHODS[method](present)
    return out


def differing(a, b):
    """The number of elements that differ. Means of float64 may differ in the last bit, because NumPy adds in another order."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return -1
    if a.dtype.kind != "f":
        return int(np.sum(a != b))
    return int(np.sum(~np.isclose(a, b, rtol=4 * np.finfo(a.dtype).eps, atol=0, equal_nan=True)))


def opened(reader, group):
    """The elements of all levels."""
    if reader == "zarr":
        return [zarr.open_array(f"{group}/{d['path']}", mode="r")[...] for d in described(group)["datasets"]]
    from ome_zarr.io import parse_url
    from ome_zarr.reader import Reader

    nodes = list(Reader(parse_url(group))())
    return [np.asarray(level) for level in nodes[0].data]


def described(group):
    attributes = zarr.open_group(group, mode="r").attrs.asdict()
    return attributes.get("ome", attributes)["multiscales"][0]


def compared(reader, factors, group, method):
    image, levels = described(group), opened(reader, group)
    codes = zarr.open_array(f"{group}/{image['datasets'][0]['path']}", mode="r").attrs.get("_FillValue", [])
    want, found = levels[0], []
    for data, dataset in zip(levels, image["datasets"], strict=True):
        if found:
            want = halved(want, factors, method, codes)
        steps = {t["type"]: t[t["type"]] for t in dataset["coordinateTransformations"]}
        found.append({"shape": data.shape, "scale": steps["scale"], "translation": steps.get("translation"), "differing": differing(data, want)})
    return {"type": image["type"], "levels": found}


reader, factors, *images = sys.argv[1:]
factors = [int(f) for f in factors.split(",")]
print(json.dumps([compared(reader, factors, *pair) for pair in zip(images[::2], images[1::2], strict=True)]))

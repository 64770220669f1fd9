# SPDX-License-Identifier: Apache-2.0

"""Missing values in both formats, as xarray reads them.

missing.py write DIR     writes groups of format 2 (DIR/2) and 3 (DIR/3; DIR/3as2 with chunk keys of format 2)
missing.py read GROUP... prints the values that xarray reads from each, one JSON document in each line
missing.py archive ZIP   writes an archive of the groups and of the values that xarray reads (cmd/varve/testdata/missing.zip)

Every variable has chunks that are not stored: zarr-python omits chunks that have only the fill value.
"""

import json
import pathlib
import sys
import tempfile
import warnings
import zipfile

import numpy as np
import xarray
import zarr

warnings.simplefilter("ignore")

N = 12
INTS = np.array([0, 0, 1, -99, 5, 0, 0, 0, -99, -99, 7, -1])
UNITS = {"units": "days since 2000-01-01", "calendar": "standard"}
PACKED = {"scale_factor": 0.01, "add_offset": 20.0}
WORDS = np.array(["", "", "a", "none", "größer", "日", "", "", "none", "none", "x", ""])


def base64(value):
    return xarray.backends.zarr.FillValueCoder.encode(value, np.dtype("f8"))


def cases(fmt):
    """Name, elements, fill value, attributes."""
    yield "int", INTS.astype("i4"), 0, {}
    yield "int_missing", INTS.astype("i4"), -99, {}
    yield "uint", np.abs(INTS).astype("u1"), 0, {}
    yield "packed", INTS.astype("i2"), 0, PACKED
    yield "packed_missing", INTS.astype("i2"), -99, PACKED
    yield "float", np.where(INTS == 7, np.nan, INTS / 2).astype("f4"), 0, {}
    yield "float_missing", INTS.astype("f8"), -99, {}
    yield "float_nan", np.where(INTS == 0, np.nan, INTS).astype("f4"), np.nan, {}
    yield "half", INTS.astype("f2"), -99, {}
    yield "bool", INTS > 0, False, {}
    yield "bool_missing", INTS > 0, True, {}
    yield "text", WORDS.astype(object), "", {}
    yield "text_missing", WORDS.astype(object), "none", {}
    yield "fixed", WORDS.astype("U6"), "", {}
    yield "fixed_missing", WORDS.astype("U6"), "none", {}
    yield "time", INTS.astype("i8"), 0, UNITS
    yield "time_missing", INTS.astype("i8"), -99, UNITS
    yield "time_float", INTS.astype("f8"), np.nan, UNITS
    yield "moments", INTS.astype("M8[s]"), np.datetime64(0, "s"), {}
    yield "complex", INTS.astype("c8"), 0, {}
    yield "scalar", np.array(0, "i4"), 0, {}
    yield "scalar_missing", np.array(-99, "f4"), -99, {}
    yield "square", np.add.outer(INTS, INTS).astype("i4"), 0, {}
    yield "unsigned", INTS.astype("i1"), 0, {"_Unsigned": "true"}
    yield "unsigned_missing", INTS.astype("i1"), -99, {"_Unsigned": "true"}
    yield "unsigned_packed", INTS.astype("i2"), -1, PACKED | {"_Unsigned": "true"}
    yield "signed_missing", INTS.astype("i1").view("u1"), 5, {"_Unsigned": "false"}
    yield "signed_missing_high", INTS.astype("i1").view("u1"), 157, {"_Unsigned": "false"}
    yield "whole_bool", np.abs(INTS).astype("i1"), 7, {"dtype": "bool"}
    yield "time_packed", INTS.astype("i2"), -99, UNITS | {"scale_factor": 0.25, "add_offset": 3.5}
    if fmt == 2:
        yield "no_fill", INTS.astype("i4"), None, {}
        yield "no_fill_attribute", INTS.astype("f4"), None, {"_FillValue": -99.0}
        yield "no_fill_text", WORDS.astype(object), None, {"_FillValue": "none"}
        yield "two", INTS.astype("i4"), 0, {"_FillValue": -99}
        yield "two_values", INTS.astype("f4"), 0, {"missing_value": -99.0}
        yield "bytes", np.array([b"", b"a", b"bc"] * 4, "S2"), None, {}
    else:
        yield "attribute", INTS.astype("i4"), 0, {"_FillValue": -99}
        yield "attribute_packed", INTS.astype("i2"), 0, PACKED | {"_FillValue": -99}
        yield "attribute_float", INTS.astype("f4"), 0, {"_FillValue": base64(-99.0)}
        yield "attribute_nan", np.where(INTS == 5, np.nan, INTS).astype("f8"), 0, {"_FillValue": base64(np.nan)}
        yield "attribute_bool", INTS > 0, False, {"_FillValue": True}
        yield "attribute_time", INTS.astype("i8"), 0, UNITS | {"_FillValue": -99}
        yield "attribute_text", WORDS.astype(object), "", {"missing_value": "none"}
        yield "attribute_same", INTS.astype("i4"), -99, {"_FillValue": -99}
        yield "attribute_scalar", np.array(-99, "i2"), 0, {"_FillValue": -99}
        yield "attribute_complex", INTS.astype("c16"), 0, {"_FillValue": [base64(-99.0), base64(0.0)]}
        yield "struct", np.array([(0, 1.5), (2, 0)] * 6, [("a", "<i4"), ("b", "<f4")]), np.zeros((), [("a", "<i4"), ("b", "<f4")])[()], {}
        yield "bytes", np.array([b"", b"a", b"bc"] * 4, "S2"), b"", {}


def write(path, fmt, keys=None):
    group = zarr.open_group(path, mode="w", zarr_format=fmt)
    for name, data, fill, attributes in cases(fmt):
        # Coordinates have axes of their own. A shared axis would have to agree with all others.
        dims = [f"{name}_{i}" for i in range(data.ndim)]
        more = {"dimension_names": dims} if fmt == 3 else {}
        if fmt == 2:
            attributes = attributes | {"_ARRAY_DIMENSIONS": dims}
        if keys is not None:
            more["chunk_key_encoding"] = keys
        dtype = "str" if data.dtype == object else data.dtype
        a = group.create_array(name, shape=data.shape, chunks=(2,) * data.ndim, dtype=dtype, fill_value=fill, attributes=attributes, **more)
        a[...] = data


def plain(v):
    if isinstance(v, (np.void, tuple)):
        return [plain(x) for x in v.tolist()] if isinstance(v, np.void) else [plain(x) for x in v]
    if isinstance(v, (np.datetime64, np.timedelta64)):
        return None if np.isnat(v) else str(v.astype("M8[s]"))
    if isinstance(v, (complex, np.complexfloating)):
        return None if np.isnan(v) else [float(v.real), float(v.imag)]
    if isinstance(v, (float, np.floating)):
        return None if np.isnan(v) else float(v)
    if isinstance(v, bytes):
        return v.decode("latin1")
    return v.item() if isinstance(v, np.generic) else v


def read(path):
    found = xarray.open_zarr(path, consolidated=False)
    return {name: {"shape": list(v.shape), "values": [plain(x) for x in np.ravel(v.values)]} for name, v in sorted(found.variables.items())}


def write_all(path):
    write(path + "/2", 2)
    write(path + "/3", 3)
    write(path + "/3as2", 3, {"name": "v2", "separator": "."})


def archive(path):
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as z:
        write_all(folder)
        for name in ("2", "3", "3as2"):
            with open(f"{folder}/{name}.json", "w") as f:
                json.dump(read(f"{folder}/{name}"), f)
        for file in sorted(pathlib.Path(folder).rglob("*")):
            if file.is_file():
                entry = zipfile.ZipInfo(file.relative_to(folder).as_posix())
                entry.compress_type = zipfile.ZIP_DEFLATED
                z.writestr(entry, file.read_bytes())


if sys.argv[1] == "write":
    write_all(sys.argv[2])
elif sys.argv[1] == "archive":
    archive(sys.argv[2])
else:
    for path in sys.argv[2:]:
        print(json.dumps(read(path)))

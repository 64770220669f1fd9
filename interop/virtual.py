# SPDX-License-Identifier: Apache-2.0

"""Writes files of unequal length, and reads references.

"write FOLDER" writes sets of files with netCDF4 and h5py, and prints what they contain when they are put together: for each set the files,
the dimension, and its variables with shape, type and elements. "sparse FOLDER" does so with sets for references in Parquet files. "read FILE"
reads references of kerchunk through fsspec and xarray, "all FILE…" those of several. "frames FILE FOLDER SIZE …" writes references in JSON as
Parquet files, as kerchunk does.
"""

import calendar
import hashlib
import json
import os
import sys

import numpy as np


def summary(values):
    shape = np.shape(values)
    values = np.ascontiguousarray(values)
    if values.dtype.byteorder == ">" or values.dtype.byteorder == "=" and sys.byteorder == "big":
        values = values.astype(values.dtype.newbyteorder("<"))
    return {"shape": shape, "sha256": hashlib.sha256(values.tobytes()).hexdigest()}


def months(folder, form, random):
    """A decade of monthly files, each counting from its own first day."""
    import netCDF4

    names, data, times = [], [], []
    start = 0
    for year in range(2014, 2024):
        for month in range(1, 13):
            days = calendar.monthrange(year, month)[1]
            name = f"{form.lower()}_{year}-{month:02}.nc"
            with netCDF4.Dataset(os.path.join(folder, name), "w", format=form) as f:
                f.createDimension("time", None)
                f.createDimension("lat", 6)
                f.createDimension("lon", 8)
                t = f.createVariable("time", "f8", ("time",), **({"chunksizes": (days,)} if form == "NETCDF4" else {}))
                t.units, t.calendar = f"days since {year}-{month:02}-01", "standard"
                f.createVariable("lat", "f4", ("lat",))[:] = np.linspace(-75, 75, 6)
                options = {"zlib": True, "shuffle": True, "fletcher32": month % 2 == 0 and False, "chunksizes": (days, 6, 8)} if form == "NETCDF4" else {}
                v = f.createVariable("t2m", "i2", ("time", "lat", "lon"), fill_value=-32767, **options)
                v.set_auto_maskandscale(False)
                v.scale_factor, v.add_offset, v.units = 0.01, 273.15, "K"
                values = random.integers(-30000, 30000, (days, 6, 8)).astype("i2")
                t[:], v[:] = np.arange(days), values
            names.append(name)
            data.append(values)
            times.append(start + np.arange(days, dtype="f8"))
            start += days
    return {"files": names, "dim": "time", "arrays": {"t2m": summary(np.concatenate(data)), "time": summary(np.concatenate(times))}}


def ranks(folder, libver, random):
    """Domains of ranks along the second axis, in files of h5py."""
    import h5py

    names, data = [], []
    for rank, width in enumerate([10, 8, 8, 8, 10]):
        name = f"rank_{libver}_{rank}.h5"
        values = random.standard_normal((12, width, 5)).astype(">f4" if libver == "earliest" else "<f4")
        with h5py.File(os.path.join(folder, name), "w", libver=libver) as f:
            v = f.create_dataset("u", data=values, chunks=(4, width, 5), compression="gzip", shuffle=True, fletcher32=True)
            for axis, dim in enumerate(["time", "y", "x"]):
                scale = f.create_dataset(dim, data=np.arange(values.shape[axis], dtype="i4") + (1000 * rank if dim == "y" else 0))
                scale.make_scale(dim)
                v.dims[axis].attach_scale(scale)
        names.append(name)
        data.append(values)
    return {"files": names, "dim": "y", "arrays": {"u": summary(np.concatenate(data, axis=1).astype("<f4"))}}


def regular(folder, random):
    """Files of equal length, which references of kerchunk can express."""
    import h5py

    names, data = [], []
    for i in range(5):
        values = random.standard_normal((20, 4, 6))
        name = f"regular_{i}.h5"
        with h5py.File(os.path.join(folder, name), "w", libver="latest") as f:
            v = f.create_dataset("w", data=values, chunks=(10, 4, 3), maxshape=(None, 4, 6), compression="gzip")
            scale = f.create_dataset("step", data=np.arange(20) + 20 * i)
            scale.make_scale("step")
            v.dims[0].attach_scale(scale)
        names.append(name)
        data.append(values)
    return {"files": names, "dim": "step", "kerchunk": True, "arrays": {"w": summary(np.concatenate(data)), "step": summary(np.arange(100))}}


def write(folder):
    random = np.random.default_rng(7)
    return [
        months(folder, "NETCDF4", random), months(folder, "NETCDF3_64BIT_OFFSET", random),
        ranks(folder, "earliest", random), ranks(folder, "latest", random), regular(folder, random),
    ]


def sparse(folder):
    """A file with missing chunks, a scalar and coordinates, and files that are put together along the second axis."""
    import h5py

    random = np.random.default_rng(8)
    values = np.full((23, 9), -2, ">i4")
    with h5py.File(os.path.join(folder, "sparse.h5"), "w", libver="latest") as f:
        v = f.create_dataset("v", (23, 9), ">i4", chunks=(4, 3), compression="gzip", shuffle=True, fillvalue=-2)
        for rows, columns in [((0, 4), (3, 6)), ((8, 12), (0, 9)), ((20, 23), (6, 9))]:
            at = slice(*rows), slice(*columns)
            v[at] = values[at] = random.integers(-1000, 1000, values[at].shape)
        scalar = f.create_dataset("scalar", data=np.float32(2.5))
        empty = f.create_dataset("empty", (7,), "<f8", chunks=(2,), fillvalue=1.5)
        scales = {}
        for name, length in [("row", 23), ("column", 9), ("seven", 7)]:
            scales[name] = f.create_dataset(name, data=np.arange(length, dtype="i8") * 10)
            scales[name].make_scale(name)
        for axis, name in enumerate(["row", "column"]):
            v.dims[axis].attach_scale(scales[name])
        empty.dims[0].attach_scale(scales["seven"])
        arrays = {"v": values.astype("<i4"), "scalar": scalar[()], "empty": np.full(7, 1.5), "row": scales["row"][:], "column": scales["column"][:]}
    names, parts = [], []
    for i in range(3):
        part = random.standard_normal((10, 6, 4)).astype("<f4")
        names.append(f"second_{i}.h5")
        with h5py.File(os.path.join(folder, names[-1]), "w") as f:
            v = f.create_dataset("w", data=part, chunks=(3, 2, 4), maxshape=(10, None, 4))
            for axis, name in enumerate(["a", "b", "c"]):
                scale = f.create_dataset(name, data=np.arange(part.shape[axis]) + (6 * i if name == "b" else 0))
                scale.make_scale(name)
                v.dims[axis].attach_scale(scale)
        parts.append(part)
    return [
        {"files": ["sparse.h5"], "dim": "", "arrays": {name: summary(x) for name, x in arrays.items()}},
        {"files": names, "dim": "b", "arrays": {"w": summary(np.concatenate(parts, axis=1)), "b": summary(np.arange(18))}},
    ]


def frames(*words):
    import kerchunk.df

    for file, folder, size in zip(words[::3], words[1::3], words[2::3]):
        kerchunk.df.refs_to_dataframe(file, folder, record_size=int(size))


def read(file):
    import fsspec
    import xarray

    store = fsspec.filesystem("reference", fo=file).get_mapper("")
    with xarray.open_dataset(store, engine="zarr", consolidated=False, chunks=None, decode_cf=False) as ds:
        return {name: summary(ds[name].values) for name in ds.variables}


def read_all(*files):
    return {file: read(file) for file in files}


def refused(folder):
    """What zarr and xarray say of a manifest, and what they leave in it."""
    import xarray
    import zarr

    said = []
    for opens in zarr.open, zarr.open_group, xarray.open_zarr:
        try:
            opens(folder)
            said.append("")
        except Exception as e:
            said.append(str(e))
    return said


print(json.dumps({"refused": refused, "write": write, "sparse": sparse, "frames": frames, "read": read, "all": read_all}[sys.argv[1]](*sys.argv[2:])))

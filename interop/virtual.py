# SPDX-License-Identifier: Apache-2.0

"""Writes files of unequal length, and reads references.

"write FOLDER" writes sets of files with netCDF4 and h5py, and prints what they contain when they are put together: for each set the files,
the dimension, and its variables with shape, type and elements. "read FILE" reads references of kerchunk through fsspec and xarray.
"""

import calendar
import hashlib
import json
import os
import sys

import numpy as np


def summary(values):
    values = np.ascontiguousarray(values)
    if values.dtype.byteorder == ">" or values.dtype.byteorder == "=" and sys.byteorder == "big":
        values = values.astype(values.dtype.newbyteorder("<"))
    return {"shape": values.shape, "sha256": hashlib.sha256(values.tobytes()).hexdigest()}


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


def read(file):
    import fsspec
    import xarray

    store = fsspec.filesystem("reference", fo=file).get_mapper("")
    with xarray.open_dataset(store, engine="zarr", consolidated=False, chunks=None, decode_cf=False) as ds:
        return {name: summary(ds[name].values) for name in ds.variables}


print(json.dumps({"write": write, "read": read}[sys.argv[1]](sys.argv[2])))

# SPDX-License-Identifier: Apache-2.0

"""Writes one data set in four forms below a folder: v3.zarr, v2.zarr and file.nc, packed, and floats.zarr."""

import sys
import numpy as np
import pandas as pd
import xarray as xr

time = pd.date_range("2024-01-01", periods=90)
values = np.random.default_rng(1).random((90, 20, 30)).astype("f4")
values[3:7, 2] = np.nan
ds = xr.Dataset(
    {"t2m": (("time", "lat", "lon"), values, {"units": "K"}), "n": ("time", np.arange(90, dtype="i2")), "since": ("time", (time - time[0]).values)},
    coords={"time": time, "lat": np.linspace(-90, 90, 20), "lon": np.linspace(0, 359, 30), "label": ("lat", np.array([f"a{i}é" for i in range(20)], dtype=object))},
)
packed = {"t2m": {"scale_factor": 0.01, "add_offset": 0.0, "dtype": "i2", "_FillValue": -1}}
ds.to_zarr(sys.argv[1] + "/v3.zarr", zarr_format=3, encoding=packed)
ds.to_zarr(sys.argv[1] + "/v2.zarr", zarr_format=2, encoding=packed)
ds.to_netcdf(sys.argv[1] + "/file.nc", engine="netcdf4", encoding=packed)
ds.to_zarr(sys.argv[1] + "/floats.zarr", zarr_format=3)

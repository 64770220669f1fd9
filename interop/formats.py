# SPDX-License-Identifier: Apache-2.0

"""Writes GRIB2 files with ecCodes and cfgrib, and TIFF files with GDAL, and reads them with these libraries.

"grib FOLDER" and "tiff FOLDER" write files there and print what the libraries read from them: for each file its arrays by the names that
Varve gives them, each with the shape, the type and a file of its elements, least significant byte first.
"""

import itertools
import json
import os
import sys
import warnings

import numpy as np

warnings.simplefilter("ignore")
random = np.random.default_rng(17)


def saved(folder, name, values):
    """Stores the elements of an array, and describes it."""
    values = np.ascontiguousarray(values)
    values = values.astype(values.dtype.newbyteorder("<"))
    values.tofile(os.path.join(folder, name))
    return {"shape": values.shape, "type": values.dtype.str[1:], "elements": name}


# GRIB2


def weather(shape):
    """A smooth field with some noise."""
    y, x = np.meshgrid(np.arange(shape[0]), np.arange(shape[1]), indexing="ij")
    return 280 + 10 * np.sin(x / 7) + 5 * np.cos(y / 5) + random.standard_normal(shape)


def message(file, values, **keys):
    """Appends a message of ecCodes."""
    import eccodes

    handle = eccodes.codes_grib_new_from_samples("regular_ll_pl_grib2")
    ny, nx = values.shape
    grid = {
        "Ni": nx, "Nj": ny, "latitudeOfFirstGridPointInDegrees": 60, "longitudeOfFirstGridPointInDegrees": 0,
        "latitudeOfLastGridPointInDegrees": 60 - (ny - 1), "longitudeOfLastGridPointInDegrees": nx - 1,
        "iDirectionIncrementInDegrees": 1, "jDirectionIncrementInDegrees": 1,
    }  # fmt: skip
    missing = keys.pop("missing", None)
    for key, value in {**grid, **keys}.items():
        eccodes.codes_set(handle, key, value)
    values = values.copy()
    if missing is not None:
        eccodes.codes_set(handle, "bitmapPresent", 1)
        eccodes.codes_set(handle, "missingValue", 1e20)
        values[missing] = 1e20
    eccodes.codes_set_values(handle, values.ravel())
    eccodes.codes_write(handle, file)
    eccodes.codes_release(handle)


LEVELS = [850, 500, 1000]  # hPa, in the order of the file
STEPS = [0, 6, 12]


def cube(folder, name, packing, members=(None,), bitmap=False, **keys):
    """A file with a message for each step, level and member, in one packing."""
    path = os.path.join(folder, name)
    with open(path, "wb") as file:
        for member, step, level in itertools.product(members, STEPS, LEVELS):
            values = weather((13, 17))
            more = {} if member is None else {"productDefinitionTemplateNumber": 1, "numberOfForecastsInEnsemble": 3, "perturbationNumber": member}
            if bitmap:
                more["missing"] = random.random(values.shape) < 0.2
            message(
                file, values, **more, shortName="t", typeOfLevel="isobaricInhPa", level=level, dataDate=20261126, dataTime=600,
                stepRange=step, packingType=packing, **keys,
            )  # fmt: skip
    return {"file": name, "arrays": {"t_isobaric": cfgrib(folder, path, "t")}}


def cfgrib(folder, path, variable, **filters):
    """What cfgrib reads, with the axes in Varve's order: the smaller level is the first."""
    import xarray

    options = {"indexpath": "", **({"filter_by_keys": filters} if filters else {})}
    with xarray.open_dataset(path, engine="cfgrib", backend_kwargs=options) as ds:
        values = ds[variable]
        for axis in ["number", "step", "isobaricInhPa"]:
            if axis in values.dims:
                values = values.sortby(axis)
        return saved(folder, f"{os.path.basename(path)}.{variable}.bin", values.values)


def several(folder):
    """Fields of several kinds, of which one is accumulated, in the order of a forecast."""
    path = os.path.join(folder, "several.grib2")
    with open(path, "wb") as file:
        for step in [6, 12]:
            day = {"dataDate": 20261126, "dataTime": 0}
            message(file, weather((9, 11)), shortName="2t", stepRange=step, **day)
            message(file, weather((9, 11)), shortName="10u", stepRange=step, **day)
            message(file, abs(weather((9, 11))), shortName="tp", stepRange=f"0-{step}", **day)
    # ecCodes has its own number for precipitation by default.
    read = {
        "t_height_above_ground": cfgrib(folder, path, "t2m", shortName="2t"),
        "u_height_above_ground": cfgrib(folder, path, "u10", shortName="10u"),
        "d0_c1_p193_surface_accumulation": cfgrib(folder, path, "tp", shortName="tp"),
    }
    return {"file": "several.grib2", "arrays": read}


def of_cfgrib(folder):
    """A file that cfgrib has written of arrays of xarray."""
    import xarray
    from cfgrib.xarray_to_grib import canonical_dataarray_to_grib

    path = os.path.join(folder, "of_cfgrib.grib2")
    values = np.stack([weather((13, 17)) for _ in range(2)]).astype("f4")
    t = xarray.DataArray(
        values, dims=["isobaricInhPa", "latitude", "longitude"], name="t",
        coords={"isobaricInhPa": [500.0, 850.0], "latitude": np.arange(60.0, 47, -1), "longitude": np.arange(17.0), "time": np.datetime64("2026-11-26T06:00", "ns")},
    )  # fmt: skip
    t.attrs.update(GRIB_shortName="t", GRIB_gridType="regular_ll", GRIB_typeOfLevel="isobaricInhPa", GRIB_edition=2)
    with open(path, "wb") as file:
        canonical_dataarray_to_grib(t, file, grib_keys={"edition": 2})
    return {"file": "of_cfgrib.grib2", "arrays": {"t_isobaric": cfgrib(folder, path, "t")}}


def grib(folder):
    # The library of this wheel fails to write PNG packing; files with it are in the testdata of Varve.
    packings = ["grid_simple", "grid_complex", "grid_complex_spatial_differencing", "grid_ieee", "grid_ccsds"]
    sets = [cube(folder, f"{packing}.grib2", packing) for packing in packings]
    sets += [cube(folder, f"{packing}_holes.grib2", packing, bitmap=True) for packing in packings[:3] + ["grid_ccsds"]]
    sets += [cube(folder, f"{packing}_{bits}.grib2", packing, bitsPerValue=bits) for packing in ["grid_simple", "grid_ccsds"] for bits in [8, 16, 24]]
    return sets + [cube(folder, "members.grib2", "grid_ccsds", members=(0, 1, 2)), several(folder), of_cfgrib(folder)]


# TIFF


def field(shape, dtype):
    """Smooth numbers with some noise. Integers use all their bits, and wrap around."""
    dtype = np.dtype(dtype)
    y, x = np.meshgrid(np.arange(shape[-2]), np.arange(shape[-1]), indexing="ij")
    smooth = np.broadcast_to(300 * y + 70 * x, shape) + random.integers(0, 9, shape)
    if dtype.kind == "f":
        return (smooth / 64 - 20).astype(dtype)
    return (smooth.astype("u8") * np.uint64(max(1, 2 ** (8 * dtype.itemsize - 14)))).astype(dtype.str.replace("i", "u")).view(dtype)


def images(folder, name):
    """What GDAL reads: the image and its overviews, with the axes in the order of the file."""
    import rasterio

    path, arrays = os.path.join(folder, name), {}
    with rasterio.open(path) as f:
        levels = f.overviews(1)
    for level in range(-1, len(levels)):
        label = "full" if level < 0 else f"overview_{level + 1}"
        with rasterio.open(path, **({} if level < 0 else {"overview_level": level})) as f:
            values = f.read()
            apart = f.interleaving is not None and f.interleaving.value == "BAND"
        values = values[0] if len(values) == 1 else values if apart else np.moveaxis(values, 0, -1)
        arrays[label] = saved(folder, f"{name}.{label}.bin", values)
    return {"file": name, "arrays": arrays}


def gdal(folder, name, values, driver="GTiff", overviews=(), **options):
    """An image of GDAL."""
    import rasterio
    from rasterio.shutil import copy

    path = os.path.join(folder, name)
    profile = {"count": len(values), "height": values.shape[1], "width": values.shape[2], "dtype": values.dtype, "crs": "EPSG:4326"}
    profile["transform"] = rasterio.transform.from_origin(5, 50, 0.25, 0.25)
    if driver == "COG":
        with rasterio.MemoryFile() as memory:
            with memory.open(driver="GTiff", **profile) as f:
                f.write(values)
            with memory.open() as f:
                copy(f, path, driver="COG", **options)
    else:
        with rasterio.open(path, "w", driver=driver, **profile, **options) as f:
            f.write(values)
        if overviews:
            with rasterio.open(path, "r+") as f:
                f.build_overviews(overviews, rasterio.enums.Resampling.average)
    return images(folder, name)


def sparse(folder):
    """An image of which only some tiles are stored."""
    import rasterio
    from rasterio.windows import Window

    path = os.path.join(folder, "sparse.tif")
    options = {"tiled": True, "blockxsize": 32, "blockysize": 16, "compress": "DEFLATE", "nodata": -9, "SPARSE_OK": "TRUE"}
    with rasterio.open(path, "w", driver="GTiff", count=1, height=70, width=90, dtype="int16", **options) as f:
        for row, column in [(0, 0), (16, 32), (64, 64)]:
            f.write(field((1, 16, 26), "i2")[:, : min(16, 70 - row)], window=Window(column, row, 26, min(16, 70 - row)))
    return images(folder, "sparse.tif")


def tiff(folder):
    sets, n = [], 0
    for compress, dtype in itertools.product(["NONE", "DEFLATE", "LZW", "ZSTD", "PACKBITS"], ["u1", "i2", "u2", "i4", "u4", "f4", "f8"]):
        for predictor in [1, 2, 3]:
            if predictor > 1 and compress in ["NONE", "PACKBITS"] or predictor == 3 and dtype[0] != "f":
                continue
            n += 1
            options = {"BIGTIFF": ["NO", "YES"][n % 2], "interleave": ["pixel", "band"][n // 2 % 2], "ENDIANNESS": ["LITTLE", "BIG"][n // 4 % 2]}
            options |= {"tiled": True, "blockxsize": 32, "blockysize": 16} if n % 3 else {"blockysize": 11}
            options |= {"compress": compress} if compress != "NONE" else {}
            options |= {"predictor": predictor} if predictor > 1 else {}
            sets.append(gdal(folder, f"{compress}_{dtype}_{predictor}.tif".lower(), field((1 + n % 3, 70, 90), dtype), **options))
    for compress, predictor in itertools.product(["DEFLATE", "LZW", "ZSTD"], ["NO", "YES"]):
        for dtype in ["u1", "i2", "f4"]:
            name = f"cog_{compress}_{dtype}_{predictor}.tif".lower()
            bigtiff = ["NO", "YES"][len(sets) % 2]
            sets.append(gdal(folder, name, field((1 + len(sets) % 3, 150, 180), dtype), "COG", compress=compress, predictor=predictor, blocksize=64, bigtiff=bigtiff))
    for compress in ["DEFLATE", "ZSTD"]:
        name = f"overviews_{compress}.tif".lower()
        sets.append(gdal(folder, name, field((2, 150, 180), "f4"), overviews=(2, 4), compress=compress, predictor=3, tiled=True, blockxsize=32, blockysize=32))
    return sets + [sparse(folder)]


folder = sys.argv[2]
print(json.dumps({"grib": grib, "tiff": tiff}[sys.argv[1]](folder)))

# SPDX-License-Identifier: Apache-2.0

"""Judges GeoTIFF files that varve export has written from arrays of this script.

  write DIR                  writes the arrays of all cases to DIR
  read DIR FORMAT            compares the files DIR/CASE.FORMAT.tif (cog or geotiff) with the
                             cases: by rasterio (GDAL), tifffile and the validator of rio-cogeo
  speed DIR VARVE            turns Zarr into GeoTIFF with Varve and with zarr-python and
                             rasterio, three times in turns, and prints seconds, processor
                             seconds and sizes
"""

import os
import resource
import subprocess
import sys
import time
import warnings

import numpy as np
import rasterio
import tifffile
import xarray as xr
from affine import Affine
from pyproj import CRS, Transformer
from rio_cogeo.cogeo import cog_validate

warnings.simplefilter("ignore")
random = np.random.default_rng(5)

NY, NX = 700, 1100
X, Y = np.arange(NX) * 30.0 + 400015, np.arange(NY) * 30.0 + 5000015  # centres, y rises
MAP = Affine(30, 0, 400000, 0, -30, 5000000 + 30 * NY)


def on_map(values, dims, x=X, y=Y, unit="m"):
    return xr.DataArray(values, dims=dims, coords={
        "x": ("x", x, {"standard_name": "projection_x_coordinate", "units": unit}),
        "y": ("y", y, {"standard_name": "projection_y_coordinate", "units": unit})})


def parameters(code):
    """The attributes of a grid mapping without well-known text."""
    return {k: v for k, v in CRS.from_epsg(code).to_cf().items() if k != "crs_wkt"}


def cases():
    """Yields names, data arrays, grid mappings, encodings and what a file should have."""
    heights = random.integers(-100, 3000, (NY, NX)).astype("i2")
    yield "utm", on_map(heights, ("y", "x")), CRS.from_epsg(32633).to_cf(), {}, dict(array=heights[::-1], crs=32633, transform=MAP)
    for name, code in dict(params=32733, laea=3035, albers=5070, conic=2154, north=3413, south=3031, mercator=3395).items():
        yield name, on_map(heights[::-1], ("y", "x"), y=Y[::-1]), parameters(code), {}, dict(array=heights[::-1], crs=code, transform=MAP, parameters=True)
    sphere = dict(grid_mapping_name="lambert_conformal_conic", standard_parallel=25.0, longitude_of_central_meridian=265.0,
                  latitude_of_projection_origin=25.0, earth_radius=6371229.0)
    kilometres = on_map(heights, ("y", "x"), X / 1000, Y / 1000, "km")
    wanted = "+proj=lcc +lat_1=25 +lat_2=25 +lat_0=25 +lon_0=265 +R=6371229 +units=km"
    yield "sphere", kilometres, sphere, {}, dict(array=heights[::-1], crs=wanted, transform=Affine(0.03, 0, 400, 0, -0.03, 5000 + 0.03 * NY), parameters=True)

    lat, lon = np.linspace(-90, 90, 721), np.arange(0, 360, 0.25)
    field = (random.normal(size=(3, 721, 1440)) + 280).astype("f4")
    field[:, 100:200, 100:300] = np.nan
    times = np.array(["2020-01-01T00", "2020-01-01T06", "2020-01-01T12"], "M8[ns]")
    era = xr.DataArray(field, dims=("time", "lat", "lon"), attrs=dict(units="K", long_name="temperature"), coords={
        "time": times, "lat": ("lat", lat, dict(units="degrees_north")), "lon": ("lon", lon.astype("f4"), dict(units="degrees_east"))})
    globe = Affine(0.25, 0, -0.125, 0, -0.25, 90.125)
    seen = dict(array=field[:, ::-1], crs=4326, transform=globe, nodata=np.nan, units=["K"] * 3,
                descriptions=["2020-01-01T00:00:00", "2020-01-01T06:00:00", "2020-01-01T12:00:00"])
    yield "era", era, None, dict(chunks=(2, 300, 500)), seen
    packed = np.where(np.isnan(field), -999, np.round((field - 280) / 0.01)).astype("i2")
    encoding = dict(dtype="i2", scale_factor=0.01, add_offset=280.0, _FillValue=-999, chunks=(1, 256, 256))
    yield "packed", era, None, encoding, seen | dict(array=packed[:, ::-1], nodata=-999, scales=[0.01] * 3, offsets=[280.0] * 3)

    colours = random.integers(0, 255, (600, 700, 3)).astype("u1")
    yield "rgb", xr.DataArray(colours, dims=("y", "x", "band")), None, {}, dict(array=np.moveaxis(colours, -1, 0))
    columns = random.normal(size=(NX, NY, 2))
    yield "columns", on_map(columns, ("x", "y", "band")), CRS.from_epsg(32633).to_cf(), {}, dict(array=np.transpose(columns, (2, 1, 0))[:, ::-1], crs=32633, transform=MAP)
    for t in ("i1", "u1", "u2", "u4", "i4", "i8", "u8", "f8", "c8", "c16", "?", "f2"):
        values = random.integers(0, 2, (300, 300)) if t == "?" else random.integers(0, 120, (300, 300))
        values = values.astype(t)
        yield "type_" + t.replace("?", "bool"), xr.DataArray(values, dims=("y", "x")), None, {}, dict(array=values.astype({"?": "u1", "f2": "f4"}.get(t, t)))
    classes = random.integers(0, 5, (600, 600)).astype("u1")
    flags = xr.DataArray(classes, dims=("y", "x"), attrs=dict(flag_values=np.arange(5, dtype="u1")))
    yield "classes", flags, None, {}, dict(array=classes, overview=classes[::2, ::2])
    means = random.integers(0, 1000, (600, 600)).astype("f4")
    yield "means", xr.DataArray(means, dims=("y", "x")), None, {}, dict(array=means, overview=means.reshape(300, 2, 300, 2).mean((1, 3)))


def refusals():
    uneven = Y.copy()
    uneven[100] += 10
    yield "uneven", on_map(np.zeros((NY, NX), "u1"), ("y", "x"), y=uneven), CRS.from_epsg(32633).to_cf(), "is not even: element 100"
    yield "unknown", on_map(np.zeros((NY, NX), "u1"), ("y", "x")), None, "--crs EPSG"
    rotated = dict(grid_mapping_name="rotated_latitude_longitude", grid_north_pole_latitude=39.25, grid_north_pole_longitude=-162.0)
    yield "rotated", on_map(np.zeros((NY, NX), "u1"), ("y", "x")), rotated, "rotated_latitude_longitude"
    yield "axes", on_map(np.zeros((2, 3, NY, NX), "u1"), ("t", "z", "y", "x")), CRS.from_epsg(32633).to_cf(), "--select"
    yield "text", xr.DataArray(np.array([["a", "b"]]), dims=("y", "x")), None, "samples of a GeoTIFF are numbers"


def save(root, name, array, mapping, encoding):
    array = array.copy()
    d = array.to_dataset(name="v")
    if mapping is not None:
        d["crs"] = xr.DataArray(np.int32(0), attrs=mapping)
        d["v"].attrs["grid_mapping"] = "crs"
    d.to_zarr(f"{root}/{name}.zarr", mode="w", zarr_format=3, consolidated=False, encoding=dict(v=encoding))


def same(what, got, want):
    if not np.array_equal(np.asarray(got), np.asarray(want), equal_nan=np.asarray(want).dtype.kind in "fc"):
        sys.exit(f"{what}: {got}, want {want}")


def read(name, want, file, form):
    array = want["array"] if want["array"].ndim == 3 else want["array"][None]
    with rasterio.open(file) as f:
        got = f.read()
        same("type", got.dtype, array.dtype)
        same("pixels", got, array)
        same("checksums", [f.checksum(i + 1) > -1 for i in range(f.count)], [True] * f.count)
        if "transform" in want:
            if not f.transform.almost_equals(want["transform"], 1e-9):
                sys.exit(f"transform {f.transform!r}, want {want['transform']!r}")
            crs = CRS.from_user_input(f.crs.to_wkt())
            wanted = CRS.from_user_input(want["crs"])
            if "parameters" not in want and crs.to_epsg() != want["crs"]:
                sys.exit(f"crs {f.crs}, want {wanted}")
            # The same places, whatever names and numbers the systems have.
            points = [Transformer.from_crs(c, c.geodetic_crs, always_xy=True).transform(*f.xy(10, 20)) for c in (crs, wanted)]
            if not np.allclose(points[0], points[1], atol=1e-9, rtol=0) or not np.allclose(crs.ellipsoid.semi_minor_metre, wanted.ellipsoid.semi_minor_metre, rtol=1e-9, atol=0 if "parameters" not in want else 2e-4):
                sys.exit(f"crs {crs.to_wkt()}, want {wanted.to_wkt()}: {points}")
        elif f.crs is not None or not f.transform.is_identity:
            sys.exit(f"a place of its own: {f.crs}, {f.transform}")
        # xarray declares that NaN is missing in floats.
        floats = array.dtype.kind == "f"
        same("nodata", np.array([f.nodata], "f8"), np.array([want.get("nodata")], "f8"))
        if "nodata" not in want and not floats and f.nodata is not None:
            sys.exit(f"nodata {f.nodata}, want none")
        same("scales", f.scales, want.get("scales", [1.0] * f.count))
        same("offsets", f.offsets, want.get("offsets", [0.0] * f.count))
        if "units" in want:
            same("units", f.units, want["units"])
            same("descriptions", f.descriptions, want["descriptions"])
        size, overviews = max(f.shape), []
        while form == "cog" and size > f.block_shapes[0][0]:
            size, overviews = -(-size // 2), overviews + [2 ** (len(overviews) + 1)]
        same("overviews", f.overviews(1), overviews)
    if overviews:
        with rasterio.open(file, overview_level=0) as f:
            half = f.read()
            same("shape of an overview", half.shape[1:], [-(-n // 2) for n in array.shape[1:]])
            if "overview" in want:
                same("overview", half[0], want["overview"])
    valid, errors, notes = cog_validate(file, strict=form == "cog", quiet=True)
    if not valid:
        sys.exit(f"not a valid COG: {errors} {notes}")
    pages = tifffile.imread(file, key=0)
    if pages.ndim == 3 and pages.shape != array.shape:
        pages = np.moveaxis(pages, -1, 0)
    same("pixels of tifffile", pages.reshape(array.shape), array)


PIXELS = 8192


def plane(kind):
    """A field with noise, as floats or packed into int16."""
    y, x = np.mgrid[0:PIXELS, 0:PIXELS].astype("f4") / 500
    field = np.sin(x) * np.cos(y) * 20 + 280 + random.normal(0, 0.2, x.shape).astype("f4")
    return field.astype("f4") if kind == "float32" else (field * 20).astype("i2")


def timed(command):
    """The seconds that a command takes, and those of processors. Python tells those after
    its imports."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    out = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    after, seconds = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - start
    if command[0] == sys.executable:
        return tuple(float(n) for n in out.split())
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def by_rasterio(source, file, form, codec, level):
    """What a program without Varve does: the array into memory, and a file of it."""
    import zarr
    start = time.perf_counter(), time.process_time()
    pixels = zarr.open_array(source + "/field", mode="r")[:]
    how = dict(driver="COG", blocksize=512, resampling="average") if form == "cog" else dict(driver="GTiff", tiled=True, blockxsize=512, blockysize=512)
    key, predictor = ("level", "YES") if form == "cog" else ("zlevel" if codec == "deflate" else "zstd_level", 3 if pixels.dtype.kind == "f" else 2)
    with rasterio.open(file, "w", **how, count=1, height=PIXELS, width=PIXELS, dtype=pixels.dtype, compress=codec, predictor=predictor,
                       num_threads="ALL_CPUS", **{key: level}) as f:
        f.write(pixels, 1)
    print(time.perf_counter() - start[0], time.process_time() - start[1])


def speed(folder, varve):
    for kind in ("float32", "int16"):
        source, file = f"{folder}/{kind}.zarr", f"{folder}/speed.tif"
        xr.Dataset({"field": (("y", "x"), plane(kind))}).to_zarr(source, mode="w", encoding={"field": {"chunks": (1024, 1024)}}, consolidated=False)
        for form in ("cog", "geotiff"):
            for codec, level in (("deflate", 4), ("deflate", 6), ("zstd", 3), ("zstd", 9)):
                programs = dict(varve=[varve, "export", source + "/field", "-o", file, "--format", form, f"--{codec}", str(level)],
                                rasterio=[sys.executable, __file__, "rasterio", source, file, form, codec, str(level)])
                best, bytes_ = {}, {}
                for _ in range(3):
                    for name, command in programs.items():
                        now = timed(command)
                        best[name], bytes_[name] = min(best.get(name, now), now), os.path.getsize(file)
                (a, c), (x, y) = best["varve"], best["rasterio"]
                print(f"{kind} {form} {codec} {level}: varve {a:.2f} s, {c:.2f} s, {bytes_['varve'] / 1e6:.1f} MB;"
                      f" rasterio {x:.2f} s, {y:.2f} s, {bytes_['rasterio'] / 1e6:.1f} MB; {x / a:.2f}, {y / c:.2f} times", flush=True)


match sys.argv[1:]:
    case ["write", root]:
        for c in cases():
            save(root, *c[:4])
            print(f"{c[0]}\t")
        for name, array, mapping, reason in refusals():
            save(root, name, array, mapping, {})
            print(f"{name}\t{reason}")
    case ["read", root, form]:
        for c in cases():
            try:
                read(c[0], c[4], f"{root}/{c[0]}.{form}.tif", form)
            except SystemExit as e:
                sys.exit(f"{c[0]}: {e}")
    case ["speed", folder, varve]:
        speed(folder, varve)
    case ["rasterio", source, file, form, codec, level]:
        by_rasterio(source, file, form, codec, int(level))
